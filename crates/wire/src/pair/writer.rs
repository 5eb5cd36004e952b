//! Bytes in, frames out, each by the codec that suits it.
//!
//! Invariants: nothing is held back, so what was written can be read as soon as its frame has come; bytes of stored frames
//! never enter a history; a history begins where its frame says so, and nowhere else.
//! Not here: when bytes are written (crate `proxy`), the other end (`reader`).

use codec::{Algorithm, HistoryCompressor, HistoryLen, ZstdLevel};

use super::frame::{FRAME_PLAIN_LEN_MAX, HEADER_LEN, Kind, seal};
use super::hello::{CodecSet, Hello};
use super::preamble::cut;
use crate::Fault;
use crate::proxy_protocol;

/// One direction's sending end.
pub struct Writer {
    /// What to pack with; `None`: every frame is stored.
    packs_with: Option<Algorithm>,
    level: ZstdLevel,
    /// The login is over.
    may_pack: bool,
    history: Option<History>,
    choice: Choice,
}

/// A frame that was packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// Its history is a new one.
    pub begins_anew: bool,
    /// That of its history, which is not the one that was set where there is no memory for another.
    pub level: ZstdLevel,
}

struct History {
    compressor: HistoryCompressor,
    len: HistoryLen,
    level: ZstdLevel,
    plain_len: usize,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            packs_with: None,
            level: ZstdLevel::MIN,
            may_pack: false,
            history: None,
            choice: Choice::default(),
        }
    }
}

impl Writer {
    /// Packs with the first of `wishes` that `codecs` has, once that may begin; zstd at `level`.
    pub fn agree(&mut self, codecs: CodecSet, wishes: &[Algorithm], level: ZstdLevel) {
        let is_possible = |algorithm: &&Algorithm| match algorithm {
            Algorithm::Zstd => codecs.contains(Kind::Zstd),
            Algorithm::Zlib => codecs.contains(Kind::Deflate),
            Algorithm::Uncompressed => true,
        };
        let first = wishes.iter().find(is_possible).copied();
        self.packs_with = first.filter(|algorithm| algorithm.is_framed());
        self.level = level;
    }

    /// What it packs with.
    pub fn algorithm(&self) -> Algorithm {
        self.packs_with.unwrap_or(Algorithm::Uncompressed)
    }

    /// The login is over: no secret is left that a length could betray.
    pub const fn start_packing(&mut self) {
        self.may_pack = true;
    }

    /// Whether it holds a history.
    pub const fn has_history(&self) -> bool {
        self.history.is_some()
    }

    /// Memory of its history, bytes.
    pub fn history_len(&self) -> usize {
        let memory_len =
            |history: &History| HistoryCompressor::memory_len(self.algorithm(), history.level, history.len);
        self.history.as_ref().map_or(0, memory_len)
    }

    /// Appends a frame of the first bytes of `plain`, at most [`FRAME_PLAIN_LEN_MAX`]; says how many, and whether they were
    /// packed. `may_take` is asked before a history is made that takes more memory than the one that there is, with all that it
    /// takes, in bytes; without it the frame is stored, or goes on in the history that there is.
    pub fn write(
        &mut self,
        plain: &[u8],
        out: &mut Vec<u8>,
        may_take: impl FnOnce(usize) -> bool,
    ) -> Result<(usize, bool), Fault> {
        let plain = plain.get(..FRAME_PLAIN_LEN_MAX).unwrap_or(plain);
        let is_packed = self.choice.packs(plain.len()) && self.pack(plain, out, may_take)?.is_some();
        if !is_packed {
            let start = Self::begin(out);
            out.extend_from_slice(plain);
            Self::store(out, start)?;
        }
        Ok((plain.len(), is_packed))
    }

    /// Whether a frame of so many bytes is worth a try, as far as frames before it tell.
    pub fn is_worth_packing(&mut self, plain_len: usize) -> bool {
        self.choice.packs(plain_len)
    }

    /// Appends a frame of `plain`, at most [`FRAME_PLAIN_LEN_MAX`] bytes, packed. `None`, and nothing is appended, where nothing
    /// may be packed, or where there is no history and `may_take`, which is asked as by [`write`](Self::write), says that there is
    /// no memory.
    pub fn pack(
        &mut self,
        plain: &[u8],
        out: &mut Vec<u8>,
        may_take: impl FnOnce(usize) -> bool,
    ) -> Result<Option<Packed>, Fault> {
        let Some(algorithm) = self.packs_with.filter(|_| self.may_pack) else { return Ok(None) };
        let begins_anew = self.ready_history(algorithm, plain.len(), may_take)?;
        let Some(history) = &mut self.history else { return Ok(None) };
        let (start, level) = (Self::begin(out), history.level);
        history.compressor.compress(plain, out)?;
        history.plain_len = history.plain_len.saturating_add(plain.len());
        let kind = if algorithm == Algorithm::Zstd { Kind::Zstd } else { Kind::Deflate };
        seal(out, start, kind, begins_anew, plain)?;
        self.choice.packed(plain.len(), out.len() - start - HEADER_LEN);
        Ok(Some(Packed { begins_anew, level }))
    }

