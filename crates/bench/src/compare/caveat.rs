//! What differs between two runs besides the program, and may be why their figures do.
//!
//! Invariants: a run has no caveat beside itself; texts of the files are made printable.
//!
//! Not here: cells (`compare`), what a link promises (`shortfall`).

use std::collections::BTreeMap;

use crate::record::{LinkCheck, Records};
use crate::report::number::{printable, short};
use crate::stats::median;

/// A sentence for each.
pub(super) fn caveats(a: &Records, b: &Records) -> Vec<String> {
    let (a_run, b_run) = (&a.run, &b.run);
    let (a_machine, b_machine) = (&a_run.machine, &b_run.machine);
    let mut facts = vec![
        ("plan", a_run.plan.clone(), b_run.plan.clone()),
        ("scale", a_run.scale.clone(), b_run.scale.clone()),
        ("seed", a_run.seed.to_string(), b_run.seed.to_string()),
        ("version of wirepress", a_run.wirepress.clone(), b_run.wirepress.clone()),
        ("database", a_run.database.clone(), b_run.database.clone()),
        ("processor", a_machine.cpu.clone(), b_machine.cpu.clone()),
        ("number of cores", a_machine.cores.to_string(), b_machine.cores.to_string()),
        ("memory in MiB", a_machine.memory_mib.to_string(), b_machine.memory_mib.to_string()),
        ("kernel", a_machine.kernel.clone(), b_machine.kernel.clone()),
        ("system", a_machine.system.clone(), b_machine.system.clone()),
    ];
    for name in a_run.programs.keys().chain(b_run.programs.keys()) {
        let version = |programs: &BTreeMap<String, String>| {
            programs.get(name).map_or_else(|| "none".to_owned(), Clone::clone)
        };
        if facts.iter().all(|(known, ..)| known != name) {
            facts.push((name, version(&a_run.programs), version(&b_run.programs)));
        }
    }
    let differ = facts.iter().filter(|(_, a, b)| a != b);
    let mut caveats: Vec<String> = differ
        .map(|(name, a, b)| format!("Another {}: {}, then {}.", printable(name), printable(a), printable(b)))
        .collect();
    caveats.extend(notes(a, b));
    caveats.extend(links(a, b));
    for (which, records) in [("first", a), ("second", b)] {
        if records.end.is_none() {
            caveats.push(format!("The {which} run is not complete."));
        }
    }
    caveats
}

/// What a reader must know of one run only: that its processes were pinned, its links in user space, its connections
/// encrypted.
fn notes(a: &Records, b: &Records) -> Vec<String> {
    let only = |which: &str, of: &[String], other: &[String]| -> Vec<String> {
        let of = of.iter().filter(|note| !other.contains(note));
        of.map(|note| format!("Only of the {which} run: {}", printable(note))).collect()
    };
    let (a, b) = (&a.run.notes, &b.run.notes);
    [only("first", a, b), only("second", b, a)].concat()
}

/// Links of both runs that were not the same when they were calibrated.
fn links(a: &Records, b: &Records) -> Vec<String> {
    let (rates_a, rates_b) = (rates(a), rates(b));
    let mut told = Vec::new();
    for (link, (rate_a, round_trip_a)) in rates_a {
        let Some((rate_b, round_trip_b)) = rates_b.get(link) else { continue };
        let link = printable(link);
        if let Some((rate_a, rate_b)) = rate_a.zip(*rate_b)
            && (rate_b - rate_a).abs() > rate_a * LINK_SHARE
        {
            told.push(format!(
                "The link {link} carried {} Mbit/s when it was calibrated, then {}.",
                short(rate_a),
                short(rate_b)
            ));
        }
        let later_ms = (round_trip_b - round_trip_a).abs();
        if later_ms > round_trip_a * LINK_SHARE && later_ms > ROUND_TRIP_MS {
            told.push(format!(
                "A round trip over the link {link} took {} ms when it was calibrated, then {}.",
                short(round_trip_a),
                short(*round_trip_b)
            ));
        }
    }
    told
}

/// Achieved rate, of links that have one, and round trip by link; of one that was calibrated in several sittings the median.
fn rates(records: &Records) -> BTreeMap<&str, (Option<f64>, f64)> {
    let mut checks: BTreeMap<&str, Vec<&LinkCheck>> = BTreeMap::new();
    for check in &records.links {
        checks.entry(&check.link).or_default().push(check);
    }
    let of = |checks: &[&LinkCheck], value: fn(&LinkCheck) -> f64| {
        median(&checks.iter().map(|check| value(check)).collect::<Vec<_>>())
    };
    checks
        .into_iter()
        .filter_map(|(link, checks)| {
            // What an unlimited link carries is the machine's, and differs each time.
            let has_rate = checks.iter().all(|check| check.wished_mbit_per_s.is_some());
            let rate = of(&checks, |check| check.achieved_mbit_per_s).filter(|_| has_rate);
            Some((link, (rate, of(&checks, |check| check.achieved_round_trip_ms)?)))
        })
        .collect()
}

/// By so much two calibrations of one link may differ.
const LINK_SHARE: f64 = 0.05;

/// Less of a round trip is when threads are woken, and no link.
const ROUND_TRIP_MS: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::fixture::{link_check, scans};

    #[test]
    fn a_note_of_one_run_only_is_a_caveat() {
        let (mut a, mut b) = (scans(), scans());
        a.run.notes.push("Client and server share cores.".to_owned());
        b.run.notes.push("Each has a core of its own.".to_owned());
        assert_eq!(
            caveats(&a, &b),
            [
                "Only of the first run: Client and server share cores.",
                "Only of the second run: Each has a core of its own."
            ]
        );
        assert_eq!(caveats(&a, &a), [] as [&str; 0]);
    }

    #[test]
    fn links_that_were_not_the_same_are_caveats() {
        let (mut a, mut b) = (scans(), scans());
        let link = |rate, round_trip_ms| link_check("100mbit,1.4ms", Some(100.0), rate, (1.4, round_trip_ms));
        a.links = vec![link(99.0, 1.45), link_check("only here", None, 5.0, (0.0, 9.0))];
        b.links = vec![link(96.0, 1.62)];
        // 3 %, and 0.17 ms, which is more than 5 % of so little.
        assert_eq!(caveats(&a, &b), [] as [&str; 0]);
        b.links = vec![link(91.0, 1.81), link(20.0, 9.0), link(91.0, 1.81)];
        assert_eq!(
            caveats(&a, &b),
            [
                "The link 100mbit,1.4ms carried 99.0 Mbit/s when it was calibrated, then 91.0.",
                "A round trip over the link 100mbit,1.4ms took 1.45 ms when it was calibrated, then 1.81."
            ]
        );
        a.links = vec![link(99.0, 40.0)];
        b.links = vec![link(99.0, 41.9)];
        // 1.9 ms are less than 5 % of so much.
        assert_eq!(caveats(&a, &b), [] as [&str; 0]);
    }
}
