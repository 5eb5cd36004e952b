//! `/metrics`: the counters as Prometheus wants them.
//!
//! Invariants: no user, client, database or statement is a label; there are as many series as listeners, servers,
//! algorithms and kinds of fault. Units and `_total` are in the names, which a test compares with the documentation.
//! Source: Prometheus, "Exposition formats", text-based format 0.0.4.
//! Not here: who may ask (`http_port`).

use std::collections::BTreeMap;
use std::fmt::Write;

use proxy::{LegLens, Live};

use crate::Flow;

/// Name, type and meaning of each metric.
pub(crate) const METRICS: [(&str, &str, &str); 14] = [
    ("wirepress_build_info", "gauge", "1; the version is a label."),
    ("wirepress_uptime_seconds", "gauge", "Seconds since the start."),
    ("wirepress_connections", "gauge", "Open client connections, by listener."),
    ("wirepress_sessions_total", "counter", "Sessions that have logged in, by listener."),
    (
        "wirepress_plain_bytes_total",
        "counter",
        "What a leg without compression would have carried behind the login.",
    ),
    (
        "wirepress_packed_bytes_total",
        "counter",
        "What the leg carried behind the login, without what TLS adds.",
    ),
    ("wirepress_codec_seconds_total", "counter", "CPU time spent packing and unpacking."),
    ("wirepress_frames_packed_total", "counter", "Frames with a packed body."),
    ("wirepress_frames_stored_total", "counter", "Frames whose body was stored."),
    ("wirepress_socket_received_bytes_total", "counter", "Received by the sockets, logins and TLS included."),
    ("wirepress_socket_sent_bytes_total", "counter", "Sent by the sockets, logins and TLS included."),
    (
        "wirepress_session_faults_total",
        "counter",
        "Sessions that ended out of order, by side, phase and cause.",
    ),
    ("wirepress_server_up", "gauge", "Whether a server gets new sessions."),
    ("wirepress_server_sessions", "gauge", "Sessions on a server."),
];

/// The page.
pub(crate) fn page(live: &Live) -> String {
    let mut samples: BTreeMap<&str, Vec<(Labels, f64)>> = BTreeMap::new();
    let mut add = |name: &'static str, labels: Labels, value: f64| {
        samples.entry(name).or_default().push((labels, value));
    };
    add("wirepress_build_info", vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0);
    add("wirepress_uptime_seconds", Vec::new(), live.uptime().as_secs_f64());
    let connections = live.connections();
    for listener in live.listeners() {
        let open = connections.iter().filter(|connection| connection.listener == listener.address).count();
        add("wirepress_connections", vec![("listener", listener.address.to_string())], open as f64);
    }
    for (listener, count) in sessions(live) {
        add("wirepress_sessions_total", vec![("listener", listener)], count as f64);
    }
    for ((side, direction, algorithm, listener), flow) in flows(live) {
        let labels: Labels = vec![
            ("side", side.to_owned()),
            ("direction", direction.to_owned()),
            ("algorithm", algorithm.to_owned()),
            ("listener", listener),
        ];
        for (name, value) in [
            ("wirepress_plain_bytes_total", flow.plain_len as f64),
            ("wirepress_packed_bytes_total", flow.packed_len as f64),
            ("wirepress_codec_seconds_total", flow.cpu_ns as f64 / 1e9),
            ("wirepress_frames_packed_total", flow.frames_packed as f64),
            ("wirepress_frames_stored_total", flow.frames_stored as f64),
        ] {
            add(name, labels.clone(), value);
        }
    }
    for ((side, listener), lens) in sockets(live) {
        let labels: Labels = vec![("side", side.to_owned()), ("listener", listener)];
        add("wirepress_socket_received_bytes_total", labels.clone(), lens.socket_received_len as f64);
        add("wirepress_socket_sent_bytes_total", labels, lens.socket_sent_len as f64);
    }
    for ((side, phase, cause), count) in live.faults() {
        let labels = [("side", side), ("phase", phase), ("cause", cause)];
        let labels = labels.map(|(name, value)| (name, value.to_owned()));
        add("wirepress_session_faults_total", labels.into(), count as f64);
    }
    for server in live.servers() {
        let labels: Labels =
            vec![("listener", server.listener.to_string()), ("server", server.address.to_string())];
        add("wirepress_server_up", labels.clone(), f64::from(u8::from(server.down.is_none())));
        add("wirepress_server_sessions", labels, server.sessions as f64);
    }
    written(&samples)
}

