//! The sentence above a table: what won, by how much, and how surely.
//!
//! Invariants: the winner is chosen on every other repetition, and its figure and ratio are taken from the others
//! ([`Choice`]), so it is not told with its luck, where there are repetitions enough; whoever cannot be told from it
//! shares its place.

use super::document::{Document, Row, State, Table};
use super::number::{capital, counted, printable, short, value};
use crate::record::{Better, Metric};
use crate::results::{Results, direct, display_order};
use crate::stats::{Choice, Estimate, median};

/// A sentence, or one for each of without and with TLS; none where there is nothing to choose from.
pub(super) fn verdict(document: &Document<'_>, table: &Table) -> Option<String> {
    let has =
        |tls| table.rows.iter().any(|row| row.cell.tls == tls && matches!(row.state, State::Measured(_)));
    let sentences: Vec<String> = [false, true]
        .into_iter()
        .filter_map(|tls| {
            let sentence = of_tls(document, table, tls)?;
            Some(match (has(false) && has(true), tls) {
                (false, _) => capital(&sentence),
                (true, false) => format!("Without TLS: {sentence}"),
                (true, true) => format!("With TLS: {sentence}"),
            })
        })
        .collect();
    let single = table.rows.iter().any(|row| row.state == State::Measured(1));
    let doubt = if single { " A single repetition proves nothing." } else { "" };
    (!sentences.is_empty()).then(|| sentences.join(" ") + doubt)
}

fn of_tls(document: &Document<'_>, table: &Table, tls: bool) -> Option<String> {
    let winners: Vec<(u32, Winner<'_>)> = table
        .threads()
        .into_iter()
        .filter_map(|threads| Some((threads, Winner::of(document, table, threads, tls)?)))
        .collect();
    match winners.as_slice() {
        [] => None,
        [(_, winner)] => Some(winner.sentence(document.primary)),
        many => Some(by_threads(many, document.primary)),
    }
}

/// The best row at a number of threads.
struct Winner<'a> {
    row: &'a Row,
    /// Its ratio's interval holds 1.
    level: Vec<&'a Row>,
    score: f64,
    /// In terms of direct, uncompressed, over the repetitions of the score; none for that one itself.
    to_direct: Option<Estimate>,
}

impl<'a> Winner<'a> {
    fn of(document: &Document<'_>, table: &'a Table, threads: u32, tls: bool) -> Option<Self> {
        let primary = document.primary;
        let rows: Vec<&Row> = table
            .rows
            .iter()
            .filter(|row| {
                row.cell.threads == threads && row.cell.tls == tls && matches!(row.state, State::Measured(_))
            })
            .collect();
        if rows.len() < 2 {
            return None;
        }
        let values: Vec<&[f64]> =
            rows.iter().map(|row| document.results.values(&row.cell, primary)).collect();
        let is_halved = values.iter().all(|values| values.len() >= HALVED_MIN);
        let (index, score) = if is_halved {
            let choice = Choice::of(&values, primary.better())?;
            (choice.index, choice.score.value)
        } else {
            of_all(&values, primary.better())?
        };
        let row = *rows.get(index)?;
        let to_direct = match row.to_direct {
            Some(_) if is_halved => document.results.scored_ratio(&row.cell, &direct(&row.cell), primary),
            over_all => over_all,
        };
        let others = rows.iter().filter(|other| other.cell != row.cell);
        let level =
            others.filter(|other| is_level(&document.results, other, row, primary)).copied().collect();
        Some(Self { row, level, score, to_direct })
    }

    fn sentence(&self, primary: Metric) -> String {
        let against = match self.to_direct {
            Some(ratio) => format!(" ({}x direct uncompressed)", short(ratio.value)),
            None => String::new(),
        };
        let score = value(primary, self.score);
        format!("{}: {}, {score}{against}{}.", most(primary), name(self.row), self.others())
    }

    /// Who shares its place.
    fn others(&self) -> String {
        let has_direct = self.level.iter().any(|row| row.cell == direct(&self.row.cell));
        match self.level.as_slice() {
            [] => String::new(),
            [one] => format!("; {} is level with it", name(one)),
            [one, two] => format!("; {} and {} are level with it", name(one), name(two)),
            many if has_direct => {
                format!(
                    "; {} are level with it, direct uncompressed among them",
                    counted(many.len(), "other")
                )
            }
            many => format!("; {} are level with it", counted(many.len(), "other")),
        }
    }

