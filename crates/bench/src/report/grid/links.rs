//! Links as they were calibrated.

use super::{Grid, GridRow, Head, Kind};
use crate::report::document::Document;
use crate::report::number::{DASH, printable, short};

/// What a link was asked for, and what it did.
pub(in crate::report) fn links(document: &Document<'_>) -> Option<Grid> {
    let checks = &document.records.links;
    let heads = [
        "kind",
        "wished Mbit/s",
        "achieved Mbit/s",
        "wished round trip ms",
        "achieved round trip ms",
        "congestion control",
    ];
    let head = |text: &str| Head { text: text.to_owned(), kind: Kind::Value };
    (!checks.is_empty()).then(|| Grid {
        caption: "Links as they were calibrated, beside what was wished".to_owned(),
        corner: "link".to_owned(),
        heads: heads.into_iter().map(head).collect(),
        rows: checks
            .iter()
            .map(|check| GridRow {
                label: printable(&check.link),
                mark: None,
                texts: vec![
                    printable(&check.kind),
                    check.wished_mbit_per_s.map_or_else(|| "unlimited".to_owned(), short),
                    short(check.achieved_mbit_per_s),
                    short(check.wished_round_trip_ms),
                    short(check.achieved_round_trip_ms),
                    check.congestion_control.as_deref().map_or_else(|| DASH.to_owned(), printable),
                ],
            })
            .collect(),
    })
}
