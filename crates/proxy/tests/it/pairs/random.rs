//! Dialogues from a seed: any commands, any rows, any frames, any cuts.
//!
//! Not here: orders that no peer follows (fuzz target `conversation`).

use codec::Algorithm;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::dialogue::{Cuts, Style, converse, result};
use crate::scripted::{NAMES, OK, Session, Stage, Transport};

/// Mostly small, now and then beyond a frame; the first byte is never that of an EOF, ERR or request for a file.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let len = prop_oneof![4 => 0_usize..80, 2 => 0_usize..3_000, 1 => 10_000_usize..300_000];
    (len, 0_u8..=250, any::<u8>()).prop_map(|(len, first, step)| {
        let mut bytes: Vec<u8> = (0..len).map(|i| ((i / 5) as u8).wrapping_mul(step | 1)).collect();
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        bytes
    })
}

fn command() -> impl Strategy<Value = Vec<u8>> {
    payload().prop_map(|mut bytes| {
        bytes.insert(0, wire::command::COM_QUERY);
        bytes
    })
}

fn style() -> impl Strategy<Value = Style> {
    let frame_len = prop_oneof![Just(1_usize), 2_usize..60, 60_usize..20_000, Just(16 << 10), Just(1 << 20)];
    let cuts = prop_oneof![
        2 => Just(Cuts::None),
        1 => (1_usize..40).prop_map(Cuts::At),
        4 => any::<u64>().prop_map(Cuts::Random),
    ];
    (frame_len, cuts).prop_map(|(frame_len, cuts)| Style { frame_len, cuts })
}

/// Tiny frames for long payloads only take time.
fn fitting(style: &Style, len: usize) -> Style {
    Style { frame_len: style.frame_len.max(len / 600).max(1), cuts: style.cuts.clone() }
}

type Exchange = (Vec<u8>, Option<Vec<Vec<u8>>>, Style, Style);

fn exchange() -> impl Strategy<Value = Exchange> {
    (command(), proptest::option::of(proptest::collection::vec(payload(), 0..12)), style(), style())
}

#[test]
fn any_dialogue_arrives_on_any_pair() {
    let stages = NAMES.map(|server| Stage::new(Transport::Unix, server));
    let mut runner = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
    let pair = (0..3_usize, 0..3_usize);
    let dialogue = proptest::collection::vec(exchange(), 1..6);
    runner
        .run(&(pair, dialogue), |((server, client), dialogue)| {
            let mut session = stages[server].open(NAMES[client]);
            for exchange in dialogue {
                follow(&mut session, exchange);
            }
            Ok(())
        })
        .unwrap();
}

fn follow(session: &mut Session, (command, rows, to_server, to_client): Exchange) {
    let reply = rows.map_or_else(|| vec![OK.to_vec()], result);
    let reply_len: usize = reply.iter().map(|payload| payload.len() + 4).sum();
    let (to_server, to_client) = (fitting(&to_server, command.len()), fitting(&to_client, reply_len));
    converse(session, &command, &reply, &to_server, &to_client);
}

/// A long reply, random places, every pair: what a scan over a slow link looks like.
#[test]
fn a_long_result_cut_at_random_places_arrives_on_every_pair() {
    super::cuts::every_pair(Transport::Unix, |stage, client: Algorithm| {
        let mut session = stage.open(client);
        for seed in 0..3 {
            let rows = (0..2000_u32)
                .map(|row| [&[0xfc, 0, 1][..], lab::generate::text_row(seed, row, 256).as_bytes()].concat());
            let style = Style::cut(Cuts::Random(seed));
            converse(&mut session, b"\x03select * from text", &result(rows), &style, &style);
        }
    });
}
