//! `--policy latency` on a real server: slow links get packed frames, and every byte is what it was.
//!
//! Not here: how good the choices are (`codec::pace`'s simulation).

use lab::link::{Address, Link};
use lab::real::{Kind, PASSWORD, RealServer, USER, required};
use rustix::process::Signal;

use crate::process::ProxyProcess;

fn select(server: &RealServer, port: u16, compression: &str, sql: &str) -> Vec<u8> {
    let output = server
        .command("mysql")
        .unwrap()
        .args([
            "--no-defaults",
            "-h",
            "127.0.0.1",
            "-P",
            &port.to_string(),
            "-u",
            USER,
            "--ssl-mode=DISABLED",
        ])
        .args(["--get-server-public-key", "--quick", "-N"])
        .arg(format!("-p{PASSWORD}"))
        .arg(format!("--compression-algorithms={compression}"))
        .args(["-e", sql])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn a_slow_link_gets_packed_frames_and_an_idle_one_stored_ones() {
    let Some(server) = required(Kind::MySql) else { return };
    let sql = "set session cte_max_recursion_depth = 100000; \
               with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000) \
               select i, sha2(i, 256), 'the server sends and the link carries' from n";
    let direct = select(server, server.address().port(), "uncompressed", sql);
    let mut process = ProxyProcess::start(
        &[
            "--listen=127.0.0.1:0",
            "--server",
            &server.address().to_string(),
            "--compression-algorithms=uncompressed",
            "--ssl-mode=disabled",
            "--policy=latency",
            "--log-level=debug",
        ],
        1,
    );
    let Some(proxy::Address::Tcp { port, .. }) = process.addresses.first() else { unreachable!() };
    let (port, address) = (*port, Address::Tcp(format!("127.0.0.1:{port}")));
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
}
