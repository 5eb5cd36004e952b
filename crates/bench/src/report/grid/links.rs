//! Links as they were calibrated: a row for each time.
//!
//! Invariants: rows can be told from each other, those of several sittings by the sitting, others by their order.

use super::{Grid, GridRow, Head, Kind};
use crate::record::LinkCheck;
use crate::report::document::Document;
use crate::report::number::{DASH, printable, short};

/// What links were asked for, and what they did; none where none was calibrated.
pub(in crate::report) fn links(document: &Document<'_>) -> Option<Grid> {
    let records = document.records;
    let has_sittings = !records.resumed.is_empty();
    let row = |(index, check): (usize, &LinkCheck)| {
        let sitting = records.sitting_of_link(index);
        let mut earlier = records.links.iter().take(index).enumerate();
        let is_again = earlier
            .any(|(earlier, other)| other.link == check.link && records.sitting_of_link(earlier) == sitting);
        let sitting = has_sittings.then(|| sitting.to_string());
        GridRow {
            label: printable(&check.link) + if is_again { ", again" } else { "" },
            mark: None,
            texts: sitting.into_iter().chain(texts(check)).collect(),
        }
    };
    let heads = has_sittings.then_some("sitting").into_iter().chain(HEADS);
    (!records.links.is_empty()).then(|| Grid {
        caption: "Links as they were calibrated, beside what was wished".to_owned(),
        corner: "link".to_owned(),
        heads: heads.map(|text| Head { text: text.to_owned(), kind: Kind::Value }).collect(),
        rows: records.links.iter().enumerate().map(row).collect(),
    })
}

fn texts(check: &LinkCheck) -> [String; 6] {
    [
        printable(&check.kind),
        check.wished_mbit_per_s.map_or_else(|| "unlimited".to_owned(), short),
        short(check.achieved_mbit_per_s),
        short(check.wished_round_trip_ms),
        short(check.achieved_round_trip_ms),
        check.congestion_control.as_deref().map_or_else(|| DASH.to_owned(), printable),
    ]
}

const HEADS: [&str; 6] = [
    "kind",
    "wished Mbit/s",
    "achieved Mbit/s",
    "wished round trip ms",
    "achieved round trip ms",
    "congestion control",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Records, Resumed};
    use crate::results::fixture::{link_check, scans};

    fn told(records: &Records) -> Vec<String> {
        let grid = links(&Document::of(records, None)).unwrap();
        let heads = grid.heads.first().map(|head| head.text.clone());
        let row = |row: &GridRow| format!("{}: {} {}", row.label, row.texts[0], row.texts[3]);
        heads.into_iter().chain(grid.rows.iter().map(row)).collect()
    }

    #[test]
    fn a_link_that_was_calibrated_several_times_says_when() {
        let mut records = scans();
        let link = |achieved| link_check("1gbit", Some(1e3), achieved, (0.0, 0.1));
        records.links = vec![link(999.0), link(998.0)];
        assert_eq!(told(&records), ["kind", "1gbit: user space 0.000", "1gbit, again: user space 0.000"]);
        // The second sitting ended before it calibrated anything.
        let resumed = Resumed { started_unix_s: 1, wirepress: "0.1.0".to_owned(), machine: None };
        records.resumed = vec![resumed.clone(), resumed];
        records.links_before = vec![1, 1];
        assert_eq!(told(&records), ["sitting", "1gbit: 1 999", "1gbit: 3 998"]);
    }
}
