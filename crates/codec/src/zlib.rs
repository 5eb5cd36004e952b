//! zlib (RFC 1950) by libdeflate: one complete stream per call, several times faster than zlib. What a server would make
//! of the bytes is made by zlib-rs.
//!
//! Invariants: what is emitted starts with 0x78 and has no preset dictionary (old .NET drivers insist);
//! what is accepted is everything that MySQL 9.7 and MariaDB 10.11 accept, e.g. bytes after the stream and a
//! declared length that is too large.
//!
//! Not here: streams over several frames; the protocol has none.

use flate2::{Compress, Compression, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

use crate::contexts::Packer;
use crate::{Algorithm, Fault, ZlibLevel};

/// Compressors by level, made at first use, and a decompressor.
pub(crate) struct Zlib {
    packer: Packer,
    compressors: [Option<Compressor>; LEVEL_COUNT],
    decompressor: Option<Decompressor>,
}

impl Zlib {
    pub(crate) const fn new(packer: Packer) -> Self {
        Self { packer, compressors: [const { None }; LEVEL_COUNT], decompressor: None }
    }

    /// Appends the stream of `plain` to `out` if it is smaller than `plain`; says whether it did.
    pub(crate) fn compress(
        &mut self,
        level: ZlibLevel,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let failed = Fault::LibraryFailed(Algorithm::Zlib);
        if self.packer == Packer::Server {
            return compress_as_a_server(plain, out);
        }
        let slot = self.compressors.get_mut(usize::from(level.get())).ok_or(failed)?;
        let compressor = match slot {
            Some(compressor) => compressor,
            None => {
                slot.insert(Compressor::new(CompressionLvl::new(i32::from(level.get())).map_err(|_| failed)?))
            }
        };
        let start = out.len();
        // Room for one byte less than the input: a stream that doesn't fit is not worth sending.
        out.resize(start + plain.len().saturating_sub(1), 0);
        let room = out.get_mut(start..).ok_or(failed)?;
        match compressor.zlib_compress(plain, room) {
            Ok(packed_len) => {
                out.truncate(start + packed_len);
                Ok(true)
            }
            Err(libdeflater::CompressionError::InsufficientSpace) => {
                out.truncate(start);
                Ok(false)
            }
        }
    }

    /// Appends what the stream in `packed` holds to `out`; at most `declared_len` bytes.
    pub(crate) fn decompress(
        &mut self,
        packed: &[u8],
        declared_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, Fault> {
        let decompressor = self.decompressor.get_or_insert_with(Decompressor::new);
        let start = out.len();
        out.resize(start + declared_len, 0);
        let room = out.get_mut(start..).ok_or(Fault::LibraryFailed(Algorithm::Zlib))?;
        match decompressor.zlib_decompress(packed, room) {
            Ok(actual_len) => {
                out.truncate(start + actual_len);
                Ok(actual_len)
            }
            Err(DecompressionError::InsufficientSpace) => {
                out.truncate(start);
                Err(Fault::BodyLongerThanDeclared { declared_len })
            }
            Err(DecompressionError::BadData) => {
                out.truncate(start);
                Err(Fault::BodyCorrupt(Algorithm::Zlib))
            }
        }
    }
}

/// The same by a new stream at zlib's default level.
fn compress_as_a_server(plain: &[u8], out: &mut Vec<u8>) -> Result<bool, Fault> {
    let failed = Fault::LibraryFailed(Algorithm::Zlib);
    let start = out.len();
    out.resize(start + plain.len().saturating_sub(1), 0);
    let room = out.get_mut(start..).ok_or(failed)?;
    let mut stream = Compress::new(Compression::new(SERVER_LEVEL), true);
    let status = stream.compress(plain, room, FlushCompress::Finish).map_err(|_| failed)?;
    let fits = status == Status::StreamEnd;
    let packed_len = if fits { usize::try_from(stream.total_out()).map_err(|_| failed)? } else { 0 };
    out.truncate(start + packed_len);
    Ok(fits)
}

/// Whether `packed` is a stream as every receiver wants it: 0x78, no dictionary, nothing after the checksum.
///
/// Shape: `plain` is what `packed` was found to hold.
pub(crate) fn is_canonical(packed: &[u8], plain: &[u8]) -> bool {
    let head = matches!(packed, [0x78, flags, ..] if flags & PRESET_DICTIONARY == 0);
    let tail =
        packed.last_chunk::<4>().is_some_and(|sum| u32::from_be_bytes(*sum) == libdeflater::adler32(plain));
    head && tail
}

/// Index is the level; 0 stays empty, libdeflate ends at 12.
const LEVEL_COUNT: usize = 13;
/// MySQL's and MariaDB's, which is zlib's default.
const SERVER_LEVEL: u32 = 6;
/// FDICT of RFC 1950.
const PRESET_DICTIONARY: u8 = 0x20;
