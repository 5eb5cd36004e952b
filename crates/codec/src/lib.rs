//! Bytes to bytes: the compression algorithms of the MySQL protocol, their levels and contexts.
//!
//! Invariants: no clock, no socket, no global; decompressed output never exceeds the length that the caller
//! declared; `unsafe` is absent (the codec libraries' safe bindings are enough).
//!
//! Not here: the 7-byte frame header and when to compress (crate `wire`), which thread does it (crate `proxy`).

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::cast_possible_truncation))]

mod algorithm;
mod contexts;
mod cost;
mod fault;
mod history;
mod level;
pub mod pace;
mod zlib;
mod zstd;

pub use algorithm::{Algorithm, AlgorithmSet, UnknownAlgorithm};
pub use contexts::Contexts;
pub use cost::plain_bytes_per_ms;
pub use fault::Fault;
pub use history::{HistoryCompressor, HistoryDecompressor, HistoryLen};
pub use level::{ZlibLevel, ZstdLevel};

/// What advice is given about, with levels: the published ones, and zstd 1, the cheapest.
pub const ADVISED: [(Algorithm, u8); 5] = [
    (Algorithm::Zlib, 1),
    (Algorithm::Zstd, 1),
    (Algorithm::Zstd, 3),
    (Algorithm::Zstd, 7),
    (Algorithm::Zstd, 10),
];
