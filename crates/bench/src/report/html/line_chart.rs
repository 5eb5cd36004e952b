//! Threads along, the primary metric up, a line per series; both axes logarithmic. With and without TLS are two
//! panels with the same axes.
//!
//! ```text
//!  tx/s │        ■──■── wirepress, zlib         the names stand at the ends of the lines, moved apart
//!       │    ■──●╌╌●╌╌● direct, none            dashed is direct
//!       │  ●╌╌○  ○  ○   direct, none, published hollow is published
//!       └──────────────
//!          1  4  16  64 threads
//! ```
//! Invariants: nothing that is not above 0 is drawn: it has no place on a logarithmic axis.

use std::fmt::Write;

use super::axis::{Axis, tick_label};
use super::bar_chart::bracketed;
use super::escape::Text;
use super::mark::{colour, mark};
use crate::record::{Cell, Metric, Path};
use crate::report::document::{Document, Table};
use crate::report::grid::label;
use crate::report::number::short;
use crate::stats::Estimate;

/// One panel, or two; none where there is nothing to draw. `id` is unique on the page.
pub(super) fn line_chart(document: &Document<'_>, table: &Table, id: &str) -> Option<String> {
    let lines = lines(table, document.primary);
    let points = || lines.iter().flat_map(|line| &line.points);
    let low = points().map(|point| point.estimate.low).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.estimate.high).fold(0.0, f64::max);
    let threads = points().map(|point| f64::from(point.threads));
    let (fewest, most) =
        threads.fold((f64::INFINITY, 0.0), |(low, high), threads| (threads.min(low), threads.max(high)));
    if !low.is_finite() || fewest >= most {
        return None;
    }
    let panels: Vec<bool> =
        [false, true].into_iter().filter(|tls| lines.iter().any(|line| line.cell.tls == *tls)).collect();
    let mut html = "<div class=\"panels\">\n".to_owned();
    for tls in &panels {
        let lines: Vec<&Line> = lines.iter().filter(|line| line.cell.tls == *tls).collect();
        let names = lines.iter().map(|line| line.name().chars().count()).max().unwrap_or(0);
        let names_wide = (crate::stats::f64_of(names) * CHARACTER).clamp(60.0, 240.0);
        let panel = Panel {
            x: Axis::log(fewest, most, LEFT, WIDTH - names_wide - 22.0),
            y: Axis::log(low, high, BOTTOM, TOP),
            right: WIDTH - names_wide - 22.0,
        };
        let heading = match (panels.len(), tls) {
            (1, _) => String::new(),
            (_, true) => ", with TLS".to_owned(),
            (_, false) => ", without TLS".to_owned(),
        };
        let svg = panel.svg(table, &lines, document.primary, &heading, &format!("{id}-{}", u8::from(*tls)));
        html.push_str(&super::scrolled(&svg, &format!("{}{heading}", table.heading())));
    }
    Some(html + "</div>\n" + &key(&lines))
}

/// The lines' names once more, for screens so narrow that the ends of the lines are out of sight.
fn key(lines: &[Line]) -> String {
    let mut html = "<ul class=\"key\" aria-hidden=\"true\">\n".to_owned();
    for line in lines {
        let class = if line.is_published { "hollow" } else { "dot" };
        let tls = if line.cell.tls { ", TLS" } else { "" };
        // A String takes everything.
        writeln!(
            html,
            "<li><svg viewBox=\"0 0 34 12\"><path class=\"line {}\" d=\"M2 6H32\"/>{}</svg> {}{tls}</li>",
            line.class(),
            mark(&line.cell, 17.0, 6.0, class, ""),
            Text(&line.name())
        )
        .ok();
    }
    html + "</ul>\n"
}

/// A series, measured or published.
struct Line {
    /// With one thread.
    cell: Cell,
    is_published: bool,
    points: Vec<Point>,
}

struct Point {
    threads: u32,
    estimate: Estimate,
}

