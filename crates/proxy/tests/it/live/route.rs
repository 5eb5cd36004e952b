//! A way from a client to a real server: direct, or through a proxy whose legs are compressed as a test says.
//!
//! ```text
//! client ══ Legs::client ══▶ proxy ══ Legs::server ══▶ server        each leg over TCP or a Unix socket
//! ```
//! Invariant: a route's proxy asks the server for exactly one algorithm, so a pair of legs is what its name says.
//!
//! Not here: the server (`lab::real`), our own client (`client`).

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::thread;

use codec::Algorithm::{self, Uncompressed, Zlib, Zstd};
use lab::real::{Kind, PASSWORD, RealServer, USER};
use proxy::{Address, ListenerConfig, Proxy, SslMode};
use tempfile::TempDir;

use super::client::{Client, Terms};

/// How the legs of a session are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Legs {
    pub(crate) client: Algorithm,
    pub(crate) server: Algorithm,
    /// Two proxies, which talk a pair's stream.
    pub(crate) pair: bool,
}

impl Legs {
    pub(crate) const PLAIN: Self = Self::of(Uncompressed, Uncompressed);
    pub(crate) const PAIR: Self = Self { pair: true, ..Self::PLAIN };

    /// One proxy with these.
    pub(crate) const fn of(client: Algorithm, server: Algorithm) -> Self {
        Self { client, server, pair: false }
    }

    /// Every pair that the server allows: nine on MySQL, six on MariaDB, which has no zstd; and two proxies.
    pub(crate) fn all(kind: Kind) -> Vec<Self> {
        let server = if kind.is_mariadb() { &[Uncompressed, Zlib][..] } else { &[Uncompressed, Zlib, Zstd] };
        let clients = [Uncompressed, Zlib, Zstd];
        clients
            .into_iter()
            .flat_map(|client| server.iter().map(move |&server| Self::of(client, server)))
            .chain([Self::PAIR])
            .collect()
    }
}

impl fmt::Display for Legs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} client, {} server", self.client, self.server)?;
        formatter.write_str(if self.pair { ", by a pair" } else { "" })
    }
}

/// What a leg's socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Socket {
    Tcp,
    Unix,
}

/// Client leg and server leg.
pub(crate) const SOCKETS: [[Socket; 2]; 4] = [
    [Socket::Tcp, Socket::Tcp],
    [Socket::Unix, Socket::Unix],
    [Socket::Tcp, Socket::Unix],
    [Socket::Unix, Socket::Tcp],
];

/// Where clients connect, and how they are told to compress.
pub(crate) struct Route<'s> {
    pub(crate) server: &'s RealServer,
    pub(crate) proxy: Option<Proxy>,
    /// The other half of a pair, beside the server.
    pub(crate) other_half: Option<Proxy>,
    pub(crate) address: Address,
    pub(crate) algorithm: Algorithm,
    /// Where the proxy's socket is.
    _directory: Option<TempDir>,
}

impl<'s> Route<'s> {
    /// No proxy, no compression.
    pub(crate) fn direct(server: &'s RealServer) -> Self {
        let address = server.address().into();
        Self { server, proxy: None, other_half: None, address, algorithm: Uncompressed, _directory: None }
    }

    /// Through a proxy, over TCP.
    pub(crate) fn through(server: &'s RealServer, legs: Legs) -> Self {
        Self::over(server, legs, [Socket::Tcp, Socket::Tcp])
    }

    /// Through a proxy, over the given sockets.
    pub(crate) fn over(server: &'s RealServer, legs: Legs, sockets: [Socket; 2]) -> Self {
        Self::with(server, legs, sockets, |_| {})
    }

