//! `wirepress advise --tap --admin`: a running proxy looks, and the advice is made from numbers alone.
//!
//! Not here: the pass-through tap (`advise`).

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use lab::wait::wait_until;
use proxy::Address;
use rustix::process::{Pid, Signal, kill_process};

use crate::process::ProxyProcess;

/// In every row, and in no number.
const MARKER: &str = "marker-77c2";

fn advise(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
    command.arg("advise").args(args);
    command
}

/// Its exit code and what it says.
fn said(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// Passes on to a Unix socket, and keeps all that comes back from it.
fn recorder(at: &Path, to: PathBuf) -> Arc<Mutex<Vec<u8>>> {
    let listener = UnixListener::bind(at).unwrap();
    let heard = Arc::<Mutex<Vec<u8>>>::default();
    let keep = Arc::clone(&heard);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), UnixStream::connect(&to).unwrap());
            let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
            let keep = Arc::clone(&keep);
            std::thread::spawn(move || {
                let mut buffer = [0; 65536];
                while let Ok(len @ 1..) = server.read(&mut buffer) {
                    keep.lock().unwrap().extend_from_slice(&buffer[..len]);
                    client.write_all(&buffer[..len]).unwrap();
                }
            });
        }
    });
    heard
}

fn proxy(server: &RealServer, admin: &Path) -> ProxyProcess {
    let args = [
        "--listen=127.0.0.1:0".to_owned(),
        format!("--server={}", server.address()),
        format!("--admin-listen=unix:{}", admin.display()),
        // By itself it would not ask for it on a link as fast as this one.
        "--compression-algorithms=zstd".to_owned(),
    ];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let process = ProxyProcess::start(&args, 1);
    wait_until("the admin port is open", || UnixStream::connect(admin).is_ok());
    process
}

/// A client that reads until it is told to stop; how often it has got all that it asked for.
fn reader(
    server: &'static RealServer,
    proxy: &ProxyProcess,
    stop: &Arc<AtomicBool>,
) -> std::thread::JoinHandle<u32> {
    let Address::Tcp { port, .. } = proxy.addresses[0].clone() else { unreachable!() };
    let sql = format!(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400) \
         select i, sha2(i, 512), '{MARKER} is what the link carries' from n;"
    )
    .repeat(20);
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let mut count = 0;
        while !stop.load(Ordering::Relaxed) {
            let mut mysql = server.command("mysql").unwrap();
            mysql.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", &format!("--port={port}")]);
            mysql.args([&format!("--user={USER}"), &format!("--password={PASSWORD}"), "-N"]);
            let output = mysql.args(["--get-server-public-key", "-e", &sql]).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            assert_eq!(String::from_utf8(output.stdout).unwrap().matches(MARKER).count(), 20 * 400);
            count += 1;
        }
        count
    })
}

#[test]
fn a_running_proxy_looks_and_no_byte_of_a_row_leaves_it() {
    let Some(server) = required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let [admin, recorded] = ["admin.sock", "recorded.sock"].map(|name| folder.path().join(name));
    let process = proxy(server, &admin);
    let heard = recorder(&recorded, admin);
    let stop = Arc::new(AtomicBool::new(false));
    let client = reader(server, &process, &stop);
    let out = folder.path().join("out");
    let at = format!("unix:{}", recorded.display());
    let args = [
        "--tap",
        "--admin",
        &at,
        "--for",
        "6",
        "--assume-link",
        "20mbit,5ms",
        "--out",
        out.to_str().unwrap(),
    ];
    let (code, told) = said(&advise(&args).output().unwrap());
    stop.store(true, Ordering::Relaxed);
    assert!(client.join().unwrap() >= 2, "clients went on");
    println!("{told}");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("Use z") && told.contains("wirepress zstd 1"), "{told}");
    let words = told.replace('\n', " ");
    for part in [
        "timed within the running wirepress (",
        "20.0 Mbit/s, round trip 5.00 ms, assumed",
        "the server packs the replies for wirepress already",
        "Packing the samples took ",
        "Only lengths, times, ratios and CPU have left",
    ] {
        assert!(words.contains(part), "{part}: {told}");
    }
    let heard = heard.lock().unwrap();
    // It is what was looked for, and it has come.
    let has = |text: &str| heard.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(has("zstd") && has("127.0.0.1:") && heard.len() > 1000, "{} bytes", heard.len());
    for text in [MARKER, "what the link carries", "4dff4ea340f0a823f15d3f4f01ab62ea"] {
        assert!(!has(text), "{text}");
        assert!(!told.contains(text), "{text}");
    }
    assert!(!process.log().contains(MARKER));
}

