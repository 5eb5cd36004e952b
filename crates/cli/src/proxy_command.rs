//! `wirepress proxy`: runs a proxy until it is told to end; `wirepress check-config`.
//!
//! Prints one line for each listener, with its bound address, to standard output.
//! Not here: the proxy itself (crate `proxy`), what the settings mean (`settings`), signals (`words`), the log (`log`).

use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use admin::Admin;
use anyhow::{Context, bail};
use proxy::{
    Address, Config, Handover, Inheritance, Inherited, ListenerConfig, Policy, Proxy, RoutingStrategy,
    SslMode,
};

use crate::args::{CheckConfigArgs, ProxyArgs};
use crate::config_file::ConfigFile;
use crate::log::Log;
use crate::settings::{ListenerSettings, ProcessSettings};
use crate::words::{Word, Words};

/// Arguments or a config file that can't be used.
#[derive(Debug)]
pub(crate) struct BadConfig(anyhow::Error);

impl std::fmt::Display for BadConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for BadConfig {}

/// Serves until told to end.
pub(crate) fn run(args: ProxyArgs) -> anyhow::Result<()> {
    let (config, mut process) = settings(args.clone()).map_err(BadConfig)?;
    let log = Log::start(process.log_level(), process.log_format(), process.log_rate_limit())
        .context("can't start a thread")?;
    proxy::raise_open_files_limit();
    describe(&config, &process);
    let servers: Vec<String> = config.listeners.iter().map(|listener| listed(&listener.servers)).collect();

    // Before anybody is told that we listen: who tells us to drain then must be heard.
    let words = Words::new()?;
    let mut inheritance = match &process.handover {
        Some(path) => Inheritance::ask_for(path)
            .with_context(|| format!("can't take over from the process at '{}'", path.display()))?,
        None => None,
    };
    let mut sockets = inheritance.as_mut().map(|it| std::mem::take(&mut it.sockets)).unwrap_or_default();
    sockets.extend(activated_sockets(&config)?);
    let mut proxy = Proxy::start_with(config, sockets)?;
    for (address, server) in proxy.addresses().zip(servers) {
        // Scripts wait for this line; who doesn't read it may close it.
        drop(writeln!(std::io::stdout(), "listening on {address}, server {server}"));
    }
    let handover = process.handover.as_deref().map(|path| Handover::offer(path, &proxy)).transpose();
    let handover = handover.context("can't offer a handover")?;
    let took_over = inheritance.is_some();
    if let Some(inheritance) = inheritance {
        inheritance.confirm(&proxy);
    }

    let admin = Arc::new(Mutex::new(Some(open_admin(&process, &proxy, took_over)?)));
    let close_admin = move || drop(admin.lock().unwrap_or_else(PoisonError::into_inner).take());
    let counters = Arc::clone(proxy.counters());
    let handover_file = handover.as_ref().map(|handover| handover.file().clone());
    if let Some(handover) = handover {
        words.add_handover(handover)?;
    }
    loop {
        match words.next() {
            Word::Reload => match reload(&mut proxy, &args, &mut process, &log) {
                Ok(()) => tracing::info!("the configuration was read again"),
                Err(error) => tracing::error!("the configuration stays as it was: {error:#}"),
            },
            Word::Stop => {
                proxy.stop();
                break;
            }
            word @ (Word::Drain | Word::HandedOver) => {
                if word == Word::HandedOver {
                    // The successor wants its address.
                    close_admin();
                }
                let limit = process.drain_timeout();
                let why = if word == Word::Drain { "SIGTERM" } else { "a successor accepts" };
                tracing::info!(sessions = counters.sessions_open(), ?limit, "draining: {why}");
                let hurry = words.into_hurry(word, close_admin.clone())?;
                let broken_off = proxy.drain(limit, &hurry);
                tracing::info!(broken_off, "drained");
                break;
            }
        }
    }
    if let Some(file) = handover_file {
        file.remove();
    }
    close_admin();
    report(&counters);
    Ok(())
}

/// Opens the admin port. A predecessor closes its own when its successor accepts, which may take a moment.
fn open_admin(process: &ProcessSettings, proxy: &Proxy, took_over: bool) -> anyhow::Result<Admin> {
    let setup = process.admin().map_err(BadConfig)?;
    let begun = Instant::now();
    let admin = loop {
        match Admin::open(&setup, &proxy.live()) {
            Err(admin::Fault::Listen { .. }) if took_over && begun.elapsed() < PREDECESSOR_PATIENCE => {
                std::thread::sleep(PREDECESSOR_LOOK);
            }
            // Its sessions come first.
            Err(error) if took_over => {
                tracing::error!("there is no admin port: {error}");
                return Ok(Admin::default());
            }
            opened => break opened?,
        }
    };
    if let Some(address) = admin.sql_address() {
        drop(writeln!(std::io::stdout(), "admin on {address}"));
    }
    if let Some(address) = admin.http_address() {
        drop(writeln!(std::io::stdout(), "admin by HTTP on {address}"));
    }
    Ok(admin)
}

