//! What a seed draws.
//!
//! Invariants: each draw takes the same numbers of the sequence, whatever becomes of it.
//!
//! Not here: which draws become cells (`cell`).

use std::time::Duration;

use lab::generate::Sequence;
use lab::link::Link;

use super::cell::Cell;
use super::data::Data;
use crate::advise::candidate::{COMPRESSIONS, Candidate, Packer};

/// What chance says of a cell.
pub(super) struct Drawn {
    data: Data,
    is_bulk: bool,
    pub(super) candidate: Candidate,
    /// Of the link, bytes per second; from [`RATE_MIN`] to [`RATE_MAX`].
    pub(super) rate: f64,
    pub(super) round_trip_s: f64,
    /// From a half to two: where the rate of a link near the border lies.
    pub(super) factor: f64,
    small_bytes: f64,
    is_unshaped: bool,
}

impl Drawn {
    /// The next one.
    pub(super) fn next(sequence: &mut Sequence, is_unshaped: bool) -> Self {
        Self {
            data: *pick(sequence, &Data::ALL),
            is_bulk: sequence.below(3) > 0,
            candidate: Candidate {
                packer: *pick(sequence, &[Packer::Server, Packer::Wirepress]),
                compression: *pick(sequence, &COMPRESSIONS),
            },
            rate: log_uniform(sequence, RATE_MIN, RATE_MAX),
            round_trip_s: log_uniform(sequence, 0.4e-3, 80e-3),
            factor: log_uniform(sequence, 1.0 / NEAR_FACTOR, NEAR_FACTOR),
            small_bytes: log_uniform(sequence, 2e3, 60e3),
            is_unshaped,
        }
    }

    /// The cell over a link of that rate, bytes per second, with as many rows as such a link makes worth while.
    pub(super) fn cell(&self, rate: f64) -> Cell {
        let (data, is_unshaped) = (self.data, self.is_unshaped);
        let link = Link::new(Some(whole(rate)), Duration::from_secs_f64(self.round_trip_s));
        let link = if is_unshaped { Link::UNLIMITED } else { link };
        let bytes = match (self.is_bulk, is_unshaped) {
            (true, true) => BULK_MAX_BYTES,
            (true, false) => (rate * BULK_S).clamp(BULK_MIN_BYTES, BULK_MAX_BYTES),
            (false, _) => self.small_bytes,
        };
        let rows = (whole(bytes) as u32 / data.row_bytes()).clamp(1, data.rows());
        let reply_s = f64::from(rows * data.row_bytes()) / rate + self.round_trip_s + 1e-3;
        let exchanges = match (self.is_bulk, is_unshaped) {
            (true, true) => BULK_UNSHAPED,
            (true, false) => 1,
            (false, _) => (whole(PASS_S / reply_s) as usize).clamp(2, 50),
        };
        Cell { data, rows, exchanges, candidate: self.candidate, link }
    }
}

fn pick<'a, T>(sequence: &mut Sequence, all: &'a [T]) -> &'a T {
    &all[sequence.below(u32::try_from(all.len()).unwrap_or(u32::MAX)) as usize]
}

fn log_uniform(sequence: &mut Sequence, low: f64, high: f64) -> f64 {
    let part = f64::from(sequence.below(u32::MAX)) / f64::from(u32::MAX);
    low * (high / low).powf(part)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, far below 2^53")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// 5 Mbit/s, bytes per second.
pub(super) const RATE_MIN: f64 = 625e3;
/// 1 Gbit/s, bytes per second.
pub(super) const RATE_MAX: f64 = 125e6;
/// Within it a link is near a border.
pub(super) const NEAR_FACTOR: f64 = 2.0;
/// A bulk reply takes the link about this long without compression.
const BULK_S: f64 = 0.6;
const BULK_MIN_BYTES: f64 = 500e3;
const BULK_MAX_BYTES: f64 = 38e6;
/// Without a link a bulk reply takes so little time that one alone is mostly noise.
const BULK_UNSHAPED: usize = 5;
/// A pass of small replies takes about this long.
const PASS_S: f64 = 0.3;
