//! Packets that are exchanged because they tell of the session's status: their ids, and bytes of any kind.
//!
//! Not here: which rows are exchanged (`crate::session_status`), real servers (crate `proxy`).

use proptest::collection::vec;
use proptest::prelude::*;

use crate::conversation::Conversation;
use crate::limits::PEEK_LEN;
use crate::session_status::{SessionStatus, Verdict};
use crate::{Capabilities, Direction, packet, write_lenenc_bytes};

/// Hands a packet over as a relay does; gives back what goes on, with its ids.
fn pass(conversation: &mut Conversation, direction: Direction, id: u8, payload: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut due = vec![payload.to_vec()];
    let byte = payload.first().copied().unwrap_or_default();
    if conversation.may_read(direction)
        && conversation.reads(direction, byte, payload.len())
        && let Verdict::Replace(payloads) = conversation.read(direction, payload)
    {
        assert_eq!(direction, Direction::ToClient, "a command was changed");
        due = payloads;
    }
    let mut passed = Vec::new();
    for (index, payload) in due.into_iter().enumerate() {
        let byte = payload.first().copied().unwrap_or_default();
        if index > 0 && conversation.reads(direction, byte, payload.len()) {
            assert_eq!(conversation.read(direction, &payload), Verdict::Pass, "exchanged twice");
        }
        let header = packet::Header { payload_len: payload.len(), sequence_id: id };
        let peek = &payload[..payload.len().min(PEEK_LEN)];
        let Ok(plan) = conversation.begin_packet(direction, header, peek) else { return passed };
        passed.push((plan.sequence_id, payload));
    }
    passed
}

fn definition(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for text in ["def", "information_schema", "SESSION_STATUS", "SESSION_STATUS", name, name] {
        write_lenenc_bytes(&mut out, text.as_bytes());
    }
    out.extend_from_slice(&[12, 255, 0, 0, 1, 0, 0, 253, 0, 0, 0, 0, 0]);
    out
}

fn row(name: &str, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_lenenc_bytes(&mut out, name.as_bytes());
    write_lenenc_bytes(&mut out, value.as_bytes());
    out
}

#[test]
fn rows_that_are_added_are_numbered_as_the_servers_own_and_so_is_what_follows() {
    for client_framed in [false, true] {
        let status = SessionStatus::new(codec::Algorithm::Zstd, 5);
        let mut conversation = Conversation::new(Capabilities::NONE, client_framed).telling(status);
        if client_framed {
            let frame = crate::frame::Header { packed_len: 60, sequence_id: 0, plain_len: 0 };
            conversation.frame_received(crate::Side::Client, frame, false).unwrap();
        }
        let command = b"\x03show status like 'compression%'; select 1";
        assert_eq!(pass(&mut conversation, Direction::ToServer, 0, command)[0].1, command);
        let more = vec![0xfe, 0, 0, 8, 0];
        let reply = [
            vec![2],
            definition("Variable_name"),
            definition("Value"),
            vec![0xfe, 0, 0, 2, 0],
            row("Compression", "OFF"),
            more.clone(),
            vec![1],
        ];
        let mut passed = Vec::new();
        for (id, payload) in (1..).zip(&reply) {
            passed.extend(pass(&mut conversation, Direction::ToClient, id, payload));
        }
        let rows: Vec<_> = passed[4..8].iter().map(|(_, payload)| payload.clone()).collect();
        let told = [
            row("Compression", "ON"),
            row("Compression_algorithm", "zstd"),
            row("Compression_level", "5"),
            more,
        ];
        assert_eq!(rows, told);
        let ids: Vec<_> = passed.iter().map(|(id, _)| *id).collect();
        // On a framed leg a further result begins at its frame's id, of which none was taken here.
        assert_eq!(ids[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(ids[8], if client_framed { 1 } else { 9 });
        assert_eq!(conversation.in_flight(), 1);
    }
}

fn command() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        "show",
        "session",
        "status",
        "like",
        "'compression%'",
        "where",
        "variable_name",
        "=",
        "(",
        ")",
        ";",
        "call p",
        "select",
        "*",
        "from",
        "session_status",
        "in",
        "not",
        "and",
        "/*!",
        "*/",
        "'",
        "\\",
        "`",
        "--",
        ",",
    ]);
    let text = vec(words, 0..12).prop_map(|words| [b"\x03", words.join(" ").as_bytes()].concat());
    prop_oneof![text, vec(any::<u8>(), 0..40)]
}

proptest! {
    #[test]
    fn whatever_is_read_the_conversation_goes_on(
        bits in any::<u32>(),
        dialogue in vec((command(), vec(prop_oneof![vec(any::<u8>(), 0..40), Just(vec![2]), Just(row("Compression", "OFF"))], 0..12)), 1..4),
    ) {
        let agreed = Capabilities::from_bits(bits & !(1 << 27), 0);
        let status = SessionStatus::new(codec::Algorithm::Zlib, 0);
        let mut conversation = Conversation::new(agreed, false).telling(status);
        for (command, replies) in dialogue {
            pass(&mut conversation, Direction::ToServer, 0, &command);
            for reply in replies {
                pass(&mut conversation, Direction::ToClient, 1, &reply);
            }
        }
    }
}
