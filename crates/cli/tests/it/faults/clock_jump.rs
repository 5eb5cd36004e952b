//! A wall clock that jumps a day ahead and a day back: no limit is measured by it.
//!
//! The proxy's own clock is moved by a library that is loaded before it (`clock.c`); the kernel's and everybody else's
//! go right.
//! Not here: clocks that are wrong from the start, with which certificates are not valid yet, or not any more.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench::client::ClientFault;
use codec::Algorithm::Uncompressed;
use lab::real::{Kind, RealServer, required};
use lab::wait::wait_until_within;

use super::bystander::log_in;
use super::real_client::{RealClient, command};
use super::{MOMENT, Scene, Setting, other_than, report};

/// `--idle-timeout`: what is measured must take as long as without the jump, not less and not more. (A session is over a
/// second after its client was told, if the client doesn't close.)
const IDLE_TIMEOUT: Duration = Duration::from_secs(3);
/// And a moment.
const DEADLINE: Duration = IDLE_TIMEOUT.saturating_add(MOMENT);
/// For what does not depend on a clock.
const SOON: Duration = Duration::from_secs(10);
const DAY_S: i64 = 24 * 3600;

/// A process's wall clock.
struct Clock {
    preload: PathBuf,
    offset: PathBuf,
}

impl Clock {
    /// Compiles `clock.c` into `folder`.
    fn new(folder: &Path) -> Self {
        let (preload, offset) = (folder.join("clock.so"), folder.join("offset"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faults/clock.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&preload).args([source, "-ldl"]);
        assert!(compiler.status().unwrap().success());
        std::fs::write(&offset, 0_i64.to_ne_bytes()).unwrap();
        Self { preload, offset }
    }

    /// Gives it to a process.
    fn give_to(&self, mut command: Command) -> Command {
        command.env("LD_PRELOAD", &self.preload).env("WIREPRESS_CLOCK_OFFSET", &self.offset);
        command
    }

    /// So far from the machine's clock, from now on.
    fn set(&self, offset_s: i64) {
        let file = File::options().write(true).open(&self.offset).unwrap();
        file.write_all_at(&offset_s.to_ne_bytes(), 0).unwrap();
    }
}

/// The day of the last line.
fn last_day(log: &str) -> &str {
    log.lines().last().and_then(|line| line.split('T').next()).unwrap()
}

/// Whether nothing more comes for a while and the connection stays.
fn is_kept_open(mut socket: &TcpStream) -> bool {
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    loop {
        match socket.read(&mut [0; 256]) {
            Ok(0) => return false,
            // The rest of the greeting.
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}

fn a_jump_ends_nobody_and_moves_no_limit(
    scene: &Scene,
    server: &RealServer,
    clock: &Clock,
    name: &str,
    offset_s: i64,
) {
    let others = scene.bystander.watch();
    let timeouts = || scene.proxy.log().matches("it was idle for 3 s").count();
    let timeouts_before = timeouts();
    let mut statement = RealClient::start(server, scene.address(), Uncompressed, "select sleep(2), 'slept'");
    // A login that is under way, and a session between two statements.
    let mut greeted = TcpStream::connect(scene.address()).unwrap();
    greeted.read_exact(&mut [0; 5]).unwrap();
    let mut idle = log_in(scene.address());
    idle.query("select 1").unwrap();
    let begun = Instant::now();
    let day_before = last_day(&scene.proxy.log()).to_owned();
    clock.set(offset_s);
    wait_until_within("the proxy's clock jumped", SOON, || last_day(&scene.proxy.log()) != day_before);
    assert!(statement.runs(), "the statement was ended");
    assert!(is_kept_open(&greeted), "the login was ended");
    let began_idle = Instant::now();
    idle.query("select 1").unwrap();
    let ended = statement.end(SOON);
    assert!(ended.succeeded && ended.rows == 1, "{ended:?}");
    let fault = format!("clock jumps {name}, statement runs");
    report(fault, "statement answered", begun.elapsed(), SOON, &others.told());

    // The idle session ends when it is due, no sooner and no later.
    wait_until_within("the idle session ended", DEADLINE, || timeouts() > timeouts_before);
    let took = began_idle.elapsed();
    let Err(ClientFault::Refused(error)) = idle.query("select 1") else { panic!("it lived on") };
    assert_eq!(error.code, 4031);
    assert!(took >= IDLE_TIMEOUT, "{took:?}");
    let fault = format!("clock jumps {name}, session idle");
    report(fault, &format!("session over, client told \"{error}\""), took, DEADLINE, &others.told());
}

#[test]
fn a_wall_clock_that_jumps_ends_no_session_and_moves_no_limit() {
    let Some(server) = required(Kind::MySql) else { return };
    let Some(other) = other_than(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = proxy::make_self_signed(folder.path()).unwrap();
    let clock = Clock::new(folder.path());
    let (target, idle_timeout) = (server.address().to_string(), IDLE_TIMEOUT.as_secs().to_string());
    let [cert_path, key_path] = [&cert, &key].map(|path| path.to_str().unwrap());
    let args = ["--idle-timeout", &idle_timeout, "--tls-cert", cert_path, "--tls-key", key_path];
    let setting = Setting { args: &args, ..Setting::new(&target, other) };
    let scene = setting.start_as(|command| clock.give_to(command), Stdio::piped());
    a_jump_ends_nobody_and_moves_no_limit(&scene, server, &clock, "a day ahead", DAY_S);
    a_jump_ends_nobody_and_moves_no_limit(&scene, server, &clock, "a day back", -DAY_S);

    // Certificates that were replaced are found by the files' own times.
    let others = scene.bystander.watch();
    let use_tls = || {
        let mut client = command(server, scene.address(), Uncompressed);
        client.arg("--ssl-mode=REQUIRED");
        let ended = RealClient::start_by(client, "select 1").end(SOON);
        assert!(ended.succeeded, "{ended:?}");
    };
    use_tls();
    let another = tempfile::tempdir().unwrap();
    let (new_cert, new_key) = proxy::make_self_signed(another.path()).unwrap();
    std::fs::copy(new_key, key).unwrap();
    std::fs::copy(new_cert, cert).unwrap();
    let took = wait_until_within("the certificate is read again", SOON, || {
        use_tls();
        scene.proxy.log().contains("TLS files were read again")
    });
    report("clock a day back, certificate replaced", "certificate in use", took, SOON, &others.told());
    clock.set(0);
    scene.end();
}
