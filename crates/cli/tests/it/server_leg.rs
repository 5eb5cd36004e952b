//! The server leg's compression under `--policy latency`: chosen at login by what the link has shown.
//!
//! Not here: how it is chosen (`codec::pace`'s simulation).

use lab::link::{Address, Link};
use lab::real::{Kind, USER, required};

use crate::policy::{ended, field, proxy, rows, select};

/// What the server legs of sessions one after the other were compressed with, over such a link.
fn algorithms(link: Option<&str>, options: &[&str], sessions: usize) -> Option<Vec<String>> {
    let server = required(Kind::MySql)?;
    let sql = &rows(20_000);
    let direct = select(server, server.address().port(), "uncompressed", sql);
    let address = server.address().to_string();
    let link = link.map(|link| Link::parse(link).unwrap().open(Address::Tcp(address.clone())).unwrap());
    let target = link.as_ref().map_or(address, |link| format!("127.0.0.1:{}", link.address().port()));
    let (process, port) = proxy(&target, options);
    for _ in 0..sessions {
        assert!(select(server, port, "uncompressed", sql) == direct);
    }
    Some(ended(process).iter().map(|line| field(line, "server_algorithm").to_owned()).collect())
}

#[test]
fn from_the_second_session_on_a_slow_link_is_compressed_and_the_first_and_a_fast_one_are_not() {
    let Some(slow) = algorithms(Some("20mbit,5ms"), &["--policy=latency"], 3) else { return };
    assert_eq!(slow, ["uncompressed", "zstd", "zstd"]);
    for fast in [None, Some("unlimited")] {
        // Where other tests take the CPU replies come slowly: one session may try packed ones, and lose.
        let comes_back = (0..5).any(|_| {
            let algorithms = algorithms(fast, &[], 4).unwrap();
            assert_eq!(algorithms.first().unwrap(), "uncompressed");
            algorithms.last().unwrap() == "uncompressed"
        });
        assert!(comes_back, "{fast:?}");
    }
}

#[test]
fn through_the_servers_own_socket_it_packs_nothing_unless_it_is_told_to() {
    let Some(server) = required(Kind::MySql) else { return };
    let sql = &rows(5_000);
    let direct = select(server, server.address().port(), "uncompressed", sql);
    let socket = format!("unix:{}", server.socket_path().display());
    for (options, expected) in [
        (&[][..], "uncompressed"),
        (&["--compression-algorithms=zlib"], "zlib"),
        (&["--policy=fixed"], "zstd"),
    ] {
        let (process, port) = proxy(&socket, options);
        for _ in 0..2 {
            assert!(select(server, port, "uncompressed", sql) == direct, "{options:?}");
        }
        let lines = ended(process);
        let algorithms: Vec<_> = lines.iter().map(|line| field(line, "server_algorithm")).collect();
        assert_eq!(algorithms, [expected; 2], "{options:?}");
    }
}

#[test]
fn a_login_that_fails_does_not_hold_up_who_would_try_packed_replies() {
    let Some(server) = required(Kind::MySql) else { return };
    let sql = &rows(40_000);
    let direct = select(server, server.address().port(), "uncompressed", sql);
    // So fast that one session tries for all.
    let link = Link::parse("100mbit,1ms").unwrap().open(Address::Tcp(server.address().to_string())).unwrap();
    let (process, port) = proxy(&format!("127.0.0.1:{}", link.address().port()), &[]);
    assert!(select(server, port, "uncompressed", sql) == direct);
    let login =
        ["--no-defaults", "-h", "127.0.0.1", "--ssl-mode=DISABLED", "--get-server-public-key", "-u", USER];
    let refused = server
        .command("mysql")
        .unwrap()
        .args(login)
        .args(["-P", &port.to_string(), "-pwrong", "-e", "select 1"])
        .output()
        .unwrap();
    assert!(!refused.status.success(), "{refused:?}");
    assert!(select(server, port, "uncompressed", sql) == direct);
    let lines = ended(process);
    let algorithms: Vec<_> = lines.iter().map(|line| field(line, "server_algorithm")).collect();
    assert_eq!(algorithms, ["uncompressed", "", "zstd"], "{lines:#?}");
}

#[test]
fn the_options_still_say_what_the_server_leg_is_compressed_with() {
    let zlib = ["--policy=latency", "--compression-algorithms=zlib"];
    let Some(asked) = algorithms(None, &zlib, 2) else { return };
    assert_eq!(asked, ["zlib"; 2]);
    assert_eq!(algorithms(None, &["--policy=fixed"], 1).unwrap(), ["zstd"]);
    assert_eq!(algorithms(None, &["--policy=cost"], 1).unwrap(), ["zstd"]);
}
