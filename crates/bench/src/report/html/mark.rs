//! The marks of charts: what a cell looks like.
//!
//! ```text
//!  colour   compression: none grey, zlib orange, zstd green to purple by level, the latency policy its own
//!  shape    path: ● direct  ■ wirepress  ▲ HAProxy  ◆ MySQL Router  ▼ wirepress beside app  ◣ pair
//!  line     dashed for direct; filled is measured, hollow is published
//! ```
//! Invariants: a cell looks the same in every chart.

use crate::record::{Cell, Compressor, Path, Setting};

/// The class that sets the colour.
pub(super) const fn colour(cell: &Cell) -> &'static str {
    match cell.setting {
        Setting::None => "c-none",
        Setting::Zlib => "c-zlib",
        Setting::Zstd(0..=2) | Setting::Stream(Compressor::Zstd | Compressor::Pzstd) => "c-z1",
        Setting::Zstd(3..=5) => "c-z2",
        Setting::Zstd(6..=9) => "c-z3",
        Setting::Zstd(_) => "c-z4",
        Setting::Latency | Setting::Stream(Compressor::Pack | Compressor::PackAuto) => "c-latency",
        Setting::Stream(Compressor::Pigz) => "c-zlib",
        Setting::Stream(_) => "c-z3",
    }
}

/// The shape at a place, with a title that is shown when it is pointed at; `title` is escaped already, and may be empty.
pub(super) fn mark(cell: &Cell, x: f64, y: f64, class: &str, title: &str) -> String {
    let class = format!("{class} {}", colour(cell));
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<String> =
            points.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
        format!("<polygon class=\"{class}\" points=\"{}\"><title>{title}</title></polygon>", points.join(" "))
    };
    match cell.path {
        Path::Direct => {
            format!(
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{title}</title></circle>"
            )
        }
        Path::Wirepress => polygon(&[(-3.7, -3.7), (3.7, -3.7), (3.7, 3.7), (-3.7, 3.7)]),
        Path::Haproxy => polygon(&[(0.0, -5.0), (4.6, 3.5), (-4.6, 3.5)]),
        Path::Router => polygon(&[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)]),
        Path::WirepressBesideApp => polygon(&[(0.0, 5.0), (4.6, -3.5), (-4.6, -3.5)]),
        Path::WirepressPair => polygon(&[(-4.2, -4.2), (4.2, 4.2), (-4.2, 4.2)]),
    }
}
