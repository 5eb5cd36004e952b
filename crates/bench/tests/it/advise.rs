//! Advice about a real server: a verdict, what is refused, and what is left behind.

use std::net::SocketAddr;
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
    options_at(server.address(), folder, statements, PASSWORD)
}

fn options_at(address: SocketAddr, folder: &Path, statements: &str, password: &str) -> Options {
    let query_file = folder.join("queries.sql");
    std::fs::write(&query_file, statements).unwrap();
    Options {
        workload: Workload::Trial(TrialOptions {
            server: format!("mysql://{USER}:{password}@{address}/advise").parse().unwrap(),
            ssl_options: vec![SslOption { name: "ssl-mode", value: "disabled".to_owned() }],
            statements: StatementSource::QueryFile(query_file),
            allow_writes: false,
            time: Duration::from_secs(3),
            wirepress: folder.join("no-such-program"),
        }),
        assume_link: Some(Link::parse("20mbit,5ms").unwrap()),
        seed: 1,
        prices: Prices { gb_per_month: Some(1000.0), per_gb: Some(0.1), per_core_hour: Some(0.05) },
        drivers: Vec::new(),
        out: Some(folder.join("out")),
        json: false,
    }
}

fn refusal(options: &Options) -> String {
    format!("{:#}", advise::run(options, &mut Vec::new()).unwrap_err())
}

/// The advice, on one line.
fn advice(options: &Options) -> String {
    let mut told = Vec::new();
    advise::run(options, &mut told).unwrap();
    String::from_utf8(told).unwrap().replace('\n', " ")
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
        ", 1,000 GB a month become ",
        "of 1,000 GB a month  GB on the link      saved",
        "Lines for another driver: --driver NAME, one of connector-j, ",
        "breaks even",
        "20.0 Mbit/s, round trip 5.00 ms, assumed",
        "mysql -h ",
        "wirepress could not be timed before this server (cannot start ",
    ] {
        assert!(told.replace('\n', " ").contains(part), "{part}: {told}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let json: Value = serde_json::from_str(&read("advice.json")).unwrap();
    assert_eq!(json["verdict"], "use");
    // How often the interval holds is beside it.
    assert_eq!(json["interval_holds"], 0.8);
    assert!(json["sentence"].as_str().unwrap().contains(" in about 4 of 5)"), "{told}");
    let change = json["subject"]["change"].as_f64().unwrap();
    // The reply packs to half and better, and the link is all that counts.
    assert!((0.1..0.7).contains(&change), "{change}");
    let candidates = json["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 10);
    // The money is that of the candidate that is named, and each has its own.
    let subject = json["subject"]["candidate"].as_str().unwrap();
    let money = json["money"].as_str().unwrap();
    assert!(money.starts_with(&format!("with {subject}, 1,000 GB a month become ")), "{money}");
    for one in candidates {
        let of = |key: &str| one["month"][key].as_f64();
        assert!((of("saved").unwrap() - (1000.0 - of("crossing_gb").unwrap()) * 0.1).abs() < 1e-6, "{one}");
        let wanted = of("spent").map(|spent| of("saved").unwrap() - spent);
        let is_it = match (of("gained"), wanted) {
            (Some(gained), Some(wanted)) => (gained - wanted).abs() < 1e-6,
            (gained, wanted) => gained == wanted,
        };
        assert!(is_it, "{one}");
    }
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
    let told = refusal(&options_at(server.address(), folder.path(), "select 1", "hush"));
    assert!(told.contains("cannot log in: ERROR 1045") && !told.contains("hush"), "{told}");
}

#[test]
fn a_server_of_small_packets_has_a_link_of_a_rate_that_can_be() {
    let small = lab::real::Options::new().argument("--max-allowed-packet=1M");
    let Some(server) = required_with(Kind::MySql, &small) else { return };
    fill(&server);
    let folder = tempfile::tempdir().unwrap();
    let link = Link::parse("50mbit,2ms").unwrap().open(server.address().into()).unwrap();
    let over_link =
        options_at(link.address(), folder.path(), "select * from t limit 2000; select 1;", PASSWORD);
    let unnamed = Options { assume_link: None, ..over_link.clone() };
    let told = advice(&unnamed);
    let json = std::fs::read_to_string(folder.path().join("out/advice.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    let rate = json["link"]["mbit_per_s"].as_f64().unwrap();
    assert!((40.0..60.0).contains(&rate), "{rate}: {told}");
    // Its address is one of this machine, which is said.
    assert_eq!(json["link"]["is_at_least"], true);
    let note = "the link that of this machine to itself";
    assert!(told.contains(note), "{told}");
    let told = advice(&over_link);
    assert!(!told.contains(note) && told.contains("assumed; to this server it is at least"), "{told}");

    // So small that no reply comes whole: then the link has to be named.
    server.sql("set global max_allowed_packet = 16384").unwrap();
    let told = refusal(&unnamed);
    assert!(told.contains("could not be measured; name the link with --assume-link"), "{told}");
    let told = advice(&over_link);
    assert!(told.contains("round trip 5.00 ms, assumed."), "{told}");
    assert!(told.contains("The rate of the link to this server could not be measured"), "{told}");
}
