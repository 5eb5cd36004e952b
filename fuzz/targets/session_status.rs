//! A client's command and a server's reply, both any bytes: whatever is read and exchanged, the conversation goes on, and
//! what isn't read isn't waited for.
//!
//! Not here: bytes and frames (`scanner`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::conversation::Conversation;
use wire::limits::PEEK_LEN;
use wire::session_status::{SessionStatus, Verdict};
use wire::{Capabilities, Direction, packet};

fuzz_target!(|input: (u32, u32, Vec<(bool, &[u8])>)| {
    let (mysql_bits, mariadb_bits, packets) = input;
    let agreed = Capabilities::from_bits(mysql_bits, mariadb_bits);
    let status = SessionStatus::new(codec::Algorithm::Zstd, 9);
    let mut conversation = Conversation::new(agreed, true).telling(status);
    for (to_server, payload) in packets {
        let direction = if to_server { Direction::ToServer } else { Direction::ToClient };
        let mut due = vec![payload.to_vec()];
        if let Some(byte) = payload.first()
            && conversation.reads(direction, *byte, payload.len())
            && let Verdict::Replace(payloads) = conversation.read(direction, payload)
        {
            assert!(!to_server, "a command was changed");
            due = payloads;
        }
        for (index, payload) in due.iter().enumerate() {
            if index > 0 && conversation.reads(direction, payload[0], payload.len()) {
                assert_eq!(conversation.read(direction, payload), Verdict::Pass, "exchanged twice");
            }
            let header = packet::Header { payload_len: payload.len(), sequence_id: 0 };
            let peek = &payload[..payload.len().min(PEEK_LEN)];
            if conversation.begin_packet(direction, header, peek).is_err() {
                return;
            }
        }
    }
});
