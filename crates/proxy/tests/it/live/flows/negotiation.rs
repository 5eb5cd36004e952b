//! Which compression the legs get, what the server and its clients say of it, and how it is refused.
//!
//! Not here: the rules themselves (`wire::connect::negotiate`).

use codec::Algorithm::{Uncompressed, Zlib, Zstd};
use codec::{AlgorithmSet, ZstdLevel};
use lab::generate::text_row;
use lab::peer::Nobody;
use lab::real::{Kind, Options, required_with};
use lab::wait::wait_while_amiss;
use proxy::{Address, ListenerConfig};

use crate::live::client::{Client, Terms, remember_password};
use crate::live::route::{Legs, Route, Socket, complaint, printed, run};

const TCP: [Socket; 2] = [Socket::Tcp, Socket::Tcp];

#[test]
fn mysql_and_its_client_show_the_client_legs_algorithm() {
    let Some(server) = super::server(Kind::MySql) else { return };
    for legs in Legs::all(Kind::MySql) {
        let route = Route::through(server, legs);
        let text =
            printed(&run(route.cli().arg("--loose-commands"), "show status like 'compression%';\n\\s\n"));
        let status = match legs.client {
            Uncompressed => "Compression\tOFF\nCompression_algorithm\t\nCompression_level\t0\n",
            Zlib => "Compression\tON\nCompression_algorithm\tzlib\nCompression_level\t6\n",
            Zstd => "Compression\tON\nCompression_algorithm\tzstd\nCompression_level\t3\n",
        };
        assert!(text.starts_with(status), "{legs}: {text}");
        assert_eq!(text.contains("Protocol:\t\tCompressed"), legs.client.is_framed(), "{legs}: {text}");
    }
}

#[test]
fn levels_are_asked_of_mysql_as_the_operator_says() {
    let Some(server) = super::server(Kind::MySql) else { return };
    let legs = Legs::of(Zstd, Zstd);
    let route = Route::with(server, legs, TCP, |config| {
        config.zstd_level = ZstdLevel::new(7);
        config.intercept_session_status = false;
    });
    let output = run(route.cli().arg("--zstd-compression-level=5"), "show status like 'compression_level'");
    assert_eq!(printed(&output), "Compression_level\t7\n");
}

#[test]
fn mariadb_and_its_client_show_the_client_leg() {
    let Some(server) = super::server(Kind::MariaDb) else { return };
    for legs in Legs::all(Kind::MariaDb) {
        let route = Route::through(server, legs);
        let mut cli = route.cli();
        cli.args((legs.client == Zstd).then_some("--loose-commands"));
        let text = printed(&run(&mut cli, "show status like 'compression';\n\\s\n"));
        let status = if legs.client.is_framed() { "Compression\tON\n" } else { "Compression\tOFF\n" };
        assert!(text.starts_with(status), "{legs}: {text}");
        assert_eq!(text.contains("Protocol:\t\tCompressed"), legs.client.is_framed(), "{legs}: {text}");
    }
}

#[test]
fn a_zstd_client_reaches_mariadb_through_the_proxy_and_not_alone() {
    let Some(server) = super::server(Kind::MariaDb) else { return };
    let alone = run(&mut Route::direct(server).with_client(Zstd).cli(), "select 1");
    assert!(complaint(&alone).contains("ERROR 2066"), "{}", complaint(&alone));
    for legs in Legs::all(Kind::MariaDb).into_iter().filter(|legs| legs.client == Zstd) {
        let through = run(&mut Route::through(server, legs).cli(), "select repeat('a', 100)");
        assert_eq!(printed(&through), format!("{}\n", "a".repeat(100)), "{legs}");
    }
}

/// Code and SQLSTATE of a refused login, here and where a real MySQL permits the same.
#[test]
fn what_is_not_permitted_is_refused_as_mysql_refuses_it() {
    let options = Options::new().argument("--protocol-compression-algorithms=zstd");
    let Some(only_zstd) = required_with(Kind::MySql, &options) else { return };
    remember_password(&only_zstd);
    let direct = Route::direct(&only_zstd);
    let through = Route::with(&only_zstd, Legs::of(Zstd, Zstd), TCP, |config| {
        config.permitted = AlgorithmSet::of(&[Zstd]);
    });
    let refused = |route: &Route<'_>, terms: &Terms| {
        let error = Client::connect(&route.address, terms).err().expect("permitted");
        (error.code, error.sqlstate)
    };
    for (algorithm, zstd_level, code) in
        [(Uncompressed, 3, 3922), (Zlib, 3, 3922), (Zstd, 0, 3923), (Zstd, 23, 3923), (Zstd, 255, 3923)]
    {
        let terms = Terms { algorithm, zstd_level, ..Terms::default() };
        let by_mysql = refused(&direct, &terms);
        assert_eq!(by_mysql, (code, Some(*b"HY000")), "MySQL itself, {algorithm} {zstd_level}");
        assert_eq!(refused(&through, &terms), by_mysql, "{algorithm} {zstd_level}");
    }
    let plain = through.with_client(Uncompressed);
    let output = run(&mut plain.cli(), "select 1");
    assert!(complaint(&output).contains("ERROR 3922 (HY000)"), "{}", complaint(&output));
    let framed = plain.with_client(Zstd);
    assert_eq!(printed(&run(&mut framed.cli(), "select 1")), "1\n");
}

