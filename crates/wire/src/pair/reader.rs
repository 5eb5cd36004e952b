//! Frames in, bytes and events out.
//!
//! Invariants: a frame has no effect before its checksum was found right, but on a history, which dies with the session;
//! what it holds never exceeds [`FRAME_PLAIN_LEN_MAX`]; nothing is read before the frame is complete.
//! Not here: the socket (crate `proxy`).

use codec::{Algorithm, HistoryCompressor, HistoryDecompressor, HistoryLen, ZstdLevel};

use super::frame::{FRAME_PLAIN_LEN_MAX, HEADER_LEN, Header, Kind, checksum};
use super::hello::{CodecSet, Hello};
use super::preamble::REFUSAL_LEN_MAX;
use crate::Fault;
use crate::proxy_protocol;

/// What a frame says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// So many bytes were appended.
    Bytes(usize),
    /// The other end introduces itself.
    Hello(Hello),
    /// A session of this client begins.
    Open(proxy_protocol::Header),
    /// Its history is gone, and so is ours.
    Rest,
    /// Its last word.
    End,
    /// Why there will be no session.
    Refusal(String),
}

/// One direction's receiving end.
#[derive(Default)]
pub struct Reader {
    codecs: CodecSet,
    history: Option<(Algorithm, HistoryDecompressor)>,
    ended: bool,
    /// Frames of bytes so far: packed, stored.
    frames: [u64; 2],
}

impl Reader {
    /// Frames of these codecs may come from now on.
    pub const fn agree(&mut self, codecs: CodecSet) {
        self.codecs = codecs;
    }

    /// Frames of bytes of MySQL's protocol so far: packed, stored.
    pub const fn frames(&self) -> [u64; 2] {
        self.frames
    }

    /// Whether it holds a history.
    pub const fn has_history(&self) -> bool {
        self.history.is_some()
    }

    /// Memory of its history, bytes; of a long one less than it takes, since the frame that begins one doesn't tell.
    pub fn history_len(&self) -> usize {
        let memory_len =
            |algorithm| HistoryCompressor::memory_len(algorithm, ZstdLevel::MIN, HistoryLen::Short);
        self.history.as_ref().map_or(0, |(algorithm, _)| memory_len(*algorithm))
    }

    /// Length of the packed bytes in the frame at the start of `received`, if it is complete and a packed one.
    pub fn packed_len(received: &[u8]) -> Option<usize> {
        let header = Header::parse(received).ok().flatten()?;
        let is_packed = matches!(header.kind, Kind::Zstd | Kind::Deflate);
        (is_packed && received.len() >= HEADER_LEN + header.body_len).then_some(header.body_len)
    }

    /// Takes the frame at the start of `received`: its length, and what it says. Bytes of MySQL's protocol are appended to
    /// `plain`. `None` while it is incomplete.
    ///
    /// Errors: any that a flipped bit or a wrong peer can cause; the stream is of no use behind one.
    pub fn read(&mut self, received: &[u8], plain: &mut Vec<u8>) -> Result<Option<(usize, Event)>, Fault> {
        let Some(header) = Header::parse(received)? else { return Ok(None) };
        let frame_len = HEADER_LEN + header.body_len;
        let Some(body) = received.get(HEADER_LEN..frame_len) else { return Ok(None) };
        let start = plain.len();
        let taken = self.take(&header, received, body, plain);
        if taken.is_err() {
            plain.truncate(start);
        }
        taken.map(|event| Some((frame_len, event)))
    }

    fn take(
        &mut self,
        header: &Header,
        received: &[u8],
        body: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<Event, Fault> {
        if self.ended {
            return Err(Fault::PairBehindEnd);
        }
        let algorithm = match header.kind {
            Kind::Zstd => Some(Algorithm::Zstd),
            Kind::Deflate => Some(Algorithm::Zlib),
            _ => None,
        };
        let start = plain.len();
        if let Some(algorithm) = algorithm {
            if !self.codecs.contains(header.kind) {
                return Err(Fault::PairCodecNotAgreed(algorithm));
            }
            self.unpack(algorithm, header.begins_anew, body, plain)?;
        }
        let &start_of_header = received.first_chunk().ok_or(Fault::PairHeader)?;
        let unpacked = plain.get(start..).unwrap_or_default();
        let actual = checksum(start_of_header, body, unpacked);
        if actual != header.checksum {
            return Err(Fault::PairChecksum { announced: header.checksum, actual });
        }
        match header.kind {
            Kind::Zstd | Kind::Deflate => {}
            Kind::Stored if body.len() <= FRAME_PLAIN_LEN_MAX => plain.extend_from_slice(body),
            Kind::Stored => return Err(Fault::Malformed("a stored frame that is too long")),
            Kind::Hello => return Hello::parse(body).map(Event::Hello),
            Kind::Open => {
                return match proxy_protocol::parse(body)? {
                    Some((header, len)) if len == body.len() => Ok(Event::Open(header)),
                    _ => Err(Fault::Malformed("OPEN of a pair")),
                };
            }
            Kind::Rest => {
                self.history = None;
                return Ok(Event::Rest);
            }
            Kind::End => {
                self.ended = true;
                self.history = None;
                return Ok(Event::End);
            }
            Kind::Refusal => {
                let text = body.get(..REFUSAL_LEN_MAX).unwrap_or(body);
                return Ok(Event::Refusal(String::from_utf8_lossy(text).into_owned()));
            }
        }
        match plain.len() - start {
            0 => Err(Fault::Malformed("a frame without bytes")),
            len => {
                let [packed, stored] = &mut self.frames;
                *(if algorithm.is_some() { packed } else { stored }) += 1;
                Ok(Event::Bytes(len))
            }
        }
    }

    fn unpack(
        &mut self,
        algorithm: Algorithm,
        begins_anew: bool,
        body: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if begins_anew {
            // The old one first: they would be two for a moment.
            self.history = None;
            self.history = Some((algorithm, HistoryDecompressor::new(algorithm)?));
        }
        match &mut self.history {
            Some((of, history)) if *of == algorithm => {
                Ok(history.decompress(body, FRAME_PLAIN_LEN_MAX, plain)?)
            }
            _ => Err(Fault::PairHistoryMissing(algorithm)),
        }
    }
}
