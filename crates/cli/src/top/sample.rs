//! One look at the admin port: its connections, and what was carried in the last minutes.
//!
//! Not here: rates, which need two looks (`view`).

use std::time::Duration;

use admin::Flow;
use bench::client::{Client, Row};

/// One look.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sample {
    /// When, by a clock that only goes forward.
    pub(super) at: Duration,
    pub(super) sessions: Vec<Session>,
    /// The newest minutes: `2026-11-22 14:05:00`, and what was carried in it, in the order of [`Flow::NAMES`].
    pub(super) minutes: Vec<(String, [Counts; 4])>,
}

/// What one direction of one leg has carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) plain_len: u64,
    pub(super) packed_len: u64,
    pub(super) cpu_ns: u64,
}

/// A connection of the proxy.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Session {
    pub(super) id: u64,
    pub(super) user: String,
    pub(super) host: String,
    pub(super) server: String,
    pub(super) database: String,
    pub(super) command: String,
    pub(super) seconds: u64,
    /// Algorithm and level of the client's leg, and of the server's.
    pub(super) legs: [String; 2],
    /// In the order of [`Flow::NAMES`].
    pub(super) flows: [Counts; 4],
}

impl Sample {
    /// Asks for one.
    pub(super) fn ask(client: &mut Client, at: Duration) -> anyhow::Result<Self> {
        let sessions = client.query_texts(&sessions_sql())?.iter().map(session).collect();
        let mut minutes: Vec<(String, [Counts; 4])> = Vec::new();
        for row in client.query_texts(MINUTES_SQL)? {
            let [minute, side, direction] = [0, 1, 2].map(|at| text(&row, at));
            if minutes.last().is_none_or(|(last, _)| *last != minute) {
                minutes.push((minute, Default::default()));
            }
            let flow = Flow::NAMES.iter().position(|names| *names == (side.as_str(), direction.as_str()));
            if let (Some(flow), Some((_, flows))) = (flow, minutes.last_mut())
                && let Some(counts) = flows.get_mut(flow)
            {
                *counts = counts_at(&row, 3);
            }
        }
        Ok(Self { at, sessions, minutes })
    }
}

impl Counts {
    /// Both together.
    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            plain_len: self.plain_len.saturating_add(other.plain_len),
            packed_len: self.packed_len.saturating_add(other.packed_len),
            cpu_ns: self.cpu_ns.saturating_add(other.cpu_ns),
        }
    }

    /// What came to it since it was `earlier`.
    pub(super) const fn since(self, earlier: Self) -> Self {
        Self {
            plain_len: self.plain_len.saturating_sub(earlier.plain_len),
            packed_len: self.packed_len.saturating_sub(earlier.packed_len),
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
        }
    }

    /// Plain per packed; `None` before the first byte.
    pub(super) fn ratio(self) -> Option<f64> {
        (self.packed_len > 0).then(|| self.plain_len as f64 / self.packed_len as f64)
    }
}

fn sessions_sql() -> String {
    let mut sql = String::from(
        "select id, user, host, server, `database`, command, time, \
         client_algorithm, client_level, server_algorithm, server_level",
    );
    for (side, direction) in Flow::NAMES {
        for what in ["plain_bytes", "packed_bytes", "cpu_ns"] {
            sql += &format!(", {side}_{direction}_{what}");
        }
    }
    sql + " from connections"
}

fn session(row: &Row) -> Session {
    Session {
        id: number(row, 0),
        user: text(row, 1),
        host: text(row, 2),
        server: text(row, 3),
        database: text(row, 4),
        command: text(row, 5),
        seconds: number(row, 6),
        legs: [7, 9].map(|at| match text(row, at).as_str() {
            // Before the login, and without compression.
            "" | "uncompressed" => String::new(),
            algorithm => format!("{algorithm} {}", text(row, at + 1)),
        }),
        flows: [11, 14, 17, 20].map(|at| counts_at(row, at)),
    }
}

fn counts_at(row: &Row, at: usize) -> Counts {
    Counts { plain_len: number(row, at), packed_len: number(row, at + 1), cpu_ns: number(row, at + 2) }
}

fn text(row: &Row, at: usize) -> String {
    row.get(at).cloned().flatten().unwrap_or_default()
}

fn number(row: &Row, at: usize) -> u64 {
    row.get(at).and_then(Option::as_deref).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Two minutes: the one that runs, and the one that a sample may have begun in. Each has four flows.
const MINUTES_SQL: &str = "select minute, side, direction, sum(plain_bytes), sum(packed_bytes), sum(cpu_ns) \
     from totals group by minute, side, direction order by minute desc limit 8";
