//! What follows from what was seen.

use lab::link::Link;

use super::*;
use crate::advise::verdict::{Choice, choose};
use crate::advise::{Prices, Workload, report};
use crate::report::number::percent;

/// Replies of 1 MB of prose that took as long as a link of 100 Mbit/s makes them.
fn observation(is_local: bool) -> Observation {
    let mut gathered = Gathered::new(1);
    for number in 0..50u8 {
        gathered.exchanges.offer(gathered::Seen {
            request_bytes: 20.0,
            reply_bytes: 1e6,
            reply_packets: 10_000,
            first_s: 0.002,
            time_s: 0.082 + f64::from(number) / 1e5,
        });
        let words = format!("the server sends {number} and the link carries {} ", u32::from(number) * 7919);
        gathered.frames.offer(words.repeat(1000).into_bytes());
    }
    let shape = LinkShape { rate_bytes_per_s: 12.5e6, round_trip_s: 0.0014 };
    let link = KnownLink { shape, is_at_least: true, is_assumed: false };
    Observation {
        gathered,
        sampled: Sampled::Frames,
        server: Address::Tcp("db:3306".to_owned()),
        user: UNKNOWN_USER.to_owned(),
        over: cost(&link, is_local),
        link: Some(link),
        evidence: String::new(),
        notes: Vec::new(),
        remedies: TAP_REMEDIES,
    }
}

/// The advice as it is told, on one line.
fn advice(findings: &Findings) -> String {
    let mut told = Vec::new();
    report::write(findings, &options(None), &mut told).unwrap();
    String::from_utf8(told).unwrap().replace('\n', " ")
}

fn options(link: Option<&str>) -> Options {
    let file = PathBuf::new();
    Options {
        workload: Workload::Pcap(PcapOptions { file, port: 3306 }),
        assume_link: link.map(|link| Link::parse(link).unwrap()),
        seed: 1,
        prices: Prices::default(),
        drivers: Vec::new(),
        out: None,
        json: false,
    }
}

#[test]
fn what_a_slow_link_has_made_slow_is_not_taken_for_a_slow_server() {
    let findings = observation(false).findings(&options(None), Instant::now()).unwrap();
    let Choice::Use(place) = choose(&findings.judged) else { panic!("{:?}", findings.notes) };
    assert!(findings.judged[place].change.value < 0.5, "{}", percent(findings.judged[place].change.value));
    // And over that link the model gives back what was seen, 82 ms each.
    assert!((findings.none_time_s / 50.0 / 0.0823 - 1.0).abs() < 0.05, "{}", findings.none_time_s);
    // On one machine there was no link: then it is the server.
    let findings = observation(true).findings(&options(None), Instant::now()).unwrap();
    assert_eq!(choose(&findings.judged), Choice::Leave);
}

#[test]
fn without_a_round_trip_a_link_has_to_be_named() {
    let unknown = || Observation { link: None, ..observation(false) };
    let error = unknown().findings(&options(None), Instant::now()).unwrap_err().to_string();
    assert!(error.contains("--assume-link"), "{error}");
    let findings = unknown().findings(&options(Some("1gbit,1.4ms")), Instant::now()).unwrap();
    assert!(findings.measured_link.is_none());
    assert!(findings.notes.iter().any(|note| note.contains("faster than anything that was seen")));
}

#[test]
fn too_little_gives_no_verdict_with_what_helps() {
    let mut observation = observation(false);
    observation.gathered.exchanges = crate::advise::reservoir::Reservoir::new(3, 1);
    observation.gathered.exchanges.offer(gathered::Seen {
        request_bytes: 20.0,
        reply_bytes: 100.0,
        reply_packets: 1,
        first_s: 0.001,
        time_s: 0.001,
    });
    let error = observation.findings(&options(None), Instant::now()).unwrap_err().to_string();
    assert!(
        error.contains("1 exchanges were timed") && error.contains("listen for longer (--for)"),
        "{error}"
    );
}

#[test]
fn a_rate_that_is_only_a_least_one_makes_every_advice_conditional() {
    let seen = observation(false).findings(&options(None), Instant::now()).unwrap();
    let words = advice(&seen);
    assert!(
        words.contains("if the link is no faster than was seen, 100 Mbit/s: then the traffic"),
        "{words}"
    );
    assert!(words.contains("Link: at least 100 Mbit/s, round trip 1.40 ms, as seen."), "{words}");
    // As of a trial, whose client was busy with what came, or whose server is on this machine.
    let measured = Findings { per: Per::Pass, ..seen };
    let words = advice(&measured);
    assert!(
        words.contains("if the link is no faster than was measured, 100 Mbit/s: then the workload"),
        "{words}"
    );
    assert!(words.contains("Link: at least 100 Mbit/s, round trip 1.40 ms, measured."), "{words}");
    let link = KnownLink { is_at_least: false, ..measured.link };
    let words = advice(&Findings { link, ..measured });
    assert!(words.starts_with("Use z") && !words.contains("no faster than"), "{words}");
}
