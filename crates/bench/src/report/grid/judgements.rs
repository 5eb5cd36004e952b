//! What a plan judges of single cells: each in terms of others, with intervals and a remark.

use super::{Grid, GridRow, Head, Kind};
use crate::plan::Judgement;
use crate::report::document::Document;
use crate::report::number::{interval, or_dash, printable};

/// Single cells in terms of others; none where the plan judges none. Too wide for a terminal.
pub(in crate::report) fn judgements(document: &Document<'_>) -> Option<Grid> {
    let first = document.judgements.first()?;
    let head = |text: String, kind| Head { text, kind };
    let ratios = first.ratios.iter().flat_map(|(name, _)| {
        [head(name.replace('_', " "), Kind::Ratio), head("interval".to_owned(), Kind::Interval)]
    });
    let row = |judgement: &Judgement| GridRow {
        label: printable(&judgement.cell.to_string()),
        mark: None,
        texts: judgement
            .ratios
            .iter()
            .flat_map(|(_, ratio)| {
                let interval = ratio.as_ref().map_or_else(String::new, interval);
                [or_dash(ratio.map(|ratio| ratio.value)), interval]
            })
            .chain([printable(&judgement.remark)])
            .collect(),
    };
    Some(Grid {
        caption: "Cells in terms of others, with intervals".to_owned(),
        corner: "cell".to_owned(),
        heads: ratios.chain([head("remark".to_owned(), Kind::Value)]).collect(),
        rows: document.judgements.iter().map(row).collect(),
    })
}
