//! What a session counts, beside what its sockets and a direct connection say.
//!
//! Not here: what is shown of it (crate `admin`).

use std::process::Command;

use codec::Algorithm::{Uncompressed, Zlib, Zstd};
use lab::real::{Kind, required};
use lab::wait::wait_while_amiss;
use proxy::{Connection, LegLens, Live, SslMode};
use wire::command::{COM_INIT_DB, COM_QUERY};

use super::client::{Client, remember_password};
use super::route::{Legs, Route, Socket};

const TCP: [Socket; 2] = [Socket::Tcp, Socket::Tcp];

/// Statements with small and large replies.
fn work(client: &mut Client) {
    for statement in
        ["select 1", "select repeat('wire', 200000)", "select 'a', 'b' union select 'c', 'd'", "do 1"]
    {
        client.query(statement);
    }
    client.query(format!("select length('{}')", "press".repeat(50_000)));
}

fn only(live: &Live) -> Connection {
    let mut connections = live.connections();
    assert_eq!(connections.len(), 1);
    connections.pop().unwrap()
}

/// Received and acknowledged bytes of the socket with these ports, as the kernel counts them (`tcpi_bytes_received`,
/// `tcpi_bytes_acked`).
fn kernel_lens(own_port: u16, peers_port: u16) -> [u64; 2] {
    let filter = format!("sport = :{own_port} and dport = :{peers_port}");
    let output = Command::new("ss").args(["-tinHO", &filter]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{filter}: {text}");
    let number = |name: &str| {
        let value = text.split_whitespace().find_map(|word| word.strip_prefix(name));
        value.map_or(0, |value| value.parse().unwrap())
    };
    [number("bytes_received:"), number("bytes_acked:")]
}

#[test]
fn a_legs_bytes_are_those_that_its_socket_counts() {
    if Command::new("ss").arg("-V").output().is_err() {
        return lab::real::skip("want of ss (iproute2)");
    }
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    for client_algorithm in [Uncompressed, Zlib, Zstd] {
        for (algorithm, tls) in
            [(Uncompressed, false), (Zlib, false), (Zstd, false), (Uncompressed, true), (Zstd, true)]
        {
            let legs = Legs::of(client_algorithm, algorithm);
            let route = Route::with(server, legs, TCP, |config| {
                if tls {
                    config.server_tls.mode = Some(SslMode::Required);
                }
            });
            let live = route.proxy.as_ref().unwrap().live();
            let mut client = route.connect();
            work(&mut client);
            let statement = "select substring_index(host, ':', -1) from information_schema.processlist \
                where id = connection_id()";
            let own_port = client.value(statement).parse().unwrap();
            let proxy::Address::Tcp { port, .. } = route.address else { unreachable!() };
            // The SYN of a socket that connects counts as one byte.
            let sockets = [(port, client.address.unwrap().port(), 0), (own_port, server.address().port(), 1)];
            wait_while_amiss(&format!("{legs}, TLS {tls}"), || {
                let connection = only(&live);
                let counted = connection.legs.map(|leg| [leg.socket_received_len, leg.socket_sent_len]);
                let by_kernel = sockets.map(|(own, peers, syn_len)| {
                    let [received, acked] = kernel_lens(own, peers);
                    [received, acked - syn_len]
                });
                if counted == by_kernel { Ok(()) } else { Err((counted, by_kernel)) }
            });
            let [client_leg, server_leg] = only(&live).legs;
            let adds = |leg: LegLens| {
                leg.socket_sent_len > leg.sent_len && leg.socket_received_len > leg.received_len
            };
            assert_eq!(
                [adds(client_leg), adds(server_leg)],
                [false, tls],
                "what TLS adds is not in the leg's own"
            );
        }
    }
}

#[test]
fn plain_bytes_are_those_of_a_direct_connection() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        remember_password(server);
        let mut direct = Route::direct(server).connect();
        work(&mut direct);
        let expected = direct.received_len() as u64;
        let mut sent = None;
        // A pair's stream is smaller than what its leg negotiated; `live::pair` measures it.
        for legs in Legs::all(kind).into_iter().filter(|legs| !legs.pair) {
            let route = Route::through(server, legs);
            let live = route.proxy.as_ref().unwrap().live();
            let mut client = route.connect();
            work(&mut client);
            wait_while_amiss(&format!("{kind}, {legs}"), || match only(&live).traffic[1].plain_len {
                len if len == expected => Ok(()),
                other => Err((other, expected)),
            });
            let connection = only(&live);
            let [to_server, to_client] = connection.traffic;
            assert_eq!(*sent.get_or_insert(to_server.plain_len), to_server.plain_len, "{kind}, {legs}");
            assert!(to_server.plain_len > 250_000);
            let terms = connection.logged_in.unwrap();
            assert_eq!([terms.client_leg.algorithm, terms.server_leg.algorithm], [legs.client, legs.server]);
            // Repetitive rows get small, and cost time, on the legs that are framed and on no other.
            for (framed, leg_len, packed, ns) in [
                (
                    legs.client.is_framed(),
                    to_client.client_leg_len,
                    to_client.frames_packed,
                    to_client.pack_ns,
                ),
                (
                    legs.server.is_framed(),
                    to_client.server_leg_len,
                    to_client.source_frames_packed,
                    to_client.unpack_ns,
                ),
                (
                    legs.server.is_framed(),
                    to_server.server_leg_len,
                    to_server.frames_packed,
                    to_server.pack_ns,
                ),
                (
                    legs.client.is_framed(),
                    to_server.client_leg_len,
                    to_server.source_frames_packed,
                    to_server.unpack_ns,
                ),
            ] {
                // Where both legs have the same algorithm, frames are forwarded as they came.
                let worked = legs.client != legs.server || !framed;
                assert_eq!(leg_len < 100_000, framed, "{kind}, {legs}: {leg_len}");
                assert!(!worked || (ns > 0) == framed, "{kind}, {legs}: {ns} ns");
                assert!(!worked || (packed > 0) == framed, "{kind}, {legs}: {packed} frames");
            }
        }
    }
}

