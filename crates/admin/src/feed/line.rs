//! A connection in the page's list, with what it carries now.
//!
//! Not here: their order (`order`).

use std::collections::HashMap;

use proxy::{Connection, LegTerms};
use serde::Serialize;

use super::rate::{per_second, since};
use crate::Flow;

pub(crate) struct Line {
    pub(super) connection: Connection,
    pub(super) flows: [Flow; 4],
    /// What it has carried since the look before; `None` if there was none.
    pub(super) since: Option<[Flow; 4]>,
    pub(super) now: Option<Now>,
}

/// What it carries now, both directions together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Now {
    /// Bytes per second.
    pub(super) plain: u64,
    /// Bytes per second.
    pub(super) client_packed: u64,
    /// Bytes per second.
    pub(super) server_packed: u64,
    /// Millionths of a CPU.
    pub(super) cpu: u64,
}

/// A line as it is sent.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    id: u64,
    connection_id: Option<u32>,
    listener: String,
    user: Option<&'a str>,
    host: Option<&'a str>,
    database: Option<&'a str>,
    server: Option<&'a str>,
    command: &'static str,
    time: u64,
    age: u64,
    client_leg: String,
    server_leg: String,
    client_tls: Option<&'a str>,
    server_tls: Option<&'a str>,
    #[serde(flatten)]
    now: Option<Now>,
    client_ratio: Option<f64>,
    server_ratio: Option<f64>,
    plain_total: u64,
    /// Bytes that neither leg had to carry, since the login.
    saved: i64,
    /// To the server, to the client: choice and reason.
    decisions: [Option<(&'static str, &'static str)>; 2],
}

impl Line {
    /// `seconds` since the last look, and what was `known` of connections then. One that is new has carried all of its bytes
    /// since.
    pub(super) fn new(connection: Connection, seconds: Option<f64>, known: &HashMap<u64, [Flow; 4]>) -> Self {
        let flows = Flow::of(&connection.traffic);
        let before = known.get(&connection.id).copied().unwrap_or_default();
        let since = seconds.map(|_| since(&flows, &before));
        let now = since.zip(seconds).map(|(flows, seconds)| {
            let [
                a,
                client_to_server,
                b,
                c,
                client_to_client,
                d,
                _,
                server_to_server,
                e,
                _,
                server_to_client,
                f,
            ] = per_second(&flows, seconds);
            Now {
                plain: a + c,
                client_packed: client_to_server + client_to_client,
                server_packed: server_to_server + server_to_client,
                cpu: b + d + e + f,
            }
        });
        Self { connection, flows, since, now }
    }

    pub(super) const fn id(&self) -> u64 {
        self.connection.id
    }

    /// Algorithm and level, `-` without compression.
    pub(super) fn leg(&self, terms: fn(&proxy::LoggedIn) -> LegTerms) -> String {
        match self.connection.logged_in.as_ref().map(terms) {
            Some(terms) if terms.algorithm.is_framed() => {
                format!("{} {}", terms.algorithm.name(), terms.level)
            }
            Some(_) | None => "-".to_owned(),
        }
    }

    /// Since the login: the client leg's, the server leg's.
    pub(super) fn ratios(&self) -> [Option<f64>; 2] {
        let [a, b, c, d] = &self.flows;
        [a.plus(b).ratio(), c.plus(d).ratio()]
    }

    pub(super) fn saved_len(&self) -> i64 {
        self.flows.iter().map(Flow::saved_len).sum()
    }

    pub(super) fn row(&self) -> Row<'_> {
        let connection = &self.connection;
        let facts = connection.logged_in.as_ref();
        let [client_ratio, server_ratio] = self.ratios();
        Row {
            id: connection.id,
            connection_id: facts.map(|facts| facts.connection_id),
            listener: connection.listener.to_string(),
            user: facts.map(|facts| facts.user.as_str()),
            host: facts.map(|facts| facts.client.as_str()),
            database: facts.and_then(|facts| facts.database.as_deref()),
            server: facts.map(|facts| facts.server.as_str()),
            command: connection.command_name(),
            time: connection.command_age.as_secs(),
            age: connection.age.as_secs(),
            client_leg: self.leg(|facts| facts.client_leg),
            server_leg: self.leg(|facts| facts.server_leg),
            client_tls: facts.map(|facts| facts.client_leg.tls).filter(|tls| !tls.is_empty()),
            server_tls: facts.map(|facts| facts.server_leg.tls).filter(|tls| !tls.is_empty()),
            now: self.now,
            client_ratio,
            server_ratio,
            plain_total: self.flows.iter().take(2).map(|flow| flow.plain_len).sum(),
            saved: self.saved_len(),
            decisions: connection.decisions.map(|it| it.map(|it| (it.choice, it.reason))),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::{Duration, SystemTime};

    use codec::Algorithm;
    use proxy::{LegLens, LoggedIn, Traffic};

    use super::*;

    pub(in crate::feed) fn line(id: u64, user: &str) -> Line {
        let terms = |algorithm, level| LegTerms { algorithm, level_negotiated: level, level, tls: "" };
        let facts = LoggedIn {
            server_leg_reason: "",
            client: format!("10.0.0.{id}:50000"),
            server: "db1:3306".to_owned(),
            connection_id: 7,
            user: user.to_owned(),
            database: Some("shop".to_owned()),
            client_leg: terms(Algorithm::Zstd, 3),
            server_leg: terms(Algorithm::Uncompressed, 0),
        };
        let connection = Connection {
            id,
            listener: "127.0.0.1:1".parse().unwrap(),
            begun: SystemTime::UNIX_EPOCH,
            age: Duration::from_secs(5),
            logged_in: Some(facts),
            command: None,
            is_killed: false,
            waits_for: proxy::State::Rests,
            text: None,
            command_age: Duration::ZERO,
            commands: 1,
            traffic: Default::default(),
            legs: [LegLens::default(); 2],
            decisions: [None, None],
        };
        Line::new(connection, None, &HashMap::new())
    }

    #[test]
    fn a_connection_carries_what_came_since_the_last_look() {
        let first = line(4, "app");
        assert_eq!(first.now, None);
        let mut connection = first.connection;
        connection.traffic[1] = Traffic {
            plain_len: 5000,
            client_leg_len: 1000,
            server_leg_len: 5000,
            pack_ns: 4_000_000,
            ..Traffic::default()
        };
        let known = HashMap::from([(4, Flow::of(&[Traffic::default(); 2]))]);
        let second = Line::new(connection, Some(2.0), &known);
        let expected = Now { plain: 2500, client_packed: 500, server_packed: 2500, cpu: 2000 };
        assert_eq!(second.now, Some(expected));
        assert_eq!(second.ratios(), [Some(5.0), Some(1.0)]);
        let row = serde_json::to_value(second.row()).unwrap();
        assert_eq!(
            (&row["client_leg"], &row["server_leg"], &row["plain"]),
            (&"zstd 3".into(), &"-".into(), &2500.into())
        );
    }
}
