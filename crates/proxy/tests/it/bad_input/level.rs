//! The client chooses its zstd level, and the proxy pays for it: never more than the operator permits.
//!
//! Not here: what it costs (`scripts/bench-level`), real clients (`live::flows::negotiation`).

use codec::{Algorithm, ZstdLevel};
use wire::command::COM_QUERY;
use wire::connect::Login;

use crate::scripted::{Session, Stage, Transport, login};

/// Bytes of one packed answer, for a client that asks for `level` where at most `max` is permitted.
fn packed_len(level: u8, max: ZstdLevel) -> usize {
    let stage = Stage::with(Transport::Tcp, |config| {
        config.zstd_level_max = Some(max);
        config.server_algorithms = vec![Algorithm::Uncompressed];
    });
    let asked = Login { zstd_level: Some(level), ..login(Algorithm::Zstd) };
    let Session { mut client, mut server } = stage.log_in(stage.greeted(), &asked);
    client.send(&client.wrap(0, [&[COM_QUERY, b'x'][..]], 100)).unwrap();
    server.receive().unwrap();
    let text = lab::generate::text_row(5, 5, 60_000);
    // One packet, so that it is one frame whatever the socket does.
    let answer = [&b"\xff\x15\x04#HY000"[..], text.as_bytes()].concat();
    server.send(&server.wrap(1, [answer.as_slice()], 1 << 20)).unwrap();
    assert!(client.receive().unwrap().payload == answer);
    let (frames, _) = client.take_seen();
    assert_eq!(frames.len(), 1);
    frames[0].packed_len
}

#[test]
fn a_client_that_asks_for_level_22_gets_the_very_bytes_of_one_that_asks_for_the_most() {
    let max = ZstdLevel::DEFAULT;
    let most = packed_len(max.get(), max);
    for level in [max.get() + 1, 9, 22] {
        assert_eq!(packed_len(level, max), most, "level {level}");
    }
    // Where 22 is permitted it does make a difference, so the bytes would show it.
    assert!(packed_len(22, ZstdLevel::MAX) < most);
}
