//! The advice as it is told: on the terminal, as JSON, and as an HTML file.
//!
//! ```text
//!  Findings ─▶ Advice: choice, sentences ─▶ text │ html │ json
//! ```
//! Invariants: all three say the same, because the sentences are made here; what cannot be known is left out.
//!
//! Not here: what is chosen (`verdict`), the lines to paste (`paste`).

mod heat_map;
mod html;
mod json;
mod money;
mod paste;
mod scatter;
mod text;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

pub use self::paste::Driver;

use self::money::Money;
use super::forecast::{Border, INTERVAL_HOLDS, RATE_MAX, RATE_MIN, border};
use super::link::{KnownLink, mbit_per_s};
use super::verdict::{Choice, Judged, choose};
use super::{Findings, Options, Per, Prices};
use crate::report::number::{DASH, percent, short};
use crate::run::print_to;
use crate::stats::f64_of;

/// What is told.
struct Advice<'a> {
    findings: &'a Findings,
    choice: Choice,
    /// What is chosen, or, if nothing is, what comes nearest.
    subject: &'a Judged,
    prices: Prices,
    /// Those that lines are wanted for; empty: whichever there is room for.
    drivers: &'a [Driver],
}

/// Writes the files, and tells the advice.
///
/// # Errors
/// The disk or `told` takes nothing; a reader of `told` that has gone is none.
pub(super) fn write(findings: &Findings, options: &Options, told: &mut dyn Write) -> anyhow::Result<()> {
    let choice = choose(&findings.judged);
    let nearest = || findings.judged.iter().min_by(|a, b| a.change.value.total_cmp(&b.change.value));
    let subject = match choice {
        Choice::Use(place) => findings.judged.get(place),
        Choice::Leave => nearest(),
    };
    let subject = subject.context("there is no candidate")?;
    let advice = Advice { findings, choice, subject, prices: options.prices, drivers: &options.drivers };
    // Before anything is told: nobody may read it.
    let written = options.out.as_deref().map_or(Ok(Vec::new()), |folder| write_files(&advice, folder));
    let text = if options.json { json::json(&advice) } else { text::text(&advice) };
    print_to(told, text.trim_end())?;
    for path in written? {
        if !options.json {
            print_to(told, &format!("Written: {}", path.display()))?;
        }
    }
    Ok(())
}

