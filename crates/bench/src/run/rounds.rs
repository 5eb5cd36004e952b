//! A sitting's measurements: the plan's steps in shuffled rounds, then what the plan looks for, batch by batch.
//!
//! ```text
//!  tables ─▶ links calibrated ─▶ batch: rounds ─▶ samples.jsonl ─▶ Plan::next ─▶ batch … until it wants no more
//! ```
//! Invariants: nothing is tried twice in one sitting, so a plan whose wish can't be measured ends; a link that a batch
//! needs besides the run's own is calibrated first and gone behind it.
//!
//! Not here: how a cell is measured (`measure`), reports.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lab::generate::Sequence;

use super::measure::{Measured, measure};
use super::{Network, Parts, Progress, Sitting, describe, order};
use crate::calibrate;
use crate::plan::{Batch, Step};
use crate::record::{Cell, End, Failure, Record, Records, Sample};
use crate::results::Results;

impl Sitting<'_> {
    /// All that the plan wants. Returns early, and without an error, when the user wants to stop.
    pub(super) fn measure_all(&mut self) -> anyhow::Result<()> {
        let mut batch = Batch { steps: self.steps.clone(), repetitions: 0..self.world.repetitions };
        let mut again = self.failed_before();
        let mut progress = Progress::new("bench", len(&batch));
        self.fill(&mut progress)?;
        progress.part("calibrating the links");
        for network in self.networks.values() {
            let calibration = network.calibrate()?;
            if let Some(warning) = &calibration.warning {
                progress.part(warning);
            }
            self.writer.write(&Record::Link(calibration.check))?;
        }
        if self.networks.values().any(|network| matches!(network, Network::User(_))) {
            // What a link in user space adds of its own is the difference to none.
            self.writer.write(&Record::Link(calibrate::bare(WITHOUT)?.check))?;
        }
        progress.part(&format!(
            "{} cells, {} rounds, seed {}",
            self.steps.len(),
            self.world.repetitions,
            self.world.seed
        ));
        let start = Instant::now();
        let mut sum = Sum::behind(self.before.as_ref());
        while !batch.steps.is_empty() {
            let added = self.open(&batch, &progress)?;
            self.measure_batch(&batch, &mut progress, start, &mut sum)?;
            for name in added {
                self.networks.remove(&name);
            }
            if self.stop.is_wished() {
                return Ok(());
            }
            batch = match again.pop() {
                Some(batch) => batch,
                None => self.wanted_next()?,
            };
            progress.more(len(&batch));
        }
        self.writer.write(&Record::End(End {
            took_s: self.before_s + start.elapsed().as_secs_f64(),
            busy_cores: sum.busy_cores(),
            harness_cpu_s: sum.links.as_secs_f64(),
        }))?;
        Ok(())
    }

    /// What failed in the later rounds of earlier sittings, the earliest round last: no plan asks for it again.
    fn failed_before(&self) -> Vec<Batch> {
        let mut rounds = BTreeMap::<u32, Vec<Step>>::new();
        for (repetition, cell) in
            self.failed.iter().filter(|(repetition, _)| *repetition >= self.world.repetitions)
        {
            let step = self.steps.iter().find(|step| step.cell == *cell).cloned();
            rounds.entry(*repetition).or_default().extend(step);
        }
        let batch = |(repetition, steps)| Batch { steps, repetitions: repetition..repetition + 1 };
        rounds.into_iter().rev().map(batch).filter(|batch| !batch.steps.is_empty()).collect()
    }

    /// What the plan wants next, if there is anything in it that wasn't tried.
    fn wanted_next(&self) -> anyhow::Result<Batch> {
        let results = Results::of(&Records::read(self.writer.path())?);
        let batch = self.plan.next(&self.world, &results);
        let is_new = batch.repetitions.clone().any(|repetition| {
            batch.steps.iter().any(|step| !self.done.contains(&(repetition, step.cell.clone())))
        });
        Ok(if is_new { batch } else { Batch::default() })
    }

    /// Opens and calibrates the links that are not the run's own; tells which.
    fn open(&mut self, batch: &Batch, progress: &Progress) -> anyhow::Result<Vec<String>> {
        let mut added = Vec::new();
        for step in &batch.steps {
            let name = &step.cell.link;
            if self.networks.contains_key(name) {
                continue;
            }
            progress.part(&format!("calibrating {name}"));
            let network = Network::named(name)?;
            let calibration = network.calibrate()?;
            if let Some(warning) = &calibration.warning {
                progress.part(warning);
            }
            self.writer.write(&Record::Link(calibration.check))?;
            self.networks.insert(name.clone(), network);
            added.push(name.clone());
        }
        Ok(added)
    }

    fn measure_batch(
        &mut self,
        batch: &Batch,
        progress: &mut Progress,
        start: Instant,
        sum: &mut Sum,
    ) -> anyhow::Result<()> {
        let program = describe::program()?;
        let Batch { steps, repetitions } = batch;
        let count = repetitions.end.saturating_sub(repetitions.start);
        let was_done = |repetition: u32| {
            steps.iter().filter(|step| self.done.contains(&(repetition, step.cell.clone()))).count() as u64
        };
        progress.skip(repetitions.clone().map(was_done).sum());
        let cells: Vec<&Cell> = steps.iter().map(|step| &step.cell).collect();
        let groups = order::rounds(&cells, repetitions.clone(), self.world.seed).into_iter();
        let groups = groups.flat_map(|(repetition, path)| {
            let each = if self.plan.takes_turns() { path.len() } else { 1 };
            path.chunks(each.max(1)).map(|group| (repetition, group.to_vec())).collect::<Vec<_>>()
        });
        for (turns, (repetition, group)) in (0..).zip(groups) {
            if self.stop.is_wished() {
                return Ok(());
            }
            let group = group.into_iter().filter_map(|index| steps.get(index));
            let group: Vec<&Step> =
                group.filter(|step| self.done.insert((repetition, step.cell.clone()))).collect();
            let Some(first) = group.first() else { continue };
            let round = repetition - repetitions.start + 1;
            progress.step(format!("round {round} of {count}: {}{}", first.cell, in_turn(group.len() - 1)));
            let Some(network) = self.networks.get(&first.cell.link) else { continue };
            let parts = Parts {
                database: &self.database,
                certificates: &self.certificates,
                program: program.clone(),
                folder: self.scratch.path().to_owned(),
                pins: self.options.pins,
                server_leg_tls: self.database.wants_tls().then_some(&*self.options.server_leg_tls),
                stop: &self.stop,
            };
            let at_s = self.before_s + start.elapsed().as_secs_f64();
            let together = measure(&group, network, &parts, Sequence::new(self.world.seed, turns));
            sum.links += together.link_cpu;
            for (step, measured) in group.into_iter().zip(together.measured) {
                match measured {
                    Ok(measured) => {
                        sum.add(&measured);
                        let (cell, metrics) = (step.cell.clone(), measured.metrics);
                        let sample = Sample { cell, repetition, at_s, metrics };
                        self.writer.write(&Record::Sample(sample))?;
                    }
                    Err(_) if self.stop.is_wished() => return Ok(()),
                    Err(error) => {
                        let reason = format!("{error:#}");
                        let failure = Failure { cell: step.cell.clone(), repetition, reason: reason.clone() };
                        self.writer.write(&Record::Failure(failure))?;
                        // A cell may fail; without its database nothing more can be measured.
                        if let Err(gone) = self.database.connect(&self.stop) {
                            return Err(gone.context(format!("{}: {reason}", step.cell)));
                        }
                    }
                }
                progress.done();
            }
        }
        Ok(())
    }
}

