//! `--ssl-mode` and its like of `advise --server`, `demo --server` and `bench PLAN --server`, on real servers that want TLS, and on some that
//! have none.
//!
//! Not here: the same towards an admin port (`top`, `admin`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required_with};

fn wirepress(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
    command.current_dir(folder).args(args);
    if std::env::var_os("WIREPRESS_CACHE").is_none() {
        command.env("WIREPRESS_CACHE", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache"));
    }
    command.output().unwrap()
}

/// Its exit code, and what it said on both outputs.
fn told(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// A server that refuses whoever isn't encrypted.
fn strict(kind: Kind, options: Options) -> Option<RealServer> {
    let server = required_with(kind, &options.argument("--require-secure-transport=ON"))?;
    server.sql("create database shop").unwrap();
    Some(server)
}

fn url(server: &RealServer) -> String {
    format!("mysql://{USER}:{PASSWORD}@{}/shop", server.address())
}

/// A query file with replies that are large enough to judge from.
fn queries(folder: &Path) -> String {
    let file = folder.join("queries.sql");
    let sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 900) \
               select i, sha2(i, 512), 'the server sends and the link carries' from n;\n";
    std::fs::write(&file, sql.repeat(3)).unwrap();
    file.display().to_string()
}

/// The certificate authority that MySQL makes for itself.
fn authority(server: &RealServer) -> String {
    PathBuf::from(server.sql("select @@datadir").unwrap().trim()).join("ca.pem").display().to_string()
}

#[test]
fn advise_asks_a_mysql_that_wants_tls_inside_it_and_says_so() {
    let Some(server) = strict(Kind::MySql, Options::new()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (url, file, ca) = (url(&server), queries(folder.path()), authority(&server));
    let advise = |more: &[&str]| {
        let args =
            ["advise", "--server", &url, "--query-file", &file, "--for", "4", "--assume-link", "20mbit,5ms"];
        told(&wirepress(folder.path(), &[&args[..], more].concat()))
    };
    for more in [&[][..], &["--ssl-mode", "required"], &["--ssl-ca", &ca]] {
        let (code, said) = advise(more);
        assert_eq!(code, Some(0), "{more:?}: {said}");
        assert!(said.contains("All connections to the server were encrypted (TLSv1.3)"), "{said}");
        // Through a proxy, too.
        assert!(!said.contains("wirepress could not be timed"), "{said}");
    }
    let (code, said) = advise(&["--ssl-mode", "disabled"]);
    assert!(code == Some(1) && said.contains("insecure transport"), "{said}");
    // MySQL's own certificate names nobody.
    let (code, said) = advise(&["--ssl-mode", "verify_identity", "--ssl-ca", &ca]);
    assert!(code == Some(1) && said.contains("not valid for name"), "{said}");
    let (code, said) = advise(&["--ssl-mode", "verify_ca"]);
    assert!(code == Some(64) && said.contains("need --ssl-ca"), "{said}");
    let (code, said) = advise(&["--ssl-ca", "/no/such.pem"]);
    assert!(code == Some(64) && said.contains("/no/such.pem"), "{said}");
}

#[test]
fn advise_runs_sysbench_for_a_mysql_that_wants_tls() {
    let Some(server) = strict(Kind::MySql, Options::new()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<String> =
        (1..=2000).map(|id| format!("({id}, {id}, sha2({id}, 256), 'padding')")).collect();
    server
        .sql(&format!(
            "use shop; create table sbtest1 (id int primary key, k int, c char(120), pad char(60), key (k)); \
             insert into sbtest1 values {}",
            values.join(",")
        ))
        .unwrap();
    let args = ["advise", "--server", &url(&server), "--sysbench", "oltp_read_only", "--for", "4"];
    // So slow that what the server's cores do besides doesn't count.
    let link = ["--assume-link", "1mbit,5ms"];
    let more = ["--sysbench-option", "table_size=2000", "--sysbench-option", "tables=1"];
    let (code, said) = told(&wirepress(folder.path(), &[&args[..], &link, &more].concat()));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("All connections to the server were encrypted (TLSv1.3)"), "{said}");
}

#[test]
fn advise_and_a_plan_ask_a_mariadb_that_wants_tls_inside_it() {
    let folder = tempfile::tempdir().unwrap();
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let mut options = Options::new();
    for (name, pem) in [("ssl-cert", own.cert.pem()), ("ssl-key", own.signing_key.serialize_pem())] {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        options = options.argument(format!("--{name}={}", path.display()));
    }
    let Some(server) = strict(Kind::MariaDb, options) else { return };
    let (url, file) = (url(&server), queries(folder.path()));
    let args =
        ["advise", "--server", &url, "--query-file", &file, "--for", "4", "--assume-link", "20mbit,5ms"];
    let (code, said) = told(&wirepress(folder.path(), &args));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("All connections to the server were encrypted (TLSv1.3)"), "{said}");
    let plan = ["bench", "rds-wide", "--scale", "smoke", "--link", "unlimited", "--repetitions", "1"];
    let ca = folder.path().join("ssl-cert").display().to_string();
    let more = ["--server", &url, "--ssl-mode", "verify_identity", "--ssl-ca", &ca, "--out", "run"];
    let (code, said) = told(&wirepress(folder.path(), &[&plan[..], &more].concat()));
    assert_eq!(code, Some(0), "{said}");
    let samples = std::fs::read_to_string(folder.path().join("run/samples.jsonl")).unwrap();
    assert!(!samples.contains("reason"), "{samples}");
    assert_eq!(server.sql("show tables from shop").unwrap(), "");
}

#[test]
fn the_demo_speaks_tls_to_a_mysql_that_wants_it() {
    let Some(server) = strict(Kind::MySql, Options::new()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (url, ca) = (url(&server), authority(&server));
    let demo = |more: &[&str]| {
        let args = ["demo", "--server", &url, "--rows", "2000", "--wide-rows", "20", "--link", "unlimited"];
        told(&wirepress(folder.path(), &[&args[..], more].concat()))
    };
    let (code, said) = demo(&["--ssl-ca", &ca]);
    assert!(code == Some(0) && said.contains("direct connections, are inside TLS"), "{said}");
    assert_eq!(said.matches("\n  zstd 10 ").count(), 2, "{said}");
    let (code, said) = demo(&[]);
    assert!(code == Some(1) && said.contains("--ssl-mode required"), "{said}");
    assert_eq!(server.sql("show tables from shop").unwrap(), "");
    let (code, said) = told(&wirepress(folder.path(), &["demo", "--ssl-ca", &ca]));
    assert!(code == Some(64) && said.contains("--ssl-ca says how a server is spoken to"), "{said}");
}

#[test]
fn a_plan_measures_all_cells_inside_tls_on_a_mysql_that_wants_it_or_says_that_it_cannot() {
    let Some(server) = strict(Kind::MySql, Options::new()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (url, ca) = (url(&server), authority(&server));
    let bench = |plan: &str, more: &[&str]| {
        let args = [
            "bench",
            plan,
            "--scale",
            "smoke",
            "--link",
            "unlimited",
            "--repetitions",
            "1",
            "--server",
            &url,
        ];
        told(&wirepress(folder.path(), &[&args[..], more].concat()))
    };
    let (code, said) = bench("rds-wide", &["--ssl-ca", &ca, "--out", "run"]);
    assert_eq!(code, Some(0), "{said}");
    let samples = std::fs::read_to_string(folder.path().join("run/samples.jsonl")).unwrap();
    assert!(samples.contains("All connections that cross the network, and those of proxies"), "{samples}");
    assert!(samples.contains("\"path\":\"wirepress\"") && !samples.contains("reason"), "{samples}");
    // As the client of MySQL would, it logs in inside TLS; but the cells are not.
    let (code, said) = bench("rds-wide", &["--out", "plain"]);
    assert!(code == Some(1) && said.contains("--ssl-mode required measures all of them"), "{said}");
    let (code, said) = bench("oltp-matrix", &["--ssl-mode", "required", "--out", "sysbench"]);
    assert!(code == Some(1) && said.contains("cannot be measured inside TLS"), "{said}");
    assert_eq!(server.sql("show tables from shop").unwrap(), "");
}

#[test]
fn a_server_without_tls_is_asked_without_it_unless_it_is_required() {
    let Some(server) = required_with(Kind::MySql, &Options::new().argument("--tls-version=")) else { return };
    server.sql("create database shop").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (url, file) = (url(&server), queries(folder.path()));
    let args =
        ["advise", "--server", &url, "--query-file", &file, "--for", "4", "--assume-link", "20mbit,5ms"];
    let (code, said) = told(&wirepress(folder.path(), &args));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("The connections to the server were not encrypted."), "{said}");
    let (code, said) = told(&wirepress(folder.path(), &[&args[..], &["--ssl-mode", "REQUIRED"]].concat()));
    assert!(code == Some(1) && said.contains("offers no TLS"), "{said}");
}

#[test]
fn options_of_tls_are_refused_where_nobody_is_asked_by_them() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["advise", "--pcap", "f.pcap", "--ssl-mode", "required"][..],
        &["advise", "--server", "127.0.0.1:1", "--tap", "127.0.0.1:0", "--ssl-ca", "ca.pem"],
        &["bench", "rds-scan", "--ssl-mode", "required"],
        &["advise", "--server", "mysql://me@h/d", "--query-file", "q.sql", "--ssl-cert", "cert.pem"],
    ] {
        let (code, said) = told(&wirepress(folder.path(), args));
        assert!(code == Some(64) && said.contains("--ssl-"), "{args:?}: {said}");
    }
}
