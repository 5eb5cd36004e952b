//! A proxy in front of a real server, its legs over TCP or a Unix socket, and command line clients for it.
//!
//! Not here: the server (`lab::real`), the assertions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use lab::real::RealServer;
use lab::wait::wait_until;
use proxy::{Address, Config, Counters, ListenerConfig, Proxy, SslMode};
use tempfile::TempDir;
use wire::Side;

/// How a leg connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Socket,
}

/// Client leg and server leg.
pub(crate) const TRANSPORT_PAIRS: [(Transport, Transport); 4] = [
    (Transport::Tcp, Transport::Tcp),
    (Transport::Tcp, Transport::Socket),
    (Transport::Socket, Transport::Tcp),
    (Transport::Socket, Transport::Socket),
];

/// A running proxy; stopped when dropped.
pub(crate) struct Front<'s> {
    pub(crate) proxy: Proxy,
    pub(crate) server: &'s RealServer,
    /// Where its socket is.
    _directory: TempDir,
}

impl<'s> Front<'s> {
    pub(crate) fn new(server: &'s RealServer, (client, to_server): (Transport, Transport)) -> Self {
        Self::with(server, (client, to_server), |_| {})
    }

    /// A proxy whose defaults `adjust` may change.
    pub(crate) fn with(
        server: &'s RealServer,
        (client, to_server): (Transport, Transport),
        adjust: impl FnOnce(&mut ListenerConfig),
    ) -> Self {
        let directory = tempfile::Builder::new().prefix("wirepress-front-").tempdir().unwrap();
        let listen = match client {
            Transport::Tcp => Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 },
            Transport::Socket => Address::Unix(directory.path().join("proxy")),
        };
        let target = match to_server {
            Transport::Tcp => server.address().into(),
            Transport::Socket => Address::Unix(server.socket_path()),
        };
        let mut config = ListenerConfig::new(listen, target);
        // Tests of TLS ask for it.
        config.server_tls.mode = Some(SslMode::Disabled);
        adjust(&mut config);
        let config = Config { workers: 1, ..config.into() };
        Self { proxy: Proxy::start(config).unwrap(), server, _directory: directory }
    }

    /// How many of the sessions so far ended with this cause: a client may be gone before its session is.
    pub(crate) fn faults_of(&self, side: Side, cause: &str) -> u64 {
        self.ended().faults_of(side, cause)
    }

    /// The counters, when no session is open.
    pub(crate) fn ended(&self) -> &Counters {
        let counters = self.proxy.counters();
        wait_until("all sessions ended", || counters.sessions_open() == 0);
        counters
    }

    /// The command line client that belongs to the server, told where the proxy is.
    pub(crate) fn client(&self, user: &str, password: &str) -> Client {
        self.client_program(self.server.kind().client_program(), user, password)
    }

    /// A command line client, told where the proxy is. `mysql` asks for the server's RSA key if it needs one.
    pub(crate) fn client_program(&self, program: &str, user: &str, password: &str) -> Client {
        Client::new(self.server, program, self.proxy.address(), user, password)
    }
}

/// A call of a command line client.
pub(crate) struct Client(Command);

impl Client {
    /// A client that connects to `address`, be it a proxy's or the server's own.
    pub(crate) fn new(
        server: &RealServer,
        program: &str,
        address: &Address,
        user: &str,
        password: &str,
    ) -> Self {
        let mut command = server.command(program).unwrap();
        match address {
            Address::Tcp { host, port } => {
                command.arg("--protocol=tcp").arg(format!("--host={host}")).arg(format!("--port={port}"));
            }
            Address::Pair(_) => panic!("clients connect to no pair"),
            Address::Unix(path) => {
                let path = path.as_os_str().as_bytes();
                command
                    .arg("--protocol=socket")
                    .arg(OsStr::from_bytes(&[b"--socket=".as_slice(), path].concat()));
            }
        }
        command.arg(format!("--user={user}")).arg(format!("--password={password}"));
        command.args(["--batch", "--skip-column-names"]);
        if program == "mysql" {
            command.arg("--get-server-public-key");
        }
        Self(command)
    }

    pub(crate) fn option(mut self, option: &str) -> Self {
        self.0.arg(option);
        self
    }

    /// Runs statements: what they print, or what the client prints on standard error.
    pub(crate) fn run(mut self, statements: &str) -> Result<String, String> {
        let output = self.0.arg(format!("--execute={statements}")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(WARNING, "").trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

const WARNING: &str = "mysql: [Warning] Using a password on the command line interface can be insecure.\n";
