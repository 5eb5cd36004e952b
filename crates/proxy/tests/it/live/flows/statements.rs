//! Several statements in a command, prepared statements, procedures, cursors, long data, session resets.
//!
//! Each dialogue is held on a direct connection and on every pair of legs; every payload must be the same.
//!
//! Not here: files in the middle of a command (`local_infile`).

use lab::real::{Kind, RealServer};
use wire::command::{
    COM_FIELD_LIST, COM_INIT_DB, COM_PING, COM_RESET_CONNECTION, COM_STMT_CLOSE, COM_STMT_EXECUTE,
    COM_STMT_FETCH, COM_STMT_PREPARE, COM_STMT_RESET, COM_STMT_SEND_LONG_DATA,
};
use wire::response::status::{CURSOR_EXISTS, LAST_ROW_SENT};
use wire::response::{eof, err, ok};
use wire::{Capabilities, write_lenenc_bytes};

use crate::live::client::{Client, Terms};
use crate::live::route::{Legs, Route, printed, run};

type Payloads = Vec<Vec<u8>>;

/// Holds the dialogue directly and on every pair of legs, with and without EOF packets.
fn same_as_direct(kind: Kind, dialogue: impl Fn(&mut Client) -> Payloads) {
    let Some(server) = super::server(kind) else { return };
    let default = Terms::default();
    let without = default.capabilities.with(Capabilities::DEPRECATE_EOF, false);
    for capabilities in [default.capabilities, without] {
        let terms = Terms { capabilities, ..default.clone() };
        let hold = |route: &Route<'_>| dialogue(&mut route.connect_on(terms.clone()));
        let direct = hold(&Route::direct(server));
        for legs in Legs::all(kind) {
            let found = hold(&Route::through(server, legs));
            let differs = direct.iter().zip(&found).position(|(direct, found)| direct != found);
            assert_eq!(differs, None, "{legs}, {capabilities:?}: another payload");
            assert_eq!(found.len(), direct.len(), "{legs}");
        }
    }
}

fn several_statements(client: &mut Client) -> Payloads {
    // Collations stay as many while other tests make their tables.
    let mut payloads = client.query(
        "select 1; select repeat('a', 100000), repeat('b', 70000); do 1; select 'many' from information_schema.collations;
         set @x = 5; select @x, null, ''; select 1 where false",
    );
    assert!(payloads.len() > 100, "{} payloads", payloads.len());
    // The statements behind a failing one are not reached.
    let failed = client.query("select 'before'; select no_such_column; select 'behind'");
    assert_eq!(failed.last().unwrap()[0], err::HEADER);
    payloads.extend(failed);
    payloads.extend(client.ask(&[COM_PING]));
    payloads
}

#[test]
fn several_statements_in_a_command_give_all_their_results_on_mysql() {
    same_as_direct(Kind::MySql, several_statements);
}

#[test]
fn several_statements_in_a_command_give_all_their_results_on_mariadb() {
    same_as_direct(Kind::MariaDb, several_statements);
}

/// The statement's id, and the reply without it: MariaDB counts for all sessions.
fn prepare(client: &mut Client, statement: &str) -> (u32, Payloads) {
    let mut payloads = client.ask(&[&[COM_STMT_PREPARE], statement.as_bytes()].concat());
    assert_eq!(payloads[0][0], ok::HEADER, "{}", String::from_utf8_lossy(&payloads[0]));
    let id = u32::from_le_bytes(payloads[0][1..5].try_into().unwrap());
    payloads[0][1..5].fill(0);
    (id, payloads)
}

fn statement_command(command: u8, id: u32, rest: &[u8]) -> Vec<u8> {
    [&[command], &id.to_le_bytes()[..], rest].concat()
}

fn make_procedure(server: &RealServer) {
    server
        .sql(
            "delimiter $$
             create procedure if not exists flows.double_it(in a bigint, out b bigint, inout c varchar(100)) begin
                 select a, repeat('x', 20000); select c; set b = a * 2, c = concat(c, '!');
             end$$",
        )
        .unwrap();
}

/// `CALL` by a prepared statement: two results, then one of the OUT parameters, then OK.
fn call_procedure(client: &mut Client) -> Payloads {
    let (id, mut payloads) = prepare(client, "call flows.double_it(?, ?, ?)");
    // No cursor, one iteration; NULL bits (the second), types follow; two BIGINT and a VARCHAR.
    let mut rest = vec![0, 1, 0, 0, 0, 0b010, 1, 8, 0, 8, 0, 253, 0];
    rest.extend_from_slice(&21_i64.to_le_bytes());
    write_lenenc_bytes(&mut rest, b"out and in");
    for _ in 0..3 {
        payloads.extend(client.ask(&statement_command(COM_STMT_EXECUTE, id, &rest)));
    }
    let has =
        |text: &[u8]| payloads.iter().any(|payload| payload.windows(text.len()).any(|part| part == text));
    assert!(has(b"out and in!") && has(&42_i64.to_le_bytes()), "the OUT parameters are missing");
    client.send(&statement_command(COM_STMT_CLOSE, id, &[]));
    payloads.extend(client.ask(&[COM_PING]));
    payloads
}

#[test]
fn a_procedures_results_and_out_parameters_arrive_on_mysql() {
    super::server(Kind::MySql).into_iter().for_each(make_procedure);
    same_as_direct(Kind::MySql, call_procedure);
}

