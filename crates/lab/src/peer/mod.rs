//! Scripted peers: a server and a client that say exactly what a test tells them, and remember how it was framed.
//!
//! ```text
//! Listener ── accept ──▶ Peer ── send, send_pieces ──▶ socket      bytes as given, cut as given
//!                        Peer ◀─ receive ── socket                 packets, and how they were framed: Seen
//! ```
//! Sockets block, and every wait ends after [`PATIENCE`] with an error: a script that is not followed fails its
//! test and hangs none.
//!
//! Invariants: a peer checks nothing; what it saw is for the test to judge. Ids are sent as given.
//!
//! Not here: a real server (`real`), a server that answers queries (crate `mysqlite`).

mod bytes;
mod listener;
mod nobody;
mod scripted;
mod seen;
mod socket;

pub use bytes::{frames, packets};
pub use listener::Listener;
pub use nobody::Nobody;
pub use scripted::{Packet, Peer};
pub use seen::{SeenFrame, SeenPacket};

use std::time::Duration;

/// Far beyond what anything here takes, even on a machine that builds besides.
pub const PATIENCE: Duration = Duration::from_secs(30);