    /// Through a proxy that `adjust` may set up otherwise.
    pub(crate) fn with(
        server: &'s RealServer,
        legs: Legs,
        [client_socket, server_socket]: [Socket; 2],
        adjust: impl FnOnce(&mut ListenerConfig),
    ) -> Self {
        let directory = (client_socket == Socket::Unix)
            .then(|| tempfile::Builder::new().prefix("wirepress-route-").tempdir().unwrap());
        let listen = match &directory {
            Some(directory) => Address::Unix(directory.path().join("proxy")),
            None => "127.0.0.1:0".parse().unwrap(),
        };
        let target = match server_socket {
            Socket::Tcp => server.address().into(),
            Socket::Unix => Address::Unix(server.socket_path()),
        };
        let (target, other_half) = if legs.pair {
            let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), target);
            config.is_pair = true;
            config.server_tls.mode = Some(SslMode::Disabled);
            config.server_algorithms = vec![legs.server];
            let other_half = Proxy::start(config).unwrap();
            (Address::Pair(Box::new(other_half.address().clone())), Some(other_half))
        } else {
            (target, None)
        };
        let mut config = ListenerConfig::new(listen, target);
        config.server_algorithms = if legs.pair { Algorithm::ALL.to_vec() } else { vec![legs.server] };
        // Tests of TLS ask for it.
        config.server_tls.mode = Some(SslMode::Disabled);
        adjust(&mut config);
        let proxy = Proxy::start(config).unwrap();
        let address = proxy.address().clone();
        Self {
            server,
            proxy: Some(proxy),
            other_half,
            address,
            algorithm: legs.client,
            _directory: directory,
        }
    }

    /// The same way for a client with another algorithm.
    pub(crate) fn with_client(self, algorithm: Algorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// The server's own command line client, or MySQL's where MariaDB's lacks the algorithm.
    pub(crate) fn cli(&self) -> Command {
        let is_mysql = !self.server.kind().is_mariadb() || self.algorithm == Zstd;
        let mut command = self.command(if is_mysql { "mysql" } else { "mariadb" });
        command.args(["--batch", "--skip-column-names", "--local-infile=1", "--max-allowed-packet=1G"]);
        command
    }

    /// A program of either vendor, told where to connect, as whom, and how to compress.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = self.server.command(program).unwrap();
        command.args(self.socket_arguments());
        command.arg(format!("--user={USER}")).arg(format!("--password={PASSWORD}"));
        if program.starts_with("mysql") {
            command.arg("--get-server-public-key");
            command.arg(format!("--compression-algorithms={}", self.algorithm));
        } else {
            assert_ne!(self.algorithm, Zstd, "{program} has no zstd");
            command.args((self.algorithm == Zlib).then_some("--compress"));
        }
        command
    }

    fn socket_arguments(&self) -> Vec<OsString> {
        match &self.address {
            Address::Tcp { host, port } => {
                vec![
                    "--protocol=tcp".into(),
                    format!("--host={host}").into(),
                    format!("--port={port}").into(),
                ]
            }
            Address::Pair(_) => panic!("clients connect to no pair"),
            Address::Unix(path) => {
                let mut argument = OsString::from("--socket=");
                argument.push(path);
                vec!["--protocol=socket".into(), argument]
            }
        }
    }

    /// Our own client, logged in, with the route's algorithm.
    pub(crate) fn connect(&self) -> Client {
        self.connect_on(Terms::default())
    }

    /// Our own client, with the route's algorithm and terms of the test's own.
    pub(crate) fn connect_on(&self, terms: Terms) -> Client {
        let terms = Terms { algorithm: self.algorithm, ..terms };
        Client::connect(&self.address, &terms).unwrap_or_else(|error| panic!("login refused: {error}"))
    }

    /// Sessions that ended out of order, for messages.
    pub(crate) fn faults(&self) -> String {
        self.proxy.as_ref().map(|proxy| format!("{:?}", proxy.counters().faults())).unwrap_or_default()
    }
}

/// Feeds `input` to a command line client and waits for its end.
pub(crate) fn run(command: &mut Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    thread::scope(|scope| {
        // A client that stops at an error closes its input; it says why itself.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes()).is_ok()));
        child.wait_with_output().unwrap()
    })
}

/// What a client printed that succeeded.
pub(crate) fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, complaint(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a client printed on standard error, MySQL's warning about the password aside.
pub(crate) fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().filter(|line| !line.contains("Using a password on the command line"));
    lines.collect::<Vec<_>>().join("\n")
}
