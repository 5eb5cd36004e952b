//! A real Prometheus that scrapes a real proxy: its metrics, the alert rules and the dashboard's queries.
//!
//! Not here: names of metrics against the documentation's (beside the code).

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lab::real::Kind;
use lab::wait::wait_until;
use proxy::Address;
use serde_json::Value;

use crate::http::{RIGHT, open, request};
use crate::stage::Stage;

/// Ended when dropped.
struct Prometheus {
    child: Child,
    address: String,
}

impl Prometheus {
    /// Starts one that listens where the system chooses, and waits until it says where.
    fn start(program: &Path, directory: &Path) -> Self {
        let path = |name: &str| directory.join(name).display().to_string();
        let mut child = Command::new(program)
            .args(["--config.file", &path("prometheus.yml"), "--storage.tsdb.path", &path("data")])
            .args(["--web.listen-address", "127.0.0.1:0"])
            .current_dir(directory)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let address = loop {
            let Some(line) = lines.next() else { panic!("Prometheus ended: {said}") };
            let line = line.unwrap();
            let address =
                line.split_once("msg=\"Listening on\" address=").map(|(_, address)| address.to_owned());
            if let Some(address) = address {
                break address;
            }
            said.push_str(&(line + "\n"));
        };
        // It goes on writing.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// The `data` of an answer of its API.
    fn ask(&self, path: &str) -> Result<Value, String> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut body: Value = serde_json::from_str(body).map_err(|_| body.to_owned())?;
        if body["status"] == "success" { Ok(body["data"].take()) } else { Err(body.to_string()) }
    }

    /// What an expression has as its result now.
    fn query(&self, expression: &str) -> Result<Vec<Value>, String> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let mut data = self.ask(&format!("/api/v1/query?query={encoded}"))?;
        Ok(serde_json::from_value(data["result"].take()).unwrap())
    }

    /// Asks until the answer is as wanted.
    fn query_until(&self, expression: &str, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let found = self.query(expression).unwrap_or_default();
            if wanted(&found) {
                return found;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{expression}: {found:?}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(file).canonicalize().unwrap()
}

/// Every expression of the dashboard, its variables replaced.
fn dashboard_expressions() -> Vec<String> {
    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| match value {
                Value::String(text) if name == "expr" => found.push(text.clone()),
                other => collect(other, found),
            }),
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
    let text = std::fs::read_to_string(packaging("grafana/wirepress.json")).unwrap();
    let mut found = Vec::new();
    collect(&serde_json::from_str(&text).unwrap(), &mut found);
    found.iter().map(|it| it.replace("$instance", ".*").replace("$__rate_interval", "1m")).collect()
}

/// The names in the table of the documentation.
fn documented() -> BTreeSet<String> {
    let page = include_str!("../../../../docs/operating.md");
    let section = page.split("\n## Metrics\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let names = section.lines().filter_map(|line| line.strip_prefix("| `wirepress_")?.split('`').next());
    names.map(|name| format!("wirepress_{name}")).collect()
}

fn value(sample: &Value) -> f64 {
    sample["value"][1].as_str().unwrap().parse().unwrap()
}

/// Scrapes with the account and without; says where the rules are.
fn configure(directory: &Path, target: &Address) -> PathBuf {
    let Address::Tcp { host, port } = target else { unreachable!() };
    let rules = packaging("prometheus/alerts.yml");
    let config = format!(
        "global: {{ scrape_interval: 250ms, evaluation_interval: 250ms }}\n\
         rule_files: ['{}']\n\
         scrape_configs:\n\
         - job_name: wirepress\n\
         \x20 basic_auth: {{ username: operator, password_file: {}/scrape-password }}\n\
         \x20 static_configs: [{{ targets: ['{host}:{port}'] }}]\n\
         - job_name: uninvited\n\
         \x20 static_configs: [{{ targets: ['{host}:{port}'] }}]\n",
        rules.display(),
        directory.display()
    );
    std::fs::write(directory.join("prometheus.yml"), config).unwrap();
    // Prometheus takes the whole file for the password.
    std::fs::write(directory.join("scrape-password"), "open sesame").unwrap();
    rules
}

fn promtool(program: &Path, arguments: &[&str], input: &str) {
    let pipe = Stdio::piped;
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "promtool {arguments:?}: {}", String::from_utf8_lossy(&said));
}

