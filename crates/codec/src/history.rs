//! Compression with history: each call's bytes may refer to those of earlier calls.
//!
//! ```text
//! compress(a) compress(b) ... ──▶ one zstd frame (magicless) or one raw deflate stream, flushed behind each call
//! ```
//! Standard peers of MySQL's protocol decode each frame alone, so history is for a pair of wirepress only.
//!
//! Invariants: whatever a call was given can be decoded from what it and the calls before it gave; output never
//! exceeds the length that the caller allows; a decompressor is of one session.
//! Not here: when a history begins anew (`wire::pair`), one-shot frames (`zlib`, `zstd`).

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use zstd_safe::zstd_sys::ZSTD_EndDirective::ZSTD_e_flush;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, FrameFormat, InBuffer, OutBuffer};

use crate::zstd::{LEVEL_MAX_OF_LONG_MATCHES, LONG_MIN_MATCH};
use crate::{Algorithm, Fault, ZstdLevel};

/// How far a history reaches back, which is what it costs in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryLen {
    /// 32 KiB: dialogues of small packets. Some 400 KiB of memory, both ends together.
    Short,
    /// 1 MiB: large results. Some 4.5 MiB of memory, above level 3 up to 10 MiB.
    Long,
}

/// Packs one direction of one session.
pub struct HistoryCompressor(Packing);

enum Packing {
    Zstd(CCtx<'static>),
    Deflate(Box<Compress>),
}

impl HistoryCompressor {
    /// A history without bytes. `Uncompressed` has none.
    ///
    /// Errors: the library failed, in practice for want of memory.
    pub fn new(algorithm: Algorithm, level: ZstdLevel, len: HistoryLen) -> Result<Self, Fault> {
        match algorithm {
            Algorithm::Zstd => Self::zstd(level, len).map(Packing::Zstd),
            Algorithm::Zlib => {
                Ok(Packing::Deflate(Box::new(Compress::new(Compression::new(DEFLATE_LEVEL), false))))
            }
            Algorithm::Uncompressed => Err(Fault::LibraryFailed(algorithm)),
        }
        .map(Self)
    }

    fn zstd(level: ZstdLevel, len: HistoryLen) -> Result<CCtx<'static>, Fault> {
        let failed = |_| Fault::LibraryFailed(Algorithm::Zstd);
        let mut context = CCtx::try_create().ok_or(Fault::LibraryFailed(Algorithm::Zstd))?;
        let mut parameters = vec![
            CParameter::CompressionLevel(i32::from(level.get())),
            CParameter::Format(FrameFormat::Magicless),
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
        ];
        if len == HistoryLen::Long {
            parameters.extend_from_slice(match level <= LEVEL_MAX_OF_LONG_MATCHES {
                true => &[CParameter::MinMatch(LONG_MIN_MATCH), CParameter::ChainLog(LONG_CHAIN_LOG)],
                false => &[CParameter::HashLog(HARD_TABLE_LOG), CParameter::ChainLog(HARD_TABLE_LOG)],
            });
        }
        parameters.extend_from_slice(match len {
            HistoryLen::Short => &[
                CParameter::WindowLog(SHORT_WINDOW_LOG),
                CParameter::HashLog(SHORT_HASH_LOG),
                CParameter::ChainLog(SHORT_HASH_LOG),
                CParameter::MaxBlockSize(SHORT_BLOCK_LEN),
            ],
            HistoryLen::Long => &[CParameter::WindowLog(LONG_WINDOW_LOG)],
        });
        for parameter in parameters {
            context.set_parameter(parameter).map_err(failed)?;
        }
        Ok(context)
    }

    /// Memory of a compressor, and of its decompressor, each, at most: what a budget has to count. Bytes.
    pub fn memory_len(algorithm: Algorithm, level: ZstdLevel, len: HistoryLen) -> usize {
        let is_easy = level <= LEVEL_MAX_OF_LONG_MATCHES;
        match (algorithm, len) {
            (Algorithm::Uncompressed, _) => 0,
            (Algorithm::Zlib, _) => 384 << 10,
            (Algorithm::Zstd, HistoryLen::Short) if is_easy => 384 << 10,
            (Algorithm::Zstd, HistoryLen::Short) => 1 << 20,
            (Algorithm::Zstd, HistoryLen::Long) if is_easy => 3 << 20,
            (Algorithm::Zstd, HistoryLen::Long) => 8 << 20,
        }
    }

