//! A session's transaction: MySQL's rules on SQLite's file.
//!
//! ```text
//! None ─ BEGIN ─▶ Declared ─ first read ─▶ Reading ─ first write ─▶ Writing ─ COMMIT ─▶ None
//! ```
//! SQLite refuses to write in a transaction whose snapshot is no longer the newest. InnoDB does not: there a
//! write sees the newest rows while reads keep their snapshot. So at its first write a transaction takes the
//! write lock and moves its snapshot to now; from then on nobody else writes. Nothing is lost, nothing has to be
//! repeated, and as there is one lock there is no deadlock.
//!
//! Invariants: the guard of the write lock is held exactly while SQLite's transaction may write.
//!
//! Not here: the statements in it (`engine`).

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::write_lock::{WriteGuard, WriteLock};
use crate::fault::SqlFault;
use crate::sql::quote;

/// How far the transaction is.
#[derive(Default)]
enum Stage {
    #[default]
    None,
    /// BEGIN came, SQLite knows nothing of it yet.
    Declared,
    Reading,
    Writing(#[expect(dead_code, reason = "held, not read")] WriteGuard),
}

/// A session's transaction, or none.
#[derive(Default)]
pub(crate) struct Transaction {
    stage: Stage,
    /// Savepoints in order, to make them again when the snapshot moves.
    savepoints: Vec<String>,
}

impl Transaction {
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.stage, Stage::None)
    }

    pub(crate) fn begin(&mut self) {
        self.stage = Stage::Declared;
        self.savepoints.clear();
    }

    /// Before a statement that reads: takes the snapshot when there is none.
    pub(crate) fn read(&mut self, sqlite: &Connection) -> rusqlite::Result<()> {
        if matches!(self.stage, Stage::Declared) {
            sqlite.execute_batch("BEGIN")?;
            self.make_savepoints(sqlite)?;
            self.stage = Stage::Reading;
        }
        Ok(())
    }

    /// Before a statement that writes in a transaction: takes the lock and the newest snapshot.
    pub(crate) fn write(
        &mut self,
        sqlite: &Connection,
        lock: &Arc<WriteLock>,
        timeout: Duration,
    ) -> Result<rusqlite::Result<()>, SqlFault> {
        if matches!(self.stage, Stage::None | Stage::Writing(_)) {
            return Ok(Ok(()));
        }
        let guard = lock.take(timeout)?;
        Ok(self.move_snapshot(sqlite).map(|()| self.stage = Stage::Writing(guard)))
    }

    fn move_snapshot(&mut self, sqlite: &Connection) -> rusqlite::Result<()> {
        if matches!(self.stage, Stage::Reading) {
            sqlite.execute_batch("COMMIT")?;
        }
        self.stage = Stage::Declared;
        sqlite.execute_batch("BEGIN IMMEDIATE")?;
        self.make_savepoints(sqlite)
    }

    fn make_savepoints(&self, sqlite: &Connection) -> rusqlite::Result<()> {
        self.savepoints
            .iter()
            .try_for_each(|name| sqlite.execute_batch(&format!("SAVEPOINT {}", quote::name(name))))
    }

    /// COMMIT or ROLLBACK. The transaction is over even when SQLite fails.
    pub(crate) fn end(&mut self, sqlite: &Connection, commit: bool) -> rusqlite::Result<()> {
        let stage = std::mem::take(&mut self.stage);
        self.savepoints.clear();
        if !matches!(stage, Stage::Reading | Stage::Writing(_)) || sqlite.is_autocommit() {
            return Ok(());
        }
        let result = sqlite.execute_batch(if commit { "COMMIT" } else { "ROLLBACK" });
        if result.is_err() && !sqlite.is_autocommit() {
            sqlite.execute_batch("ROLLBACK").ok();
        }
        // The guard goes only now.
        drop(stage);
        result
    }

    pub(crate) fn savepoint(&mut self, sqlite: &Connection, name: &str) -> rusqlite::Result<()> {
        if matches!(self.stage, Stage::Reading | Stage::Writing(_)) {
            sqlite.execute_batch(&format!("SAVEPOINT {}", quote::name(name)))?;
        }
        if self.is_open() {
            self.savepoints.push(name.to_owned());
        }
        Ok(())
    }

    pub(crate) fn rollback_to(
        &mut self,
        sqlite: &Connection,
        name: &str,
    ) -> Result<rusqlite::Result<()>, SqlFault> {
        let at = self.position(name)?;
        self.savepoints.truncate(at + 1);
        Ok(self.in_sqlite(sqlite, &format!("ROLLBACK TO {}", quote::name(name))))
    }

    pub(crate) fn release(
        &mut self,
        sqlite: &Connection,
        name: &str,
    ) -> Result<rusqlite::Result<()>, SqlFault> {
        let at = self.position(name)?;
        self.savepoints.truncate(at);
        Ok(self.in_sqlite(sqlite, &format!("RELEASE {}", quote::name(name))))
    }

    fn in_sqlite(&self, sqlite: &Connection, sql: &str) -> rusqlite::Result<()> {
        if matches!(self.stage, Stage::Reading | Stage::Writing(_)) {
            sqlite.execute_batch(sql)
        } else {
            Ok(())
        }
    }

    fn position(&self, name: &str) -> Result<usize, SqlFault> {
        self.savepoints
            .iter()
            .rposition(|known| known.eq_ignore_ascii_case(name))
            .ok_or_else(|| SqlFault::UnknownSavepoint(name.to_owned()))
    }
}