    /// Makes a stored frame of what stands in `out` behind the room for its header, which begins at `start`: at most
    /// [`FRAME_PLAIN_LEN_MAX`] bytes.
    pub fn store(out: &mut [u8], start: usize) -> Result<(), Fault> {
        seal(out, start, Kind::Stored, false, &[])
    }

    /// Appends room for a frame's header; says where.
    pub fn begin(out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_LEN]);
        start
    }

    /// The zstd level.
    pub const fn level(&self) -> ZstdLevel {
        self.level
    }

    /// From the next packed frame on it is this level, with a new history.
    pub const fn set_level(&mut self, level: ZstdLevel) {
        self.level = level;
    }

    /// Gives the history back; says whether there was one, of which the other end must then be told by what was appended.
    pub fn rest(&mut self, out: &mut Vec<u8>) -> Result<bool, Fault> {
        if self.history.take().is_none() {
            return Ok(false);
        }
        append(out, Kind::Rest, &[]).map(|()| true)
    }

    /// The last word.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.history = None;
        append(out, Kind::End, &[])
    }

    /// Introduces this end.
    pub fn hello(hello: &Hello, out: &mut Vec<u8>) -> Result<(), Fault> {
        append(out, Kind::Hello, &hello.build())
    }

    /// Begins the session of `client`.
    pub fn open(client: &proxy_protocol::Header, out: &mut Vec<u8>) -> Result<(), Fault> {
        let body = proxy_protocol::build_v2(client, proxy_protocol::Options { crc32c: false });
        append(out, Kind::Open, &body)
    }

    /// Says why there will be no session.
    pub fn refuse(why: &str, out: &mut Vec<u8>) -> Result<(), Fault> {
        append(out, Kind::Refusal, cut(why))
    }

    /// Makes the history that the next frame needs; says whether it is a new one.
    fn ready_history(
        &mut self,
        algorithm: Algorithm,
        plain_len: usize,
        may_take: impl FnOnce(usize) -> bool,
    ) -> Result<bool, Fault> {
        let is_full = plain_len >= FRAME_PLAIN_LEN_MAX;
        let len = match &self.history {
            None if is_full => HistoryLen::Long,
            None => HistoryLen::Short,
            // It isn't a dialogue any more.
            Some(history)
                if history.len == HistoryLen::Short
                    && (is_full || self.choice.is_bulk(history.plain_len)) =>
            {
                HistoryLen::Long
            }
            // A history can't change its level.
            Some(history) if history.level != self.level => history.len,
            Some(_) => return Ok(false),
        };
        let memory_len = HistoryCompressor::memory_len(algorithm, self.level, len);
        if memory_len > self.history_len() && !may_take(memory_len) {
            return Ok(false);
        }
        // The old one first: they would be two for a moment.
        self.history = None;
        let compressor = HistoryCompressor::new(algorithm, self.level, len)?;
        self.history = Some(History { compressor, len, level: self.level, plain_len: 0 });
        Ok(true)
    }
}

/// Which frames are packed. A controller that knows the link and the CPU may take its place.
#[derive(Default)]
struct Choice {
    /// Large frames in a row that hardly shrank.
    in_vain: u32,
    /// Large frames to store before the next try.
    skips: u32,
    /// Large frames in a row.
    large: u32,
}

impl Choice {
    /// Whether a frame of so many bytes is worth a try.
    fn packs(&mut self, plain_len: usize) -> bool {
        if plain_len < SMALL_LEN {
            return true;
        }
        if self.skips > 0 {
            self.skips -= 1;
            return false;
        }
        true
    }

    /// What came of it.
    fn packed(&mut self, plain_len: usize, packed_len: usize) {
        if plain_len < SMALL_LEN {
            self.large = 0;
            return;
        }
        self.large = self.large.saturating_add(1);
        if packed_len > plain_len - plain_len / WORTH_SHARE {
            self.in_vain = (self.in_vain + 1).min(IN_VAIN_MAX);
            self.skips = (1 << self.in_vain) - 1;
        } else {
            self.in_vain = 0;
        }
    }

    /// Whether a history of so many bytes has become that of a large result.
    const fn is_bulk(&self, plain_len: usize) -> bool {
        self.large >= BULK_FRAMES && plain_len >= BULK_LEN
    }
}

fn append(out: &mut Vec<u8>, kind: Kind, body: &[u8]) -> Result<(), Fault> {
    let start = Writer::begin(out);
    out.extend_from_slice(body);
    seal(out, start, kind, false, &[])
}

/// Below this a frame is always packed: what a try costs is little, and what such replies have in common is all that
/// history is for.
const SMALL_LEN: usize = 4 << 10;
/// A frame that shrinks by less than a sixteenth was not worth its time.
const WORTH_SHARE: usize = 16;
/// At most 127 large frames, 15 MB, are stored between two tries: 0.8 % of them are tried.
const IN_VAIN_MAX: u32 = 7;
/// So many large frames in a row, and so many bytes, and a longer history pays. A full frame is enough: more follows it.
const BULK_FRAMES: u32 = 3;
const BULK_LEN: usize = 64 << 10;
