//! Another relay, for comparison: HAProxy in TCP mode, or MySQL Router.
//!
//! Invariants: configured as its own documentation says for one server, with as many threads as wirepress has.
//!
//! Not here: fetching it (`scripts/fetch-servers`).

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lab::link::Address;
use lab::real::Install;

use super::proxy_process::ProxyProcess;
use super::stage::Parts;
use crate::record::Path;
use crate::{cpu, job};

impl ProxyProcess {
    /// Starts `which` in front of the database and waits until it listens.
    pub(super) fn relay(which: Path, listen: IpAddr, parts: &Parts<'_>) -> anyhow::Result<Self> {
        let Address::Tcp(server) = parts.database.address() else {
            bail!("{which} needs a server on TCP, this one is at {}", parts.database.address());
        };
        let address = free_address(listen)?;
        let threads = cpu::cores();
        let config = parts.folder.join(format!("{}.conf", address.port()));
        let (program, text) = match which {
            Path::Router => {
                ("mysqlrouter", router_config(address, server, threads, parts, &Install::find()?))
            }
            _ => ("haproxy", haproxy_config(address, server, threads)),
        };
        fs::write(&config, text).with_context(|| format!("cannot write {}", config.display()))?;
        let log = parts.folder.join(format!("{}.log", address.port()));
        let log_file = fs::File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
        let mut command = command(program, parts)?;
        match which {
            Path::Router => command.arg("--config").arg(&config),
            _ => command.arg("-db").arg("-f").arg(&config),
        };
        command.stdin(Stdio::null()).stdout(log_file.try_clone()?).stderr(log_file).process_group(0);
        let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        let mut relay = Self { child, address };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            let text = || fs::read_to_string(&log).unwrap_or_default();
            if let Some(status) = relay.child.try_wait()? {
                bail!("{program} ended with {status} before it listened; it said: {}", first_lines(&text()));
            }
            if start.elapsed() > START_MAX || parts.stop.is_wished() {
                bail!("{program} did not listen within {START_MAX:?}; it said: {}", first_lines(&text()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(relay)
    }
}

/// A program, where the server's host is pinned there.
fn command(program: &str, parts: &Parts<'_>) -> anyhow::Result<Command> {
    let inner = job::program(program)?;
    let mut words = parts.pins.server_words().into_iter();
    let Some(first) = words.next() else { return Ok(inner) };
    let mut command = Command::new(first);
    command.args(words).arg(inner.get_program());
    Ok(command)
}

fn haproxy_config(listen: SocketAddr, server: &str, threads: usize) -> String {
    format!(
        "global\n    nbthread {threads}\n    maxconn 5000\n\
         defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 1h\n    timeout server 1h\n\
         listen mysql\n    bind {listen}\n    server mysql {server}\n"
    )
}

/// Routing by protocol, which is Router's default; it speaks to the server as the client did.
fn router_config(
    listen: SocketAddr,
    server: &str,
    threads: usize,
    parts: &Parts<'_>,
    install: &Install,
) -> String {
    let folder = parts.folder.display();
    // It looks for its plugins where it was built for.
    let plugins = install.path().join("servers/roots/mysql/usr/lib/mysqlrouter/plugin");
    let plugins = plugins.display();
    format!(
        "[DEFAULT]\nlogging_folder=\nplugin_folder={plugins}\nruntime_folder={folder}\ndata_folder={folder}\nunknown_config_option=error\n\
         max_total_connections=5000\n\
         [logger]\nlevel=WARNING\n\
         [io]\nthreads={threads}\n\
         [routing:mysql]\nbind_address={}\nbind_port={}\ndestinations={server}\nrouting_strategy=first-available\n\
         protocol=classic\nclient_ssl_mode=PASSTHROUGH\nserver_ssl_mode=AS_CLIENT\nmax_connect_errors=4294967295\n\
         connect_timeout=5\n",
        listen.ip(),
        listen.port(),
    )
}

/// What a program says first is why; what follows is how it cleaned up.
fn first_lines(text: &str) -> String {
    text.lines().filter(|line| !line.trim().is_empty()).take(2).collect::<Vec<_>>().join("; ")
}

fn free_address(ip: IpAddr) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((ip, 0)).with_context(|| format!("no port is free on {ip}"))?;
    Ok(listener.local_addr()?)
}

/// MySQL Router needs a second.
const START_MAX: Duration = Duration::from_secs(20);
