//! OK: `00 | affected rows | last insert id | status 2 | warnings 2 | info`, or the same behind 0xFE where EOF
//! is deprecated.
//!
//! Source: MySQL internals, `page_protocol_basic_ok_packet.html`. Not here: session tracking, never read.

use crate::{Fault, Reader, write_lenenc_int};

/// First byte of an OK packet.
pub const HEADER: u8 = 0x00;

/// An OK packet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OkPacket {
    /// Rows changed.
    pub affected_rows: u64,
    /// First AUTO_INCREMENT value made.
    pub last_insert_id: u64,
    /// SERVER_STATUS flags.
    pub status: u16,
    /// Warnings of the statement.
    pub warnings: u16,
    /// Everything after the warnings, as it is.
    pub message: Vec<u8>,
}

impl OkPacket {
    /// Reads a payload that starts with 0x00 or 0xFE.
    pub fn parse(payload: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        Ok(Self {
            affected_rows: reader.lenenc_int()?,
            last_insert_id: reader.lenenc_int()?,
            status: reader.u16()?,
            warnings: reader.u16()?,
            message: reader.rest().to_vec(),
        })
    }

    /// The payload, behind `header` (0x00, or 0xFE in place of an EOF).
    pub fn build(&self, header: u8) -> Vec<u8> {
        let mut out = vec![header];
        write_lenenc_int(&mut out, self.affected_rows);
        write_lenenc_int(&mut out, self.last_insert_id);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out.extend_from_slice(&self.message);
        out
    }
}

/// Status flags of an OK whose first bytes are `peek`; 0 when it is too short to have any.
pub fn status_of(peek: &[u8]) -> u16 {
    let mut reader = Reader::new(peek);
    let read = (|| {
        reader.u8()?;
        reader.lenenc_int()?;
        reader.lenenc_int()?;
        reader.u16()
    })();
    read.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ok_round_trips() {
        let ok = OkPacket {
            affected_rows: 300,
            last_insert_id: 1 << 40,
            status: 0x0a,
            warnings: 2,
            message: b"hi".to_vec(),
        };
        let payload = ok.build(HEADER);
        assert_eq!(OkPacket::parse(&payload), Ok(ok));
        assert_eq!(status_of(&payload), 0x0a);
    }
}
