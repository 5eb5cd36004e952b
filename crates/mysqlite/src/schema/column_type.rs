//! The declared type of a column: as written, as SQLite stores it, as a result announces it.
//!
//! | declared | stored as (STRICT tables) |
//! |---|---|
//! | integers, year, bit | INTEGER |
//! | float, double | REAL |
//! | decimal, bigint unsigned | TEXT with the collation `exact`, which compares numbers digit by digit: a REAL would lose digits |
//! | char, text, enum, set, json, dates and times | TEXT; names that end in `_ci` compare without regard to case (ASCII only) |
//! | binary, blob | ANY: bytes as they came |
//!
//! Not here: values on the wire (`reply`), the collation `exact` (`store::functions`).

use std::fmt;

use crate::column::{CHARSET_BINARY, CHARSET_UTF8MB4, Column, DECIMALS_NOT_FIXED, FieldType, flag};
use crate::fault::SqlFault;
use crate::sql::cursor::Cursor;
use crate::sql::quote;

/// The collation that a text column has when none is named: MySQL 8's.
pub(crate) const DEFAULT_COLLATION: &str = "utf8mb4_0900_ai_ci";

/// MySQL's types, aliases resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    Float,
    Double,
    Bit,
    Year,
    Date,
    Time,
    DateTime,
    Timestamp,
    Char,
    Varchar,
    Binary,
    Varbinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Enum,
    Set,
    Json,
}

use Base::{
    BigInt, Binary, Bit, Blob, Char, Date, DateTime, Decimal, Double, Enum, Float, Int, Json, LongBlob,
    LongText, MediumBlob, MediumInt, MediumText, Set, SmallInt, Text, Time, Timestamp, TinyBlob, TinyInt,
    TinyText, Varbinary, Varchar, Year,
};

/// Each base with its name, the names that mean the same, and its field type on the wire.
const BASES: &[(Base, &[&str], FieldType)] = &[
    (TinyInt, &["tinyint", "bool", "boolean", "int1"], FieldType::Tiny),
    (SmallInt, &["smallint", "int2"], FieldType::Short),
    (MediumInt, &["mediumint", "int3", "middleint"], FieldType::Int24),
    (Int, &["int", "integer", "int4"], FieldType::Long),
    (BigInt, &["bigint", "int8", "serial"], FieldType::LongLong),
    (Decimal, &["decimal", "numeric", "dec", "fixed"], FieldType::NewDecimal),
    (Float, &["float", "float4"], FieldType::Float),
    (Double, &["double", "real", "float8"], FieldType::Double),
    (Bit, &["bit"], FieldType::Bit),
    (Year, &["year"], FieldType::Year),
    (Date, &["date"], FieldType::Date),
    (Time, &["time"], FieldType::Time),
    (DateTime, &["datetime"], FieldType::DateTime),
    (Timestamp, &["timestamp"], FieldType::Timestamp),
    (Char, &["char", "character", "nchar"], FieldType::String),
    (Varchar, &["varchar", "nvarchar"], FieldType::VarString),
    (Binary, &["binary"], FieldType::String),
    (Varbinary, &["varbinary"], FieldType::VarString),
    (TinyText, &["tinytext"], FieldType::Blob),
    (Text, &["text"], FieldType::Blob),
    (MediumText, &["mediumtext", "long"], FieldType::Blob),
    (LongText, &["longtext"], FieldType::Blob),
    (TinyBlob, &["tinyblob"], FieldType::Blob),
    (Blob, &["blob"], FieldType::Blob),
    (MediumBlob, &["mediumblob"], FieldType::Blob),
    (LongBlob, &["longblob"], FieldType::Blob),
    (Enum, &["enum"], FieldType::String),
    (Set, &["set"], FieldType::String),
    (Json, &["json"], FieldType::Json),
];

/// A column's declared type.
#[derive(Clone, Debug)]
pub(crate) struct ColumnType {
    pub(crate) base: Base,
    /// `char(120)`: 120. For dates and times the digits of the fraction.
    pub(crate) length: Option<u32>,
    pub(crate) decimals: Option<u8>,
    pub(crate) unsigned: bool,
    pub(crate) zerofill: bool,
    /// Of enum and set.
    pub(crate) values: Vec<String>,
    /// When the column names one itself.
    pub(crate) charset: Option<String>,
    /// When the column names one itself.
    pub(crate) collation: Option<String>,
}

