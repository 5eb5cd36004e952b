//! The stream of events and the list of connections, as the page asks for them.
//!
//! Not here: the page (`page`), readers that are too slow (`feed/audience.rs`, beside the code).

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use admin::Admin;
use lab::real::{Kind, USER};
use serde_json::Value;

use crate::http::{RIGHT, connect, open, request};
use crate::stage::Stage;

/// An open page's stream.
pub(crate) struct Stream(BufReader<TcpStream>);

impl Stream {
    /// The status, and the stream if it is one.
    pub(crate) fn open(admin: &Admin) -> (u16, Self) {
        let mut stream = connect(admin);
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!("GET /api/events HTTP/1.1\r\nHost: localhost\r\n{RIGHT}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut stream = Self(BufReader::new(stream));
        let status = stream.line().split(' ').nth(1).unwrap().parse().unwrap();
        (status, stream)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// The next event of this name.
    fn event(&mut self, name: &str) -> Value {
        while self.line() != format!("event: {name}") {}
        let line = self.line();
        serde_json::from_str(line.strip_prefix("data: ").unwrap()).unwrap()
    }
}

#[test]
fn a_page_is_told_what_was_and_then_what_is_every_second() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let (admin, _directory) = open(&stage.proxy);
    let mut sleeping = stage.client("mysql");
    sleeping.args(["--compression-algorithms=zstd", "--execute=do sleep(60)"]);
    let mut sleeping = sleeping.spawn().unwrap();
    let (status, mut stream) = Stream::open(&admin);
    assert_eq!(status, 200);
    let hello = stream.event("hello");
    assert_eq!(hello["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(hello["prices"], serde_json::json!([null, null]));

    let first = stream.event("sample");
    assert_eq!(first["state"]["servers"][0]["address"], stage.server.address().to_string());
    assert_eq!(first["state"]["listeners"][0], stage.proxy.address().to_string());
    let mut client = stage.client("mysql");
    client.args(["--compression-algorithms=zstd", "--execute=select repeat('wire', 100000)"]);
    assert!(client.output().unwrap().status.success());
    // What passed is in some second, on all of it and on the listener.
    let listener = format!("listener {}", stage.proxy.address());
    let sample = loop {
        let sample = stream.event("sample");
        assert!(sample["point"]["t"].as_u64() > first["point"]["t"].as_u64());
        if sample["point"]["flows"]["all"][3].as_u64() > Some(100_000) {
            break sample;
        }
    };
    let flows = &sample["point"]["flows"];
    assert_eq!(flows["all"].as_array().unwrap().len(), 12);
    assert_eq!(flows["all"], flows[&listener]);
    let numbers = |at: usize| flows["all"][at].as_u64().unwrap();
    assert!(numbers(4) * 20 < numbers(3), "it was packed: {flows}");
    assert!(flows[format!("server {}", stage.server.address())].is_array(), "{flows}");

    // A page that is opened later begins with that.
    let (_, mut later) = Stream::open(&admin);
    let hello = later.event("hello");
    let history = hello["history"].as_array().unwrap();
    assert!(history.iter().any(|point| point["t"] == sample["point"]["t"]), "{history:?}");
    sleeping.kill().unwrap();
    sleeping.wait().unwrap();
}

#[test]
fn only_so_many_pages_are_open_and_whoever_leaves_makes_room() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let (admin, _directory) = open(&stage.proxy);
    let mut pages = Vec::new();
    loop {
        match Stream::open(&admin) {
            (200, page) => pages.push(page),
            (status, _) => {
                assert_eq!(status, 503);
                break;
            }
        }
    }
    assert_eq!(pages.len(), 16);
    // Others are still answered.
    assert_eq!(request(&admin, "GET /metrics HTTP/1.1", &[RIGHT]).0, 200);
    pages.pop();
    while Stream::open(&admin).0 != 200 {}
    // The port closes, whoever listens.
    drop(admin);
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut pages[0].0, &mut rest).unwrap_or_default();
}

#[test]
fn connections_are_listed_as_asked_and_a_wrong_question_is_told_so() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let (admin, _directory) = open(&stage.proxy);
    let top = |query: &str| {
        let (status, body) = request(&admin, &format!("GET /api/top?{query} HTTP/1.1"), &[RIGHT]);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    assert_eq!(top("")["rows"], Value::Array(Vec::new()));
    let mut client = stage.client("mysql");
    let client = client.args(["--compression-algorithms=zstd", "--execute=do sleep(60)"]);
    let mut client = client.spawn().unwrap();
    let found = loop {
        let found = top(&format!("filter=user%3A{USER}+command%3Aquery&sort=id&order=asc&limit=1"));
        if found["matching"] == 1 {
            break found;
        }
    };
    let row = &found["rows"][0];
    assert_eq!((&row["user"], &row["client_leg"]), (&USER.into(), &"zstd 3".into()), "{row}");
    assert!(row["host"].as_str().unwrap().starts_with("127.0.0.1:"), "{row}");
    assert_eq!(top("filter=nobody")["matching"], 0);
    let (status, told) = request(&admin, "GET /api/top?sort=password HTTP/1.1", &[RIGHT]);
    assert!(status == 400 && told.contains("can't sort by 'password'"), "{status} {told}");
    client.kill().unwrap();
    client.wait().unwrap();
}
