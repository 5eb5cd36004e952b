//! Ratio against CPU per GB: what each candidate gains and what that costs.
//!
//! Invariants: only candidates whose CPU is known are drawn; the table has all of them. No name lies on another, or on a point.

use std::fmt::Write;

use super::Advice;
use crate::advise::candidate::{COMPRESSIONS, Candidate, Packer};
use crate::report::html::axis::{Axis, tick_label};
use crate::report::number::short;

/// The drawing; nothing where no CPU is known.
pub(super) fn svg(advice: &Advice<'_>) -> Option<String> {
    let points: Vec<(Candidate, f64, f64)> = advice
        .findings
        .judged
        .iter()
        .filter_map(|one| Some((one.candidate, one.cpu_s_per_gb?, one.ratio)))
        .collect();
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (cpu_low, cpu_high) = range(&mut points.iter().map(|(_, cpu, _)| *cpu));
    let (_, ratio_high) = range(&mut points.iter().map(|(_, _, ratio)| *ratio));
    if points.is_empty() {
        return None;
    }
    let across = Axis::log(cpu_low, cpu_high, LEFT, RIGHT);
    let up = Axis::linear(ratio_high * 1.1, BOTTOM, TOP);
    let mut svg = String::from(
        "<svg class=\"wide\" viewBox=\"0 0 900 340\" role=\"img\" aria-label=\"Ratio against CPU seconds per GB\">\n",
    );
    axes(&mut svg, &across, &up);
    let places: Vec<(f64, f64)> =
        points.iter().map(|(_, cpu, ratio)| (across.at(*cpu), up.at(*ratio))).collect();
    let names = places_of_names(&places);
    for (((candidate, cpu, ratio), (x, y)), name) in points.iter().zip(&places).zip(names) {
        let colour = COMPRESSIONS.iter().zip(COLOURS).find(|(one, _)| **one == candidate.compression);
        let class = colour.map_or("c-none", |(_, class)| class);
        let shape = match candidate.packer {
            Packer::Server => "ring",
            Packer::Wirepress => "dot",
        };
        if name.y != *y {
            writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
                name.x, name.y
            )
            .ok();
        }
        let anchor = if name.x < *x { "end" } else { "start" };
        writeln!(
            svg,
            "<circle class=\"{shape} {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"><title>{candidate}: ratio {}, {} CPU s per \
             GB</title></circle><text class=\"figure\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{candidate}</text>",
            short(*ratio),
            short(*cpu),
            name.x,
            name.y + 4.0
        )
        .ok();
    }
    svg.push_str("</svg>");
    Some(svg)
}

/// Their lines, figures and names.
fn axes(svg: &mut String, across: &Axis, up: &Axis) {
    for tick in up.ticks(5.0) {
        let y = up.at(tick);
        // A String takes everything.
        writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"quiet\" \
             x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            tick_label(tick)
        )
        .ok();
    }
    for tick in across.ticks(5.0) {
        let x = across.at(tick);
        writeln!(
            svg,
            "<text class=\"quiet\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 18.0,
            tick_label(tick)
        )
        .ok();
    }
    writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">CPU seconds per GB, packing and unpacking</text>\
         <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">ratio</text>",
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 40.0,
        (TOP + BOTTOM) / 2.0
    )
    .ok();
}

/// Where a name begins, or, to the left of its point, ends.
#[derive(Debug, Clone, Copy)]
struct Name {
    x: f64,
    y: f64,
}

/// Beside each point, on either side, as near to its height as there is room.
fn places_of_names(points: &[(f64, f64)]) -> Vec<Name> {
    let mut taken: Vec<[f64; 4]> =
        points.iter().map(|(x, y)| [x - POINT, y - POINT, x + POINT, y + POINT]).collect();
    let place = |(x, y): &(f64, f64)| {
        let free = |name: &Name| {
            let [from, to] =
                if name.x < *x { [name.x - NAME_WIDTH, name.x] } else { [name.x, name.x + NAME_WIDTH] };
            let area = [from, name.y - NAME_HEIGHT / 2.0, to, name.y + NAME_HEIGHT / 2.0];
            let is_inside =
                from >= LEFT && to <= RIGHT + MARGIN && area[1] >= TOP - NAME_HEIGHT && area[3] <= BOTTOM;
            let is_free = taken
                .iter()
                .all(|[a, b, c, d]| area[2] <= *a || *c <= area[0] || area[3] <= *b || *d <= area[1]);
            (is_inside && is_free).then_some(area)
        };
        let lines = (0..=LINES_MAX).flat_map(|line| {
            let down = f64::from(line) * NAME_HEIGHT;
            [(down, 9.0), (down, -9.0), (-down, 9.0), (-down, -9.0)]
        });
        let names = lines.map(|(down, aside)| Name { x: x + aside, y: y + down });
        let (name, area) = names
            .filter_map(|name| free(&name).map(|area| (name, area)))
            .next()
            .unwrap_or((Name { x: x + 9.0, y: *y }, [0.0; 4]));
        taken.push(area);
        name
    };
    points.iter().map(place).collect()
}

/// By the order of the compressions.
const COLOURS: [&str; 5] = ["c-zlib", "c-z1", "c-z2", "c-z3", "c-z4"];
/// Of the longest, `wirepress zstd 10`.
const NAME_WIDTH: f64 = 125.0;
const NAME_HEIGHT: f64 = 15.0;
/// Half of a point and a little.
const POINT: f64 = 7.0;
/// How many lines away a name may be.
const LINES_MAX: u8 = 12;
/// Of the drawing beside the axes' right end.
const MARGIN: f64 = 18.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 880.0;
const TOP: f64 = 15.0;
const BOTTOM: f64 = 290.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_lies_on_another() {
        // Ten candidates of about the same ratio, some at the same CPU.
        let points: Vec<(f64, f64)> =
            [70.0, 140.0, 145.0, 300.0, 310.0, 700.0, 710.0, 715.0, 870.0, 880.0].map(|x| (x, 40.0)).into();
        let names = places_of_names(&points);
        let side = |(name, (x, _)): (&Name, &(f64, f64))| {
            let from = if name.x < *x { name.x - NAME_WIDTH } else { name.x };
            [from, name.y]
        };
        let areas: Vec<[f64; 2]> = names.iter().zip(&points).map(side).collect();
        for (number, [x, y]) in areas.iter().enumerate() {
            for [other_x, other_y] in areas.iter().skip(number + 1) {
                let is_apart = (x - other_x).abs() >= NAME_WIDTH || (y - other_y).abs() >= NAME_HEIGHT;
                assert!(is_apart, "{areas:?}");
            }
        }
    }
}
