//! What each listener has: its address and server, compression, TLS of both legs, times.
//!
//! Not here: what the process has once (`process`).

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use codec::{Algorithm, AlgorithmSet, ZlibLevel, ZstdLevel};
use proxy::{
    Address, Fingerprint, ListenerConfig, ListenerTls, Monitor, Network, PairConfig, Policy, SendProxy,
    SslMode, TlsMode, make_self_signed,
};
use serde::Deserialize;

use super::values::{
    Percent, PolicyWish, SendProxyWish, SslWish, StrategyWish, TlsWish, Wishes, list, number, parsed,
};

/// Settings of one listener and of what lies behind it.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(crate) struct ListenerSettings {
    /// Where clients connect: host:port, [ipv6]:port or unix:/path. Port 0 lets the system choose.
    #[arg(long, value_name = "ADDR")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) listen: Option<Address>,
    /// Instead of --listen: where another wirepress connects, which names this one by --server wirepress://host:port.
    #[arg(long, value_name = "ADDR", conflicts_with = "listen")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) pair_listen: Option<Address>,
    /// The MySQL or MariaDB server, or several that hold the same data; a name is looked up anew for each connection.
    /// wirepress://host:port is the --pair-listen of another wirepress, the other half of a pair.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub(crate) server: Option<Vec<Address>>,
    /// Which of several servers a new session is given: the first that is up, or the one with the least connections
    /// [default: first-available].
    #[arg(long, value_name = "STRATEGY", value_enum)]
    pub(crate) routing_strategy: Option<StrategyWish>,
    /// Seconds between two checks of each of several servers, 0 for no checks: a server that doesn't greet three times
    /// in a row gets no new sessions until it has greeted twice [default: 2].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) health_check_interval: Option<u64>,
    /// Seconds that the greeting, and the answers to --monitor-user, may take in such a check [default: 3].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) health_check_timeout: Option<u64>,
    /// An account by which checks also find out whether a Galera node is Synced and a replica's threads run.
    #[arg(long, value_name = "NAME", requires = "monitor_password_file")]
    pub(crate) monitor_user: Option<String>,
    /// A file whose first line is the password of --monitor-user.
    #[arg(long, value_name = "FILE", requires = "monitor_user")]
    pub(crate) monitor_password_file: Option<PathBuf>,
    /// Seconds for a server to accept a connection, for each address of its name [default: 10].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) connect_timeout: Option<u64>,

    /// Peers that must begin with a PROXY protocol header, version 1 or 2, and are believed: addresses, prefixes
    /// such as 10.0.0.0/8, or unix [default: nobody].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub(crate) proxy_protocol_from: Option<Vec<Network>>,
    /// Tell the server the client's address by a PROXY protocol header; MySQL itself has no such protocol and finds
    /// it in the connection attributes _client_ip and _client_port.
    #[arg(long, value_name = "VERSION", value_enum)]
    pub(crate) send_proxy: Option<SendProxyWish>,

    /// A file whose first line, of 32 characters at least, is the same at both ends of a pair: each proves that it knows
    /// it, over TLS. Without it, or certificates, a pair stays on one host.
    #[arg(long, value_name = "FILE")]
    pub(crate) pair_key: Option<PathBuf>,
    /// Connections to the other half that each worker keeps ready, so that a session needs no handshake across the link
    /// [default: 2].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) pair_warm_connections: Option<u16>,
    /// Seconds of silence after which a session of a pair gives its compression history back [default: 10].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pair_history_timeout: Option<u64>,

    /// What clients may use; without 'uncompressed' a client that can't compress is refused
    /// [default: zstd,zlib,uncompressed].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub(crate) protocol_compression_algorithms: Option<Vec<Algorithm>>,
    /// What to ask the server for: 'auto', or a list in order of wish. 'auto' is zstd, else zlib, else none; but with --policy
    /// latency it is what brings replies soonest, by what the link has shown: none for the first session [default: auto].
    #[arg(long, value_name = "LIST")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) compression_algorithms: Option<Wishes>,
    /// zstd level towards the server, 1-22: asked of it, and used by the proxy itself [default: 3; up to 7 where --policy
    /// latency finds the link slow enough].
    #[arg(long, value_name = "N")]
    #[serde(deserialize_with = "number")]
    pub(crate) zstd_compression_level: Option<ZstdLevel>,
    /// Highest zstd level that a client may cost, 1-22; a higher wish is accepted and capped [default: 3; up to 7 where
    /// --policy latency finds the link slow enough].
    #[arg(long, value_name = "N")]
    #[serde(deserialize_with = "number")]
    pub(crate) zstd_compression_level_max: Option<ZstdLevel>,
    /// zlib level of the proxy's own frames, 1-12 in libdeflate's counting [default: 1].
    #[arg(long, value_name = "N")]
    #[serde(deserialize_with = "number")]
    pub(crate) zlib_compression_level: Option<ZlibLevel>,
    /// Which of the proxy's own frames are packed: all of them at the level that was asked for, or those that are there
    /// sooner for it, or those by which the fewest bytes are sent within --cost-cpu-percent and --cost-p99-percent
    /// [default: latency].
    #[arg(long, value_name = "POLICY", value_enum)]
    pub(crate) policy: Option<PolicyWish>,
    /// With --policy cost: what packing may add to a reply, in per cent of the time that 99 of 100 replies on the link take
    /// at most, or of what the reply itself has taken, if that is longer. 0: nothing but what the link hides [default: 25].
    #[arg(long, value_name = "PERCENT")]
    #[serde(deserialize_with = "number")]
    pub(crate) cost_p99_percent: Option<Percent>,

    /// Whether SHOW STATUS and its like tell a client of its own leg's compression (Compression, Compression_algorithm,
    /// Compression_level), and not of the server leg's [default: true].
    #[arg(long, value_name = "BOOL")]
    pub(crate) intercept_session_status: Option<bool>,
    /// How many bytes of the statement that runs the admin ports show as 'info', 65536 at most, 0 for nothing of it:
    /// statements may hold what is secret [default: 0].
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=65536))]
    pub(crate) query_text: Option<u32>,

    /// Whether clients may, or must, use TLS [default: preferred with a certificate, else off].
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) tls: Option<TlsWish>,
    /// The listener's certificate and what signed it, PEM. Files are read again when they change.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert, PEM, not encrypted.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Instead of --tls-cert and --tls-key: a self-signed pair in this folder, which must exist; the pair is made there if it is missing.
    #[arg(long, value_name = "FOLDER", conflicts_with = "tls_cert")]
    pub(crate) tls_self_signed: Option<PathBuf>,
    /// Clients that use TLS must present a certificate that one of these authorities signed, PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_client_ca: Option<PathBuf>,

    /// TLS towards the server, as in MySQL's clients [default: preferred, or verify_ca with --ssl-ca].
    #[arg(long, value_name = "MODE", value_enum, ignore_case = true)]
    pub(crate) ssl_mode: Option<SslWish>,
    /// Authorities that may have signed the server's certificate, PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) ssl_ca: Option<PathBuf>,
    /// The proxy's own certificate towards the server, PEM.
    #[arg(long, value_name = "FILE", requires = "ssl_key")]
    pub(crate) ssl_cert: Option<PathBuf>,
    /// The private key of --ssl-cert, PEM, not encrypted.
    #[arg(long, value_name = "FILE", requires = "ssl_cert")]
    pub(crate) ssl_key: Option<PathBuf>,
    /// SHA-256 fingerprint of the only certificate that the server may have, whoever signed it.
    #[arg(long, value_name = "HEX")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) ssl_fp: Option<Fingerprint>,

    /// Seconds for a client's login. Keep it below the server's connect_timeout [default: 8].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) login_timeout: Option<u64>,
    /// Longest silence, in seconds, in the middle of a client's packet [default: 30].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) net_read_timeout: Option<u64>,
    /// Longest silence, in seconds, between two commands, 0 for no limit: a statement that runs for hours is none
    /// [default: 0].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle_timeout: Option<u64>,
    /// Seconds after which a peer counts as dead that acknowledges nothing. It also ends one that stops reading for
    /// that long [default: 900].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) tcp_user_timeout: Option<u64>,
}

