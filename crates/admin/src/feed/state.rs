//! What the page shows beside rates: sums since the start, listeners, servers, links, faults.
//!
//! Invariant: lists are cut where a page could not show them; how many there are is told.
//! Not here: rates (`rate`), connections (`line`).

use std::collections::BTreeMap;

use proxy::{Live, Sum, SumLabels};
use serde::Serialize;

use super::line::Line;
use crate::{Flow, Prices};

#[derive(Serialize)]
pub(super) struct State {
    uptime: u64,
    is_ready: bool,
    open: u64,
    sessions: u64,
    /// Connections that run a command.
    active: usize,
    legs: Vec<Leg>,
    listeners: Vec<String>,
    servers: Vec<Server>,
    server_count: usize,
    links: Vec<Link>,
    faults: Vec<(&'static str, &'static str, &'static str, u64)>,
    fault_count: u64,
}

/// A leg's sums since the start.
#[derive(Serialize)]
struct Leg {
    side: &'static str,
    plain: u64,
    packed: u64,
    cpu_ns: u64,
    saved: Option<f64>,
}

#[derive(Serialize)]
struct Server {
    listener: String,
    address: String,
    sessions: usize,
    down: Option<String>,
}

/// What the controller has seen of the link to a peer.
#[derive(Serialize)]
struct Link {
    peer: String,
    side: &'static str,
    bytes_per_second: Option<f64>,
    seconds_ago: Option<u64>,
    sessions: usize,
}

impl State {
    pub(super) fn now(live: &Live, prices: Prices, sums: &BTreeMap<SumLabels, Sum>, lines: &[Line]) -> Self {
        let (sessions, open) = live.sessions();
        let all_servers = live.servers();
        let server = |server: proxy::ServerState| Server {
            listener: server.listener.to_string(),
            address: server.address.to_string(),
            sessions: server.sessions,
            down: server.down,
        };
        let mut faults: Vec<_> =
            live.faults().into_iter().map(|((side, phase, cause), n)| (side, phase, cause, n)).collect();
        faults.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
        let fault_count = faults.iter().map(|(.., count)| count).sum();
        faults.truncate(ROWS_MAX);
        let is_active = |line: &&Line| line.connection.command_name() != "Sleep";
        Self {
            uptime: live.uptime().as_secs(),
            is_ready: live.is_ready(),
            open,
            sessions,
            active: lines.iter().filter(is_active).count(),
            legs: legs(prices, sums).into(),
            listeners: live.listeners().iter().map(|listener| listener.address.to_string()).collect(),
            server_count: all_servers.len(),
            servers: all_servers.into_iter().map(server).take(ROWS_MAX).collect(),
            links: links(live),
            faults,
            fault_count,
        }
    }
}

fn legs(prices: Prices, sums: &BTreeMap<SumLabels, Sum>) -> [Leg; 2] {
    let mut all = [Flow::default(); 4];
    for sum in sums.values() {
        all.iter_mut().zip(Flow::of(&sum.traffic)).for_each(|(all, flow)| *all = all.plus(&flow));
    }
    let [a, b, c, d] = all;
    [("client", a.plus(&b)), ("server", c.plus(&d))].map(|(side, flow)| Leg {
        side,
        plain: flow.plain_len,
        packed: flow.packed_len,
        cpu_ns: flow.cpu_ns,
        saved: prices.saved(&flow),
    })
}

fn links(live: &Live) -> Vec<Link> {
    let mut links = live.links();
    links.sort_by_key(|link| std::cmp::Reverse(link.sessions));
    links.truncate(ROWS_MAX);
    let link = |link: proxy::LinkState| Link {
        peer: link.peer.to_string(),
        side: link.side.name(),
        bytes_per_second: link.seen.map(|(bytes_per_s, _)| bytes_per_s.round()),
        seconds_ago: link.seen.map(|(_, ago)| ago.as_secs()),
        sessions: link.sessions,
    };
    links.into_iter().map(link).collect()
}

/// Of each list.
const ROWS_MAX: usize = 24;
