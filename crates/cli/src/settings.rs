//! Settings of the proxy: each is an option of the command line and, by the same name, a key of the config file.
//!
//! ```text
//! defaults (`proxy::ListenerConfig`) <- config file <- command line
//! ```
//! Option names are MySQL's own where it has one. Not here: reading the file (`config_file`).

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use admin::{Prices, Setup};
use anyhow::{Context, bail};
use codec::{Algorithm, AlgorithmSet, ZlibLevel, ZstdLevel};
use proxy::{
    Address, Config, Fingerprint, ListenerConfig, ListenerTls, Monitor, Network, PairConfig, Policy,
    RoutingStrategy, SendProxy, SslMode, TlsMode, make_self_signed,
};
use serde::{Deserialize, Deserializer};

use crate::flood::LINES_PER_SECOND;
use crate::log::LogFormat;

/// Settings of the whole process.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(crate) struct ProcessSettings {
    /// Threads that serve sessions [default: one per CPU that this process may use, by affinity and cgroup quota].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) workers: Option<u16>,
    /// Whether the small sends of many sessions go to the kernel together, by io_uring: wherever the kernel lets us, or
    /// never [default: auto].
    #[arg(long, value_name = "WHEN", value_enum)]
    pub(crate) io_uring: Option<IoUringWish>,
    /// Connections at most; more are refused with MySQL's error 1040 [default: what the limit of open files allows].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections_max: Option<u32>,
    /// Connections at most from one client address, or one /64 of IPv6; 0 for no limit [default: 0].
    #[arg(long, value_name = "N")]
    pub(crate) connections_per_address_max: Option<u32>,
    /// Seconds that a drain (SIGTERM, a handover) gives to sessions that hold a transaction, a cursor or a running
    /// statement [default: 30].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) drain_timeout: Option<u64>,
    /// A socket file by which a new process takes the listening sockets over; the old one then drains.
    #[arg(long, value_name = "FILE")]
    pub(crate) handover: Option<PathBuf>,
    /// Memory for packets and frames that are larger than an ordinary buffer, in MiB, at least 32 [default: 256].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(32..))]
    pub(crate) buffer_memory: Option<u32>,
    /// With --policy cost: CPU time that packing may take, of all sessions of this process together, in per cent of one core,
    /// as top counts it: 200 is all of two cores. 0: everything goes stored [default: 50].
    #[arg(long, value_name = "PERCENT")]
    #[serde(deserialize_with = "number")]
    pub(crate) cost_cpu_percent: Option<Percent>,
    /// Where operators ask SQL about the running proxy: unix:/path, or host:port with a password [default: nowhere].
    #[arg(long, value_name = "ADDR")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) admin_listen: Option<Address>,
    /// Where the web page and monitoring are, by HTTP (/, /metrics, /healthz, /readyz, /api): unix:/path, or host:port with a
    /// password [default: nowhere].
    #[arg(long, value_name = "ADDR")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) admin_http_listen: Option<Address>,
    /// The account of the admin ports [default: admin].
    #[arg(long, value_name = "NAME")]
    pub(crate) admin_user: Option<String>,
    /// A file whose first line is the admin account's password; a Unix socket may do without.
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_password_file: Option<PathBuf>,
    /// The admin port's certificate, PEM: needed where other hosts reach --admin-listen, who must then use TLS.
    #[arg(long, value_name = "FILE", requires = "admin_tls_key")]
    pub(crate) admin_tls_cert: Option<PathBuf>,
    /// The private key of --admin-tls-cert, PEM, not encrypted.
    #[arg(long, value_name = "FILE", requires = "admin_tls_cert")]
    pub(crate) admin_tls_key: Option<PathBuf>,
    /// Instead of both: a self-signed pair in this folder, made there if it is missing.
    #[arg(long, value_name = "FOLDER", conflicts_with = "admin_tls_cert")]
    pub(crate) admin_tls_self_signed: Option<PathBuf>,
    /// What 10^9 bytes cost on the network, in whatever currency: the admin port then tells what is saved [default: none].
    #[arg(long, value_name = "PRICE")]
    pub(crate) price_per_gb: Option<f64>,
    /// What an hour of one core costs, which is taken off what is saved [default: none].
    #[arg(long, value_name = "PRICE")]
    pub(crate) price_per_core_hour: Option<f64>,
    /// Log lines to write: error, warn, info or debug [default: info].
    #[arg(long, value_name = "LEVEL")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) log_level: Option<tracing::Level>,
    /// How log lines look: text, or an object of JSON in each line [default: text].
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) log_format: Option<LogFormat>,
    /// Log lines of one kind (the same words, side, phase and cause) that are written in a second; the others are counted,
    /// and told of every 10 seconds. 0 for no limit [default: 100].
    #[arg(long, value_name = "LINES")]
    pub(crate) log_rate_limit: Option<u32>,
}

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
    /// zstd level towards the server, 1-22: asked of it, and used by the proxy itself [default: 3].
    #[arg(long, value_name = "N")]
    #[serde(deserialize_with = "number")]
    pub(crate) zstd_compression_level: Option<ZstdLevel>,
    /// Highest zstd level that a client may cost, 1-22; a higher wish is accepted and capped [default: 3].
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
    /// Instead of --tls-cert and --tls-key: a self-signed pair in this folder, made there if it is missing.
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