impl ListenerSettings {
    /// These settings where `over` has none.
    pub(crate) fn overridden_by(self, over: Self) -> Self {
        macro_rules! either {
            ($($field:ident),* $(,)?) => { Self { $($field: over.$field.or(self.$field)),* } };
        }
        either! {
            listen, pair_listen, pair_key, pair_warm_connections, pair_history_timeout, server, routing_strategy, health_check_interval, health_check_timeout, monitor_user,
            monitor_password_file, connect_timeout, proxy_protocol_from, send_proxy, protocol_compression_algorithms, compression_algorithms, zstd_compression_level,
            zstd_compression_level_max, zlib_compression_level, policy, cost_p99_percent, intercept_session_status, query_text, tls, tls_cert, tls_key, tls_self_signed,
            tls_client_ca, ssl_mode, ssl_ca, ssl_cert, ssl_key, ssl_fp, login_timeout, net_read_timeout, idle_timeout, tcp_user_timeout,
        }
    }

    /// The listener's configuration. Makes a self-signed certificate if one is asked for.
    pub(crate) fn config(self) -> anyhow::Result<ListenerConfig> {
        let tls = self.listener_tls()?;
        let (listen, is_pair) = self.listen_address()?;
        let servers = self.server.context("--server is missing: the MySQL or MariaDB server")?;
        let first = servers.first().context("--server is empty: name the MySQL or MariaDB server")?.clone();
        let mut config = ListenerConfig::new(listen, first);
        config.servers = servers;
        config.is_pair = is_pair;
        config.routing_strategy = self.routing_strategy.map_or_else(Default::default, Into::into);
        config.health_check.monitor = match (self.monitor_user, self.monitor_password_file) {
            (Some(user), Some(password_file)) => Some(Monitor { user, password_file }),
            (None, None) => None,
            _ => bail!("monitor-user and monitor-password-file go together"),
        };
        config.tls = tls;
        config.send_proxy = self.send_proxy.map(|version| match version {
            SendProxyWish::V1 => SendProxy::V1,
            SendProxyWish::V2 => SendProxy::V2,
        });
        config.server_tls.mode = self.ssl_mode.map(SslMode::from);
        config.server_tls.ca = self.ssl_ca;
        config.server_tls.cert = self.ssl_cert;
        config.server_tls.key = self.ssl_key;
        config.server_tls.fingerprint = self.ssl_fp;
        let seconds = Duration::from_secs;
        macro_rules! set {
            ($($field:ident = $value:expr;)*) => { $(if let Some(value) = $value { config.$field = value; })* };
        }
        set! {
            pair = self.pair_key.map(|key| PairConfig { key: Some(key), ..PairConfig::default() });
            proxy_protocol_from = self.proxy_protocol_from;
            permitted = self.protocol_compression_algorithms.map(|list| AlgorithmSet::of(&list));
            zstd_level = self.zstd_compression_level.map(Some);
            zstd_level_max = self.zstd_compression_level_max.map(Some);
            zlib_level = self.zlib_compression_level;
            policy = Some(self.policy.map_or(Policy::OF_THE_PROGRAM, Policy::from));
            cost_p99_percent = self.cost_p99_percent.map(|percent| percent.0);
            intercept_session_status = self.intercept_session_status;
            query_text_len_max = self.query_text.map(|len| usize::try_from(len).unwrap_or_default());
            connect_timeout = self.connect_timeout.map(seconds);
            login_timeout = self.login_timeout.map(seconds);
            net_read_timeout = self.net_read_timeout.map(seconds);
            idle_timeout = self.idle_timeout.map(|limit| (limit > 0).then(|| seconds(limit)));
            tcp_user_timeout = self.tcp_user_timeout.map(seconds);
        }
        if let Some(Wishes::Only(algorithms)) = self.compression_algorithms {
            config.server_algorithms = algorithms;
            config.server_algorithms_are_free = false;
        }
        let pair = &mut config.pair;
        pair.warm_connections = self.pair_warm_connections.map_or(pair.warm_connections, usize::from);
        pair.history_timeout = self.pair_history_timeout.map_or(pair.history_timeout, seconds);
        let check = &mut config.health_check;
        if let Some(interval) = self.health_check_interval {
            check.interval = (interval > 0).then(|| seconds(interval));
        }
        if let Some(limit) = self.health_check_timeout {
            check.timeout = seconds(limit);
        }
        if check.interval.is_none() && check.monitor.is_some() {
            bail!("monitor-user needs health checks; leave health-check-interval = 0 out");
        }
        if config.query_text_len_max > QUERY_TEXT_LEN_MAX {
            bail!(
                "query-text is {}; it can be {QUERY_TEXT_LEN_MAX} bytes at most",
                config.query_text_len_max
            );
        }
        Ok(config)
    }