    /// What it takes now, as far as its library tells; bytes.
    pub fn taken_len(&self) -> usize {
        match &self.0 {
            Packing::Zstd(context) => context.sizeof(),
            Packing::Deflate(_) => 0,
        }
    }

    /// Room behind `out` that [`compress`](Self::compress) wants for so many bytes.
    #[must_use]
    pub const fn room_for(plain_len: usize) -> usize {
        room_for(plain_len)
    }

    /// Appends what `plain` packs to.
    pub fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        if plain.is_empty() {
            return Ok(());
        }
        match &mut self.0 {
            Packing::Zstd(context) => {
                let mut input = InBuffer::around(plain);
                loop {
                    out.reserve(room_for(plain.len() - input.pos()));
                    let end = out.len();
                    let mut output = OutBuffer::around_pos(out, end);
                    let left = context.compress_stream2(&mut output, &mut input, ZSTD_e_flush);
                    let left = left.map_err(|_| Fault::LibraryFailed(Algorithm::Zstd))?;
                    if left == 0 && input.pos() == plain.len() {
                        return Ok(());
                    }
                }
            }
            Packing::Deflate(stream) => {
                let failed = |_| Fault::LibraryFailed(Algorithm::Zlib);
                let mut rest = plain;
                loop {
                    out.reserve(room_for(rest.len()));
                    let before = stream.total_in();
                    stream.compress_vec(rest, out, FlushCompress::Sync).map_err(failed)?;
                    rest = rest.get(taken(before, stream.total_in())..).unwrap_or_default();
                    if rest.is_empty() && out.len() < out.capacity() {
                        break;
                    }
                }
                // Every flush ends with the same four bytes (RFC 7692, 7.2.1), which the other end puts back.
                match out.strip_suffix(&SYNC_TAIL).map(<[u8]>::len) {
                    Some(len) => out.truncate(len),
                    None => return Err(Fault::LibraryFailed(Algorithm::Zlib)),
                }
                Ok(())
            }
        }
    }
}

/// Unpacks one direction of one session.
pub struct HistoryDecompressor(Unpacking);

enum Unpacking {
    Zstd(DCtx<'static>),
    Deflate(Box<Decompress>),
}

impl HistoryDecompressor {
    /// The other end of a new [`HistoryCompressor`].
    ///
    /// Errors: the library failed, in practice for want of memory.
    pub fn new(algorithm: Algorithm) -> Result<Self, Fault> {
        let failed = || Fault::LibraryFailed(algorithm);
        match algorithm {
            Algorithm::Zstd => {
                let mut context = DCtx::try_create().ok_or_else(failed)?;
                for parameter in
                    [DParameter::Format(FrameFormat::Magicless), DParameter::WindowLogMax(LONG_WINDOW_LOG)]
                {
                    context.set_parameter(parameter).map_err(|_| failed())?;
                }
                Ok(Self(Unpacking::Zstd(context)))
            }
            Algorithm::Zlib => Ok(Self(Unpacking::Deflate(Box::new(Decompress::new(false))))),
            Algorithm::Uncompressed => Err(failed()),
        }
    }

    /// What it takes now, as far as its library tells; bytes.
    pub fn taken_len(&self) -> usize {
        match &self.0 {
            Unpacking::Zstd(context) => context.sizeof(),
            Unpacking::Deflate(_) => 0,
        }
    }

