//! What a client is told of its own leg when it asks for its session's status, beside a direct connection.
//!
//! The measure for MySQL is a direct connection of the same client: every payload must be the same. MariaDB has one of
//! three rows and no zstd.
//!
//! Not here: which statements are known (`wire::session_status`).

use codec::Algorithm::{self, Uncompressed, Zlib, Zstd};
use lab::real::Kind;
use wire::command::{COM_QUERY, COM_STMT_CLOSE, COM_STMT_EXECUTE, COM_STMT_FETCH, COM_STMT_PREPARE};
use wire::response::{eof, err, ok, status, text_result};
use wire::{Capabilities, write_lenenc_bytes};

use crate::live::client::{Client, Terms};
use crate::live::route::{Legs, Route, Socket};

type Payloads = Vec<Vec<u8>>;

/// With and without EOF packets.
fn terms() -> [Terms; 2] {
    let with = Terms::default();
    let capabilities = with.capabilities.with(Capabilities::DEPRECATE_EOF, false);
    [Terms { capabilities, ..with.clone() }, with]
}

/// Prepares, executes, and closes; without the statement's id.
fn prepared(client: &mut Client, statement: &str) -> Payloads {
    let mut payloads = client.ask(&[&[COM_STMT_PREPARE], statement.as_bytes()].concat());
    assert_eq!(payloads[0][0], ok::HEADER, "{statement}: {}", String::from_utf8_lossy(&payloads[0]));
    let id: [u8; 4] = payloads[0][1..5].try_into().unwrap();
    payloads[0][1..5].fill(0);
    for _again in 0..2 {
        payloads.extend(client.ask(&[&[COM_STMT_EXECUTE], &id[..], &[0, 1, 0, 0, 0]].concat()));
    }
    client.send(&[&[COM_STMT_CLOSE], &id[..]].concat());
    payloads
}