/// Measured lines first, so that they are drawn last and over the others.
fn lines(table: &Table, primary: Metric) -> Vec<Line> {
    let by = primary.heading_divisor();
    let mut lines = Vec::new();
    for is_published in [true, false] {
        for cell in table.series() {
            let points: Vec<Point> = table
                .threads()
                .into_iter()
                .filter_map(|threads| {
                    let row = table.row(&cell, threads)?;
                    let estimate = if is_published {
                        let value = row.published(primary)?;
                        Estimate { value, low: value, high: value, confidence: 0.0 }
                    } else {
                        *row.values.get(&primary)?
                    };
                    let Estimate { value, low, high, confidence } = estimate;
                    let estimate = Estimate { value: value / by, low: low / by, high: high / by, confidence };
                    (low > 0.0).then_some(Point { threads, estimate })
                })
                .collect();
            if !points.is_empty() {
                lines.push(Line { cell, is_published, points });
            }
        }
    }
    lines
}

impl Line {
    /// TLS is said by the panel.
    fn name(&self) -> String {
        let name = label(&Cell { tls: false, ..self.cell.clone() }, false);
        if self.is_published { format!("{name}, published") } else { name }
    }

    fn class(&self) -> String {
        let kind = match (self.is_published, self.cell.path) {
            (true, _) => "published",
            (false, Path::Direct) => "direct",
            (false, _) => "",
        };
        format!("{kind} {}", colour(&self.cell))
    }
}

struct Panel {
    x: Axis,
    y: Axis,
    right: f64,
}

impl Panel {
    fn svg(&self, table: &Table, lines: &[&Line], primary: Metric, heading: &str, id: &str) -> String {
        let mut svg = format!(
            "<svg class=\"half\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\n\
             <title id=\"{id}-t\">{}</title>\n<desc id=\"{id}-d\">{}</desc>\n\
             <text class=\"strong\" x=\"4\" y=\"14\">{}<tspan class=\"quiet\">{heading}</tspan></text>\n",
            Text(&format!("{}: {} by threads{heading}", table.heading(), primary.heading())),
            Text(&description(lines, primary)),
            primary.heading(),
        );
        self.push_grid(&mut svg, table);
        for line in lines {
            self.push_line(&mut svg, line, primary);
        }
        self.push_names(&mut svg, lines);
        svg + "</svg>\n"
    }

