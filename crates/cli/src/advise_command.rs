//! `wirepress advise`: arguments to the advisor of crate `bench`.
//!
//! Not here: the advisor. The URL is read here and not by the argument parser, which would repeat it, password and
//! all, in its error.

use std::time::Duration;

use anyhow::Context;
use bench::advise::{
    self, Options, PcapOptions, Prices, RunningOptions, StatementSource, TapOptions, TapServer, TrialOptions,
    Workload,
};

use crate::admin_client::AdminPort;
use crate::advise_args::AdviseArgs;
use crate::peer_tls::TlsForNobody;

/// Who shall look is not clear.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadTap {
    #[error("--tap needs host:port to listen on, or --admin")]
    Nowhere,
    #[error("--tap {0} listens by itself; with --admin the running wirepress looks: give --tap alone")]
    Both(String),
}

/// Measures and tells.
pub(crate) fn run(args: AdviseArgs) -> anyhow::Result<()> {
    let options = Options {
        workload: workload(&args)?,
        assume_link: args.assume_link,
        seed: args.seed,
        prices: Prices {
            gb_per_month: args.gb_per_month,
            per_gb: args.price_per_gb,
            per_core_hour: args.price_per_core_hour,
        },
        drivers: args.driver,
        out: args.out,
        json: args.json,
    };
    advise::run(&options, &mut std::io::stdout())
}

/// A running wirepress that shall look, if one is named.
fn running(args: &AdviseArgs, time: Duration) -> anyhow::Result<Option<RunningOptions>> {
    let Some(admin) = &args.admin else { return Ok(None) };
    if let Some(Some(listen)) = &args.tap {
        return Err(BadTap::Both(listen.clone()).into());
    }
    let port = AdminPort {
        admin: admin.clone(),
        user: args.admin_user.clone(),
        password_file: args.admin_password_file.clone(),
        tls: args.tls.peer.clone(),
    };
    Ok(Some(RunningOptions { admin: port.address()?, account: port.account()?, time }))
}

/// The way that was chosen; the argument parser has seen to it that one was.
fn workload(args: &AdviseArgs) -> anyhow::Result<Workload> {
    let time = Duration::from_secs(args.seconds);
    if let Some(file) = &args.pcap {
        if let Some(option) = args.tls.given() {
            return Err(TlsForNobody(option, "with --pcap none is").into());
        }
        return Ok(Workload::Pcap(PcapOptions { file: file.clone(), port: args.port }));
    }
    if let Some(running) = running(args, time)? {
        return Ok(Workload::Running(running));
    }
    let server = args.server.as_deref().context("--server is missing")?;
    if let Some(listen) = &args.tap {
        let listen = listen.as_ref().ok_or(BadTap::Nowhere)?;
        let mut server = server.parse::<TapServer>()?;
        match (&mut server, args.tls.given()) {
            (TapServer::Url(url), _) => args.tls.apply(url)?,
            (TapServer::Address(_), None) => {}
            (TapServer::Address(_), Some(option)) => {
                let why = "a tap speaks to it only by a URL, with an account";
                return Err(TlsForNobody(option, why).into());
            }
        }
        let (listen, cpu_percent) = (listen.clone(), args.tap_cpu_percent);
        return Ok(Workload::Tap(TapOptions { listen, server, time, cpu_percent }));
    }
    let statements = match (&args.query_file, &args.sysbench) {
        (Some(file), _) => StatementSource::QueryFile(file.clone()),
        (None, Some(script)) => {
            StatementSource::Sysbench { script: script.clone(), options: args.sysbench_option.clone() }
        }
        (None, None) => anyhow::bail!("--query-file, --sysbench, --tap or --pcap is missing"),
    };
    Ok(Workload::Trial(TrialOptions {
        server: args.tls.server(server)?,
        ssl_options: args.tls.options(),
        statements,
        allow_writes: args.allow_writes,
        time,
        wirepress: std::env::current_exe()
            .context("cannot find this program's own file, to start the proxy")?,
    }))
}
