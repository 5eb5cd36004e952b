//! The policies on a real server: which frames are packed, how many bytes and how much CPU that is, and that every byte is
//! what it was.
//!
//! Not here: how good the choices are (`codec::pace`'s simulations), the server leg (`server_leg`).

use lab::link::{Address, Link};
use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use rustix::process::Signal;

use crate::process::ProxyProcess;

/// Each against another proxy; one that its neighbours leave alone is enough.
const RUNS_MAX: usize = 8;

/// What the client prints.
pub(crate) fn select(server: &RealServer, port: u16, compression: &str, sql: &str) -> Vec<u8> {
    run(server, &["-h", "127.0.0.1", "-P", &port.to_string()], compression, sql)
}

fn run(server: &RealServer, to: &[&str], compression: &str, sql: &str) -> Vec<u8> {
    let output = server
        .command("mysql")
        .unwrap()
        .arg("--no-defaults")
        .args(["-u", USER, "--ssl-mode=DISABLED"])
        .args(to)
        .args(["--get-server-public-key", "--quick", "-N"])
        .arg(format!("-p{PASSWORD}"))
        .arg(format!("--compression-algorithms={compression}"))
        .args(["-e", sql])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

/// So many rows of hexadecimal digits and text.
pub(crate) fn rows(count: u32) -> String {
    format!(
        "set session cte_max_recursion_depth = 10000000; \
         with recursive n(i) as (select 1 union all select i + 1 from n where i < {count}) \
         select i, sha2(i, 256), 'the server sends and the link carries' from n"
    )
}

/// A proxy before `server`, by these options.
pub(crate) fn proxy(server: &str, options: &[&str]) -> (ProxyProcess, u16) {
    let mut all = vec!["--listen=127.0.0.1:0", "--server", server, "--ssl-mode=disabled"];
    all.extend(options);
    let process = ProxyProcess::start(&all, 1);
    let Some(proxy::Address::Tcp { port, .. }) = process.addresses.first() else { unreachable!() };
    let port = *port;
    (process, port)
}

#[test]
fn through_a_unix_socket_the_client_gets_stored_frames_whatever_it_asks_for_but_by_the_fixed_policy() {
    let Some(server) = required(Kind::MySql) else { return };
    let sql = &rows(5_000);
    let direct = select(server, server.address().port(), "uncompressed", sql);
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock").display().to_string();
    let listen = format!("--listen=unix:{socket}");
    let address = server.address().to_string();
    for (policy, packs) in [("latency", false), ("fixed", true)] {
        let policy = format!("--policy={policy}");
        let options = [&listen, "--server", &address, "--ssl-mode=disabled", &policy];
        let process = ProxyProcess::start(&options, 1);
        for compression in ["zstd", "zlib"] {
            let printed = run(server, &["-S", &socket], compression, sql);
            assert!(printed == direct, "{policy} {compression}");
        }
        let lines = ended(process);
        assert_eq!(lines.len(), 2, "{lines:#?}");
        for line in &lines {
            assert_eq!(number(line, "frames_packed") > 0.0, packs, "{line}");
        }
    }
}

/// The lines of ended sessions.
pub(crate) fn ended(mut process: ProxyProcess) -> Vec<String> {
    process.signal(Signal::TERM);
    let (status, log) = process.end();
    assert!(status.success(), "{log}");
    log.lines().filter(|line| line.contains("session ended")).map(str::to_owned).collect()
}

/// A field of a log line.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let value = line.split(&format!(" {name}=")).nth(1).unwrap_or_else(|| panic!("{name}: {line}"));
    value.split_whitespace().next().unwrap().trim_matches('"')
}

fn number(line: &str, name: &str) -> f64 {
    field(line, name).parse().unwrap()
}

#[test]
fn a_slow_link_gets_packed_frames_and_an_idle_one_stored_ones() {
    let Some(server) = required(Kind::MySql) else { return };
    let sql = &rows(40_000);
    let direct = select(server, server.address().port(), "uncompressed", sql);
    let options = ["--compression-algorithms=uncompressed", "--policy=latency", "--log-level=debug"];
    let (mut process, port) = proxy(&server.address().to_string(), &options);
    let address = Address::Tcp(format!("127.0.0.1:{port}"));
    let link = Link::parse("20mbit,5ms").unwrap().open(address).unwrap();
    for compression in ["zstd", "zlib"] {
        assert!(select(server, link.address().port(), compression, sql) == direct, "{compression}");
    }
    let one = select(server, port, "zstd", "select 'one'");
    assert_eq!(one, b"one\n");
    drop(link);
    process.signal(Signal::TERM);
    let (status, log) = process.end();
    assert!(status.success(), "{log}");
    let paced: Vec<&str> = log.lines().filter(|line| line.contains("frames were paced")).collect();
    assert_eq!(paced.len(), 3, "{log}");
    let packs = |line: &str| ["Faster", "ReaderGains"].iter().any(|reason| line.contains(reason));
    assert!(packs(paced[0]) && packs(paced[1]) && !packs(paced[2]), "{paced:#?}");
    // And each change of mind, with what it was made by.
    let changes: Vec<&str> = log.lines().filter(|line| line.contains("frames go another way")).collect();
    let figures = ["side=client", "peer=127.0.0.1:", "level=", "reason=", "queued_len=", "ratio="];
    let is_whole = |line: &&str| figures.iter().all(|figure| line.contains(&format!(" {figure}")));
    assert!(changes.iter().any(|line| field(line, "choice") == "packed" && is_whole(line)), "{changes:#?}");
    assert!(changes.iter().any(|line| field(line, "choice") == "stored"), "{changes:#?}");
    // The first changes of mind are about what nothing is known of.
    assert!(changes.iter().any(|line| line.contains(" bytes_per_s=")), "{changes:#?}");
    assert!(changes.len() < 200, "{} lines", changes.len());
}

