//! Ratio against CPU per GB: what each candidate gains and what that costs.
//!
//! Invariants: only candidates whose CPU is known are drawn; the table has all of them.

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
    for (candidate, cpu, ratio) in &points {
        let (x, y) = (across.at(*cpu), up.at(*ratio));
        let colour = COMPRESSIONS.iter().zip(COLOURS).find(|(one, _)| **one == candidate.compression);
        let class = colour.map_or("c-none", |(_, class)| class);
        // The two points of a setting may lie on each other: their names go to either side.
        let (shape, is_left) = match candidate.packer {
            Packer::Server => ("ring", x > LEFT + NAME_WIDTH),
            Packer::Wirepress => ("dot", x > RIGHT - NAME_WIDTH),
        };
        let (anchor, text_x) = if is_left { ("end", x - 9.0) } else { ("start", x + 9.0) };
        writeln!(
            svg,
            "<circle class=\"{shape} {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"><title>{candidate}: ratio {}, {} CPU s per \
             GB</title></circle><text class=\"figure\" x=\"{text_x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{candidate}</text>",
            short(*ratio),
            short(*cpu),
            y + 4.0
        )
        .ok();
    }
    writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">CPU seconds per GB, packing and unpacking</text>\
         <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">ratio</text></svg>",
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 40.0,
        (TOP + BOTTOM) / 2.0
    )
    .ok();
    Some(svg)
}

/// By the order of the compressions.
const COLOURS: [&str; 5] = ["c-zlib", "c-z1", "c-z2", "c-z3", "c-z4"];
/// Of the longest, `wirepress zstd 10`.
const NAME_WIDTH: f64 = 150.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 880.0;
const TOP: f64 = 15.0;
const BOTTOM: f64 = 290.0;