/// A share of something that may be several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percent(u32);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let percent = text.parse().ok().filter(|percent| *percent <= proxy::COST_PERCENT_MAX);
        percent
            .map(Self)
            .ok_or_else(|| format!("it takes a whole number of per cent, 0 to {}", proxy::COST_PERCENT_MAX))
    }
}

/// What the server leg asks for, in order of wish.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wishes {
    /// What the link asks for, by the policy; else the best there is.
    Auto,
    /// One of these.
    Only(Vec<Algorithm>),
}

impl FromStr for Wishes {
    type Err = codec::UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        text.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Self::Only)
    }
}

/// `--tls`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TlsWish {
    /// It is not offered.
    Off,
    /// It is offered.
    Preferred,
    /// Clients without it are refused, but for those on a Unix socket.
    Required,
}

/// `--routing-strategy`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StrategyWish {
    /// The first in the list that is up.
    FirstAvailable,
    /// The one with the fewest sessions of this proxy.
    LeastConnections,
}

/// `--io-uring`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum IoUringWish {
    /// Where the kernel lets us.
    Auto,
    /// Never.
    Off,
}

/// `--policy`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PolicyWish {
    /// All, at the level that was asked for.
    Fixed,
    /// Those that are there sooner for it.
    Latency,
    /// Those by which the fewest bytes are sent within the budgets.
    Cost,
}

/// `--send-proxy`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SendProxyWish {
    /// A line of text.
    V1,
    /// Binary, with a checksum.
    V2,
}

/// `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum, Deserialize)]
#[clap(rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub(crate) enum SslWish {
    /// No TLS.
    Disabled,
    /// TLS where the server offers it; not on a Unix socket.
    Preferred,
    /// TLS, whoever the server is.
    Required,
    /// And its certificate comes from --ssl-ca.
    VerifyCa,
    /// And it names the host.
    VerifyIdentity,
}

impl From<StrategyWish> for RoutingStrategy {
    fn from(wish: StrategyWish) -> Self {
        match wish {
            StrategyWish::FirstAvailable => Self::FirstAvailable,
            StrategyWish::LeastConnections => Self::LeastConnections,
        }
    }
}

impl From<PolicyWish> for Policy {
    fn from(wish: PolicyWish) -> Self {
        match wish {
            PolicyWish::Fixed => Self::Fixed,
            PolicyWish::Latency => Self::Latency,
            PolicyWish::Cost => Self::Cost,
        }
    }
}

impl From<SslWish> for SslMode {
    fn from(wish: SslWish) -> Self {
        match wish {
            SslWish::Disabled => Self::Disabled,
            SslWish::Preferred => Self::Preferred,
            SslWish::Required => Self::Required,
            SslWish::VerifyCa => Self::VerifyCa,
            SslWish::VerifyIdentity => Self::VerifyIdentity,
        }
    }
}

impl ProcessSettings {
    /// These settings where `over` has none.
    pub(crate) fn overridden_by(self, over: Self) -> Self {
        Self {
            workers: over.workers.or(self.workers),
            io_uring: over.io_uring.or(self.io_uring),
            connections_max: over.connections_max.or(self.connections_max),
            connections_per_address_max: over
                .connections_per_address_max
                .or(self.connections_per_address_max),
            drain_timeout: over.drain_timeout.or(self.drain_timeout),
            handover: over.handover.or(self.handover),
            buffer_memory: over.buffer_memory.or(self.buffer_memory),
            cost_cpu_percent: over.cost_cpu_percent.or(self.cost_cpu_percent),
            admin_listen: over.admin_listen.or(self.admin_listen),
            admin_http_listen: over.admin_http_listen.or(self.admin_http_listen),
            admin_user: over.admin_user.or(self.admin_user),
            admin_password_file: over.admin_password_file.or(self.admin_password_file),
            admin_tls_cert: over.admin_tls_cert.or(self.admin_tls_cert),
            admin_tls_key: over.admin_tls_key.or(self.admin_tls_key),
            admin_tls_self_signed: over.admin_tls_self_signed.or(self.admin_tls_self_signed),
            price_per_gb: over.price_per_gb.or(self.price_per_gb),
            price_per_core_hour: over.price_per_core_hour.or(self.price_per_core_hour),
            log_level: over.log_level.or(self.log_level),
            log_format: over.log_format.or(self.log_format),
            log_rate_limit: over.log_rate_limit.or(self.log_rate_limit),
        }
    }

