//! The stream between two wirepress: what each says first, and frames that name their codec.
//!
//! ```text
//! dialer                                                      listener
//!   preamble  magic, T(LS) or C(lear)  ─────────▶
//!             ◀──────────────────────────────────  preamble, or a refusal
//!   [TLS 1.3; all that follows is inside it]
//!   HELLO     versions, codecs, proof of the key ▶
//!             ◀──────────────────────────────────  HELLO with its own proof, or REFUSAL
//!   ... the connection is warm: it waits for a session ...
//!   OPEN      the client's address  ─────────────▶  dials the server
//!             ◀── frames of bytes of MySQL's protocol, both ways ──▶
//!   END       ◀──────────────────────────────────▶  END
//! ```
//! A frame carries any bytes: packets, or parts of them. Frames of the connection phase are stored; after the login each
//! direction has a history of its own ([`Writer`], [`Reader`]).
//!
//! Invariants: one session per connection, so no history is ever shared; whoever stops using a history says so (REST, or
//! the mark that it begins anew), so both ends drop it at the same byte; every frame is checked by its CRC-32C.
//! Not here: sockets, TLS, keys and proofs (crate `proxy`), the algorithms (`codec::HistoryCompressor`).

mod frame;
mod hello;
mod preamble;
mod reader;
mod writer;

pub use frame::{BODY_LEN_MAX, FRAME_PLAIN_LEN_MAX, HEADER_LEN, Header, Kind};
pub use hello::{Agreement, CodecSet, Hello, PROOF_LEN, VERSION};
pub use preamble::{MAGIC, Mode, PREAMBLE_LEN, Preamble, REFUSAL_LEN_MAX};
pub use reader::{Event, Reader};
pub use writer::{Packed, Writer};

#[cfg(test)]
mod tests;
