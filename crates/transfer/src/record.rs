//! The three records of a stream: zstd skippable frames, which every other reader of zstd passes over.
//!
//! ```text
//! start   57 2a 4d 18 | 08 00 00 00 | w p S 01 | chunk_len u32
//! frame   57 2a 4d 18 | 24 00 00 00 | w p F 01 | number u64 | plain_len u32 | packed_len u32 | plain_hash u64 | hash u64
//!         an ordinary zstd frame of packed_len bytes, with content size and checksum
//! ...
//! end     57 2a 4d 18 | 2c 00 00 00 | w p E 01 | frames u64 | plain_len u64 | packed_len u64 | hash u128
//! ```
//! All numbers are little-endian. A frame's plain hash (XXH3, 64 bits) is that of what went in, taken before it was packed;
//! its hash covers its zstd bytes and all fields of its record; the end's (XXH3, 128 bits) covers the start record, every frame record and the totals. So each bit of a stream is covered,
//! also those that a zstd decoder ignores. The hashes tell accidents, not attackers: that is what TLS is for.
//!
//! Invariants: the numbers are 0, 1, 2 and so on; nothing stands between the records and frames; nothing follows the end.
//!
//! Not here: who reads them in turn (`reader`), what zstd itself checks.
//! Source: RFC 8878, 3.1.2 (skippable frames).

use twox_hash::{XxHash3_64, XxHash3_128};

use crate::Fault;

/// How a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartRecord {
    /// No frame holds more, bytes.
    pub chunk_len: u32,
}

/// What stands before each zstd frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRecord {
    /// From 0.
    pub number: u64,
    /// What it holds, bytes.
    pub plain_len: u32,
    /// Its own length, bytes.
    pub packed_len: u32,
    /// Over what it holds.
    pub plain_hash: u64,
    /// Over the four above and the zstd frame.
    pub hash: u64,
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndRecord {
    /// How many there were.
    pub frames: u64,
    /// What they held, bytes.
    pub plain_len: u64,
    /// Their own length without records, bytes.
    pub packed_len: u64,
    /// Over all records.
    pub hash: u128,
}

impl StartRecord {
    /// Length of the record, bytes.
    pub const LEN: usize = HEAD_LEN + 4;

    /// The record's bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        fill(&mut bytes, START, &[&self.chunk_len.to_le_bytes()]);
        bytes
    }

    /// The record, if these bytes are one.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Result<Self, Fault> {
        let mut fields = Fields::after_head(bytes, START).map_err(|version| match version {
            Some(version) => Fault::VersionUnknown { version },
            None => Fault::StartMissing,
        })?;
        Ok(Self { chunk_len: u32::from_le_bytes(fields.take()) })
    }
}

impl FrameRecord {
    /// Length of the record, bytes.
    pub const LEN: usize = HEAD_LEN + 32;

    /// The record of a zstd frame that holds `plain`.
    pub fn new(number: u64, plain: &[u8], packed: &[u8]) -> Self {
        // A chunk is never near 4 GiB; a record that says so wouldn't be read back.
        let plain_len = u32::try_from(plain.len()).unwrap_or(u32::MAX);
        let packed_len = u32::try_from(packed.len()).unwrap_or(u32::MAX);
        let record = Self { number, plain_len, packed_len, plain_hash: XxHash3_64::oneshot(plain), hash: 0 };
        Self { hash: record.hash_with(packed), ..record }
    }

    /// Whether these are the bytes that it was made for.
    pub fn fits(&self, packed: &[u8]) -> bool {
        self.packed_len as usize == packed.len() && self.hash == self.hash_with(packed)
    }

    /// Whether this is what went in.
    pub fn holds(&self, plain: &[u8]) -> bool {
        self.plain_len as usize == plain.len() && self.plain_hash == XxHash3_64::oneshot(plain)
    }

    fn hash_with(&self, packed: &[u8]) -> u64 {
        let lens = u64::from(self.plain_len) << 32 | u64::from(self.packed_len);
        let fields = [self.number, lens, self.plain_hash].map(u64::to_le_bytes);
        XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(fields.as_flattened()), packed)
    }

    /// The record's bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let lens = [self.plain_len, self.packed_len].map(u32::to_le_bytes);
        let hashes = [self.plain_hash, self.hash].map(u64::to_le_bytes);
        fill(&mut bytes, FRAME, &[&self.number.to_le_bytes(), lens.as_flattened(), hashes.as_flattened()]);
        bytes
    }

    /// The record, if these bytes are one.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let mut fields = Fields::after_head(bytes, FRAME).ok()?;
        Some(Self {
            number: u64::from_le_bytes(fields.take()),
            plain_len: u32::from_le_bytes(fields.take()),
            packed_len: u32::from_le_bytes(fields.take()),
            plain_hash: u64::from_le_bytes(fields.take()),
            hash: u64::from_le_bytes(fields.take()),
        })
    }
}

impl EndRecord {
    /// Length of the record, bytes.
    pub const LEN: usize = HEAD_LEN + 40;

    /// The record's bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let totals = [self.frames, self.plain_len, self.packed_len].map(u64::to_le_bytes);
        fill(&mut bytes, END, &[totals.as_flattened(), &self.hash.to_le_bytes()]);
        bytes
    }

    /// The record, if these bytes are one.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let mut fields = Fields::after_head(bytes, END).ok()?;
        Some(Self {
            frames: u64::from_le_bytes(fields.take()),
            plain_len: u64::from_le_bytes(fields.take()),
            packed_len: u64::from_le_bytes(fields.take()),
            hash: u128::from_le_bytes(fields.take()),
        })
    }
}

