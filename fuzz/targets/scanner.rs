//! A dialogue's bytes, both directions, scanned at once or byte by byte: the same plans, the same rewritten bytes,
//! the same fault.
//!
//! Not here: orders of operations that no stream of bytes can cause (`conversation`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::conversation::{Conversation, Plan};
use wire::scanner::{Scanner, Step};
use wire::{Capabilities, Direction};

/// Capability bits of MySQL and of MariaDB, whether the client's side has frames, and chunks to the client or from it.
type Input<'a> = (u32, u32, bool, Vec<(bool, &'a [u8])>);

fuzz_target!(|input: Input<'_>| {
    let (mysql_bits, mariadb_bits, client_framed, chunks) = input;
    let agreed = Capabilities::from_bits(mysql_bits, mariadb_bits);
    let at_once = scan(Conversation::new(agreed, client_framed), &chunks, usize::MAX);
    let by_bytes = scan(Conversation::new(agreed, client_framed), &chunks, 1);
    assert_eq!(at_once, by_bytes);
});

/// One direction: what was scanned, what waits for its header to be complete.
struct Stream {
    scanner: Scanner,
    waiting: Vec<u8>,
    scanned: Vec<u8>,
}

type Seen = (Vec<Plan>, Vec<u8>, Vec<u8>, Option<String>);

fn scan(mut conversation: Conversation, chunks: &[(bool, &[u8])], cut_len: usize) -> Seen {
    let stream =
        |direction| Stream { scanner: Scanner::new(direction), waiting: Vec::new(), scanned: Vec::new() };
    let (mut to_server, mut to_client) = (stream(Direction::ToServer), stream(Direction::ToClient));
    let (mut plans, mut fault) = (Vec::new(), None);
    'dialogue: for (is_to_server, bytes) in chunks {
        let stream = if *is_to_server { &mut to_server } else { &mut to_client };
        for piece in bytes.chunks(cut_len.min(bytes.len().max(1))) {
            stream.waiting.extend_from_slice(piece);
            if let Err(error) = advance(stream, &mut conversation, &mut plans) {
                fault = Some(error.to_string());
                break 'dialogue;
            }
        }
    }
    (plans, to_server.scanned, to_client.scanned, fault)
}

fn advance(
    stream: &mut Stream,
    conversation: &mut Conversation,
    plans: &mut Vec<Plan>,
) -> Result<(), wire::Fault> {
    loop {
        if !stream.scanner.is_inside_packet() {
            match stream.scanner.begin(&mut stream.waiting, conversation)? {
                Step::NeedMore => return Ok(()),
                Step::Begin { plan, .. } => plans.push(plan),
            }
        }
        let (len, ended) = stream.scanner.skip(stream.waiting.len());
        stream.scanned.extend(stream.waiting.drain(..len));
        if !ended {
            assert!(stream.waiting.is_empty());
            return Ok(());
        }
    }
}
