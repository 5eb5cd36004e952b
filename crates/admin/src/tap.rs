//! The tap: how it is switched on, and the rows that tell what it has found.
//!
//! Invariants: lengths, times, counts, and the address of a server; never a byte of what passed.
//! Not here: looking (crate `proxy`, `tap`), what follows from it (crate `bench`, `advise`).

use std::time::Duration;

use mysqlite::LiveValue;
use proxy::{Live, TapCodec, TapExchange};

type Row = Vec<LiveValue>;

/// `SET GLOBAL tap = seconds`: begins to look, or with 0 ends it.
///
/// Errors: no such number of seconds; it is on already.
pub(crate) fn set(live: &Live, value: &str) -> Result<(), String> {
    let seconds = value.parse::<u64>().ok().filter(|seconds| *seconds <= SECONDS_MAX);
    let seconds = seconds.ok_or_else(|| format!("seconds are wanted, 0 to {SECONDS_MAX}"))?;
    live.set_tap(Duration::from_secs(seconds)).map_err(|error| error.to_string())
}

/// Seconds until it ends by itself, as the variable tells it.
pub(crate) fn variable(live: &Live) -> (String, String) {
    let left = live.tap().left.map_or(0, |left| left.as_secs() + 1);
    (NAME.to_owned(), left.to_string())
}

/// Whether SET of this name is about the tap.
pub(crate) fn is_named(name: &str) -> bool {
    name.eq_ignore_ascii_case(NAME)
}

/// The one that is on, or the last one; none before the first.
pub(crate) fn rows(live: &Live) -> Vec<Row> {
    use LiveValue as V;
    let state = live.tap();
    if state.number == 0 {
        return Vec::new();
    }
    let counts = state.counts;
    let mut row = vec![
        V::count(state.number),
        state.left.map_or(V::Null, |left| V::Real(left.as_secs_f64())),
        V::Real(state.looked.as_secs_f64()),
        nanoseconds(state.cpu),
    ];
    row.extend([counts.sessions, state.sessions_at_once, counts.packed].map(V::count));
    row.extend([counts.commands, counts.timed, counts.dialogues, counts.pipelined].map(V::count));
    row.push(V::text((!state.server.is_empty()).then_some(state.server)));
    let [zlib, zstd] = state.server_offers.map_or([V::Null, V::Null], |offers| offers.map(yes));
    row.extend([zlib, zstd]);
    for way in state.ways {
        let us = |time: Duration| V::count(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        row.extend([way.round_trip.map_or(V::Null, us), V::Real(way.bytes_per_s), yes(way.is_local)]);
    }
    vec![row]
}

/// Of that one, by codec.
pub(crate) fn codecs(live: &Live) -> Vec<Row> {
    let row = |codec: TapCodec| {
        vec![
            LiveValue::count(codec.frame_len_max as u64),
            LiveValue::Text(codec.algorithm.name().to_owned()),
            LiveValue::Int(codec.level.into()),
            LiveValue::count(codec.frames),
            LiveValue::count(codec.plain_len),
            LiveValue::count(codec.packed_len),
            ratio(codec.plain_len, codec.packed_len),
            nanoseconds(codec.pack),
            nanoseconds(codec.unpack),
        ]
    };
    live.tap_codecs().into_iter().map(row).collect()
}

/// Of that one, a sample of exchanges.
pub(crate) fn exchanges(live: &Live) -> Vec<Row> {
    let row = |one: TapExchange| {
        let lens = [one.request_len, one.reply_len].map(LiveValue::count);
        let times = [one.first, one.time].map(nanoseconds);
        let server = [
            LiveValue::Text(one.server_algorithm.name().to_owned()),
            LiveValue::Int(one.server_level.into()),
        ];
        lens.into_iter().chain(times).chain(server).collect()
    };
    live.tap_exchanges().into_iter().map(row).collect()
}

fn yes(is: bool) -> LiveValue {
    LiveValue::Text(if is { "YES" } else { "NO" }.to_owned())
}

fn nanoseconds(time: Duration) -> LiveValue {
    LiveValue::count(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "samples are some megabytes")]
fn ratio(plain_len: u64, packed_len: u64) -> LiveValue {
    if packed_len == 0 { LiveValue::Null } else { LiveValue::Real(plain_len as f64 / packed_len as f64) }
}

const NAME: &str = "tap";
/// As long as the advisor may listen.
const SECONDS_MAX: u64 = 600;
