//! The heat map: rate × round trip, coloured by the time in terms of none's, with the break-even line.
//!
//! Invariants: each field says its number when it is pointed at, and a table beside it has some of them; green is less
//! time, orange is more, paper is the same.

use std::fmt::Write;

use super::{Advice, milliseconds, rate_text};
use crate::advise::forecast::{Border, LinkShape, change};
use crate::advise::link::mbit_per_s;
use crate::report::html::axis::{Axis, tick_label};
use crate::report::html::heat_map::colour;

/// The drawing.
pub(super) fn svg(advice: &Advice<'_>) -> String {
    let across = Axis::log(RATE_LOW, RATE_HIGH, LEFT, RIGHT);
    let down = Axis::log(ROUND_TRIP_LOW, ROUND_TRIP_HIGH, BOTTOM, TOP);
    let (width, height) = ((RIGHT - LEFT) / f64::from(COLUMNS), (BOTTOM - TOP) / f64::from(ROWS));
    let mut svg = format!(
        "<svg class=\"wide\" viewBox=\"0 0 900 420\" role=\"img\" aria-label=\"Time of {} in terms of none, by rate and \
         round trip\">\n",
        advice.subject.candidate
    );
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let (x, y) = (LEFT + width * f64::from(column), TOP + height * f64::from(row));
            let rate = value_at(&across, x + width / 2.0, RATE_LOW, RATE_HIGH);
            let round_trip_s = value_at(&down, y + height / 2.0, ROUND_TRIP_LOW, ROUND_TRIP_HIGH);
            let time = time_at(advice, rate, round_trip_s);
            // A String takes everything.
            writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" style=\"fill:{}\"><title>{}, {}: {time:.2} \
                 × none</title></rect>",
                width + 0.3,
                height + 0.3,
                colour(time),
                rate_text(rate),
                milliseconds(round_trip_s),
            )
            .ok();
        }
    }
    push_axes(&mut svg, &across, &down);
    push_border(&mut svg, advice, &across, &down);
    let link = &advice.findings.link.shape;
    let rate = link.rate_bytes_per_s.clamp(RATE_LOW, RATE_HIGH);
    let round_trip_s = link.round_trip_s.clamp(ROUND_TRIP_LOW, ROUND_TRIP_HIGH);
    let (x, y) = (across.at(rate), down.at(round_trip_s));
    let (anchor, text_x) = if x > RIGHT - 100.0 { ("end", x - 9.0) } else { ("start", x + 9.0) };
    writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" style=\"fill:var(--ink);stroke:var(--paper);stroke-width:2\"/>\
         <text class=\"figure strong\" x=\"{text_x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">this link</text>",
        y + 4.0
    )
    .ok();
    svg + "</svg>\n"
}

fn push_axes(svg: &mut String, across: &Axis, down: &Axis) {
    for mbit in [1.0, 10.0, 100.0, 1_000.0, 10_000.0] {
        let x = across.at(mbit * 125_000.0);
        let label = tick_label(mbit);
        writeln!(
            svg,
            "<text class=\"quiet\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            BOTTOM + 18.0
        )
        .ok();
    }
    for ms in [0.1, 1.0, 10.0, 100.0] {
        let (x, y) = (LEFT - 8.0, down.at(ms / 1e3) + 4.0);
        writeln!(
            svg,
            "<text class=\"quiet\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
            tick_label(ms)
        )
        .ok();
    }
    writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">rate, Mbit/s</text>\
         <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">round trip, ms</text>",
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 40.0,
        (TOP + BOTTOM) / 2.0
    )
    .ok();
}

/// The line where the time is that of none.
fn push_border(svg: &mut String, advice: &Advice<'_>, across: &Axis, down: &Axis) {
    let round_trips: Vec<f64> = (0..=LINE_STEPS)
        .map(|step| {
            ROUND_TRIP_LOW * (ROUND_TRIP_HIGH / ROUND_TRIP_LOW).powf(f64::from(step) / f64::from(LINE_STEPS))
        })
        .collect();
    let points: Vec<String> = advice
        .borders(&round_trips)
        .into_iter()
        .filter_map(|(round_trip_s, border)| match border {
            Border::Below(rate) if (RATE_LOW..=RATE_HIGH).contains(&rate) => {
                Some(format!("{:.1},{:.1}", across.at(rate), down.at(round_trip_s)))
            }
            _ => None,
        })
        .collect();
    if points.len() > 1 {
        writeln!(
            svg,
            "<polyline points=\"{}\" style=\"fill:none;stroke:var(--ink);stroke-width:2.5;stroke-dasharray:7 4\"><title>\
             break-even</title></polyline>",
            points.join(" ")
        )
        .ok();
    }
}

/// The map as rows of a table: rate, and the times at some round trips.
pub(super) fn table(advice: &Advice<'_>) -> String {
    let mut html = String::from(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Time in terms of none\"><table>\
         <caption>Time in terms of none, by rate and round trip</caption>\n<thead><tr><th scope=\"col\">Mbit/s</th>",
    );
    for round_trip_s in super::ROUND_TRIPS_S {
        write!(html, "<th scope=\"col\">{}</th>", milliseconds(round_trip_s)).ok();
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for mbit in [1.0, 5.0, 10.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 10_000.0] {
        write!(html, "<tr><th scope=\"row\">{}</th>", tick_label(mbit)).ok();
        for round_trip_s in super::ROUND_TRIPS_S {
            write!(html, "<td>{:.2}</td>", time_at(advice, mbit * 125_000.0, round_trip_s)).ok();
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div>\n"
}

fn time_at(advice: &Advice<'_>, rate_bytes_per_s: f64, round_trip_s: f64) -> f64 {
    let link = LinkShape { rate_bytes_per_s, round_trip_s };
    change(&advice.subject.way, &advice.findings.none_way, &link).value
}

/// The axis turned round, by halving.
fn value_at(axis: &Axis, place: f64, low: f64, high: f64) -> f64 {
    let (mut low, mut high) = (low / 2.0, high * 2.0);
    let grows = axis.at(high) > axis.at(low);
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if (axis.at(middle) < place) == grows {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// What this file says about its own axis, for readers of tables.
pub(super) fn caption(advice: &Advice<'_>) -> String {
    format!(
        "Green: {} takes less time than none; orange: more; the dashed line is where both take the same ({} at this \
         link's round trip).",
        advice.subject.candidate,
        match advice.subject.border {
            Border::Below(rate) => format!("{} Mbit/s", crate::report::number::short(mbit_per_s(rate))),
            Border::Always => "nowhere: it always takes less".to_owned(),
            Border::Never => "nowhere: it always takes more".to_owned(),
        }
    )
}

const COLUMNS: u32 = 48;
const ROWS: u32 = 20;
const LINE_STEPS: u32 = 60;
/// 1 Mbit/s, bytes per second.
const RATE_LOW: f64 = 125e3;
/// 10 Gbit/s, bytes per second.
const RATE_HIGH: f64 = 1.25e9;
const ROUND_TRIP_LOW: f64 = 0.1e-3;
const ROUND_TRIP_HIGH: f64 = 0.1;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 880.0;
const TOP: f64 = 15.0;
const BOTTOM: f64 = 365.0;
