//! A byte stream cut at every possible, prescribed or random place.
//!
//! ```text
//!  bytes   a b c d          every_cutting: 2^3 ways       one_cut: 3 ways + whole      cut_at(&[1, 3])
//!                           abcd  a|bcd  ab|cd  a|b|cd …  abcd a|bcd ab|cd abc|d       a|bc|d
//! ```
//! For property tests: whatever the cutting, a parser must find the same. [`Drip`] does the same to an
//! `AsyncRead`/`AsyncWrite`, and returns `Pending` every other call, as a real socket may.
//!
//! Invariants: the chunks of a cutting, one after the other, are the bytes; no chunk is empty.
//!
//! Not here: changed, lost or repeated bytes (fuzz targets do that).

mod cuttings;
mod stream;

pub use cuttings::{EVERY_CUTTING_MAX_BYTES, cut_at, every_cutting, one_cut, pieces, random_cutting};
pub use stream::Drip;
