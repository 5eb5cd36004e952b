//! The rows of the live tables.
//!
//! Invariants: a row has a value for each column; a look at all connections costs microseconds each and holds up nobody.
//! Not here: the columns (`columns`), SQL (crate `mysqlite`).

use std::collections::BTreeMap;
use std::sync::Arc;

use mysqlite::{LiveProcess, LiveTable, LiveTables, LiveValue};
use proxy::{Connection, LegLens, LegTerms, Live};
use time::OffsetDateTime;

use crate::columns::{
    CONNECTIONS, FAULTS, LINKS, LISTENERS, SERVERS, SETTINGS, TAP, TAP_CODECS, TAP_EXCHANGES, TOTALS,
};
use crate::{Flow, Prices, Totals, settings, tap};

/// The tables of a running proxy.
#[derive(Clone)]
pub struct Tables {
    live: Live,
    totals: Arc<Totals>,
    prices: Prices,
}

type Row = Vec<LiveValue>;

impl Tables {
    /// The tables of this proxy.
    pub const fn new(live: Live, totals: Arc<Totals>, prices: Prices) -> Self {
        Self { live, totals, prices }
    }

    fn connection(&self, connection: &Connection) -> Row {
        use LiveValue as V;
        let facts = connection.logged_in.as_ref();
        let number = |number: Option<u32>| number.map_or(V::Null, |number| V::Int(number.into()));
        let leg = |terms: fn(&proxy::LoggedIn) -> LegTerms| {
            let terms = facts.map(terms);
            [
                V::text(terms.map(|terms| terms.algorithm.name())),
                number(terms.map(|terms| terms.level_negotiated.into())),
                number(terms.map(|terms| terms.level.into())),
                V::text(terms.map(|terms| terms.tls)),
            ]
        };
        let mut row = vec![
            V::count(connection.id),
            number(facts.map(|facts| facts.connection_id)),
            V::Text(connection.listener.to_string()),
            V::text(facts.map(|facts| facts.server.as_str())),
            V::text(facts.map(|facts| facts.user.as_str())),
            V::text(facts.map(|facts| facts.client.as_str())),
            V::text(facts.and_then(|facts| facts.database.as_deref())),
            V::Text(connection.command_name().to_owned()),
            V::count(connection.command_age.as_secs()),
            V::Text(connection.state().to_owned()),
            V::text(connection.text.as_deref()),
            V::count(connection.age.as_secs()),
            V::count(connection.commands),
            V::text(facts.map(|facts| if facts.client_leg.algorithm.is_framed() { "ON" } else { "OFF" })),
        ];
        row.extend(leg(|facts| facts.client_leg));
        row.extend(leg(|facts| facts.server_leg));
        row.push(V::text(facts.map(|facts| facts.server_leg_reason)));
        let flows = Flow::of(&connection.traffic);
        for flow in &flows {
            row.extend([V::count(flow.plain_len), V::count(flow.packed_len), real(flow.ratio())]);
            row.extend([flow.cpu_ns, flow.frames_packed, flow.frames_stored].map(V::count));
        }
        row.extend(connection.legs.map(|leg| V::count(tls_len(&leg))));
        row.extend(self.saved_by_leg(&flows).map(real));
        for decision in connection.decisions {
            row.push(V::text(decision.map(|decision| decision.choice)));
            row.push(V::text(decision.map(|decision| decision.reason)));
        }
        row
    }

    /// The client leg's, the server leg's.
    fn saved_by_leg(&self, [a, b, c, d]: &[Flow; 4]) -> [Option<f64>; 2] {
        let both = |one, other| Some(self.prices.saved(one)? + self.prices.saved(other)?);
        [both(a, b), both(c, d)]
    }

