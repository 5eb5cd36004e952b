//! The admin ports of the binary, across a handover too.
//!
//! Not here: what they tell (crate `admin`).

use std::process::Command;
use std::time::{Duration, Instant};

use lab::real::{Kind, RealServer, required};

use crate::process::ProxyProcess;

fn ask(server: &RealServer, socket: &str, statement: &str) -> Result<String, String> {
    let mut client = server.command("mysql").unwrap();
    client.args(["--batch", "--skip-column-names", "--user=admin", &format!("--socket={socket}")]);
    let output = client.arg(format!("--execute={statement}")).output().unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap()),
        false => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

#[test]
fn the_admin_port_is_open_where_it_was_asked_for_and_passes_to_a_successor() {
    let Some(server) = required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (socket, handover) = (path("admin.sock"), path("handover"));
    let (to_server, listen) = (server.address().to_string(), format!("unix:{socket}"));
    let args = [
        "--listen=127.0.0.1:0",
        &format!("--server={to_server}"),
        &format!("--admin-listen={listen}"),
        &format!("--handover={handover}"),
        "--price-per-gb=0.02",
    ];
    let mut first = ProxyProcess::start(&args, 1);
    // It is open before anybody can be handed over to, and behind the line that scripts wait for.
    let count = |socket: &str| {
        let begun = Instant::now();
        loop {
            match ask(server, socket, "select count(*), (select count(*) from connections) from listeners") {
                Ok(answer) => return answer,
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(20), "{error}"),
            }
        }
    };
    assert_eq!(count(&socket), "1\t0\n");
    assert!(ask(server, &socket, "select no_such").unwrap_err().contains("ERROR 1054 (42S22)"));

    let status = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
        let output = command.args(["status", "--admin", &listen]).args(more).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, screen) = status(&[]);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains(&first.addresses[0].to_string()) && screen.contains(&to_server), "{screen}");
    let (code, json) = status(&["--json"]);
    let json: serde_json::Value =
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!((code, json["listeners"][0]["connections"].as_u64()), (Some(0), Some(0)), "{json}");
    assert_eq!(json["servers"][0]["state"], "up");
    let (code, told) = status(&["--user=nobody"]);
    assert!(code == Some(1) && told.contains("1045"), "{code:?} {told}");

    let second = ProxyProcess::start(&args, 1);
    let (ended, log) = first.end();
    assert!(ended.success(), "{log}");
    assert_eq!(count(&socket), "1\t0\n");
    assert!(!second.log().contains("there is no admin port"), "{}", second.log());
}

#[test]
fn a_port_of_the_network_without_a_password_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("password");
    std::fs::write(&empty, "\n").unwrap();
    let empty = format!("--admin-password-file={}", empty.display());
    for (more, told) in [
        (vec!["--admin-listen=127.0.0.1:0"], "needs a password: give --admin-password-file"),
        (vec!["--admin-http-listen=127.0.0.1:0"], "needs a password: give --admin-password-file"),
        (vec!["--admin-listen=127.0.0.1:0", &empty], "its first line must be the password"),
        (vec!["--admin-listen=nowhere"], "host:port"),
    ] {
        let mut command = ProxyProcess::command(&["--listen=127.0.0.1:0", "--server=127.0.0.1:9"]);
        let output = command.args(&more).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(told), "{more:?}: {text}");
        assert_eq!(output.status.code(), Some(64), "{more:?}");
    }
}

#[test]
fn our_own_commands_speak_tls_with_an_admin_port_and_check_whom_they_speak_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("password"), "secret\n").unwrap();
    let password = format!("--password-file={}", path("password"));
    // Nobody else gets these as long as they are held here, and the proxy only when they are not.
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (with_tls, without) = (free(), free());
    let begin = |admin: &str, tls: Option<String>| {
        let mut args = vec![
            "--listen=127.0.0.1:0".to_owned(),
            "--server=127.0.0.1:9".to_owned(),
            format!("--admin-listen={admin}"),
            format!("--admin-password-file={}", path("password")),
        ];
        args.extend(tls);
        let process = ProxyProcess::start(&args.iter().map(String::as_str).collect::<Vec<_>>(), 1);
        process.await_admin(admin);
        process
    };
    let _first = begin(&with_tls, Some(format!("--admin-tls-self-signed={}", folder.path().display())));
    let _second = begin(&without, None);
    let status = |admin: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
        let output = command.args(["status", "--admin", admin, &password]).args(more).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let wrong = format!("--ssl-fp={}", "00".repeat(32));
    let ca = format!("--ssl-ca={}", path("wirepress-cert.pem"));
    for (admin, more, code, told) in [
        (&with_tls, &["--ssl-mode=required"][..], 0, "127.0.0.1"),
        (&with_tls, &[&ca], 0, "127.0.0.1"),
        (&with_tls, &[&wrong], 1, "fingerprint"),
        (&with_tls, &["--ssl-ca=/nowhere.pem"], 64, "/nowhere.pem"),
        (&without, &[], 0, "127.0.0.1"),
        (&without, &["--ssl-mode=required"], 1, "offers no TLS"),
    ] {
        let (ended, screen) = status(admin, more);
        assert!(ended == Some(code) && screen.contains(told), "{more:?}: {ended:?} {screen}");
    }
}

#[test]
fn log_lines_are_objects_on_request() {
    let args = ["--listen=127.0.0.1:0", "--server=127.0.0.1:9", "--log-format=json", "--ssl-mode=disabled"];
    let mut process = ProxyProcess::start(&args, 1);
    let proxy::Address::Tcp { host, port } = process.addresses[0].clone() else { unreachable!() };
    // Nobody listens behind it, so that the session ends with a fault.
    let mut told = Vec::new();
    let mut client = std::net::TcpStream::connect((host, port)).unwrap();
    std::io::Read::read_to_end(&mut client, &mut told).unwrap();
    process.await_log("session ended");
    process.signal(rustix::process::Signal::TERM);
    let (_, log) = process.end();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    let ended =
        lines.iter().find(|line| line["message"].as_str().is_some_and(|it| it.starts_with("session ended")));
    let ended = ended.unwrap_or_else(|| panic!("{log}"));
    assert_eq!((&ended["level"], &ended["cause"]), (&"WARN".into(), &"io".into()), "{ended}");
    assert!(
        ended["seconds"].is_number() && ended["plain_len"] == 0 && ended["codec_seconds"] == 0.0,
        "{ended}"
    );
}
