//! The link of a run that is nearest to one that a published figure or a claim names.
//!
//! ```text
//!  1gbit,500us    the same name; else kernel 1gbit,500us; else the same rate with a round trip within a millisecond
//! ```
//! Sources seldom told a round trip, and what was asked is the same whether a link is in user space or the kernel's.
//!
//! Invariants: depends on the links' names alone, so cells that are compared are found over the same one; a link that loses
//! packets is nobody's neighbour.

use std::time::Duration;

use lab::kernel_link::KernelLink;
use lab::link::Link;

use crate::record::{Cell, KERNEL};
use crate::results::Results;

/// The cell over the link that is nearest to its own among those that were measured; itself, if there is none.
pub(crate) fn nearest(results: &Results, cell: &Cell) -> Cell {
    let links = results.cells().iter().map(|cell| cell.link.as_str());
    let link = nearest_of(links, &cell.link).unwrap_or(&cell.link).to_owned();
    Cell { link, ..cell.clone() }
}

/// Whether that would be found for the link that is named.
pub(super) fn is_near(link: &str, named: &str) -> bool {
    distance(link, named).is_some()
}

fn nearest_of<'a>(links: impl Iterator<Item = &'a str>, named: &str) -> Option<&'a str> {
    links.filter_map(|link| Some((distance(link, named)?, link))).min().map(|(_, link)| link)
}

/// How far a link is from another; none where it is another rate.
fn distance(link: &str, named: &str) -> Option<(Duration, bool)> {
    let (this, other) = (link_of(link)?, link_of(named)?);
    let apart = this.round_trip.abs_diff(other.round_trip);
    let is_near = this.rate_bytes_per_s == other.rate_bytes_per_s && apart <= APART_MAX;
    is_near.then_some((apart, link != named))
}

/// A cell's link; none of one that loses packets or shuffles their times.
fn link_of(name: &str) -> Option<Link> {
    match name.strip_prefix(KERNEL) {
        Some(text) => KernelLink::parse(text)
            .ok()
            .filter(|kernel| kernel.loss_ppm == 0 && kernel.jitter.is_zero())
            .map(|kernel| kernel.link),
        None => Link::parse(name).ok(),
    }
}

const APART_MAX: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_comes_first_and_a_near_link_before_none() {
        let nearest = |links: &[&'static str], named| nearest_of(links.iter().copied(), named);
        let links = ["100mbit,1.4ms", "1gbit,1ms", "kernel 1gbit,500us", "1gbit,500us", "unlimited"];
        assert_eq!(nearest(&links, "1gbit,500us"), Some("1gbit,500us"));
        assert_eq!(nearest(&links[..3], "1gbit,500us"), Some("kernel 1gbit,500us"));
        assert_eq!(nearest(&links[..2], "1gbit,500us"), Some("1gbit,1ms"));
        assert_eq!(nearest(&links[..1], "1gbit,500us"), None);
        assert_eq!(nearest(&links, "unlimited"), Some("unlimited"));
    }

    #[test]
    fn another_rate_or_a_long_way_is_another_link() {
        assert!(is_near("kernel 100mbit,1ms", "100mbit,1.4ms"));
        assert!(!is_near("100mbit,40ms", "100mbit,1.4ms"));
        assert!(!is_near("10mbit,1.4ms", "100mbit,1.4ms"));
        assert!(!is_near("unlimited", "1gbit"));
        assert!(!is_near("kernel 100mbit,1.4ms,loss=1%", "100mbit,1.4ms"));
        assert!(!is_near("what is this", "unlimited"));
    }
}
