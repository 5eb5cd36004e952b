//! `wirepress send` and `wirepress receive` as two processes: with commands at both ends, and with one of them failing,
//! killed or a stranger.
//!
//! Not here: connections that break (crate `transfer`), a Galera cluster (`sst`).

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;

/// A folder with a key and something to send.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        std::fs::write(lab.path("key"), "0123456789abcdef".repeat(4)).unwrap();
        let rows: String = (0..400_000_u64)
            .map(|row| format!("{row} {}\n", row.wrapping_mul(6_364_136_223_846_793_005)))
            .collect();
        std::fs::write(lab.path("rows"), rows).unwrap();
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A receiver and its address.
    fn receive(&self, args: &[&str], command: &str) -> Listening {
        let mut receive = wirepress();
        receive.args(["receive", "--listen", "127.0.0.1:0", "--start-timeout", "20"]).args(args);
        receive.args(["--", "sh", "-c", command]).current_dir(self.0.path());
        listening(receive.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn sender(&self, to: &str, args: &[&str], command: &str) -> Command {
        let mut send = wirepress();
        send.args(["send", "--to", to, "--start-timeout", "5"]).args(args);
        send.args(["--", "sh", "-c", command]).current_dir(self.0.path());
        send
    }

    fn send(&self, to: &str, args: &[&str], command: &str) -> Output {
        self.sender(to, args, command).output().unwrap()
    }
}

/// A receiver, its address and its words.
type Listening = (Child, String, BufReader<std::process::ChildStderr>);

fn listening(mut receiver: Child) -> Listening {
    let mut words = BufReader::new(receiver.stderr.take().unwrap());
    let mut line = String::new();
    words.read_line(&mut line).unwrap();
    let address =
        line.trim_end().strip_prefix("wirepress receive: listening on ").unwrap_or_else(|| panic!("{line}"));
    (receiver, address.to_owned(), words)
}

/// With signals as a terminal leaves them: whoever runs the tests may ignore some (`nohup`, a shell's `&`), and then so
/// do we.
fn wirepress() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_wirepress")]);
    command
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The receiver's exit code and words.
fn ended(mut child: Child, mut words: impl Read) -> (Option<i32>, String) {
    let mut text = String::new();
    words.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text)
}

/// The same of one that may hang, which is killed then.
fn ended_in_time(mut child: Child, words: impl Read) -> (Option<i32>, String) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if std::time::Instant::now() > deadline {
            child.kill().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    ended(child, words)
}

const KEY: [&str; 2] = ["--key-file", "key"];

fn same(a: &Path, b: &Path) -> bool {
    std::fs::read(a).unwrap() == std::fs::read(b).unwrap()
}

#[test]
fn what_a_command_writes_arrives_in_the_others_input() {
    let lab = Lab::new();
    for args in [&[][..], &["-K", "1"], &["-K", "4", "-1", "-T2"], &["--fast=3"]] {
        let (child, to, words) = lab.receive(&KEY, "cat > out");
        let sent = lab.send(&to, &[&KEY[..], args].concat(), "cat rows");
        let (code, words) = ended(child, words);
        assert!(sent.status.success(), "{}", told(&sent));
        assert_eq!(code, Some(0), "{words}");
        assert!(same(&lab.path("rows"), &lab.path("out")));
        assert!(told(&sent).contains("wirepress send: 10.") && words.contains("verified"), "{words}");
    }
}

#[test]
fn certificates_and_clear_work_where_both_ends_agree() {
    let lab = Lab::new();
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca = rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().unwrap()).unwrap();
    std::fs::write(lab.path("ca.pem"), ca.pem()).unwrap();
    for end in ["one", "two"] {
        let pair = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new([format!("{end}.example")]).unwrap();
        std::fs::write(lab.path(&format!("{end}.pem")), params.signed_by(&pair, &ca).unwrap().pem()).unwrap();
        std::fs::write(lab.path(&format!("{end}.key")), pair.serialize_pem()).unwrap();
    }
    let one = ["--tls-cert", "one.pem", "--tls-key", "one.key", "--tls-ca", "ca.pem"];
    let two = ["--tls-cert", "two.pem", "--tls-key", "two.key", "--tls-ca", "ca.pem"];
    for (receiver, sender, is_well) in [
        (&one[..], &two[..], true),
        (&["--insecure"], &["--insecure"], true),
        (&one, &KEY, false),
        (&KEY, &["--insecure"], false),
        (&one, &[&two[..], &["--tls-name", "another.example"]].concat(), false),
    ] {
        let (mut child, to, words) = lab.receive(receiver, "cat > out");
        let sent = lab.send(&to, sender, "cat rows");
        assert_eq!(sent.status.success(), is_well, "{receiver:?} {sender:?}: {}", told(&sent));
        if !is_well {
            child.kill().unwrap();
        }
        assert_eq!(ended(child, words).0 == Some(0), is_well);
    }
}

