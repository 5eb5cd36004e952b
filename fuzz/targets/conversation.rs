//! Sequences of operations on the state machine: in whatever order packets and frames come from either side, it
//! answers with a plan or a named fault, and counts commands honestly.
//!
//! Not here: bytes (`scanner`).
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use wire::conversation::Conversation;
use wire::limits::PEEK_LEN;
use wire::{Capabilities, Direction, Side, frame, packet};

#[derive(Arbitrary, Debug)]
enum Operation<'a> {
    Packet { to_server: bool, payload_len: PayloadLen, sequence_id: u8, peek: &'a [u8] },
    Frame { of_client: bool, id: u8, packed_len: u8, inside_packet: bool },
    TakeFrameId { of_client: bool },
}

#[derive(Arbitrary, Debug)]
enum PayloadLen {
    AsPeeked,
    More(u16),
    Longest,
}

fuzz_target!(|input: (u32, u32, bool, Vec<Operation<'_>>)| {
    let (mysql_bits, mariadb_bits, client_framed, operations) = input;
    let agreed = Capabilities::from_bits(mysql_bits, mariadb_bits);
    let mut conversation = Conversation::new(agreed, client_framed);
    for operation in operations {
        let before = conversation.in_flight();
        match operation {
            Operation::Packet { to_server, payload_len, sequence_id, peek } => {
                let direction = if to_server { Direction::ToServer } else { Direction::ToClient };
                let payload_len = match payload_len {
                    PayloadLen::AsPeeked => peek.len(),
                    PayloadLen::More(more) => peek.len() + usize::from(more),
                    PayloadLen::Longest => wire::limits::PACKET_PAYLOAD_LEN_MAX,
                };
                let peek = &peek[..peek.len().min(PEEK_LEN)];
                let header = packet::Header { payload_len, sequence_id };
                if conversation.begin_packet(direction, header, peek).is_err() {
                    assert!(to_server, "only a client's ids are checked");
                    return;
                }
                let after = conversation.in_flight();
                if to_server {
                    assert!(after == before || after == before + 1);
                } else {
                    assert!(after == before || after + 1 == before);
                }
            }
            Operation::Frame { of_client, id, packed_len, inside_packet } => {
                let header = frame::Header { packed_len: packed_len.into(), sequence_id: id, plain_len: 0 };
                if conversation.frame_received(side(of_client), header, inside_packet).is_err() {
                    return;
                }
            }
            Operation::TakeFrameId { of_client } => {
                let id = conversation.take_frame_id(side(of_client));
                assert_eq!(conversation.take_frame_id(side(of_client)), id.wrapping_add(1));
            }
        }
        assert_eq!(conversation.oldest().is_some(), conversation.in_flight() > 0);
    }
});

const fn side(of_client: bool) -> Side {
    if of_client { Side::Client } else { Side::Server }
}