impl ColumnType {
    /// Reads a type where `cursor` stands.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, SqlFault> {
        let here = cursor.syntax();
        let word = cursor.name()?.to_ascii_lowercase();
        let (base, names, _) =
            BASES.iter().find(|(_, names, _)| names.contains(&word.as_str())).ok_or(here)?;
        let mut base = *base;
        if base == Double {
            cursor.word("PRECISION");
        }
        if base == Char && cursor.word("VARYING") {
            base = Varchar;
        }
        let mut this = Self {
            base,
            length: (names.contains(&"bool") && word.starts_with("bool")).then_some(1),
            decimals: None,
            unsigned: word == "serial",
            zerofill: false,
            values: Vec::new(),
            charset: None,
            collation: None,
        };
        if cursor.symbol("(") {
            this.bracket(cursor)?;
        }
        loop {
            if cursor.word("UNSIGNED") {
                this.unsigned = true;
            } else if cursor.word("ZEROFILL") {
                (this.unsigned, this.zerofill) = (true, true);
            } else if cursor.words(&["CHARACTER", "SET"]) || cursor.word("CHARSET") {
                this.charset = Some(cursor.name()?.to_ascii_lowercase());
            } else if cursor.word("COLLATE") {
                this.collation = Some(cursor.name()?.to_ascii_lowercase());
            } else if cursor.word("BINARY") {
                this.collation = Some("utf8mb4_bin".to_owned());
            } else if !cursor.word("SIGNED") {
                break;
            }
        }
        // `binary` is the charset of bytes: such a column is the binary twin of its type.
        if this.charset.as_deref() == Some("binary") {
            this.base = match this.base {
                Char => Binary,
                Varchar => Varbinary,
                TinyText => TinyBlob,
                Text => Blob,
                MediumText => MediumBlob,
                LongText => LongBlob,
                other => other,
            };
            this.charset = None;
        }
        Ok(this)
    }

    fn bracket(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SqlFault> {
        if matches!(self.base, Enum | Set) {
            loop {
                self.values.push(cursor.text()?);
                if !cursor.symbol(",") {
                    break;
                }
            }
        } else {
            self.length = Some(u32::try_from(cursor.number()?).unwrap_or(u32::MAX));
            if cursor.symbol(",") {
                self.decimals = Some(u8::try_from(cursor.number()?).unwrap_or(u8::MAX));
            }
        }
        cursor.need_symbol(")")
    }

    /// `int`, `varchar`: what `information_schema.columns.data_type` tells.
    pub(crate) fn name(&self) -> &'static str {
        BASES.iter().find(|(base, ..)| *base == self.base).map_or("", |(_, names, _)| names[0])
    }

    pub(crate) fn is_integer(&self) -> bool {
        matches!(self.base, TinyInt | SmallInt | MediumInt | Int | BigInt)
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.base, Char | Varchar | TinyText | Text | MediumText | LongText | Enum | Set)
    }

    /// Is it stored as digits, since neither i64 nor f64 holds all its values?
    pub(crate) fn is_exact(&self) -> bool {
        self.base == Decimal || (self.base == BigInt && self.unsigned)
    }

    pub(crate) fn is_temporal(&self) -> bool {
        matches!(self.base, Date | Time | DateTime | Timestamp | Year)
    }

    /// Digits after the point of a decimal.
    pub(crate) fn scale(&self) -> u8 {
        self.decimals.unwrap_or(0)
    }

    /// Digits that a number of it may have.
    pub(crate) fn precision(&self) -> i64 {
        match self.base {
            TinyInt => 3,
            SmallInt => 5,
            MediumInt => 7,
            Int => 10,
            BigInt => 19 + i64::from(self.unsigned),
            _ => i64::from(self.length.unwrap_or(10)),
        }
    }

    /// The type and collation in SQLite's CREATE TABLE.
    pub(crate) fn sqlite(&self, table_collation: &str) -> &'static str {
        match self.base {
            TinyInt | SmallInt | MediumInt | Int | Bit | Year => "INTEGER",
            BigInt if !self.unsigned => "INTEGER",
            BigInt | Decimal => "TEXT COLLATE exact",
            Float | Double => "REAL",
            Binary | Varbinary | TinyBlob | Blob | MediumBlob | LongBlob => "ANY",
            Date | Time | DateTime | Timestamp | Json => "TEXT",
            _ if self.collation.as_deref().unwrap_or(table_collation).ends_with("_ci") => {
                "TEXT COLLATE NOCASE"
            }
            _ => "TEXT",
        }
    }

    /// Characters of a text, bytes of a binary, as declared or implied.
    pub(crate) fn characters(&self) -> u32 {
        match self.base {
            Char | Binary | Bit => self.length.unwrap_or(1),
            TinyText | TinyBlob => 255,
            Text | Blob => 65_535,
            MediumText | MediumBlob => 16_777_215,
            LongText | LongBlob | Json => u32::MAX,
            Enum => self.values.iter().map(String::len).max().unwrap_or(0) as u32,
            Set => (self.values.iter().map(|value| value.len() + 1).sum::<usize>().max(1) - 1) as u32,
            _ => self.length.unwrap_or(0),
        }
    }

    /// Fills in what a column definition tells of the type.
    pub(crate) fn describe(&self, column: &mut Column) {
        let field = BASES.iter().find(|(base, ..)| *base == self.base).map(|(.., field)| *field);
        column.field = field.unwrap_or(FieldType::VarString);
        column.charset = if self.is_text() { CHARSET_UTF8MB4 } else { CHARSET_BINARY };
        column.decimals = match self.base {
            Decimal => self.scale(),
            Float | Double => self.decimals.unwrap_or(DECIMALS_NOT_FIXED),
            Time | DateTime | Timestamp => self.length.unwrap_or(0) as u8,
            _ => 0,
        };
        let fraction = self.length.filter(|&digits| digits > 0).map_or(0, |digits| digits + 1);
        column.length = match self.base {
            TinyInt => self.length.unwrap_or(4),
            SmallInt => 6,
            MediumInt => 9,
            Int => 11 - u32::from(self.unsigned),
            BigInt => 20,
            Decimal => self.length.unwrap_or(10) + u32::from(self.scale() > 0) + u32::from(!self.unsigned),
            Float => 12,
            Double => 22,
            Year => 4,
            Date => 10,
            Time => 10 + fraction,
            DateTime | Timestamp => 19 + fraction,
            Json => u32::MAX,
            _ if self.is_text() => self.characters().saturating_mul(4),
            _ => self.characters(),
        };
        column.flags |= match self.base {
            TinyText | Text | MediumText | LongText => flag::BLOB,
            TinyBlob | Blob | MediumBlob | LongBlob | Json => flag::BLOB | flag::BINARY,
            Binary | Varbinary | Date | Time | DateTime => flag::BINARY,
            Timestamp => flag::BINARY | flag::TIMESTAMP,
            Bit => flag::UNSIGNED,
            Year => flag::UNSIGNED | flag::ZEROFILL | flag::NUM,
            Enum => flag::ENUM,
            Set => flag::SET,
            _ if self.is_text() => 0,
            _ => flag::NUM,
        };
        column.flags |= if self.unsigned { flag::UNSIGNED } else { 0 };
        column.flags |= if self.zerofill { flag::ZEROFILL } else { 0 };
    }
}