/// As long as a predecessor may need to close a port.
const PREDECESSOR_PATIENCE: Duration = Duration::from_secs(5);
const PREDECESSOR_LOOK: Duration = Duration::from_millis(50);

/// Says what a config file would start, or what is wrong with it.
pub(crate) fn check(args: &CheckConfigArgs) -> anyhow::Result<()> {
    let config = ConfigFile::read(&args.config).and_then(|file| {
        let listeners = file.listeners.into_iter().map(ListenerSettings::config).collect::<Result<_, _>>()?;
        checked(file.proxy.config(listeners))
    });
    let config = config.map_err(BadConfig)?;
    proxy::check(&config)?;
    for listener in &config.listeners {
        drop(writeln!(std::io::stdout(), "{} -> {}: fine", listener.listen, listed(&listener.servers)));
    }
    Ok(())
}

/// The config file's settings under those of the command line.
fn settings(args: ProxyArgs) -> anyhow::Result<(Config, ProcessSettings)> {
    let file = args.config.as_deref().map(ConfigFile::read).transpose()?.unwrap_or_default();
    let mut listeners = file.listeners;
    if listeners.is_empty() {
        listeners.push(args.listener);
    } else {
        if listeners.len() > 1 && args.listener.listen.is_some() {
            bail!("--listen on the command line, and {} listeners in the config file", listeners.len());
        }
        listeners = listeners.into_iter().map(|it| it.overridden_by(args.listener.clone())).collect();
    }
    let process = file.proxy.overridden_by(args.process);
    let listeners = listeners.into_iter().map(ListenerSettings::config).collect::<Result<_, _>>()?;
    Ok((checked(process.config(listeners))?, process))
}

/// What no single setting shows.
fn checked(config: Config) -> anyhow::Result<Config> {
    if config.listeners.is_empty() {
        bail!("no listener is configured: add [[listener]] with listen and server");
    }
    for (index, listener) in config.listeners.iter().enumerate() {
        let is_same = |other: &ListenerConfig| other.listen == listener.listen;
        let any_port = matches!(listener.listen, Address::Tcp { port: 0, .. });
        if !any_port && config.listeners.iter().take(index).any(is_same) {
            bail!("two listeners have the address {}", listener.listen);
        }
        let servers = &listener.servers;
        let again = servers
            .iter()
            .enumerate()
            .find(|(index, server)| servers.iter().take(*index).any(|earlier| earlier == *server));
        if let Some((_, server)) = again {
            bail!("{}: the server {server} is listed twice", listener.listen);
        }
    }
    Ok(config)
}

fn listed(servers: &[Address]) -> String {
    servers.iter().map(Address::to_string).collect::<Vec<_>>().join(", ")
}

/// What is served, and every limit.
fn describe(config: &Config, process: &ProcessSettings) {
    for listener in &config.listeners {
        describe_listener(listener);
    }
    let available = Config::default().workers;
    if config.workers > available {
        tracing::warn!(
            "{} workers on {available} CPUs, by affinity and cgroup quota: they will be throttled or wait for each other",
            config.workers
        );
    }
    if config.listeners.iter().any(|listener| listener.policy == Policy::Cost) {
        tracing::info!("packing by the policy cost takes up to {} % of one core", config.cost_cpu_percent);
    }
    let no_limit = |count: usize| if count == 0 { "no limit".to_owned() } else { count.to_string() };
    tracing::info!(
        "limits: {} connections, per client address {}, buffer memory {} MiB, drain {} s; {} workers",
        config.connections_max(),
        no_limit(config.connections_per_address_max),
        config.buffer_memory_max >> 20,
        process.drain_timeout().as_secs(),
        config.workers,
    );
}

fn described_policy(listener: &ListenerConfig) -> String {
    match listener.policy {
        Policy::Fixed => "fixed".to_owned(),
        Policy::Latency if listener.server_algorithms_are_free => {
            "latency; what is asked of the server follows its link".to_owned()
        }
        Policy::Latency => "latency".to_owned(),
        Policy::Cost => format!("cost; packing adds up to {} % to replies", listener.cost_p99_percent),
    }
}

