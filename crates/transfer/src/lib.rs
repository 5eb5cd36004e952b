//! The compressed stream of `pack`, `unpack`, `send` and `receive`: ordinary zstd that also says where it begins and ends.
//!
//! ```text
//! input -> source -> slots -> workers (compress) -> in order -> output        pack
//! input -> source -> slots -> workers (verify, decompress) -> in order -> output      unpack
//! ```
//! `record` is the format, `pipeline` the threads, `pack` and `unpack` the two ways, `auto` the controller of `--auto`, `net` the stream over
//! the network.
//!
//! Invariants: `auto` reads no clock (time is an argument); every queue is bounded by the number of slots, which
//! `memory` computes; nothing that was altered is given out as good.
//!
//! Not here: arguments and standard streams (crate `cli`), the MySQL protocol.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::cast_possible_truncation))]

pub mod auto;
mod compressor;
mod fault;
mod foreign;
pub mod memory;
mod meter;
pub mod net;
mod pack;
mod pipeline;
mod reader;
mod record;
mod setting;
mod stored;
mod summary;
mod unpack;

pub use fault::Fault;
pub use meter::{Meter, Reading};
pub use pack::{PackOptions, Piece, Rule, pack, pack_pieces};
pub use reader::{Opened, PackedFrame, StreamReader};
pub use record::{EndRecord, FrameRecord, StartRecord};
pub use setting::{Setting, SettingFault};
pub use summary::Summary;
pub use unpack::{UnpackOptions, unpack};
