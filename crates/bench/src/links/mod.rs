//! The table of links: what each kind of link really does, side by side, on this machine.
//!
//! ```text
//!  per link   user space   TUN   tbf over veth   iperf3 over TUN and over tbf     rate
//!             user space   TUN   tbf over veth                                    ping-pong
//!             user space         the kernel link                                  the same scan
//!  all links together: what must hold, and whether it does
//! ```
//! Rates and ping-pongs are medians of several readings, the kinds of links in turn, so that a moment in which the machine
//! did something else decides nothing.
//!
//! Rates are of what TCP carries. A link in user space promises its rate of that; a kernel link's rate is of Ethernet
//! frames, of which TCP can have 1448 of 1514 bytes. The table has both: Mbit/s as measured, and the share of what the
//! link can give at most.
//!
//! Invariants: one link runs at a time; nothing of it is left afterwards; a column that cannot be had says why.
//!
//! Not here: measuring a single link (`calibrate`), what must hold (`verdict`).

mod iperf3;
mod scan;
mod table;
mod verdict;

use anyhow::{Context, bail};
use lab::kernel_link::{KernelLink, Kind};

use crate::calibrate::{self, Calibration};
use crate::run::Progress;
use crate::stats::median;
use scan::{ScanTimes, Source};
use table::Table;
use verdict::Verdict;

/// What to lay side by side.
#[derive(Debug, Clone)]
pub struct LinksOptions {
    /// Rates and round trips.
    pub links: Vec<KernelLink>,
    /// Counted scans of each kind of link; 0 for none.
    pub scan_count: u32,
}

impl Default for LinksOptions {
    /// Three rates without delay, which tbf can do as well, and the three links of the benchmark.
    fn default() -> Self {
        let links = ["10mbit", "100mbit", "1gbit", "10mbit,40ms", "100mbit,1.4ms", "1gbit,0.5ms"];
        Self { links: links.iter().filter_map(|text| KernelLink::parse(text).ok()).collect(), scan_count: 5 }
    }
}

/// What was measured of one link.
struct Row {
    link: KernelLink,
    user_space: Calibration,
    tun: Calibration,
    tun_cores: f64,
    tbf: Option<Calibration>,
    iperf3_tun: Result<f64, String>,
    iperf3_tbf: Option<Result<f64, String>>,
    scan: Option<ScanTimes>,
}

/// Measures all of them and prints the tables, and what must hold of them; progress goes to standard error. Who reads the
/// tables may go before they are there.
///
/// # Errors
/// Not root, or what else a kernel link needs is missing; a database that cannot be started; something that must hold and
/// does not.
pub fn run(options: &LinksOptions) -> anyhow::Result<()> {
    let steps = options.links.len() * (READINGS + usize::from(options.scan_count > 0));
    let mut progress = Progress::new("bench links", steps as u64);
    let mut rows = Vec::new();
    for (place, link) in options.links.iter().enumerate() {
        progress.part(&format!("{link} ({} of {})", place + 1, options.links.len()));
        let row =
            measure(*link, options.scan_count, &mut progress).with_context(|| format!("link {link}"))?;
        for calibration in [Some(&row.user_space), Some(&row.tun), row.tbf.as_ref()].into_iter().flatten() {
            if let Some(warning) = &calibration.warning {
                progress.warn(&format!("{}: {warning}", calibration.check.kind));
            }
        }
        rows.push(row);
    }
    let verdict = Verdict::of(&rows);
    let text = format!("{}\n{}", text(&rows), verdict.text(READINGS));
    progress.print(text.trim_end())?;
    if !verdict.holds() {
        bail!("something that must hold of these links does not; see the last table");
    }
    Ok(())
}

/// Measures one of them; each reading is a step, and the scans together are one.
fn measure(link: KernelLink, scan_count: u32, progress: &mut Progress) -> anyhow::Result<Row> {
    let (mut user_space, mut tun, mut tbf) = (Vec::new(), Vec::new(), Vec::new());
    let (mut tun_cores, mut iperf3_tun, mut iperf3_tbf) = (Vec::new(), Vec::new(), Vec::new());
    for reading in 1..=READINGS {
        progress.step(format!("{link}, reading {reading} of {READINGS}"));
        user_space.push(calibrate::user_space(link.link)?);
        let running = link.open_as(Kind::Tun)?;
        let (start, cpu) = (std::time::Instant::now(), running.cpu());
        tun.push(calibrate::kernel(&running)?);
        tun_cores.push((running.cpu() - cpu).as_secs_f64() / start.elapsed().as_secs_f64());
        iperf3_tun.push(iperf3::to_client_mbit_per_s(&running));
        drop(running);
        if link.kind() == Kind::Veth {
            let running = link.open_as(Kind::Veth)?;
            tbf.push(calibrate::kernel(&running)?);
            iperf3_tbf.push(iperf3::to_client_mbit_per_s(&running));
        }
        progress.done();
    }
    let mut scan = None;
    if scan_count > 0 {
        progress.step(format!("{link}, scans"));
        scan = Some(scan::run(link, scan_count)?);
        progress.done();
    }
    Ok(Row {
        link,
        user_space: Calibration::median(&user_space).context("no reading")?,
        tun: Calibration::median(&tun).context("no reading")?,
        tun_cores: median(&tun_cores).context("no reading")?,
        tbf: Calibration::median(&tbf),
        iperf3_tun: median_reading(&iperf3_tun).context("no reading")?,
        iperf3_tbf: median_reading(&iperf3_tbf),
        scan,
    })
}

