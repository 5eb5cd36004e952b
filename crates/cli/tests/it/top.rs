//! `wirepress top` on a pseudo terminal that util-linux' `script` makes, against a running proxy.
//!
//! Not here: what is drawn for which numbers (beside the code).

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use rustix::process::{Pid, Signal, kill_process};

use crate::process::ProxyProcess;

/// A terminal, with `wirepress top` on it.
struct Terminal {
    script: Child,
    shown: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// The shell tells its pid, which is then that of `wirepress top`, and whether the terminal was restored.
    fn open(admin: &str, columns: u16, rows: u16) -> Self {
        let shell = format!(
            "stty columns {columns} rows {rows}; before=$(stty -g); \
             sh -c 'echo pid=$$=; exec \"$0\" top --admin \"$1\" --delay 0.1' {program} {admin}; code=$?; \
             test \"$before\" = \"$(stty -g)\" && echo restored; exit $code",
            program = env!("CARGO_BIN_EXE_wirepress"),
        );
        let mut script = Command::new("script")
            .args(["--quiet", "--return", "--flush", "--command", &shell, "/dev/null"])
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = script.stdout.take().unwrap();
        let shown = Arc::<Mutex<String>>::default();
        let told = Arc::clone(&shown);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = stdout.read(&mut buffer) {
                told.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..len]));
            }
        });
        Self { script, shown, reader }
    }

    /// Waits until this has been written since the last call that waited, and forgets all before it.
    fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let mut shown = self.shown.lock().unwrap();
            if let Some(at) = shown.find(text) {
                shown.drain(..at + text.len());
                return;
            }
            assert!(Instant::now() < deadline, "'{text}' is not shown: {shown:?}");
            drop(shown);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn pid(&self) -> Pid {
        self.wait_for("pid=");
        let digits = || {
            let shown = self.shown.lock().unwrap();
            shown.split_once('=').map(|(digits, _)| digits.to_owned())
        };
        loop {
            if let Some(digits) = digits() {
                return Pid::from_raw(digits.parse().unwrap()).unwrap();
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.script.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for its end: it has shown the cursor, left the other screen, and the terminal is as it was.
    fn end(mut self) -> ExitStatus {
        self.wait_for("\x1b[?25h");
        self.wait_for("\x1b[?1049l");
        self.wait_for("restored");
        drop(self.script.stdin.take());
        self.reader.join().unwrap();
        self.script.wait().unwrap()
    }
}

fn sleeping(server: &RealServer, proxy: &ProxyProcess) -> Child {
    let proxy::Address::Tcp { host, port } = &proxy.addresses[0] else { unreachable!() };
    let mut client = server.command("mysql").unwrap();
    client.args(["--protocol=tcp", "--get-server-public-key", "--compression-algorithms=zstd"]);
    client.args([format!("--host={host}"), format!("--port={port}")]);
    client.args([
        format!("--user={USER}"),
        format!("--password={PASSWORD}"),
        "--execute=do sleep(60)".into(),
    ]);
    client.stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_proxy_is_watched_a_connection_killed_and_the_terminal_given_back() {
    let Some(server) = required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let admin = format!("unix:{}", folder.path().join("admin.sock").display());
    let to_server = server.address().to_string();
    let args = ["--listen=127.0.0.1:0", &format!("--server={to_server}"), &format!("--admin-listen={admin}")];
    let mut proxy = ProxyProcess::start(&args, 1);
    proxy.await_admin(&admin);
    let client = sleeping(server, &proxy);

    let mut terminal = Terminal::open(&admin, 80, 24);
    terminal.wait_for("PLAIN/s");
    terminal.wait_for(USER);
    terminal.press("k");
    terminal.wait_for("Kill");
    terminal.press("y");
    terminal.wait_for("killed");
    let output = client.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("1927"), "{told}");

    // Its proxy goes, and another comes.
    proxy.signal(Signal::TERM);
    assert!(proxy.end().0.success());
    terminal.wait_for("CONNECTION");
    let proxy = ProxyProcess::start(&args, 1);
    let mut client = sleeping(server, &proxy);
    terminal.wait_for(USER);
    terminal.press("q");
    let ended = terminal.end();
    assert_eq!(ended.code(), Some(0));

    // A narrow one is as good, and a signal gives the terminal back, too.
    let terminal = Terminal::open(&admin, 40, 12);
    let pid = terminal.pid();
    terminal.wait_for("C-LEG/s");
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(terminal.end().code(), Some(0));
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
fn without_a_terminal_or_a_proxy_it_says_so() {
    let top = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
        let output = command.args(["top", "--admin=unix:/nowhere/admin.sock"]).args(more);
        let output = output.stdin(Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = top(&[]);
    assert!(code == Some(64) && told.contains("is not a terminal"), "{code:?} {told}");
    let (code, told) = top(&["--delay=0"]);
    assert!(code == Some(64) && told.contains("0.1 to 3600"), "{code:?} {told}");
    // On a terminal, and nobody there.
    let shell = format!("{} top --admin unix:/nowhere/admin.sock", env!("CARGO_BIN_EXE_wirepress"));
    let mut script = Command::new("script");
    let script = script.args(["--quiet", "--return", "--command", &shell, "/dev/null"]);
    let output = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) && told.contains("unix:/nowhere/admin.sock"), "{told}");
    assert!(!told.contains("\x1b[?1049h"), "{told}");
}
