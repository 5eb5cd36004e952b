//! A real server, a proxy before it, and the proxy's admin port on a Unix socket.
//!
//! Not here: what is asked there.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use admin::{Admin, Prices, Setup};
use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use proxy::{Address, ListenerConfig, Proxy, SslMode};
use tempfile::TempDir;

pub(crate) struct Stage {
    pub(crate) server: &'static RealServer,
    pub(crate) proxy: Proxy,
    pub(crate) admin: Admin,
    _directory: TempDir,
}

impl Stage {
    /// Nothing where the server is missing.
    pub(crate) fn new(kind: Kind) -> Option<Self> {
        Self::with(kind, |_| {})
    }

    /// The same with other settings.
    pub(crate) fn with(kind: Kind, change: impl FnOnce(&mut ListenerConfig)) -> Option<Self> {
        let server = required(kind)?;
        let directory = tempfile::Builder::new().prefix("wirepress-admin-").tempdir().unwrap();
        let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), server.address().into());
        config.server_tls.mode = Some(SslMode::Disabled);
        change(&mut config);
        let proxy = Proxy::start(config).unwrap();
        let setup = Setup {
            listen: Some(Address::Unix(directory.path().join("admin.sock"))),
            user: "admin".to_owned(),
            password_file: None,
            prices: Prices { per_gb: Some(1.0), per_core_hour: None },
            http_listen: None,
            tls: None,
        };
        let admin = Admin::open(&setup, &proxy.live()).unwrap();
        Some(Self { server, proxy, admin, _directory: directory })
    }

    /// A client of the proxy with these options.
    pub(crate) fn client(&self, program: &str) -> Command {
        let Address::Tcp { host, port } = self.proxy.address() else { unreachable!() };
        let mut command = self.server.command(program).unwrap();
        command.args(["--batch", "--skip-column-names", "--protocol=tcp"]);
        command.args([format!("--host={host}"), format!("--port={port}")]);
        command.args([format!("--user={USER}"), format!("--password={PASSWORD}")]);
        command.args(program.starts_with("mysql").then_some("--get-server-public-key"));
        command
    }

    /// The mysql client on the admin port.
    pub(crate) fn admin_client(&self) -> Command {
        let Some(Address::Unix(path)) = self.admin.sql_address() else { unreachable!() };
        let mut command = self.server.command("mysql").unwrap();
        command.args(["--batch", "--user=admin", "--default-character-set=utf8mb4"]);
        command.arg(format!("--socket={}", path.display()));
        command
    }

    /// What the admin port answers: lines, values separated by tabs, headings first.
    pub(crate) fn ask(&self, statement: &str) -> Vec<String> {
        let output = self.admin_client().arg(format!("--execute={statement}")).output().unwrap();
        assert!(output.status.success(), "{statement}: {}", complaint(&output));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// The error that it answers with.
    pub(crate) fn error(&self, statement: &str) -> String {
        let output = self.admin_client().arg(format!("--execute={statement}")).output().unwrap();
        assert!(!output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stdout));
        complaint(&output)
    }

    /// Asks until the answer is as wanted.
    pub(crate) fn ask_until(&self, statement: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let lines = self.ask(statement);
            if wanted(&lines) {
                return lines;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{statement}: {lines:?}");
        }
    }
}

pub(crate) fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
