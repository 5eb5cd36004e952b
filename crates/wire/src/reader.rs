//! Reads and writes the protocol's primitive types over a byte slice.
//!
//! ```text
//! lenenc   0..=250 | 0xfc + 2 bytes | 0xfd + 3 bytes | 0xfe + 8 bytes     little endian
//! ```
//!
//! Invariants: no read past the end, no allocation. Not here: packets (`connect`, `response`).

use crate::Fault;

/// A cursor over a payload.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// A cursor at the first byte.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Bytes read so far.
    pub const fn position(&self) -> usize {
        self.position
    }

    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// Whether everything was read.
    pub const fn is_empty(&self) -> bool {
        self.position >= self.bytes.len()
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let taken = self.rest().get(..len).ok_or(Fault::Malformed("it ends in the middle of a field"))?;
        self.position += len;
        Ok(taken)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8, Fault> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Bytes up to a NUL, which is consumed and not returned.
    pub fn nul_terminated(&mut self) -> Result<&'a [u8], Fault> {
        let rest = self.rest();
        let len = rest.iter().position(|b| *b == 0).ok_or(Fault::Malformed("a string without its end"))?;
        self.position += len + 1;
        Ok(rest.get(..len).unwrap_or_default())
    }

    /// Bytes up to a NUL, or all that is left: the last string of a packet may lack its end.
    pub fn nul_terminated_or_rest(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let len = rest.iter().position(|b| *b == 0).unwrap_or(rest.len());
        self.position = (self.position + len + 1).min(self.bytes.len());
        rest.get(..len).unwrap_or_default()
    }

    /// A length-encoded integer; `None` is the NULL of text rows (0xfb).
    pub fn lenenc_int_or_null(&mut self) -> Result<Option<u64>, Fault> {
        Ok(Some(match self.u8()? {
            0xfb => return Ok(None),
            0xfc => u64::from(self.u16()?),
            0xfd => {
                let [a, b, c] = self.array()?;
                u64::from(u32::from_le_bytes([a, b, c, 0]))
            }
            0xfe => self.u64()?,
            0xff => return Err(Fault::Malformed("0xff is no length")),
            small => u64::from(small),
        }))
    }

    /// A length-encoded integer.
    pub fn lenenc_int(&mut self) -> Result<u64, Fault> {
        self.lenenc_int_or_null()?.ok_or(Fault::Malformed("NULL where a number was due"))
    }

    /// A length-encoded string.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Fault> {
        let len = self.lenenc_int()?;
        self.bytes(usize::try_from(len).map_err(|_| Fault::Malformed("a length beyond memory"))?)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let taken =
            self.rest().first_chunk::<N>().ok_or(Fault::Malformed("it ends in the middle of a field"))?;
        self.position += N;
        Ok(*taken)
    }
}

/// Appends `value` as a length-encoded integer.
pub fn write_lenenc_int(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    let (marker, len) = match value {
        0..=250 => (None, 1),
        251..=0xffff => (Some(0xfc), 2),
        0x1_0000..=0xff_ffff => (Some(0xfd), 3),
        _ => (Some(0xfe), 8),
    };
    out.extend(marker);
    out.extend_from_slice(bytes.get(..len).unwrap_or_default());
}

/// Appends `bytes` as a length-encoded string.
pub fn write_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_integers_round_trip_at_every_border() {
        for value in [0, 1, 250, 251, 252, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            write_lenenc_int(&mut out, value);
            let mut reader = Reader::new(&out);
            assert_eq!(reader.lenenc_int(), Ok(value));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn reading_past_the_end_is_malformed() {
        assert!(Reader::new(&[0xfc, 1]).lenenc_int().is_err());
        assert!(Reader::new(&[5, 1, 2]).lenenc_bytes().is_err());
        assert!(Reader::new(b"abc").nul_terminated().is_err());
        assert_eq!(Reader::new(b"abc").nul_terminated_or_rest(), b"abc");
    }

    #[test]
    fn a_length_near_the_end_of_the_number_range_does_not_overflow() {
        let mut out = Vec::new();
        write_lenenc_int(&mut out, u64::MAX);
        out.push(0);
        assert!(Reader::new(&out).lenenc_bytes().is_err());
    }
}
