//! The order of cells in tables.
//!
//! ```text
//!  unlimited, then slower and slower links; a link without a round trip before one with
//!    workload, by name
//!      threads, fewer first
//!        direct, other proxies, wirepress
//!          without TLS, with
//!            none, zlib, zstd by level
//! ```
//! Invariants: a total order; it depends on the cells alone, not on when they were measured.

use std::cmp::{Ordering, Reverse};
use std::time::Duration;

use lab::link::Link;

use crate::record::{Cell, KERNEL};

/// Which of two cells comes first.
#[must_use]
pub fn display_order(a: &Cell, b: &Cell) -> Ordering {
    let rest = |cell: &Cell| (cell.threads, cell.path, cell.tls, cell.setting);
    link_key(&a.link)
        .cmp(&link_key(&b.link))
        .then_with(|| a.link.cmp(&b.link))
        .then_with(|| a.workload.cmp(&b.workload))
        .then_with(|| rest(a).cmp(&rest(b)))
}

/// Emulated links in user space, those of the kernel, others; each by rate and round trip.
fn link_key(link: &str) -> (u8, Reverse<u64>, Duration) {
    let (kind, text) = match link.strip_prefix(KERNEL) {
        Some(rest) => (1, rest),
        None => (0, link),
    };
    match Link::parse(text) {
        Ok(link) => (kind, Reverse(link.rate_bytes_per_s.unwrap_or(u64::MAX)), link.round_trip),
        Err(_) => (2, Reverse(0), Duration::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Path, Setting};

    #[test]
    fn fast_links_come_first_and_zstd_goes_by_its_level() {
        let cell = |link: &str, setting| Cell {
            link: link.to_owned(),
            workload: "scan".to_owned(),
            threads: 1,
            path: Path::Direct,
            tls: false,
            setting,
        };
        let sorted = [
            cell("unlimited", Setting::None),
            cell("unlimited", Setting::Zstd(3)),
            cell("unlimited", Setting::Zstd(10)),
            cell("1gbit", Setting::None),
            cell("100mbit", Setting::None),
            cell("100mbit,1.4ms", Setting::None),
            cell("kernel 10gbit", Setting::None),
            cell("a real one", Setting::None),
        ];
        let mut shuffled = sorted.clone();
        shuffled.reverse();
        shuffled.sort_by(display_order);
        assert_eq!(shuffled, sorted);
    }
}
