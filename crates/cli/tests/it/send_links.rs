//! How much of a long line `wirepress send` fills: real TCP over links of the kernel with 20 and 80 ms round trip, with
//! bytes that nothing packs, and what iperf3 makes of the same link.
//!
//! Prints its table. `make test` runs the first line of it, short; `WIREPRESS_SEND_LINKS=FILE`, the release program, all of
//! them (`scripts/bench-lines`).
//!
//! Not here: connections that break (crate `transfer`).

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

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
    let measured = std::env::var_os("WIREPRESS_SEND_LINKS").map(PathBuf::from);
    let program = measured.clone().unwrap_or_else(|| env!("CARGO_BIN_EXE_wirepress").into());
    // Mbit, milliseconds, times 64 MiB.
    let lines: &[(u32, u32, usize)] = if measured.is_some() {
        &[(100, 20, 3), (100, 80, 3), (500, 20, 14), (500, 80, 14)]
    } else {
        &[(100, 20, 1)]
    };
    for &(rate_mbit, round_trip_ms, times) in lines {
        let link = KernelLink::parse(&format!("{rate_mbit}mbit,{round_trip_ms}ms")).unwrap().open().unwrap();
        let listen = format!("{}:0", link.server_ip());
        let words = link.client_exec();
        let samples = transfer(&program, &key, &noise, times, &listen, &words);
        let (whole_s, len) = *samples.last().unwrap();
        let capacity = f64::from(rate_mbit) * PAYLOAD_SHARE;
        let whole = mbit(len, whole_s);
        // What a transfer of hours sees: without the first two seconds.
        let steady = samples.iter().find(|(at, _)| *at >= 2.0).filter(|(at, _)| *at < whole_s - 2.0);
        let steady = steady.map_or(whole, |(at, before)| mbit(len - before, whole_s - at));
        let others = match &measured {
            Some(_) => ["cubic", "bbr"].map(|control| {
                let rate = iperf(control, &link.server_ip().to_string(), &words).unwrap_or(0.0);
                format!(", iperf3 -P 4 with {control} {rate:.0} Mbit/s")
            }),
            None => [String::new(), String::new()],
        };
        // Standard output of a test is kept from view unless it is asked for.
        writeln!(
            std::io::stdout(),
            "{rate_mbit} Mbit, {round_trip_ms} ms: {steady:.0} Mbit/s of payload after 2 s, {:.0} % of what TCP can carry; \
             {whole:.0} Mbit/s, {:.0} %, from start to end of {:.0} MB in {whole_s:.1} s{}",
            steady / capacity * 100.0,
            whole / capacity * 100.0,
            len / 1e6,
            others.concat()
        )
        .unwrap();
        // The link's threads and TLS need CPU, which a busy machine doesn't have; a window of a few pieces, or pieces one
        // after the other, would leave less than this.
        assert!(whole / capacity > 0.3, "{rate_mbit} Mbit, {round_trip_ms} ms: {whole:.0}");
    }
}

fn mbit(len: f64, seconds: f64) -> f64 {
    len * 8.0 / 1e6 / seconds
}

/// Seconds since the sender's start and bytes that have been written, as the receiver tells them, until the end.
fn transfer(
    program: &Path,
    key: &Path,
    noise: &Path,
    times: usize,
    listen: &str,
    client: &[&str],
) -> Vec<(f64, f64)> {
    let mut receive = Command::new(program);
    receive.args(["receive", "--json", "--listen", listen, "--key-file"]).arg(key);
    let mut receiver = receive.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (to, words) = address(&mut receiver);
    let [through, before @ ..] = client else { panic!("no words lead to the client's side") };
    let mut send = Command::new(through);
    send.args(before).arg(program).args(["send", "-1", "--to", &to, "--key-file"]).arg(key);
    send.args(["--", "cat"]).args(vec![noise; times]);
    let began = std::time::Instant::now();
    let sender = send.stderr(Stdio::piped()).spawn().unwrap();
    let samples: Vec<(f64, f64)> = words
        .lines()
        .filter_map(|line| field(&line.unwrap(), r#""plain_bytes":"#))
        .map(|len| (began.elapsed().as_secs_f64(), len))
        .collect();
    let sent = sender.wait_with_output().unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    assert!(receiver.wait().unwrap().success());
    samples
}

fn address(receiver: &mut Child) -> (String, BufReader<ChildStderr>) {
    let mut words = BufReader::new(receiver.stderr.take().unwrap());
    let mut line = String::new();
    words.read_line(&mut line).unwrap();
    (line.trim_end().rsplit(' ').next().unwrap().to_owned(), words)
}

/// Mbit/s that iperf3 receives in ten seconds after the first two.
fn iperf(control: &str, server_ip: &str, client: &[&str]) -> Option<f64> {
    let program = lab::real::Install::find().ok()?.command("iperf3").ok()?.get_program().to_owned();
    let port = std::net::TcpListener::bind((server_ip, 0)).ok()?.local_addr().ok()?.port().to_string();
    let mut serve = Command::new(&program);
    serve.args(["-s", "-1", "--forceflush", "-B", server_ip, "-p", &port]);
    let mut server = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut words = BufReader::new(server.stdout.take()?).lines();
    words.find(|line| line.as_ref().is_ok_and(|line| line.contains("listening")))?.ok()?;
    let [through, before @ ..] = client else { return None };
    let mut run = Command::new(through);
    run.args(before)
        .arg(&program)
        .args(["-c", server_ip, "-p", &port, "-P", "4", "-t", "10", "-O", "2", "-J", "-C", control]);
    let told = run.output().ok()?.stdout;
    drop(server.kill());
    drop(server.wait());
    let told = String::from_utf8(told).ok()?;
    let sum = told.split(r#""sum_received":"#).nth(1)?;
    Some(field(sum, r#""bits_per_second":"#)? / 1e6)
}

/// The number behind a name.
fn field(text: &str, name: &str) -> Option<f64> {
    let rest = text.split(name).nth(1)?.trim_start();
    let len = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    rest[..len].parse().ok()
}
