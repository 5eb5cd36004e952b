//! Pictures of the web page with real traffic: a MySQL, a proxy, sysbench and mysql clients over emulated links, Chromium.
//!
//! ```text
//! mysql, zstd, 20 Mbit/s ──┐
//! sysbench, zlib, 50 Mbit/s┼─▶ proxy ─▶ MySQL
//! mysql, plain ────────────┘
//! ```
//! `scripts/screenshot-admin` runs it. Not here: testing the page (`tests/it/page`).

#![allow(clippy::unwrap_used, reason = "an example that cannot go on should stop")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use admin::{Admin, Prices, Setup};
use lab::browser::Browser;
use lab::link::{Address, Link, RunningLink};
use lab::real::{Kind, Options, RealServer};
use proxy::{ListenerConfig, Policy, Proxy, SslMode};

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let out = PathBuf::from(arguments.next().unwrap_or_else(|| "docs/images".into()));
    let seconds = arguments.next().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(150);
    let format = arguments.next().and_then(|text| text.into_string().ok()).unwrap_or_else(|| "webp".into());
    let Some(chromium) = Browser::find() else {
        eprintln!("screenshots: there is no chromium on the path; install it, or set WIREPRESS_CHROMIUM");
        std::process::exit(1);
    };
    std::fs::create_dir_all(&out).unwrap();
    let server = RealServer::start(Kind::MySql, &Options::default()).unwrap();
    server.sql(&accounts()).unwrap();
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), server.address().into());
    config.server_tls.mode = Some(SslMode::Disabled);
    config.policy = Policy::Latency;
    let proxy = Proxy::start(config).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let password_file = folder.path().join("password");
    std::fs::write(&password_file, "pictures\n").unwrap();
    let setup = Setup {
        http_listen: Some("127.0.0.1:0".parse().unwrap()),
        user: "admin".to_owned(),
        password_file: Some(password_file),
        prices: Prices { per_gb: Some(0.02), per_core_hour: Some(0.04) },
        ..Setup::default()
    };
    let admin = Admin::open(&setup, &proxy.live()).unwrap();

    let mut browser = Browser::start(chromium, 1400, 1000).unwrap();
    browser.open(&format!("http://admin:pictures@{}/", admin.http_address().unwrap())).unwrap();
    let traffic = Traffic::begin(&server, proxy.address(), seconds + 60);
    std::thread::sleep(Duration::from_secs(seconds));
    for (name, scheme, width, height) in [
        ("admin-light", "light", 1400, 1290),
        ("admin-dark", "dark", 1400, 1290),
        ("admin-narrow", "light", 375, 2300),
    ] {
        browser.prefer("prefers-color-scheme", scheme).unwrap();
        browser.resize(width, height).unwrap();
        browser.wait_until("document.querySelectorAll('#table tbody th').length > 4").unwrap();
        browser.evaluate("new Promise((done) => setTimeout(done, 1500))").unwrap();
        let picture = browser.screenshot(&format, width, height).unwrap();
        std::fs::write(out.join(format!("{name}.{format}")), picture).unwrap();
    }
    for complaint in &browser.complaints {
        eprintln!("the page complained: {complaint}");
    }
    drop(traffic);
}

/// What is killed at the end.
struct Traffic {
    children: Vec<Child>,
    _links: Vec<RunningLink>,
}

impl Traffic {
    fn begin(server: &RealServer, proxy: &proxy::Address, seconds: u64) -> Self {
        let proxy::Address::Tcp { host, port } = proxy else { unreachable!() };
        let link = |text: &str| {
            let proxy: std::net::SocketAddr = format!("{host}:{port}").parse().unwrap();
            Link::parse(text).unwrap().open(Address::from(proxy)).unwrap()
        };
        let (slow, fast) = (link("20mbit,10ms"), link("50mbit,2ms"));
        let mut children = Vec::new();
        let sysbench = |port: u16, word: &str, more: &[&str]| {
            let mut command = server.command("sysbench").unwrap();
            command.arg("oltp_read_only").args(["--mysql-host=127.0.0.1", "--mysql-user=shop"]);
            command.args(["--mysql-password=shop", "--mysql-db=shop", "--mysql-ssl=off", "--tables=2"]);
            command.args(["--table-size=20000", &format!("--mysql-port={port}")]).args(more).arg(word);
            command.stdout(Stdio::null());
            command
        };
        assert!(sysbench(server.address().port(), "prepare", &[]).status().unwrap().success());
        let time = format!("--time={seconds}");
        let run = ["--mysql-compression=on", "--threads=6", "--rate=25", &time];
        children.push(sysbench(fast.address().port(), "run", &run).spawn().unwrap());
        for (user, port, algorithm, pause, statement) in [
            ("reports", slow.address().port(), "zstd", 0.2, CATALOGUE),
            ("reports", slow.address().port(), "zstd", 0.7, CATALOGUE),
            ("analytics", slow.address().port(), "zstd", 0.4, DIGITS),
            ("backup", fast.address().port(), "zlib", 1.5, DIGITS),
            ("etl", *port, "uncompressed", 1.0, CATALOGUE),
            ("monitor", *port, "uncompressed", 5.0, "show global status"),
        ] {
            let mut client = client(server, user, port, algorithm);
            let mut child = client.stdin(Stdio::piped()).spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            std::thread::spawn(move || while writeln!(input, "{statement}; do sleep({pause});").is_ok() {});
            children.push(child);
        }
        Self { children, _links: vec![slow, fast] }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        for child in &mut self.children {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn client(server: &RealServer, user: &str, port: u16, algorithm: &str) -> Command {
    let mut command = server.command("mysql").unwrap();
    command.args(["--batch", "--protocol=tcp", "--host=127.0.0.1", &format!("--port={port}")]);
    command.args([format!("--user={user}"), format!("--password={user}"), "--get-server-public-key".into()]);
    command.args(["--ssl-mode=disabled", "shop", &format!("--compression-algorithms={algorithm}")]);
    // Clients beside the proxy, of another host as it seems.
    command.args((algorithm == "uncompressed").then_some("--bind-address=127.0.0.7"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn accounts() -> String {
    let mut sql = String::from("create database shop;");
    for user in ["shop", "reports", "analytics", "backup", "etl", "monitor"] {
        write!(sql, "create user {user} identified by '{user}'; grant all on *.* to {user};").unwrap();
    }
    sql
}

/// Text that repeats itself, about a megabyte.
const CATALOGUE: &str = "select * from information_schema.columns";
/// sysbench's digits, which pack to a half.
const DIGITS: &str = "select * from shop.sbtest1 limit 8000";
