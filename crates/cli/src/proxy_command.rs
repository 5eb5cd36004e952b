//! `wirepress proxy`: runs a proxy until SIGINT or SIGTERM.
//!
//! Prints one line with the bound address to standard output; log lines go to standard error.
//! Not here: the proxy itself (crate `proxy`).

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Context;
use codec::AlgorithmSet;
use proxy::{Config, Proxy};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::ProxyArgs;

/// Serves until told to stop.
pub(crate) fn run(args: ProxyArgs) -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_max_level(args.log_level)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
    let config = config(&args);
    tracing::info!(
        "client leg permits {}, zstd up to level {}; server leg asks for {}, zstd level {}",
        config.permitted,
        config.zstd_level_max,
        config.server_algorithms.iter().map(|a| a.name()).collect::<Vec<_>>().join(","),
        config.zstd_level,
    );
    tracing::warn!(
        "TLS is taken out of the server's greeting: both legs are plain. Clients of MySQL 8 and 9 may need \
         --get-server-public-key (drivers: allowPublicKeyRetrieval) on their first login"
    );
    let server = args.server;
    let proxy = Proxy::start(config)?;
    // Scripts wait for this line; who doesn't read it may close it.
    drop(writeln!(std::io::stdout(), "listening on {}, server {server}", proxy.address()));
    wait_for_signal().context("can't wait for signals")?;
    let counters = std::sync::Arc::clone(proxy.counters());
    proxy.stop();
    report(&counters);
    Ok(())
}

fn config(args: &ProxyArgs) -> Config {
    let mut config = Config::new(args.listen.clone(), args.server.clone());
    config.permitted = AlgorithmSet::of(&args.protocol_compression_algorithms);
    config.server_algorithms.clone_from(&args.compression_algorithms.0);
    config.zstd_level = args.zstd_compression_level;
    config.zstd_level_max = args.zstd_compression_level_max;
    config.zlib_level = args.zlib_compression_level;
    config.workers = args.workers.map_or(config.workers, usize::from);
    config.login_timeout = Duration::from_secs(args.login_timeout);
    config.net_read_timeout = Duration::from_secs(args.net_read_timeout);
    config.buffer_memory_max =
        usize::try_from(args.buffer_memory).unwrap_or(usize::MAX).saturating_mul(1 << 20);
    config
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