/// Rows of the text results in a reply, `name=value` each; the last column of wider ones.
fn rows(payloads: &Payloads) -> Vec<String> {
    let mut rows = Vec::new();
    for payload in payloads {
        let is_row = |payload: &&Vec<u8>| !matches!(payload[0], ok::HEADER | eof::HEADER | err::HEADER);
        let values = Some(payload).filter(is_row).and_then(|payload| text_result::row(payload).ok());
        if let Some([Some(name), Some(value)]) = values.as_deref() {
            rows.push(format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
        }
    }
    rows
}

fn told(algorithm: Algorithm, zstd_level: u8) -> Vec<String> {
    let (on, level) = match algorithm {
        Uncompressed => ("OFF", 0),
        Zlib => ("ON", 6),
        Zstd => ("ON", zstd_level),
    };
    let name = if algorithm == Uncompressed { "" } else { algorithm.name() };
    vec![
        format!("Compression={on}"),
        format!("Compression_algorithm={name}"),
        format!("Compression_level={level}"),
    ]
}

const STATEMENTS: [&str; 14] = [
    "show status like 'compression%'",
    "SHOW SESSION STATUS LIKE 'Compression\\_level'",
    "show /*!50002 local */ status where variable_name = 'Compression'",
    "show status where `Variable_name` in ('Compression_algorithm', 'no_such') or value = 'zstd'",
    "show status where variable_name like 'compress%' and value = 'ON'",
    "select * from performance_schema.session_status where variable_name like 'compression%'",
    "select variable_value from performance_schema.session_status where variable_name = 'Compression_algorithm'",
    "select s.VARIABLE_VALUE as v, `VARIABLE_NAME` n from performance_schema.session_status as s \
     where variable_name in ('compression', 'compression_level') order by variable_name",
    "select variable_value from performance_schema.session_status where variable_name = 'Ssl_version'",
    "select upper(variable_name), variable_name, variable_value, 7 from performance_schema.session_status \
     where variable_name like 'compress%' limit 2",
    "table performance_schema.session_status limit 0",
    "show status like 'no such'",
    "show status like 'ssl_version'",
    "select variable_name from performance_schema.session_status where variable_name like 'comp%'",
];

#[test]
fn mysql_tells_what_a_direct_connection_of_the_same_client_would_be_told() {
    let Some(server) = super::server(Kind::MySql) else { return };
    let hold = |client: &mut Client| {
        let mut payloads = Payloads::new();
        for statement in STATEMENTS {
            payloads.extend(client.query(statement));
            payloads.extend(prepared(client, statement));
        }
        payloads.extend(client.query(format!("select 1, 2; {}; do 1", STATEMENTS.join("; "))));
        payloads
    };
    for terms in terms() {
        let terms = Terms { zstd_level: 9, ..terms };
        for legs in Legs::all(Kind::MySql) {
            let direct = hold(&mut Route::direct(server).with_client(legs.client).connect_on(terms.clone()));
            let route = Route::through(server, legs);
            let through = hold(&mut route.connect_on(terms.clone()));
            let differs = direct.iter().zip(&through).position(|(direct, through)| direct != through);
            let payload =
                |payloads: &Payloads| differs.map(|at| String::from_utf8_lossy(&payloads[at]).into_owned());
            assert_eq!(payload(&through), payload(&direct), "{legs}");
            assert_eq!(through.len(), direct.len(), "{legs}");
            assert_eq!(rows(&through)[..3], told(legs.client, 9), "{legs}");
        }
    }
}

#[test]
fn mariadb_tells_the_client_leg_and_gets_the_two_rows_that_it_lacks() {
    let Some(server) = super::server(Kind::MariaDb) else { return };
    let [without_eof, with_eof] = terms();
    // MariaDB's own: longer definitions, and none where they are known already.
    let mariadbs = [Capabilities::MARIADB_EXTENDED_METADATA, Capabilities::MARIADB_CACHE_METADATA]
        .into_iter()
        .fold(with_eof.capabilities.with(Capabilities::LONG_PASSWORD, false), |all, one| all | one);
    let with_mariadbs = Terms { capabilities: mariadbs, ..with_eof.clone() };
    for terms in [without_eof, with_eof, with_mariadbs] {
        for legs in Legs::all(Kind::MariaDb) {
            let route = Route::through(server, legs);
            let mut client = route.connect_on(Terms { zstd_level: 9, ..terms.clone() });
            let expected = told(legs.client, 9);
            for statement in [
                "show status like 'Compression%'",
                "show status where variable_name like 'compression%'",
                "select * from information_schema.session_status where variable_name like 'compression%'",
                "select * from information_schema.SESSION_STATUS s where variable_name in \
                 ('COMPRESSION', 'compression_algorithm', 'compression_level') order by s.variable_name",
            ] {
                let told = rows(&client.query(statement));
                let told: Vec<_> =
                    told.iter().map(|row| row.replacen("COMPRESSION=", "Compression=", 1)).collect();
                assert_eq!(told, expected, "{legs}: {statement}");
                let payloads = prepared(&mut client, statement);
                let holds = |text: &[u8]| {
                    payloads.iter().filter(|row| row.windows(text.len()).any(|it| it == text)).count()
                };
                assert_eq!(holds(b"Compression_level"), 2, "{legs}: {statement}, prepared");
            }
            assert_eq!(rows(&client.query("show status like 'compression_level'")), expected[2..], "{legs}");
            let value =
                "select variable_value from information_schema.session_status where variable_name = 'x'";
            let level = client.value(&value.replace('x', "Compression_level"));
            assert_eq!(format!("Compression_level={level}"), expected[2], "{legs}");
            // Between others, and what follows in the same reply.
            let many =
                client.query("select 1, 2; show status like 'compression%'; select 3, 4; do 1; select 5, 6");
            let around = [vec!["1=2".to_owned()], expected.clone(), vec!["3=4".to_owned(), "5=6".to_owned()]];
            assert_eq!(rows(&many), around.concat(), "{legs}");
        }
    }
}

/// Every other row, its order and its neighbours.
#[test]
fn everything_else_in_a_status_is_untouched() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = super::server(kind) else { return };
        let names = |rows: Vec<String>| -> Vec<String> {
            rows.iter().map(|row| row.split('=').next().unwrap().to_owned()).collect()
        };
        let direct = names(rows(&Route::direct(server).connect().query("show session status")));
        let mut expected = direct.clone();
        if kind == Kind::MariaDb {
            let at = direct.iter().position(|name| name == "Compression").unwrap() + 1;
            expected.splice(at..at, ["Compression_algorithm".to_owned(), "Compression_level".to_owned()]);
        }
        assert!(direct.len() > 300, "{} rows", direct.len());
        for legs in Legs::all(kind) {
            let route = Route::through(server, legs);
            let mut client = route.connect();
            for _again in 0..2 {
                assert_eq!(names(rows(&client.query("show session status"))), expected, "{kind}, {legs}");
            }
        }
    }
}

