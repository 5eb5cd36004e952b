//! The computed results for programs: `results.json`.
//!
//! ```text
//!  { "format": 1, "plan", "title", "question", "primary", "better", "summary": [ … ], "publication",
//!    "run": { as in samples.jsonl },
//!    "tables": [ { "link", "workload", "verdict", "cells": [ {
//!        "cell", "label", "state": "measured", "metrics": { "time_s": { "n", "value", "low", "high", "confidence" } },
//!        "x_none", "x_direct": { "value", "low", "high", "confidence" },
//!        "published": { "time_s": { "value", "conditions" } }, "published_x_none" } ] } ],
//!    "judgements": [ { "cell", "ratios": { "regret": { "value", "low", "high", "confidence" } }, "remark" } ],
//!    "findings": [ … ], "links": [ … ], "warnings": [ … ], "failures": [ … ], "resumed": [ … ], "end": { … } }
//! ```
//! Invariants: units are in the names; `null` is what was not measured; `format` is raised when a program that reads
//! an older one would misread this.

use serde_json::{Map, Value, json};

use super::document::{Document, Row, State, Table};
use super::facts;
use super::verdict::verdict;
use crate::plan::Judgement;
use crate::record::Better;

/// All of it, for people's eyes too.
pub(super) fn json(document: &Document<'_>) -> String {
    let records = document.records;
    let value = json!({
        "format": FORMAT,
        "plan": records.run.plan,
        "title": document.title,
        "question": document.question,
        "primary": document.primary.name(),
        "better": match document.primary.better() {
            Better::Less => "less",
            Better::More => "more",
            Better::Neither => "neither",
        },
        "summary": document.summary,
        "publication": document.publication,
        "run": records.run,
        "tables": document.tables.iter().map(|table| of_table(document, table)).collect::<Vec<_>>(),
        "judgements": document.judgements.iter().map(of_judgement).collect::<Vec<_>>(),
        "findings": document.findings.iter().map(|finding| json!({
            "claim": finding.claim,
            "published": finding.published,
            "measured": finding.measured,
            "agreement": facts::agreement(finding.agreement),
            "why": finding.why,
        })).collect::<Vec<_>>(),
        "links": records.links,
        "warnings": document.warnings.iter().map(|warning| json!({
            "title": warning.title,
            "text": warning.text,
            "remedy": warning.remedy,
        })).collect::<Vec<_>>(),
        "failures": records.failures_left(),
        "resumed": records.resumed,
        "end": records.end,
    });
    format!("{value:#}\n")
}

fn of_table(document: &Document<'_>, table: &Table) -> Value {
    json!({
        "link": table.link,
        "workload": table.workload,
        "verdict": verdict(document, table),
        "cells": table.rows.iter().map(|row| of_row(document, row)).collect::<Vec<_>>(),
    })
}

fn of_row(document: &Document<'_>, row: &Row) -> Value {
    let metrics: Map<String, Value> = row
        .values
        .iter()
        .map(|(metric, estimate)| {
            let n = document.results.values(&row.cell, *metric).len();
            let fields = json!({
                "n": n,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "confidence": estimate.confidence,
            });
            (metric.name().to_owned(), fields)
        })
        .collect();
    let published: Map<String, Value> = row
        .published
        .iter()
        .map(|(metric, figure)| {
            (metric.name().to_owned(), json!({ "value": figure.value, "conditions": figure.conditions }))
        })
        .collect();
    json!({
        "cell": row.cell,
        "label": row.cell.label(),
        "state": match row.state {
            State::Measured(_) => "measured",
            State::Failed => "failed",
            State::PublishedOnly => "published only",
            State::NotMeasured => "not measured",
        },
        "metrics": metrics,
        "x_none": row.to_none,
        "x_direct": row.to_direct,
        "published": published,
        "published_x_none": row.published_to_none,
    })
}

fn of_judgement(judgement: &Judgement) -> Value {
    let ratios = judgement.ratios.iter().map(|(name, ratio)| ((*name).to_owned(), json!(ratio)));
    json!({
        "cell": judgement.cell,
        "ratios": ratios.collect::<Map<_, _>>(),
        "remark": judgement.remark,
    })
}

/// See the invariants.
const FORMAT: u32 = 1;
