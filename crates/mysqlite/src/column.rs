//! What a result's column looks like on the wire: name, origin, type, charset, length, flags.
//!
//! ```text
//! "def" schema table org_table name org_name 0x0c charset:2 length:4 type:1 flags:2 decimals:1 0:2
//! ```
//! Source: Protocol::ColumnDefinition41; the lengths are what MySQL 9.7 answers for the same columns
//! (`mysql --column-type-info`).
//!
//! Not here: the declared types of tables (`schema::column_type`), rows (`reply`).

use wire::write_lenenc_bytes;

/// The type byte of a column definition, and how the binary protocol encodes its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are MySQL's own")]
#[repr(u8)]
pub enum FieldType {
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    Blob = 252,
    VarString = 253,
    String = 254,
}

/// Charset 63 `binary`: bytes and numbers.
pub const CHARSET_BINARY: u16 = 63;
/// Charset 255 `utf8mb4_0900_ai_ci`: text; what a MySQL 8 answers.
pub const CHARSET_UTF8MB4: u16 = 255;

/// Flag bits of a column definition.
/// Source: MySQL's "Column Definition Flags".
pub mod flag {
    #![expect(missing_docs, reason = "the names are MySQL's own")]
    pub const NOT_NULL: u16 = 0x0001;
    pub const PRI_KEY: u16 = 0x0002;
    pub const UNIQUE_KEY: u16 = 0x0004;
    pub const MULTIPLE_KEY: u16 = 0x0008;
    pub const BLOB: u16 = 0x0010;
    pub const UNSIGNED: u16 = 0x0020;
    pub const ZEROFILL: u16 = 0x0040;
    pub const BINARY: u16 = 0x0080;
    pub const ENUM: u16 = 0x0100;
    pub const AUTO_INCREMENT: u16 = 0x0200;
    pub const TIMESTAMP: u16 = 0x0400;
    pub const SET: u16 = 0x0800;
    pub const NUM: u16 = 0x8000;
}

/// One column of a result.
#[derive(Clone, Debug)]
pub struct Column {
    /// The database it comes from; empty for an expression.
    pub schema: String,
    /// The table's alias; empty for an expression.
    pub table: String,
    /// The table's name; empty for an expression.
    pub origin_table: String,
    /// What the statement calls it.
    pub name: String,
    /// What its table calls it; empty for an expression.
    pub origin_name: String,
    /// The type, which also says how a binary row encodes it.
    pub field: FieldType,
    /// 63 binary, 255 utf8mb4.
    pub charset: u16,
    /// The most bytes (text: bytes of utf8mb4; numbers: characters) that a value may have.
    pub length: u32,
    /// Digits after the point; 31 when a float has no fixed number of them.
    pub decimals: u8,
    /// See [`flag`].
    pub flags: u16,
}

/// "No fixed number of decimals", as MySQL writes it.
pub const DECIMALS_NOT_FIXED: u8 = 31;

impl Column {
    /// An expression's column of some type.
    pub fn expression(name: impl Into<String>, field: FieldType) -> Self {
        let (charset, length, decimals, flags) = match field {
            FieldType::LongLong => (CHARSET_BINARY, 21, 0, flag::BINARY | flag::NUM),
            FieldType::Double => (CHARSET_BINARY, 23, DECIMALS_NOT_FIXED, flag::BINARY | flag::NUM),
            FieldType::NewDecimal => (CHARSET_BINARY, 33, 0, flag::BINARY | flag::NUM),
            FieldType::DateTime => (CHARSET_BINARY, 19, 0, flag::BINARY),
            FieldType::Null => (CHARSET_BINARY, 0, 0, flag::BINARY | flag::NUM),
            // As long as a text may be in one row; drivers make no buffer from it.
            FieldType::Blob => (CHARSET_BINARY, u32::MAX, DECIMALS_NOT_FIXED, flag::BLOB | flag::BINARY),
            _ => (CHARSET_UTF8MB4, 65_532, DECIMALS_NOT_FIXED, 0),
        };
        Self {
            schema: String::new(),
            table: String::new(),
            origin_table: String::new(),
            name: name.into(),
            origin_name: String::new(),
            field,
            charset,
            length,
            decimals,
            flags,
        }
    }

    /// Are its numbers unsigned?
    pub fn is_unsigned(&self) -> bool {
        self.flags & flag::UNSIGNED != 0
    }

    /// Appends the column definition's payload.
    pub(crate) fn build(&self, out: &mut Vec<u8>) {
        write_lenenc_bytes(out, b"def");
        for text in [&self.schema, &self.table, &self.origin_table, &self.name, &self.origin_name] {
            write_lenenc_bytes(out, text.as_bytes());
        }
        out.push(0x0c);
        out.extend(self.charset.to_le_bytes());
        out.extend(self.length.to_le_bytes());
        out.push(self.field as u8);
        out.extend(self.flags.to_le_bytes());
        out.push(self.decimals);
        out.extend([0, 0]);
    }
}
