//! Heat maps: per workload its settings by its links, coloured by the time in terms of none's; and what they have in common
//! with the advice's.
//!
//! ```text
//!                       unlimited   1gbit   100mbit
//!  wirepress, zlib         3.10      1.02     0.41       green is less time, orange is more, paper is the same
//!  wirepress, latency      1.00      0.98     0.40
//! ```
//! Invariants: every field says its number, and a table beside has all of them; what was not measured has no colour.
//!
//! Not here: the advice's map, which is drawn from a forecast (`advise::report`).

use std::fmt::Write;

use super::escape::Text;
use super::table::table;
use crate::record::{Better, Cell, Setting};
use crate::report::document::{Document, Row};
use crate::report::grid::{Grid, GridRow, Head, Kind, label};
use crate::report::number::{DASH, interval, printable, short};
use crate::stats::{Estimate, f64_of};

/// One map per workload; nothing where the plan wants none, or there is only one link.
pub(super) fn section(document: &Document<'_>) -> String {
    if !document.has_heat_maps {
        return String::new();
    }
    let mut workloads: Vec<&str> = document.tables.iter().map(|table| table.workload.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let maps: Vec<String> =
        workloads.into_iter().filter_map(|workload| Some(HeatMap::of(document, workload)?.html())).collect();
    if maps.is_empty() {
        return String::new();
    }
    format!(
        "<section>\n<h2>Where it pays</h2>\n<p>Time in terms of none's on the same path over the same link: green is less, \
         orange is more, paper is the same. A field without a number was not measured.</p>\n{}</section>\n",
        maps.concat()
    )
}

/// Twice as fast is as green as half as fast is orange; beyond four times nothing gets deeper.
pub(crate) fn colour(time: f64) -> String {
    let depth = (time.max(1e-6).log2().abs() / 2.0).min(1.0) * 85.0;
    let hue = if time < 1.0 { "--good" } else { "--bad" };
    format!("color-mix(in srgb,var({hue}) {depth:.0}%,var(--paper))")
}

/// Of one workload.
struct HeatMap<'a> {
    workload: &'a str,
    /// Fastest first.
    links: Vec<&'a str>,
    lines: Vec<Line>,
}

/// A setting over all links.
struct Line {
    name: String,
    times: Vec<Option<Estimate>>,
}

impl<'a> HeatMap<'a> {
    fn of(document: &'a Document<'_>, workload: &'a str) -> Option<Self> {
        let tables: Vec<_> = document.tables.iter().filter(|table| table.workload == workload).collect();
        let links: Vec<&str> = tables.iter().map(|table| table.link.as_str()).collect();
        let rows = || tables.iter().flat_map(|table| &table.rows);
        let has_threads = rows().any(|row| rows().any(|other| other.cell.threads != row.cell.threads));
        // The cells that some link has, in the order of tables.
        let mut cells: Vec<Cell> = Vec::new();
        for row in rows().filter(|row| row.cell.setting != Setting::None && row.to_none.is_some()) {
            let cell = Cell { link: String::new(), ..row.cell.clone() };
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        cells.sort_by(crate::results::display_order);
        let time = |row: &Row| row.to_none.as_ref().map(|ratio| time(ratio, document.primary.better()));
        let lines: Vec<Line> = cells
            .iter()
            .map(|cell| {
                let times = tables.iter().map(|table| {
                    let of_link = |row: &&Row| Cell { link: String::new(), ..row.cell.clone() } == *cell;
                    table.rows.iter().find(of_link).and_then(time)
                });
                Line { name: label(cell, has_threads), times: times.collect() }
            })
            .collect();
        (links.len() > 1 && !lines.is_empty()).then_some(Self { workload, links, lines })
    }

    fn html(&self) -> String {
        let name = Text(self.workload);
        format!(
            "<figure>\n<figcaption><b>{name}</b></figcaption>\n{}</figure>\n<details>\n<summary>As a table</summary>\n{}\
             </details>\n",
            super::scrolled(&self.svg(), &format!("{}, time in terms of none", self.workload)),
            table(&self.grid(), &[])
        )
    }

    fn svg(&self) -> String {
        let names = self.lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
        let left = f64_of(names).mul_add(CHARACTER, 12.0);
        let width = (WIDTH - left) / f64_of(self.links.len());
        let mut svg = format!(
            "<svg class=\"wide\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}: time in terms of none, by \
             setting and link\">\n",
            f64_of(self.lines.len()).mul_add(HEIGHT, TOP + 2.0),
            Text(self.workload)
        );
        // A String takes everything.
        for (column, link) in self.links.iter().enumerate() {
            let x = f64_of(column).mul_add(width, left) + width / 2.0;
            let link = printable(link);
            writeln!(
                svg,
                "<text class=\"strong\" x=\"{x:.1}\" y=\"16\" text-anchor=\"middle\">{}</text>",
                Text(&link)
            )
            .ok();
        }
        for (index, line) in self.lines.iter().enumerate() {
            let y = f64_of(index).mul_add(HEIGHT, TOP);
            let text_y = y + HEIGHT / 2.0 + 4.0;
            writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{text_y:.1}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                Text(&line.name)
            )
            .ok();
            for (column, time) in line.times.iter().enumerate() {
                let Some(time) = time else { continue };
                let x = f64_of(column).mul_add(width, left);
                writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" style=\"fill:{}\"/>\
                     <text class=\"figure\" x=\"{:.1}\" y=\"{text_y:.1}\" text-anchor=\"middle\">{}</text>",
                    width - 2.0,
                    HEIGHT - 2.0,
                    colour(time.value),
                    x + width / 2.0,
                    short(time.value)
                )
                .ok();
            }
        }
        svg + "</svg>\n"
    }

    fn grid(&self) -> Grid {
        let heads = self
            .links
            .iter()
            .flat_map(|link| [(printable(link), Kind::Ratio), ("interval".to_owned(), Kind::Interval)]);
        let row = |line: &Line| GridRow {
            label: line.name.clone(),
            mark: None,
            texts: line
                .times
                .iter()
                .flat_map(|time| {
                    let value = time.as_ref().map_or_else(|| DASH.to_owned(), |time| short(time.value));
                    [value, time.as_ref().map_or_else(String::new, interval)]
                })
                .collect(),
        };
        Grid {
            caption: format!("{}: time in terms of none's, and its interval", printable(self.workload)),
            corner: String::new(),
            heads: heads.map(|(text, kind)| Head { text, kind }).collect(),
            rows: self.lines.iter().map(row).collect(),
        }
    }
}

