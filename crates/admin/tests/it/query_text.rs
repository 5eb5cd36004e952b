//! What the admin ports tell of statements: nothing, or as much as the operator wants.
//!
//! Not here: the other columns (`sql`).

use std::process::{Child, Command, Stdio};

use lab::real::{Kind, PASSWORD, USER};
use proxy::Address;

use crate::http::{RIGHT, open, request};
use crate::stage::Stage;

/// Not to be seen anywhere where it wasn't asked for.
const MARKER: &str = "marker-8d1f";

fn running(mut client: Command, statement: &str) -> Child {
    client.arg(format!("--execute={statement}")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Ends it, and its session, which would wait for the server's sleep.
fn end(mut child: Child, stage: &Stage) {
    let live = stage.proxy.live();
    for connection in live.connections() {
        live.kill(connection.id);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// All that can be asked, as text.
fn everything(stage: &Stage) -> String {
    let mut all = String::new();
    for statement in ["select * from connections", "show full processlist", "select * from settings"] {
        all.push_str(&stage.ask(statement).join("\n"));
    }
    let (admin, _directory) = open(&stage.proxy);
    for path in ["/metrics", "/api/connections", "/api/totals"] {
        all.push_str(&request(&admin, &format!("GET {path} HTTP/1.1"), &[RIGHT]).1);
    }
    all
}

const RUNS: &str = "select command, state, info from connections where command = 'Query'";

#[test]
fn statements_are_not_shown_unless_the_operator_wants_it() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let client = running(stage.client("mysql"), &format!("select sleep(60), '{MARKER}'"));
    let lines = stage.ask_until(RUNS, |lines| lines.len() == 2 && lines[1].contains("waiting"));
    assert_eq!(lines[1], "Query\twaiting for the server\tNULL");
    assert!(!everything(&stage).contains(MARKER));
    assert_eq!(stage.ask("select value, dynamic from settings where name = 'query_text'")[1], "0\tNO");
    end(client, &stage);
}

#[test]
fn the_statement_that_runs_is_shown_as_far_as_wanted_and_gone_when_it_has_ended() {
    for (kind, program) in [(Kind::MySql, "mysql"), (Kind::MariaDb, "mariadb")] {
        for algorithms in ["zlib", "uncompressed"] {
            let stage = Stage::with(kind, |config| {
                config.query_text_len_max = 40;
                config.server_algorithms = vec![algorithms.parse().unwrap()];
            });
            let Some(stage) = stage else { return };
            let statement = format!("select sleep(60) as {}", "long_name_".repeat(6));
            for compress in [false, true] {
                let mut client = stage.client(program);
                client.args(compress.then_some("--compress"));
                let client = running(client, &statement);
                let lines = stage.ask_until(RUNS, |lines| lines.len() == 2 && lines[1].contains("sleep"));
                assert_eq!(lines[1], format!("Query\twaiting for the server\t{}", &statement[..40]));
                let shown = everything(&stage);
                // In `connections`, the process list and /api/connections, and nowhere else.
                assert_eq!(shown.matches(&statement[..40]).count(), 3, "{shown}");
                end(client, &stage);
                stage.ask_until("select count(*) from connections", |lines| lines[1] == "0");
            }
        }
    }
}

#[test]
fn a_prepared_statement_is_shown_while_it_is_executed() {
    let Some(stage) = Stage::with(Kind::MySql, |config| config.query_text_len_max = 1000) else { return };
    let Ok(mut php) = stage.server.command("php") else {
        return lab::real::skip("want of PHP (scripts/fetch-servers --drivers)");
    };
    let Address::Tcp { host, port } = stage.proxy.address() else { unreachable!() };
    let script = format!(
        "$c = new mysqli('{host}', '{USER}', '{PASSWORD}', '', {port}); $c->query(\"select 'first {MARKER}'\"); \
         $s = $c->prepare('select sleep(?)'); $t = 60; $s->bind_param('i', $t); $s->execute();"
    );
    php.args(["-d", "extension=mysqlnd", "-d", "extension=mysqli", "-r", &script]);
    let client = php.stdout(Stdio::null()).spawn().unwrap();
    let execute = "select command, state, info from connections where command = 'Execute'";
    let lines = stage.ask_until(execute, |lines| lines.len() == 2);
    assert_eq!(lines[1], "Execute\twaiting for the server\tselect sleep(?)");
    assert!(!everything(&stage).contains(MARKER), "a statement that has ended is still there");
    end(client, &stage);
}

#[test]
fn a_client_that_does_not_read_is_what_its_session_waits_for() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let mut client = stage.client("mysql");
    // Its standard output is a pipe that nobody empties.
    client.args([
        "--quick",
        "--execute=select repeat('x', 1000000) from mysql.help_topic a, mysql.help_topic b",
    ]);
    let client = client.stdout(Stdio::piped()).spawn().unwrap();
    let state = "select command, state from connections where state like 'sending%'";
    let lines = stage.ask_until(state, |lines| lines.len() == 2);
    assert_eq!(lines[1], "Query\tsending to the client");
    end(client, &stage);
}
