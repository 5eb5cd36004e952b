//! TLS of the port that speaks MySQL, by the real mysql client, from this host and from another.
//!
//! Not here: certificates themselves (crate `proxy`), limits (crate `mysqlite`).

use std::process::{Command, Output};

use admin::{Admin, Fault, Setup};
use lab::namespace::Namespace;
use lab::real::Kind;
use proxy::{Address, ListenerTls, TlsMode, make_self_signed};
use tempfile::TempDir;

use crate::stage::{Stage, complaint};

struct Port {
    admin: Admin,
    directory: TempDir,
}

/// With a password, and a self-signed pair if wished.
fn open(stage: &Stage, listen: &str, with_tls: bool) -> Result<Port, Fault> {
    let directory = tempfile::tempdir().unwrap();
    let password_file = directory.path().join("password");
    std::fs::write(&password_file, "open sesame\n").unwrap();
    let tls = with_tls.then(|| {
        let (cert, key) = make_self_signed(directory.path()).unwrap();
        ListenerTls { mode: TlsMode::Preferred, cert, key, client_ca: None }
    });
    let setup = Setup {
        listen: Some(listen.parse().unwrap()),
        user: "operator".to_owned(),
        password_file: Some(password_file),
        tls,
        ..Setup::default()
    };
    Ok(Port { admin: Admin::open(&setup, &stage.proxy.live())?, directory })
}

impl Port {
    /// The options by which a client asks for its own TLS.
    fn ask(&self, stage: &Stage, mut command: Command, host: &str, options: &[&str]) -> Output {
        let Some(Address::Tcp { port, .. }) = self.admin.sql_address() else { unreachable!() };
        let program = stage.server.command("mysql").unwrap();
        command.arg(program.get_program()).args(["--batch", "--skip-column-names", "--protocol=tcp"]);
        command.args([format!("--host={host}"), format!("--port={port}")]);
        command.args(["--user=operator", "--password=open sesame"]).args(options);
        command
            .arg("--execute=show status like 'ssl_version'; select count(*) from listeners")
            .output()
            .unwrap()
    }
}

/// Runs what follows here.
fn here() -> Command {
    let mut command = Command::new("env");
    command.args(["-u", "MYSQL_HOST"]);
    command
}

fn rows(output: &Output) -> String {
    assert!(output.status.success(), "{}", complaint(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn clients_of_this_host_may_use_tls_and_are_told_the_truth_of_it() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let port = open(&stage, "127.0.0.1:0", true).unwrap();
    let ca = format!("--ssl-ca={}", port.directory.path().join("wirepress-cert.pem").display());
    for (options, version) in [
        (vec!["--ssl-mode=REQUIRED"], "TLSv1.3"),
        (vec!["--ssl-mode=REQUIRED", "--tls-version=TLSv1.2"], "TLSv1.2"),
        (vec!["--ssl-mode=REQUIRED", "--compression-algorithms=zstd"], "TLSv1.3"),
        (vec!["--ssl-mode=VERIFY_IDENTITY", &ca], "TLSv1.3"),
        (vec!["--ssl-mode=DISABLED"], ""),
    ] {
        let host = if options[0].ends_with("IDENTITY") { "localhost" } else { "127.0.0.1" };
        let output = port.ask(&stage, here(), host, &options);
        assert_eq!(rows(&output), format!("Ssl_version\t{version}\n1\n"), "{options:?}");
    }
    let plain = open(&stage, "127.0.0.1:0", false).unwrap();
    assert_eq!(rows(&plain.ask(&stage, here(), "127.0.0.1", &[])), "Ssl_version\t\n1\n");
    assert!(!plain.ask(&stage, here(), "127.0.0.1", &["--ssl-mode=REQUIRED"]).status.success());
}

#[test]
fn a_port_that_other_hosts_reach_is_not_opened_without_tls() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    for listen in ["0.0.0.0:0", "[::]:0"] {
        assert!(matches!(open(&stage, listen, false), Err(Fault::NoTls { .. })), "{listen}");
    }
}

#[test]
fn another_host_must_use_tls() {
    if !lab::real::root_or_skip() {
        return;
    }
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let port = open(&stage, "0.0.0.0:0", true).unwrap();
    let namespace = Namespace::new().unwrap();
    let [program, rest @ ..] = namespace.exec();
    let there = || {
        let mut command = Command::new(program);
        command.args(rest);
        command
    };
    let host = namespace.our_address().to_string();
    let refused = port.ask(&stage, there(), &host, &["--ssl-mode=DISABLED"]);
    assert!(complaint(&refused).contains("ERROR 3159 (HY000)"), "{}", complaint(&refused));
    let output = port.ask(&stage, there(), &host, &["--ssl-mode=REQUIRED"]);
    assert_eq!(rows(&output), "Ssl_version\tTLSv1.3\n1\n");
}
