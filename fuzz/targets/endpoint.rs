//! Operations on two ends of a connection: whatever one sends, in commands and answers, packed or not, arrives at the
//! other as it was, wherever the bytes are cut.
//!
//! Not here: bytes that nobody's end made (`packet`, `frame`).
#![no_main]

use codec::Algorithm;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use wire::Endpoint;

#[derive(Arbitrary, Debug)]
enum Operation<'a> {
    /// A payload: these bytes, so many times.
    Send(&'a [u8], u8),
    /// The frame ends here, though the turn goes on.
    Flush,
    /// The other's turn: what was sent crosses in pieces of this length.
    Cross(u16),
}

fuzz_target!(|input: (u8, u8, Vec<Operation<'_>>)| {
    let (algorithm, level, operations) = input;
    let algorithm = Algorithm::ALL[usize::from(algorithm) % Algorithm::ALL.len()];
    let mut ends = [Endpoint::new(PAYLOAD_LEN_MAX), Endpoint::new(PAYLOAD_LEN_MAX)];
    if algorithm.is_framed() {
        ends.iter_mut().for_each(|end| end.start_compression(algorithm, 1 + level % 6));
    }
    let [client, server] = &mut ends;
    let mut sent = Vec::new();
    let mut is_clients_turn = true;
    client.begin_command();
    for operation in operations {
        let (from, to) =
            if is_clients_turn { (&mut *client, &mut *server) } else { (&mut *server, &mut *client) };
        match operation {
            Operation::Send(bytes, times) => {
                let payload = bytes.repeat(times.into());
                if payload.len() <= PAYLOAD_LEN_MAX {
                    from.send(&payload);
                    sent.push(payload);
                }
            }
            Operation::Flush => from.flush(),
            Operation::Cross(piece_len) => {
                from.flush();
                let mut received = Vec::new();
                for piece in from.output().chunks(usize::from(piece_len).max(1)) {
                    to.receive(piece);
                    while let Some(payload) = to.packet().expect("an end's own bytes are good") {
                        received.push(payload);
                    }
                }
                from.sent(from.output().len());
                assert_eq!(received, std::mem::take(&mut sent));
                is_clients_turn = !is_clients_turn;
                if is_clients_turn {
                    client.begin_command();
                }
            }
        }
    }
});

const PAYLOAD_LEN_MAX: usize = 256 << 10;
