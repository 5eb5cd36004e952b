//! Compression on legs of TLS, big results, and sessions that are resumed.
//!
//! Not here: dumps on legs without TLS (`dumps`).

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use codec::Algorithm::{Uncompressed, Zlib, Zstd};
use lab::real::{Kind, RealServer, required, skip};
use lab::wait::wait_until;
use proxy::{Address, SslMode, TlsMode};

use super::super::client::remember_password;
use super::super::route::{Legs, Route, SOCKETS, Socket, printed};
use super::certificates::Pair;
use super::{Leg, front, mariadb_10_11};

/// Four megabytes that pack to a half.
fn fill(server: &RealServer, database: &str) {
    server
        .sql(&format!(
            "create database {database}; use {database};
             create table t (id int primary key, digits text, noise blob);
             set session {} = 5000;
             insert into t with recursive n(id) as (select 1 union all select id + 1 from n
             where id < 4000) select id, repeat(sha2(id, 256), 8), unhex(repeat(sha2(id, 512), 4)) from n",
            if server.kind().is_mariadb() { "max_recursive_iterations" } else { "cte_max_recursion_depth" }
        ))
        .unwrap();
}

fn dump(route: &Route<'_>, program: &str, database: &str) -> Vec<u8> {
    let mut command = route.command(program);
    match (program, &route.proxy) {
        ("mysqldump", proxy) => {
            command.arg("--set-gtid-purged=OFF").args(proxy.is_some().then_some("--ssl-mode=REQUIRED"));
        }
        (_, proxy) => {
            command.args(proxy.is_some().then_some("--ssl"));
        }
    }
    printed(&command.args(["--skip-comments", "--hex-blob", database]).output().unwrap()).into_bytes()
}

fn dumps_equal_a_direct_one(server: &RealServer, program: &str, database: &str, pair: &Pair) {
    fill(server, database);
    remember_password(server);
    let direct = dump(&Route::direct(server), program, database);
    assert!(direct.len() > 4_000_000, "the dump has {} bytes only", direct.len());
    let mut sockets = SOCKETS.into_iter().cycle();
    // A pair has keys and certificates of its own: `live::pair`.
    for legs in Legs::all(server.kind()).into_iter().filter(|legs| !legs.pair) {
        // Connector/C has no zstd.
        if legs.client == Zstd && program != "mysqldump" {
            continue;
        }
        let route = Route::with(server, legs, sockets.next().unwrap(), |config| {
            config.tls = pair.listener(TlsMode::Required);
            config.server_tls.mode = Some(SslMode::Required);
        });
        assert!(dump(&route, program, database) == direct, "{legs}: another dump; {}", route.faults());
    }
}

#[test]
fn dumps_of_mysql_equal_a_direct_one_on_every_pair_of_compressed_tls_legs() {
    let Some(server) = required(Kind::MySql) else { return };
    dumps_equal_a_direct_one(server, "mysqldump", "tls_dump", &Pair::of_mysql(server));
}

#[test]
fn dumps_of_mariadb_equal_a_direct_one_on_every_pair_of_compressed_tls_legs() {
    let Some(server) = mariadb_10_11() else { return };
    let Some(mysql) = required(Kind::MySql) else { return };
    dumps_equal_a_direct_one(server, "mariadb-dump", "tls_dump", &Pair::of_mysql(mysql));
}

/// What the server says of its leg, and the counters of both.
#[test]
fn each_leg_is_compressed_inside_its_tls() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let pair = Pair::of_mysql(server);
    for (client_leg, server_leg, says) in
        [(Zlib, Zstd, "zstd"), (Zstd, Zlib, "zlib"), (Uncompressed, Zstd, "zstd"), (Zstd, Uncompressed, "")]
    {
        let legs = Legs::of(client_leg, server_leg);
        let route = Route::with(server, legs, [Socket::Tcp, Socket::Tcp], |config| {
            config.tls = pair.listener(TlsMode::Required);
            config.server_tls.mode = Some(SslMode::Required);
            // The server's own word is wanted.
            config.intercept_session_status = false;
        });
        let mut cli = route.cli();
        cli.arg("--ssl-mode=REQUIRED").arg(
            "--execute=show session status like 'Compression_algorithm';
             select repeat('x', 1000000)",
        );
        let text = printed(&cli.output().unwrap());
        assert_eq!(
            text.lines().next().unwrap().trim_end(),
            format!("Compression_algorithm\t{says}").trim_end()
        );
        let counters = route.proxy.as_ref().unwrap().counters();
        // The client may be gone before its session is.
        wait_until("the session ended", || counters.sessions_open() == 0);
        let [plain, on_client, on_server] = counters.lens();
        assert!(plain > 1_000_000, "{legs}: {plain}");
        for (algorithm, len) in [(client_leg, on_client), (server_leg, on_server)] {
            assert_eq!(algorithm == Uncompressed, len > 1_000_000, "{legs}: {len} bytes of {plain}");
        }
    }
}

/// `openssl s_client`, which waits until the proxy has refused what isn't a login.
fn s_client(openssl: &Path, address: &Address, options: &[&str]) -> String {
    let Address::Tcp { host, port } = address else { unreachable!() };
    let mut child = Command::new(openssl)
        .args(["s_client", "-starttls", "mysql", "-ign_eof", "-connect", &format!("{host}:{port}")])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"not a login\n").unwrap();
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned()
}

#[test]
fn a_tls_session_is_resumed() {
    let Some(server) = required(Kind::MySql) else { return };
    let openssl = Path::new("/usr/bin/openssl");
    if !openssl.is_file() {
        return skip("want of openssl");
    }
    let pair = Pair::of_mysql(server);
    let front = front(server, [Leg::Tls, Leg::Tls], &pair, |_| {});
    let directory = tempfile::tempdir().unwrap();
    let ticket = directory.path().join("ticket");
    let ticket = ticket.to_str().unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        let told = s_client(openssl, front.proxy.address(), &[version, "-sess_out", ticket]);
        assert!(told.contains("New, TLSv1."), "{version}: {told}");
        let told = s_client(openssl, front.proxy.address(), &[version, "-sess_in", ticket]);
        assert!(told.contains("Reused, TLSv1."), "{version}: {told}");
    }
}
