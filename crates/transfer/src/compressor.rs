//! A worker's contexts: a chunk to its frame record and zstd frame, and back.
//!
//! What costs nothing to see is not compressed: a chunk of zeros, and one that follows an incompressible chunk and whose
//! sample doesn't shrink either.
//!
//! Invariants: what is emitted is one frame with content size and checksum, never longer than the chunk stored.
//!
//! Not here: which setting a chunk gets (`auto`), the order of frames (`pipeline`).

use std::io::Cursor;

use zstd_safe::{CCtx, CParameter, DCtx, DParameter};

use crate::record::FrameRecord;
use crate::{Fault, Setting, stored};

/// One compression context, made at first use.
pub(crate) struct Compressor {
    context: Option<(CCtx<'static>, i32)>,
    /// The chunk before did not shrink.
    was_incompressible: bool,
    sample: Vec<u8>,
}

impl Compressor {
    pub(crate) const fn new() -> Self {
        Self { context: None, was_incompressible: false, sample: Vec::new() }
    }

    /// Puts the record and the frame of `plain` into `out`, whatever was in it; the record.
    pub(crate) fn pack(
        &mut self,
        setting: Setting,
        number: u64,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<FrameRecord, Fault> {
        out.clear();
        out.resize(FrameRecord::LEN, 0);
        if !stored::store_zeros(plain, out) {
            match setting {
                Setting::Level(level) if !self.looks_incompressible(plain)? => {
                    let is_smaller = self.compress(level, plain, out)?;
                    self.was_incompressible = !is_smaller;
                    if !is_smaller {
                        stored::store(plain, out);
                    }
                }
                _ => stored::store(plain, out),
            }
        }
        let (record_room, packed) = out.split_at_mut(FrameRecord::LEN);
        let record = FrameRecord::new(number, plain, packed);
        record_room.copy_from_slice(&record.to_bytes());
        Ok(record)
    }

    /// The length that `plain` gets at a setting, for who compares settings.
    pub(crate) fn trial_len(&mut self, setting: Setting, plain: &[u8]) -> Result<usize, Fault> {
        let Setting::Level(level) = setting else { return Ok(plain.len()) };
        let mut sample = std::mem::take(&mut self.sample);
        sample.clear();
        let is_smaller = self.compress(level, plain, &mut sample)?;
        let len = if is_smaller { sample.len() } else { plain.len() };
        self.sample = sample;
        Ok(len)
    }

    /// Appends the frame of `plain` if it shrinks enough to be worth decompressing; says whether it did.
    fn compress(&mut self, level: i32, plain: &[u8], out: &mut Vec<u8>) -> Result<bool, Fault> {
        let context = match &mut self.context {
            Some((context, set)) if *set == level => context,
            slot => {
                let mut context = match slot.take() {
                    Some((context, _)) => context,
                    None => CCtx::try_create().ok_or(Fault::LibraryFailed { name: "no memory" })?,
                };
                set_level(&mut context, level)?;
                &mut slot.insert((context, level)).0
            }
        };
        let start = out.len();
        out.reserve(zstd_safe::compress_bound(plain.len()));
        // Written behind what is there, into room that nobody cleared first.
        let mut room = Cursor::new(std::mem::take(out));
        room.set_position(start as u64);
        let packed_len = context.compress2(&mut room, plain);
        *out = room.into_inner();
        let packed_len = packed_len.map_err(Fault::library)?;
        let is_worth_it = packed_len <= plain.len() - plain.len() / LEAST_GAIN;
        if !is_worth_it {
            out.truncate(start);
        }
        Ok(is_worth_it)
    }

    /// After a chunk that didn't shrink a sample is asked first; a wrong answer costs one chunk's bytes or time.
    fn looks_incompressible(&mut self, plain: &[u8]) -> Result<bool, Fault> {
        if !self.was_incompressible || plain.len() < SAMPLE_PARTS * SAMPLE_PART_LEN * 4 {
            return Ok(false);
        }
        let stride = plain.len() / SAMPLE_PARTS;
        let sample: Vec<u8> =
            plain.chunks(stride).flat_map(|part| part.iter().take(SAMPLE_PART_LEN)).copied().collect();
        let packed_len = self.trial_len(Setting::Level(SAMPLE_LEVEL), &sample)?;
        self.was_incompressible = packed_len + sample.len() / LEAST_GAIN > sample.len();
        Ok(self.was_incompressible)
    }
}

/// One decompression context, made at first use.
pub(crate) struct Decompressor {
    context: Option<DCtx<'static>>,
}

impl Decompressor {
    pub(crate) const fn new() -> Self {
        Self { context: None }
    }

