//! What is said about what was seen: while it passes, as evidence, as notes, and where it is of no use.
//!
//! Invariants: what could not be used is always said, with how often.
//!
//! Not here: the report (`report`).

use std::sync::atomic::Ordering;
use std::time::Duration;

use lab::link::Address;

use super::gathered::{Counts, Packed};
use super::pcap::Capture;
use super::relay::Passed;
use super::running::Told as Running;
use super::tap::Tapped;
use crate::advise::forecast::LinkShape;
use crate::advise::link::mbit_per_s;
use crate::advise::verdict::Remedies;
use crate::report::number::{counted, grouped, percent, short};

/// A tap listens.
pub(super) fn listening(at: &Address, server: &Address, time: Duration) -> String {
    format!(
        "listening on {at} for {} s: point clients there instead of at {server}; Ctrl-C ends it earlier",
        time.as_secs()
    )
}

/// What has passed so far.
pub(super) fn passing(passed: &Passed, left: Duration) -> String {
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let bytes = load(&passed.to_client_bytes).saturating_add(load(&passed.to_server_bytes));
    format!(
        "{} ({} open), about {} exchanges, {} MB, {} s left",
        many(load(&passed.sessions), "session"),
        load(&passed.open),
        grouped(load(&passed.turns).saturating_sub(load(&passed.sessions))),
        grouped(bytes / 1_000_000),
        left.as_secs_f64().ceil()
    )
}

/// A tap ends.
pub(super) fn ending(server: &Address, open: u64, grace: Duration) -> String {
    format!(
        "looked at enough: new connections are refused, and {} for {} s more; point clients back to {server}",
        if open == 1 {
            "the open one goes on".to_owned()
        } else {
            format!("the {} open ones go on", grouped(open))
        },
        grace.as_secs()
    )
}

/// What a tap's times are made of, and what must be known of them.
pub(super) fn tapped(tapped: &Tapped, is_interrupted: bool) -> (String, Vec<String>) {
    let followed = tapped.gathered.exchanges.seen();
    let kept = tapped.gathered.exchanges.kept().len() as u64;
    // Saying good-bye is no exchange.
    let commands = tapped.commands.saturating_sub(tapped.gathered.counts.quits).max(followed);
    let evidence = format!(
        "{} timed as they passed ({}, {} s, {})",
        of_all(kept, followed),
        many(tapped.sessions, "session"),
        short(tapped.time.as_secs_f64()),
        looked_at_part(followed, commands)
    );
    let mut notes = about_time(tapped.at_once, is_interrupted);
    if tapped.unreachable > 0 {
        notes.push(format!(
            "{} could not be connected to the server, and were told so.",
            many(tapped.unreachable, "client")
        ));
    }
    notes.push(format!("Looking took {} of a core.", percent(tapped.cpu_part)));
    (evidence, notes)
}

/// A running proxy looks.
pub(super) fn looked_at(told: &Running, left_s: f64) -> String {
    format!(
        "{}, {}, {} s left",
        many(told.sessions, "session"),
        many(told.exchanges, "exchange"),
        left_s.ceil()
    )
}

/// The same of a running proxy, of whose exchanges so many are `kept`. The link is the one to servers or to clients.
pub(super) fn joined(
    told: &Running,
    kept: usize,
    is_servers: bool,
    is_local: bool,
    is_interrupted: bool,
) -> (String, Vec<String>) {
    let evidence = format!(
        "{} timed within the running wirepress ({}, {} s, {})",
        of_all(kept as u64, told.exchanges),
        many(told.sessions, "session"),
        short(told.looked_s),
        looked_at_part(told.exchanges, told.commands.max(told.exchanges))
    );
    let mut notes = about_time(told.at_once, is_interrupted);
    if told.server_packs > 0 {
        notes.push(format!(
            "Of {} the server packs the replies for wirepress already; what that takes was computed, and taken off the times.",
            many(told.server_packs, "session")
        ));
    }
    notes.push(if is_local {
        "Clients and servers of this wirepress are on its own host: name the link that you have in mind with --assume-link."
            .to_owned()
    } else {
        format!(
            "The link is the one between this wirepress and its {}, the longer of its two; its rate is in bytes as they are \
             carried now.",
            if is_servers { "servers" } else { "clients" }
        )
    });
    notes.push(
        "Only lengths, times, ratios and CPU have left the running wirepress. The lines to paste are for a new one.".to_owned(),
    );
    notes.push(format!(
        "Packing the samples took {} of a core.",
        percent(told.cpu_s / told.looked_s.max(1e-3))
    ));
    (evidence, notes)
}

