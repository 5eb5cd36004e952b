//! A private MySQL or MariaDB server.
//!
//! Invariants: `start` returns a server that answers; its port was free and is its own; nothing of it is left
//! after `Drop`.
//!
//! Not here: fetching it, whether a test may do without it (`skip`), its empty data directory (`template`).

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::process::{Process, private_directory};
use super::template::{self, path_argument};
use super::{Fault, Install, Kind, Options};

/// An account of every private server, from every host, with all rights; its password is kept with the
/// server's default authentication method. `root` has no password and can log in through the socket only.
pub const USER: &str = "tester";

/// The password of [`USER`].
pub const PASSWORD: &str = "tester";

/// A private server; killed and removed when dropped.
#[derive(Debug)]
pub struct RealServer {
    // Dropped in this order: first the process, then its files.
    process: Process,
    directory: TempDir,
    install: Install,
    kind: Kind,
    options: Options,
    port: u16,
    version: String,
}

impl RealServer {
    /// Starts a server and waits until it answers.
    ///
    /// Cost: half a second to two; the first start of a version makes its template, three seconds more.
    /// Errors: any [`Fault`] but `Sql`.
    pub fn start(kind: Kind, options: &Options) -> Result<Self, Fault> {
        let install = Install::find()?;
        let directory = private_directory()?;
        template::copy_to(&install, kind, &directory.path().join("data"))?;
        let mut attempt = 1;
        loop {
            let port = free_port()?;
            match launch(&install, kind, options, directory.path(), port) {
                Ok((process, version)) => {
                    let options = options.clone();
                    return Ok(Self { process, directory, install, kind, options, port, version });
                }
                // Somebody took the port between our look and the server's bind.
                Err(Fault::ServerEnded { log_tail, .. })
                    if attempt < PORT_ATTEMPT_COUNT_MAX && log_tail.contains("Address already in use") =>
                {
                    attempt += 1;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    /// The instance that all tests of this process share, started with the default options by the first who asks.
    ///
    /// Errors: what the first start said, to everyone.
    pub fn shared(kind: Kind) -> Result<&'static Self, &'static Fault> {
        static MYSQL: OnceLock<Result<RealServer, Fault>> = OnceLock::new();
        static MARIADB: OnceLock<Result<RealServer, Fault>> = OnceLock::new();
        static MARIADB_11_8: OnceLock<Result<RealServer, Fault>> = OnceLock::new();
        let shared = match kind {
            Kind::MySql => &MYSQL,
            Kind::MariaDb => &MARIADB,
            Kind::MariaDb118 => &MARIADB_11_8,
        };
        // A static is never dropped: the janitor of `Process` ends it with this process.
        shared.get_or_init(|| Self::start(kind, &Options::new())).as_ref()
    }

    /// Kills the server as a crash would; its data stay. See [`Self::restart`].
    ///
    /// Errors: `Os`.
    pub fn kill(&mut self) -> Result<(), Fault> {
        self.process.kill()
    }

    /// Kills it if it still runs, and starts it again on the same port with the same data.
    ///
    /// Errors: any [`Fault`] but `Sql`.
    pub fn restart(&mut self) -> Result<(), Fault> {
        self.kill()?;
        let directory = self.directory.path();
        let (process, version) = launch(&self.install, self.kind, &self.options, directory, self.port)?;
        (self.process, self.version) = (process, version);
        Ok(())
    }

    /// Runs statements as root through the server's own command line client and its socket.
    /// Shape: rows on lines, columns separated by tabs, no headings; the last line's end is taken off.
    ///
    /// Errors: `Sql`, `Os`, `ProgramMissing`.
    pub fn sql(&self, statements: &str) -> Result<String, Fault> {
        let program = self.kind.client_program();
        let mut client = self
            .install
            .command(program)?
            .arg(path_argument("--socket=", &self.socket_path()))
            .args(["--user=root", "--batch", "--skip-column-names", "--max-allowed-packet=1G"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Fault::os("start", program))?;
        // Written by a thread of its own: a client that prints while it reads would block us and itself.
        let input = client.stdin.take();
        let output = thread::scope(|scope| {
            let writer =
                scope.spawn(move || input.map_or(Ok(()), |mut pipe| pipe.write_all(statements.as_bytes())));
            let output = client.wait_with_output();
            // A client that stopped at an error has closed its input; it says why itself.
            drop(writer.join());
            output
        });
        let output = output.map_err(Fault::os("read from", program))?;
        if !output.status.success() {
            let statement = statements.chars().take(STATEMENT_LEN_SHOWN).collect();
            let message = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            return Err(Fault::Sql { program, statement, status: output.status, message });
        }
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.ends_with('\n') {
            text.pop();
        }
        Ok(text)
    }

    /// A command for a fetched program: `mysql`, `mysqldump`, `mariadb`, `sysbench`... It has no argument yet:
    /// tests connect it to a proxy as often as to the server.
    ///
    /// Errors: `ProgramMissing`.
    pub fn command(&self, program: &str) -> Result<Command, Fault> {
        self.install.command(program)
    }

    /// Where it listens for TCP.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        let ip = match self.options.bind {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.port)
    }

    /// Its Unix socket.
    #[must_use]
    pub fn socket_path(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }

    /// What it prints, errors included.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.directory.path().join(LOG)
    }

    /// Its version as in its greeting, such as `9.7.4-2` or `10.11.19-MariaDB-0+deb12u1`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Which server it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// User and system time it has used since its start, to 10 ms.
    ///
    /// Errors: `Os`, when it has ended.
    pub fn cpu_time(&self) -> Result<Duration, Fault> {
        self.process.cpu_time()
    }
}

/// Starts the program on the data in `directory` and waits until it answers; its version.
fn launch(
    install: &Install,
    kind: Kind,
    options: &Options,
    directory: &Path,
    port: u16,
) -> Result<(Process, String), Fault> {
    let log_path = directory.join(LOG);
    let log =
        OpenOptions::new().create(true).append(true).open(&log_path).map_err(Fault::os("open", &log_path))?;
    let log_of_stdout = log.try_clone().map_err(Fault::os("open", &log_path))?;
    let program = install.command(kind.server_program())?;
    let mut command = match options.through.split_first() {
        None => program,
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(program.get_program());
            command
        }
    };
    command
        .arg(path_argument("--datadir=", &directory.join("data")))
        // A MariaDB that starts removes every other's temporary tables from a shared folder.
        .arg(path_argument("--tmpdir=", directory))
        .arg(path_argument("--socket=", &directory.join(SOCKET)))
        .arg(path_argument("--pid-file=", &directory.join("pid")))
        .arg(format!("--bind-address={}", options.bind))
        .arg(format!("--port={port}"))
        .args(run_as_argument())
        .args(template::UNSAFE_BUT_FAST)
        .args(COMMON)
        .args(kind.own_arguments());
    if !options.resolves_names {
        command.arg("--skip-name-resolve");
    }
    match options.binary_log {
        Some(server_id) => {
            command.args(["--log-bin=binlog", "--binlog-format=ROW"]);
            command.arg(format!("--server-id={server_id}"));
        }
        // MySQL writes one unless told not to; MariaDB does not know the newer option.
        None => {
            command.arg("--skip-log-bin");
        }
    }
    if options.is_galera_node {
        command.args(["--wsrep-on=ON", "--innodb-autoinc-lock-mode=2", "--wsrep-cluster-address=gcomm://"]);
        command.arg(path_argument("--wsrep-provider=", &install.galera_provider()?));
        // Nodes would find each other here; nobody asks.
        let address = format!("127.0.0.1:{}", free_port()?);
        command.arg(format!("--wsrep-node-address={address}"));
        command.arg(format!("--wsrep-provider-options=gmcast.listen_addr=tcp://{address};gcache.size=8M"));
        command.arg("--binlog-format=ROW");
    }
    command.args(&options.arguments).stdin(Stdio::null()).stdout(log_of_stdout).stderr(log);
    let mut process = Process::spawn(command, directory)?;
    let version = wait_until_ready(&mut process, kind, directory)?;
    Ok((process, version))
}

/// Connects until the server greets; its version.
fn wait_until_ready(process: &mut Process, kind: Kind, directory: &Path) -> Result<String, Fault> {
    let (program, started) = (kind.server_program(), Instant::now());
    loop {
        // Through the socket: a connection without login counts against a TCP client's address.
        if let Some(version) = greeted_version(&directory.join(SOCKET)) {
            return Ok(version);
        }
        if let Some(status) = process.ended()? {
            return Err(Fault::ServerEnded { program, status, log_tail: tail(&directory.join(LOG)) });
        }
        let waited = started.elapsed();
        if waited > READY_WITHIN {
            return Err(Fault::NotReady { program, waited, log_tail: tail(&directory.join(LOG)) });
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The version in the greeting, or nothing while the server is not ready.
fn greeted_version(socket: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(READY_WITHIN)).ok()?;
    // 3 bytes length, 1 sequence, then protocol version 10 and the version's text up to a zero.
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let payload_len = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut payload = vec![0; usize::try_from(payload_len).ok()?.min(GREETING_LEN_MAX)];
    stream.read_exact(&mut payload).ok()?;
    let (10, rest) = payload.split_first().map(|(first, rest)| (*first, rest))? else { return None };
    let version = String::from_utf8_lossy(rest.split(|byte| *byte == 0).next()?);
    // MariaDB 10 hides behind this for old replicas.
    Some(version.strip_prefix("5.5.5-").unwrap_or(&version).to_owned())
}

/// The end of a log.
fn tail(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n")
}

/// A port nobody listens on right now.
fn free_port() -> Result<u16, Fault> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(Fault::os("find a free port on", "127.0.0.1"))
}

/// Servers refuse to run as root unless told so.
pub(super) fn run_as_argument() -> Option<&'static str> {
    runs_as_root().then_some("--user=root")
}

/// Whether this process is root's.
pub(super) fn runs_as_root() -> bool {
    File::open("/proc/self").and_then(|file| file.metadata()).is_ok_and(|metadata| metadata.uid() == 0)
}

const SOCKET: &str = "socket";
const LOG: &str = "log";

/// Options of every server: rows of 64 MiB with their overhead pass, sysbench finds enough connections and
/// prepared statements for a thousand threads, `load data local` is allowed.
const COMMON: [&str; 4] = [
    "--max-allowed-packet=256M",
    "--max-connections=1200",
    "--max-prepared-stmt-count=1000000",
    "--local-infile=ON",
];

/// Six times the slowest start seen on two busy cores.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Clashes are rare; five in a row are something else.
const PORT_ATTEMPT_COUNT_MAX: u32 = 5;

/// Greetings have about 100 bytes.
const GREETING_LEN_MAX: usize = 4096;

/// Enough to see the reason above the farewell lines.
const LOG_LINES_SHOWN: usize = 25;

/// Enough to recognise a statement by.
const STATEMENT_LEN_SHOWN: usize = 120;
