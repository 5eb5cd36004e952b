//! What a sample measures: name, unit, and which way is better.
//!
//! Invariants: the unit is in the name; a metric's name never changes its meaning.

use serde::{Deserialize, Serialize};

/// A measured quantity. `Ord` is the order of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// From the first query to the last byte.
    TimeS,
    /// The part of it that the reading of rows took.
    QueryTimeS,
    /// Transactions a second; scans, or connections (connect, login, query, quit), where these are what is done.
    TransactionsPerS,
    /// Median time of a transaction.
    LatencyP50Ms,
    /// 95 % of the transactions were faster.
    LatencyP95Ms,
    /// 99 % of the transactions were faster.
    LatencyP99Ms,
    /// Bytes before compression, both ways.
    PlainBytes,
    /// Bytes on the link, both ways.
    WireBytes,
    /// Bytes that the joiner of a state transfer has written into files.
    WrittenBytes,
    /// Mean rate on the link, both ways, 10^6 bytes a second.
    MeanMbPerS,
    /// The same in the busiest second.
    PeakMbPerS,
    /// The same of one transaction.
    WireBytesPerTx,
    /// CPU time of the server.
    ServerCpuS,
    /// CPU time of the proxy, whichever it is.
    ProxyCpuS,
    /// CPU time of the client.
    ClientCpuS,
    /// CPU time of the donor's programs: the backup, and what packs it.
    DonorCpuS,
    /// CPU time of the joiner's programs: what unpacks, and what writes files.
    JoinerCpuS,
    /// CPU time of the server for one transaction or connection.
    ServerCpuUsPerTx,
    /// CPU time of the proxy for one transaction or connection.
    ProxyCpuUsPerTx,
    /// CPU time of the client for one transaction or connection.
    ClientCpuUsPerTx,
    /// Proportional set size of the proxy, or of both halves of a pair, in the middle of the work.
    ProxyPssMib,
    /// How busy the link was in its busier direction, in per cent of what TCP can have of it.
    LinkBusyPercent,
    /// How busy the busiest of server, proxy and client was, in per cent of a core; where each host has one core, that of
    /// the busier host.
    CoreBusyPercent,
    /// Transactions or scans that were measured.
    Count,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times, bytes, CPU.
    Less,
    /// Rates of work.
    More,
    /// It describes, it does not judge.
    Neither,
}

impl Metric {
    /// All, in the order of columns.
    pub const ALL: [Self; 24] = [
        Self::TimeS,
        Self::QueryTimeS,
        Self::TransactionsPerS,
        Self::LatencyP50Ms,
        Self::LatencyP95Ms,
        Self::LatencyP99Ms,
        Self::PlainBytes,
        Self::WireBytes,
        Self::WrittenBytes,
        Self::MeanMbPerS,
        Self::PeakMbPerS,
        Self::WireBytesPerTx,
        Self::ServerCpuS,
        Self::ProxyCpuS,
        Self::ClientCpuS,
        Self::DonorCpuS,
        Self::JoinerCpuS,
        Self::ServerCpuUsPerTx,
        Self::ProxyCpuUsPerTx,
        Self::ClientCpuUsPerTx,
        Self::ProxyPssMib,
        Self::LinkBusyPercent,
        Self::CoreBusyPercent,
        Self::Count,
    ];

    /// The name in files, unit included.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TimeS => "time_s",
            Self::QueryTimeS => "query_time_s",
            Self::TransactionsPerS => "transactions_per_s",
            Self::LatencyP50Ms => "latency_p50_ms",
            Self::LatencyP95Ms => "latency_p95_ms",
            Self::LatencyP99Ms => "latency_p99_ms",
            Self::PlainBytes => "plain_bytes",
            Self::WireBytes => "wire_bytes",
            Self::WrittenBytes => "written_bytes",
            Self::MeanMbPerS => "mean_mb_per_s",
            Self::PeakMbPerS => "peak_mb_per_s",
            Self::WireBytesPerTx => "wire_bytes_per_tx",
            Self::ServerCpuS => "server_cpu_s",
            Self::ProxyCpuS => "proxy_cpu_s",
            Self::ClientCpuS => "client_cpu_s",
            Self::DonorCpuS => "donor_cpu_s",
            Self::JoinerCpuS => "joiner_cpu_s",
            Self::ServerCpuUsPerTx => "server_cpu_us_per_tx",
            Self::ProxyCpuUsPerTx => "proxy_cpu_us_per_tx",
            Self::ClientCpuUsPerTx => "client_cpu_us_per_tx",
            Self::ProxyPssMib => "proxy_pss_mib",
            Self::LinkBusyPercent => "link_busy_percent",
            Self::CoreBusyPercent => "core_busy_percent",
            Self::Count => "count",
        }
    }

    /// The heading of a column, unit included.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Self::TimeS => "seconds",
            Self::QueryTimeS => "query s",
            Self::TransactionsPerS => "tx/s",
            Self::LatencyP50Ms => "p50 ms",
            Self::LatencyP95Ms => "p95 ms",
            Self::LatencyP99Ms => "p99 ms",
            Self::PlainBytes => "plain MB",
            Self::WireBytes => "wire MB",
            Self::WrittenBytes => "written MB",
            Self::MeanMbPerS => "mean MB/s",
            Self::PeakMbPerS => "peak MB/s",
            Self::WireBytesPerTx => "wire B/tx",
            Self::ServerCpuS => "server CPU s",
            Self::ProxyCpuS => "proxy CPU s",
            Self::ClientCpuS => "client CPU s",
            Self::DonorCpuS => "donor CPU s",
            Self::JoinerCpuS => "joiner CPU s",
            Self::ServerCpuUsPerTx => "server us/tx",
            Self::ProxyCpuUsPerTx => "proxy us/tx",
            Self::ClientCpuUsPerTx => "client us/tx",
            Self::ProxyPssMib => "proxy PSS MiB",
            Self::LinkBusyPercent => "link busy %",
            Self::CoreBusyPercent => "core busy %",
            Self::Count => "count",
        }
    }

    /// What a value is divided by under [`Self::heading`]: bytes are shown as megabytes (10^6).
    #[must_use]
    pub const fn heading_divisor(self) -> f64 {
        match self {
            Self::PlainBytes | Self::WireBytes | Self::WrittenBytes => 1e6,
            _ => 1.0,
        }
    }

    /// Which way is better.
    #[must_use]
    pub const fn better(self) -> Better {
        match self {
            Self::TransactionsPerS => Better::More,
            Self::PlainBytes
            | Self::MeanMbPerS
            | Self::PeakMbPerS
            | Self::LinkBusyPercent
            | Self::CoreBusyPercent
            | Self::Count => Better::Neither,
            _ => Better::Less,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_one_in_files_and_the_order_that_of_columns() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_string(&metric).unwrap(), format!("\"{}\"", metric.name()));
        }
        assert!(Metric::ALL.is_sorted());
    }
}