type Labels = Vec<(&'static str, String)>;

fn written(samples: &BTreeMap<&str, Vec<(Labels, f64)>>) -> String {
    let mut page = String::new();
    for (name, kind, help) in METRICS {
        // Writing to a string can't fail.
        writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}").unwrap_or_default();
        for (labels, value) in samples.get(name).into_iter().flatten() {
            let labels: Vec<_> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            writeln!(page, "{name}{labels} {value}").unwrap_or_default();
        }
    }
    page
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn sessions(live: &Live) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for ((listener, ..), sum) in live.sums() {
        *counts.entry(listener).or_default() += sum.sessions;
    }
    counts
}

/// By side, direction, algorithm and listener.
pub(crate) fn flows(live: &Live) -> BTreeMap<(&'static str, &'static str, &'static str, String), Flow> {
    let mut flows = BTreeMap::<_, Flow>::new();
    for ((listener, client, server), sum) in live.sums() {
        for ((side, direction), flow) in Flow::NAMES.into_iter().zip(Flow::of(&sum.traffic)) {
            let algorithm = if side == "client" { client } else { server };
            let entry = flows.entry((side, direction, algorithm, listener.clone())).or_default();
            *entry = entry.plus(&flow);
        }
    }
    flows
}

fn sockets(live: &Live) -> BTreeMap<(&'static str, String), LegLens> {
    let mut sockets = BTreeMap::<_, LegLens>::new();
    for ((listener, ..), sum) in live.sums() {
        for (side, lens) in ["client", "server"].into_iter().zip(sum.legs) {
            let entry = sockets.entry((side, listener.clone())).or_default();
            entry.socket_received_len += lens.socket_received_len;
            entry.socket_sent_len += lens.socket_sent_len;
        }
    }
    sockets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_every_metric_and_no_other() {
        let page = include_str!("../../../docs/operating.md");
        let section = page.split("\n## Metrics\n").nth(1).unwrap().split("\n## ").next().unwrap();
        let mut told: Vec<_> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `wirepress_")?.split('`').next())
            .map(|name| format!("wirepress_{name}"))
            .collect();
        let mut names: Vec<_> = METRICS.iter().map(|(name, ..)| (*name).to_owned()).collect();
        told.sort();
        names.sort();
        assert_eq!(told, names);
    }

    #[test]
    fn dashboard_and_alerts_ask_for_metrics_that_exist() {
        let dashboard = include_str!("../../../packaging/grafana/wirepress.json");
        let alerts = include_str!("../../../packaging/prometheus/alerts.yml");
        serde_json::from_str::<serde_json::Value>(dashboard).unwrap();
        for (file, count_min) in [(dashboard, 10), (alerts, 5)] {
            let is_part = |character: char| character.is_ascii_lowercase() || character == '_';
            let words =
                file.split(|character| !is_part(character)).filter(|word| word.starts_with("wirepress_"));
            let words: Vec<_> = words.collect();
            assert!(words.len() >= count_min);
            for word in words {
                assert!(METRICS.iter().any(|(name, ..)| *name == word), "there is no {word}");
            }
        }
    }

    #[test]
    fn names_tell_their_unit_and_counters_end_in_total() {
        for (name, kind, _) in METRICS {
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
            assert!(!name.contains("_ns") && !name.contains("_ms"), "{name}: base units only");
        }
    }

    #[test]
    fn labels_are_escaped() {
        let labels = vec![("listener", "a\"b\\c\nd".to_owned())];
        let page = written(&BTreeMap::from([("wirepress_connections", vec![(labels, 2.0)])]));
        assert!(page.contains("wirepress_connections{listener=\"a\\\"b\\\\c\\nd\"} 2\n"), "{page}");
    }
}