/// A ratio of times; that of rates is upside down.
fn time(ratio: &Estimate, better: Better) -> Estimate {
    match better {
        Better::More => Estimate {
            value: 1.0 / ratio.value.max(1e-9),
            low: 1.0 / ratio.high.max(1e-9),
            high: 1.0 / ratio.low.max(1e-9),
            confidence: ratio.confidence,
        },
        Better::Less | Better::Neither => *ratio,
    }
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 26.0;
const TOP: f64 = 24.0;
/// Of the names' size, on average.
const CHARACTER: f64 = 6.6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use crate::record::{Metric, Path};
    use crate::results::fixture;

    #[test]
    fn every_workload_of_never_slower_has_a_map_of_settings_by_links() {
        let cell = |link: &str, setting| Cell {
            link: link.to_owned(),
            workload: "scan of digits".to_owned(),
            threads: 1,
            path: Path::Wirepress,
            tls: false,
            setting,
        };
        let values = [
            (cell("unlimited", Setting::None), 10.0),
            (cell("unlimited", Setting::Zstd(1)), 5.0),
            (cell("100mbit", Setting::None), 1.0),
            (cell("100mbit", Setting::Zstd(1)), 4.0),
            (cell("100mbit", Setting::Zlib), 2.0),
        ];
        let values = values.into_iter().map(|(cell, value)| (cell, Metric::TransactionsPerS, value));
        let records = fixture::records_of(values);
        let document = Document::of(&records, plan::named("never-slower"));
        let html = section(&document);
        assert_eq!(html.matches("<figure>").count(), 1, "{html}");
        // Two transactions for one are half the time; zlib has no field over the unlimited link.
        for (time, count) in [(">2.00<", 2), (">0.25<", 2), (">0.50<", 2)] {
            assert_eq!(html.matches(time).count(), count, "{time} {html}");
        }
        assert_eq!((html.matches("<rect").count(), html.matches(DASH).count()), (3, 1), "{html}");
        assert!(section(&Document::of(&records, plan::named("rds-scan"))).is_empty());
    }

    #[test]
    fn twice_as_fast_is_as_deep_as_half_as_fast() {
        assert_eq!(colour(0.5), "color-mix(in srgb,var(--good) 42%,var(--paper))");
        assert_eq!(colour(2.0), "color-mix(in srgb,var(--bad) 42%,var(--paper))");
        assert_eq!(colour(1.0), "color-mix(in srgb,var(--bad) 0%,var(--paper))");
    }
}
