//! What must hold of links, held against what was read: the last block of the table, and the exit code.
//!
//! ```text
//!  rate        TUN, user space ◀─ 5 % ─▶ tbf's of the same rate       in terms of what each can give at most
//!              TUN, tbf        ◀─ 5 % ─▶ iperf3's over the same link
//!  round trip  every link      ◀─ 0.2 ms ─▶ what was wished, and over TUN what two frames take at the rate
//!  scan        kernel's time / user space's ◀─ 5 % ─▶ 1514 / 1448, the headers
//! ```
//! Each reading is a median of several. A link is asked only what can be so: rates from 10 Mbit/s to 1 Gbit/s, no rate and
//! no scan where packets are lost or come late by chance.
//!
//! Invariants: what nobody could read is said to be not checked, and is no failure; of each demand the reading that is
//! furthest from it is named with its figure.
//!
//! Not here: reading (`calibrate`, `iperf3`, `scan`), the tables (`links`).

use lab::kernel_link::PAYLOAD_SHARE;

use super::Row;
use super::table::Table;
use crate::calibrate::Calibration;

/// A demand with its readings.
#[derive(Debug, Clone, PartialEq)]
struct Demand {
    /// In a few words.
    name: String,
    /// The most that a reading may be away from it, in [`Self::unit`].
    tolerance: f64,
    unit: Unit,
    readings: Vec<Reading>,
}

/// How far a link is from what it is held against.
#[derive(Debug, Clone, PartialEq)]
struct Reading {
    /// Link and kind.
    of: String,
    /// With its sign.
    away: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Parts of what it is held against.
    Share,
    Milliseconds,
}

/// What must hold, and whether it does.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict(Vec<Demand>);

impl Verdict {
    /// Of all links that were read.
    pub(super) fn of(rows: &[Row]) -> Self {
        let demand = |name: &str, (tolerance, unit), readings: Vec<Reading>| Demand {
            name: name.to_owned(),
            tolerance,
            unit,
            readings,
        };
        let headers = format!("scan, kernel / user, within 5 % of {:.3}, the headers", 1.0 / PAYLOAD_SHARE);
        Self(vec![
            demand(
                "rate within 5 % of tbf's",
                SHARE,
                rows.iter().flat_map(|row| to_tbf(row, rows)).collect(),
            ),
            demand("rate within 5 % of iperf3's", SHARE, rows.iter().flat_map(to_iperf3).collect()),
            demand("ping-pong within 0.2 ms of the wish", DELAY, rows.iter().flat_map(delays).collect()),
            demand(&headers, SHARE, rows.iter().filter_map(scan).collect()),
        ])
    }

    /// Whether nothing that was read is further away than it may be.
    pub(super) fn holds(&self) -> bool {
        self.0.iter().all(|demand| demand.holds() != Some(false))
    }

    /// As a block of the output.
    pub(super) fn text(&self, reading_count: usize) -> String {
        let mut table = Table::new(
            &format!(
                "What must hold; each reading is the median of {reading_count}, a scan's of all but the first"
            ),
            &["", "verdict", "readings", "furthest", "by"],
        );
        for demand in &self.0 {
            let furthest = demand.furthest();
            table.add([
                demand.name.clone(),
                match demand.holds() {
                    Some(true) => "holds",
                    Some(false) => "DOES NOT HOLD",
                    None => "not checked",
                }
                .to_owned(),
                demand.readings.len().to_string(),
                furthest.map_or_else(super::none, |reading| reading.of.clone()),
                furthest.map_or_else(super::none, |reading| demand.unit.text(reading.away)),
            ]);
        }
        table.to_string()
    }
}

impl Demand {
    fn furthest(&self) -> Option<&Reading> {
        self.readings.iter().max_by(|a, b| a.away.abs().total_cmp(&b.away.abs()))
    }

    /// None where there is no reading.
    fn holds(&self) -> Option<bool> {
        Some(self.furthest()?.away.abs() <= self.tolerance)
    }
}

impl Unit {
    fn text(self, away: f64) -> String {
        match self {
            Self::Share => format!("{:+.1} %", away * 100.0),
            Self::Milliseconds => format!("{away:+.3} ms"),
        }
    }
}

