//! A stream back to bytes, or a fault.
//!
//! Invariants: what is written was verified, frame by frame, in order; success means that the stream was whole.
//!
//! Not here: streams of other programs (`foreign`).

use std::io::{Cursor, Read, Write};
use std::num::NonZeroUsize;

use crate::compressor::Decompressor;
use crate::reader::{Opened, PackedFrame, StreamReader};
use crate::{EndRecord, Fault, FrameRecord, Meter, StartRecord, Summary, foreign, memory, pipeline};

/// How a stream is read.
#[derive(Debug, Clone, Copy)]
pub struct UnpackOptions {
    /// Workers.
    pub threads: NonZeroUsize,
    /// It is zstd of another program, whose end nobody can verify.
    pub foreign: bool,
    /// What it may take, bytes; by default `memory::permitted_len`.
    pub memory_len: u64,
}

impl UnpackOptions {
    /// The default for so many threads.
    pub const fn new(threads: NonZeroUsize) -> Self {
        Self { threads, foreign: false, memory_len: memory::permitted_len(threads) }
    }
}

/// Reads the stream to its end and writes what it holds.
pub fn unpack(
    input: impl Read + Send + 'static,
    mut output: impl Write,
    options: &UnpackOptions,
    meter: &Meter,
) -> Result<Summary, Fault> {
    let mut reader = match StreamReader::open(input)? {
        Opened::Ours(_) if options.foreign => return Err(Fault::NotForeign),
        Opened::Ours(reader) => reader,
        Opened::Foreign(input, begun) if options.foreign => {
            let summary =
                foreign::unpack(Cursor::new(begun).chain(input), &mut output, options.memory_len, meter)?;
            output.flush().map_err(Fault::Write)?;
            return Ok(summary);
        }
        Opened::Foreign(..) => return Err(Fault::StartMissing),
    };
    let chunk_len = reader.start().chunk_len as usize;
    let (slots, needed_len) = memory::unpack_slots(chunk_len, options.threads, options.memory_len);
    if needed_len > options.memory_len {
        return Err(Fault::MemoryExceeded { needed_len, permitted_len: options.memory_len });
    }
    let mut summary = Summary { packed_len: OVERHEAD_LEN as u64, ..Summary::default() };
    meter.add(0, OVERHEAD_LEN);
    pipeline::run(
        (0..slots).map(|_| Slot::default()).collect(),
        options.threads.get(),
        move |slot: &mut Slot| Ok(reader.next(&mut slot.frame)?.is_some()),
        || {
            let mut decompressor = Decompressor::new();
            move |slot: &mut Slot| match slot.frame.record {
                Some(record) => decompressor.unpack(&record, &slot.frame.packed, &mut slot.plain),
                None => Err(Fault::Panicked),
            }
        },
        |slot| {
            output.write_all(&slot.plain).map_err(Fault::Write)?;
            let (plain_len, packed_len) = (slot.plain.len(), FrameRecord::LEN + slot.frame.packed.len());
            meter.add(plain_len, packed_len);
            summary.plain_len += plain_len as u64;
            summary.packed_len += packed_len as u64;
            Ok(())
        },
    )?;
    output.flush().map_err(Fault::Write)?;
    Ok(summary)
}

/// The records at both ends.
const OVERHEAD_LEN: usize = StartRecord::LEN + EndRecord::LEN;

/// A frame on its way.
#[derive(Default)]
struct Slot {
    frame: PackedFrame,
    plain: Vec<u8>,
}
