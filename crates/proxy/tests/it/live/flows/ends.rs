//! How replies and connections end: interrupted, refused, idle for too long, with the server killed.
//!
//! Not here: ends that the proxy itself decides (`bad_input`).

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use lab::real::{Kind, Options, RealServer, required_with};
use lab::wait::{PATIENCE, wait_while_amiss};

use crate::live::client::{Client, Terms, remember_password};
use crate::live::route::{Legs, Route, complaint};

/// What the client's SIGINT does: a second connection with KILL QUERY and the thread id of the greeting.
fn an_interrupt_kills_the_statement_alone(kind: Kind) {
    let Some(server) = super::server(kind) else { return };
    for (index, legs) in Legs::all(kind).into_iter().enumerate() {
        let route = Route::through(server, legs);
        let begun = Instant::now();
        let statements =
            format!("select sleep({}), 'interrupt {index}'; select 'behind it'", PATIENCE.as_secs());
        let client = spawn(route.cli().arg("--force"), &statements);
        wait_for_statements(server, &format!("info like 'select sleep%interrupt {index}%'"), "1");
        let killed = Command::new("kill").args(["-INT", &client.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let output = client.wait_with_output().unwrap();
        assert!(begun.elapsed() < PATIENCE / 2, "{legs}: the statement went on");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.ends_with("behind it\n"), "{legs}: {text} {}", complaint(&output));
        assert_eq!(route.proxy.as_ref().unwrap().counters().sessions(), 2, "{legs}: the KILL went elsewhere");
    }
}

#[test]
fn an_interrupt_kills_the_statement_alone_on_mysql() {
    an_interrupt_kills_the_statement_alone(Kind::MySql);
}

#[test]
fn an_interrupt_kills_the_statement_alone_on_mariadb() {
    an_interrupt_kills_the_statement_alone(Kind::MariaDb);
}

#[test]
fn the_greeting_has_the_servers_own_thread_id() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = super::server(kind) else { return };
        for legs in Legs::all(kind) {
            let route = Route::through(server, legs);
            let mut client = route.connect();
            assert_eq!(
                client.value("select connection_id()"),
                client.greeting.thread_id.to_string(),
                "{legs}"
            );
        }
    }
}

#[test]
fn a_servers_error_instead_of_a_greeting_arrives_as_it_is() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let options = Options::new().argument("--max-connections=10");
        let Some(server) = required_with(kind, &options) else { return };
        remember_password(&server);
        let direct = Route::direct(&server);
        let mut held = Vec::new();
        let refusal = loop {
            match Client::connect(&direct.address, &Terms::default()) {
                Ok(client) => held.push(client),
                Err(refusal) => break refusal,
            }
            assert!(held.len() < 20, "{kind} takes any number of connections");
        };
        assert_eq!((refusal.code, refusal.sqlstate), (1040, None), "{refusal}");
        for legs in Legs::all(kind) {
            let route = Route::through(&server, legs);
            let terms = Terms { algorithm: legs.client, ..Terms::default() };
            // A connection of before the test may have been counted still, and left its place since.
            let refused = loop {
                match Client::connect(&route.address, &terms) {
                    Ok(client) => held.push(client),
                    Err(refused) => break refused,
                }
                assert!(held.len() < 20, "{kind} takes any number of connections through the proxy");
            };
            assert_eq!(refused, refusal, "{legs}");
            let output = route.cli().arg("--execute=select 1").output().unwrap();
            assert!(complaint(&output).contains("Too many connections"), "{}", complaint(&output));
        }
    }
}

/// The end of a connection that is idle for a second, as payloads.
fn idle_end(route: &Route<'_>) -> Vec<Vec<u8>> {
    let mut client = route.connect();
    client.query("set session wait_timeout = 1");
    std::iter::from_fn(|| client.packet()).collect()
}

fn an_idle_connection_ends_as_a_direct_one(kind: Kind, payload_count: usize) {
    let Some(server) = super::server(kind) else { return };
    thread::scope(|scope| {
        let direct = scope.spawn(|| idle_end(&Route::direct(server)));
        let ends = Legs::all(kind)
            .into_iter()
            .map(|legs| (legs, scope.spawn(move || idle_end(&Route::through(server, legs)))))
            .collect::<Vec<_>>();
        let direct = direct.join().unwrap();
        assert_eq!(direct.len(), payload_count, "{direct:?}");
        for (legs, end) in ends {
            assert_eq!(end.join().unwrap(), direct, "{legs}");
        }
    });
}

