//! Reads a stream record by record and holds it to what the records say.
//!
//! Invariants: a frame comes out only with the number that is due; the end comes only if totals and hash fit and nothing
//! follows; no more is read into memory than the start record permits, and that only up to the caller's limit.
//!
//! Not here: whether a frame's bytes are those that were packed, which is left to the workers (`FrameRecord::fits`).

use std::io::{ErrorKind, Read};

use crate::record::Totals;
use crate::{EndRecord, Fault, FrameRecord, StartRecord};

/// What is next in a stream of `pack`.
pub struct StreamReader<R> {
    input: R,
    start: StartRecord,
    totals: Totals,
    /// The record after the frame that was read last.
    ahead: [u8; FrameRecord::LEN],
}

/// A frame as it stands in the stream.
#[derive(Debug, Default)]
pub struct PackedFrame {
    /// Its record.
    pub record: Option<FrameRecord>,
    /// Its zstd bytes.
    pub packed: Vec<u8>,
}

/// How a stream begins.
pub enum Opened<R> {
    /// As `pack` begins it.
    Ours(Box<StreamReader<R>>),
    /// Otherwise, with the bytes that were read.
    Foreign(R, Vec<u8>),
}

impl<R: Read> StreamReader<R> {
    /// Reads the start record, or finds that there is none.
    ///
    /// Errors: an empty input, a start record that is cut off or of another version.
    pub fn open(mut input: R) -> Result<Opened<R>, Fault> {
        let mut bytes = [0; StartRecord::LEN];
        let len = fill(&mut input, &mut bytes)?;
        let begun = bytes.get(..len).unwrap_or_default();
        let start = match StartRecord::from_bytes(&bytes) {
            _ if len == 0 => return Err(Fault::Empty),
            Ok(start) if len == bytes.len() => start,
            // A part of a start record can't be foreign zstd either: it ends too early for a frame's content.
            _ if len < bytes.len() && is_start(begun) => {
                return Err(Fault::EndMissing { frames: 0, plain_len: 0 });
            }
            Ok(_) | Err(Fault::StartMissing) => return Ok(Opened::Foreign(input, begun.to_vec())),
            Err(fault) => return Err(fault),
        };
        let totals = Totals::new(start);
        let mut reader = Self { input, start, totals, ahead: [0; FrameRecord::LEN] };
        reader.read_ahead()?;
        Ok(Opened::Ours(Box::new(reader)))
    }

    /// How the stream begins.
    pub const fn start(&self) -> StartRecord {
        self.start
    }

    /// Reads the next frame; or the end, `None`, when the stream is whole.
    pub fn next(&mut self, frame: &mut PackedFrame) -> Result<Option<FrameRecord>, Fault> {
        frame.record = None;
        let Some(record) = FrameRecord::from_bytes(&self.ahead) else {
            frame.packed.clear();
            return self.end().map(|()| None);
        };
        let (wanted, found) = (self.totals.frames(), record.number);
        if found != wanted {
            return Err(Fault::OutOfOrder { wanted, found });
        }
        let len_max = self.start.chunk_len as usize;
        let packed_len_max = packed_len_max(len_max);
        let (plain_len, packed_len) = (record.plain_len as usize, record.packed_len as usize);
        for (len, len_max) in [(plain_len, len_max), (packed_len, packed_len_max)] {
            if len > len_max {
                let (len, len_max) = (len as u64, len_max as u64);
                return Err(Fault::FrameTooLong { number: found, len, len_max });
            }
        }
        // Not cleared first: what is read over needs no zeros.
        frame.packed.resize(packed_len, 0);
        let len = fill(&mut self.input, &mut frame.packed)?;
        if len < packed_len {
            return Err(self.cut_off());
        }
        self.totals.add(&record);
        self.read_ahead()?;
        frame.record = Some(record);
        Ok(Some(record))
    }

    fn read_ahead(&mut self) -> Result<(), Fault> {
        let len = fill(&mut self.input, &mut self.ahead)?;
        if len < self.ahead.len() { Err(self.cut_off()) } else { Ok(()) }
    }

    /// What stands ahead must be the end record, and the last.
    fn end(&mut self) -> Result<(), Fault> {
        let mut bytes = [0; EndRecord::LEN];
        let (begun, rest) = bytes.split_at_mut(FrameRecord::LEN);
        begun.copy_from_slice(&self.ahead);
        let is_whole = fill(&mut self.input, rest)? == rest.len();
        match EndRecord::from_bytes(&bytes) {
            // Told from other damage as long as the record can be an end.
            Some(_) if !is_whole => return Err(self.cut_off()),
            None => return Err(Fault::RecordDamaged { frames: self.totals.frames() }),
            Some(end) if end != self.totals.end() => return Err(Fault::TotalsDiffer),
            Some(_) => (),
        }
        if fill(&mut self.input, &mut [0])? > 0 { Err(Fault::TrailingBytes) } else { Ok(()) }
    }

    fn cut_off(&self) -> Fault {
        Fault::EndMissing { frames: self.totals.frames(), plain_len: self.totals.plain_len() }
    }
}

/// The longest zstd frame of a chunk.
pub(crate) fn packed_len_max(chunk_len: usize) -> usize {
    zstd_safe::compress_bound(chunk_len).max(chunk_len + crate::stored::overhead_len(chunk_len))
}

/// Whether these are the first bytes of a start record of any version.
fn is_start(bytes: &[u8]) -> bool {
    let start = StartRecord { chunk_len: 0 }.to_bytes();
    bytes.iter().zip(&start).take(FIXED_LEN).all(|(a, b)| a == b)
}

/// Reads until the buffer is full or the input ends; how much.
pub(crate) fn fill(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Fault> {
    let mut len = 0;
    while let Some(room) = buffer.get_mut(len..).filter(|room| !room.is_empty()) {
        match input.read(room) {
            Ok(0) => break,
            Ok(read_len) => len += read_len,
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) => return Err(Fault::Read(error)),
        }
    }
    Ok(len)
}

/// Magic number, length and tag of a start record, without its version.
const FIXED_LEN: usize = 11;
