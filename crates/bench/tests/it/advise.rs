//! Advice about a real server: a verdict, what is refused, and what is left behind.

use std::path::Path;
use std::time::Duration;

use bench::advise::{self, Options, Prices, SslOption, StatementSource, TrialOptions, Workload};
use bench::client::{Account, Client, Compression, Stop};
use lab::link::Link;
use lab::real::{Kind, PASSWORD, RealServer, USER, required, required_with};
use serde_json::Value;

/// Prose of some megabytes, in a schema of its own.
fn fill(server: &RealServer) {
    let words = "concat(sha2(i, 256), ' the server sends and the link carries ', sha2(i * 7, 256), ' what the app has asked for ')";
    server
        .sql(&format!(
            "create database advise; set session cte_max_recursion_depth = 100000; \
             create table advise.t (i int primary key, body text); \
             insert into advise.t with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) \
             select i, {words} from n"
        ))
        .unwrap();
}

fn options(server: &RealServer, folder: &Path, statements: &str) -> Options {
    with_password(server, folder, statements, PASSWORD)
}

fn with_password(server: &RealServer, folder: &Path, statements: &str, password: &str) -> Options {
    let query_file = folder.join("queries.sql");
    std::fs::write(&query_file, statements).unwrap();
    Options {
        workload: Workload::Trial(TrialOptions {
            server: format!("mysql://{USER}:{password}@{}/advise", server.address()).parse().unwrap(),
            ssl_options: vec![SslOption { name: "ssl-mode", value: "disabled".to_owned() }],
            statements: StatementSource::QueryFile(query_file),
            allow_writes: false,
            time: Duration::from_secs(3),
            wirepress: folder.join("no-such-program"),
        }),
        assume_link: Some(Link::parse("20mbit,5ms").unwrap()),
        seed: 1,
        prices: Prices { gb_per_month: Some(1000.0), per_gb: Some(0.1), per_core_hour: Some(0.05) },
        out: Some(folder.join("out")),
        json: false,
    }
}

fn refusal(options: &Options) -> String {
    format!("{:#}", advise::run(options, &mut Vec::new()).unwrap_err())
}

#[test]
fn a_slow_link_is_worth_packing_and_nothing_is_left_on_the_server() {
    let Some(server) = required_with(Kind::MySql, &lab::real::Options::new()) else { return };
    fill(&server);
    let folder = tempfile::tempdir().unwrap();
    let mut told = Vec::new();
    let statements = "-- prose\nselect * from t;\nselect * from t limit 10;\n";
    advise::run(&options(&server, folder.path(), statements), &mut told).unwrap();
    let told = String::from_utf8(told).unwrap();
    assert!(told.starts_with("Use z"), "{told}");
    for part in [
        "How sure: ",
        "Money: 1,000 GB a month",
        "breaks even",
        "20.0 Mbit/s, round trip 5.00 ms, assumed",
        "mysql -h ",
        "wirepress could not be timed before this server (cannot start ",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let json: Value = serde_json::from_str(&read("advice.json")).unwrap();
    assert_eq!(json["verdict"], "use");
    let change = json["subject"]["change"].as_f64().unwrap();
    // The reply packs to half and better, and the link is all that counts.
    assert!((0.1..0.7).contains(&change), "{change}");
    assert_eq!(json["candidates"].as_array().unwrap().len(), 10);
    let html = read("advice.html");
    assert!(html.contains("<polyline") && html.contains("this link"), "{html}");
    for text in [told.as_str(), html.as_str(), &json.to_string()] {
        // The account's name is the same word.
        assert!(!text.contains(&format!(":{PASSWORD}@")) && !text.contains("the link carries"));
    }
    assert_eq!(server.sql("show tables from advise").unwrap(), "t");
}

#[test]
fn what_writes_is_refused_by_its_text_or_by_the_session() {
    let Some(server) = required_with(Kind::MySql, &lab::real::Options::new()) else { return };
    server.sql("create database advise; create table advise.t (i int)").unwrap();
    let account = Account {
        user: USER.to_owned(),
        password: PASSWORD.to_owned().into(),
        database: "advise".to_owned(),
        tls: None,
    };
    let mut client =
        Client::connect(&server.address().into(), &account, Compression::NONE, &Stop::new()).unwrap();
    client
        .query(
            "create function sneaky() returns int modifies sql data \
             begin insert into t values (1); return 1; end",
        )
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let told = refusal(&options(&server, folder.path(), "select 1;\ndelete from t;"));
    assert!(told.contains("line 2 of the query file may write") && told.contains("--allow-writes"), "{told}");
    let told = refusal(&options(&server, folder.path(), "select sneaky()"));
    assert!(told.contains("READ ONLY transaction"), "{told}");
    assert_eq!(server.sql("select count(*) from advise.t").unwrap(), "0");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn too_little_a_bad_statement_and_a_bad_login_are_told_as_such() {
    let Some(server) = required(Kind::MySql) else { return };
    server.sql("create database if not exists advise").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let told = refusal(&options(server, folder.path(), "select 1"));
    assert!(told.contains("no verdict") && told.contains("bytes, at least 65536 are wanted"), "{told}");
    let told = refusal(&options(server, folder.path(), "select 1;\n\nselect nope"));
    assert!(told.contains("line 3 of the query file failed: select nope: ERROR 1054"), "{told}");
    let told = refusal(&with_password(server, folder.path(), "select 1", "hush"));
    assert!(told.contains("cannot log in: ERROR 1045") && !told.contains("hush"), "{told}");
}
