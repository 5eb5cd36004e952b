//! LOAD DATA LOCAL INFILE.
//!
//! Invariants: all of the file or nothing of it, whatever autocommit says.
//!
//! Not here: lines and fields (`sql::load_data`).

use super::SqliteEngine;
use super::statement::bind;
use crate::engine::{Outcome, Reply, Value};
use crate::fault::{Fault, SqlFault};
use crate::sql::load_data::LoadData;
use crate::store::sqlite_fault::sqlite_fault;

impl SqliteEngine {
    pub(super) fn load_data(&mut self, load: &LoadData, reply: &mut dyn Reply) -> Result<(), Fault> {
        // All or nothing, whatever autocommit says.
        let own = !self.transaction.is_open();
        if own {
            self.transaction.begin();
        }
        let result = self.begin_write().map_err(Fault::Sql).and_then(|_| self.load_file(load, reply));
        if own && self.autocommit() {
            self.end(result.is_ok())?;
        }
        let (rows, affected) = result?;
        let message = format!("Records: {rows}  Deleted: 0  Skipped: {}  Warnings: 0", rows - affected);
        reply.finish(&Outcome { affected_rows: affected, message, ..self.outcome() })
    }

    /// Returns how many rows the file has and how many went in.
    fn load_file(&self, load: &LoadData, reply: &mut dyn Reply) -> Result<(u64, u64), Fault> {
        let catalog = self.store.catalog();
        let fault = |error| sqlite_fault(error, &catalog, false);
        let mut statement = self.sqlite.prepare(&load.sql).map_err(fault)?;
        let (mut pending, mut ignore) = (Vec::new(), load.ignore_lines);
        let (mut rows, mut affected) = (0_u64, 0_u64);
        let mut take = |pending: &mut Vec<u8>, at_end: bool| -> Result<(), SqlFault> {
            let mut start = 0;
            while let Some((mut fields, len)) = load.row(pending.get(start..).unwrap_or_default(), at_end) {
                start += len;
                if ignore > 0 {
                    ignore -= 1;
                    continue;
                }
                // Missing fields are NULL, those too many are dropped.
                fields.resize(load.column_count, None);
                let values: Vec<Value<'_>> =
                    fields.iter().map(|field| field.as_deref().map_or(Value::Null, text_or_blob)).collect();
                bind(&mut statement, &values).map_err(fault)?;
                affected += statement.raw_execute().map_err(fault)? as u64;
                rows += 1;
            }
            pending.drain(..start);
            Ok(())
        };
        reply.local_file(&load.file, &mut |bytes| {
            pending.extend_from_slice(bytes);
            // A line that ends exactly here may have its terminator in the next packet.
            take(&mut pending, false)
        })?;
        take(&mut pending, true)?;
        Ok((rows, affected))
    }
}

fn text_or_blob(bytes: &[u8]) -> Value<'_> {
    if std::str::from_utf8(bytes).is_ok() { Value::Text(bytes) } else { Value::Blob(bytes) }
}
