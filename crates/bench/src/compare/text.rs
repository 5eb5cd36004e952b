//! A comparison for a terminal: at most 120 columns.
//!
//! ```text
//!  the two runs, what differs besides, what could be found
//!  the plan's first metric, a table for each link and workload
//!  the same of all cells of a path and a setting together
//!  other metrics: what changed beyond noise, and where nothing did
//!  cells of one run only; the sum
//! ```
//! Not here: what is compared, and how (`compare`, `compared`).

use std::fmt;

use super::Comparison;
use super::compared::{ComparedCell, ComparedGroup, Verdict};
use crate::record::Metric;
use crate::report::number::{DASH, counted, interval, printable, short, value};
use crate::report::text_table::{text_table, wrapped};
use crate::report::{Grid, GridRow, Head, Kind, better_in_words};
use crate::stats::Estimate;

impl Comparison {
    /// As tables for a terminal: at most 120 columns.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, told) in [("A", &self.a), ("B", &self.b)] {
            text.push_str(&wrapped(&format!("{name}: {told}"), "", "   "));
        }
        for caveat in self.caveats.iter().chain(&self.reach) {
            text.push_str(&wrapped(caveat, "! ", "  "));
        }
        if !self.cells.is_empty() {
            let heading = self.metric.heading();
            text.push_str(&format!("\n{heading}: median of A and B, B in terms of A with its interval\n"));
        }
        for part in
            self.cells.chunk_by(|a, b| a.cell.link == b.cell.link && a.cell.workload == b.cell.workload)
        {
            let Some(first) = part.first() else { continue };
            let heading = printable(&format!("{} over {}", first.cell.workload, first.cell.link));
            text.push_str(&format!("\n{}", wrapped(&heading, "", "")));
            let has_threads = part.iter().any(|cell| cell.cell.threads > 1);
            let label = |compared: &ComparedCell| {
                let label = printable(&compared.cell.label());
                if has_threads { format!("{} × {label}", compared.cell.threads) } else { label }
            };
            text.push_str(&text_table(&cells_grid(part.iter(), label, Verdict::words)));
        }
        text.push_str(&self.groups_text());
        text.push_str(&self.others_text());
        for (name, cells) in [("A", &self.only_in_a), ("B", &self.only_in_b)] {
            if !cells.is_empty() {
                text.push_str(&format!("\nOnly in {name}: {}\n", counted(cells.len(), "cell")));
                for cell in cells {
                    text.push_str(&wrapped(&printable(&cell.to_string()), "  ", "    "));
                }
            }
        }
        text.push('\n');
        text + &self.summary()
    }

    /// Of the plan's first metric all groups, of the others those that changed.
    fn groups_text(&self) -> String {
        let is_shown = |group: &&ComparedGroup| {
            group.metric == self.metric || group.verdict.is_change() && size(group.ratio) >= SHOWN_MIN
        };
        let shown: Vec<&ComparedGroup> = self.groups.iter().filter(is_shown).collect();
        if shown.is_empty() {
            return String::new();
        }
        let mut text = "\nAll cells of a path and a setting together\n".to_owned();
        for part in shown.chunk_by(|a, b| a.metric == b.metric) {
            let Some(first) = part.first() else { continue };
            let words = if first.metric == self.metric { Verdict::words } else { Verdict::other_words };
            text.push_str(&format!("\n{}\n", metric_text(first.metric)));
            text.push_str(&text_table(&groups_grid(part, words)));
        }
        text.push('\n');
        text + &wrapped(
            "p: Mann-Whitney U added up over cells (stratified, van Elteren), adjusted for all groups and metrics; the ratio is \
             Hodges and Lehmann's. It finds what differs a little in all cells alike, with few repetitions, too.",
            "",
            "",
        )
    }

    /// A table for each metric in which anything changed.
    fn others_text(&self) -> String {
        if self.others.is_empty() {
            return String::new();
        }
        let changed = self.others.iter().filter(|cell| cell.verdict.is_change()).count();
        let mut text = format!(
            "\nOther columns: {} of {} changed beyond noise, adjusted for all of them\n",
            changed,
            counted(self.others.len(), "value")
        );
        let mut unchanged = Vec::new();
        for part in self.others.chunk_by(|a, b| a.metric == b.metric) {
            let Some(first) = part.first() else { continue };
            let (shown, small) = changes(part);
            if shown.is_empty() && small == 0 {
                unchanged.push(first.metric.heading());
                continue;
            }
            text.push_str(&format!("\n{}\n", metric_text(first.metric)));
            if !shown.is_empty() {
                let listed = shown.iter().take(LISTED_MAX).copied();
                let label = |compared: &ComparedCell| printable(&compared.cell.to_string());
                text.push_str(&text_table(&cells_grid(listed, label, Verdict::other_words)));
            }
            let mut more = Vec::new();
            if let Some(left @ 1..) = shown.len().checked_sub(LISTED_MAX) {
                more.push(format!("{left} more"));
            }
            if small > 0 {
                more.push(format!("{} by less than 0.5 %", counted(small, "cell")));
            }
            if !more.is_empty() {
                text.push_str(&format!("and {}\n", more.join(", ")));
            }
        }
        if !unchanged.is_empty() {
            text.push('\n');
            text.push_str(&wrapped(
                &format!("Nothing changed beyond noise in: {}.", unchanged.join(", ")),
                "",
                "",
            ));
        }
        text
    }

    fn summary(&self) -> String {
        let told = [Verdict::Faster, Verdict::Slower, Verdict::Changed, Verdict::NoChange, Verdict::TooFew]
            .into_iter()
            .filter(|verdict| self.count(*verdict) > 0)
            .map(|verdict| format!("{} {}", self.count(verdict), verdict.words()))
            .collect::<Vec<_>>()
            .join(", ");
        let told = if told.is_empty() { "no cell in common".to_owned() } else { told };
        let mut text = wrapped(&format!("{}: {told}.", counted(self.cells.len(), "common cell")), "", "");
        text.push_str(&wrapped(
            "p: Mann-Whitney U, both sides; adjusted for the number of cells by Benjamini and Hochberg: of the cells that \
             are called faster or slower, at most 5 % are expected not to be. Of what differs besides the program no \
             statistics know.",
            "",
            "",
        ));
        if self.count(Verdict::TooFew) > 0 {
            text.push_str(&wrapped(
                "Undecided: A's and B's values do not overlap, but with so few of them that happens by chance somewhere \
                 among so many cells. More repetitions decide it.",
                "",
                "",
            ));
        }
        text
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The changes that are worth a line, the largest first, and how many are not.
fn changes(cells: &[ComparedCell]) -> (Vec<&ComparedCell>, usize) {
    let (mut shown, small): (Vec<&ComparedCell>, Vec<&ComparedCell>) =
        cells.iter().filter(|cell| cell.verdict.is_change()).partition(|cell| size(cell.ratio) >= SHOWN_MIN);
    shown.sort_by(|a, b| size(b.ratio).total_cmp(&size(a.ratio)));
    (shown, small.len())
}

/// How far a ratio is from 1, either way; what cannot be divided is shown first.
fn size(ratio: Option<Estimate>) -> f64 {
    ratio.map_or(f64::INFINITY, |ratio| ratio.value.ln().abs())
}

fn cells_grid<'a>(
    cells: impl Iterator<Item = &'a ComparedCell>,
    label: impl Fn(&ComparedCell) -> String,
    words: fn(Verdict) -> &'static str,
) -> Grid {
    let row = |compared: &ComparedCell| GridRow {
        label: label(compared),
        mark: None,
        texts: vec![
            value(compared.metric, compared.a),
            value(compared.metric, compared.b),
            ratio_text(compared.ratio.as_ref()),
            compared.ratio.as_ref().map_or_else(String::new, interval),
            format!("{} / {}", compared.runs.0, compared.runs.1),
            p_text(compared.p_value),
            p_text(compared.adjusted_p_value),
            words(compared.verdict).to_owned(),
        ],
    };
    let heads = [
        ("A", Kind::Value),
        ("B", Kind::Value),
        ("B/A", Kind::Ratio),
        ("interval", Kind::Interval),
        ("runs", Kind::Value),
        ("p", Kind::Value),
        ("adjusted p", Kind::Value),
        ("B is", Kind::Value),
    ];
    grid(&heads, cells.map(row).collect())
}

