//! What an operator may set; each field already has the type that the code needs.
//!
//! Not here: command-line arguments (crate `cli`), limits of the protocol itself (`wire::limits`).

use std::path::PathBuf;
use std::time::Duration;

use codec::{Algorithm, AlgorithmSet, ZlibLevel, ZstdLevel};

use crate::tls::{ListenerTls, ServerTls};
use crate::{Address, Network};

/// Settings of a proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// At least one.
    pub listeners: Vec<ListenerConfig>,
    /// `--workers`: threads that serve sessions. By default one per CPU that this process may use: affinity and cgroup
    /// quotas count.
    pub workers: usize,
    /// `--io-uring`: small sends of a worker's sessions go to the kernel together, where it lets us.
    pub io_uring: bool,
    /// `--connections-max`; `None`: what the limit of open files allows.
    pub connections_max: Option<usize>,
    /// `--connections-per-address-max`: from one client address; 0 for no limit.
    pub connections_per_address_max: usize,
    /// Frames and packets that are larger than an ordinary buffer, all together, bytes.
    pub buffer_memory_max: usize,
    /// `--cost-cpu-percent`: CPU time that packing by [`Policy::Cost`] may take, all sessions together, in per cent of one core.
    pub cost_cpu_percent: u32,
}

/// Version of the PROXY protocol that the server is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendProxy {
    /// A line of text.
    V1,
    /// Binary, with a checksum.
    V2,
}

/// `--routing-strategy`: which of several servers a new session is given. The names are MySQL Router's, but for the
/// second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RoutingStrategy {
    /// The first in the list that is up.
    #[default]
    FirstAvailable,
    /// The one with the fewest sessions of this proxy; equals take turns.
    LeastConnections,
}

/// `--policy`: how hard frames are packed that the proxy itself makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    /// All of them, at the level that was asked for.
    #[default]
    Fixed,
    /// Those that are there sooner for it, at the level that brings them there first (`codec::pace`).
    Latency,
    /// Those, and at the level, by which the fewest bytes are sent within budgets of CPU and time (`codec::pace::Thrift`).
    Cost,
}

impl Policy {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Fixed, Self::Latency, Self::Cost];
    /// What the program does unless it is told otherwise; who uses this library gets what they ask for.
    pub const OF_THE_PROGRAM: Self = Self::Latency;

    /// As the option has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Latency => "latency",
            Self::Cost => "cost",
        }
    }
}

/// How servers are looked after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// `--health-check-interval`: pause between two checks of a server; `None` for none at all.
    pub interval: Option<Duration>,
    /// `--health-check-timeout`: longest time that a check may take.
    pub timeout: Duration,
    /// Who asks the servers about themselves; without, they only have to greet.
    pub monitor: Option<Monitor>,
}

/// The monitor account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitor {
    /// `--monitor-user`.
    pub user: String,
    /// `--monitor-password-file`: its first line is the password.
    pub password_file: PathBuf,
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self { interval: Some(Duration::from_secs(2)), timeout: Duration::from_secs(3), monitor: None }
    }
}

impl HealthCheck {
    /// Whether checks would change anything: a single server is found to be down by whoever dials it.
    pub fn is_needed(&self, servers: usize) -> bool {
        self.interval.is_some() && (servers > 1 || self.monitor.is_some())
    }
}

/// What both halves of a pair have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairConfig {
    /// `--pair-key`: a file whose first line is the same at both ends.
    pub key: Option<PathBuf>,
    /// `--pair-warm-connections`: streams that each worker keeps ready for new sessions.
    pub warm_connections: usize,
    /// `--pair-history-timeout`: silence of a direction after which its histories and buffers are given back.
    pub history_timeout: Duration,
}

impl Default for PairConfig {
    fn default() -> Self {
        Self { key: None, warm_connections: 2, history_timeout: Duration::from_secs(10) }
    }
}

