//! The embedded database under real programs and drivers, all unchanged: sysbench, MySQL's and MariaDB's dump and
//! command line, PyMySQL, Connector/Python, mysql2.
//!
//! Not here: the same against real servers (crate `proxy`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::real::{Install, Kind, required, required_programs};
use mysqlite::{Account, Options, Server};

/// A server on a Unix socket and a port, with an account that has a password.
struct Live {
    install: Install,
    server: Server,
    socket: PathBuf,
    _directory: tempfile::TempDir,
}

const PASSWORD: &str = "secret";

impl Live {
    fn start() -> Option<Self> {
        let install = required_programs()?;
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let accounts = vec![Account::new("root", ""), Account::new("tester", PASSWORD)];
        let options = Options { unix: Some(socket.clone()), accounts, ..Options::default() };
        let server = Server::start(options).unwrap();
        Some(Self { install, server, socket, _directory: directory })
    }

    /// A MySQL or MariaDB program, logged in as root over the Unix socket.
    fn program(&self, name: &str) -> Command {
        let mut command = self.install.command(name).unwrap();
        command.args(["--no-defaults", "--user=root"]).arg(format!("--socket={}", self.socket.display()));
        command
    }

    fn sysbench(&self, script: &str, word: &str, options: &[&str]) -> String {
        let mut command = self.install.command("sysbench").unwrap();
        command.arg(script).arg(format!("--mysql-socket={}", self.socket.display()));
        command.args(["--mysql-user=root", "--table-size=1000"]).args(options).arg(word);
        run(&mut command, "")
    }
}

/// Runs a program to its good end; returns what it printed.
#[track_caller]
fn run(command: &mut Command, input: &str) -> String {
    String::from_utf8_lossy(&run_bytes(command, input.as_bytes())).into_owned()
}

#[track_caller]
fn run_bytes(command: &mut Command, input: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().ok();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{}", errors.chars().take(2000).collect::<String>());
    output.stdout
}

/// Every type, with values at their edges.
const TYPES: &str = "create table kinds (id bigint unsigned not null auto_increment primary key, ti tinyint, tb tinyint(1) \
    default 1, si smallint unsigned, mi mediumint, i int unsigned not null default 7, bi bigint, bu bigint unsigned, de \
    decimal(20,5), fl float, db double, bt bit(10), y year, d date, t time, dt datetime, ts timestamp null default \
    current_timestamp on update current_timestamp, c char(10) not null default '', vc varchar(200) comment 'it''s', bn \
    binary(4), vb varbinary(100), tx text, mt mediumtext, bl blob, lb longblob, e enum('a','b''c'), s set('x','y'), j \
    json, unique key u1 (bi), key k2 (c, vc(20)), key k3 (i desc)) comment='all types'; \
    insert into kinds (ti,si,mi,bi,bu,de,fl,db,bt,y,d,t,dt,ts,c,vc,bn,vb,tx,mt,bl,lb,e,s,j) values \
    (-128,65535,-8388608,-9223372036854775808,18446744073709551615,123456789012345.12345,1.5,0.1,b'1010101010',2026,\
    '2026-11-21','-12:34:56','2026-11-21 01:02:03','2026-11-21 01:02:03','ch','it''s \"q\" \\\\ \\n \\t \\0 end',\
    x'00ff0001',x'00ff27225c',repeat('é',100),'mt',x'',x'fffe00','b''c','x,y','{\"a\": [1, 2]}'); \
    insert into kinds (bi, ts) values (5, null), (null, null); \
    create table child (a int, b varchar(10), pid bigint unsigned, primary key (a,b), constraint fk1 foreign key (pid) \
    references kinds (id) on delete cascade); insert into child values (1,'x',1), (2,'y',null);";

/// Binary columns come as they are, so a dump is no UTF-8.
fn dump(command: &mut Command, database: &str) -> Vec<u8> {
    command.args(["--skip-comments", "--order-by-primary"]);
    run_bytes(command.arg(database), b"")
}

