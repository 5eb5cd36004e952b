//! One run: one link, one table, one setting.
//!
//! ```text
//!  client (this thread) ═ link (its threads) ═ proxy (a process) ─ database (this process or elsewhere)
//! ```
//! The table is read again and again until [`RUN_MIN`] has passed, at least once, on one connection; the
//! report shows the median scan.
//!
//! Invariants: time starts with the query and ends with its last byte; the login is not in it. Each scan must
//! bring as many rows as the table has. CPU time of the embedded database is this process's without the
//! client's and the link's threads.
//!
//! Not here: printing.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use lab::link::{Link, RunningLink};

use super::sample::{CpuTimes, Sample};
use super::setting::Setting;
use crate::client::{Account, Client, Stop};
use crate::cpu;
use crate::job::RUN_MIN;
use crate::run::{Database, ProxyProcess};
use crate::table::Table;

/// What all runs share.
pub(super) struct Bench<'a> {
    pub(super) database: &'a Database,
    pub(super) proxy: &'a ProxyProcess,
    pub(super) stop: &'a Stop,
}

/// CPU times so far.
struct CpuSoFar {
    client: Duration,
    link: Duration,
    process: Duration,
    proxy: Option<Duration>,
}

impl Bench<'_> {
    /// Measures.
    pub(super) fn run(&self, link: Link, table: &Table, setting: Setting) -> anyhow::Result<Sample> {
        let account = self.database.account().clone();
        let (behind, tls) = match setting {
            Setting::Direct => {
                (self.database.address().clone(), account.tls.clone().filter(|tls| tls.is_required))
            }
            _ => (self.proxy.address(), None),
        };
        let account = Account { tls, ..account };
        let running = link.open(behind)?;
        let mut client =
            Client::connect(&running.address().into(), &account, setting.compression(), self.stop)
                .with_context(|| format!("cannot log in over link {link} with setting '{setting}'"))?;

        let sql = table.scan_statement();
        let traffic_before = running.traffic();
        let cpu_before = self.cpu(&running);
        let start = Instant::now();
        let mut times = Vec::new();
        let (mut rows, mut plain_bytes, mut packed_bytes) = (0, 0, 0);
        while times.is_empty() || start.elapsed() < RUN_MIN {
            let scan_start = Instant::now();
            let scan = client
                .query(&sql)
                .with_context(|| format!("'{sql}' failed over link {link} with setting '{setting}'"))?;
            times.push(scan_start.elapsed());
            ensure!(
                scan.rows == u64::from(table.rows),
                "'{sql}' gave {} rows over link {link} with setting '{setting}', the table has {}",
                scan.rows,
                table.rows
            );
            (rows, plain_bytes) = (scan.rows, scan.plain_bytes);
            packed_bytes += scan.packed_bytes;
        }
        let cpu_after = self.cpu(&running);
        wait_until_counted(&running, traffic_before.to_client_bytes() + packed_bytes);
        let traffic = running.traffic() - &traffic_before;
        client.quit();

        let scans = u32::try_from(times.len()).unwrap_or(u32::MAX);
        Ok(Sample {
            table: table.kind,
            setting,
            scans,
            rows,
            run_time: times.iter().sum(),
            time: median(&mut times),
            plain_bytes,
            wire_bytes: traffic.bytes() / u64::from(scans),
            peak_second_bytes: traffic.peak_second_bytes(),
            cpu: self.cpu_between(&cpu_before, &cpu_after, setting, scans),
        })
    }

    fn cpu(&self, link: &RunningLink) -> CpuSoFar {
        CpuSoFar {
            client: cpu::this_thread(),
            link: link.cpu(),
            process: cpu::this_process(),
            proxy: self.proxy.cpu(),
        }
    }

    fn cpu_between(&self, before: &CpuSoFar, after: &CpuSoFar, setting: Setting, scans: u32) -> CpuTimes {
        let client = after.client.saturating_sub(before.client);
        let link = after.link.saturating_sub(before.link);
        let process = after.process.saturating_sub(before.process);
        let server = self.database.is_embedded().then(|| process.saturating_sub(client + link) / scans);
        let proxy = match setting {
            Setting::Direct => None,
            _ => after.proxy.zip(before.proxy).map(|(after, before)| after.saturating_sub(before) / scans),
        };
        CpuTimes { server, proxy, client: client / scans }
    }
}

/// The link counts right after it has written, so the client may be ahead of the count for a moment.
fn wait_until_counted(link: &RunningLink, to_client_bytes: u64) {
    let start = Instant::now();
    while link.traffic().to_client_bytes() < to_client_bytes && start.elapsed() < Duration::from_secs(1) {
        std::thread::yield_now();
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let middle = times.len() / 2;
    match (times.get(middle), times.len() % 2) {
        (Some(upper), 1) => *upper,
        (Some(upper), _) => times.get(middle.wrapping_sub(1)).map_or(*upper, |lower| (*lower + *upper) / 2),
        (None, _) => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two() {
        let seconds = |numbers: &[u64]| numbers.iter().copied().map(Duration::from_secs).collect::<Vec<_>>();
        assert_eq!(median(&mut seconds(&[3, 1, 2])), Duration::from_secs(2));
        assert_eq!(median(&mut seconds(&[4, 1, 2, 8])), Duration::from_secs(3));
        assert_eq!(median(&mut seconds(&[5])), Duration::from_secs(5));
    }
}