#[test]
fn equal_rows_are_packed_over_tls_though_the_link_is_no_limit() {
    let Some(server) = required(Kind::MySql) else { return };
    let sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400) \
               select repeat(left(sha2(i, 256), 32), 2000) from n";
    let direct = select(server, server.address().port(), "uncompressed", sql);
    let folder = tempfile::tempdir().unwrap();
    let certificate = format!("--tls-self-signed={}", folder.path().display());
    let options = ["--compression-algorithms=uncompressed", "--policy=latency", &certificate];
    let mut ratios = Vec::new();
    while ratios.last().is_none_or(|ratio| *ratio < 20.0) {
        assert!(ratios.len() < RUNS_MAX, "{ratios:.2?}");
        let (process, port) = proxy(&server.address().to_string(), &options);
        let to = ["-h", "127.0.0.1", "-P", &port.to_string(), "--ssl-mode=REQUIRED"];
        assert!(run(server, &to, "zstd", sql) == direct);
        let ended = ended(process);
        ratios.push(number(&ended[0], "plain_len") / number(&ended[0], "client_leg_len"));
    }
}

#[test]
fn cost_sends_fewer_bytes_than_latency_where_the_link_is_no_limit() {
    let Some(server) = required(Kind::MySql) else { return };
    let sql = &rows(60_000);
    let direct = select(server, server.address().port(), "uncompressed", sql);
    let ratios = |policy: &str| -> Vec<f64> {
        let policy = format!("--policy={policy}");
        let (process, port) = proxy(
            &server.address().to_string(),
            &[
                "--compression-algorithms=uncompressed",
                &policy,
                "--cost-cpu-percent=400",
                "--cost-p99-percent=400",
            ],
        );
        for compression in ["zstd", "zlib"] {
            assert!(select(server, port, compression, sql) == direct, "{policy} {compression}");
        }
        ended(process).iter().map(|line| number(line, "plain_len") / number(line, "client_leg_len")).collect()
    };
    let cost = ratios("cost");
    assert!(cost.iter().all(|ratio| *ratio > 1.7), "{cost:.2?}");
    // Where the processors are busy with other tests the client reads slowly, which packed frames may do good.
    let mut latency = Vec::new();
    while latency.last().is_none_or(|ratios: &Vec<f64>| ratios.iter().any(|ratio| *ratio > 1.2)) {
        assert!(latency.len() < RUNS_MAX, "{latency:.2?}");
        latency.push(ratios("latency"));
    }
}

#[test]
fn the_cpu_budget_of_cost_is_kept_by_all_sessions_together_and_without_one_all_is_stored() {
    let Some(server) = required(Kind::MySql) else { return };
    let sql = &rows(300_000);
    for percent in [4, 0] {
        let budget = format!("--cost-cpu-percent={percent}");
        let options =
            ["--compression-algorithms=uncompressed", "--policy=cost", &budget, "--cost-p99-percent=1000"];
        let (process, port) = proxy(&server.address().to_string(), &options);
        let begun = std::time::Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| select(server, port, "zstd", sql));
            }
        });
        let seconds = begun.elapsed().as_secs_f64();
        let lines = ended(process);
        let sum = |name| lines.iter().map(|line| number(line, name)).sum::<f64>();
        let codec_s = sum("codec_seconds");
        // A second of it is there at once, and a frame of each session may be on its way.
        let budget_s = f64::from(percent) / 100.0 * (seconds + 1.0);
        assert!(codec_s <= budget_s * 1.3 + 0.01, "{codec_s} of {budget_s}: {lines:#?}");
        assert_eq!(sum("frames_packed") > 0.0, percent > 0, "{lines:#?}");
        if percent > 0 {
            // It is spent, too: packing all of it takes several times as much.
            assert!(
                codec_s > budget_s * 0.4 && sum("frames_stored") > 0.0,
                "{codec_s} of {budget_s}: {lines:#?}"
            );
        }
    }
}

#[test]
fn a_pair_keeps_the_budgets_of_cost_too() {
    let Some(server) = required(Kind::MySql) else { return };
    let sql = &rows(60_000);
    let direct = select(server, server.address().port(), "uncompressed", sql);
    let ratio = [0, 400].map(|percent| {
        let address = server.address().to_string();
        let budget = format!("--cost-cpu-percent={percent}");
        let options = ["--policy=cost", &budget, "--cost-p99-percent=1000"];
        let mut behind = vec!["--pair-listen=127.0.0.1:0", "--server", &address, "--ssl-mode=disabled"];
        behind.extend(options);
        let behind = ProxyProcess::start(&behind, 1);
        let (before, port) = proxy(&format!("wirepress://{}", behind.addresses[0]), &options);
        assert!(select(server, port, "uncompressed", sql) == direct, "{percent}");
        let line = ended(before).remove(0);
        let sender = ended(behind).remove(0);
        assert_eq!(number(&sender, "frames_packed") > 0.0, percent > 0, "{sender}");
        assert!(number(&sender, "frames_stored") > 0.0 || percent > 0, "{sender}");
        assert_eq!(number(&line, "codec_seconds") > 0.0, percent > 0, "{line}");
        number(&line, "plain_len") / number(&line, "server_leg_len")
    });
    // Stored frames have headers.
    assert!(ratio[0] < 1.0 && ratio[1] > 1.7, "{ratio:?}");
}