#[test]
fn a_source_or_sink_that_fails_fails_both_ends_and_frees_the_port() {
    let lab = Lab::new();
    for (source, sink, why) in [
        ("cat rows; exit 3", "cat > out", "exit status: 3"),
        ("cat rows", "cat > out; exit 4", "exit status: 4"),
        ("cat rows", "head -c 100 > out; exit 0", "Broken pipe"),
        ("exit 5", "cat > out", "exit status: 5"),
    ] {
        let (child, to, words) = lab.receive(&KEY, sink);
        let sent = lab.send(&to, &KEY, source);
        let (code, words) = ended(child, words);
        assert_eq!((sent.status.code(), code), (Some(1), Some(1)), "{source}, {sink}");
        assert!(told(&sent).contains(why) && words.contains(why), "{why}: {} / {words}", told(&sent));
        drop(TcpListener::bind(&to).unwrap());
    }
}

#[test]
fn an_end_that_is_killed_fails_the_other_in_time() {
    let lab = Lab::new();
    let slow = [&KEY[..], &["--rate-limit", "200K"]].concat();
    // The receiver dies.
    let (mut child, to, words) = lab.receive(&KEY, "head -c 1 > begun; cat > out");
    let sender = lab.sender(&to, &slow, "cat rows").stderr(Stdio::piped()).spawn().unwrap();
    await_file(&lab.path("begun"));
    child.kill().unwrap();
    child.wait().unwrap();
    let sent = sender.wait_with_output().unwrap();
    assert_eq!(sent.status.code(), Some(1));
    assert!(told(&sent).contains("given up"), "{}", told(&sent));
    drop(words);
    std::fs::remove_file(lab.path("begun")).unwrap();
    // The sender dies.
    let patient = [&KEY[..], &["--reconnect-timeout", "2"]].concat();
    let (child, to, words) = lab.receive(&patient, "head -c 1 > begun; cat > out");
    let mut sender = lab.sender(&to, &slow, "cat rows").stderr(Stdio::null()).spawn().unwrap();
    await_file(&lab.path("begun"));
    sender.kill().unwrap();
    sender.wait().unwrap();
    let (code, words) = ended(child, words);
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains("the sender is gone"), "{words}");
}

/// It holds a pipe's full of the stream, and the receiver waits with the rest.
#[test]
fn nobody_waits_for_a_reader_that_reads_nothing_when_the_sender_is_gone() {
    let lab = Lab::new();
    let mut stdout = wirepress();
    stdout.args(["receive", "--listen", "127.0.0.1:0", "--key-file", "key", "--reconnect-timeout", "1"]);
    stdout.current_dir(lab.0.path()).stderr(Stdio::piped()).stdout(Stdio::piped());
    let patient = [&KEY[..], &["--reconnect-timeout", "1"]].concat();
    for is_command in [true, false] {
        let (mut child, to, words) = if is_command {
            lab.receive(&patient, "echo $$ > pid; exec sleep 1000")
        } else {
            listening(stdout.spawn().unwrap())
        };
        let unread = child.stdout.take();
        // It outlives a sender that is killed.
        let mut sender = lab.sender(&to, &KEY, "cat rows; echo > sent; exec sleep 20");
        let mut sender = sender.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        await_file(&lab.path("sent"));
        // So that the reader's pipe is full.
        std::thread::sleep(std::time::Duration::from_secs(1));
        sender.kill().unwrap();
        sender.wait().unwrap();
        let (code, words) = ended_in_time(child, words);
        assert_eq!(code, Some(1), "{words}");
        assert!(words.contains("nobody reads it, and the sender is gone"), "{words}");
        drop(unread);
        std::fs::remove_file(lab.path("sent")).unwrap();
    }
    assert!(is_gone(std::fs::read_to_string(lab.path("pid")).unwrap().trim()));
}

