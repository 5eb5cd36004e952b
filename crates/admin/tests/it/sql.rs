//! SQL on the admin port, by the real mysql client.
//!
//! Not here: many connections (`many`).

use std::io::Write;
use std::process::{Child, Command, Stdio};

use admin::{Admin, Fault, Setup};
use lab::real::Kind;

use crate::stage::{Stage, complaint};

/// A client that runs a statement and then waits for more.
fn busy(mut client: Command, statement: &str) -> Child {
    let mut child = client
        .arg("--unbuffered")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(child.stdin.as_mut().unwrap(), "{statement};").unwrap();
    child
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// The query of the source document for all other connections, in this port's words.
const OTHERS: &str = "SELECT connection_id AS Connection_id, compression AS Compression, user, host AS Host, \
     `database` AS 'Database', command AS Command, time AS Time, state AS State, info AS Info \
     FROM connections WHERE connection_id <> connection_id() ORDER BY compression";

#[test]
fn all_other_connections_are_listed_while_they_run() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let mut zstd = stage.client("mysql");
    zstd.args(["--compression-algorithms=zstd", "--zstd-compression-level=7", "mysql"]);
    let clients =
        [busy(stage.client("mysql"), "select sleep(60)"), busy(zstd, "select repeat('packed', 100000)")];
    let lines = stage.ask_until(OTHERS, |lines| {
        // Each client's own state: both query and sleep by turns while they log in.
        let has = |marks: [&str; 2]| lines.iter().any(|line| marks.iter().all(|mark| line.contains(mark)));
        lines.len() == 3 && has(["\tOFF\t", "\tQuery\t"]) && has(["\tON\t", "\tSleep\t"])
    });
    let headings: Vec<_> = lines[0].split('\t').collect();
    let expected =
        ["Connection_id", "Compression", "user", "Host", "Database", "Command", "Time", "State", "Info"];
    assert_eq!(headings, expected);
    let [off, on] = [&lines[1], &lines[2]].map(|line| line.split('\t').collect::<Vec<_>>());
    assert_eq!([off[1], off[4], off[5], off[8]], ["OFF", "NULL", "Query", "NULL"]);
    assert_eq!([on[1], on[4], on[5], on[8]], ["ON", "mysql", "Sleep", "NULL"]);
    let ids: Vec<u32> =
        lines[1..].iter().map(|line| line.split('\t').next().unwrap().parse().unwrap()).collect();
    assert!(ids.iter().all(|id| *id > 0));

    let legs = "select client_algorithm, client_level_negotiated, client_level, server_algorithm, \
         client_to_client_plain_bytes > 600000, client_to_client_packed_bytes < 10000, client_to_client_ratio > 60, \
         client_to_client_cpu_ns > 0, client_saved > 0, to_client_decision from connections where compression = 'ON'";
    let line =
        stage.ask_until(legs, |lines| lines.len() == 2 && lines[1].contains("\t1\t1\t1")).pop().unwrap();
    // The wish for 7 was agreed on, and is capped.
    assert_eq!(line, "zstd\t7\t3\tzstd\t1\t1\t1\t1\t1\tNULL");

    let processes = stage.ask("show processlist");
    assert_eq!(processes[0], "Id\tUser\tHost\tdb\tCommand\tTime\tState\tInfo");
    assert_eq!(processes.len(), 3);

    // Its own id, not the server's.
    let sleeping = "select id from connections where compression = 'OFF'";
    let id = stage.ask(sleeping).pop().unwrap();
    stage.ask(&format!("kill {id}"));
    stage.ask_until("select count(*) from connections", |lines| lines[1] == "1");
    // One that doesn't look stays in the list, and is told of as what it is.
    stage.ask(&format!("kill {}", stage.ask("select id from connections").pop().unwrap()));
    stage.ask_until("select command from connections", |lines| {
        lines.get(1).is_none_or(|command| command == "Killed")
    });
    let faults = stage.ask_until("select side, phase, cause, count from faults", |lines| lines.len() == 2);
    assert!(faults[1].starts_with("client\tcommand\tkilled\t"), "{faults:?}");
    clients.into_iter().for_each(end);
    let totals = "select sum(plain_bytes) > 600000, min(ratio) < 1.1, max(ratio) > 60, sum(sessions) from totals \
         where side = 'client' and direction = 'to_client'";
    stage.ask_until(totals, |lines| lines[1] == "1\t1\t1\t2");
}