/// Shares of what a link can give, in terms of tbf's of the same rate, with a round trip or without.
fn to_tbf(row: &Row, rows: &[Row]) -> Vec<Reading> {
    let rate = row.link.link.rate_bytes_per_s;
    let tbf = rows.iter().filter(|other| other.link.link.rate_bytes_per_s == rate);
    let Some(tbf) = tbf.filter_map(|other| other.tbf.as_ref()?.check.rate_share()).next() else {
        return Vec::new();
    };
    if !has_steady_rate(row) {
        return Vec::new();
    }
    [("user space", &row.user_space), ("TUN", &row.tun)]
        .into_iter()
        .filter_map(|(kind, calibration)| {
            Some(reading(row, kind, calibration.check.rate_share()? / tbf - 1.0))
        })
        .collect()
}

/// Our rate in terms of iperf3's over the very same kind of link.
fn to_iperf3(row: &Row) -> Vec<Reading> {
    if !has_steady_rate(row) {
        return Vec::new();
    }
    let of = |kind, calibration: &Calibration, iperf3: &Result<f64, String>| {
        let iperf3 = iperf3.as_ref().ok()?;
        Some(reading(row, kind, calibration.check.achieved_mbit_per_s / iperf3 - 1.0))
    };
    let tbf = row.tbf.as_ref().zip(row.iperf3_tbf.as_ref());
    [of("TUN", &row.tun, &row.iperf3_tun), tbf.and_then(|(tbf, iperf3)| of("tbf", tbf, iperf3))]
        .into_iter()
        .flatten()
        .collect()
}

/// A link in user space has no jitter, and the rate of one byte; tbf lets single frames pass at once.
fn delays(row: &Row) -> Vec<Reading> {
    let tun = row.link.jitter.is_zero().then_some(&row.tun);
    let rate_mbit_per_s = row.tun.check.wished_mbit_per_s;
    let frames_ms = rate_mbit_per_s.map_or(0.0, |rate| 2.0 * PING_FRAME_BYTES * 8.0 / 1e3 / rate);
    [("user space", Some(&row.user_space), 0.0), ("TUN", tun, frames_ms), ("tbf", row.tbf.as_ref(), 0.0)]
        .into_iter()
        .filter_map(|(kind, calibration, frames_ms)| {
            let check = &calibration?.check;
            let expected_ms = check.wished_round_trip_ms + frames_ms;
            Some(reading(row, kind, check.achieved_round_trip_ms - expected_ms))
        })
        .collect()
}

fn scan(row: &Row) -> Option<Reading> {
    let scan = row.scan.as_ref().filter(|_| has_steady_rate(row))?;
    let ratio = scan.kernel.median_s / scan.user_space.median_s;
    Some(reading(row, row.link.kind(), ratio * PAYLOAD_SHARE - 1.0))
}

fn reading(row: &Row, kind: impl std::fmt::Display, away: f64) -> Reading {
    Reading { of: format!("{}, {kind}", row.link), away }
}

/// Whether its rate is one that two programs must find alike: what TCP makes of losses is another one each time.
fn has_steady_rate(row: &Row) -> bool {
    let rate = row.link.link.rate_bytes_per_s;
    row.link.loss_ppm == 0
        && row.link.jitter.is_zero()
        && rate.is_some_and(|rate| (RATE_MIN..=RATE_MAX).contains(&rate))
}

/// Of a rate, and of a scan's time.
const SHARE: (f64, Unit) = (0.05, Unit::Share);
/// Of a round trip.
const DELAY: (f64, Unit) = (0.2, Unit::Milliseconds);
/// Ethernet's header, IP's, TCP's with time stamps, and a byte.
const PING_FRAME_BYTES: f64 = 67.0;
/// 10 Mbit/s.
const RATE_MIN: u64 = 1_250_000;
/// 1 Gbit/s; above it a machine's cores decide.
const RATE_MAX: u64 = 125_000_000;

#[cfg(test)]
mod tests {
    use lab::kernel_link::KernelLink;

    use super::super::scan::{ScanTimes, Source, Times};
    use super::*;
    use crate::record::{LinkCheck, LinkPromise};
    use crate::results::fixture::link_check;