#[track_caller]
fn same_lines(found: &[u8], expected: &[u8], what: &str) {
    let lines = |text: &[u8]| text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    for (found, expected) in lines(found).into_iter().zip(lines(expected)) {
        let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
        assert!(found == expected, "{what}\n{}\n{}", text(&found), text(&expected));
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

#[test]
fn sysbench_runs_every_script_with_and_without_prepared_statements() {
    let Some(live) = Live::start() else { return };
    run(&mut live.program("mysql"), "create database sbtest");
    let scripts = [
        "oltp_point_select",
        "oltp_read_only",
        "oltp_read_write",
        "oltp_write_only",
        "oltp_insert",
        "oltp_delete",
        "oltp_update_index",
        "oltp_update_non_index",
    ];
    for script in scripts {
        live.sysbench(script, "prepare", &["--tables=2", "--threads=2"]);
        for mode in ["--db-ps-mode=auto", "--db-ps-mode=disable"] {
            let printed = live.sysbench(script, "run", &["--tables=2", "--threads=16", "--time=1", mode]);
            assert!(
                printed.contains("ignored errors:                      0 "),
                "{script} {mode}\n{printed}"
            );
        }
        live.sysbench(script, "cleanup", &["--tables=2"]);
    }
    for script in ["select_random_points", "select_random_ranges", "bulk_insert"] {
        live.sysbench(script, "prepare", &["--threads=2"]);
        live.sysbench(script, "run", &["--threads=2", "--time=1"]);
        live.sysbench(script, "cleanup", &["--threads=2"]);
    }
    let secondary = ["--secondary", "--auto_inc=off"];
    live.sysbench("oltp_read_write", "prepare", &secondary[1..]);
    live.sysbench("oltp_read_write", "run", &["--threads=64", "--time=1", "--auto_inc=off"]);
    live.sysbench("oltp_read_write", "cleanup", &[]);
    live.sysbench("oltp_read_only", "prepare", &secondary[..1]);
    live.sysbench("oltp_read_only", "run", &["--time=1"]);
}

#[test]
fn dumps_equal_a_real_servers_and_load_into_either() {
    let Some(real) = required(Kind::MySql) else { return };
    let Some(live) = Live::start() else { return };
    let make = |name: &str| format!("drop database if exists {name}; create database {name}; use {name};");
    let embedded = |sql: &str| run(&mut live.program("mysql"), sql);
    let at_real = |database: &str, sql: &[u8]| {
        let mut command = real.command("mysql").unwrap();
        command.args(["--no-defaults", "--user=root", database]);
        run_bytes(command.arg(format!("--socket={}", real.socket_path().display())), sql);
    };
    let dump_real = |database: &str| {
        let mut command = real.command("mysqldump").unwrap();
        command.args(["--no-defaults", "--user=root", "--set-gtid-purged=OFF"]);
        dump(command.arg(format!("--socket={}", real.socket_path().display())), database)
    };
    embedded(&format!("{}{TYPES}", make("kinds_of")));
    at_real("mysql", format!("{}{TYPES}", make("kinds_of")).as_bytes());
    let of_embedded = dump(&mut live.program("mysqldump"), "kinds_of");
    let of_real = dump_real("kinds_of");
    assert!(String::from_utf8_lossy(&of_embedded).contains("INSERT INTO `kinds`"));
    same_lines(&of_embedded, &of_real, "the same tables dumped");
    let of_mariadb = dump(&mut live.program("mariadb-dump"), "kinds_of");
    for text in [&of_embedded, &of_mariadb] {
        embedded(&make("copied"));
        run_bytes(live.program("mysql").arg("copied"), text);
        same_lines(&dump(&mut live.program("mysqldump"), "copied"), &of_real, "back into the embedded one");
        at_real("mysql", make("copied").as_bytes());
        at_real("copied", text);
        same_lines(&dump_real("copied"), &of_real, "into the real one");
    }
    at_real("mysql", b"drop database copied; drop database kinds_of");
}

#[test]
fn dumps_with_every_option_end_well() {
    let Some(live) = Live::start() else { return };
    run(&mut live.program("mysql"), &format!("create database a; use a; {TYPES} create database b;"));
    let all = ["--all-databases", "--routines", "--events", "--triggers", "--single-transaction"];
    for program in ["mysqldump", "mariadb-dump"] {
        let text = run_bytes(live.program(program).args(all), b"");
        assert!(String::from_utf8_lossy(&text).contains("INSERT INTO `child`"), "{program}");
        // A dump of everything loads over what is there.
        run_bytes(&mut live.program("mysql"), &text);
        let some = ["--hex-blob", "--complete-insert", "--databases", "a", "b"];
        let hex = run_bytes(live.program(program).args(some), b"");
        run_bytes(&mut live.program("mysql"), &hex);
    }
    run(live.program("mysqldump").args(["--column-statistics=1", "--compression-algorithms=zstd", "a"]), "");
}

#[test]
fn the_command_lines_of_mysql_and_mariadb_work() {
    let Some(live) = Live::start() else { return };
    for (program, commands) in [("mysql", "--commands"), ("mariadb", "--silent")] {
        let client = |arguments: &[&str], sql: &str| {
            run(live.program(program).arg(commands).args(arguments).arg(format!("--execute={sql}")), "")
        };
        client(&[], "create database if not exists c; use c; create table if not exists t (a int)");
        assert!(client(&["--table", "c"], "show tables").contains("Tables_in_c"));
        assert!(client(&["--auto-rehash", "c"], "select * from t").is_empty());
    }
    let status = run(live.program("mysql").args(["--commands", "--execute=status"]), "");
    assert!(status.contains("8.4.0-wirepress"), "{status}");
    let status = run(live.program("mariadb").arg("--execute=status"), "");
    assert!(status.contains("8.4.0-wirepress"), "{status}");
    for (options, expected) in [
        (&["--compression-algorithms=zstd", "--zstd-compression-level=7"][..], "ON zstd 7"),
        (&["--compression-algorithms=zlib"], "ON zlib 6"),
        (&[], "OFF  0"),
    ] {
        let sql = "--execute=show status like 'compression%'";
        let printed = run(live.program("mysql").args(options).args(["--skip-column-names", sql]), "");
        let values: Vec<&str> = printed.lines().map(|line| line.split('\t').nth(1).unwrap_or("")).collect();
        assert_eq!(values.join(" "), expected);
    }
    run(live.program("mysqladmin").args(["ping", "status", "processlist"]), "");
    run(live.program("mysqlshow").args(["--status", "c"]), "");
    run(live.program("mysqlcheck").args(["--all-databases"]), "");
}

/// Runs a driver's script; it ends with `ok`. A driver that this machine can't have is listed as not run.
#[track_caller]
fn drive(driver: &str, interpreter: &str, script: &str) {
    let Some(live) = Live::start() else { return };
    let drivers = live.install.path().join("drivers");
    if let Ok(reason) = std::fs::read_to_string(drivers.join("missing").join(driver)) {
        return lab::real::skip(&format!("want of {}", reason.trim()));
    }
    assert!(
        drivers.join("bin").join(driver).is_file(),
        "{driver} is not in {}: run scripts/fetch-drivers",
        drivers.display()
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/drivers").join(script);
    let port = live.server.address().unwrap().port().to_string();
    let mut command = Command::new(interpreter);
    command.arg(script).args([&port, PASSWORD]).env("PYTHONPATH", drivers.join("python"));
    command.arg(drivers.join("node/node_modules"));
    assert_eq!(run(&mut command, "").trim(), "ok");
}

#[test]
fn pymysql_works() {
    drive("pymysql", "python3", "pymysql_types.py");
}

#[test]
fn connector_python_works() {
    drive("mysql-connector-pure", "python3", "connector_python.py");
}

#[test]
fn node_mysql2_works() {
    drive("mysql2", "node", "mysql2.js");
}
