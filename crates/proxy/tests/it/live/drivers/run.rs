//! One run of one driver's scenario, and the verdict on two: through the proxy and directly.
//!
//! Invariants: through the proxy a cell is what it says. Its listener refuses clients without TLS, or without
//! compression, if the cell has them; the session's own status tells of the client leg's compression and of the server
//! leg's TLS, and the proxy itself of the server leg's compression.
//!
//! Not here: which cells are run.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use codec::{Algorithm, AlgorithmSet};
use lab::real::{Install, Kind, Options, PASSWORD, RealServer, USER};
use proxy::{Address, Config, ListenerConfig, ListenerTls, Proxy, SslMode, TlsMode, make_self_signed};
use tempfile::TempDir;

use super::catalog::Driver;

/// What a driver is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) compresses: bool,
    pub(crate) tls: bool,
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match (self.compresses, self.tls) {
            (false, false) => "plain",
            (true, false) => "compressed",
            (false, true) => "TLS",
            (true, true) => "compressed, TLS",
        })
    }
}

/// A server with TLS, and the pair of keys that a proxy in front of it uses.
pub(crate) struct Target {
    pub(crate) server: RealServer,
    keys: (PathBuf, PathBuf),
    _folder: TempDir,
}

impl Target {
    /// The one that this process's runs share.
    pub(crate) fn shared(kind: Kind) -> &'static Self {
        static MYSQL: OnceLock<Target> = OnceLock::new();
        static MARIADB: OnceLock<Target> = OnceLock::new();
        let shared = if kind.is_mariadb() { &MARIADB } else { &MYSQL };
        shared.get_or_init(|| Self::start(kind))
    }

    fn start(kind: Kind) -> Self {
        let folder = tempfile::Builder::new().prefix("wirepress-drivers-").tempdir().unwrap();
        let keys = make_self_signed(folder.path()).unwrap();
        let mut options = Options::new();
        if kind.is_mariadb() {
            // MySQL makes its own.
            options = options
                .argument(format!("--ssl-cert={}", keys.0.display()))
                .argument(format!("--ssl-key={}", keys.1.display()));
        }
        let server = RealServer::start(kind, &options).unwrap();
        Self { server, keys, _folder: folder }
    }

    /// A proxy that takes clients of this setting only, and asks the server for one of these.
    fn proxy(&self, setting: Setting, server_leg: &[Algorithm]) -> Proxy {
        let listen = Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
        let mut config = ListenerConfig::new(listen, self.server.address().into());
        if setting.tls {
            let (cert, key) = self.keys.clone();
            config.tls = Some(ListenerTls { mode: TlsMode::Required, cert, key, client_ca: None });
        }
        config.server_tls.mode = Some(if setting.tls { SslMode::Required } else { SslMode::Disabled });
        if setting.compresses {
            config.permitted = AlgorithmSet::of(&[Algorithm::Zlib, Algorithm::Zstd]);
        }
        config.server_algorithms = server_leg.to_vec();
        Proxy::start(Config { workers: 1, ..config.into() }).unwrap()
    }
}

/// What one run printed.
#[derive(Debug)]
pub(crate) struct Transcript {
    /// `ok STEP`, `no STEP`, `row ...`.
    pub(crate) lines: Vec<String>,
    /// Why it is no success, if so.
    pub(crate) complaint: Option<String>,
    /// What it printed on standard error.
    warnings: Vec<String>,
}

impl Transcript {
    /// The steps that the driver has no feature for.
    pub(crate) fn lacks(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line.strip_prefix("no ")?.split(' ').next()).collect()
    }
}

/// What two runs say about the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The proxy's run got all that the direct one did.
    Same,
    /// It succeeded; the direct one did not, and says this.
    DirectFails(String),
    /// Neither did.
    BothFail(String),
    /// Only the direct one did.
    Fails(String),
}

/// Runs the scenario through a proxy, whose server leg has one of these.
pub(crate) fn through_proxy(
    driver: &Driver,
    target: &Target,
    setting: Setting,
    server_leg: &[Algorithm],
) -> Transcript {
    let proxy = target.proxy(setting, server_leg);
    let mut transcript = transcript(driver, target, setting, proxy.address());
    check_session(&mut transcript, setting);
    let wished = server_leg.first().map_or("", |algorithm| algorithm.name());
    if let Some((_, _, is)) = proxy.live().sums().keys().find(|(_, _, server)| *server != wished)
        && transcript.complaint.is_none()
    {
        transcript.complaint = Some(format!("the server leg has {is} instead of {wished}"));
    }
    if let Some(complaint) = &mut transcript.complaint {
        complaint.push_str(&format!("; the proxy's faults: {:?}", proxy.counters().faults()));
    }
    transcript
}

