//! zstd (RFC 8878): one complete zstd frame per call, with content size, without checksum or dictionary.
//!
//! Invariants: what is emitted is a single frame with its content size (TiDB and old readers need that); what
//! is accepted is everything that MySQL 9.7 accepts: checksums, missing content size, several frames,
//! skippable frames. A declared length that differs from the real one is a fault, as in MySQL.
//!
//! Not here: history across frames; a standard peer decodes each frame alone.

use zstd_safe::{CCtx, CParameter, DCtx, ResetDirective};

use crate::contexts::Packer;
use crate::{Algorithm, Fault, ZstdLevel};

/// One compression and one decompression context, made at first use.
pub(crate) struct Zstd {
    packer: Packer,
    compression: Option<(CCtx<'static>, ZstdLevel)>,
    decompression: Option<DCtx<'static>>,
}

impl Zstd {
    pub(crate) const fn new(packer: Packer) -> Self {
        Self { packer, compression: None, decompression: None }
    }

    /// Appends the frame of `plain` to `out` if it is smaller than `plain`; says whether it did.
    pub(crate) fn compress(
        &mut self,
        level: ZstdLevel,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let failed = |_| Fault::LibraryFailed(Algorithm::Zstd);
        let context = match &mut self.compression {
            Some((context, set)) if *set == level => context,
            slot => {
                let mut context = match slot.take() {
                    Some((context, _)) => context,
                    None => CCtx::try_create().ok_or(Fault::LibraryFailed(Algorithm::Zstd))?,
                };
                // A frame that didn't fit has left it in the middle, where not every parameter can be set.
                context.reset(ResetDirective::SessionOnly).map_err(failed)?;
                context
                    .set_parameter(CParameter::CompressionLevel(i32::from(level.get())))
                    .map_err(failed)?;
                let is_ours = self.packer == Packer::Wirepress;
                let has_long_matches = is_ours && level <= LEVEL_MAX_OF_LONG_MATCHES;
                let min_match = if has_long_matches { LONG_MIN_MATCH } else { LIBRARY_CHOICE };
                context.set_parameter(CParameter::MinMatch(min_match)).map_err(failed)?;
                let has_short_blocks = is_ours && level == ZstdLevel::MIN;
                let block_len = if has_short_blocks { SHORT_BLOCK_LEN } else { LIBRARY_CHOICE };
                context.set_parameter(CParameter::MaxBlockSize(block_len)).map_err(failed)?;
                &mut slot.insert((context, level)).0
            }
        };
        let start = out.len();
        // Room for one byte less than the input: a frame that doesn't fit is not worth sending.
        out.resize(start + plain.len().saturating_sub(1), 0);
        let room = out.get_mut(start..).ok_or(Fault::LibraryFailed(Algorithm::Zstd))?;
        match context.compress2(room, plain) {
            Ok(packed_len) => {
                out.truncate(start + packed_len);
                Ok(true)
            }
            Err(code) => {
                out.truncate(start);
                if is_destination_too_small(code) { Ok(false) } else { Err(failed(code)) }
            }
        }
    }

    /// Appends what the frames in `packed` hold to `out`; exactly `declared_len` bytes.
    pub(crate) fn decompress(
        &mut self,
        packed: &[u8],
        declared_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, Fault> {
        let context = match &mut self.decompression {
            Some(context) => context,
            slot => slot.insert(DCtx::try_create().ok_or(Fault::LibraryFailed(Algorithm::Zstd))?),
        };
        let start = out.len();
        out.resize(start + declared_len, 0);
        let room = out.get_mut(start..).ok_or(Fault::LibraryFailed(Algorithm::Zstd))?;
        let fault = match context.decompress(room, packed) {
            Ok(actual_len) if actual_len == declared_len => return Ok(actual_len),
            Ok(actual_len) => Fault::BodyShorterThanDeclared { declared_len, actual_len },
            Err(code) if is_destination_too_small(code) => Fault::BodyLongerThanDeclared { declared_len },
            Err(_) => Fault::BodyCorrupt(Algorithm::Zstd),
        };
        out.truncate(start);
        Err(fault)
    }
}

/// Whether `packed` is exactly one frame with its content size and without checksum or dictionary.
pub(crate) fn is_canonical(packed: &[u8], plain: &[u8]) -> bool {
    let descriptor_plain = packed.get(4).is_some_and(|byte| byte & (CHECKSUM_FLAG | DICTIONARY_FLAGS) == 0);
    descriptor_plain
        && zstd_safe::get_frame_content_size(packed).ok().flatten() == u64::try_from(plain.len()).ok()
        && zstd_safe::find_frame_compressed_size(packed) == Ok(packed.len())
}

fn is_destination_too_small(code: zstd_safe::ErrorCode) -> bool {
    zstd_safe::get_error_name(code) == "Destination buffer is too small"
}

/// With a minimum match of 7 levels 1 to 3 are up to 2.8x faster on random digits at a better ratio, and
/// within 5 % on text. Source: `cargo run --release -p wirepress-codec --example speeds`.
pub(crate) const LONG_MIN_MATCH: u32 = 7;
/// Above level 3 the search is deep enough that the library's own choice wins.
pub(crate) const LEVEL_MAX_OF_LONG_MATCHES: ZstdLevel = ZstdLevel::DEFAULT;
/// Level 1 packs digits 2 % smaller in blocks of 32 KiB than in the library's of up to 128 KiB, and text as well; it takes up
/// to 13 % longer. Of higher levels more time is asked as it is. Source: a test of `contexts`, of rows as sysbench's.
const SHORT_BLOCK_LEN: u32 = 32 << 10;
/// 0 tells libzstd to choose by level.
const LIBRARY_CHOICE: u32 = 0;
/// Content_Checksum_flag of the frame header descriptor, RFC 8878 3.1.1.1.1.
const CHECKSUM_FLAG: u8 = 0x04;
/// Dictionary_ID_flag, likewise.
const DICTIONARY_FLAGS: u8 = 0x03;
