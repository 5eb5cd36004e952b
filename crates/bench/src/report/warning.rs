//! What a reader must know before believing a number, and what to do about it.
//!
//! Invariants: each warning names what it is about, its figure, and a remedy; a run without any is one that needs no
//! excuse.

use std::collections::BTreeMap;

use super::number::{counted, percent, printable, short};
use crate::record::{Cell, Metric, Records, Sample};
use crate::results::Results;
use crate::shortfall::Shortfall;
use crate::stats::SURE_MIN;

/// Something that makes numbers less sure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Warning {
    /// What is wrong, in a few words.
    pub(super) title: &'static str,
    /// Where, and how much.
    pub(super) text: String,
    /// What to do.
    pub(super) remedy: &'static str,
}

/// All warnings, the worst first.
pub(super) fn warnings(records: &Records, results: &Results, primary: Metric) -> Vec<Warning> {
    let of_the_run = [incomplete(records, results), failures(records), versions(records)];
    let of_the_values = [
        few_runs(results, primary),
        noise(results, primary),
        disagreeing(records),
        too_short(records),
        saturated(records, results),
        neighbours(records),
    ];
    of_the_run
        .into_iter()
        .flatten()
        .chain(links(records))
        .chain(of_the_values.into_iter().flatten())
        .collect()
}

fn incomplete(records: &Records, results: &Results) -> Option<Warning> {
    let wished = records.run.cells as usize;
    let measured = results.cells().len();
    if records.end.is_some() && measured >= wished {
        return None;
    }
    let state = if records.end.is_some() { "ended" } else { "was stopped or is still going on" };
    Some(Warning {
        title: "incomplete run",
        text: format!("The run {state}; {measured} of {} have samples.", counted(wished, "cell")),
        remedy: "Go on with it, by --resume; what was measured is kept.",
    })
}

fn failures(records: &Records) -> Option<Warning> {
    let mut by_reason: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
    let failures = records.failures_left();
    for failure in &failures {
        by_reason.entry(&failure.reason).or_default().push(&failure.cell);
    }
    let told = by_reason.iter().map(|(reason, cells)| {
        let first = cells.first().map(ToString::to_string).unwrap_or_default();
        let more = match cells.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        format!("{}{more}: {}", printable(&first), printable(reason))
    });
    let text = told.collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then(|| Warning {
        title: "failures",
        text: format!("{} failed. {text}", counted(failures.len(), "measurement")),
        remedy: "Mend what the reasons name and go on with the run, by --resume: it measures them again.",
    })
}

fn versions(records: &Records) -> Option<Warning> {
    let other = records.resumed.iter().find(|resumed| resumed.wirepress != records.run.wirepress)?;
    Some(Warning {
        title: "two versions",
        text: format!(
            "The run began with wirepress {} and went on with {}.",
            printable(&records.run.wirepress),
            printable(&other.wirepress)
        ),
        remedy: "Measure again with one version.",
    })
}

/// One for each remedy, which is each kind of link.
fn links(records: &Records) -> Vec<Warning> {
    let mut by_remedy: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for shortfall in records.links.iter().filter_map(Shortfall::of) {
        by_remedy.entry(shortfall.remedy).or_default().push(shortfall.text);
    }
    by_remedy
        .into_iter()
        .map(|(remedy, told)| Warning {
            title: "links not as wished",
            text: format!("{}.", told.join("; ")),
            remedy,
        })
        .collect()
}

fn few_runs(results: &Results, primary: Metric) -> Option<Warning> {
    let few: Vec<usize> = results
        .cells()
        .iter()
        .map(|cell| results.values(cell, primary).len())
        .filter(|runs| (1..SURE_MIN).contains(runs))
        .collect();
    let least = few.iter().min()?;
    Some(Warning {
        title: "few repetitions",
        text: format!(
            "{} of {} have fewer than {SURE_MIN} repetitions, {least} at the least: their intervals are the whole \
             range, and less sure than 95 %.",
            few.len(),
            counted(results.cells().len(), "cell"),
        ),
        remedy: "Ask for --repetitions 6 or more: from there on an interval holds the true value in 95 % of all cases.",
    })
}

