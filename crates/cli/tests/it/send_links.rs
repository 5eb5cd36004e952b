//! How much of a long line `wirepress send` fills: real TCP over links of the kernel with 20 and 80 ms round trip.
//!
//! Prints its table (`cargo test -p wirepress --test it send_links -- --nocapture`).
//!
//! Not here: connections that break (crate `transfer`).

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use lab::kernel_link::{KernelLink, PAYLOAD_SHARE};
use lab::real::root_or_skip;

#[test]
fn a_long_line_is_filled() {
    if !root_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "0123456789abcdef".repeat(4)).unwrap();
    let noise = folder.path().join("noise");
    let mut random = std::fs::File::open("/dev/urandom").unwrap().take(64 << 20);
    std::io::copy(&mut random, &mut std::fs::File::create(&noise).unwrap()).unwrap();
    let noise = noise.to_str().unwrap();
    for (rate_mbit, round_trip_ms, times) in [(100, 20, 1), (100, 80, 1)] {
        let link = KernelLink::parse(&format!("{rate_mbit}mbit,{round_trip_ms}ms")).unwrap().open().unwrap();
        let mut receive = Command::new(env!("CARGO_BIN_EXE_wirepress"));
        receive.args(["receive", "--listen", &format!("{}:0", link.server_ip()), "--key-file"]).arg(&key);
        let mut receiver = receive.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut words = BufReader::new(receiver.stderr.take().unwrap());
        let mut line = String::new();
        words.read_line(&mut line).unwrap();
        let to = line.trim_end().rsplit(' ').next().unwrap().to_owned();
        let [program, before @ ..] = link.client_exec();
        let mut send = Command::new(program);
        send.args(before)
            .arg(env!("CARGO_BIN_EXE_wirepress"))
            .args(["send", "-1", "--to", &to, "--key-file"])
            .arg(&key);
        send.args(["--", "cat"]).args(vec![noise; times]);
        let began = Instant::now();
        let sent = send.output().unwrap();
        let took = began.elapsed().as_secs_f64();
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
        assert!(receiver.wait().unwrap().success());
        let mbit = (times * (64 << 20)) as f64 * 8.0 / 1e6 / took;
        let share = mbit / (f64::from(rate_mbit) * PAYLOAD_SHARE);
        // Standard output of a test is kept from view unless it is asked for.
        writeln!(
            std::io::stdout(),
            "{rate_mbit} Mbit, {round_trip_ms} ms: {mbit:.0} Mbit/s of payload, {:.0} % of what TCP can carry, in {took:.1} s",
            share * 100.0
        )
        .unwrap();
        // The link's threads and TLS need CPU, which a busy machine doesn't have; a window of a few pieces, or pieces one
        // after the other, would leave less than this.
        assert!(share > 0.3, "{rate_mbit} Mbit, {round_trip_ms} ms: {share:.2}");
    }
}
