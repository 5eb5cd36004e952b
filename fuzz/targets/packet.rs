//! A plain stream gives the same payloads wherever it is cut, and what was sent is what arrives.
//!
//! Not here: frames (`frame`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Endpoint;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut_len, bytes) = input;
    let cut_len = usize::from(cut_len).max(1);
    let whole = payloads([bytes]);
    assert_eq!(whole, payloads(bytes.chunks(cut_len)));

    // The bytes as payloads of their own.
    let mut sender = Endpoint::new(PACKET_LEN_MAX);
    let sent: Vec<&[u8]> = bytes.chunks(cut_len * 16).collect();
    for payload in &sent {
        sender.send(payload);
    }
    sender.flush();
    let (arrived, fault) = payloads(sender.output().chunks(cut_len));
    assert_eq!((arrived, fault), (sent.iter().map(|payload| payload.to_vec()).collect(), None));
});

fn payloads<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Option<String>) {
    let mut endpoint = Endpoint::new(PACKET_LEN_MAX);
    let mut payloads = Vec::new();
    for piece in pieces {
        endpoint.receive(piece);
        loop {
            match endpoint.packet() {
                Ok(Some(payload)) => payloads.push(payload),
                Ok(None) => break,
                Err(fault) => return (payloads, Some(fault.to_string())),
            }
        }
    }
    (payloads, None)
}

/// Small enough that the limit is met.
const PACKET_LEN_MAX: usize = 64 << 10;