fn noise(results: &Results, primary: Metric) -> Option<Warning> {
    let spreads = results.cells().iter().filter_map(|cell| {
        let spread = results.interval(cell, primary)?.relative_half_width();
        (spread > NOISE_MAX).then_some((cell, spread))
    });
    let noisy: Vec<(&Cell, f64)> = spreads.collect();
    let (widest, spread) = noisy.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Warning {
        title: "noise",
        text: format!(
            "{} of {} have an interval wider than ±{}; the widest is ±{}, {}.",
            noisy.len(),
            counted(results.cells().len(), "cell"),
            percent(NOISE_MAX),
            percent(*spread),
            printable(&widest.to_string()),
        ),
        remedy: "Stop what else runs on the machine, fix its clock rate, or ask for more repetitions.",
    })
}

/// What a client counted itself (transactions a second) and what was read around it (bytes, time) are of the same run.
fn disagreeing(records: &Records) -> Option<Warning> {
    let of = |sample: &Sample| {
        let value = |metric| sample.metrics.get(&metric).copied().filter(|value| *value > 0.0);
        let told = value(Metric::TransactionsPerS)? * value(Metric::WireBytesPerTx)? / 1e6;
        let share = value(Metric::MeanMbPerS)? / told;
        (!(1.0 / DISAGREEMENT_MAX..=DISAGREEMENT_MAX).contains(&share)).then_some(share)
    };
    let apart = records.samples.iter().filter_map(|sample| Some((sample, of(sample)?)));
    let apart: Vec<(&Sample, f64)> = apart.collect();
    let (worst, share) = apart.iter().max_by(|a, b| a.1.ln().abs().total_cmp(&b.1.ln().abs()))?;
    Some(Warning {
        title: "rates that disagree",
        text: format!(
            "In {} of {} the MB/s are not those of the client's transactions; {} times as many in {}.",
            apart.len(),
            counted(records.samples.len(), "sample"),
            short(*share),
            printable(&worst.cell.to_string()),
        ),
        remedy: "Believe neither MB/s nor CPU for a transaction there: the machine was too busy to be read in time, or the run was \
                 too short. Use a larger --scale, or fewer threads.",
    })
}

/// Threads that made hardly a transaction each have not shown what a transaction takes.
fn too_short(records: &Records) -> Option<Warning> {
    let is_short = |sample: &&Sample| {
        let count = sample.metrics.get(&Metric::Count);
        sample.cell.threads > 1
            && sample.metrics.contains_key(&Metric::TransactionsPerS)
            && count.is_some_and(|count| *count < TRANSACTIONS_MIN * f64::from(sample.cell.threads))
    };
    let short: Vec<&Sample> = records.samples.iter().filter(is_short).collect();
    let first = short.first()?;
    Some(Warning {
        title: "short runs",
        text: format!(
            "In {} of {} a thread made fewer than {TRANSACTIONS_MIN:.0} transactions on average, such as {}.",
            short.len(),
            counted(records.samples.len(), "sample"),
            printable(&first.cell.to_string()),
        ),
        remedy: "Their latencies are too short, since what takes longest is cut off. Use a larger --scale.",
    })
}

fn saturated(records: &Records, results: &Results) -> Option<Warning> {
    let is_pinned = records.run.options.as_ref().is_some_and(|options| options.is_pinned);
    // In a pinned run the client's host has one.
    let cores = if is_pinned { 1 } else { records.run.machine.cores };
    let busy = results.cells().iter().filter_map(|cell| {
        let median = |metric| results.median(cell, metric);
        // Cores that the client kept busy: of a scan's time, or by transactions.
        let busy = match (median(Metric::ClientCpuS), median(Metric::ClientCpuUsPerTx)) {
            (Some(cpu_s), _) => cpu_s / median(Metric::TimeS)?,
            (None, us_per_tx) => us_per_tx? / 1e6 * median(Metric::TransactionsPerS)?,
        };
        let busy = busy / f64::from(cell.threads.min(cores).max(1));
        (busy > CLIENT_MAX).then_some((cell, busy))
    });
    let busy: Vec<(&Cell, f64)> = busy.collect();
    let (busiest, part) = busy.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Warning {
        title: "saturated client",
        text: format!(
            "In {} of {} the client itself was busy for more than {} of the time; {} in {}.",
            busy.len(),
            counted(results.cells().len(), "cell"),
            percent(CLIENT_MAX),
            percent(*part),
            printable(&busiest.to_string()),
        ),
        remedy: "These cells show how fast the client is. Use a faster client, or more of them.",
    })
}