#[test]
fn a_procedures_results_and_out_parameters_arrive_on_mariadb() {
    super::server(Kind::MariaDb).into_iter().for_each(make_procedure);
    same_as_direct(Kind::MariaDb, call_procedure);
}

/// A cursor fetched in parts, with another command between two of them.
fn fetch_from_cursor(client: &mut Client) -> Payloads {
    let status = |payload: &[u8]| ok::status_of(payload) | eof::status_of(payload);
    let (id, mut payloads) = prepare(
        client,
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 900) select i, repeat('v', i) from n",
    );
    let read_only_cursor = [1, 1, 0, 0, 0];
    let opened = client.ask(&statement_command(COM_STMT_EXECUTE, id, &read_only_cursor));
    assert_ne!(status(opened.last().unwrap()) & CURSOR_EXISTS, 0, "no cursor was opened");
    payloads.extend(opened);
    let mut fetch_count = 0;
    loop {
        let fetched = client.ask(&statement_command(COM_STMT_FETCH, id, &100_u32.to_le_bytes()));
        let last = fetched.last().unwrap().clone();
        payloads.extend(fetched);
        fetch_count += 1;
        if status(&last) & LAST_ROW_SENT != 0 || last[0] == err::HEADER {
            break;
        }
        payloads.extend(client.query("select 'between two fetches'"));
    }
    assert!((9..=10).contains(&fetch_count) && payloads.len() > 900, "{fetch_count} fetches");
    payloads.extend(client.ask(&statement_command(COM_STMT_RESET, id, &[])));
    payloads
}

#[test]
fn a_cursor_is_fetched_in_parts_on_mysql() {
    same_as_direct(Kind::MySql, fetch_from_cursor);
}

#[test]
fn a_cursor_is_fetched_in_parts_on_mariadb() {
    same_as_direct(Kind::MariaDb, fetch_from_cursor);
}

/// Commands without reply, several behind each other, then one with a reply.
fn send_long_data(client: &mut Client) -> Payloads {
    let (id, mut payloads) = prepare(client, "select length(?), crc32(?)");
    for parameter in [0_u8, 1] {
        for part in 0..5 {
            let mut rest = vec![parameter, 0];
            rest.extend(lab::generate::blob(3, part, 300_000));
            client.send(&statement_command(COM_STMT_SEND_LONG_DATA, id, &rest));
        }
    }
    // Both BLOB; their values came before.
    let rest = [0, 1, 0, 0, 0, 0, 1, 252, 0, 252, 0];
    let executed = client.ask(&statement_command(COM_STMT_EXECUTE, id, &rest));
    let length = 1_500_000_u32.to_le_bytes();
    assert!(executed.iter().any(|payload| payload.windows(4).any(|part| part == length)), "another length");
    payloads.extend(executed);
    for _ in 0..3 {
        let (id, prepared) = prepare(client, "select 1");
        payloads.extend(prepared);
        client.send(&statement_command(COM_STMT_CLOSE, id, &[]));
    }
    payloads.extend(client.query("select 'still here'"));
    payloads
}

#[test]
fn commands_without_reply_are_followed_by_others_on_mysql() {
    same_as_direct(Kind::MySql, send_long_data);
}

#[test]
fn commands_without_reply_are_followed_by_others_on_mariadb() {
    same_as_direct(Kind::MariaDb, send_long_data);
}

/// The session's state is gone, the connection and its compression stay; other short commands besides.
fn reset_session(client: &mut Client) -> Payloads {
    let mut payloads = client.query("set @kept = 5");
    payloads.extend(client.ask(&[&[COM_INIT_DB], &b"mysql"[..]].concat()));
    payloads.extend(client.ask(&[&[COM_FIELD_LIST], &b"db\0%"[..]].concat()));
    assert_eq!(client.value("select coalesce(@kept, 'nothing')"), "5");
    payloads.extend(client.ask(&[COM_RESET_CONNECTION]));
    assert_eq!(client.value("select coalesce(@kept, 'nothing')"), "nothing");
    payloads.extend(client.query("select repeat('still framed ', 1000)"));
    payloads
}

#[test]
fn a_session_is_reset_on_mysql() {
    same_as_direct(Kind::MySql, reset_session);
}

#[test]
fn a_session_is_reset_on_mariadb() {
    same_as_direct(Kind::MariaDb, reset_session);
}

#[test]
fn query_attributes_and_the_clients_reset_arrive_on_every_pair_of_legs() {
    let Some(server) = super::server(Kind::MySql) else { return };
    server.sql("install component 'file://component_query_attributes'").unwrap();
    let statements = "query_attributes name value_of_it\n\
        select mysql_query_attribute_string('name');\n\
        select coalesce(mysql_query_attribute_string('name'), 'gone');\n\
        set @kept = 1;\nresetconnection\nselect coalesce(@kept, 'reset');\n";
    for legs in Legs::all(Kind::MySql) {
        let route = Route::through(server, legs);
        // Since 9.5 the client's own commands must be asked for.
        let output = run(route.cli().args(["--loose-commands", "--database=flows"]), statements);
        assert_eq!(printed(&output), "value_of_it\ngone\nreset\n", "{legs}");
    }
}
