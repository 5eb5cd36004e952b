//! A cell a row: bars of the primary metric, and beside them how it compares with the same path uncompressed.
//!
//! ```text
//!                seconds                           × none   faster ◀ 1 ▶ slower
//!  direct, none  ▇▇▇▇├┤ 0.19                                        │
//!  direct, zlib  ▇▇▇▇▇▇▇▇▇▇▇├┤ 0.62                                 │      ├●┤   ◇ published
//! ```
//! Published figures stand on the right side only: a machine's seconds say nothing beside another's, ratios do.
//!
//! Invariants: bars begin at 0; ratios are on a logarithmic axis, so that twice and half are equally far from 1.

use std::fmt::Write;

use super::axis::{Axis, tick_label};
use super::escape::Text;
use super::mark::{colour, mark};
use crate::record::Better;
use crate::report::document::{Document, Row, Table};
use crate::report::grid::label;
use crate::report::number::{interval, short};
use crate::stats::{Estimate, f64_of};

/// The chart; none where there is nothing to draw. `id` is unique on the page.
pub(super) fn bar_chart(document: &Document<'_>, table: &Table, id: &str) -> Option<String> {
    let primary = document.primary;
    let rows: Vec<(&Row, Estimate)> = table
        .rows
        .iter()
        .filter_map(|row| {
            let Estimate { value, low, high, confidence } = *row.values.get(&primary)?;
            let by = primary.heading_divisor();
            Some((row, Estimate { value: value / by, low: low / by, high: high / by, confidence }))
        })
        .collect();
    let most = rows.iter().map(|(_, estimate)| estimate.high).fold(0.0, f64::max);
    if rows.is_empty() || most <= 0.0 {
        return None;
    }
    let places = places(&rows);
    let bottom = places.last().copied().unwrap_or(TOP) + ROW / 2.0 + 4.0;
    let names = rows.iter().map(|(row, _)| label(&row.cell, false).chars().count()).max().unwrap_or(0);
    let bars_from = f64_of(names).mul_add(CHARACTER, 16.0).clamp(90.0, 270.0);
    let bars = Axis::linear(most, bars_from, BARS_TO);
    let mut svg = format!(
        "<svg class=\"wide\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\n\
         <title id=\"{id}-t\">{}</title>\n<desc id=\"{id}-d\">{}</desc>\n",
        bottom + 24.0,
        Text(&format!("{}: {} by setting", table.heading(), primary.heading())),
        Text(&description(&rows, primary.heading())),
    );
    // A String takes everything.
    write!(
        svg,
        "<text class=\"strong\" x=\"{bars_from:.1}\" y=\"14\">{}</text>\n\
         <text class=\"quiet\" x=\"{bars_from:.1}\" y=\"30\">{}, with its interval</text>\n",
        primary.heading(),
        if rows.iter().all(|(_, estimate)| !estimate.has_interval()) { "one repetition" } else { "median" }
    )
    .ok();
    push_grid(&mut svg, &bars, bottom, 5.0);
    // The eye finds the way from a name to its marks.
    for y in &places {
        writeln!(
            svg,
            "<line class=\"grid\" x1=\"{bars_from:.1}\" y1=\"{y:.1}\" x2=\"{WIDTH}\" y2=\"{y:.1}\"/>"
        )
        .ok();
    }
    for ((row, estimate), y) in rows.iter().zip(&places) {
        push_bar(&mut svg, row, estimate, &bars, *y, primary.heading());
    }
    push_ratios(&mut svg, document, &rows, &places, bottom);
    svg.push_str("</svg>\n");
    Some(svg)
}

/// Each row's middle; a gap where path or TLS change.
fn places(rows: &[(&Row, Estimate)]) -> Vec<f64> {
    let mut places = Vec::with_capacity(rows.len());
    let mut y = TOP + ROW / 2.0;
    let mut last: Option<&Row> = None;
    for (row, _) in rows {
        if last.is_some_and(|last| (last.cell.path, last.cell.tls) != (row.cell.path, row.cell.tls)) {
            y += GAP;
        }
        places.push(y);
        y += ROW;
        last = Some(row);
    }
    places
}

