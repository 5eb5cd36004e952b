//! Reusable contexts of all algorithms: what a worker owns once, whatever the number of its connections.
//!
//! Not here: a pool over threads; each worker and each helper thread has its own.

use crate::zlib::{self, Zlib};
use crate::zstd::{self, Zstd};
use crate::{Algorithm, Fault, ZlibLevel, ZstdLevel};

/// Who packs, and so by which parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packer {
    /// wirepress, by those of `docs/adr/0005-zstd-parameters.md`.
    Wirepress,
    /// A server, by the libraries' own.
    Server,
}

/// Compression and decompression contexts, made at first use.
///
/// Cost: nothing until used; then about 1 MiB for zstd levels to 3 and 0.2 MiB per zlib level.
pub struct Contexts {
    zlib: Zlib,
    zstd: Zstd,
}

impl Contexts {
    /// Empty contexts.
    pub const fn new() -> Self {
        Self { zlib: Zlib::new(Packer::Wirepress), zstd: Zstd::new(Packer::Wirepress) }
    }

    /// Empty contexts that pack as MySQL and MariaDB do: zstd with the library's parameters of the level, zlib at its
    /// default, whatever the level. To know what that takes and makes; nothing is sent so.
    ///
    /// Source: MySQL's `mysys/my_compress.cc`, `ZSTD_compressCCtx` and `compress2` at level 6.
    pub const fn of_a_server() -> Self {
        Self { zlib: Zlib::new(Packer::Server), zstd: Zstd::new(Packer::Server) }
    }

    /// Appends `plain`, packed, to `out` if that is smaller than `plain`; says whether it did.
    ///
    /// Shape: `level` is zstd's 1..=22 or libdeflate's 1..=12; one outside is moved to the nearest.
    /// `Uncompressed` never packs.
    pub fn compress(
        &mut self,
        algorithm: Algorithm,
        level: u8,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        match algorithm {
            Algorithm::Uncompressed => Ok(false),
            Algorithm::Zlib => {
                let level = ZlibLevel::new(level.clamp(1, 12)).unwrap_or(ZlibLevel::DEFAULT);
                self.zlib.compress(level, plain, out)
            }
            Algorithm::Zstd => {
                let level = ZstdLevel::new(level.clamp(1, 22)).unwrap_or(ZstdLevel::DEFAULT);
                self.zstd.compress(level, plain, out)
            }
        }
    }

    /// Appends what `packed` holds to `out` and returns its length, at most `declared_len` bytes.
    ///
    /// Errors: `out` is as before. zlib bodies may be shorter than declared, as both servers allow; zstd ones
    /// may not, as in MySQL.
    pub fn decompress(
        &mut self,
        algorithm: Algorithm,
        packed: &[u8],
        declared_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, Fault> {
        match algorithm {
            Algorithm::Uncompressed => Err(Fault::BodyCorrupt(algorithm)),
            Algorithm::Zlib => self.zlib.decompress(packed, declared_len, out),
            Algorithm::Zstd => self.zstd.decompress(packed, declared_len, out),
        }
    }

    /// Whether `packed`, found to hold `plain`, is in the form that every receiver accepts.
    pub fn is_canonical(algorithm: Algorithm, packed: &[u8], plain: &[u8]) -> bool {
        match algorithm {
            Algorithm::Uncompressed => false,
            Algorithm::Zlib => zlib::is_canonical(packed, plain),
            Algorithm::Zstd => zstd::is_canonical(packed, plain),
        }
    }
}

impl Default for Contexts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