/// Level 22 is accepted and packed as level 3, unless the operator permits 22.
#[test]
fn a_clients_level_is_capped() {
    let Some(server) = super::server(Kind::MySql) else { return };
    let text = text_row(5, 5, 300_000).replace(['\'', '\\'], " ");
    let packed_len = |zstd_level, max| {
        let legs = Legs::of(Zstd, Uncompressed);
        let route = Route::with(server, legs, TCP, |config| config.zstd_level_max = ZstdLevel::new(max));
        let mut client = route.connect_on(Terms { zstd_level, ..Terms::default() });
        assert_eq!(client.value(&format!("select '{text}'")), text);
        client.received_len()
    };
    let (third, capped, uncapped) = (packed_len(3, 3), packed_len(22, 3), packed_len(22, 22));
    // What comes before the row may share a frame or not.
    assert!(capped.abs_diff(third) < 100, "{capped} and {third} bytes");
    assert!(uncapped + 1000 < third, "{uncapped} and {third} bytes");
}

#[test]
fn an_algorithm_that_the_server_lacks_is_named() {
    let Some(server) = super::server(Kind::MariaDb) else { return };
    let route = Route::through(server, Legs::of(Uncompressed, Zstd));
    let text = complaint(&run(&mut route.cli(), "select 1"));
    let names = ["ERROR 1429", "zstd", &server.address().to_string(), "--compression-algorithms"];
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
    // Counted when the session has ended, which is after the client's own end.
    let counters = route.proxy.as_ref().unwrap().counters();
    wait_while_amiss("it is counted", || {
        if counters.faults_of(wire::Side::Server, "compression_not_offered") == 0 {
            Err(route.faults())
        } else {
            Ok(())
        }
    });
}

/// Both vendors' clients, compressed or not: what cannot be reached is told before the greeting.
#[test]
fn a_server_that_is_away_is_named() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = super::server(kind) else { return };
        let nobody = Nobody::new().unwrap();
        let away = nobody.address().unwrap();
        for client in [Uncompressed, Zlib, Zstd] {
            let legs = Legs::of(client, Zlib);
            let route = Route::with(server, legs, TCP, |config| config.servers = vec![away.into()]);
            let text = complaint(&run(&mut route.cli(), "select 1"));
            let names = ["1429", &away.to_string(), "refused"];
            assert!(names.iter().all(|name| text.contains(name)), "{kind}, {client}: {text}");
        }
    }
}

#[test]
fn both_legs_may_be_ipv6() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let options = Options::new().bind("::1".parse().unwrap());
        let Some(server) = required_with(kind, &options) else { return };
        let listen = |config: &mut ListenerConfig| config.listen = "[::1]:0".parse().unwrap();
        for legs in [Legs::PLAIN, Legs::of(Zlib, Zlib)] {
            let route = Route::with(&server, legs, TCP, listen);
            let statement = "select substring_index(host, ':', 3) from information_schema.processlist
                where id = connection_id()";
            let Address::Tcp { host, .. } = &route.address else { unreachable!() };
            assert_eq!(host, "::1");
            assert!(printed(&run(&mut route.cli(), statement)).len() > 1, "{legs}");
        }
    }
}

/// `localhost` may have two addresses of which the server listens on one.
#[test]
fn both_legs_may_be_named() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = super::server(kind) else { return };
        let route = Route::with(server, Legs::of(Zlib, Zlib), TCP, |config| {
            config.listen = "localhost:0".parse().unwrap();
            config.servers = vec![format!("localhost:{}", server.address().port()).parse().unwrap()];
        });
        assert_eq!(printed(&run(&mut route.cli(), "select 'by name'")), "by name\n");
    }
}
