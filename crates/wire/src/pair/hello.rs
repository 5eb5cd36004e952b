//! HELLO: what an end can do, and the proof that it knows the key. Both ends then use what both know.
//!
//! ```text
//! body: fields of   1 tag | 2 length | value      tags that a reader doesn't know are skipped
//!   1  lowest and highest version, a byte each
//!   2  codecs, 4 bytes: bit n is the frame kind n
//!   3  proof, 32 bytes: HMAC-SHA-256 by the shared key over role and TLS exporter
//!   4  program and version, for messages
//! ```
//! Invariants: a field may come in any order, once; whatever a later version adds is a new tag or a new bit.
//! Not here: making and checking proofs (crate `proxy`).

use codec::{Algorithm, AlgorithmSet};

use super::frame::Kind;
use crate::Fault;

/// The version that is spoken here; so far the only one.
pub const VERSION: u8 = 1;
/// Bytes of a proof.
pub const PROOF_LEN: usize = 32;

/// One end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Lowest and highest version that it speaks.
    pub versions: (u8, u8),
    /// Codecs that it reads and writes, stored aside.
    pub codecs: CodecSet,
    /// That it knows the key.
    pub proof: Option<[u8; PROOF_LEN]>,
    /// Who it is.
    pub program: String,
}

/// Codecs with history, by bits of their frame kinds. Bits that nobody here knows are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodecSet(pub u32);

/// What both ends know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreement {
    /// The highest common version.
    pub version: u8,
    /// What either end may pack with.
    pub codecs: CodecSet,
}

impl CodecSet {
    /// The codecs for these algorithms; uncompressed is always possible.
    pub const fn of(algorithms: AlgorithmSet) -> Self {
        let zstd = if algorithms.contains(Algorithm::Zstd) { ZSTD } else { 0 };
        let deflate = if algorithms.contains(Algorithm::Zlib) { DEFLATE } else { 0 };
        Self(zstd | deflate)
    }

    /// Whether frames of this kind may come.
    pub const fn contains(self, kind: Kind) -> bool {
        match kind {
            Kind::Zstd => self.0 & ZSTD != 0,
            Kind::Deflate => self.0 & DEFLATE != 0,
            _ => true,
        }
    }
}

impl Hello {
    /// The fields of `body`.
    pub fn parse(body: &[u8]) -> Result<Self, Fault> {
        let malformed = || Fault::Malformed("HELLO of a pair");
        let (mut versions, mut codecs, mut proof, mut program) = (None, CodecSet(0), None, String::new());
        let mut has = [false; 1 << u8::BITS];
        let mut rest = body;
        while let Some((&[tag, low, high], behind)) = rest.split_first_chunk() {
            let len = usize::from(u16::from_le_bytes([low, high]));
            let (value, behind) = behind.split_at_checked(len).ok_or_else(malformed)?;
            rest = behind;
            if has.get_mut(usize::from(tag)).is_some_and(|has| std::mem::replace(has, true)) {
                return Err(Fault::PairFieldRepeated(tag));
            }
            match tag {
                VERSIONS => {
                    let &[lowest, highest] = value.first_chunk().ok_or_else(malformed)?;
                    versions = Some((lowest, highest));
                }
                CODECS => {
                    codecs = CodecSet(u32::from_le_bytes(*value.first_chunk().ok_or_else(malformed)?));
                }
                PROOF => proof = Some(value.try_into().map_err(|_| malformed())?),
                PROGRAM => {
                    let value = value.get(..PROGRAM_LEN_MAX).unwrap_or(value);
                    program = String::from_utf8_lossy(value).into_owned();
                }
                _ => {}
            }
        }
        match versions {
            Some(versions) if rest.is_empty() => Ok(Self { versions, codecs, proof, program }),
            _ => Err(malformed()),
        }
    }

    /// Its body.
    pub fn build(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut field = |tag: u8, value: &[u8]| {
            let len = u16::try_from(value.len()).unwrap_or(0);
            body.push(tag);
            body.extend_from_slice(&len.to_le_bytes());
            body.extend_from_slice(value.get(..len.into()).unwrap_or_default());
        };
        field(VERSIONS, &[self.versions.0, self.versions.1]);
        field(CODECS, &self.codecs.0.to_le_bytes());
        if let Some(proof) = &self.proof {
            field(PROOF, proof);
        }
        field(PROGRAM, self.program.as_bytes());
        body
    }

    /// What this end and `other` both know.
    ///
    /// Errors: they have no version in common.
    pub fn agree(&self, other: &Self) -> Result<Agreement, Fault> {
        let lowest = self.versions.0.max(other.versions.0);
        let version = self.versions.1.min(other.versions.1);
        if version < lowest {
            return Err(Fault::PairVersion { ours: self.versions, theirs: other.versions });
        }
        Ok(Agreement { version, codecs: CodecSet(self.codecs.0 & other.codecs.0) })
    }
}

const VERSIONS: u8 = 1;
const CODECS: u8 = 2;
const PROOF: u8 = 3;
const PROGRAM: u8 = 4;
/// Goes into log lines.
const PROGRAM_LEN_MAX: usize = 64;
/// The frame kind's own bits.
const ZSTD: u32 = 1 << 1;
const DEFLATE: u32 = 1 << 2;