/// Whoever listens to it has gone to sleep.
#[test]
fn a_signal_ends_us_though_standard_error_takes_nothing() {
    let lab = Lab::new();
    let (_unread, full) = rustix::pipe::pipe().unwrap();
    rustix::io::ioctl_fionbio(&full, true).unwrap();
    while rustix::io::write(&full, &[b'x'; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&full, false).unwrap();
    let mut sender = lab.sender("127.0.0.1:1", &KEY, "echo $$ > source; exec sleep 20 2>/dev/null");
    let mut sender = sender.stderr(full).spawn().unwrap();
    await_file(&lab.path("source"));
    let pid = rustix::process::Pid::from_child(&sender);
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let status = loop {
        if let Some(status) = sender.try_wait().unwrap() {
            break status;
        }
        if std::time::Instant::now() > deadline {
            sender.kill().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(128 + Signal::TERM.as_raw()));
}

#[test]
fn a_source_that_writes_nothing_is_ended_when_the_other_end_fails() {
    let lab = Lab::new();
    // What it leaves behind goes on reading, so that no write can fail.
    let (child, to, words) =
        lab.receive(&KEY, "exec 3<&0; head -c 1 >/dev/null; cat <&3 >/dev/null & exit 3");
    let sent = lab.send(&to, &KEY, "echo $$ > pid; cat rows; exec sleep 1000");
    let (code, words) = ended(child, words);
    assert_eq!((sent.status.code(), code), (Some(1), Some(1)), "{}", told(&sent));
    assert!(words.contains("'sh' ended before its input did: exit status: 3"), "{words}");
    let pid = std::fs::read_to_string(lab.path("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn a_signal_ends_the_command_at_either_end_and_what_it_has_started() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let lab = Lab::new();
        let slow = [&KEY[..], &["--rate-limit", "200K"]].concat();
        // A command that starts another one and writes nothing; beside it, one that reads for ever.
        let (mut receiver, to, _words) =
            lab.receive(&KEY, "sleep 1000 & echo $$ $! > sink; cat >/dev/null; exec sleep 1000");
        let source = "cat rows; sleep 1000 & echo $$ $! > source; wait";
        let mut sender = lab.sender(&to, &slow, source).stderr(Stdio::piped()).spawn().unwrap();
        for (name, child) in [("source", &mut sender), ("sink", &mut receiver)] {
            await_file(&lab.path(name));
            rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(128 + signal.as_raw()), "{name}");
            let pids = std::fs::read_to_string(lab.path(name)).unwrap();
            for pid in pids.split_whitespace() {
                assert!(is_gone(pid), "{name}: {pid} of {pids}");
            }
        }
        let mut words = String::new();
        sender.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        assert!(words.contains("wirepress: ended by SIG"), "{words}");
    }
}

/// Whether a process has ended, even if nobody has waited for it.
fn is_gone(pid: &str) -> bool {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while std::time::Instant::now() < deadline {
        match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) if !stat.contains(") Z ") => std::thread::yield_now(),
            _ => return true,
        }
    }
    false
}

fn await_file(path: &Path) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while std::fs::metadata(path).map_or(0, |metadata| metadata.len()) == 0 {
        assert!(std::time::Instant::now() < deadline, "nothing arrives");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn nothing_is_sent_in_clear_unless_it_is_asked_for_and_bad_arguments_exit_with_64() {
    let lab = Lab::new();
    std::fs::write(lab.path("short"), "guess me").unwrap();
    for args in [
        &[][..],
        &["--key-file", "key", "--insecure"],
        &["--key-file", "short"],
        &["--key-file", "/nowhere/key"],
        &["--tls-cert", "key"],
        &["--tls-cert", "key", "--tls-key", "key", "--tls-ca", "key"],
    ] {
        let sent = lab.send("127.0.0.1:1", args, "cat rows");
        assert_eq!(sent.status.code(), Some(64), "{args:?}: {}", told(&sent));
    }
}

#[test]
fn progress_is_told_as_json_by_both_ends() {
    let lab = Lab::new();
    let (child, to, words) = lab.receive(&[&KEY[..], &["--json"]].concat(), "cat > out");
    let sent = lab.send(&to, &[&KEY[..], &["--json"]].concat(), "cat rows");
    let words = ended(child, words).1;
    for (text, command) in [(told(&sent), "wirepress send"), (words, "wirepress receive")] {
        let last = text.lines().last().unwrap();
        let len = std::fs::metadata(lab.path("rows")).unwrap().len();
        for part in [format!(r#""command":"{command}","event":"done""#), format!(r#""plain_bytes":{len}"#)] {
            assert!(last.contains(&part) && last.starts_with('{') && last.ends_with('}'), "{text}");
        }
    }
}
