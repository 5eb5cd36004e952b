//! `wirepress advise` as a user runs it: each way in, and command lines that cannot be.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required, required_with};
use rustix::process::{Pid, Signal, kill_process};

fn advise(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
    command.arg("advise").args(args);
    if std::env::var_os("WIREPRESS_CACHE").is_none() {
        command.env("WIREPRESS_CACHE", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache"));
    }
    command
}

/// Its exit code and what it says on stderr.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = advise(args).output().unwrap();
    assert!(output.stdout.is_empty(), "{output:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A tap that listens, and what it says.
struct Tap {
    child: Child,
    port: String,
    said: Receiver<String>,
}

impl Tap {
    fn start(server: &RealServer, args: &[&str]) -> Self {
        let server = server.address().to_string();
        let mut command = advise(&["--server", &server, "--tap", "127.0.0.1:0", "--for", "60"]);
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (sender, said) = channel();
        let mut tap = Self { child: command.spawn().unwrap(), port: String::new(), said };
        let errors = BufReader::new(tap.child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                sender.send(line).ok();
            }
        });
        let mut all = String::new();
        while tap.port.is_empty() {
            let line = tap.said.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{all}"));
            all.push_str(&line);
            if let Some((_, rest)) = line.split_once("listening on 127.0.0.1:") {
                rest.split(' ').next().unwrap().clone_into(&mut tap.port);
            }
        }
        tap
    }

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Its exit code, and what it said on both outputs.
    fn end(mut self) -> (Option<i32>, String, String) {
        let mut told = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, told, self.said.iter().collect::<Vec<_>>().join("\n"))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn mysql(server: &RealServer, port: &str, args: &[&str], sql: &str) -> Output {
    let output = server
        .command("mysql")
        .unwrap()
        .args(["--no-defaults", "-h", "127.0.0.1", "-P", port, "-u", USER, "-N", "--get-server-public-key"])
        .arg(format!("-p{PASSWORD}"))
        .args(args)
        .args(["-e", sql])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

const PLAIN: [&str; 1] = ["--ssl-mode=DISABLED"];

#[test]
fn a_tap_passes_every_byte_and_tells_what_compression_would_do() {
    let Some(server) = required_with(Kind::MySql, &Options::new()) else { return };
    let sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400) \
               select i, sha2(i, 512), 'the server sends and the link carries' from n;"
        .repeat(20);
    let own_port = server.address().port().to_string();
    let direct = mysql(&server, &own_port, &PLAIN, &sql).stdout;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let tap = Tap::start(&server, &["--assume-link", "20mbit,5ms", "--out", out.to_str().unwrap()]);
    for _ in 0..3 {
        assert!(mysql(&server, &tap.port, &PLAIN, &sql).stdout == direct);
    }
    // One that is encrypted passes as well, and can't be looked into.
    assert!(mysql(&server, &tap.port, &["--ssl-mode=REQUIRED"], &sql).stdout == direct);
    tap.interrupt();
    let (code, told, said) = tap.end();
    assert_eq!(code, Some(0), "{told}{said}");
    assert!(told.starts_with("Use z"), "{told}");
    for part in [
        "exchanges timed as they passed (4 sessions, ",
        " of their exchanges looked at)",
        "20.0 Mbit/s, round trip 5.00 ms, assumed; to this server it is at least ",
        "The tap was ended early",
        "Looking took ",
        "Left out: 1 session with TLS, which cannot be read",
        "-u USER -p",
    ] {
        assert!(told.replace('\n', " ").contains(part), "{part}: {told}");
    }
    let html = std::fs::read_to_string(out.join("advice.html")).unwrap();
    assert!(!html.contains("the link carries") && !told.contains("the link carries"));
    let written: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(written.len(), 1, "nothing else is stored");
}

#[test]
fn a_tap_through_which_nothing_or_only_tls_passes_gives_no_verdict_and_says_why() {
    let Some(server) = required(Kind::MySql) else { return };
    let tap = Tap::start(server, &[]);
    tap.interrupt();
    let (code, told, said) = tap.end();
    assert_eq!((code, told.as_str()), (Some(1), ""), "{said}");
    assert!(said.contains("no verdict: no client has connected; let it listen for longer"), "{said}");

    let tap = Tap::start(server, &[]);
    mysql(server, &tap.port, &["--ssl-mode=REQUIRED"], "select 1");
    tap.interrupt();
    let (code, _, said) = tap.end();
    assert_eq!(code, Some(1));
    assert!(said.contains("TLS is used by all that was seen (1 session)"), "{said}");
    assert!(said.contains("--query-file") && said.contains("--ssl-mode=DISABLED"), "{said}");
}

#[test]
fn whoever_listens_elsewhere_or_asks_for_nobody_is_told() {
    let Some(server) = required(Kind::MySql) else { return };
    let address = server.address().to_string();
    let (code, said) = refused(&["--server", &address, "--tap", &address]);
    assert!(code == Some(1) && said.contains(&format!("cannot listen on {address}")), "{said}");
    let (code, said) = refused(&["--server", "127.0.0.1:1", "--tap", "127.0.0.1:0"]);
    assert!(code == Some(1) && said.contains("cannot connect to 127.0.0.1:1"), "{said}");
    let (code, said) = refused(&["--server", "me:hush@db", "--tap", "127.0.0.1:0"]);
    assert!(
        code == Some(64) && said.contains("neither host:port nor mysql://") && !said.contains("hush"),
        "{said}"
    );
    let url = format!("mysql://{USER}:hush@{address}/mysql");
    let (code, said) = refused(&["--server", &url, "--tap", "127.0.0.1:0"]);
    assert!(code == Some(1) && said.contains("ERROR 1045") && !said.contains("hush"), "{said}");
}

#[test]
fn one_way_in_is_wanted_and_options_of_the_others_are_refused() {
    let server = ["--server", "mysql://me@127.0.0.1:1/d"];
    let with =
        |more: &[&'static str]| -> Vec<&str> { server.iter().copied().chain(more.iter().copied()).collect() };
    for (args, part) in [
        (with(&[]), "--query-file <FILE>|--sysbench <SCRIPT>|--tap [<LISTEN>]|--pcap <FILE>"),
        (vec!["--query-file", "q.sql"], "--server <URL>"),
        (vec!["--tap", "127.0.0.1:0"], "--server <URL>"),
        (with(&["--query-file", "q.sql", "--tap", "127.0.0.1:0"]), "cannot be used with"),
        (with(&["--query-file", "q.sql", "--sysbench", "oltp_read_only"]), "cannot be used with"),
        (with(&["--pcap", "f.pcap"]), "cannot be used with"),
        (vec!["--pcap", "f.pcap", "--for", "10"], "cannot be used with"),
        (vec!["--pcap", "f.pcap", "--allow-writes"], "cannot be used with"),
        (with(&["--tap", "127.0.0.1:0", "--allow-writes"]), "cannot be used with"),
        (with(&["--tap", "127.0.0.1:0", "--port", "3307"]), "cannot be used with"),
        (with(&["--query-file", "q.sql", "--tap-cpu-percent", "3"]), "cannot be used with"),
        (with(&["--query-file", "q.sql", "--sysbench-option", "tables=1"]), "cannot be used with"),
        (with(&["--tap", "127.0.0.1:0", "--tap-cpu-percent", "0"]), "from 0.1 to 100"),
        (vec!["--pcap", "f.pcap", "--port", "0"], "1..=65535"),
        (with(&["--tap", "127.0.0.1:0", "--assume-link", "fast"]), "--assume-link"),
    ] {
        let (code, said) = refused(&args);
        assert_eq!(code, Some(64), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?}: {said}");
    }
}

/// What stands below the titles that `is_wanted`: a block of lines each.
fn pasted(told: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = told.lines().peekable();
    while let Some(title) = lines.next() {
        let mut block = String::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("    ")) {
            block.push_str(line.trim_start());
            block.push('\n');
        }
        if is_wanted(title) && !block.is_empty() {
            blocks.push(block);
        }
    }
    blocks
}

#[test]
fn what_is_told_to_paste_is_what_wirepress_and_mysql_take() {
    let mut configs = 0;
    for (kind, checks_tls) in [(Kind::MySql, false), (Kind::MariaDb, false), (Kind::MySql, true)] {
        let Some(server) = required(kind) else { return };
        let datadir = server.sql("select @@datadir").unwrap().trim().trim_end_matches('/').to_owned();
        let ca = format!("{datadir}/ca.pem");
        let tls = if checks_tls { &["--ssl-mode", "verify_ca", "--ssl-ca", &ca][..] } else { &[] };
        server
            .sql(
                "create database if not exists pasted; create or replace view pasted.v as \
                 with recursive n(i) as (select 1 union all select i + 1 from n where i < 900) \
                 select i, sha2(i, 512) as a, repeat('what the app has asked for ', 40) as b from n",
            )
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("queries.sql");
        std::fs::write(&file, "select * from v; select * from v;").unwrap();
        let url = format!("mysql://{USER}:{PASSWORD}@{}/pasted", server.address());
        let args = ["--server", &url, "--query-file", file.to_str().unwrap(), "--for", "2"];
        let output = advise(&args).args(["--assume-link", "20mbit,5ms"]).args(tls).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.starts_with("Use z"), "{told}{}", String::from_utf8_lossy(&output.stderr));
        // wirepress itself was timed, on both servers.
        assert!(told.contains("wirepress zstd 1     timed"), "{told}");
        for config in
            pasted(&told, |title| title.contains("127.0.0.1:3307") || title.contains("wirepress.toml, "))
        {
            let path = folder.path().join("wirepress.toml");
            // Its place is for the reader to fill in.
            let config = config.replace("DATADIR_OF_THE_SERVER", &datadir);
            assert_eq!(config.contains("ssl-mode = \"verify_ca\""), checks_tls, "{config}");
            std::fs::write(&path, &config).unwrap();
            let check = Command::new(env!("CARGO_BIN_EXE_wirepress")).arg("check-config").arg(&path).output();
            let check = check.unwrap();
            assert!(check.status.success(), "{config}{check:?}");
            configs += 1;
        }
        let [client] = &pasted(&told, |title| title.starts_with("MySQL client"))[..] else {
            panic!("{told}")
        };
        // Its host may be a name to fill in, and its password is asked for.
        let Some(real) = required(Kind::MySql) else { return };
        let mut command = real.command("mysql").unwrap();
        command.arg("--no-defaults").arg("--get-server-public-key").env("MYSQL_PWD", PASSWORD);
        let mut words = client.split_whitespace().skip(1);
        while let Some(word) = words.next() {
            let own = match word {
                "-p" => continue,
                "-h" => Some("127.0.0.1".to_owned()),
                "-P" => Some(real.address().port().to_string()),
                _ => None,
            };
            command.arg(word);
            if let Some(own) = own {
                words.next();
                command.arg(own);
            }
        }
        let asked = "show status where variable_name in ('compression_algorithm', 'ssl_version')";
        let output = command.args(["-N", "-e", asked]).output().unwrap();
        let status = String::from_utf8(output.stdout).unwrap();
        let algorithm = status.split_whitespace().nth(1).unwrap_or("none told");
        assert!(client.contains(algorithm), "{client}{status}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(client.contains("--ssl-mode=VERIFY_CA"), checks_tls, "{client}");
        assert!(!checks_tls || status.contains("TLSv1"), "{client}{status}");
    }
    assert!(configs > 0, "no file was told");
}

#[test]
fn an_advice_that_nobody_reads_is_written_all_the_same() {
    let Some(server) = required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("queries.sql"), folder.path().join("out"));
    std::fs::write(&file, "select repeat('what the app has asked for ', 20000)").unwrap();
    let url = format!("mysql://{USER}:{PASSWORD}@{}/mysql", server.address());
    let args = ["--server", &url, "--query-file", file.to_str().unwrap(), "--for", "1"];
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = advise(&args)
        .args(["--assume-link", "1mbit,5ms", "--out", out.to_str().unwrap()])
        .stdout(writer)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(out.join("advice.html").is_file() && out.join("advice.json").is_file(), "{said}");
    // The time left is told while it is measured.
    assert!(said.contains(" done") && said.contains("under each candidate in turn"), "{said}");
}