#[test]
fn tables_are_shown_described_and_joined() {
    let Some(stage) = Stage::new(Kind::MariaDb) else { return };
    let tables = stage.ask("show tables");
    assert_eq!(
        tables[1..],
        [
            "connections",
            "faults",
            "links",
            "listeners",
            "servers",
            "settings",
            "tap",
            "tap_codecs",
            "tap_exchanges",
            "totals"
        ]
    );
    let described = stage.ask("describe connections");
    assert_eq!(described[1], "id\tbigint unsigned\tNO\t\tNULL\t");
    assert!(
        described.iter().any(|line| line.starts_with("client_to_server_ratio\tdouble\tYES")),
        "{described:?}"
    );
    let client = busy(stage.client("mariadb"), "do 1");
    let joined = "select c.user, s.state, s.sessions, l.connections from connections c join servers s \
         on s.address = c.server join listeners l on l.address = c.listener";
    let lines = stage.ask_until(joined, |lines| lines.len() == 2);
    assert_eq!(lines[1], format!("{}\tup\t1\t1", lab::real::USER));
    let address = stage.proxy.address();
    assert_eq!(stage.ask("select address from listeners")[1], address.to_string());
    end(client);
}

#[test]
fn a_setting_is_changed_for_new_sessions() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let value = |name: &str| {
        let statement = format!("select value from settings where name = '{name}' and dynamic = 'YES'");
        stage.ask(&statement).pop().unwrap()
    };
    let refused = |algorithm: &str| {
        let mut client = stage.client("mysql");
        client.args([&format!("--compression-algorithms={algorithm}"), "--execute=do 1"]);
        complaint(&client.output().unwrap()).contains("ERROR")
    };
    assert!(!refused("zlib"));
    stage.ask("set global protocol_compression_algorithms = 'zstd,uncompressed'");
    assert_eq!(value("protocol_compression_algorithms"), "zstd,uncompressed");
    assert!(refused("zlib") && !refused("zstd"));
    stage.ask("set zlib_compression_level = 9, global intercept_session_status = off");
    assert_eq!([value("zlib_compression_level"), value("intercept_session_status")], ["9", "OFF"]);
    // MySQL's own ways to ask tell the same.
    assert_eq!(stage.ask("select @@protocol_compression_algorithms")[1], "zstd,uncompressed");
    assert_eq!(stage.ask("select @@global.zlib_compression_level + 1")[1], "10");
    assert_eq!(stage.ask("show variables like 'zlib\\_%'")[1], "zlib_compression_level\t9");
    assert!(stage.error("set global query_text = 100").contains("ERROR 1238 (HY000)"));
    assert!(stage.error("set global no_such = 1").contains("ERROR 1193 (HY000)"));
    assert!(stage.error("set global zstd_compression_level = 23").contains("ERROR 1231 (42000)"));
    assert!(stage.error("set global protocol_compression_algorithms = 'lz4'").contains("ERROR 1231 (42000)"));
    assert_eq!(value("zstd_compression_level"), "3");
}

#[test]
fn the_policy_is_set_for_new_sessions_whose_links_are_listed() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let links = "select peer, side, sessions, seen_seconds_ago is null or seen_seconds_ago < 600, \
         bytes_per_second is null or bytes_per_second > 0 from links order by side";
    let zstd = || {
        let mut client = stage.client("mysql");
        client.arg("--compression-algorithms=zstd");
        busy(client, "select repeat('packed', 100000)")
    };
    let packed = "select count(*) from connections where client_to_client_packed_bytes > 0";
    // All frames are packed at first: no link is looked at.
    let fixed = zstd();
    stage.ask_until(packed, |lines| lines[1] == "1");
    assert!(stage.ask(links).is_empty());
    stage.ask("set global policy = 'latency'");
    assert_eq!(stage.ask("select value, dynamic from settings where name = 'policy'")[1], "latency\tYES");
    let paced = zstd();
    stage.ask_until(packed, |lines| lines[1] == "2");
    let lines = stage.ask(links);
    assert_eq!(lines[1..], ["127.0.0.1\tclient\t1\t1\t1", "127.0.0.1\tserver\t1\t1\t1"]);
    assert!(stage.error("set global policy = 'cheap'").contains("ERROR 1231 (42000)"));
    // The server leg has begun as on a link that nothing is known of.
    let chosen = "select server_algorithm, server_reason from connections where to_client_reason is not null";
    assert_eq!(stage.ask(chosen)[1], "uncompressed\tnothing is known of the link");
    end(paced);
    // A link is remembered.
    stage.ask_until(links, |lines| lines.get(1).is_some_and(|line| line.starts_with("127.0.0.1\tclient\t0")));
    end(fixed);
}