/// Sessions that end in order, and one that doesn't.
fn traffic(stage: &Stage) {
    for algorithm in ["zlib", "zstd", "uncompressed"] {
        let mut client = stage.client("mysql");
        client.arg(format!("--compression-algorithms={algorithm}"));
        assert!(client.arg("--execute=select repeat('wire', 100000)").output().unwrap().status.success());
    }
    let Address::Tcp { host, port } = stage.proxy.address() else { unreachable!() };
    let mut stranger = TcpStream::connect((host.as_str(), *port)).unwrap();
    stranger.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    stranger.read_to_end(&mut Vec::new()).unwrap();
    wait_until("the stranger's session ended", || stage.proxy.counters().sessions_open() == 0);
}

/// Waits until each rule was evaluated, and the one that must fires; how many there are.
fn rules_are_evaluated(prometheus: &Prometheus) -> usize {
    let begun = Instant::now();
    loop {
        let rules = prometheus.ask("/api/v1/rules").unwrap();
        let rules: Vec<Value> = serde_json::from_value(rules["groups"][0]["rules"].clone()).unwrap();
        let are_healthy = rules.iter().all(|rule| rule["health"] == "ok");
        let restarted = rules.iter().find(|rule| rule["name"] == "WirepressRestarted").unwrap();
        if are_healthy && restarted["state"] == "firing" {
            return rules.len();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{rules:?}");
        std::thread::yield_now();
    }
}

#[test]
fn a_real_prometheus_scrapes_all_of_it_and_its_rules_and_panels_evaluate() {
    let Some(programs) = lab::real::required_programs() else { return };
    let (Ok(program), Ok(tool)) = (programs.program("prometheus"), programs.program("promtool")) else {
        return lab::real::skip("want of Prometheus (scripts/fetch-servers --monitoring)");
    };
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let (admin, directory) = open(&stage.proxy);
    let directory = directory.path();
    let rules = configure(directory, admin.http_address().unwrap());
    promtool(&tool, &["check", "rules", rules.to_str().unwrap()], "");
    promtool(&tool, &["check", "config", directory.join("prometheus.yml").to_str().unwrap()], "");
    promtool(&tool, &["check", "metrics"], &request(&admin, "GET /metrics HTTP/1.1", &[RIGHT]).1);

    let prometheus = Prometheus::start(&program, directory);
    prometheus.query_until("up{job='wirepress'}", |found| found.len() == 1 && value(&found[0]) == 1.0);
    prometheus.query_until("up{job='uninvited'}", |found| found.len() == 1 && value(&found[0]) == 0.0);
    traffic(&stage);
    let sum = stage.proxy.live().sums().values().map(|sum| sum.traffic[1].plain_len).sum::<u64>() as f64;
    assert!(sum > 1_200_000.0);
    let plain = "sum(wirepress_plain_bytes_total{side='client',direction='to_client'})";
    prometheus.query_until(plain, |found| found.iter().any(|it| (value(it) - sum).abs() < 0.5));
    let known = |found: &[Value]| -> BTreeSet<String> {
        found.iter().map(|it| it["metric"]["__name__"].as_str().unwrap().to_owned()).collect()
    };
    // A kind of fault has its first sample a scrape later.
    let all = "count by (__name__) ({__name__=~'wirepress_.+'})";
    let names = known(&prometheus.query_until(all, |found| known(found) == documented()));
    let expressions = dashboard_expressions();
    assert!(expressions.len() >= 10, "{expressions:?}");
    for expression in &expressions {
        prometheus.query(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
        // A rate wants two samples.
        prometheus.query_until(expression, |found| !found.is_empty());
    }
    let rules = rules_are_evaluated(&prometheus);
    assert_eq!(rules, 5);
    println!("up 1; {} metrics; {} panel queries; {rules} rules", names.len(), expressions.len());
}