/// The median of what was read, or why nothing was; none where nobody tried.
fn median_reading(readings: &[Result<f64, String>]) -> Option<Result<f64, String>> {
    let read: Vec<f64> = readings.iter().filter_map(|reading| reading.as_ref().ok().copied()).collect();
    median(&read).map(Ok).or_else(|| readings.first().cloned())
}

fn text(rows: &[Row]) -> String {
    [rates(rows), shares(rows), round_trips(rows), scans(rows)].join("\n")
}

fn rates(rows: &[Row]) -> String {
    let mut table = Table::new(
        "Bulk rate to the client, Mbit/s of what TCP carries",
        &["link", "user space", "TUN", "tbf", "iperf3, TUN", "iperf3, tbf", "TUN's cores"],
    );
    for row in rows {
        table.add([
            row.link.to_string(),
            rate(&row.user_space),
            rate(&row.tun),
            row.tbf.as_ref().map_or_else(none, rate),
            reading(&row.iperf3_tun),
            row.iperf3_tbf.as_ref().map_or_else(none, reading),
            format!("{:.2}", row.tun_cores),
        ]);
    }
    table.to_string()
}

fn shares(rows: &[Row]) -> String {
    let mut table = Table::new(
        "The same in terms of what the link can give at most (user space: its rate; kernel: 1448 of 1514 bytes of it)",
        &["link", "user space", "TUN", "tbf", "TUN / tbf", "iperf3 / TUN", "user / TUN"],
    );
    for row in rows {
        let share = |calibration: &Calibration| calibration.check.rate_share().map_or_else(none, percent);
        let mbit = |calibration: &Calibration| calibration.check.achieved_mbit_per_s;
        table.add([
            row.link.to_string(),
            share(&row.user_space),
            share(&row.tun),
            row.tbf.as_ref().map_or_else(none, share),
            row.tbf.as_ref().map_or_else(none, |tbf| percent(mbit(&row.tun) / mbit(tbf))),
            row.iperf3_tun.as_ref().map_or_else(|_| none(), |iperf3| percent(iperf3 / mbit(&row.tun))),
            row.user_space
                .check
                .rate_share()
                .zip(row.tun.check.rate_share())
                .map_or_else(none, |(user, tun)| percent(user / tun)),
        ]);
    }
    table.to_string()
}

fn round_trips(rows: &[Row]) -> String {
    let mut table =
        Table::new("Ping-pong of one byte, median, ms", &["link", "wished", "user space", "TUN", "tbf"]);
    for row in rows {
        let time = |calibration: &Calibration| format!("{:.3}", calibration.check.achieved_round_trip_ms);
        table.add([
            row.link.to_string(),
            format!("{:.3}", row.tun.check.wished_round_trip_ms),
            time(&row.user_space),
            time(&row.tun),
            row.tbf.as_ref().map_or_else(none, time),
        ]);
    }
    table.to_string()
}

fn scans(rows: &[Row]) -> String {
    let source =
        rows.iter().find_map(|row| row.scan.as_ref()).map_or(Source::Embedded, |scan| scan.source.clone());
    let mut table = Table::new(
        &format!("select * on one connection, {source}: seconds, median (least to most)"),
        &["link", "kernel", "MB", "user space", "kernel link", "kernel / user", "first scan, kernel"],
    );
    for row in rows {
        let Some(scan) = &row.scan else { continue };
        table.add([
            row.link.to_string(),
            row.link.kind().to_string(),
            format!("{:.1}", scan.plain_mb),
            scan.user_space.to_string(),
            scan.kernel.to_string(),
            format!("{:.3}", scan.kernel.median_s / scan.user_space.median_s),
            format!("{:.3}", scan.kernel.first_s),
        ]);
    }
    table.to_string()
}

fn rate(calibration: &Calibration) -> String {
    format!("{:.2}", calibration.check.achieved_mbit_per_s)
}

fn reading(reading: &Result<f64, String>) -> String {
    reading.as_ref().map_or_else(Clone::clone, |mbit_per_s| format!("{mbit_per_s:.2}"))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn none() -> String {
    "-".to_owned()
}

/// A bad one of three moves no median by much, and a table takes minutes.
const READINGS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_bad_reading_of_iperf3_decides_nothing() {
        let failed = || Err("failed: no rate".to_owned());
        assert_eq!(median_reading(&[Ok(95.0), Ok(3.0), Ok(96.0)]), Some(Ok(95.0)));
        assert_eq!(median_reading(&[failed(), Ok(95.0), failed()]), Some(Ok(95.0)));
        assert_eq!(median_reading(&[failed()]), Some(failed()));
        assert_eq!(median_reading(&[]), None);
    }
}
