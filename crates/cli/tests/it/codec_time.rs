//! What is told as the codec's time is CPU time, on a machine that has none to spare.
//!
//! Not here: how it is measured (crate `proxy`).

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::real::{Kind, PASSWORD, USER, required};
use rustix::process::Signal;

use crate::process::ProxyProcess;

/// User and system time of a process, s.
fn cpu_s(pid: i32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Ends the others, also where the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn codec_seconds_are_cpu_seconds_while_others_want_every_core() {
    let Some(server) = required(Kind::MySql) else { return };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // 3: on the worker; 9: on helper threads.
        for level in ["3", "9"] {
            let to_server = format!("--server={}", server.address());
            let mut process = ProxyProcess::start(
                &[
                    "--listen=127.0.0.1:0",
                    &to_server,
                    "--ssl-mode=disabled",
                    "--policy=fixed",
                    "--compression-algorithms=uncompressed",
                    "--zstd-compression-level-max=9",
                ],
                1,
            );
            let proxy::Address::Tcp { host, port } = process.addresses[0].clone() else { unreachable!() };
            let mut client = server.command("mysql").unwrap();
            client.args([format!("--host={host}"), format!("--port={port}"), format!("--user={USER}")]);
            client.args([format!("--password={PASSWORD}"), format!("--zstd-compression-level={level}")]);
            client.args([
                "--protocol=tcp",
                "--get-server-public-key",
                "--compression-algorithms=zstd",
                "--quick",
            ]);
            client.arg(
                "--execute=select sha2(a.help_topic_id * 7919 + b.help_topic_id, 256), uuid() \
                 from mysql.help_topic a, mysql.help_topic b limit 400000",
            );
            let before_s = cpu_s(process.pid().as_raw_nonzero().get());
            let output = client.stdout(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            process.await_log("session ended");
            let process_s = cpu_s(process.pid().as_raw_nonzero().get()) - before_s;
            process.signal(Signal::TERM);
            let (_, log) = process.end();
            let number = |name: &str| -> f64 {
                let rest = log.split(name).nth(1).unwrap_or_else(|| panic!("{log}"));
                rest.split_whitespace().next().unwrap().parse().unwrap()
            };
            let (codec_s, seconds) = (number(" codec_seconds="), number(" seconds="));
            println!(
                "level {level}: codec {codec_s:.3} s of the process's {process_s:.3} s CPU, in {seconds:.3} s"
            );
            // The process has its own clock in ticks of 10 ms.
            assert!(codec_s < process_s * 1.03 + 0.02, "{codec_s} {process_s}");
            assert!(codec_s > process_s * 0.5, "{codec_s} {process_s}");
        }
    });
}