#[test]
fn global_status_and_routines_tell_what_the_server_tells() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = super::server(kind) else { return };
        server
            .sql(
                "delimiter $$
                 create procedure if not exists flows.status_of_it() begin
                     show status like 'compression%'; select 1; show session status like 'compression%';
                 end$$",
            )
            .unwrap();
        let hold = |client: &mut Client| {
            let mut payloads = client.query("show global status like 'compression%'");
            payloads.extend(client.query("call flows.status_of_it()"));
            let mut both = client.query("call flows.status_of_it(); show status like 'compression%'");
            let own: Payloads =
                rows(&both).iter().rev().take(3).map(|row| row.clone().into_bytes()).collect();
            both.truncate(3);
            payloads.extend(
                client.query("select 'compression', count(*) from information_schema.processlist limit 0"),
            );
            (payloads, own)
        };
        for legs in Legs::all(kind) {
            let mut same_as_server = Route::direct(server);
            if !(kind == Kind::MariaDb && legs.server == Zstd) {
                same_as_server = same_as_server.with_client(legs.server);
            }
            let (direct, _) = hold(&mut same_as_server.connect());
            let route = Route::through(server, legs);
            let (through, own) = hold(&mut route.connect());
            assert_eq!(through, direct, "{kind}, {legs}");
            // Behind the routine, the client's own.
            let expected: Payloads = told(legs.client, 3).into_iter().rev().map(String::into_bytes).collect();
            assert_eq!(own, expected, "{kind}, {legs}");
        }
    }
}

#[test]
fn rows_of_a_cursor_tell_the_client_leg_too() {
    for (kind, schema) in [(Kind::MySql, "performance_schema"), (Kind::MariaDb, "information_schema")] {
        let Some(server) = super::server(kind) else { return };
        let statement =
            format!("select * from {schema}.session_status where variable_name like 'compression%'");
        for terms in terms() {
            for legs in Legs::all(kind) {
                let route = Route::through(server, legs);
                let mut client = route.connect_on(terms.clone());
                let opened = client.ask(&[&[COM_STMT_PREPARE], statement.as_bytes()].concat());
                let id: [u8; 4] = opened[0][1..5].try_into().unwrap();
                let executed = client.ask(&[&[COM_STMT_EXECUTE], &id[..], &[1, 1, 0, 0, 0]].concat());
                let last = executed.last().unwrap();
                let flags = ok::status_of(last) | eof::status_of(last);
                assert_ne!(flags & status::CURSOR_EXISTS, 0, "{kind}: no cursor");
                let mut fetched = Payloads::new();
                while !fetched.last().is_some_and(|last: &Vec<u8>| {
                    last[0] == err::HEADER
                        || (last[0] == eof::HEADER
                            && (ok::status_of(last) | eof::status_of(last)) & status::LAST_ROW_SENT != 0)
                }) {
                    fetched.extend(client.ask(&[&[COM_STMT_FETCH], &id[..], &1_u32.to_le_bytes()].concat()));
                }
                for row in told(legs.client, 3) {
                    let (name, value) = row.split_once('=').unwrap();
                    let mut binary = vec![0, 0];
                    write_lenenc_bytes(&mut binary, name.as_bytes());
                    write_lenenc_bytes(&mut binary, value.as_bytes());
                    let upper = binary.to_ascii_uppercase();
                    let is_it = |row: &&Vec<u8>| row.to_ascii_uppercase() == upper;
                    assert_eq!(
                        fetched.iter().filter(is_it).count(),
                        1,
                        "{kind}, {legs}: {row} in {fetched:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn query_attributes_may_stand_before_the_statement() {
    let Some(server) = super::server(Kind::MySql) else { return };
    let default = Terms::default();
    let capabilities = default.capabilities.with(Capabilities::QUERY_ATTRIBUTES, true);
    for legs in Legs::all(Kind::MySql) {
        let route = Route::through(server, legs);
        let mut client = route.connect_on(Terms { capabilities, ..default.clone() });
        // None, and one text.
        for attributes in [&b"\x00\x01"[..], b"\x01\x01\x00\x01\xfe\x00\x03key\x05value"] {
            let command = [&[COM_QUERY], attributes, b"show status like 'compression%'"].concat();
            assert_eq!(rows(&client.ask(&command)), told(legs.client, 3), "{legs}");
        }
    }
}

#[test]
fn the_interception_can_be_switched_off() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = super::server(kind) else { return };
        let legs = Legs::of(Zlib, Uncompressed);
        let route = Route::with(server, legs, [Socket::Tcp, Socket::Tcp], |config| {
            config.intercept_session_status = false;
        });
        let direct = Route::direct(server).connect().query("show status like 'compression%'");
        assert_eq!(route.connect().query("show status like 'compression%'"), direct, "{kind}");
    }
}
