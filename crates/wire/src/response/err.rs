//! ERR: `ff | code 2 | '#' sqlstate 5 | message`; before the login's capabilities are known without sqlstate.
//!
//! Source: MySQL internals, `page_protocol_basic_err_packet.html`. Not here: texts (each caller's own).

use crate::{Fault, Reader};

/// First byte of an ERR packet.
pub const HEADER: u8 = 0xff;

/// The code that marks MariaDB's progress reports, which are no errors.
pub const PROGRESS_CODE: u16 = 0xffff;

/// An ERR packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrPacket {
    /// MySQL's error number.
    pub code: u16,
    /// Five characters; `None` in errors sent before the client's capabilities are known.
    pub sqlstate: Option<[u8; 5]>,
    /// For people.
    pub message: String,
}

impl ErrPacket {
    /// An error with its SQLSTATE.
    pub fn new(code: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> Self {
        Self { code, sqlstate: Some(*sqlstate), message: message.into() }
    }

    /// Reads a payload that starts with 0xFF.
    pub fn parse(payload: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let code = reader.u16()?;
        let (sqlstate, message) = match reader.rest() {
            [b'#', a, b, c, d, e, message @ ..] => (Some([*a, *b, *c, *d, *e]), message),
            message => (None, message),
        };
        Ok(Self { code, sqlstate, message: String::from_utf8_lossy(message).into_owned() })
    }

    /// The payload.
    pub fn build(&self) -> Vec<u8> {
        let mut out = vec![HEADER];
        out.extend_from_slice(&self.code.to_le_bytes());
        if let Some(sqlstate) = self.sqlstate {
            out.push(b'#');
            out.extend_from_slice(&sqlstate);
        }
        out.extend_from_slice(self.message.as_bytes());
        out
    }
}

impl std::fmt::Display for ErrPacket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ERROR {}", self.code)?;
        if let Some(sqlstate) = self.sqlstate {
            write!(f, " ({})", String::from_utf8_lossy(&sqlstate))?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Whether a packet that starts with `peek` is an ERR that ends a reply (a progress report doesn't).
pub fn ends_reply(peek: &[u8]) -> bool {
    matches!(peek, [HEADER, code @ ..] if code.first_chunk().is_none_or(|c| u16::from_le_bytes(*c) != PROGRESS_CODE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_err_round_trips_with_and_without_sqlstate() {
        let with = ErrPacket::new(1045, b"28000", "Access denied");
        assert_eq!(ErrPacket::parse(&with.build()), Ok(with.clone()));
        let without = ErrPacket { sqlstate: None, ..with };
        assert_eq!(ErrPacket::parse(&without.build()), Ok(without));
    }

    #[test]
    fn a_progress_report_does_not_end_a_reply() {
        assert!(!ends_reply(&[0xff, 0xff, 0xff, 1]));
        assert!(ends_reply(&[0xff, 0x15, 0x04]));
        assert!(!ends_reply(&[0x00]));
    }
}
