//! The parameters of COM_STMT_EXECUTE.
//!
//! ```text
//! 4 statement | 1 flags | 4 iterations | NULL bitmap | 1 types follow? | 2 type, … | value, …
//! ```
//! Invariants: types are remembered from the last execution that sent them; a value sent by
//! COM_STMT_SEND_LONG_DATA is in no other packet.
//!
//! Not here: running the statement (the engine).

use std::collections::HashMap;

use wire::Reader;

use crate::engine::Value;
use crate::fault::SqlFault;

/// What the protocol remembers of a prepared statement.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    pub(crate) param_count: usize,
    types: Vec<[u8; 2]>,
    long: HashMap<usize, Vec<u8>>,
    long_bytes: usize,
}

/// An owned parameter.
#[derive(Debug, PartialEq)]
pub(crate) enum Parameter {
    Null,
    Int(i64),
    Uint(u64),
    Real(f64),
    Bytes(Vec<u8>),
}

impl Parameter {
    /// As the engine takes it: bytes that are UTF-8 are text, whatever their declared type.
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(*number),
            Self::Uint(number) => Value::Uint(*number),
            Self::Real(number) => Value::Real(*number),
            Self::Bytes(bytes) if std::str::from_utf8(bytes).is_ok() => Value::Text(bytes),
            Self::Bytes(bytes) => Value::Blob(bytes),
        }
    }
}

impl Bound {
    pub(crate) fn new(param_count: usize) -> Self {
        Self { param_count, ..Self::default() }
    }

    /// COM_STMT_SEND_LONG_DATA, which has no reply and so no error.
    pub(crate) fn append(&mut self, index: usize, bytes: &[u8]) {
        // What is too long isn't kept, and told when the statement is executed.
        self.long_bytes = self.long_bytes.saturating_add(bytes.len());
        if index < self.param_count && self.long_bytes <= LONG_BYTES_MAX {
            self.long.entry(index).or_default().extend_from_slice(bytes);
        }
    }

    /// COM_STMT_RESET
    pub(crate) fn reset(&mut self) {
        self.long.clear();
        self.long_bytes = 0;
    }

    /// The parameters after the fixed head of COM_STMT_EXECUTE.
    pub(crate) fn parse(&mut self, payload: &[u8]) -> Result<Vec<Parameter>, SqlFault> {
        let malformed = |_| SqlFault::MalformedPacket("the parameters of a prepared statement");
        let long = std::mem::take(&mut self.long);
        if std::mem::take(&mut self.long_bytes) > LONG_BYTES_MAX {
            return Err(SqlFault::PacketTooLarge);
        }
        if self.param_count == 0 {
            return Ok(Vec::new());
        }
        let mut reader = Reader::new(payload);
        let nulls = reader.bytes(self.param_count.div_ceil(8)).map_err(malformed)?;
        if reader.u8().map_err(malformed)? == 1 {
            let types = reader.bytes(self.param_count * 2).map_err(malformed)?;
            self.types = types.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        }
        if self.types.len() != self.param_count {
            return Err(SqlFault::MalformedPacket("a prepared statement without parameter types"));
        }
        let mut long = long;
        let mut parameters = Vec::with_capacity(self.param_count);
        for (index, &[kind, flags]) in self.types.iter().enumerate() {
            let null = nulls.get(index / 8).is_some_and(|byte| byte & (1 << (index % 8)) != 0);
            parameters.push(if let Some(bytes) = long.remove(&index) {
                Parameter::Bytes(bytes)
            } else if null {
                Parameter::Null
            } else {
                parameter(&mut reader, kind, flags & 0x80 != 0).map_err(malformed)?
            });
        }
        Ok(parameters)
    }
}

fn parameter(reader: &mut Reader<'_>, kind: u8, unsigned: bool) -> Result<Parameter, wire::Fault> {
    let integer =
        |signed: i64, plain: u64| if unsigned { Parameter::Uint(plain) } else { Parameter::Int(signed) };
    Ok(match kind {
        // TINY, SHORT and YEAR, LONG and INT24, LONGLONG
        1 => reader.u8().map(|n| integer(i64::from(n.cast_signed()), u64::from(n)))?,
        2 | 13 => reader.u16().map(|n| integer(i64::from(n.cast_signed()), u64::from(n)))?,
        3 | 9 => reader.u32().map(|n| integer(i64::from(n.cast_signed()), u64::from(n)))?,
        8 => reader.u64().map(|n| integer(n.cast_signed(), n))?,
        4 => Parameter::Real(f64::from(f32::from_bits(reader.u32()?))),
        5 => Parameter::Real(f64::from_bits(reader.u64()?)),
        6 => Parameter::Null,
        // TIMESTAMP, DATE, DATETIME
        7 | 10 | 12 => date(reader, kind == 10)?,
        11 => time(reader)?,
        // Everything else is bytes with their length.
        _ => Parameter::Bytes(reader.lenenc_bytes()?.to_vec()),
    })
}

