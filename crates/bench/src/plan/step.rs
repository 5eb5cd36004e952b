//! What a plan is made for, and what it is made of.

use std::ops::Range;

use lab::generate::Sequence;
use lab::link::Link;

use super::Scale;
use crate::job::Job;
use crate::record::Cell;
use crate::table::Table;

/// One cell and how it is measured.
#[derive(Clone, Debug)]
pub struct Step {
    /// The combination.
    pub cell: Cell,
    /// What a client does in it.
    pub job: Job,
    /// What other connections did before, one by one and uncounted, where a proxy goes by what it has seen.
    pub before: Vec<Job>,
}

impl Step {
    /// A cell whose stage has seen nothing before it.
    #[must_use]
    pub const fn new(cell: Cell, job: Job) -> Self {
        Self { cell, job, before: Vec::new() }
    }

    /// Tables that it needs.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let before = self.before.iter().flat_map(Job::tables);
        self.job.tables().into_iter().chain(before).collect()
    }
}

/// Steps that are measured together, in shuffled rounds.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// What is measured.
    pub steps: Vec<Step>,
    /// By which numbers its rounds go.
    pub repetitions: Range<u32>,
}

/// What is there to measure with.
#[derive(Clone, Debug)]
pub struct World {
    /// How much is wanted.
    pub scale: Scale,
    /// Workloads that the user asked for ([`Cell::does`]); all if there is none.
    pub workloads: Vec<String>,
    /// The links, by the name that cells have.
    pub links: Vec<(String, Link)>,
    /// Whether the database itself can pack with zstd (MySQL from 8.0.18 on).
    pub server_has_zstd: bool,
    /// Whether it is a real server, not the embedded database.
    pub is_real: bool,
    /// Whether the database is a private real server, whose certificates and processes are ours.
    pub is_private: bool,
    /// Whether it is MariaDB, private and real.
    pub is_private_mariadb: bool,
    /// Repetitions of each cell.
    pub repetitions: u32,
    /// Seed of all data.
    pub seed: u64,
}

impl World {
    /// How many rows cross a link in about `seconds`, at most `rows_max` and at least a hundred; of very long ones as many as
    /// 6.4 MB hold.
    #[must_use]
    pub fn rows_for(link: &Link, bytes_per_row: u32, seconds: f64, rows_max: u32) -> u32 {
        let Some(rate) = link.rate_bytes_per_s else { return rows_max };
        #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
        let rows = rate as f64 * seconds / f64::from(bytes_per_row);
        let rows_min = f64::from((LEAST_LEN / bytes_per_row.max(1)).clamp(1, ROWS_MIN));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to a u32's range"
        )]
        let rows = rows.clamp(rows_min, f64::from(u32::MAX)) as u32;
        rows.min(rows_max)
    }

    /// What is measured of all that could be, where only so much is wanted: the seed draws it among what the user asked
    /// for. `cell` is a cell of it.
    #[must_use]
    pub fn drawn<T>(&self, all: Vec<T>, wanted: usize, cell: impl Fn(&T) -> Cell) -> Vec<T> {
        let is_asked_for = |it: &T| self.workloads.iter().any(|text| cell(it).does(text));
        let mut left: Vec<usize> =
            all.iter().enumerate().filter(|(_, it)| is_asked_for(it)).map(|(index, _)| index).collect();
        if left.is_empty() {
            left = (0..all.len()).collect();
        }
        let mut sequence = Sequence::new(self.seed, 0);
        while left.len() > wanted {
            let bound = u32::try_from(left.len()).unwrap_or(u32::MAX);
            left.swap_remove(sequence.below(bound) as usize);
        }
        all.into_iter().enumerate().filter(|(index, _)| left.contains(index)).map(|(_, it)| it).collect()
    }
}

/// Fewer say more of a reply's beginning and end than of its rows.
const ROWS_MIN: u32 = 100;
/// Bytes: a hundred rows of the published wide table.
const LEAST_LEN: u32 = 6_402_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_links_get_fewer_rows() {
        let rows = |link: &str| World::rows_for(&Link::parse(link).unwrap(), 200, 4.0, 500_000);
        assert_eq!(rows("unlimited"), 500_000);
        assert_eq!(rows("100mbit,1.4ms"), 250_000);
        assert_eq!(rows("10mbit"), 25_000);
        assert_eq!(rows("1kbit"), 100);
        let of_len = |len| World::rows_for(&Link::parse("1kbit").unwrap(), len, 4.0, 500_000);
        assert_eq!([64_020, 1 << 20, 1 << 30].map(of_len), [100, 6, 1]);
        assert_eq!(World::rows_for(&Link::parse("1kbit").unwrap(), 200, 4.0, 40), 40);
    }
}