fn describe_listener(listener: &ListenerConfig) {
    let tls = listener.tls.as_ref().map_or("off", |tls| tls.mode.name());
    let wishes: Vec<_> = listener.server_algorithms.iter().map(|algorithm| algorithm.name()).collect();
    tracing::info!(
        "{}: client leg permits {}, zstd up to level {}, TLS {tls}; server leg to {} asks for {}, zstd level {}, \
         TLS {}",
        listener.listen,
        listener.permitted,
        listener.zstd_level_max(),
        listed(&listener.servers),
        wishes.join(","),
        listener.zstd_level(),
        listener.server_tls.mode().name(),
    );
    tracing::info!(
        "{}: limits: login {} bytes per packet and {} s, connect {} s, silence within a packet {} s, between commands {}, \
         unacknowledged {} s",
        listener.listen,
        proxy::LOGIN_LEN_MAX,
        listener.login_timeout.as_secs(),
        listener.connect_timeout.as_secs(),
        listener.net_read_timeout.as_secs(),
        listener.idle_timeout.map_or_else(|| "no limit".to_owned(), |limit| format!("{} s", limit.as_secs())),
        listener.tcp_user_timeout.as_secs(),
    );
    tracing::info!("{}: policy {}", listener.listen, described_policy(listener));
    let pairs = listener.servers.iter().filter(|server| matches!(server, Address::Pair(_))).count();
    if listener.is_pair || pairs > 0 {
        tracing::info!(
            "{}: {}; {}; {} connections per worker are kept ready for a server, histories are given back after {} s",
            listener.listen,
            if listener.is_pair {
                "who connects is the other half of a pair"
            } else {
                "the server is the other half of a pair"
            },
            match (&listener.pair.key, listener.is_pair) {
                (Some(_), _) => "it must know the key",
                (None, true) if listener.tls.is_some() => "it must have a certificate",
                (None, false) if listener.server_tls.mode() >= SslMode::Required =>
                    "it must have a certificate",
                (None, _) => "it must be on this host",
            },
            listener.pair.warm_connections,
            listener.pair.history_timeout.as_secs(),
        );
    }
    let check = &listener.health_check;
    if let Some(interval) = check.interval.filter(|_| check.is_needed(listener.servers.len())) {
        tracing::info!(
            "{}: servers are checked every {} s, within {} s, {}; new sessions go to {}",
            listener.listen,
            interval.as_secs(),
            check.timeout.as_secs(),
            match &check.monitor {
                Some(monitor) => format!("as '{}'", monitor.user),
                None => "without an account".to_owned(),
            },
            match listener.routing_strategy {
                RoutingStrategy::FirstAvailable => "the first that is up",
                RoutingStrategy::LeastConnections => "the one with the least connections",
            },
        );
    }
    if tls == "off" && !listener.is_pair && matches!(listener.listen, Address::Tcp { .. }) {
        tracing::warn!(
            "{}: no certificate is given, so TLS is taken out of the server's greeting. Clients of MySQL 8 and 9 may \
             need --get-server-public-key (drivers: allowPublicKeyRetrieval) on their first login",
            listener.listen
        );
    }
}

/// Reads arguments and file again: all of it holds, or nothing.
fn reload(
    proxy: &mut Proxy,
    args: &ProxyArgs,
    process: &mut ProcessSettings,
    log: &Log,
) -> anyhow::Result<()> {
    let (config, changed) = settings(args.clone())?;
    if changed.handover != process.handover {
        bail!("the path of the handover can't change while the proxy runs; restart it");
    }
    if changed.log_format() != process.log_format() {
        bail!("the log's format can't change while the proxy runs; restart it");
    }
    if changed.admin()? != process.admin()? {
        bail!("the admin port and its prices can't change while the proxy runs; restart it");
    }
    proxy.reload(config.clone())?;
    *process = changed;
    log.set_level(process.log_level())?;
    log.set_lines_per_second(process.log_rate_limit());
    describe(&config, process);
    Ok(())
}

/// Listening sockets that systemd has opened, for the listeners in their order.
fn activated_sockets(config: &Config) -> anyhow::Result<Vec<Inherited>> {
    let mut from_systemd = listenfd::ListenFd::from_env();
    if from_systemd.len() > config.listeners.len() {
        bail!(
            "systemd hands over {} sockets, and {} listeners are configured; their order must be the same",
            from_systemd.len(),
            config.listeners.len()
        );
    }
    let mut sockets = Vec::new();
    for (index, listener) in config.listeners.iter().enumerate().take(from_systemd.len()) {
        let socket: Option<OwnedFd> = match &listener.listen {
            Address::Tcp { .. } => from_systemd.take_tcp_listener(index)?.map(OwnedFd::from),
            Address::Unix(_) => from_systemd.take_unix_listener(index)?.map(OwnedFd::from),
            Address::Pair(_) => None,
        };
        let address = listener.listen.clone();
        sockets.extend(socket.map(|socket| Inherited { address, socket, is_ours: false }));
    }
    Ok(sockets)
}

/// The closing lines: what was carried, and what went wrong how often.
fn report(counters: &proxy::Counters) {
    let [plain_len, client_leg_len, server_leg_len] = counters.lens();
    tracing::info!(sessions = counters.sessions(), plain_len, client_leg_len, server_leg_len, "stopped");
    for ((side, phase, cause), count) in counters.faults() {
        tracing::info!(side, phase, cause, count, "sessions ended out of order");
    }
}