/// Runs it without a proxy.
pub(crate) fn directly(driver: &Driver, target: &Target, setting: Setting) -> Transcript {
    let mut transcript = transcript(driver, target, setting, &target.server.address().into());
    check_session(&mut transcript, setting);
    transcript
}

/// Compares them.
pub(crate) fn judge(driver: &Driver, proxied: &Transcript, direct: &Transcript) -> Verdict {
    let of = |transcript: &Transcript| transcript.complaint.clone();
    match (of(proxied), of(direct)) {
        (Some(complaint), Some(_)) => return Verdict::BothFail(complaint),
        (Some(complaint), None) => return Verdict::Fails(complaint),
        (None, Some(complaint)) => return Verdict::DirectFails(complaint),
        (None, None) => {}
    }
    for warning in &proxied.warnings {
        let is_known = driver.known_warning.is_some_and(|known| warning.contains(known));
        if !is_known && !direct.warnings.contains(warning) {
            return Verdict::Fails(format!("it warns, and not without us: {warning}"));
        }
    }
    let [proxied_lines, direct_lines] = [proxied, direct].map(|transcript| {
        transcript.lines.iter().filter(|line| !line.starts_with("session ")).collect::<Vec<_>>()
    });
    if proxied_lines.len() != direct_lines.len() {
        let (a, b) = (proxied_lines.len(), direct_lines.len());
        return Verdict::Fails(format!("{a} lines instead of {b}: {proxied_lines:?}"));
    }
    let mut mended = None;
    for (ours, theirs) in proxied_lines.into_iter().zip(direct_lines) {
        // A reason may stand behind the step.
        let step = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let is_no = ours.starts_with("no ") && step(ours) == step(theirs);
        let is_mended = ours.strip_prefix("ok ").is_some_and(|name| step(theirs) == format!("no {name}"));
        if is_mended {
            mended = Some(theirs.clone());
        } else if !is_no && ours != theirs {
            return Verdict::Fails(format!("'{ours}' instead of '{theirs}'"));
        }
    }
    mended.map_or(Verdict::Same, Verdict::DirectFails)
}

/// A driver's program, or what is missing.
pub(crate) fn program(driver: &Driver) -> Result<PathBuf, String> {
    let drivers = Install::find().unwrap().path().join("drivers");
    let program = drivers.join("bin").join(driver.name);
    if program.is_file() {
        return Ok(program);
    }
    match std::fs::read_to_string(drivers.join("missing").join(driver.name)) {
        Ok(reason) => Err(reason.trim().to_owned()),
        Err(_) => {
            panic!("{} is missing; run scripts/fetch-drivers, which says why if it can't be had", driver.name)
        }
    }
}

fn transcript(driver: &Driver, target: &Target, setting: Setting, address: &Address) -> Transcript {
    let Address::Tcp { host, port } = address else { panic!("drivers are tested over TCP") };
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let (fresh, second) = (format!("fresh_{number}"), format!("second_{number}"));
    for account in [&fresh, &second] {
        let statement =
            format!("create user {account} identified by '{PASSWORD}'; grant all on test.* to {account}");
        target.server.sql(&statement).unwrap();
    }
    if target.server.kind() == Kind::MySql {
        // Only `fresh` is a stranger to the server: not every driver can ask for its RSA key.
        for account in [USER, &second] {
            introduce(&target.server, account);
        }
    }
    let flag = |is_on: bool| if is_on { "1" } else { "0" };
    let output = Command::new("timeout")
        .arg(TIME_MAX)
        .arg(program(driver).unwrap())
        .env("DB_HOST", host)
        .env("DB_PORT", port.to_string())
        .env("DB_USER", USER)
        .env("DB_PASSWORD", PASSWORD)
        .env("DB_NAME", "test")
        .env("DB_FRESH_USER", fresh)
        .env("DB_SECOND_USER", second)
        .env("DB_COMPRESS", flag(setting.compresses))
        .env("DB_TLS", flag(setting.tls))
        .env("DB_TABLE", format!("driver_{number}"))
        .env("DB_COLUMNS", EVERY_TYPE.map(|(column, _)| column).join(", "))
        .env("DB_VALUES", values())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<String> = printed.lines().map(str::to_owned).collect();
    let warnings: Vec<String> = errors.lines().map(str::to_owned).collect();
    let last = lines.last().map_or("", |line| line.as_str());
    let is_complete = last == "ok reconnect" && output.status.success();
    let complaint = (!is_complete).then(|| {
        let after: String = last.chars().take(60).collect();
        let said: String = errors.trim().chars().take(1000).collect();
        format!("{} after '{after}': {said}", output.status)
    });
    Transcript { lines, complaint, warnings }
}