/// As MySQL 8 writes it: `int unsigned`, `decimal(10,2)`, `enum('a','b')`.
impl fmt::Display for ColumnType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())?;
        match self.base {
            Enum | Set => {
                let values: Vec<String> = self.values.iter().map(|value| quote::mysql_text(value)).collect();
                write!(out, "({})", values.join(","))?;
            }
            Decimal => write!(out, "({},{})", self.length.unwrap_or(10), self.scale())?,
            Char | Binary | Bit => write!(out, "({})", self.length.unwrap_or(1))?,
            Varchar | Varbinary => write!(out, "({})", self.length.unwrap_or(255))?,
            Float | Double => {
                if let (Some(length), Some(decimals)) = (self.length, self.decimals) {
                    write!(out, "({length},{decimals})")?;
                }
            }
            // Display widths are gone from MySQL 8, but for tinyint(1) and zerofill.
            TinyInt if self.length == Some(1) && !self.unsigned => out.write_str("(1)")?,
            _ if self.is_integer() && self.zerofill => {
                if let Some(length) = self.length {
                    write!(out, "({length})")?;
                }
            }
            Time | DateTime | Timestamp => {
                if let Some(digits) = self.length.filter(|&digits| digits > 0) {
                    write!(out, "({digits})")?;
                }
            }
            _ => {}
        }
        out.write_str(if self.unsigned { " unsigned" } else { "" })?;
        out.write_str(if self.zerofill { " zerofill" } else { "" })
    }
}
