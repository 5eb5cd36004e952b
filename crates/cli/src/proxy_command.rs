//! `wirepress proxy`: runs a proxy until SIGINT or SIGTERM; `wirepress check-config`.
//!
//! Prints one line for each listener, with its bound address, to standard output; log lines go to standard error.
//! Not here: the proxy itself (crate `proxy`), what the settings mean (`settings`).

use std::io::{IsTerminal, Write};

use anyhow::{Context, bail};
use proxy::{Address, Config, ListenerConfig, Proxy};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{CheckConfigArgs, ProxyArgs};
use crate::config_file::ConfigFile;
use crate::settings::ListenerSettings;

/// Arguments or a config file that can't be used.
#[derive(Debug)]
pub(crate) struct BadConfig(anyhow::Error);

impl std::fmt::Display for BadConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for BadConfig {}

/// Serves until told to stop.
pub(crate) fn run(args: ProxyArgs) -> anyhow::Result<()> {
    let (config, log_level) = settings(args).map_err(BadConfig)?;
    tracing_subscriber::fmt()
        .with_max_level(log_level)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
    config.listeners.iter().for_each(describe);
    let servers: Vec<Address> = config.listeners.iter().map(|listener| listener.server.clone()).collect();
    let proxy = Proxy::start(config)?;
    for (address, server) in proxy.addresses().iter().zip(servers) {
        // Scripts wait for this line; who doesn't read it may close it.
        drop(writeln!(std::io::stdout(), "listening on {address}, server {server}"));
    }
    wait_for_signal().context("can't wait for signals")?;
    let counters = std::sync::Arc::clone(proxy.counters());
    proxy.stop();
    report(&counters);
    Ok(())
}

/// Says what a config file would start, or what is wrong with it.
pub(crate) fn check(args: &CheckConfigArgs) -> anyhow::Result<()> {
    let config = ConfigFile::read(&args.config).and_then(|file| {
        let listeners = file.listeners.into_iter().map(ListenerSettings::config).collect::<Result<_, _>>()?;
        checked(file.proxy.config(listeners))
    });
    let config = config.map_err(BadConfig)?;
    proxy::check(&config)?;
    for listener in &config.listeners {
        drop(writeln!(std::io::stdout(), "{} -> {}: fine", listener.listen, listener.server));
    }
    Ok(())
}

/// The config file's settings under those of the command line.
fn settings(args: ProxyArgs) -> anyhow::Result<(Config, tracing::Level)> {
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
    Ok((checked(process.config(listeners))?, process.log_level.unwrap_or(tracing::Level::INFO)))
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
    }
    Ok(config)
}

fn describe(listener: &ListenerConfig) {
    let tls = listener.tls.as_ref().map_or("off", |tls| tls.mode.name());
    let wishes: Vec<_> = listener.server_algorithms.iter().map(|algorithm| algorithm.name()).collect();
    tracing::info!(
        "{}: client leg permits {}, zstd up to level {}, TLS {tls}; server leg to {} asks for {}, zstd level {}, \
         TLS {}",
        listener.listen,
        listener.permitted,
        listener.zstd_level_max,
        listener.server,
        wishes.join(","),
        listener.zstd_level,
        listener.server_tls.mode().name(),
    );
    if tls == "off" && matches!(listener.listen, Address::Tcp { .. }) {
        tracing::warn!(
            "{}: no certificate is given, so TLS is taken out of the server's greeting. Clients of MySQL 8 and 9 may \
             need --get-server-public-key (drivers: allowPublicKeyRetrieval) on their first login",
            listener.listen
        );
    }
}

fn wait_for_signal() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok(())
    })
}

/// The closing lines: what was carried, and what went wrong how often.
fn report(counters: &proxy::Counters) {
    let [plain_len, client_leg_len, server_leg_len] = counters.lens();
    tracing::info!(sessions = counters.sessions(), plain_len, client_leg_len, server_leg_len, "stopped");
    for ((side, phase, cause), count) in counters.faults() {
        tracing::info!(side, phase, cause, count, "sessions ended out of order");
    }
}