fn push_grid(svg: &mut String, axis: &Axis, bottom: f64, wished: f64) {
    let mut free_from = f64::MIN;
    for tick in axis.ticks(wished) {
        let (x, label) = (axis.at(tick), tick_label(tick));
        writeln!(svg, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>")
            .ok();
        if x >= free_from {
            let y = bottom + 16.0;
            writeln!(
                svg,
                "<text class=\"quiet\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{label}</text>"
            )
            .ok();
            free_from = x + 34.0;
        }
    }
}

fn push_bar(svg: &mut String, row: &Row, estimate: &Estimate, axis: &Axis, y: f64, heading: &str) {
    let (name, from, to) = (label(&row.cell, false), axis.at(0.0), axis.at(estimate.value));
    let title = format!("{name}: {} {heading} {}", short(estimate.value), bracketed(estimate));
    writeln!(
        svg,
        "<text x=\"0\" y=\"{:.1}\">{}</text>\n\
         <rect class=\"bar {}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\"><title>{}</title></rect>",
        y + 4.0,
        Text(&name),
        colour(&row.cell),
        y - BAR / 2.0,
        (to - from).max(1.0),
        Text(&title)
    )
    .ok();
    if estimate.has_interval() {
        svg.push_str(&whisker(axis.at(estimate.low), axis.at(estimate.high), y));
    }
    let x = axis.at(estimate.high.max(estimate.value)) + 7.0;
    writeln!(
        svg,
        "<text class=\"figure\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
        y + 4.0,
        short(estimate.value)
    )
    .ok();
}

fn push_ratios(
    svg: &mut String,
    document: &Document<'_>,
    rows: &[(&Row, Estimate)],
    places: &[f64],
    bottom: f64,
) {
    let ratios = rows.iter().filter_map(|(row, _)| row.to_none);
    let published = rows.iter().filter_map(|(row, _)| row.published_to_none);
    let shown: Vec<f64> = ratios
        .flat_map(|ratio| [ratio.low, ratio.high])
        .chain(published)
        .filter(|ratio| *ratio > 0.0)
        .collect();
    if shown.is_empty() {
        return;
    }
    let low = shown.iter().copied().fold(0.8, f64::min);
    let high = shown.iter().copied().fold(1.25, f64::max);
    let axis = Axis::log(low, high, RATIOS_FROM, RATIOS_TO);
    let has_published = rows.iter().any(|(row, _)| row.published_to_none.is_some());
    let (less, more) = match document.primary.better() {
        Better::Less => ("faster", "slower"),
        _ => ("less", "more"),
    };
    push_grid(svg, &axis, bottom, 5.0);
    let one = axis.at(1.0);
    writeln!(
        svg,
        "<text class=\"strong\" x=\"{RATIOS_FROM}\" y=\"14\">× none</text>\n\
         <text class=\"quiet\" x=\"{RATIOS_FROM}\" y=\"30\">{less} ◂ 1 ▸ {more}, log scale{}</text>\n\
         <line class=\"one\" x1=\"{one:.1}\" y1=\"{TOP}\" x2=\"{one:.1}\" y2=\"{bottom:.1}\"/>",
        if has_published { "; hollow: published" } else { "" },
    )
    .ok();
    for ((row, _), y) in rows.iter().zip(places) {
        let name = label(&row.cell, false);
        if let Some(figure) =
            row.published_to_none.filter(|_| row.cell.setting != crate::record::Setting::None)
        {
            let title = format!("{name}, published: {} × none", short(figure));
            writeln!(svg, "{}", mark(&row.cell, axis.at(figure), *y, "hollow", &Text(&title).to_string()))
                .ok();
        }
        if let Some(ratio) = row.to_none {
            if ratio.has_interval() {
                svg.push_str(&whisker(axis.at(ratio.low), axis.at(ratio.high), *y));
            }
            let title = format!("{name}: {} × none {}", short(ratio.value), bracketed(&ratio));
            writeln!(svg, "{}", mark(&row.cell, axis.at(ratio.value), *y, "dot", &Text(&title).to_string()))
                .ok();
        }
    }
}

fn whisker(low: f64, high: f64, y: f64) -> String {
    let (top, bottom) = (y - 3.5, y + 3.5);
    format!(
        "<path class=\"whisker\" d=\"M{low:.1} {top:.1}V{bottom:.1}M{low:.1} {y:.1}H{high:.1}M{high:.1} {top:.1}V{bottom:.1}\"/>\n"
    )
}

/// `(0.61–0.64)`, or nothing.
pub(super) fn bracketed(estimate: &Estimate) -> String {
    match interval(estimate).as_str() {
        "" => String::new(),
        text => format!("({text})"),
    }
}

/// For who hears the chart.
fn description(rows: &[(&Row, Estimate)], heading: &str) -> String {
    let told: Vec<String> = rows
        .iter()
        .map(|(row, estimate)| format!("{}: {} {heading}", label(&row.cell, false), short(estimate.value)))
        .collect();
    format!("{}.", told.join("; "))
}

const WIDTH: f64 = 1000.0;
const TOP: f64 = 40.0;
const ROW: f64 = 24.0;
const GAP: f64 = 10.0;
const BAR: f64 = 12.0;
/// Of text of size 12 in a wide font.
const CHARACTER: f64 = 7.1;
/// 60 are left for the number behind a bar.
const BARS_TO: f64 = 530.0;
const RATIOS_FROM: f64 = 630.0;
const RATIOS_TO: f64 = 985.0;
