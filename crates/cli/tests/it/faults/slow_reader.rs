//! Clients that read a byte a second of large results, beside one that reads as fast as it can.
//!
//! ```text
//! mysql ◀── a byte a second ── trickle ◀── as the kernel's buffers allow ── proxy
//! ```
//! Not here: clients that do not read at all for `--tcp-user-timeout`, which the kernel ends.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use codec::Algorithm::{Uncompressed, Zlib};
use lab::real::{Kind, Options, required_with};
use lab::wait::wait_until_within;

use super::bystander::log_in;
use super::readings::{cpu_time, pss_bytes};
use super::real_client::{RealClient, endless_result};
use super::{Scene, Setting, other_than, report};

/// No timeout is at work: a scan takes a second or so, and this is a hang.
const DEADLINE: Duration = Duration::from_secs(60);
/// For the slow ones to fill every buffer on their way.
const FILL_LIMIT: Duration = Duration::from_secs(60);
/// So many slow readers, half of them compressed.
const SLOW_COUNT: u32 = 8;
/// A session's own buffers are three of 128 KiB where the reply is unpacked and packed again. Four times that, because the
/// allocator keeps what it was given back.
const BYTES_PER_SLOW: u64 = 4 * 3 * 128 * 1024;
/// Pairs of scans, without and with slow readers in turn.
const ROUND_COUNT: usize = 5;
/// How much slower the median scan may become. It is 1.0 but for the noise of a busy machine; where a slow reader holds
/// up the others of its worker they stand still.
const RATIO_MAX: f64 = 2.0;

/// The last step of a client's way, which can be slowed to a byte per second.
struct Trickle {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_slow: AtomicBool,
    is_over: AtomicBool,
}

impl Trickle {
    fn start(proxy: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Arc::<State>::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let server = TcpStream::connect(proxy).unwrap();
            server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to).ok());
            pass(&server, &client, &shared);
            drop(server.shutdown(Shutdown::Both));
            drop(client.shutdown(Shutdown::Both));
        });
        Self { address, state }
    }
}

impl Drop for Trickle {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
    }
}

fn pass(mut server: &TcpStream, mut client: &TcpStream, state: &State) {
    let mut buffer = vec![0; 64 << 10];
    while !state.is_over.load(Ordering::Relaxed) {
        let is_slow = state.is_slow.load(Ordering::Relaxed);
        let room = if is_slow { 1 } else { buffer.len() };
        match server.read(&mut buffer[..room]) {
            Ok(0) => return,
            Ok(len) if client.write_all(&buffer[..len]).is_err() => return,
            // Nothing came within the timeout, or it went on.
            Ok(_) | Err(_) => {}
        }
        if is_slow {
            // The fault itself.
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

/// Slow readers in the middle of their results, who have filled what there is to fill.
fn slow_readers(scene: &Scene, server: &lab::real::RealServer) -> Vec<(Trickle, RealClient)> {
    let start = |index: u32| {
        let trickle = Trickle::start(scene.address());
        let algorithm = if index.is_multiple_of(2) { Uncompressed } else { Zlib };
        let mut client = RealClient::start(server, trickle.address, algorithm, &endless_result());
        client.await_rows(1);
        trickle.state.is_slow.store(true, Ordering::Relaxed);
        (trickle, client)
    };
    let slow: Vec<_> = (0..SLOW_COUNT).map(start).collect();
    // Until the server waits for all of them.
    let mut before = (server.cpu_time().unwrap(), Instant::now());
    wait_until_within("the slow readers' buffers are full", FILL_LIMIT, || {
        let now = server.cpu_time().unwrap();
        if now > before.0 + Duration::from_millis(20) {
            before = (now, Instant::now());
        }
        before.1.elapsed() > Duration::from_millis(500)
    });
    slow
}

#[test]
#[ignore = "half a minute; make faults runs it"]
fn readers_of_a_byte_per_second_do_not_slow_a_fast_one_nor_fill_memory() {
    let Some(server) = required_with(Kind::MySql, &Options::new()) else { return };
    let Some(other) = other_than(Kind::MySql) else { return };
    server.sql(&format!("create database s; create table s.t as {}", endless_result())).unwrap();
    let scene = Setting::new(&server.address().to_string(), other).start();
    let mut fast = log_in(scene.address());
    let mut scan = || {
        let begun = Instant::now();
        assert_eq!(fast.query("select * from s.t").unwrap().rows, 100_000);
        begun.elapsed()
    };
    scan();
    let pid = scene.proxy.pid();
    let begun = Instant::now();
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let (mut grown, mut others_told, mut busy) = (0, String::new(), Duration::ZERO);
    for _ in 0..ROUND_COUNT {
        alone.push(scan());
        let pss_before = pss_bytes(pid);
        let slow = slow_readers(&scene, &server);
        let others = scene.bystander.watch();
        beside.push(scan());
        grown = grown.max(pss_bytes(pid).saturating_sub(pss_before));
        let (cpu, quiet) = (cpu_time(pid), Instant::now());
        std::thread::sleep(Duration::from_secs(1));
        busy = busy.max((cpu_time(pid) - cpu).div_f64(quiet.elapsed().as_secs_f64()));
        others_told = others.told();
        drop(slow);
    }
    println!(
        "slow readers: {:?} in all; alone {alone:?}, beside {beside:?}; busy {busy:?} per s",
        begun.elapsed()
    );
    let [alone, beside] = [alone, beside].map(|mut times| {
        times.sort_unstable();
        times[ROUND_COUNT / 2]
    });
    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    let told = format!(
        "a scan of 100 MB took {ratio:.2} times as long as without them, memory grew by {:.1} MiB;",
        grown as f64 / f64::from(1 << 20)
    );
    report(format!("{SLOW_COUNT} readers of a byte per second"), &told, beside, DEADLINE, &others_told);
    assert!(ratio < RATIO_MAX, "{ratio}");
    assert!(grown < u64::from(SLOW_COUNT) * BYTES_PER_SLOW, "{grown} bytes");
    scene.end();
}
