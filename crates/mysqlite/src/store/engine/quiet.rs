//! A reply that nobody reads.

use crate::column::Column;
use crate::engine::{Outcome, Reply, Value};
use crate::fault::{Fault, SqlFault};

/// It takes everything, and has no files.
pub(super) struct Quiet;

impl Reply for Quiet {
    fn begin(&mut self, _columns: Vec<Column>) -> Result<(), Fault> {
        Ok(())
    }

    fn value(&mut self, _value: Value<'_>) {}

    fn end_row(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn finish(&mut self, _outcome: &Outcome) -> Result<(), Fault> {
        Ok(())
    }

    fn local_file(
        &mut self,
        _name: &str,
        _sink: &mut dyn FnMut(&[u8]) -> Result<(), SqlFault>,
    ) -> Result<(), Fault> {
        Err(SqlFault::LocalFilesDisabled.into())
    }
}