#[test]
fn files_and_scripts_that_cannot_be_used_are_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (path, part) in [
        ("/no/such.pcap".to_owned(), "cannot read /no/such.pcap"),
        (file("text.pcap", b"select 1; select 2;"), "no capture"),
        (file("empty.pcap", b""), "the file is empty"),
        (file("packed.pcap.gz", b"\x1f\x8b\x08\x00"), "compressed by gzip: unpack it first"),
        (
            file("none.pcap", b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0"),
            "holds no packet",
        ),
    ] {
        let (code, said) = refused(&["--pcap", &path]);
        assert!(code == Some(1) && said.contains(part), "{said}");
    }
    let url = "mysql://me:hush@127.0.0.1:1/d";
    let (code, said) = refused(&["--server", url, "--sysbench", "oltp_write_only"]);
    assert!(code == Some(1) && said.contains("oltp_write_only may write"), "{said}");
    let (code, said) = refused(&["--server", url, "--sysbench", "/tmp/own.lua"]);
    assert!(code == Some(1) && said.contains("/tmp/own.lua may write"), "{said}");
    let (code, said) = refused(&["--server", url, "--query-file", &file("q.sql", b"delete from t")]);
    assert!(code == Some(1) && said.contains("line 1 of the query file may write"), "{said}");
    let (code, said) = refused(&["--server", url, "--query-file", "/no/such.sql"]);
    assert!(
        code == Some(1) && said.contains("cannot read the query file") && !said.contains("hush"),
        "{said}"
    );
}