fn groups_grid(groups: &[&ComparedGroup], words: fn(Verdict) -> &'static str) -> Grid {
    let row = |group: &&ComparedGroup| GridRow {
        label: printable(&group.label),
        mark: None,
        texts: vec![
            group.cells.to_string(),
            ratio_text(group.ratio.as_ref()),
            group.ratio.as_ref().map_or_else(String::new, interval),
            p_text(group.p_value),
            p_text(group.adjusted_p_value),
            words(group.verdict).to_owned(),
        ],
    };
    let heads = [
        ("cells", Kind::Value),
        ("B/A", Kind::Ratio),
        ("interval", Kind::Interval),
        ("p", Kind::Value),
        ("adjusted p", Kind::Value),
        ("B is", Kind::Value),
    ];
    grid(&heads, groups.iter().map(row).collect())
}

fn grid(heads: &[(&str, Kind)], rows: Vec<GridRow>) -> Grid {
    let head = |(text, kind): &(&str, Kind)| Head { text: (*text).to_owned(), kind: *kind };
    Grid { caption: String::new(), corner: String::new(), heads: heads.iter().map(head).collect(), rows }
}

/// `wire B/tx; less is better`.
fn metric_text(metric: Metric) -> String {
    format!("{}; {}", metric.heading(), better_in_words(metric))
}

fn ratio_text(ratio: Option<&Estimate>) -> String {
    ratio.map_or_else(|| DASH.to_owned(), |ratio| short(ratio.value))
}

pub(super) fn p_text(p_value: f64) -> String {
    if p_value < 0.000_95 { "<0.001".to_owned() } else { format!("{p_value:.3}") }
}

/// Of a metric; the rest is counted.
const LISTED_MAX: usize = 6;
/// The logarithm of a ratio that a table shows as another one than 1.00.
const SHOWN_MIN: f64 = 0.005;