    /// Where to listen, and whether for a pair.
    fn listen_address(&self) -> anyhow::Result<(Address, bool)> {
        match (&self.listen, &self.pair_listen) {
            (Some(Address::Pair(_)), None) | (None, Some(Address::Pair(_))) => bail!(
                "wirepress:// stands before a pair's address in --server; to listen for a pair give --pair-listen"
            ),
            (Some(listen), None) => Ok((listen.clone(), false)),
            (None, Some(listen)) => Ok((listen.clone(), true)),
            (Some(_), Some(_)) => bail!("listen and pair-listen are two listeners: give one of them here"),
            (None, None) => {
                bail!("--listen is missing: where clients connect (or --pair-listen: where a pair does)")
            }
        }
    }

    fn listener_tls(&self) -> anyhow::Result<Option<ListenerTls>> {
        let pair = match (&self.tls_cert, &self.tls_key, &self.tls_self_signed) {
            _ if self.tls == Some(TlsWish::Off) => None,
            (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                bail!("tls-self-signed stands instead of tls-cert and tls-key; give one or the other")
            }
            (Some(cert), Some(key), None) => Some((cert.clone(), key.clone())),
            (None, None, Some(folder)) => Some(make_self_signed(folder)?),
            (None, None, None) => None,
            (Some(_), None, None) | (None, Some(_), None) => bail!("tls-cert and tls-key go together"),
        };
        let mode = match (self.tls, &pair) {
            (Some(TlsWish::Off), _) | (None, None) => return Ok(None),
            (Some(TlsWish::Required), _) => TlsMode::Required,
            (Some(TlsWish::Preferred), _) | (None, Some(_)) => TlsMode::Preferred,
        };
        let (cert, key) =
            pair.context("TLS needs a certificate: tls-cert and tls-key, or tls-self-signed")?;
        Ok(Some(ListenerTls { mode, cert, key, client_ca: self.tls_client_ca.clone() }))
    }
}

/// As long as a text of MySQL's process list can be by default.
const QUERY_TEXT_LEN_MAX: usize = 1 << 16;