    /// How log lines look.
    pub(crate) fn log_format(&self) -> LogFormat {
        self.log_format.unwrap_or_default()
    }

    /// Log lines of one kind in a second.
    pub(crate) fn log_rate_limit(&self) -> u32 {
        self.log_rate_limit.unwrap_or(LINES_PER_SECOND)
    }

    /// Log lines to write.
    pub(crate) fn log_level(&self) -> tracing::Level {
        self.log_level.unwrap_or(tracing::Level::INFO)
    }

    /// The admin ports that are asked for. Makes a self-signed certificate if one is asked for.
    pub(crate) fn admin(&self) -> anyhow::Result<Setup> {
        Ok(Setup {
            tls: self.admin_tls()?,
            listen: self.admin_listen.clone(),
            http_listen: self.admin_http_listen.clone(),
            user: self.admin_user.clone().unwrap_or_else(|| ADMIN_USER.to_owned()),
            password_file: self.admin_password_file.clone(),
            prices: Prices { per_gb: self.price_per_gb, per_core_hour: self.price_per_core_hour },
        })
    }

    fn admin_tls(&self) -> anyhow::Result<Option<ListenerTls>> {
        let (cert, key) = match (&self.admin_tls_cert, &self.admin_tls_key, &self.admin_tls_self_signed) {
            (None, None, None) => return Ok(None),
            (Some(cert), Some(key), None) => (cert.clone(), key.clone()),
            (None, None, Some(folder)) => make_self_signed(folder)?,
            (_, _, Some(_)) => {
                bail!(
                    "admin-tls-self-signed stands instead of admin-tls-cert and admin-tls-key; give one or the other"
                )
            }
            _ => bail!("admin-tls-cert and admin-tls-key go together"),
        };
        Ok(Some(ListenerTls { mode: TlsMode::Preferred, cert, key, client_ca: None }))
    }

    /// How long a drain may take.
    pub(crate) fn drain_timeout(&self) -> Duration {
        Duration::from_secs(self.drain_timeout.unwrap_or(DRAIN_SECONDS))
    }

    /// The proxy's configuration with these listeners.
    pub(crate) fn config(&self, listeners: Vec<ListenerConfig>) -> Config {
        let mut config = Config { listeners, ..Config::default() };
        config.workers = self.workers.map_or(config.workers, usize::from);
        config.io_uring = self.io_uring != Some(IoUringWish::Off);
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        config.connections_max = self.connections_max.map(count);
        config.connections_per_address_max =
            self.connections_per_address_max.map_or(config.connections_per_address_max, count);
        if let Some(mebibytes) = self.buffer_memory {
            config.buffer_memory_max = count(mebibytes).saturating_mul(1 << 20);
        }
        config.cost_cpu_percent = self.cost_cpu_percent.map_or(config.cost_cpu_percent, |it| it.0);
        config
    }
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
            zstd_level = self.zstd_compression_level;
            zstd_level_max = self.zstd_compression_level_max;
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

/// Long enough for most transactions, shorter than the patience of service managers.
const DRAIN_SECONDS: u64 = 30;

/// As long as a text of MySQL's process list can be by default.
const QUERY_TEXT_LEN_MAX: usize = 1 << 16;

const ADMIN_USER: &str = "admin";

/// A value that is written as on the command line.
fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// A number that has limits.
fn number<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let number = u64::deserialize(deserializer)?;
    number.to_string().parse().map(Some).map_err(serde::de::Error::custom)
}

/// A list, as an array or as on the command line.
fn list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a list of names")]
    enum Written {
        Array(Vec<String>),
        Text(String),
    }
    let names = match Written::deserialize(deserializer)? {
        Written::Array(names) => names,
        Written::Text(text) => text.split(',').map(|name| name.trim().to_owned()).collect(),
    };
    names
        .iter()
        .map(|name| name.parse())
        .collect::<Result<_, _>>()
        .map(Some)
        .map_err(serde::de::Error::custom)
}
