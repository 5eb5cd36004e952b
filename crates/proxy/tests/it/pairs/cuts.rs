//! Streams cut at every possible place. On Unix sockets the proxy reads exactly the pieces that were made.
//!
//! Not here: long dialogues, whose cuts come from a seed (`random`).

use codec::Algorithm;

use super::dialogue::{Cuts, Style, converse, result};
use crate::scripted::{NAMES, Stage, Transport};

/// All nine pairs, a stage for each server leg.
pub(super) fn every_pair(transport: Transport, mut test: impl FnMut(&Stage, Algorithm)) {
    for server in NAMES {
        let stage = Stage::new(transport, server);
        for client in NAMES {
            test(&stage, client);
        }
    }
}

fn command() -> Vec<u8> {
    b"\x03select v from t where v like 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%'".to_vec()
}

fn reply() -> Vec<Vec<u8>> {
    result([b"\x05short".to_vec(), Vec::new(), b"\x40".iter().copied().chain([b'a'; 64]).collect()])
}

#[test]
fn a_dialogue_cut_once_at_every_place_arrives() {
    every_pair(Transport::Unix, |stage, client| {
        let mut session = stage.open(client);
        // No leg's bytes are more than the plain ones and a header per frame.
        let command_len = command().len() + 16;
        let reply_len = reply().iter().map(|payload| payload.len() + 4).sum::<usize>() + 16;
        for place in 1..command_len.max(reply_len) {
            let style = Style::cut(Cuts::At(place));
            converse(&mut session, &command(), &reply(), &style, &style);
        }
    });
}

#[test]
fn a_dialogue_byte_by_byte_arrives() {
    for transport in [Transport::Unix, Transport::Tcp] {
        every_pair(transport, |stage, client| {
            let mut session = stage.open(client);
            for len in [1, 2, 3, 5, 7] {
                let style = Style::cut(Cuts::Every(len));
                converse(&mut session, &command(), &reply(), &style, &style);
            }
        });
    }
}

/// Frames of any length hold packets cut anywhere, inside headers too: towards the proxy that is allowed.
#[test]
fn frames_cut_at_every_place_of_the_inner_stream_are_taken() {
    every_pair(Transport::Unix, |stage, client| {
        let mut session = stage.open(client);
        for frame_len in (1..90).chain([200]) {
            let style = Style { frame_len, cuts: Cuts::None };
            converse(&mut session, &command(), &reply(), &style, &style);
        }
    });
}

/// Every one of the 65,536 cuttings of 17 bytes would take long for nine pairs; a ping and its OK are shorter.
#[test]
fn a_ping_in_all_its_cuttings_arrives() {
    every_pair(Transport::Unix, |stage, client| {
        let mut session = stage.open(client);
        let ping = session.client.wrap(0, [&[wire::command::COM_PING][..]], 100);
        for cutting in lab::drip::every_cutting(&ping).step_by(if ping.len() > 8 { 13 } else { 1 }) {
            session.client.send_pieces(&cutting).unwrap();
            assert_eq!(session.server.receive().unwrap().payload, [wire::command::COM_PING]);
            let ok = session.server.wrap(1, [crate::scripted::OK], 100);
            session.server.send(&ok).unwrap();
            assert_eq!(session.client.receive().unwrap().payload, crate::scripted::OK);
            session.server.take_seen();
            session.client.take_seen();
        }
    });
}