    fn push_grid(&self, svg: &mut String, table: &Table) {
        // A String takes everything.
        for tick in self.y.ticks(5.0) {
            let y = self.y.at(tick);
            writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"quiet\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                self.right,
                LEFT - 7.0,
                y + 4.0,
                tick_label(tick)
            )
            .ok();
        }
        writeln!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{BOTTOM}\" x2=\"{:.1}\" y2=\"{BOTTOM}\"/>",
            self.right
        )
        .ok();
        // The largest number is the one that must be there.
        let mut free_to = f64::MAX;
        for threads in table.threads().into_iter().rev() {
            let x = self.x.at(f64::from(threads));
            let text = threads.to_string();
            let half = crate::stats::f64_of(text.len()) * 3.8;
            let low = BOTTOM + 4.0;
            writeln!(svg, "<line class=\"axis\" x1=\"{x:.1}\" y1=\"{BOTTOM}\" x2=\"{x:.1}\" y2=\"{low}\"/>")
                .ok();
            if x + half <= free_to {
                let y = BOTTOM + 18.0;
                writeln!(
                    svg,
                    "<text class=\"quiet\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>"
                )
                .ok();
                free_to = x - half - 5.0;
            }
        }
        let x = f64::midpoint(LEFT, self.right);
        writeln!(
            svg,
            "<text class=\"quiet\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">threads</text>",
            BOTTOM + 36.0
        )
        .ok();
    }

    fn push_line(&self, svg: &mut String, line: &Line, primary: Metric) {
        let place = |point: &Point| (self.x.at(f64::from(point.threads)), self.y.at(point.estimate.value));
        let path: Vec<String> =
            line.points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        writeln!(svg, "<polyline class=\"line {}\" points=\"{}\"/>", line.class(), path.join(" ")).ok();
        for point in &line.points {
            let (x, y) = place(point);
            let Point { threads, estimate } = point;
            let (low, high) = (self.y.at(estimate.low), self.y.at(estimate.high));
            if estimate.has_interval() && low - high > 1.0 {
                let colour = colour(&line.cell);
                writeln!(svg, "<line class=\"range {colour}\" x1=\"{x:.1}\" y1=\"{low:.1}\" x2=\"{x:.1}\" y2=\"{high:.1}\"/>").ok();
            }
            let (name, value) = (line.name(), short(estimate.value));
            let title =
                format!("{name}, {threads} threads: {value} {} {}", primary.heading(), bracketed(estimate));
            let class = if line.is_published { "hollow" } else { "dot" };
            writeln!(svg, "{}", mark(&line.cell, x, y, class, &Text(&title).to_string())).ok();
        }
    }

    /// The names at the ends of the lines, in the order of the ends, none over another.
    fn push_names(&self, svg: &mut String, lines: &[&Line]) {
        let mut ends: Vec<(&Line, f64, f64)> = lines
            .iter()
            .filter_map(|line| {
                let point = line.points.last()?;
                Some((*line, self.x.at(f64::from(point.threads)), self.y.at(point.estimate.value)))
            })
            .collect();
        ends.sort_by(|a, b| a.2.total_cmp(&b.2));
        let places = apart(&ends.iter().map(|end| end.2).collect::<Vec<_>>());
        for ((line, x, y), place) in ends.iter().zip(places) {
            let text_x = self.right + 20.0;
            writeln!(
                svg,
                "<path class=\"leader\" d=\"M{:.1} {y:.1}L{:.1} {place:.1}H{:.1}\"/>\
                 <text class=\"end {}\" x=\"{text_x:.1}\" y=\"{:.1}\">{}</text>",
                x + 6.0,
                self.right + 10.0,
                text_x - 3.0,
                line.class(),
                place + 4.0,
                Text(&line.name())
            )
            .ok();
        }
    }
}

/// Places in the same order, at least [`NAME_HEIGHT`] from each other, as near as may be to the wished ones.
fn apart(wished: &[f64]) -> Vec<f64> {
    let mut places = wished.to_vec();
    // What overlaps pushes both ways, by halves, until nothing moves to speak of.
    for _ in 0..200 {
        let mut moved = false;
        for index in 1..places.len() {
            let (Some(upper), Some(lower)) = (places.get(index - 1).copied(), places.get(index).copied())
            else {
                continue;
            };
            let missing = NAME_HEIGHT - (lower - upper);
            if missing > 0.01 {
                if let Some(place) = places.get_mut(index - 1) {
                    *place -= missing / 2.0;
                }
                if let Some(place) = places.get_mut(index) {
                    *place += missing / 2.0;
                }
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    // None below the axis.
    let mut free_to = BOTTOM;
    for place in places.iter_mut().rev() {
        *place = place.min(free_to);
        free_to = *place - NAME_HEIGHT;
    }
    places
}

fn description(lines: &[&Line], primary: Metric) -> String {
    let told = lines.iter().filter_map(|line| {
        let (first, last) = (line.points.first()?, line.points.last()?);
        Some(format!(
            "{}: {} {} at {} threads, {} at {}",
            line.name(),
            short(first.estimate.value),
            primary.heading(),
            first.threads,
            short(last.estimate.value),
            last.threads
        ))
    });
    format!("{}.", told.collect::<Vec<_>>().join("; "))
}

const WIDTH: f64 = 570.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 352.0;
/// Of bold text of size 12 in a wide font.
const CHARACTER: f64 = 7.3;
const NAME_HEIGHT: f64 = 15.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_moved_apart_and_keep_their_order() {
        let places = apart(&[100.0, 101.0, 102.0, 300.0, 352.0, 352.0]);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] > NAME_HEIGHT - 0.05), "{places:?}");
        assert!(places.iter().all(|place| *place <= BOTTOM), "{places:?}");
        assert!((places[1] - 101.0).abs() < 1.0 && (places[3] - 300.0).abs() < 1.0, "{places:?}");
    }
}