    fn links(&self) -> Vec<Row> {
        let row = |link: proxy::LinkState| {
            let last = link.replies.last;
            vec![
                LiveValue::Text(link.peer.to_string()),
                LiveValue::Text(link.side.name().to_owned()),
                link.port.map_or(LiveValue::Null, |port| LiveValue::Int(port.into())),
                real(link.seen.map(|(bytes_per_s, _)| bytes_per_s)),
                link.seen.map_or(LiveValue::Null, |(_, ago)| LiveValue::count(ago.as_secs())),
                link.reply_p99.map_or(LiveValue::Null, |p99| LiveValue::count(micros(p99))),
                LiveValue::text(link.reader_gains.map(|gains| if gains { "YES" } else { "NO" })),
                real(link.replies.stored_per_s),
                real(link.replies.packed_per_s),
                last.map_or(LiveValue::Null, |last| LiveValue::Text(packing_name(last.packing))),
                LiveValue::text(last.map(|last| last.reason.words())),
                LiveValue::count(link.sessions as u64),
            ]
        };
        self.live.links().into_iter().map(row).collect()
    }

    fn listeners(&self) -> Vec<Row> {
        let connections = self.live.connections();
        let row = |listener: proxy::ListenerState| {
            let servers: Vec<_> = listener.config.servers.iter().map(ToString::to_string).collect();
            let open =
                connections.iter().filter(|connection| connection.listener == listener.address).count();
            vec![
                LiveValue::Text(listener.address.to_string()),
                LiveValue::Text(servers.join(",")),
                LiveValue::Text(listener.config.permitted.to_string()),
                LiveValue::Text(listener.config.tls.map_or("off", |tls| tls.mode.name()).to_owned()),
                LiveValue::count(open as u64),
            ]
        };
        self.live.listeners().into_iter().map(row).collect()
    }

    fn servers(&self) -> Vec<Row> {
        let row = |server: proxy::ServerState| {
            vec![
                LiveValue::Text(server.listener.to_string()),
                LiveValue::Text(server.address.to_string()),
                LiveValue::Text(if server.down.is_some() { "down" } else { "up" }.to_owned()),
                LiveValue::text(server.down),
                LiveValue::count(server.sessions as u64),
            ]
        };
        self.live.servers().into_iter().map(row).collect()
    }

    fn totals(&self) -> Vec<Row> {
        self.totals.sample(&self.live);
        let mut rows = Vec::new();
        for minute in self.totals.minutes() {
            let begun = minute_text(minute.number);
            for ((listener, client, server), sum) in &minute.sums {
                for ((side, direction), flow) in Flow::NAMES.into_iter().zip(Flow::of(&sum.traffic)) {
                    let algorithm = if side == "client" { client } else { server };
                    let mut row: Row = [&begun, listener.as_str(), side, direction, algorithm]
                        .map(|text| LiveValue::Text(text.to_owned()))
                        .into();
                    row.extend([sum.sessions, flow.plain_len, flow.packed_len].map(LiveValue::count));
                    row.push(real(flow.ratio()));
                    row.extend([flow.cpu_ns, flow.frames_packed, flow.frames_stored].map(LiveValue::count));
                    row.push(real(self.prices.saved(&flow)));
                    rows.push(row);
                }
            }
        }
        rows
    }

    fn faults(&self) -> Vec<Row> {
        let row = |((side, phase, cause), count): ((&str, &str, &str), u64)| {
            let mut row: Row = [side, phase, cause].map(|text| LiveValue::Text(text.to_owned())).into();
            row.push(LiveValue::count(count));
            row
        };
        self.live.faults().into_iter().map(row).collect()
    }

    fn settings(&self) -> Vec<Row> {
        let rows = |listener: proxy::ListenerState| {
            let address = listener.address.to_string();
            settings::all(&listener.config).into_iter().map(move |(name, value, is_dynamic)| {
                vec![
                    LiveValue::Text(address.clone()),
                    LiveValue::Text(name.to_owned()),
                    LiveValue::text(value),
                    LiveValue::Text(if is_dynamic { "YES" } else { "NO" }.to_owned()),
                ]
            })
        };
        // Of no listener's own.
        let cpu = ["", settings::CPU_PERCENT, &self.live.cost_cpu_percent().to_string(), "YES"];
        let shared = cpu.map(|text| LiveValue::Text(text.to_owned())).into();
        self.live.listeners().into_iter().flat_map(rows).chain([shared]).collect()
    }
}