/// Writes the advice into a folder, and says where.
fn write_files(advice: &Advice<'_>, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut written = Vec::new();
    for (name, content) in [("advice.html", html::html(advice)), ("advice.json", json::json(advice))] {
        let path = folder.join(name);
        std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

impl Advice<'_> {
    /// The verdict.
    fn sentence(&self) -> String {
        let one = self.subject;
        let change = format!(
            "{:.2}x the time without compression ({:.2} to {:.2} in {})",
            one.change.value,
            one.change.low,
            one.change.high,
            held()
        );
        let where_it_flips = self.where_it_flips();
        let (setting, who) = (one.candidate.setting(), one.candidate.who());
        let workload = self.workload();
        match self.choice {
            Choice::Use(_) if self.is_rate_in_doubt() => format!(
                "Use {setting}, packed by {who}, between server and app, if the link is no faster than was {}, {}: then \
                 {workload} takes {change}. {where_it_flips} A link that you know is named with --assume-link.",
                if self.is_rate_only_seen() { "seen" } else { "measured" },
                rate_text(self.findings.link.shape.rate_bytes_per_s),
            ),
            Choice::Use(_) => format!(
                "Use {setting}, packed by {who}, between server and app: {workload} takes {change}. {where_it_flips}"
            ),
            Choice::Leave => format!(
                "Leave compression off: nothing surely makes {workload} 5 % faster over this link. The best, {setting} \
                 packed by {who}, takes {change}. {where_it_flips}"
            ),
        }
    }

    /// Whether there is something to set.
    const fn chooses_something(&self) -> bool {
        matches!(self.choice, Choice::Use(_))
    }

    /// What it is that takes its time.
    fn workload(&self) -> &'static str {
        match self.findings.per {
            Per::Pass => "the workload",
            Per::Exchange { .. } => "the traffic that was seen",
        }
    }

    /// Whether the link may be faster than is known, and that beyond the border.
    fn is_rate_in_doubt(&self) -> bool {
        let link = &self.findings.link;
        link.is_at_least && !link.is_assumed && matches!(self.subject.border, Border::Below(_))
    }

    /// Whether nobody has asked the link for its rate.
    fn is_rate_only_seen(&self) -> bool {
        matches!(self.findings.per, Per::Exchange { .. }) && self.findings.link.is_at_least
    }

    /// Where the subject stops paying.
    fn where_it_flips(&self) -> String {
        let round_trip = milliseconds(self.findings.link.shape.round_trip_s);
        match self.subject.border {
            Border::Always => format!(
                "At a round trip of {round_trip} that is no slower than none at any rate up to 100 Gbit/s."
            ),
            Border::Never => format!("At a round trip of {round_trip} it is slower than none at any rate."),
            Border::Below(rate) => {
                format!(
                    "At a round trip of {round_trip} it pays below {}, and costs time above.",
                    rate_text(rate)
                )
            }
        }
    }

    /// How sure that is.
    fn how_sure(&self) -> String {
        let findings = self.findings;
        let how = if self.subject.is_measured {
            "the candidate itself was timed on the server, and only the link is computed"
        } else {
            "the candidate was computed from the rates of its codec on sampled replies"
        };
        format!(
            "{}, {} of replies sampled; {how}. The interval holds the spread of these times and the model's own error; of the \
             changes that `wirepress bench advisor-score` measured {} lay within such intervals.",
            findings.evidence,
            bytes(findings.sampled_bytes as f64),
            held(),
        )
    }

    /// What the subject does to the bill, if a month's bytes are known; nothing where it is not advised.
    fn money(&self) -> Option<String> {
        let money = self.money_of(self.subject)?;
        let (gb, name) = (short(money.gb), &self.subject.candidate);
        let start = match self.choice {
            Choice::Use(_) => format!("with {name}, {gb} GB a month become"),
            Choice::Leave => {
                format!("left off, nothing is saved. With the best, {name}, {gb} GB a month would become")
            }
        };
        Some(format!("{start} {}", money.sentence()))
    }

    fn money_of(&self, judged: &Judged) -> Option<Money> {
        Money::of(judged, self.prices)
    }

    /// The link that is spoken of.
    fn link(&self) -> String {
        let of = link_text(&self.findings.link);
        if self.findings.link.is_assumed {
            let measured = self.findings.measured_link.as_ref();
            let measured = measured.map(|link| format!("; to this server it is {}", link_text(link)));
            format!("{of}, assumed{}", measured.unwrap_or_default())
        } else if self.is_rate_only_seen() {
            format!("{of}, as seen")
        } else {
            format!("{of}, measured")
        }
    }

    /// The break-even line: round trips and the borders of the subject there.
    fn borders(&self, round_trips_s: &[f64]) -> Vec<(f64, Border)> {
        round_trips_s
            .iter()
            .map(|round_trip_s| {
                (*round_trip_s, border(&self.subject.way, &self.findings.none_way, *round_trip_s))
            })
            .collect()
    }
}

impl Per {
    /// Of a column of times.
    const fn heading(self) -> &'static str {
        match self {
            Self::Pass => "s a pass",
            Self::Exchange { .. } => "ms each",
        }
    }

    /// A time of all, as the column shows it.
    fn shown(self, time_s: f64) -> String {
        match self {
            Self::Pass => short(time_s),
            Self::Exchange { .. } => short(self.divided(time_s) * 1e3),
        }
    }

    /// A time of all, for one.
    fn divided(self, time_s: f64) -> f64 {
        match self {
            Self::Pass => time_s,
            Self::Exchange { of } => time_s / f64_of(of.max(1)),
        }
    }

    /// How the time without compression is known.
    const fn none_known_by(self) -> &'static str {
        match self {
            Self::Pass => "timed",
            Self::Exchange { .. } => "seen",
        }
    }

    /// Its word in JSON.
    const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Exchange { .. } => "exchange",
        }
    }
}

/// Round trips of the break-even line in tables: a rack, a region, a country, an ocean.
const ROUND_TRIPS_S: [f64; 6] = [0.1e-3, 0.4e-3, 1.4e-3, 5e-3, 20e-3, 80e-3];

/// `812 Mbit/s`.
fn rate_text(bytes_per_s: f64) -> String {
    let mbit = mbit_per_s(bytes_per_s);
    if mbit >= 1000.0 { format!("{} Gbit/s", short(mbit / 1e3)) } else { format!("{} Mbit/s", short(mbit)) }
}

fn border_text(border: Border) -> String {
    match border {
        Border::Always => format!("above {}", rate_text(RATE_MAX)),
        Border::Never => format!("below {}", rate_text(RATE_MIN)),
        Border::Below(rate) => rate_text(rate),
    }
}

fn link_text(link: &KnownLink) -> String {
    let at_least = if link.is_at_least { "at least " } else { "" };
    format!(
        "{at_least}{}, round trip {}",
        rate_text(link.shape.rate_bytes_per_s),
        milliseconds(link.shape.round_trip_s)
    )
}

fn milliseconds(seconds: f64) -> String {
    format!("{} ms", short(seconds * 1e3))
}

fn bytes(count: f64) -> String {
    if count >= 1e6 { format!("{} MB", short(count / 1e6)) } else { format!("{} kB", short(count / 1e3)) }
}