/// The advisor, while it waits.
fn waiting(at: &str) -> Child {
    let mut child = advise(&["--tap", "--admin", at, "--for", "600"]);
    child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn tap_is_on(server: &RealServer, admin: &Path) -> bool {
    let mut mysql = server.command("mysql").unwrap();
    mysql.args(["-N", "--user=admin", &format!("--socket={}", admin.display()), "-e", "select @@tap > 0"]);
    String::from_utf8(mysql.output().unwrap().stdout).unwrap().trim() == "1"
}

#[test]
fn a_second_one_is_refused_and_an_early_end_without_traffic_gives_no_verdict() {
    let Some(server) = required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let admin = folder.path().join("admin.sock");
    let _process = proxy(server, &admin);
    let at = format!("unix:{}", admin.display());
    let first = waiting(&at);
    wait_until("the tap is on", || tap_is_on(server, &admin));
    let (code, told) = said(&advise(&["--tap", "--admin", &at]).output().unwrap());
    assert!(code == Some(1) && told.contains("another tap is on, for "), "{told}");
    kill_process(Pid::from_child(&first), Signal::INT).unwrap();
    let (code, told) = said(&first.wait_with_output().unwrap());
    assert!(code == Some(1) && told.contains("no verdict: no client was connected"), "{told}");
    assert!(!tap_is_on(server, &admin), "who was interrupted has ended it");
}

#[test]
fn what_is_no_admin_port_with_a_tap_is_told_with_what_to_do() {
    let Some(server) = required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, PASSWORD).unwrap();
    let (own, password) = (server.address().to_string(), password.to_str().unwrap().to_owned());
    let admin = folder.path().join("admin.sock");
    let _process = proxy(server, &admin);
    let at = format!("unix:{}", admin.display());
    for (args, code, part) in [
        (vec!["--tap", "--admin", "127.0.0.1:1"], 1, "cannot connect to 127.0.0.1:1"),
        (
            vec!["--tap", "--admin", &own, "--admin-user", USER, "--admin-password-file", &password],
            1,
            "has no tap: it is no wirepress, or an earlier one",
        ),
        (vec!["--tap", "--admin", &at, "--admin-user", "nobody"], 1, "ERROR 1045"),
        (vec!["--tap", "--admin", &at, "--admin-password-file", &password], 1, "ERROR 1045"),
        (vec!["--tap", "--admin", &at, "--admin-password-file", "/no/such"], 1, "can't read the password"),
        (vec!["--tap", "127.0.0.1:0", "--admin", &at], 64, "with --admin the running wirepress looks"),
        (vec!["--tap", "--server", "127.0.0.1:1"], 64, "--tap needs host:port to listen on, or --admin"),
        (vec!["--admin", &at], 64, "--tap"),
        (vec!["--tap", "--admin", &at, "--server", "127.0.0.1:1"], 64, "cannot be used with"),
        (vec!["--tap", "--admin", &at, "--tap-cpu-percent", "3"], 64, "cannot be used with"),
        (vec!["--tap", "--admin", &at, "--for", "601"], 64, "1..=600"),
        (vec!["--pcap", "f.pcap", "--admin-user", "me"], 64, "--admin"),
    ] {
        let (found, told) = said(&advise(&args).output().unwrap());
        assert!(found == Some(code) && told.contains(part), "{args:?}: {found:?} {told}");
    }
}