fn neighbours(records: &Records) -> Option<Warning> {
    let busy = records.end.as_ref()?.busy_cores.filter(|busy| *busy >= BUSY_CORES)?;
    Some(Warning {
        title: "busy neighbours",
        text: format!(
            "Other programs kept {} of {} busy on average.",
            short(busy),
            counted(records.run.machine.cores as usize, "core")
        ),
        remedy: "Stop them and measure again: times are longer than they would be, and noisier.",
    })
}

/// Differences of this size are what compression's cost on a fast network is; they should not be lost in noise.
const NOISE_MAX: f64 = 0.05;

/// A client's last transactions may take a tenth of a short run after the others have ended; twice that is no longer one run.
const DISAGREEMENT_MAX: f64 = 1.2;

/// The first of each thread meets a server that isn't busy yet.
const TRANSACTIONS_MIN: f64 = 2.0;

/// Above it the client, not what is measured, decides.
const CLIENT_MAX: f64 = 0.9;

/// Less is the noise of any machine.
const BUSY_CORES: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Options, Origin, Path, Setting};
    use crate::results::fixture::{cell, records, sample};

    #[test]
    fn rates_that_disagree_are_told_and_threads_that_made_hardly_a_transaction() {
        let cell = Cell { threads: 1024, ..cell("unlimited", Path::Direct, Setting::None) };
        let of = |mb_per_s, count| {
            let mut sample = sample(&cell, 0, 1.0);
            let metrics = [
                (Metric::TransactionsPerS, 500.0),
                (Metric::WireBytesPerTx, 40_000.0),
                (Metric::MeanMbPerS, mb_per_s),
                (Metric::Count, count),
            ];
            sample.metrics.extend(metrics);
            records(vec![sample])
        };
        assert_eq!((disagreeing(&of(20.0, 3e3)), too_short(&of(20.0, 3e3))), (None, None));
        let text = disagreeing(&of(200.0, 3e3)).unwrap().text;
        assert!(text.contains("In 1 of 1 sample") && text.contains("10.0 times as many"), "{text}");
        assert!(disagreeing(&of(10.0, 3e3)).is_some());
        let text = too_short(&of(20.0, 1.5e3)).unwrap().text;
        assert!(text.contains("fewer than 2 transactions"), "{text}");
    }

    #[test]
    fn few_repetitions_are_those_whose_intervals_are_less_sure_than_they_should_be() {
        let text = |runs: u32| {
            let cell = cell("unlimited", Path::Direct, Setting::None);
            let records = records((0..runs).map(|repetition| sample(&cell, repetition, 1.0)).collect());
            few_runs(&Results::of(&records), Metric::TimeS).map(|warning| warning.text)
        };
        assert!(text(5).unwrap().starts_with("1 of 1 cell have fewer than 6 repetitions, 5 at the least"));
        assert_eq!(text(6), None);
    }

    #[test]
    fn a_pinned_client_is_saturated_by_one_core_and_another_by_all_it_can_use() {
        let cell = Cell { threads: 8, ..cell("unlimited", Path::Direct, Setting::None) };
        let mut sample = sample(&cell, 0, 1.0);
        sample.metrics.insert(Metric::ClientCpuS, 0.95);
        let mut records = records(vec![sample]);
        records.run.machine.cores = 2;
        assert_eq!(saturated(&records, &Results::of(&records)), None);
        records.run.options = Some(Options {
            database: Origin::Mysql,
            tls: Vec::new(),
            links: Vec::new(),
            workloads: Vec::new(),
            is_pinned: true,
        });
        let text = saturated(&records, &Results::of(&records)).unwrap().text;
        assert!(text.contains("more than 90 % of the time; 95 % in"), "{text}");
        // Older files don't say whether they were pinned.
        records.run.options = None;
        records.samples[0].metrics.insert(Metric::ClientCpuS, 1.9);
        assert!(saturated(&records, &Results::of(&records)).is_some());
    }
}