/// What the end record will say, while the stream passes.
pub(crate) struct Totals {
    frames: u64,
    plain_len: u64,
    packed_len: u64,
    hasher: XxHash3_128,
}

impl Totals {
    pub(crate) fn new(start: StartRecord) -> Self {
        let mut hasher = XxHash3_128::new();
        hasher.write(&start.to_bytes());
        Self { frames: 0, plain_len: 0, packed_len: 0, hasher }
    }

    pub(crate) fn add(&mut self, frame: &FrameRecord) {
        self.frames += 1;
        self.plain_len += u64::from(frame.plain_len);
        self.packed_len += u64::from(frame.packed_len);
        self.hasher.write(&frame.to_bytes());
    }

    pub(crate) const fn frames(&self) -> u64 {
        self.frames
    }

    pub(crate) const fn plain_len(&self) -> u64 {
        self.plain_len
    }

    /// The end record as it must be now.
    pub(crate) fn end(&self) -> EndRecord {
        let (frames, plain_len, packed_len) = (self.frames, self.plain_len, self.packed_len);
        let mut hasher = self.hasher.clone();
        hasher.write([frames, plain_len, packed_len].map(u64::to_le_bytes).as_flattened());
        EndRecord { frames, plain_len, packed_len, hash: hasher.finish_128() }
    }
}

/// Fields in the order of the drawing, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// What follows magic number, length and tag, if they are those of `kind`; else the version if that alone differs.
    fn after_head(bytes: &'a [u8], kind: u8) -> Result<Self, Option<u8>> {
        let (head, fields) = bytes.split_at_checked(HEAD_LEN).ok_or(None)?;
        let wanted = head_of(kind, bytes.len());
        if head == wanted {
            return Ok(Self(fields));
        }
        match (head.split_last(), wanted.split_last()) {
            (Some((&version, tag)), Some((_, wanted))) if tag == wanted => Err(Some(version)),
            _ => Err(None),
        }
    }

    /// The next field; the record's length was checked by its type.
    fn take<const LEN: usize>(&mut self) -> [u8; LEN] {
        let Some((field, rest)) = self.0.split_first_chunk() else { return [0; LEN] };
        self.0 = rest;
        *field
    }
}

/// Magic number, length and tag of a record of `record_len` bytes.
fn head_of(kind: u8, record_len: usize) -> [u8; HEAD_LEN] {
    let [a, b, c, d] = SKIPPABLE_MAGIC.to_le_bytes();
    // The records have less than 256 bytes each.
    let len = u8::try_from(record_len - 8).unwrap_or(u8::MAX);
    [a, b, c, d, len, 0, 0, 0, b'w', b'p', kind, VERSION]
}

fn fill(bytes: &mut [u8], kind: u8, fields: &[&[u8]]) {
    let head = head_of(kind, bytes.len());
    let all = head.iter().chain(fields.iter().copied().flatten());
    for (to, from) in bytes.iter_mut().zip(all) {
        *to = *from;
    }
}

/// One of the sixteen that RFC 8878 leaves to applications; pzstd's is 0x184D2A50, the seekable format's 0x184D2A5E.
const SKIPPABLE_MAGIC: u32 = 0x184D_2A57;
/// Magic number, length of what follows, tag with version.
const HEAD_LEN: usize = 12;
/// Raised when a stream can't be read by who knows this format only.
const VERSION: u8 = 1;
const START: u8 = b'S';
const FRAME: u8 = b'F';
const END: u8 = b'E';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were() {
        let start = StartRecord { chunk_len: 77 };
        assert_eq!(StartRecord::from_bytes(&start.to_bytes()).unwrap(), start);
        let frame = FrameRecord::new(7, b"what it holds", b"some frame");
        assert_eq!(FrameRecord::from_bytes(&frame.to_bytes()), Some(frame));
        let mut totals = Totals::new(start);
        totals.add(&frame);
        let end = totals.end();
        assert_eq!(EndRecord::from_bytes(&end.to_bytes()), Some(end));
        assert_eq!((end.frames, end.plain_len, end.packed_len), (1, 13, 10));
    }

    #[test]
    fn a_hash_covers_bytes_number_and_lengths() {
        let frame = FrameRecord::new(7, b"what it holds", b"some frame");
        assert!(frame.fits(b"some frame"));
        assert!(!frame.fits(b"same frame") && !frame.fits(b"some frame "));
        assert!(!FrameRecord { number: 8, ..frame }.fits(b"some frame"));
        assert!(!FrameRecord { plain_len: 12, ..frame }.fits(b"some frame"));
        assert!(!FrameRecord { plain_hash: 1, ..frame }.fits(b"some frame"));
        assert!(frame.holds(b"what it holds") && !frame.holds(b"what it hold5") && !frame.holds(b"what"));
    }

    #[test]
    fn a_newer_version_is_named() {
        let mut bytes = StartRecord { chunk_len: 77 }.to_bytes();
        bytes[11] = 2;
        assert!(matches!(StartRecord::from_bytes(&bytes), Err(Fault::VersionUnknown { version: 2 })));
        bytes[10] = b'X';
        assert!(matches!(StartRecord::from_bytes(&bytes), Err(Fault::StartMissing)));
    }
}