    /// Appends what one call of `compress` was given: at most `len_max` bytes.
    ///
    /// Errors: the body is none, or holds more.
    pub fn decompress(&mut self, packed: &[u8], len_max: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
        if packed.is_empty() {
            return Ok(());
        }
        let start = out.len();
        let result = match &mut self.0 {
            Unpacking::Zstd(context) => unpack_zstd(context, packed, len_max, out),
            Unpacking::Deflate(stream) => unpack_deflate(stream, packed, len_max, out),
        };
        if result.is_err() {
            out.truncate(start);
        }
        result
    }
}

fn unpack_zstd(
    context: &mut DCtx<'static>,
    packed: &[u8],
    len_max: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let start = out.len();
    let mut input = InBuffer::around(packed);
    loop {
        out.reserve(OUTPUT_STEP_LEN);
        let room_len = out.capacity() - out.len();
        let before = (input.pos(), out.len());
        let end = out.len();
        let mut output = OutBuffer::around_pos(out, end);
        let hint = context.decompress_stream(&mut output, &mut input);
        // A history never ends: its zstd frame has no last block.
        if hint.map_err(|_| Fault::BodyCorrupt(Algorithm::Zstd))? == 0 {
            return Err(Fault::BodyCorrupt(Algorithm::Zstd));
        }
        if out.len() - start > len_max {
            return Err(Fault::BodyLongerThanDeclared { declared_len: len_max });
        }
        let filled_up = out.len() - before.1 == room_len;
        if input.pos() == packed.len() && !filled_up {
            return Ok(());
        }
        if before == (input.pos(), out.len()) {
            return Err(Fault::BodyCorrupt(Algorithm::Zstd));
        }
    }
}

fn unpack_deflate(
    stream: &mut Decompress,
    packed: &[u8],
    len_max: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let corrupt = Fault::BodyCorrupt(Algorithm::Zlib);
    let start = out.len();
    for piece in [packed, &SYNC_TAIL] {
        let mut rest = piece;
        loop {
            out.reserve(OUTPUT_STEP_LEN);
            let before = (stream.total_in(), out.len());
            let status = stream.decompress_vec(rest, out, FlushDecompress::None).map_err(|_| corrupt)?;
            if status == flate2::Status::StreamEnd {
                return Err(corrupt);
            }
            let taken_len = taken(before.0, stream.total_in());
            rest = rest.get(taken_len..).unwrap_or_default();
            if out.len() - start > len_max {
                return Err(Fault::BodyLongerThanDeclared { declared_len: len_max });
            }
            if rest.is_empty() && out.len() < out.capacity() {
                break;
            }
            if taken_len == 0 && before.1 == out.len() {
                return Err(corrupt);
            }
        }
    }
    Ok(())
}

fn taken(before: u64, after: u64) -> usize {
    usize::try_from(after - before).unwrap_or(usize::MAX)
}

/// Room in which a flush of so many bytes always fits, or at least goes on.
const fn room_for(plain_len: usize) -> usize {
    plain_len + plain_len / 64 + 64
}

/// What a deflate stream's sync flush ends with: an empty stored block's length.
const SYNC_TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// Steps in which output grows: most packets of a dialogue fit.
const OUTPUT_STEP_LEN: usize = 4 << 10;
/// zlib-rs at level 1: packs an ORM's rows 8.5x at a third of zstd's time. On digits zstd is better by far.
const DEFLATE_LEVEL: u32 = 1;
/// Reaches over some hundred replies; memory matters more, since every busy session has it twice.
const SHORT_WINDOW_LOG: u32 = 15;
/// Enough for positions within the short window.
const SHORT_HASH_LOG: u32 = 13;
/// Sets the size of zstd's own buffers.
const SHORT_BLOCK_LEN: u32 = 16 << 10;
/// As much as a frame of the standard protocol may hold here, so that scans are packed at least as well.
const LONG_WINDOW_LOG: u32 = 20;
/// Of level 3's table of short matches, one more than the library's: long rows of text get 0.3 % smaller, and so no larger
/// than with the library's own least match; digits get 0.2 % larger, and stay below.
const LONG_CHAIN_LOG: u32 = 17;
/// Of both tables above level 3, as many positions as half of the window: left alone the hardest level takes 640 MiB, for inputs
/// of 128 MiB.
const HARD_TABLE_LOG: u32 = 19;

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(algorithm: Algorithm, len: HistoryLen) -> (HistoryCompressor, HistoryDecompressor) {
        let level = ZstdLevel::new(1).unwrap();
        (HistoryCompressor::new(algorithm, level, len).unwrap(), HistoryDecompressor::new(algorithm).unwrap())
    }

    const ALL: [(Algorithm, HistoryLen); 4] = [
        (Algorithm::Zstd, HistoryLen::Short),
        (Algorithm::Zstd, HistoryLen::Long),
        (Algorithm::Zlib, HistoryLen::Short),
        (Algorithm::Zlib, HistoryLen::Long),
    ];