#[test]
fn a_running_session_is_seen_and_can_be_killed() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    for legs in Legs::all(Kind::MySql) {
        let route = Route::through(server, legs);
        let proxy = route.proxy.as_ref().unwrap();
        let live = proxy.live();
        let mut client = route.connect();
        client.query("do 1");
        client.ask(&[&[COM_INIT_DB], &b"mysql"[..]].concat());
        wait_while_amiss("its database", || {
            let connection = only(&live);
            let database = connection.logged_in.as_ref().and_then(|facts| facts.database.clone());
            let is_asleep = connection.command_name() == "Sleep" && connection.commands == 2;
            if database.as_deref() == Some("mysql") && is_asleep {
                Ok(())
            } else {
                Err(format!("{connection:?}"))
            }
        });
        let facts = only(&live).logged_in.unwrap();
        assert_eq!(facts.connection_id, client.greeting.thread_id);
        assert_eq!(facts.user, lab::real::USER);
        assert_eq!(facts.client, client.address.unwrap().to_string());

        client.send(&[&[COM_QUERY], &b"select sleep(600)"[..]].concat());
        wait_while_amiss("the statement", || match only(&live).command_name() {
            "Query" => Ok(()),
            other => Err(other),
        });
        assert!(!live.kill(only(&live).id + 1));
        assert!(live.kill(only(&live).id));
        let error = client.packet().expect("no word of it");
        let text = String::from_utf8_lossy(&error).into_owned();
        assert!(error.starts_with(&[0xff, 0x87, 0x07]) && text.contains("killed"), "{legs}: {text}");
        assert_eq!(client.packet(), None);
        wait_while_amiss("its end", || if live.connections().is_empty() { Ok(()) } else { Err(()) });
        assert_eq!(proxy.counters().faults_of(wire::Side::Client, "killed"), 1);
        // What it has carried stays in the sums.
        let sums = live.sums();
        let (labels, sum) = sums.iter().next().unwrap();
        assert_eq!((labels.1, labels.2, sum.sessions), (legs.client.name(), legs.server.name(), 1));
        assert!(sum.traffic[1].plain_len > 0 && sum.legs[0].socket_sent_len > 0);
    }
}