/// Settings of one listener and of what lies behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListenerConfig {
    /// Where clients connect.
    pub listen: Address,
    /// `--pair-listen`: who connects is another wirepress.
    pub is_pair: bool,
    /// Keys and limits of pairs, at either end.
    pub pair: PairConfig,
    /// Where the servers are; at least one.
    pub servers: Vec<Address>,
    /// Which of them a session is given.
    pub routing_strategy: RoutingStrategy,
    /// How they are looked after.
    pub health_check: HealthCheck,
    /// The client leg's TLS; `None` means that it isn't offered.
    pub tls: Option<ListenerTls>,
    /// The server leg's TLS.
    pub server_tls: ServerTls,
    /// `--proxy-protocol-from`: peers that must begin with a PROXY protocol header, and are believed.
    pub proxy_protocol_from: Vec<Network>,
    /// `--send-proxy`: how the server is told the client's address.
    pub send_proxy: Option<SendProxy>,
    /// `--protocol-compression-algorithms`: what clients may use.
    pub permitted: AlgorithmSet,
    /// `--zstd-compression-level-max`; see [`ListenerConfig::zstd_level_max`].
    pub zstd_level_max: Option<ZstdLevel>,
    /// `--compression-algorithms`: what the server leg asks for, in order of wish.
    pub server_algorithms: Vec<Algorithm>,
    /// `--compression-algorithms auto`: with [`Policy::Latency`] the link has a say in it, from the second session on.
    pub server_algorithms_are_free: bool,
    /// `--zstd-compression-level`; see [`ListenerConfig::zstd_level`].
    pub zstd_level: Option<ZstdLevel>,
    /// `--zlib-compression-level`: what the proxy packs with, on both legs.
    pub zlib_level: ZlibLevel,
    /// Which frames are packed.
    pub policy: Policy,
    /// `--cost-p99-percent`: what packing by [`Policy::Cost`] may add to a reply, in per cent of the time that all but one in a
    /// hundred exchanges on the link take, or of the exchange's own if that is longer.
    pub cost_p99_percent: u32,
    /// `--intercept-session-status`: where the client asks for `Compression`, `Compression_algorithm` and
    /// `Compression_level` of its session, it is told of its own leg.
    pub intercept_session_status: bool,
    /// `--query-text`: how many bytes of the statement that runs may be seen from outside; 0: nothing of it.
    pub query_text_len_max: usize,
    /// Longest wait for a packet of the login. Below the default of the server's `connect_timeout`, 10 s, so that a
    /// silent client's handshake is ended before the server counts it as an error.
    pub login_timeout: Duration,
    /// Longest silence in the middle of a client's packet or frame, as MySQL's `net_read_timeout`.
    pub net_read_timeout: Duration,
    /// `--connect-timeout`: longest wait for the server's socket to accept, for each of its addresses.
    pub connect_timeout: Duration,
    /// `--idle-timeout`: longest silence between two commands; `None` for no limit.
    pub idle_timeout: Option<Duration>,
    /// `--tcp-user-timeout`: how long sent bytes may stay unacknowledged before a peer counts as dead.
    pub tcp_user_timeout: Duration,
}

impl ListenerConfig {
    /// Defaults between `listen` and `server`.
    pub fn new(listen: Address, server: Address) -> Self {
        Self {
            listen,
            is_pair: false,
            pair: PairConfig::default(),
            servers: vec![server],
            routing_strategy: RoutingStrategy::default(),
            health_check: HealthCheck::default(),
            tls: None,
            server_tls: ServerTls::default(),
            proxy_protocol_from: Vec::new(),
            send_proxy: None,
            permitted: AlgorithmSet::ALL,
            zstd_level_max: None,
            server_algorithms: Algorithm::ALL.to_vec(),
            server_algorithms_are_free: true,
            zstd_level: None,
            zlib_level: ZlibLevel::DEFAULT,
            policy: Policy::default(),
            cost_p99_percent: COST_P99_PERCENT,
            intercept_session_status: true,
            query_text_len_max: 0,
            login_timeout: Duration::from_secs(8),
            net_read_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: None,
            tcp_user_timeout: Duration::from_secs(900),
        }
    }
}

impl ListenerConfig {
    /// Asked of the server, and what the proxy packs with towards it.
    #[must_use]
    pub fn zstd_level(&self) -> ZstdLevel {
        self.zstd_level.unwrap_or(ZstdLevel::DEFAULT)
    }

    /// A client's higher level is accepted and capped.
    #[must_use]
    pub fn zstd_level_max(&self) -> ZstdLevel {
        self.zstd_level_max.unwrap_or(ZstdLevel::DEFAULT)
    }

    /// The highest level of frames where the policy chooses it.
    pub(crate) fn paced_zstd_level_max(&self) -> ZstdLevel {
        match self.policy {
            Policy::Latency => self.zstd_level_max.unwrap_or(ZstdLevel::SLOW_LINK),
            Policy::Cost | Policy::Fixed => self.zstd_level_max(),
        }
    }

    /// The highest level that the server may be asked for where its link has a say in it.
    pub(crate) fn server_zstd_level_max(&self) -> ZstdLevel {
        self.zstd_level.unwrap_or(ZstdLevel::SLOW_LINK)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listeners: Vec::new(),
            workers: num_cpus::get(),
            io_uring: true,
            connections_max: None,
            connections_per_address_max: 0,
            buffer_memory_max: 256 << 20,
            cost_cpu_percent: COST_CPU_PERCENT,
        }
    }
}

impl Config {
    /// Connections that there may be: each needs two open files.
    pub fn connections_max(&self) -> usize {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let files = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
        let possible = files.saturating_sub(FILES_RESERVED) / 2;
        self.connections_max.map_or(possible, |asked| asked.min(possible)).max(1)
    }
}

/// Raises the soft limit of open files to the hard one, as servers do.
pub fn raise_open_files_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}

/// Of the budgets of [`Policy::Cost`]: as many cores as there may be workers.
pub const COST_PERCENT_MAX: u32 = 102_400;
/// Half a core: 200 MB/s at zstd's level 1, by `cargo run --release -p wirepress-codec --example speeds`.
const COST_CPU_PERCENT: u32 = 50;
/// Whoever prefers few bytes hardly sees a quarter more; a tenth would leave replies of a loopback's speed stored.
const COST_P99_PERCENT: u32 = 25;
/// Listeners, certificates, log, runtimes.
const FILES_RESERVED: usize = 64;

impl From<ListenerConfig> for Config {
    /// One listener, and defaults.
    fn from(listener: ListenerConfig) -> Self {
        Self { listeners: vec![listener], ..Self::default() }
    }
}