    /// Puts what a frame holds into `plain`, whatever was in it, if it is what its record says.
    pub(crate) fn unpack(
        &mut self,
        record: &FrameRecord,
        packed: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let number = record.number;
        plain.clear();
        if !record.fits(packed) {
            return Err(Fault::FrameAltered { number });
        }
        let context = match &mut self.context {
            Some(context) => context,
            slot => {
                let mut context = DCtx::try_create().ok_or(Fault::LibraryFailed { name: "no memory" })?;
                // The record has a hash of the same bytes, which takes half as long.
                context.set_parameter(DParameter::ForceIgnoreChecksum(true)).map_err(Fault::library)?;
                slot.insert(context)
            }
        };
        // The reader has held it to the stream's limit.
        let plain_len = record.plain_len as usize;
        plain.reserve(plain_len);
        match context.decompress(plain, packed) {
            Ok(len) if len == plain_len && record.holds(plain) => Ok(()),
            _ => {
                plain.clear();
                Err(Fault::FrameCorrupt { number })
            }
        }
    }
}

/// zstd's own parameters for a level, with a checksum.
fn set_level(context: &mut CCtx<'static>, level: i32) -> Result<(), Fault> {
    for parameter in [CParameter::ChecksumFlag(true), CParameter::CompressionLevel(level)] {
        context.set_parameter(parameter).map_err(Fault::library)?;
    }
    Ok(())
}

/// A frame that saves less than a 64th is stored: it would cost the receiver more than it saves.
const LEAST_GAIN: usize = 64;
/// Where a sample is taken from, and how much there: together 4 % of a chunk of 1.5 MiB.
const SAMPLE_PARTS: usize = 16;
const SAMPLE_PART_LEN: usize = 4096;
/// Shows entropy (digits) as well as repetition, and is fast.
const SAMPLE_LEVEL: i32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn chunks_come_back_at_every_setting() {
        let text = b"INFO worker 7: request completed in 12 ms\n".repeat(9000);
        let (mut compressor, mut decompressor) = (Compressor::new(), Decompressor::new());
        let (mut out, mut back) = (Vec::new(), Vec::new());
        let levels = [-131_072, -5, -1, 1, 2, 3, 9, 19, 22].map(Setting::Level);
        for setting in levels.into_iter().chain([Setting::Stored]) {
            for plain in [&text[..], &noise(300_000), &vec![0; 300_000], b"", b"x"] {
                let record = compressor.pack(setting, 5, plain, &mut out).unwrap();
                let packed = &out[FrameRecord::LEN..];
                assert_eq!(record.packed_len as usize, packed.len());
                assert!(packed.len() <= plain.len() + stored::overhead_len(plain.len()), "{setting}");
                decompressor.unpack(&record, packed, &mut back).unwrap();
                assert_eq!(back, plain, "{setting}");
            }
        }
    }

    #[test]
    fn what_does_not_shrink_is_seen_by_a_sample_and_what_shrinks_again_too() {
        let mut compressor = Compressor::new();
        let mut out = Vec::new();
        let (noise, text) = (noise(1 << 20), b"request completed ".repeat(1 << 16));
        for _ in 0..3 {
            compressor.pack(Setting::Level(1), 0, &noise, &mut out).unwrap();
            assert!(compressor.was_incompressible);
        }
        compressor.pack(Setting::Level(1), 0, &text, &mut out).unwrap();
        assert!(!compressor.was_incompressible && out.len() < text.len() / 10);
    }

    #[test]
    fn a_frame_that_holds_something_else_than_what_went_in_gives_nothing() {
        // As if the packer's memory had failed between reading and packing.
        let mut out = Vec::new();
        Compressor::new().pack(Setting::Level(1), 3, &[7; 5000], &mut out).unwrap();
        let packed = &out[FrameRecord::LEN..];
        let record = FrameRecord::new(3, &[8; 5000], packed);
        assert!(record.fits(packed));
        let mut plain = Vec::new();
        let fault = Decompressor::new().unpack(&record, packed, &mut plain).unwrap_err();
        assert!(matches!(fault, Fault::FrameCorrupt { number: 3 }) && plain.is_empty());
    }

    #[test]
    fn an_altered_frame_gives_nothing() {
        let mut out = Vec::new();
        let record = Compressor::new().pack(Setting::Level(1), 3, &[7; 5000], &mut out).unwrap();
        let mut plain = Vec::new();
        for at in FrameRecord::LEN..out.len() {
            out[at] ^= 1;
            let fault =
                Decompressor::new().unpack(&record, &out[FrameRecord::LEN..], &mut plain).unwrap_err();
            assert!(matches!(fault, Fault::FrameAltered { number: 3 }) && plain.is_empty());
            out[at] ^= 1;
        }
    }
}
