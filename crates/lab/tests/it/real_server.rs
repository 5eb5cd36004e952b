//! Private real servers start, answer, and are gone afterwards.
//!
//! Not here: what they say on the wire (crates `wire` and `proxy`).

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required, required_with};

#[test]
fn mysql_starts_answers_and_is_gone_after_drop() {
    let Some(server) = required_with(Kind::MySql, &Options::new()) else { return };
    starts_answers_and_is_gone_after_drop(server);
}

#[test]
fn mariadb_starts_answers_and_is_gone_after_drop() {
    let Some(server) = required_with(Kind::MariaDb, &Options::new()) else { return };
    starts_answers_and_is_gone_after_drop(server);
}

fn starts_answers_and_is_gone_after_drop(server: RealServer) {
    assert_eq!(server.sql("select 1").unwrap(), "1");
    // The statement's answer may say more, such as `-log`.
    assert!(server.sql("select version()").unwrap().starts_with(server.version()), "{}", server.version());
    assert!(server.cpu_time().unwrap() > Duration::ZERO);
    TcpStream::connect(server.address()).unwrap();
    let (pid, socket, address) = (server.pid(), server.socket_path(), server.address());
    let directory = socket.parent().unwrap().to_path_buf();
    drop(server);
    assert!(!process(pid).exists(), "pid {pid} is still there");
    assert!(!directory.exists(), "{} is still there", directory.display());
    TcpStream::connect(address).unwrap_err();
}

#[test]
fn the_account_of_tests_logs_in_over_tcp() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        let output = server
            .command(kind.client_program())
            .unwrap()
            .args(["--protocol=tcp", "--host=127.0.0.1"])
            .arg(format!("--port={}", server.address().port()))
            .arg(format!("--user={USER}"))
            .arg(format!("--password={PASSWORD}"))
            .args(["--batch", "--skip-column-names", "--execute", "select 'it''s  \"quoted\" $HOME'", "test"])
            .output()
            .unwrap();
        let (text, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(text.trim_end(), "it's  \"quoted\" $HOME", "{kind}: {errors}");
    }
}

#[test]
fn a_row_of_64_mib_fits() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        server.sql("create table test.wide (v longblob)").unwrap();
        server.sql("insert into test.wide values (repeat('x', 64 * 1024 * 1024))").unwrap();
        assert_eq!(server.sql("select length(v) from test.wide").unwrap(), "67108864", "{kind}");
        server.sql("drop table test.wide").unwrap();
    }
}

#[test]
fn a_server_that_was_killed_starts_again_with_its_data() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(mut server) = required_with(kind, &Options::new().binary_log(7)) else { return };
        let address = server.address();
        server.sql("create table test.kept (v int); insert into test.kept values (42)").unwrap();
        assert_eq!(server.sql("select @@log_bin, @@server_id").unwrap(), "1\t7", "{kind}");
        server.kill().unwrap();
        TcpStream::connect(address).unwrap_err();
        server.restart().unwrap();
        assert_eq!(server.address(), address);
        assert_eq!(server.sql("select v from test.kept").unwrap(), "42", "{kind}");
    }
}

#[test]
fn a_bad_option_is_told_with_the_servers_own_words() {
    let Some(_) = required(Kind::MariaDb) else { return };
    let fault = RealServer::start(Kind::MariaDb, &Options::new().argument("--no-such-option")).unwrap_err();
    assert!(fault.to_string().contains("unknown option '--no-such-option'"), "{fault}");
}

#[test]
fn a_failing_statement_is_told_with_the_servers_own_words() {
    let Some(server) = required(Kind::MySql) else { return };
    let fault = server.sql("selec 1").unwrap_err();
    assert!(fault.to_string().contains("ERROR 1064 (42000)"), "{fault}");
}

/// The owner is a child of this test: this binary again, asked for [`owner_for_the_test_above`] only.
#[test]
fn a_server_whose_owner_is_killed_is_gone() {
    let Some(_) = required(Kind::MariaDb) else { return };
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "real_server::owner_for_the_test_above", "--nocapture"])
        .env(OWNER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|line| line.starts_with(OWNER)).unwrap();
    let mut words = line.split_whitespace().skip(1);
    let pid: u32 = words.next().unwrap().parse().unwrap();
    let directory = PathBuf::from(words.next().unwrap());
    assert!(process(pid).exists() && directory.exists());
    owner.kill().unwrap();
    owner.wait().unwrap();
    let began = Instant::now();
    while process(pid).exists() || directory.exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "{pid} or {} is left", directory.display());
        std::thread::yield_now();
    }
}

/// Does nothing unless the test above runs it.
#[test]
fn owner_for_the_test_above() {
    if std::env::var_os(OWNER).is_none() {
        return;
    }
    let server = RealServer::shared(Kind::MariaDb).unwrap();
    println!("\n{OWNER} {} {}", server.pid(), server.socket_path().parent().unwrap().display());
    // Until killed.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn process(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

const OWNER: &str = "WIREPRESS_TEST_OWNER";