/// Logs in once, so that the server knows the account's password.
fn introduce(server: &RealServer, account: &str) {
    let output = server
        .command("mysql")
        .unwrap()
        .arg(format!("--socket={}", server.socket_path().display()))
        .arg(format!("--user={account}"))
        .arg(format!("--password={PASSWORD}"))
        .arg("--execute=do 1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `session COMPRESSION TLS_VERSION`, as the driver is told, must be as the legs were set.
fn check_session(transcript: &mut Transcript, wanted: Setting) {
    if transcript.complaint.is_some() {
        return;
    }
    let line = transcript.lines.iter().find_map(|line| line.strip_prefix("session "));
    let words: Vec<&str> = line.unwrap_or_default().split(' ').collect();
    let is = Setting {
        compresses: words[0] == "ON",
        tls: words.get(1).is_some_and(|version| version.starts_with("TLS")),
    };
    if is != wanted {
        transcript.complaint =
            Some(format!("the session's status tells {is} ({line:?}) instead of {wanted}"));
    }
}

/// Two rows: a value of each type, and NULLs.
fn values() -> String {
    let given = EVERY_TYPE.map(|(_, value)| value).join(", ");
    let nulls = vec!["null"; EVERY_TYPE.len() - 1].join(", ");
    format!("({given}), (2, {nulls})")
}

/// Columns, and the literal for each.
const EVERY_TYPE: [(&str, &str); 34] = [
    ("id int primary key", "1"),
    ("c1 tinyint", "-128"),
    ("c2 tinyint unsigned", "255"),
    ("c3 smallint", "-32768"),
    ("c4 mediumint", "-8388608"),
    ("c5 int", "-2147483648"),
    ("c6 int unsigned", "4294967295"),
    ("c7 bigint", "-9223372036854775808"),
    ("c8 bigint unsigned", "18446744073709551615"),
    ("c9 decimal(30,10)", "12345678901234567890.0123456789"),
    ("c10 float", "1.5"),
    ("c11 double", "0.1"),
    ("c12 bit(12)", "b'101010101010'"),
    ("c13 date", "'2026-11-21'"),
    ("c14 time(6)", "'12:34:56.789012'"),
    ("c15 datetime(6)", "'2026-11-21 12:34:56.789012'"),
    ("c16 timestamp(6) null", "'2026-11-21 12:34:56.789012'"),
    ("c17 year", "2026"),
    ("c18 char(20) character set utf8mb4", "'char 密码'"),
    ("c19 varchar(50) character set utf8mb4", "'varchar 🔑'"),
    ("c20 binary(8)", "x'00ff0102030405fe'"),
    ("c21 varbinary(20)", "x'00deadbeef'"),
    ("c22 tinyblob", "x'01ff'"),
    ("c23 blob", "repeat(x'02fe', 200)"),
    ("c24 mediumblob", "x'03'"),
    ("c25 longblob", "repeat(x'04fc', 700)"),
    ("c26 tinytext", "'tiny'"),
    ("c27 text", "'some text'"),
    ("c28 mediumtext", "repeat('mt', 300)"),
    ("c29 longtext", "repeat('lt', 700)"),
    ("c30 enum('a', 'b')", "'b'"),
    ("c31 set('x', 'y')", "'x,y'"),
    ("c32 json", "'{\"k\": [1, 2.5, null]}'"),
    ("c33 geometry", "st_geomfromtext('POINT(1 2)')"),
];

/// Tables and accounts are named by it: runs share their servers.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// `timeout` ends a driver that hangs; the slowest takes some ten seconds on two cores, of which others may want more.
const TIME_MAX: &str = "300";