#[test]
fn an_idle_connection_ends_with_mysqls_own_error() {
    an_idle_connection_ends_as_a_direct_one(Kind::MySql, 1);
}

#[test]
fn an_idle_connection_just_ends_on_mariadb() {
    an_idle_connection_ends_as_a_direct_one(Kind::MariaDb, 0);
}

/// The error came while nobody asked; a real client checks its ids and finds it when it asks next.
#[test]
fn mysqls_client_tells_of_its_idle_timeout_on_every_pair_of_legs() {
    let Some(server) = super::server(Kind::MySql) else { return };
    let routes: Vec<_> =
        Legs::all(Kind::MySql).into_iter().map(|legs| (legs, Route::through(server, legs))).collect();
    let mut clients: Vec<_> = routes
        .iter()
        .map(|(_, route)| {
            let mut command = route.cli();
            command.arg("--unbuffered").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut client = command.spawn().unwrap();
            let input = client.stdin.as_mut().unwrap();
            input.write_all(b"set session wait_timeout = 1; select connection_id();\n").unwrap();
            client
        })
        .collect();
    let ids: Vec<String> = clients
        .iter_mut()
        .map(|client| {
            let mut line = String::new();
            BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        })
        .collect();
    wait_for_statements(server, &format!("id in ({})", ids.join(", ")), "0");
    for (mut client, (legs, _)) in clients.drain(..).zip(&routes) {
        client.stdin.take().unwrap().write_all(b"select 'too late';\n").unwrap();
        let output = client.wait_with_output().unwrap();
        assert!(complaint(&output).contains("ERROR 4031 (HY000)"), "{legs}: {}", complaint(&output));
    }
}

/// An endless result, of which each client has read the beginning when the server is killed.
fn a_server_killed_in_a_result_is_an_error(kind: Kind) {
    let Some(mut server) = required_with(kind, &Options::new()) else { return };
    remember_password(&server);
    let addresses = Legs::all(kind).into_iter().map(|legs| {
        let route = Route::through(&server, legs);
        let mut cli = route.cli();
        cli.arg("--quick");
        (legs, [route.proxy, route.other_half], cli)
    });
    let clients: Vec<_> = addresses.collect();
    let [begun, killed] = [Barrier::new(clients.len() + 1), Barrier::new(clients.len() + 1)];
    thread::scope(|scope| {
        let ends = clients
            .into_iter()
            .map(|(legs, proxies, mut cli)| {
                let (begun, killed) = (&begun, &killed);
                scope.spawn(move || {
                    let mut client = spawn(&mut cli, ENDLESS);
                    let mut head = [0; 100_000];
                    client.stdout.as_mut().unwrap().read_exact(&mut head).unwrap();
                    begun.wait();
                    killed.wait();
                    let since = Instant::now();
                    let output = client.wait_with_output().unwrap();
                    drop(proxies);
                    (legs, output, since.elapsed())
                })
            })
            .collect::<Vec<_>>();
        begun.wait();
        server.kill().unwrap();
        killed.wait();
        for end in ends {
            let (legs, output, took) = end.join().unwrap();
            assert!(!output.status.success(), "{legs}: a short result looks complete");
            assert!(complaint(&output).contains("ERROR 2013"), "{legs}: {}", complaint(&output));
            assert!(took < PATIENCE / 4, "{legs}: told after {took:?}");
        }
    });
}

#[test]
fn mysql_killed_in_a_result_is_an_error_on_every_pair_of_legs() {
    a_server_killed_in_a_result_is_an_error(Kind::MySql);
}

#[test]
fn mariadb_killed_in_a_result_is_an_error_on_every_pair_of_legs() {
    a_server_killed_in_a_result_is_an_error(Kind::MariaDb);
}

fn spawn(command: &mut Command, statements: &str) -> Child {
    let mut client =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    client.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
    client
}

/// Asks the server until `count` of its threads fit `condition`.
fn wait_for_statements(server: &RealServer, condition: &str, count: &str) {
    let statement = format!("select count(*) from information_schema.processlist where {condition}");
    // MySQL can't tell while a neighbour's statement is no text.
    wait_while_amiss(&format!("{count} with {condition}"), || match server.sql(&statement) {
        Ok(found) if found == count => Ok(()),
        seen => Err(seen),
    });
}

/// A gigabyte that packs to a half: no buffer on the way holds it.
const ENDLESS: &str = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
    select hex(random_bytes(500)) from n a, n b;";
