//! Writes results to the client: column definitions, text or binary rows, OK, ERR.
//!
//! ```text
//! n columns | definition … | [EOF] | row … | EOF, or OK with header 0xfe under DEPRECATE_EOF
//! ```
//! Invariants: rows go to the socket as they come; at most a socket write's worth of them is held.
//!
//! Not here: what the values look like (`format`), when results end (the engine).

use wire::response::{ErrPacket, OkPacket, eof, status};
use wire::{Capabilities, write_lenenc_bytes, write_lenenc_int};

use crate::column::Column;
use crate::engine::{Outcome, Reply, Value};
use crate::fault::{Fault, SqlFault};
use crate::format;
use crate::stream::Connection;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowFormat {
    /// COM_QUERY
    Text,
    /// COM_STMT_EXECUTE
    Binary,
}

/// The replies to one command.
pub(crate) struct Writer<'a> {
    connection: &'a mut Connection,
    deprecate_eof: bool,
    local_files: bool,
    row_format: RowFormat,
    status: u16,
    columns: Vec<Column>,
    row: Vec<u8>,
    /// The next value's column.
    at: usize,
    scratch: Vec<u8>,
}

/// The header of a binary row.
const BINARY_ROW: u8 = 0x00;
/// "Send me this file."
const LOCAL_INFILE: u8 = 0xfb;

impl<'a> Writer<'a> {
    pub(crate) fn new(
        connection: &'a mut Connection,
        capabilities: Capabilities,
        row_format: RowFormat,
        status: u16,
    ) -> Self {
        Self {
            connection,
            deprecate_eof: capabilities.contains(Capabilities::DEPRECATE_EOF),
            local_files: capabilities.contains(Capabilities::LOCAL_FILES),
            row_format,
            status,
            columns: Vec::new(),
            row: Vec::new(),
            at: 0,
            scratch: Vec::new(),
        }
    }

    /// Sends column definitions and, where the client wants it, the EOF after them.
    pub(crate) fn definitions(&mut self, columns: &[Column]) -> Result<(), Fault> {
        for column in columns {
            self.row.clear();
            column.build(&mut self.row);
            self.connection.send(&self.row)?;
        }
        if self.deprecate_eof { Ok(()) } else { self.connection.send(&eof::build(0, self.status)) }
    }

    fn start_row(&mut self) {
        self.row.clear();
        self.at = 0;
        if self.row_format == RowFormat::Binary {
            self.row.push(BINARY_ROW);
            // The NULL bitmap has two bits of offset.
            self.row.resize(1 + (self.columns.len() + 7 + 2) / 8, 0);
        }
    }
}

impl Reply for Writer<'_> {
    fn begin(&mut self, columns: Vec<Column>) -> Result<(), Fault> {
        let mut count = Vec::new();
        write_lenenc_int(&mut count, columns.len() as u64);
        self.connection.send(&count)?;
        self.definitions(&columns)?;
        self.columns = columns;
        self.start_row();
        Ok(())
    }

    fn value(&mut self, value: Value<'_>) {
        let Some(column) = self.columns.get(self.at) else { return };
        match (self.row_format, value) {
            (RowFormat::Text, _) => format::text(&mut self.row, column, value, &mut self.scratch),
            (RowFormat::Binary, Value::Null) => {
                let bit = self.at + 2;
                if let Some(byte) = self.row.get_mut(1 + bit / 8) {
                    *byte |= 1 << (bit % 8);
                }
            }
            (RowFormat::Binary, _) => format::binary(&mut self.row, column, value, &mut self.scratch),
        }
        self.at += 1;
    }

    fn end_row(&mut self) -> Result<(), Fault> {
        self.connection.send(&self.row)?;
        self.start_row();
        Ok(())
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), Fault> {
        self.status = outcome.status & !status::MORE_RESULTS_EXISTS;
        let mut message = Vec::new();
        if !outcome.message.is_empty() {
            write_lenenc_bytes(&mut message, outcome.message.as_bytes());
        }
        let ok = OkPacket {
            affected_rows: outcome.affected_rows,
            last_insert_id: outcome.last_insert_id,
            status: outcome.status,
            warnings: outcome.warnings,
            message,
        };
        let rows = !self.columns.is_empty();
        self.columns.clear();
        match (rows, self.deprecate_eof) {
            (false, _) => self.connection.send(&ok.build(0x00)),
            (true, true) => self.connection.send(&ok.build(eof::HEADER)),
            (true, false) => self.connection.send(&eof::build(outcome.warnings, outcome.status)),
        }
    }

    fn local_file(
        &mut self,
        name: &str,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SqlFault>,
    ) -> Result<(), Fault> {
        if !self.local_files {
            return Err(SqlFault::LocalFilesDisabled.into());
        }
        let mut request = vec![LOCAL_INFILE];
        request.extend(name.as_bytes());
        self.connection.send(&request)?;
        self.connection.flush()?;
        let mut result = Ok(());
        loop {
            let packet = self.connection.need_packet()?;
            if packet.is_empty() {
                return result.map_err(Fault::Sql);
            }
            if result.is_ok() {
                result = sink(&packet);
            }
        }
    }
}

/// Tells the client about an error.
pub(crate) fn send_fault(connection: &mut Connection, fault: &SqlFault) -> Result<(), Fault> {
    let (code, state) = fault.code();
    connection.send(&ErrPacket::new(code, state, fault.to_string()).build())?;
    connection.flush()
}
