//! What signals do to a running proxy, and what a config file may say.
//!
//! Not here: restarts under load (`restart`).

use std::process::Command;

use lab::real::{Kind, PASSWORD, USER, required};
use rustix::process::Signal;

use crate::process::ProxyProcess;

fn wirepress(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_wirepress")).args(args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn a_reload_takes_new_settings_or_refuses_them_all() {
    let Some(server) = required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wirepress.toml");
    let write = |more: &str| {
        let text = format!(
            "[[listener]]\nlisten = \"127.0.0.1:0\"\nserver = \"{}\"\nssl-mode = \"disabled\"\nintercept-session-status = false\n{more}\n",
            server.address()
        );
        std::fs::write(&file, text).unwrap();
    };
    write("compression-algorithms = \"zlib\"");
    let mut process = ProxyProcess::start(&["--config", file.to_str().unwrap()], 1);
    let proxy::Address::Tcp { port, .. } = process.addresses[0].clone() else { panic!() };
    let algorithm = || {
        let mut client = server.command("mysql").unwrap();
        client.args(["--host=127.0.0.1", &format!("--port={port}"), &format!("--user={USER}")]);
        client.args([&format!("--password={PASSWORD}"), "--get-server-public-key", "--skip-column-names"]);
        let output = client.args(["-e", "show status like 'compression_algorithm'"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().split_whitespace().last().unwrap_or_default().to_owned()
    };
    assert_eq!(algorithm(), "zlib");
    write("compression-algorithms = \"zstd\"");
    process.signal(Signal::HUP);
    process.await_log("the configuration was read again");
    assert_eq!(algorithm(), "zstd");
    write("compression-algorithms = \"zlib\"\n[proxy]\nworkers = 7\nbuffer-memory = 99");
    process.signal(Signal::HUP);
    process.await_log("buffer memory 99 MiB, drain 30 s; 7 workers");
    assert_eq!(algorithm(), "zlib");
    write("compression-algorithms = \"zstd\"\n[proxy]\nworkers = 1");
    process.signal(Signal::HUP);
    process.await_log("; 1 workers");
    // Refused as a whole: the algorithm could be taken, the rest can't.
    for (more, why) in [
        ("tls-cert = \"/nowhere/cert.pem\"\ntls-key = \"/nowhere/key.pem\"", "/nowhere/cert.pem"),
        ("no-such-key = 1", "no-such-key"),
        ("[proxy]\nhandover = \"/nowhere/handover\"", "the path of the handover can't change"),
        (
            "[[listener]]\nlisten = \"127.0.0.1:1\"\nserver = \"x:1\"",
            "the addresses that are listened on can't change",
        ),
    ] {
        write(&format!("compression-algorithms = \"zlib\"\n{more}"));
        process.signal(Signal::HUP);
        process.await_log(why);
        assert_eq!(algorithm(), "zstd", "{why}");
    }
    process.signal(Signal::TERM);
    let (status, log) = process.end();
    assert!(status.success());
    assert_eq!(log.matches("the configuration stays as it was").count(), 4, "{log}");
    assert!(log.contains("drained"), "{log}");
}

#[test]
fn a_config_file_is_checked_without_listening() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wirepress.toml");
    let path = file.to_str().unwrap();
    let listener = "[[listener]]\nlisten = \"127.0.0.1:3307\"\nserver = \"db:3306\"\n";
    for (text, code, told) in [
        (listener.to_owned(), 0, "127.0.0.1:3307 -> db:3306: fine"),
        (format!("{listener}sever = \"x\""), 64, "did you mean 'server'?"),
        (format!("{listener}{listener}"), 64, "two listeners have the address 127.0.0.1:3307"),
        (format!("{listener}tls = \"required\""), 64, "TLS needs a certificate"),
        (format!("{listener}ssl-ca = \"/nowhere/ca.pem\""), 64, "--ssl-ca '/nowhere/ca.pem'"),
        (format!("{listener}ssl-mode = \"verify_ca\""), 64, "need --ssl-ca"),
        (format!("{listener}routing-strategy = \"round-robin\""), 64, "first-available"),
        (format!("{listener}monitor-user = \"m\""), 64, "monitor-user and monitor-password-file go together"),
        (
            format!("{listener}monitor-user = \"m\"\nmonitor-password-file = \"/nowhere/p\""),
            64,
            "can't read the monitor account's password from '/nowhere/p'",
        ),
        (
            listener.replace("\"db:3306\"", "[\"a:1\", \"b:2\", \"a:1\"]"),
            64,
            "the server a:1 is listed twice",
        ),
        (listener.replace("\"db:3306\"", "[\"a:1\", \"b:2\"]"), 0, "127.0.0.1:3307 -> a:1, b:2: fine"),
        ("[proxy]\n".to_owned(), 64, "no listener is configured"),
        ("[[listener]]\nlisten = \"a:1\"".to_owned(), 64, "--server is missing"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let (actual, output) = wirepress(&["check-config", path]);
        assert_eq!(actual, Some(code), "{text}: {output}");
        assert!(output.contains(told), "{text}: {output}");
    }
    let (code, output) = wirepress(&["check-config", "/nowhere/wirepress.toml"]);
    assert_eq!(code, Some(64), "{output}");
    assert!(output.contains("can't read the config file"), "{output}");
}
