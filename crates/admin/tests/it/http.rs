//! The HTTP port by plain sockets: who may ask, and that what is told is what happened.
//!
//! Not here: names of metrics (beside the code).

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use admin::{Admin, Setup};
use lab::real::Kind;
use lab::wait::wait_until;
use proxy::{Address, Proxy};

use crate::stage::Stage;

/// An admin port over HTTP, with an account.
pub(crate) fn open(proxy: &Proxy) -> (Admin, tempfile::TempDir) {
    open_at("127.0.0.1:0", proxy)
}

pub(crate) fn open_at(listen: &str, proxy: &Proxy) -> (Admin, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let password_file = directory.path().join("password");
    std::fs::write(&password_file, "open sesame\n").unwrap();
    let setup = Setup {
        http_listen: Some(listen.parse().unwrap()),
        user: "operator".to_owned(),
        password_file: Some(password_file),
        ..Setup::default()
    };
    (Admin::open(&setup, &proxy.live()).unwrap(), directory)
}

pub(crate) fn connect(admin: &Admin) -> TcpStream {
    let Some(Address::Tcp { host, port }) = admin.http_address() else { unreachable!() };
    TcpStream::connect((host.as_str(), *port)).unwrap()
}

/// Status and body.
pub(crate) fn request(admin: &Admin, line: &str, headers: &[&str]) -> (u16, String) {
    request_to(admin, &admin.http_address().unwrap().to_string(), line, headers)
}

fn request_to(admin: &Admin, name: &str, line: &str, headers: &[&str]) -> (u16, String) {
    let mut stream = connect(admin);
    let head = [&[line, &format!("Host: {name}"), "Connection: close"], headers].concat().join("\r\n");
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// `operator:open sesame`
pub(crate) const RIGHT: &str = "Authorization: Basic b3BlcmF0b3I6b3BlbiBzZXNhbWU=";
const PATHS: [&str; 7] =
    ["/metrics", "/api/connections", "/api/settings", "/", "/page/main.js", "/api/events", "/api/top"];

#[test]
fn only_health_is_told_without_the_credentials() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let (admin, _directory) = open(&stage.proxy);
    assert_eq!(request(&admin, "GET /healthz HTTP/1.1", &[]), (200, "ok\n".to_owned()));
    assert_eq!(request(&admin, "GET /readyz HTTP/1.1", &[]), (200, "ready\n".to_owned()));
    for path in PATHS {
        let line = format!("GET {path} HTTP/1.1");
        // A stream of events has no end; its head is the same.
        let head = line.replace("GET /api/events", "HEAD /api/events");
        assert_eq!(request(&admin, &head, &[RIGHT]).0, 200, "{path}");
        for wrong in [
            &[][..],
            &["Authorization: Basic b3BlcmF0b3I6b3BlbiBzaW1zaW0="],
            &["Authorization: Bearer b3BlcmF0b3I6b3BlbiBzZXNhbWU="],
            &["Authorization: Basic !"],
        ] {
            let (status, body) = request(&admin, &line, wrong);
            assert!(status == 401 && !body.contains("wirepress_"), "{path} {wrong:?}: {status} {body}");
        }
        assert_eq!(request(&admin, &format!("POST {path} HTTP/1.1"), &[RIGHT]).0, 405, "{path}");
    }
    assert_eq!(request(&admin, "GET /api/no_such HTTP/1.1", &[RIGHT]).0, 404);
    // A proxy that has stopped takes no sessions.
    let Stage { proxy, .. } = stage;
    proxy.stop();
    assert_eq!(request(&admin, "GET /readyz HTTP/1.1", &[]).0, 503);
    assert_eq!(request(&admin, "GET /metrics HTTP/1.1", &[RIGHT]).0, 200);
}

