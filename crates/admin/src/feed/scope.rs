//! What is carried, by parts of the proxy: all of it, a listener, a link to a peer.
//!
//! A part's name is `all`, `listener <address>`, `client <address>` or `server <address>`.
//! Invariant: there are only so many, those that carry most.
//! Not here: rates (`rate`).

use std::collections::BTreeMap;

use proxy::{LoggedIn, Sum, SumLabels};

use super::line::Line;
use super::rate::since;
use crate::Flow;

type Scopes = BTreeMap<String, [Flow; 4]>;

/// All, and the listeners.
pub(super) fn of_sums(earlier: &BTreeMap<SumLabels, Sum>, now: &BTreeMap<SumLabels, Sum>) -> Scopes {
    let mut listeners = Scopes::new();
    let mut all = [Flow::default(); 4];
    for (labels, sum) in now {
        let before = earlier.get(labels).map(|sum| Flow::of(&sum.traffic)).unwrap_or_default();
        let flows = since(&Flow::of(&sum.traffic), &before);
        add(&mut all, &flows);
        add(listeners.entry(format!("listener {}", labels.0)).or_default(), &flows);
    }
    let mut scopes = largest(listeners);
    scopes.insert("all".to_owned(), all);
    scopes
}

/// The links to peers, by what their connections carried since they were looked at before.
pub(super) fn of_links(lines: &[Line]) -> Scopes {
    let (mut clients, mut servers) = (Scopes::new(), Scopes::new());
    for line in lines {
        let (Some(since), Some(facts)) = (&line.since, &line.connection.logged_in) else { continue };
        let [client, server] = peers(facts);
        add(clients.entry(client).or_default(), since);
        add(servers.entry(server).or_default(), since);
    }
    let mut scopes = largest(clients);
    scopes.extend(largest(servers));
    scopes
}

/// How many connections each link has.
pub(super) fn sessions(lines: &[Line]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let names = lines.iter().filter_map(|line| line.connection.logged_in.as_ref()).flat_map(peers);
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

/// The names of a connection's two links.
fn peers(facts: &LoggedIn) -> [String; 2] {
    [format!("client {}", host_of(&facts.client)), format!("server {}", facts.server)]
}

fn add(sum: &mut [Flow; 4], flows: &[Flow; 4]) {
    sum.iter_mut().zip(flows).for_each(|(sum, flow)| *sum = sum.plus(flow));
}

fn largest(scopes: Scopes) -> Scopes {
    let mut scopes: Vec<_> = scopes.into_iter().collect();
    let plain_len = |flows: &[Flow; 4]| flows.iter().map(|flow| flow.plain_len).sum::<u64>();
    scopes.sort_by_key(|(_, flows)| std::cmp::Reverse(plain_len(flows)));
    scopes.truncate(SCOPES_MAX);
    scopes.into_iter().collect()
}

/// A client's address without its port.
fn host_of(address: &str) -> &str {
    address.parse::<std::net::SocketAddr>().map_or(address, |_| {
        address.rsplit_once(':').map_or(address, |(host, _)| host.trim_matches(['[', ']']))
    })
}

/// Of each kind. More than a page can compare.
const SCOPES_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use proxy::Traffic;

    use super::super::line::tests::line;
    use super::*;

    fn sums(listeners: &[(&str, u64)]) -> BTreeMap<SumLabels, Sum> {
        let sum = |(listener, plain_len): &(&str, u64)| {
            let traffic = [Traffic { plain_len: *plain_len, ..Traffic::default() }, Traffic::default()];
            (((*listener).to_owned(), "zstd", "zlib"), Sum { traffic, ..Sum::default() })
        };
        listeners.iter().map(sum).collect()
    }

    #[test]
    fn all_is_what_its_listeners_are() {
        let scopes = of_sums(&sums(&[("a", 5)]), &sums(&[("a", 7), ("b", 40)]));
        let plain: Vec<_> = scopes.iter().map(|(name, flows)| (name.as_str(), flows[0].plain_len)).collect();
        assert_eq!(plain, [("all", 42), ("listener a", 2), ("listener b", 40)]);
    }

    #[test]
    fn only_the_largest_are_told() {
        let names: Vec<String> = (10..99).map(|name| name.to_string()).collect();
        let listeners: Vec<_> = names.iter().zip(0..).map(|(name, len)| (name.as_str(), len)).collect();
        let scopes = of_sums(&BTreeMap::new(), &sums(&listeners));
        assert_eq!(scopes.len(), SCOPES_MAX + 1);
        assert!(scopes.contains_key("listener 98") && !scopes.contains_key("listener 10"));
    }

    #[test]
    fn links_are_counted_by_peer() {
        let lines = [line(1, "a"), line(1, "b"), line(2, "c")];
        let counts: Vec<_> = sessions(&lines).into_iter().collect();
        let expected = [("client 10.0.0.1", 2), ("client 10.0.0.2", 1), ("server db1:3306", 3)];
        assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)));
        assert!(of_links(&lines).is_empty(), "they were not looked at before");
    }

    #[test]
    fn a_host_is_an_address_without_its_port() {
        for (address, host) in
            [("10.0.0.7:51000", "10.0.0.7"), ("[::1]:3", "::1"), ("unix", "unix"), ("db:1", "db:1")]
        {
            assert_eq!(host_of(address), host);
        }
    }
}