    /// Everyone in first place, with one thread each, in the order of tables.
    fn first_place(&self) -> Vec<&'a Row> {
        let mut rows: Vec<&Row> = std::iter::once(self.row).chain(self.level.iter().copied()).collect();
        rows.sort_by(|a, b| display_order(&a.cell, &b.cell));
        rows
    }
}

/// A label's commas would be lost among those of a sentence.
fn name(row: &Row) -> String {
    printable(&row.cell.label()).replace(", ", " ")
}

/// The best by the medians of all values: halves of two or three values are none.
fn of_all(values: &[&[f64]], better: Better) -> Option<(usize, f64)> {
    let medians = values.iter().enumerate().filter_map(|(index, values)| Some((index, median(values)?)));
    match better {
        Better::Less => medians.min_by(|a, b| a.1.total_cmp(&b.1)),
        Better::More => medians.max_by(|a, b| a.1.total_cmp(&b.1)),
        Better::Neither => None,
    }
}

/// Within one run: whether the pairs of two rows can be told from each other.
fn is_level(results: &Results, a: &Row, b: &Row, primary: Metric) -> bool {
    results.ratio(&a.cell, &b.cell, primary).is_some_and(|ratio| ratio.holds(1.0))
}

/// Numbers of threads are told together for as long as anyone stays in first place.
fn by_threads(winners: &[(u32, Winner<'_>)], primary: Metric) -> String {
    let mut stays: Vec<(u32, u32, Vec<String>)> = Vec::new();
    for (threads, winner) in winners {
        let names: Vec<String> = winner.first_place().into_iter().map(name).collect();
        match stays.last_mut() {
            Some((_, last, stay)) if stay.iter().any(|name| names.contains(name)) => {
                stay.retain(|name| names.contains(name));
                *last = *threads;
            }
            _ => stays.push((*threads, *threads, names)),
        }
    }
    let mut told: Vec<String> = stays
        .iter()
        .map(|(first, last, names)| {
            let threads = match (first, last) {
                (1, 1) => "1 thread".to_owned(),
                (first, last) if first == last => format!("{first} threads"),
                (first, last) => format!("{first} to {last} threads"),
            };
            format!("{} at {threads}", joined(names))
        })
        .collect();
    if told.len() > TURNS_MAX {
        let between = format!("in between it changes {} times", told.len() - 2);
        told.splice(1..told.len() - 1, [between]);
    }
    format!("{}: {}.", most(primary), told.join("; "))
}

fn most(primary: Metric) -> String {
    match primary.better() {
        Better::Less => format!("least {}", primary.heading()),
        _ => format!("most {}", primary.heading()),
    }
}

/// Three names at most.
fn joined(names: &[String]) -> String {
    match names {
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second] => format!("{first} and {second}"),
        [first, rest @ ..] if !rest.is_empty() => format!("{first} and {}", counted(rest.len(), "other")),
        _ => names.concat(),
    }
}

/// Fewer repetitions make no halves; [`super::facts::BEST`] says so.
const HALVED_MIN: usize = 4;

/// A longer list is no sentence any more.
const TURNS_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Path, Setting};
    use crate::results::fixture::{cell, records, sample};

    fn verdict_of(times: &[f64]) -> String {
        let [none, zlib] =
            [Setting::None, Setting::Zlib].map(|setting| cell("10mbit", Path::Direct, setting));
        let pairs = (0..).zip(times);
        let samples = pairs.flat_map(|(n, time)| [sample(&none, n, 1.0), sample(&zlib, n, *time)]);
        let records = records(samples.collect());
        let document = Document::of(&records, None);
        verdict(&document, document.tables.first().unwrap()).unwrap()
    }

    #[test]
    fn figure_and_ratio_are_of_the_same_repetitions_and_not_of_those_that_chose() {
        let lucky = [0.5, 0.9, 0.5, 0.9, 0.5, 0.9];
        assert_eq!(verdict_of(&lucky), "Least seconds: direct zlib, 0.90 (0.90x direct uncompressed).");
        // Three are not split; the centre of their ratios is no median.
        assert_eq!(verdict_of(&lucky[..3]), "Least seconds: direct zlib, 0.50 (0.59x direct uncompressed).");
    }
}
