//! The advice as JSON.
//!
//! Invariants: keys end in their unit; what is not known is null; rates without a border are null, and `pays` says why.

use serde_json::{Value, json};

use super::{Advice, Driver, ROUND_TRIPS_S, paste};
use crate::advise::forecast::{Border, INTERVAL_HOLDS};
use crate::advise::link::{KnownLink, mbit_per_s};
use crate::advise::verdict::{Choice, Judged};

/// All of it, ending with a newline.
pub(super) fn json(advice: &Advice<'_>) -> String {
    let findings = advice.findings;
    let paste: Vec<Value> = paste::lines(advice, &Driver::ALL)
        .into_iter()
        .map(|(title, lines)| json!({ "for": title, "lines": lines }))
        .collect();
    let borders: Vec<Value> = advice
        .borders(&ROUND_TRIPS_S)
        .into_iter()
        .map(|(round_trip_s, border)| json!({ "round_trip_ms": round_trip_s * 1e3, "border": border_value(border) }))
        .collect();
    let exchanges: Vec<Value> = findings
        .exchanges
        .iter()
        .take(EXCHANGES_SHOWN)
        .map(|one| json!({ "request_bytes": one.request_bytes, "reply_bytes": one.plain_bytes, "rows": one.rows }))
        .collect();
    let value = json!({
        "format": 1,
        "verdict": match advice.choice { Choice::Use(_) => "use", Choice::Leave => "leave" },
        "sentence": advice.sentence(),
        "how_sure": advice.how_sure(),
        "interval_holds": f64::from(INTERVAL_HOLDS.0) / f64::from(INTERVAL_HOLDS.1),
        "money": advice.money(),
        "subject": judged_value(advice, advice.subject),
        "link": link_value(&findings.link),
        "measured_link": findings.measured_link.as_ref().map(link_value),
        "time_of": findings.per.word(),
        "none_s": findings.per.divided(findings.none_time_s),
        "evidence": findings.evidence,
        "sampled_bytes": findings.sampled_bytes,
        "exchanges_count": findings.exchanges.len(),
        "exchanges": exchanges,
        "candidates": findings.judged.iter().map(|one| judged_value(advice, one)).collect::<Vec<_>>(),
        "borders": borders,
        "notes": findings.notes,
        "paste": paste,
        "took_s": findings.took.as_secs_f64(),
    });
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

fn judged_value(advice: &Advice<'_>, one: &Judged) -> Value {
    let per = advice.findings.per;
    let month = advice.money_of(one).map(|money| {
        json!({
            "crossing_gb": money.crossing_gb,
            "saved": money.saved,
            "core_hours": money.core_hours,
            "spent": money.spent,
            "gained": money.remaining(),
        })
    });
    json!({
        "candidate": one.candidate.to_string(),
        "packed_by": one.candidate.who(),
        "setting": one.candidate.setting(),
        "is_measured": one.is_measured,
        "ratio": one.ratio,
        "cpu_s_per_gb": one.cpu_s_per_gb,
        "time_s": per.divided(one.time_s),
        "change": one.change.value,
        "change_low": one.change.low,
        "change_high": one.change.high,
        "border": border_value(one.border),
        "month": month,
    })
}

fn border_value(border: Border) -> Value {
    match border {
        Border::Always => json!({ "pays": "always", "mbit_per_s": null }),
        Border::Never => json!({ "pays": "never", "mbit_per_s": null }),
        Border::Below(rate) => json!({ "pays": "below", "mbit_per_s": mbit_per_s(rate) }),
    }
}

fn link_value(link: &KnownLink) -> Value {
    json!({
        "mbit_per_s": mbit_per_s(link.shape.rate_bytes_per_s),
        "round_trip_ms": link.shape.round_trip_s * 1e3,
        "is_at_least": link.is_at_least,
        "is_assumed": link.is_assumed,
    })
}

/// The first of them: more make no reader wiser.
const EXCHANGES_SHOWN: usize = 1_000;