#[test]
fn pages_of_other_origins_are_refused() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let (admin, _directory) = open(&stage.proxy);
    let own = format!("Origin: http://{}", admin.http_address().unwrap());
    for path in PATHS {
        let line = format!("GET {path} HTTP/1.1");
        let head = line.replace("GET /api/events", "HEAD /api/events");
        assert_eq!(request(&admin, &head, &[RIGHT, &own, "Sec-Fetch-Site: same-origin"]).0, 200, "{path}");
        for foreign in ["Origin: http://elsewhere.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
            assert_eq!(request(&admin, &line, &[RIGHT, foreign]).0, 403, "{path} {foreign}");
        }
    }
    // The page may be linked to; what it shows it asks for itself.
    let link = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", RIGHT];
    assert_eq!(request(&admin, "GET / HTTP/1.1", &link).0, 200);
    assert_eq!(request(&admin, "GET /api/top HTTP/1.1", &link).0, 403);
    // A name that was made to point at the loopback.
    let (status, told) = request_to(&admin, "rebound.example:80", "GET / HTTP/1.1", &[RIGHT]);
    assert!(status == 421 && told.contains("localhost"), "{status} {told}");
    assert_eq!(request_to(&admin, "localhost:80", "GET / HTTP/1.1", &[RIGHT]).0, 200);
}

#[test]
fn every_answer_tells_browsers_to_keep_nothing_and_run_nothing_inline() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let (admin, _directory) = open(&stage.proxy);
    for path in PATHS.into_iter().chain(["/healthz", "/no-such"]) {
        let mut stream = connect(&admin);
        let head = format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{RIGHT}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        for header in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "x-frame-options: DENY",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
        ] {
            assert!(answer.contains(header), "{path}: no {header}: {answer}");
        }
        assert!(answer.contains("frame-ancestors 'none'") && !answer.contains("unsafe-"), "{answer}");
    }
}

/// Series by name and labels; each line must be as Prometheus wants it.
fn scraped(page: &str) -> BTreeMap<String, f64> {
    let mut series = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let bare = name.split('{').next().unwrap();
        assert!(page.contains(&format!("# TYPE {bare} ")), "{line}");
        assert!(series.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} comes twice");
    }
    series
}

#[test]
fn metrics_count_what_passed_and_name_nobody() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let (admin, _directory) = open(&stage.proxy);
    let mut client = stage.client("mysql");
    client.args(["--compression-algorithms=zlib", "--execute=select repeat('wire', 100000)"]);
    assert!(client.output().unwrap().status.success());
    // Its end is counted when the session has ended.
    wait_until("the session ended", || stage.proxy.counters().sessions_open() == 0);
    let (_, page) = request(&admin, "GET /metrics HTTP/1.1", &[RIGHT]);
    let series = scraped(&page);
    let listener = stage.proxy.address();
    let of = |name: &str, side: &str, direction: &str, algorithm: &str| {
        let labels = format!("side=\"{side}\",direction=\"{direction}\",algorithm=\"{algorithm}\"");
        series[&format!("wirepress_{name}{{{labels},listener=\"{listener}\"}}")]
    };
    let plain = of("plain_bytes_total", "client", "to_client", "zlib");
    assert!(plain > 400_000.0 && of("packed_bytes_total", "client", "to_client", "zlib") < 10_000.0);
    assert_eq!(plain, of("plain_bytes_total", "server", "to_client", "zstd"));
    assert!(of("codec_seconds_total", "client", "to_client", "zlib") > 0.0);
    assert!(of("frames_packed_total", "server", "to_client", "zstd") > 0.0);
    assert_eq!(series[&format!("wirepress_sessions_total{{listener=\"{listener}\"}}")], 1.0);
    assert_eq!(series[&format!("wirepress_connections{{listener=\"{listener}\"}}")], 0.0);
    assert!(!page.contains(lab::real::USER), "a user is named");

    let mut client = stage.client("mysql");
    let sleeping = client.arg("--execute=select sleep(60)").stdout(std::process::Stdio::null()).spawn();
    let mut sleeping = sleeping.unwrap();
    let connections = || {
        let (_, body) = request(&admin, "GET /api/connections HTTP/1.1", &[RIGHT]);
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    wait_until("the statement runs", || connections()[0]["command"] == "Query");
    let connection = &connections()[0];
    assert_eq!(connection["user"], lab::real::USER);
    assert_eq!(connection["server_algorithm"], "zstd");
    assert!(connection["info"].is_null() && connection["connection_id"].as_u64() > Some(0));
    sleeping.kill().unwrap();
    sleeping.wait().unwrap();
}