/// Behind the name of a cell that so many others are measured with.
fn in_turn(others: usize) -> String {
    if others == 0 { String::new() } else { format!(", in turn with {others} of its path") }
}

fn len(batch: &Batch) -> u64 {
    let rounds = batch.repetitions.end.saturating_sub(batch.repetitions.start);
    batch.steps.len() as u64 * u64::from(rounds)
}

/// What all samples together cost.
#[derive(Default)]
struct Sum {
    links: Duration,
    run_time: Duration,
    others: Option<Duration>,
}

impl Sum {
    /// Goes on behind what earlier sittings said in their end.
    fn behind(end: Option<&End>) -> Self {
        let Some(end) = end else { return Self::default() };
        let took = Duration::try_from_secs_f64(end.took_s).unwrap_or_default();
        let busy = |cores| Duration::try_from_secs_f64(cores * end.took_s).unwrap_or_default();
        Self {
            links: Duration::try_from_secs_f64(end.harness_cpu_s).unwrap_or_default(),
            // What is not known of that time weighs nothing.
            run_time: if end.busy_cores.is_some() { took } else { Duration::ZERO },
            others: end.busy_cores.map(busy),
        }
    }

    fn add(&mut self, measured: &Measured) {
        self.run_time += measured.run_time;
        if let Some(machine) = measured.machine_cpu {
            *self.others.get_or_insert_default() += machine.saturating_sub(measured.own_cpu);
        }
    }

    fn busy_cores(&self) -> Option<f64> {
        Some(self.others?.as_secs_f64() / self.run_time.as_secs_f64().max(1e-9))
    }
}

/// No cell has such a link.
const WITHOUT: &str = "without a link";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_behind_another_one_counts_what_that_one_counted() {
        let end = End { took_s: 30.0, busy_cores: Some(0.2), harness_cpu_s: 4.0 };
        let mut sum = Sum::behind(Some(&end));
        sum.links += Duration::from_secs(1);
        sum.run_time += Duration::from_secs(30);
        *sum.others.get_or_insert_default() += Duration::from_secs(12);
        assert_eq!(sum.links, Duration::from_secs(5));
        assert!((sum.busy_cores().unwrap() - 0.3).abs() < 1e-9);
        let unknown = Sum::behind(Some(&End { busy_cores: None, ..end }));
        assert_eq!((unknown.busy_cores(), unknown.links), (None, Duration::from_secs(4)));
    }
}
