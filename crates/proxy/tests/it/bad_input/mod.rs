//! Bytes that break the protocol end their own session only: with an ERR packet where the phase allows one, a named
//! fault in the counters, and in bounded time.
//!
//! * `first_bytes`: what a client may open with; `proxy_header`: the same where a PROXY header is due; `unreachable`: servers that are none
//! * `frames`: lies in the command phase, from either side; `memory`: frames that need more than there is;
//!   `change_user`: the exchange in it; `level`: a client that asks for the most expensive one
//!
//! Not here: bytes of public advisories (`advisories`), fuzzing (`fuzz/`), probes against real servers (`live`).

mod change_user;
mod first_bytes;
mod frames;
mod level;
mod memory;
mod proxy_header;
mod unreachable;

use std::time::Duration;

use lab::peer::Peer;
use lab::wait::wait_while_amiss;
use wire::Side;
use wire::response::ErrPacket;

use crate::scripted::Stage;

/// Shorter than anything else that ends a session.
const SOON: Duration = Duration::from_millis(200);

/// The client is told `code` in words that hold `text`, and nothing more.
pub(crate) fn assert_told(client: &mut Peer, code: u16, text: &str) -> ErrPacket {
    let packet = client.receive().unwrap();
    assert_eq!(packet.payload.first(), Some(&0xff), "{packet:?}");
    let error = ErrPacket::parse(&packet.payload).unwrap();
    assert_eq!(error.code, code, "{error}");
    assert!(error.message.contains(text), "'{}' does not say '{text}'", error.message);
    assert_eq!(client.receive_end().unwrap(), 0, "something behind the error");
    error
}

/// The fault is counted once.
pub(crate) fn assert_counted(stage: &Stage, side: Side, cause: &str) {
    assert_counted_times(stage, side, cause, 1);
}

/// The fault is counted so many times by and by: a session's end comes a moment after its client's.
fn assert_counted_times(stage: &Stage, side: Side, cause: &str, times: u64) {
    let counters = stage.proxy.counters();
    wait_while_amiss(&format!("{cause} of the {side}"), || {
        if counters.faults_of(side, cause) < times { Err(counters.faults()) } else { Ok(()) }
    });
    assert_eq!(counters.faults().values().sum::<u64>(), times, "{:?}", counters.faults());
}