    /// Bytes that repeat only from far away.
    fn noise(len: usize, mut seed: u64) -> Vec<u8> {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn each_call_is_decoded_at_once_and_what_was_seen_before_costs_next_to_nothing() {
        for (algorithm, len) in ALL {
            let (mut compressor, mut decompressor) = pair(algorithm, len);
            let row = noise(180, 7);
            for turn in 0..200 {
                let (mut packed, mut plain) = (Vec::new(), Vec::new());
                compressor.compress(&row, &mut packed).unwrap();
                decompressor.decompress(&packed, row.len(), &mut plain).unwrap();
                assert_eq!(plain, row, "{algorithm} {len:?}");
                assert!(turn == 0 || packed.len() < 20, "{algorithm} {len:?}: {} bytes", packed.len());
            }
        }
    }

    #[test]
    fn calls_of_every_size_come_out_as_they_went_in() {
        for (algorithm, len) in ALL {
            let (mut compressor, mut decompressor) = pair(algorithm, len);
            for size in [1, 3, 4095, 4096, 4097, 16 << 10, 60 << 10, 1, 0, 300 << 10] {
                for plain in [noise(size, size as u64), vec![b'a'; size]] {
                    let (mut packed, mut again) = (Vec::new(), Vec::new());
                    compressor.compress(&plain, &mut packed).unwrap();
                    decompressor.decompress(&packed, plain.len(), &mut again).unwrap();
                    assert!(again == plain, "{algorithm} {len:?} {size}");
                }
            }
        }
    }

    #[test]
    fn a_history_takes_no_more_memory_than_it_says() {
        let levels = [1, 3, 4, 7, 9, 12, 15, 19, 22].map(|level| ZstdLevel::new(level).unwrap());
        for (level, len) in
            levels.into_iter().flat_map(|level| [(level, HistoryLen::Short), (level, HistoryLen::Long)])
        {
            let mut compressor = HistoryCompressor::new(Algorithm::Zstd, level, len).unwrap();
            let mut decompressor = HistoryDecompressor::new(Algorithm::Zstd).unwrap();
            for turn in 0..20 {
                let (mut packed, plain) = (Vec::new(), noise(120 << 10, turn));
                compressor.compress(&plain, &mut packed).unwrap();
                decompressor.decompress(&packed, plain.len(), &mut Vec::new()).unwrap();
            }
            let most = HistoryCompressor::memory_len(Algorithm::Zstd, level, len);
            let taken = [compressor.taken_len(), decompressor.taken_len()];
            println!("level {}, {len:?}: {taken:?} of {most}", level.get());
            assert!(
                taken.into_iter().all(|taken| taken <= most),
                "level {}, {len:?}: {taken:?} of {most}",
                level.get()
            );
        }
    }

    #[test]
    fn a_bomb_is_cut_at_its_limit() {
        for (algorithm, len) in ALL {
            let (mut compressor, mut decompressor) = pair(algorithm, len);
            let (mut packed, mut out) = (Vec::new(), vec![1]);
            compressor.compress(&vec![0; 1 << 20], &mut packed).unwrap();
            let fault = decompressor.decompress(&packed, 60 << 10, &mut out).unwrap_err();
            assert_eq!(fault, Fault::BodyLongerThanDeclared { declared_len: 60 << 10 }, "{algorithm}");
            assert_eq!(out, [1]);
            assert!(out.capacity() < 1 << 19);
        }
    }

    #[test]
    fn garbage_is_a_named_fault() {
        for algorithm in [Algorithm::Zstd, Algorithm::Zlib] {
            for seed in 0..200 {
                let mut out = Vec::new();
                let mut decompressor = HistoryDecompressor::new(algorithm).unwrap();
                // Some garbage is the beginning of a block; more of it never goes on for ever.
                let result = (0..64).try_for_each(|turn| {
                    decompressor.decompress(&noise(100, seed * 100 + turn), 1 << 16, &mut out)
                });
                assert!(matches!(result, Err(Fault::BodyCorrupt(_) | Fault::BodyLongerThanDeclared { .. })));
            }
        }
    }
}