/// How often an interval holds what is measured.
fn held() -> String {
    let (held, of) = INTERVAL_HOLDS;
    format!("about {held} of {of}")
}

/// Seconds of CPU, if they are known.
fn cpu_text(judged: &Judged) -> String {
    judged.cpu_s_per_gb.map_or_else(|| DASH.to_owned(), short)
}

fn how_text(judged: &Judged) -> &'static str {
    if judged.is_measured { "timed" } else { "computed" }
}

/// `-42 %`.
fn percent_change(change: f64) -> String {
    let sign = if change < 1.0 { "-" } else { "+" };
    format!("{sign}{}", percent((change - 1.0).abs()))
}

#[cfg(test)]
mod tests {
    use codec::Algorithm;

    use super::*;
    use crate::advise::candidate::{Candidate, Packer};
    use crate::advise::forecast::{Change, LinkShape, Way};
    use crate::advise::traffic::{Exchange, Timed};
    use crate::client::Compression;
    use crate::stats::Estimate;

    const LINK: LinkShape = LinkShape { rate_bytes_per_s: 1e9, round_trip_s: 0.0 };

    fn way() -> Way {
        let timed = Timed {
            exchanges_s: vec![1.0],
            firsts_s: vec![0.0],
            pass_s: Estimate { value: 1.0, low: 1.0, high: 1.0, confidence: 0.95 },
            packed_bytes: vec![1e6],
            passes: 9,
        };
        let exchanges = [Exchange { request_bytes: 10.0, plain_bytes: 1e6, rows: Some(1) }];
        Way::measured(&exchanges, &timed, &timed, &[1e6], &Candidate::NONE, &LINK)
    }

    fn judged(level: u8, change: f64, cpu_s_per_gb: Option<f64>) -> Judged {
        let compression = Compression { algorithm: Algorithm::Zstd, level };
        Judged {
            candidate: Candidate { packer: Packer::Server, compression },
            way: way(),
            is_measured: true,
            time_s: change,
            change: Change { value: change, low: change - 0.01, high: change + 0.01 },
            ratio: 4.0,
            cpu_s_per_gb,
            border: Border::Always,
        }
    }

    /// As JSON and in words, of 1000 GB at 0.1 and core hours at 0.5.
    fn told(judged: Vec<Judged>) -> (serde_json::Value, String) {
        let findings = Findings {
            server: std::net::SocketAddr::from(([127, 0, 0, 1], 3306)).into(),
            user: "me".to_owned(),
            is_mariadb: None,
            ssl_options: Vec::new(),
            exchanges: Vec::new(),
            evidence: String::new(),
            per: Per::Pass,
            none_way: way(),
            none_time_s: 1.0,
            judged,
            measured_link: None,
            link: KnownLink { shape: LINK, is_at_least: false, is_assumed: true },
            sampled_bytes: 0,
            took: std::time::Duration::ZERO,
            notes: Vec::new(),
        };
        let choice = choose(&findings.judged);
        let prices = Prices { gb_per_month: Some(1000.0), per_gb: Some(0.1), per_core_hour: Some(0.5) };
        let subject = findings.judged.first().unwrap();
        let advice = Advice { findings: &findings, choice, subject, prices, drivers: &[] };
        (serde_json::from_str(&json::json(&advice)).unwrap(), text::text(&advice).replace('\n', " "))
    }

    #[test]
    fn the_money_is_of_the_candidate_that_is_named_and_each_has_its_own() {
        let (json, words) = told(vec![judged(1, 0.5, Some(7.2)), judged(3, 0.6, None)]);
        let money = "with server zstd 1, 1,000 GB a month become 250 GB on the link: 75.0 less for traffic; 2.00 core hours \
                     for packing and unpacking, which cost 1.00; 74.0 gained in all.";
        assert_eq!(json["money"], money);
        assert!(words.contains(&format!("Money: {money}")), "{words}");
        assert_eq!(json["candidates"][0]["month"]["gained"], 74.0);
        assert!(json["candidates"][1]["month"]["gained"].is_null());
        assert_eq!(json["candidates"][1]["month"]["saved"], 75.0);
    }

    #[test]
    fn where_nothing_is_advised_nothing_is_told_as_saved() {
        let (json, words) = told(vec![judged(1, 0.99, Some(7.2))]);
        assert_eq!(json["verdict"], "leave");
        let money = "left off, nothing is saved. With the best, server zstd 1, 1,000 GB a month would become 250 GB on the \
                     link: 75.0 less";
        assert!(json["money"].as_str().unwrap().starts_with(money), "{words}");
        assert!(
            words.contains("of 1,000 GB a month  GB on the link") && !words.contains("--driver"),
            "{words}"
        );
    }
}