fn date(reader: &mut Reader<'_>, only_date: bool) -> Result<Parameter, wire::Fault> {
    let len = usize::from(reader.u8()?);
    let bytes = reader.bytes(len)?;
    let byte = |n: usize| bytes.get(n).copied().unwrap_or(0);
    let year = u16::from_le_bytes([byte(0), byte(1)]);
    let mut text = format!("{year:04}-{:02}-{:02}", byte(2), byte(3));
    if !only_date || len > 4 {
        text.push_str(&format!(" {:02}:{:02}:{:02}", byte(4), byte(5), byte(6)));
    }
    if len > 7 {
        text.push_str(&format!(".{:06}", u32::from_le_bytes([byte(7), byte(8), byte(9), byte(10)])));
    }
    Ok(Parameter::Bytes(text.into_bytes()))
}

fn time(reader: &mut Reader<'_>) -> Result<Parameter, wire::Fault> {
    let len = usize::from(reader.u8()?);
    let bytes = reader.bytes(len)?;
    let byte = |n: usize| bytes.get(n).copied().unwrap_or(0);
    let days = u64::from(u32::from_le_bytes([byte(1), byte(2), byte(3), byte(4)]));
    let sign = if byte(0) == 1 { "-" } else { "" };
    let mut text = format!("{sign}{:02}:{:02}:{:02}", days * 24 + u64::from(byte(5)), byte(6), byte(7));
    if len > 8 {
        text.push_str(&format!(".{:06}", u32::from_le_bytes([byte(8), byte(9), byte(10), byte(11)])));
    }
    Ok(Parameter::Bytes(text.into_bytes()))
}

/// Of all parameters of a statement, until it is executed: as much as a packet that has them all may hold.
pub(crate) const LONG_BYTES_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_parameter_is_read() {
        let mut bound = Bound::new(6);
        let mut payload = vec![0b0010_0000, 1];
        payload.extend([3, 0, 8, 0x80, 5, 0, 253, 0, 12, 0, 253, 0]);
        payload.extend((-5_i32).to_le_bytes());
        payload.extend(u64::MAX.to_le_bytes());
        payload.extend(1.5_f64.to_le_bytes());
        payload.extend([3, b'a', b'b', b'c']);
        payload.extend([7, 0xea, 7, 11, 21, 20, 55, 53]);
        let expected = [
            Parameter::Int(-5),
            Parameter::Uint(u64::MAX),
            Parameter::Real(1.5),
            Parameter::Bytes(b"abc".to_vec()),
            Parameter::Bytes(b"2026-11-21 20:55:53".to_vec()),
            Parameter::Null,
        ];
        assert_eq!(bound.parse(&payload).unwrap(), expected);
        // The next execution may leave the types out.
        let mut again = vec![0b0011_1111, 0];
        assert_eq!(bound.parse(&again).unwrap(), [const { Parameter::Null }; 6]);
        again.truncate(1);
        assert!(bound.parse(&again).is_err());
    }

    #[test]
    fn long_data_is_joined_and_used_once() {
        let mut bound = Bound::new(1);
        bound.append(0, b"ab");
        bound.append(0, b"cd");
        bound.append(7, b"ignored");
        let payload = [0, 1, 252, 0];
        assert_eq!(bound.parse(&payload).unwrap(), [Parameter::Bytes(b"abcd".to_vec())]);
        assert!(bound.parse(&payload).is_err(), "the value is not in the packet and no longer kept");
    }

    #[test]
    fn long_data_beyond_a_packet_is_not_kept_and_told_once() {
        let mut bound = Bound::new(1);
        let piece = vec![0; LONG_BYTES_MAX / 4];
        (0..8).for_each(|_| bound.append(0, &piece));
        assert!(bound.long[&0].len() <= LONG_BYTES_MAX);
        let payload = [0, 1, 252, 0];
        assert!(matches!(bound.parse(&payload), Err(SqlFault::PacketTooLarge)));
        bound.append(0, b"ab");
        assert_eq!(bound.parse(&payload).unwrap(), [Parameter::Bytes(b"ab".to_vec())]);
    }

    #[test]
    fn a_packet_cut_anywhere_is_an_error_and_no_panic() {
        let payload = [0, 1, 3, 0, 12, 0, 1, 2, 3, 4, 7, 0xea, 7, 11, 21, 1, 2, 3];
        for len in 0..payload.len() {
            assert!(Bound::new(2).parse(&payload[..len]).is_err(), "{len}");
        }
        assert!(Bound::new(2).parse(&payload).is_ok());
    }
}