    /// Made up: everything as wished, by so much.
    fn row(link: &str, away: f64) -> Row {
        let link = KernelLink::parse(link).unwrap();
        let wished = link.link.rate_bytes_per_s.map(|rate| rate as f64 * 8.0 / 1e6);
        let wished_ms = link.link.round_trip.as_secs_f64() * 1e3;
        let calibration = |promise: LinkPromise| {
            let achieved = wished.unwrap_or(9000.0) * promise.payload_share * (1.0 - away);
            let check = link_check("", wished, achieved, (wished_ms, wished_ms + away));
            Calibration { check: LinkCheck { promise: Some(promise), ..check }, warning: None }
        };
        let kernel = calibration(LinkPromise::of_kernel(&link));
        let iperf3 = Ok(kernel.check.achieved_mbit_per_s / (1.0 - away));
        let tbf =
            (link.kind() == lab::kernel_link::Kind::Veth).then(|| calibration(LinkPromise::of_kernel(&link)));
        Row {
            link,
            user_space: calibration(LinkPromise::USER_SPACE),
            tun: kernel,
            tun_cores: 0.5,
            iperf3_tbf: tbf.is_some().then(|| iperf3.clone()),
            tbf,
            iperf3_tun: iperf3,
            scan: Some(ScanTimes {
                source: Source::Embedded,
                plain_mb: 1.8,
                user_space: Times::of(vec![9.0, 1.0]).unwrap(),
                kernel: Times::of(vec![9.0, (1.0 + away) / PAYLOAD_SHARE]).unwrap(),
            }),
        }
    }

    fn verdicts(verdict: &Verdict) -> [Option<bool>; 4] {
        [0, 1, 2, 3].map(|index| verdict.0[index].holds())
    }

    #[test]
    fn links_that_do_what_was_wished_hold() {
        let verdict = Verdict::of(&[row("10mbit", 0.01), row("10mbit,40ms", 0.02), row("1gbit", 0.0)]);
        assert_eq!((verdicts(&verdict), verdict.holds()), ([Some(true); 4], true));
        let counts: Vec<usize> = verdict.0.iter().map(|demand| demand.readings.len()).collect();
        // 10mbit,40ms is held against tbf's 10mbit, and has none of its own.
        assert_eq!(counts, [6, 5, 8, 3]);
        let text = verdict.text(3);
        assert!(text.contains("holds") && text.contains("10mbit,40ms, TUN"), "{text}");
    }

    #[test]
    fn what_does_not_hold_is_named_with_the_furthest_link_and_its_figure() {
        let mut slow = row("100mbit", 0.0);
        slow.tun.check.achieved_mbit_per_s *= 0.93;
        let verdict = Verdict::of(&[row("10mbit", 0.04), slow]);
        assert_eq!(verdicts(&verdict), [Some(false), Some(false), Some(true), Some(true)]);
        assert!(!verdict.holds());
        let text = verdict.text(3);
        let line = text.lines().find(|line| line.contains("of tbf's")).unwrap();
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words, "rate within 5 % of tbf's DOES NOT HOLD 4 100mbit, TUN -7.0 %");

        let late = Verdict::of(&[row("10mbit", 0.04), row("100mbit,1.4ms", 0.21)]);
        assert_eq!(late.0[2].holds(), Some(false));
        let line = late.text(3).lines().find(|line| line.contains("ping-pong")).unwrap().to_owned();
        assert!(line.ends_with("100mbit,1.4ms, user space   +0.210 ms"), "{line}");
    }

    #[test]
    fn a_scan_is_explained_by_the_headers_or_does_not_hold() {
        let mut even = row("1gbit", 0.0);
        let scan = even.scan.as_mut().unwrap();
        scan.kernel = Times::of(vec![9.0, 1.2]).unwrap();
        let verdict = Verdict::of(&[even]);
        assert_eq!(verdicts(&verdict), [Some(true), Some(true), Some(true), Some(false)]);
        assert!(verdict.text(3).contains("+14.8 %"), "{}", verdict.text(3));
    }

    #[test]
    fn what_cannot_be_so_is_not_asked_and_what_was_not_read_is_not_checked() {
        let mut unread = row("100mbit,1.4ms", 0.5);
        unread.iperf3_tun = Err("not fetched".to_owned());
        unread.scan = None;
        // No tbf with this rate either; what is left is the delay.
        assert_eq!(verdicts(&Verdict::of(&[unread])), [None, None, Some(false), None]);
        let lossy = row("100mbit,loss=1%,jitter=5ms", 0.5);
        let verdict = Verdict::of(&[row("unlimited", 0.1), row("10gbit", 0.1), lossy]);
        assert_eq!(verdicts(&verdict), [None, None, Some(false), None]);
        assert_eq!(verdict.0[2].furthest().unwrap().of, "100mbit,loss=1%,jitter=5ms, user space");
        assert!(Verdict::of(&[row("unlimited", 0.1)]).holds());
        assert!(verdict.text(3).contains("not checked"));
    }
}