/// The same of a capture.
pub(super) fn captured(capture: &Capture) -> (String, Vec<String>) {
    let seen = &capture.gathered.exchanges;
    let evidence = format!(
        "{} of the capture timed ({}, {} s)",
        of_all(seen.kept().len() as u64, seen.seen()),
        many(capture.gathered.counts.used, "session"),
        short(capture.time.as_secs_f64())
    );
    let mut notes = vec![together(capture.at_once as u64)];
    if capture.server_half_s.is_none() {
        notes.push(
            "No connection begins within the capture: what lies between the place of the capture and the server is part of \
             the times."
                .to_owned(),
        );
    }
    (evidence, notes)
}

/// What was seen was seen through a link.
pub(super) fn seen_through(over: &LinkShape) -> String {
    format!(
        "The assumed link is faster than anything that was seen ({:.0} Mbit/s): how fast the server is by itself was seen \
         only through that.",
        mbit_per_s(over.rate_bytes_per_s)
    )
}

/// What a tap's time was, and who was there meanwhile.
fn about_time(at_once: u64, is_interrupted: bool) -> Vec<String> {
    let early = "The tap was ended early; the verdict is from what had passed by then.";
    [together(at_once)].into_iter().chain(is_interrupted.then(|| early.to_owned())).collect()
}

/// Sessions share their link.
fn together(at_once: u64) -> String {
    format!(
        "{}. Sessions share their link: there the rate that counts is what is left for one. A time is that of an exchange of \
         the observed traffic, as if it were alone.",
        if at_once == 1 {
            "Only one session was open at a time".to_owned()
        } else {
            format!("Up to {} were open at once", many(at_once, "session"))
        }
    )
}

/// What could not be used, beside what could.
pub(super) fn left_out(counts: &Counts) -> Vec<String> {
    let mut notes = Vec::new();
    for (packed, name) in [(&counts.zlib, "zlib"), (&counts.zstd, "zstd")] {
        if packed.sessions > 0 {
            notes.push(format!("{}; they are no part of the forecast.", already(packed, name)));
        }
    }
    let mut out = Vec::new();
    for (count, noun, why) in [
        (counts.tls, "session", "with TLS, which cannot be read"),
        (counts.streams, "session", "that stream a binary log or a clone"),
        (counts.refused, "session", "that the server refused"),
        (counts.foreign, "session", "of another protocol"),
        (
            counts.unrecognised,
            "session",
            "whose beginning was not seen and in which no command was recognised",
        ),
        (counts.dialogues, "exchange", "in which the client uploads, or changes its user"),
        (counts.pipelined, "command", "sent before the reply to the one before"),
        (counts.lost, "exchange", "of which not all was seen"),
    ] {
        if count > 0 {
            out.push(format!("{} {why}", many(count, noun)));
        }
    }
    if !out.is_empty() {
        notes.push(format!("Left out: {}.", out.join("; ")));
    }
    notes
}

/// Why nothing could be used.
pub(super) fn unusable(counts: &Counts, nobody: &str, remedies: &Remedies) -> String {
    let all = counts.sessions;
    if all == 0 {
        return format!("{nobody}; {}", remedies.exchanges);
    }
    let sessions = many(all, "session");
    if counts.tls == all {
        return format!(
            "TLS is used by all that was seen ({sessions}), and what it carries cannot be read: run the statements \
             themselves (--query-file), or let a client connect without TLS for the time (--ssl-mode=DISABLED)"
        );
    }
    for (packed, name) in [(&counts.zlib, "zlib"), (&counts.zstd, "zstd")] {
        if packed.sessions == all {
            return format!(
                "{}: its clients have to connect uncompressed for the time (--compression-algorithms=uncompressed)",
                already(packed, name)
            );
        }
    }
    let out = left_out(counts).join(" ");
    format!(
        "of {sessions} no exchange could be used. {out} {}",
        crate::report::number::capital(remedies.exchanges)
    )
    .replace("  ", " ")
}

/// `3 sessions are compressed already, by zstd to 0.31 of their bytes`.
fn already(packed: &Packed, name: &str) -> String {
    #[expect(clippy::cast_precision_loss, reason = "bytes of a capture are far below 2^53")]
    let ratio = packed.packed_bytes as f64 / packed.plain_bytes.max(1) as f64;
    let to =
        if packed.plain_bytes > 0 { format!(", to {} of its bytes", percent(ratio)) } else { String::new() };
    let are = if packed.sessions == 1 { "is" } else { "are" };
    format!("{} {are} compressed already by {name}{to}", many(packed.sessions, "session"))
}

/// `800 exchanges`, or `10,000 of 58,213 exchanges`.
fn of_all(kept: u64, all: u64) -> String {
    if kept == all {
        many(all, "exchange")
    } else {
        format!("{} of {}", grouped(kept), many(all, "exchange"))
    }
}

fn many(count: u64, noun: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// A tap has a budget.
#[expect(clippy::cast_precision_loss, reason = "counts of exchanges are far below 2^53")]
fn looked_at_part(of: u64, all: u64) -> String {
    let part = if all == 0 { "none".to_owned() } else { percent(of as f64 / all as f64) };
    format!("about {part} of their exchanges looked at")
}
