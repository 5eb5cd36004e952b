//! Frames with lying lengths, broken bodies and bombs: an end of a connection decodes them or names the fault,
//! and where the stream was cut makes no difference.
//!
//! Not here: what a session does with the fault (crate `proxy`).
#![no_main]

use codec::Algorithm;
use libfuzzer_sys::fuzz_target;
use wire::{Endpoint, Fault};

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (zstd, cut_len, bytes) = input;
    let algorithm = if zstd { Algorithm::Zstd } else { Algorithm::Zlib };
    let whole = payloads(algorithm, [bytes]);
    let cut = payloads(algorithm, bytes.chunks(usize::from(cut_len).max(1)));
    assert_eq!(whole, cut);
});

/// All payloads that `pieces` hold, and how it ended.
fn payloads<'a>(
    algorithm: Algorithm,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Vec<u8>>, Option<String>) {
    let mut endpoint = Endpoint::new(PACKET_LEN_MAX);
    endpoint.start_compression(algorithm, 1);
    let mut payloads = Vec::new();
    for piece in pieces {
        endpoint.receive(piece);
        loop {
            match endpoint.packet() {
                Ok(Some(payload)) => {
                    assert!(payload.len() <= PACKET_LEN_MAX);
                    payloads.push(payload);
                }
                Ok(None) => break,
                Err(fault) => return (payloads, Some(name(&fault))),
            }
        }
    }
    (payloads, None)
}

fn name(fault: &Fault) -> String {
    fault.to_string()
}

/// Small enough that the limit is met.
const PACKET_LEN_MAX: usize = 64 << 10;
