//! The commands of `docs/transfer.md`, as they stand there, between two real MariaDB servers: a backup to another host and
//! into a file, and a replica that is filled by a dump and follows.
//!
//! Only hosts, ports and directories are put in; `mariadb`, `mariadb-dump` and `mariadb-backup` are wrapped so that they
//! find the private servers.
//!
//! Not here: Galera (`sst`), what goes wrong (`send`, `pack`).

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use lab::real::{Kind, Options, RealServer, required_programs, required_with, skip};

/// A folder in which the lines run, and the servers at both ends.
struct Lab {
    folder: tempfile::TempDir,
    source: RealServer,
    replica: RealServer,
}

impl Lab {
    /// `None` where something is missing that may be.
    fn new() -> Option<Self> {
        let programs = required_programs()?;
        if programs.program("mariadb-backup").is_err() {
            skip("want of mariadb-backup (scripts/fetch-servers --sst)");
            return None;
        }
        if Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_err() {
            skip("want of openssl");
            return None;
        }
        let source = required_with(Kind::MariaDb, &Options::new().binary_log(1))?;
        let replica = required_with(Kind::MariaDb, &Options::new().binary_log(2))?;
        let rows = "create database shop; create table shop.orders (id int primary key, text varchar(200));
            insert into shop.orders select seq, concat(md5(seq), repeat('ordered ', 15)) from shop.seq_1_to_20000;
            create user repl identified by 'secret'; grant replication slave on *.* to repl";
        source.sql(rows).unwrap();
        let lab = Self { folder: tempfile::tempdir().unwrap(), source, replica };
        std::fs::create_dir(lab.path("bin")).unwrap();
        let at = |server: &RealServer| format!("--user=root --socket={}", server.socket_path().display());
        let data = lab.source.sql("select @@datadir").unwrap();
        let backup = format!("--no-defaults {} --datadir={data}", at(&lab.source));
        for (name, options) in [
            ("mariadb", at(&lab.replica)),
            ("mariadb-dump", at(&lab.source)),
            ("mariadb-backup", backup),
            ("mbstream", String::new()),
        ] {
            let program = programs.program(name).unwrap().canonicalize().unwrap();
            lab.wrap(name, &format!("'{}' {options}", program.display()));
        }
        lab.wrap("wirepress", env!("CARGO_BIN_EXE_wirepress"));
        Some(lab)
    }

    fn wrap(&self, name: &str, command: &str) {
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\nexec {command} \"$@\"\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bash(&self, line: &str) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut bash = Command::new("bash");
        bash.args(["-c", line]).current_dir(self.folder.path());
        bash.env("PATH", format!("{}:{path}", self.path("bin").display()));
        bash
    }

    /// Runs a block of the page, line by line; `known` are words and what stands for them here.
    fn run(&self, block: &str, known: &[(&str, &str)]) {
        let mut receiver: Option<Receiver> = None;
        for line in block.lines().filter(|line| !line.starts_with('#')) {
            let mut line = line.replace("0.0.0.0:4444", "127.0.0.1:0");
            for (word, here) in known {
                line = line.replace(word, here);
            }
            if line.starts_with("wirepress receive") {
                receiver = Some(Receiver::start(self.bash(&line)));
                continue;
            }
            if let Some(receiver) = &receiver {
                line =
                    line.replace("there:4444", &receiver.address).replace("replica:4444", &receiver.address);
            }
            let done = self.bash(&line).output().unwrap();
            assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
            if line.starts_with("wirepress send") {
                receiver.take().unwrap().await_success();
            }
        }
    }

    /// What `mariadb-backup` left in a folder is a server's data with our rows.
    fn assert_is_a_copy(&self, folder: &str) {
        let datadir = format!("--datadir={}", self.path(folder).display());
        let copy = RealServer::start(Kind::MariaDb, &Options::new().argument(datadir)).unwrap();
        assert_eq!(copy.sql(CHECKSUM).unwrap(), self.source.sql(CHECKSUM).unwrap());
    }
}

/// A receiver that listens.
struct Receiver {
    child: Child,
    words: BufReader<std::process::ChildStderr>,
    address: String,
}

impl Receiver {
    fn start(mut line: Command) -> Self {
        let mut child = line.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut words = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        words.read_line(&mut told).unwrap();
        let address = told.trim_end().strip_prefix("wirepress receive: listening on ");
        let address = address.unwrap_or_else(|| panic!("{told}")).to_owned();
        Self { child, words, address }
    }

    fn await_success(mut self) {
        let mut told = String::new();
        self.words.read_to_string(&mut told).unwrap();
        assert!(self.child.wait().unwrap().success(), "{told}");
        assert!(told.contains("verified"), "{told}");
    }
}

/// The commands below a bold name on the page.
fn block(name: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/transfer.md");
    let page = std::fs::read_to_string(page).unwrap();
    let below = page.split(&format!("**{name}**")).nth(1).unwrap_or_else(|| panic!("no {name} on the page"));
    let commands = below.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    commands.to_owned()
}

const CHECKSUM: &str = "checksum table shop.orders";

#[test]
fn a_physical_backup_reaches_another_host_by_the_pages_commands() {
    let Some(lab) = Lab::new() else { return };
    let there = lab.path("there");
    let known = [("=/tmp", "=."), ("/var/lib/mysql.new", there.to_str().unwrap())];
    lab.run(&block("A physical backup to another host"), &known);
    lab.assert_is_a_copy("there");
}

#[test]
fn a_backup_goes_into_a_file_and_back_by_the_pages_commands() {
    let Some(lab) = Lab::new() else { return };
    let block = block("A backup into a file").replace("=/tmp", "=.");
    // As one script, because of its first line.
    let done = lab.bash(&format!("set -e\n{block}")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    lab.assert_is_a_copy("restored");
}

#[test]
fn a_replica_is_filled_over_a_slow_line_and_follows_by_the_pages_commands() {
    let Some(lab) = Lab::new() else { return };
    std::fs::write(lab.path("transfer.key"), "0123456789abcdef".repeat(4)).unwrap();
    let host = format!("master_host='127.0.0.1', master_port={}", lab.source.address().port());
    lab.run(&block("A dump over a slow line that fills a replica"), &[("master_host='source'", &host)]);
    assert_eq!(lab.replica.sql(CHECKSUM).unwrap(), lab.source.sql(CHECKSUM).unwrap());
    lab.source.sql("insert into shop.orders values (100000, 'later')").unwrap();
    let position = lab.source.sql("show master status").unwrap();
    let mut position = position.split('\t');
    let (file, at) = (position.next().unwrap(), position.next().unwrap());
    // 0 or more: it got there; -1: it didn't in 30 s.
    let waited = lab.replica.sql(&format!("select master_pos_wait('{file}', {at}, 30)")).unwrap();
    assert!(waited.parse::<i64>().is_ok_and(|waited| waited >= 0), "{waited}");
    assert_eq!(lab.replica.sql(CHECKSUM).unwrap(), lab.source.sql(CHECKSUM).unwrap());
}