impl LiveTables for Tables {
    fn schema(&self) -> &'static str {
        "wirepress"
    }

    fn tables(&self) -> &'static [LiveTable] {
        &[CONNECTIONS, LINKS, LISTENERS, SERVERS, TOTALS, FAULTS, SETTINGS, TAP, TAP_CODECS, TAP_EXCHANGES]
    }

    fn rows(&self, table: &str) -> Vec<Row> {
        match table {
            "connections" => self.live.connections().iter().map(|it| self.connection(it)).collect(),
            "links" => self.links(),
            "listeners" => self.listeners(),
            "servers" => self.servers(),
            "totals" => self.totals(),
            "faults" => self.faults(),
            "settings" => self.settings(),
            "tap" => tap::rows(&self.live),
            "tap_codecs" => tap::codecs(&self.live),
            "tap_exchanges" => tap::exchanges(&self.live),
            _ => Vec::new(),
        }
    }

    fn processes(&self) -> Vec<LiveProcess> {
        let process = |connection: Connection| LiveProcess {
            id: connection.id,
            command: connection.command_name().to_owned(),
            seconds: connection.command_age.as_secs(),
            state: connection.state().to_owned(),
            info: connection.text.clone(),
            user: connection.logged_in.as_ref().map_or_else(String::new, |facts| facts.user.clone()),
            host: connection.logged_in.as_ref().map_or_else(String::new, |facts| facts.client.clone()),
            database: connection.logged_in.and_then(|facts| facts.database),
        };
        self.live.connections().into_iter().map(process).collect()
    }

    fn kill(&self, id: u64) -> bool {
        let known = self.live.kill(id);
        if known {
            tracing::info!(id, "a connection is killed by the admin port");
        }
        known
    }

    /// Where listeners differ, all of their values.
    fn variables(&self) -> Vec<(String, String)> {
        let mut variables = BTreeMap::<_, Vec<String>>::new();
        for listener in self.live.listeners() {
            for (name, value, _) in settings::all(&listener.config) {
                let values = variables.entry(name.to_owned()).or_default();
                let value = value.unwrap_or_default();
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        let settings = variables.into_iter().map(|(name, values)| (name, values.join("; ")));
        let cpu = (settings::CPU_PERCENT.to_owned(), self.live.cost_cpu_percent().to_string());
        settings.chain([cpu, tap::variable(&self.live)]).collect()
    }

    fn set(&self, name: &str, value: &str) -> Option<Result<(), String>> {
        if tap::is_named(name) {
            tracing::info!(seconds = value, "the tap is set by the admin port");
            return Some(tap::set(&self.live, value));
        }
        if name.eq_ignore_ascii_case(settings::CPU_PERCENT) {
            let percent = match settings::percent(value) {
                Ok(percent) => percent,
                Err(error) => return Some(Err(error)),
            };
            tracing::info!(percent, "the CPU budget is changed by the admin port, for all sessions");
            self.live.set_cost_cpu_percent(percent);
            return Some(Ok(()));
        }
        let change = match settings::change(name, value)? {
            Ok(change) => change,
            Err(error) => return Some(Err(error)),
        };
        tracing::info!(name, value, "a setting is changed by the admin port, for new sessions");
        Some(self.live.change(change).map_err(|error| error.to_string()))
    }
}

/// What TLS added on a leg, in both directions, bytes.
const fn tls_len(leg: &LegLens) -> u64 {
    (leg.socket_received_len + leg.socket_sent_len).saturating_sub(leg.received_len + leg.sent_len)
}

/// `zstd 3`; levels are named where there is a choice of them.
fn packing_name((algorithm, level): codec::pace::Packing) -> String {
    if level == 0 { algorithm.name().to_owned() } else { format!("{algorithm} {level}") }
}

fn micros(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn real(number: Option<f64>) -> LiveValue {
    number.map_or(LiveValue::Null, LiveValue::Real)
}

/// `2026-11-22 14:05:00`, UTC.
fn minute_text(number: u64) -> String {
    let seconds = i64::try_from(number * 60).unwrap_or_default();
    let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:00", at.hour(), at.minute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_written_as_mysql_writes_it() {
        assert_eq!(minute_text(0), "1970-01-01 00:00:00");
        assert_eq!(minute_text(29_919_445), "2026-11-20 09:25:00");
    }
}