#[test]
fn the_policy_of_cost_is_set_with_its_budgets_and_says_why_it_packs() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let zstd = || {
        let mut client = stage.client("mysql");
        client.arg("--compression-algorithms=zstd");
        busy(client, "select repeat('packed', 100000)")
    };
    assert_eq!(
        stage.ask("show variables like 'cost\\_%'")[1..],
        ["cost_cpu_percent\t50", "cost_p99_percent\t25"]
    );
    stage.ask("set global policy = 'cost'");
    stage.ask("set global cost_p99_percent = 1000");
    let settings =
        "select name, value, dynamic from settings where name like 'cost%' or name = 'policy' order by name";
    let expected = ["cost_cpu_percent\t50\tYES", "cost_p99_percent\t1000\tYES", "policy\tcost\tYES"];
    assert_eq!(stage.ask(settings)[1..], expected);
    let decision =
        "select to_client_decision, to_client_reason from connections where to_client_reason is not null";
    stage.ask("set global cost_cpu_percent = 0");
    let stored = zstd();
    stage.ask_until(decision, |lines| {
        lines.get(1).is_some_and(|line| line == "stored\tthe CPU budget is spent, or saves more elsewhere")
    });
    end(stored);
    stage.ask("set global cost_cpu_percent = 200");
    let packed = zstd();
    stage.ask_until("select count(*) from connections where client_to_client_frames_packed > 0", |lines| {
        lines[1] == "1"
    });
    end(packed);
    for statement in ["set global cost_cpu_percent = -1", "set global cost_p99_percent = 'much'"] {
        assert!(stage.error(statement).contains("ERROR 1231 (42000)"), "{statement}");
    }
}

#[test]
fn a_wrong_query_gets_mysqls_kind_of_error() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    for (statement, error) in [
        ("selec 1", "ERROR 1064 (42000)"),
        ("select * from no_such_table", "ERROR 1146 (42S02)"),
        ("select no_such_column from connections", "ERROR 1054 (42S22)"),
        ("kill 999999", "ERROR 1094 (HY000)"),
        ("select from connections", "right syntax to use near 'FROM'"),
        ("kill query 1", "ERROR 1235 (42000)"),
        ("delete from connections", "ERROR 1290 (HY000)"),
        ("insert into faults values ('a', 'b', 'c', 1)", "ERROR 1290 (HY000)"),
        ("drop table totals", "ERROR 1290 (HY000)"),
        ("create table t (a int)", "ERROR 1290 (HY000)"),
        ("use mysql; insert into general_log values ()", "ERROR"),
    ] {
        let told = stage.error(statement);
        assert!(told.contains(error), "{statement}: {told}");
    }
}

#[test]
fn nobody_enters_without_the_credentials() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let live = stage.proxy.live();
    let setup = Setup {
        listen: Some("127.0.0.1:0".parse().unwrap()),
        user: "operator".to_owned(),
        ..Setup::default()
    };
    assert!(matches!(Admin::open(&setup, &live), Err(Fault::NoPassword { .. })));
    let directory = tempfile::tempdir().unwrap();
    let password_file = directory.path().join("password");
    let with_file = Setup { password_file: Some(password_file.clone()), ..setup };
    assert!(matches!(Admin::open(&with_file, &live), Err(Fault::Password { .. })));
    std::fs::write(&password_file, "open sesame\n").unwrap();
    let admin = Admin::open(&with_file, &live).unwrap();
    let Some(proxy::Address::Tcp { host, port }) = admin.sql_address() else { unreachable!() };
    for (user, password, is_right) in [
        ("operator", Some("open sesame"), true),
        ("operator", Some("open simsim"), false),
        ("operator", None, false),
        ("admin", Some("open sesame"), false),
    ] {
        let mut client = stage.server.command("mysql").unwrap();
        client.args(["--batch", "--protocol=tcp", "--execute=select count(*) from connections"]);
        client.args([format!("--host={host}"), format!("--port={port}"), format!("--user={user}")]);
        client.args(password.map(|password| format!("--password={password}")));
        let output = client.output().unwrap();
        assert_eq!(output.status.success(), is_right, "{user} {password:?}: {}", complaint(&output));
        assert_eq!(complaint(&output).contains("ERROR 1045 (28000)"), !is_right, "{}", complaint(&output));
    }
    // A socket's file is its owner's alone.
    use std::os::unix::fs::PermissionsExt;
    let Some(proxy::Address::Unix(path)) = stage.admin.sql_address() else { unreachable!() };
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o077, 0);
}
