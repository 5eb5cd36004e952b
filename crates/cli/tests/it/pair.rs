//! `--pair-listen` and `--server wirepress://`: two processes, and arguments that would leave a pair open to anybody.
//!
//! Not here: what sessions carry (`proxy/tests/it/live`).

use std::io::Read;
use std::net::TcpStream;
use std::process::Command;

use lab::peer::Nobody;

use super::process::ProxyProcess;

#[test]
fn two_processes_with_a_key_pass_a_servers_error_on() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef\n").unwrap();
    let key = key.to_str().unwrap();
    let held = Nobody::new().unwrap();
    let nobody = held.address().unwrap().to_string();
    let listener =
        ProxyProcess::start(&["--pair-listen", "127.0.0.1:0", "--server", &nobody, "--pair-key", key], 1);
    let peer = format!("wirepress://{}", listener.addresses[0]);
    let dialer = ProxyProcess::start(&["--listen", "127.0.0.1:0", "--server", &peer, "--pair-key", key], 1);
    let mut told = Vec::new();
    TcpStream::connect(dialer.addresses[0].to_string()).unwrap().read_to_end(&mut told).unwrap();
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains(&format!("can't use the MySQL server at '{nobody}'")), "{told}");
    listener.await_log("it must know the key");
    dialer.await_log("session ended");
}

#[test]
fn a_pair_without_a_key_does_not_start_where_others_could_reach_it() {
    for (args, reason) in [
        (&["--pair-listen", "0.0.0.0:0", "--server", "127.0.0.1:3306"][..], "give --pair-key"),
        (&["--listen", "127.0.0.1:0", "--server", "wirepress://192.0.2.1:3308"], "give --pair-key"),
        (&["--listen", "wirepress://127.0.0.1:0", "--server", "127.0.0.1:3306"], "give --pair-listen"),
        (
            &["--pair-listen", "127.0.0.1:0", "--server", "127.0.0.1:3306", "--pair-key", "/nonexistent"],
            "openssl rand",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_wirepress")).arg("proxy").args(args).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(reason), "{args:?}: {told}");
    }
}
