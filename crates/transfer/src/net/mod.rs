//! A stream over the network: several connections, encrypted, each of which may break.
//!
//! ```text
//! pack -> window (pieces not yet delivered) ==> connections ==> reorder -> unpack
//!             ^------------- acknowledged up to ------------------'
//! ```
//! The pieces of a stream (start record, frames, end record) have numbers. A piece stays in the sender's window until the
//! receiver says that it and all before it were taken by `unpack`; what a broken connection carried is sent again over
//! another. So a break costs time and nothing else, as long as both processes live: a backup can't be made a second time
//! from its middle, so a process that dies ends the transfer.
//!
//! Invariants: both ends succeed or both fail, up to the last message, which is told again over a connection that comes
//! back; nothing crosses in clear unless `Security::Clear` was asked for; the window bounds both ends' memory; whatever is
//! silent is given up.
//!
//! Not here: the stream (`record`), processes at both ends (crate `cli`).

mod connection;
mod message;
mod receive;
mod reorder;
mod security;
mod send;
mod window;

pub use receive::{ReceiveOptions, Receiver, Taker};
pub use security::{Certificates, Security, SharedKey};
pub use send::{SendOptions, send};

use std::time::Duration;

/// How long ends wait for each other.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For the first connection.
    pub start: Duration,
    /// For a new connection after all broke.
    pub reconnect: Duration,
    /// For a word over a connection, before it counts as broken.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(300),
            reconnect: Duration::from_secs(120),
            silence: Duration::from_secs(20),
        }
    }
}

/// How often an end without other words says that it is there: often enough for whatever silence the other end permits.
const ALIVE_PAUSE: Duration = Duration::from_millis(250);
