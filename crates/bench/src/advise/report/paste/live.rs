//! Lines to paste, run by real drivers, clients and servers: what they ask for is what the session then has.
//!
//! Not here: drivers whose line has to be compiled (Java, Go, Rust, .NET, C); their options ran in the scenarios of
//! `docs/drivers.md`. Files of wirepress, which `wirepress check-config` reads (`crates/cli/tests/it/advise.rs`).

use std::process::Command;

use lab::real::{Install, Kind, Options, PASSWORD, RealServer, USER, required, required_with, skip};

use super::*;

/// How a line is run: words before the program text, and what stands around the line.
struct Script {
    driver: Driver,
    /// Its name below `drivers/bin` of the cache.
    fetched_as: &'static str,
    program: &'static str,
    words: &'static [&'static str],
    before: &'static str,
    after: &'static str,
}

const SCRIPTS: [Script; 9] = [
    Script {
        driver: Driver::Mysqli,
        fetched_as: "mysqli",
        program: "php",
        words: &["-d", "extension=mysqlnd", "-d", "extension=mysqli", "-r"],
        before: "mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT); $link = mysqli_init(); $password = 'PASSWORD';",
        after: "echo $link->query(\"STATUS\")->fetch_row()[1];",
    },
    Script {
        driver: Driver::Pdo,
        fetched_as: "pdo",
        program: "php",
        words: &["-d", "extension=mysqlnd", "-d", "extension=pdo", "-d", "extension=pdo_mysql", "-r"],
        before: "$password = 'PASSWORD';",
        after: "echo $pdo->query(\"STATUS\")->fetch()[1];",
    },
    Script {
        driver: Driver::ConnectorPython,
        fetched_as: "mysql-connector-pure",
        program: "",
        words: &["python3", "-c"],
        before: "import mysql.connector\npassword = 'PASSWORD'\n",
        after: PYTHON_STATUS,
    },
    Script {
        driver: Driver::Mysqlclient,
        fetched_as: "mysqlclient",
        program: "python3",
        words: &["-c"],
        before: "import MySQLdb\npassword = 'PASSWORD'\n",
        after: PYTHON_STATUS,
    },
    Script {
        driver: Driver::Mysql2,
        fetched_as: "mysql2",
        program: "",
        words: &["node", "-e"],
        before: "const mysql = require('mysql2/promise'); const password = 'PASSWORD'; (async () => {",
        after: "const [rows] = await connection.query(\"STATUS\"); console.log(rows[0].Value); await connection.end(); })();",
    },
    Script {
        driver: Driver::MariaDbNode,
        fetched_as: "mariadb-node",
        program: "",
        words: &["node", "-e"],
        before: "const mariadb = require('mariadb'); const password = 'PASSWORD'; (async () => {",
        after: "const rows = await connection.query(\"STATUS\"); console.log(rows[0].Value); await connection.end(); })();",
    },
    Script {
        driver: Driver::RubyMysql2,
        fetched_as: "ruby-mysql2",
        program: "ruby",
        words: &["-e"],
        before: "require 'mysql2'; password = 'PASSWORD';",
        after: "\nputs client.query(\"STATUS\", as: :array).to_a[0][1]",
    },
    Script {
        driver: Driver::DbdMysql,
        fetched_as: "dbd-mysql",
        program: "perl",
        words: &["-e"],
        before: "use DBI; my $password = 'PASSWORD';",
        after: PERL_STATUS,
    },
    Script {
        driver: Driver::DbdMariaDb,
        fetched_as: "dbd-mariadb",
        program: "perl",
        words: &["-e"],
        before: "use DBI; my $password = 'PASSWORD';",
        after: PERL_STATUS,
    },
];

const PYTHON_STATUS: &str =
    "\ncursor = connection.cursor()\ncursor.execute(\"STATUS\")\nprint(cursor.fetchone()[1])\n";
const PERL_STATUS: &str = "print $dbh->selectall_arrayref(\"STATUS\")->[0][1];";
const STATUS: &str = "show session status like 'compression'";

impl Script {
    /// Its program, if it was fetched; else the reason is written down.
    fn command(&self, install: &Install) -> Option<Command> {
        let drivers = install.path().join("drivers");
        let name = self.fetched_as;
        if !drivers.join("bin").join(name).is_file() {
            let reason = std::fs::read_to_string(drivers.join("missing").join(name));
            let reason = reason.unwrap_or_else(|_| {
                panic!("{name} is missing; run scripts/fetch-drivers, which says why if it can't be had")
            });
            skip(&format!("want of {}", reason.trim()));
            return None;
        }
        let mut words = self.words.iter();
        let mut command = if self.program.is_empty() {
            let mut command = Command::new(words.next().unwrap());
            command.env("PYTHONPATH", drivers.join("python"));
            command.env("NODE_PATH", drivers.join("node/node_modules"));
            command
        } else {
            install.command(self.program).unwrap()
        };
        command.args(words);
        Some(command)
    }

    fn runs(&self, install: &Install, server: &RealServer) {
        let Some(mut command) = self.command(install) else { return };
        let tls = Tls::new(&[]);
        let (host, port) = (server.address().ip().to_string(), server.address().port().to_string());
        let place =
            Place { host: &host, port: &port, user: USER, is_mariadb: server.kind().is_mariadb(), tls: &tls };
        let (_, lines) = self.driver.asking(&place, ZLIB).unwrap();
        let text = [self.before, &lines.join("\n").replace("DATABASE", "mysql"), self.after].concat();
        let text = text.replace("STATUS", STATUS).replace("'PASSWORD'", &format!("'{PASSWORD}'"));
        let output = command.arg(&text).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(told.trim(), "ON", "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

const ZLIB: Compression = Compression { algorithm: Algorithm::Zlib, level: 1 };

#[test]
fn what_drivers_are_told_turns_their_compression_on() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = required(kind) else { return };
        let install = Install::find().unwrap();
        // The first one introduces the account to the server: not every driver can ask for its RSA key.
        for script in SCRIPTS {
            script.runs(&install, server);
        }
    }
}

/// What the advice tells about a server, packing by itself or not at all.
fn target(server: &RealServer) -> Target<'static> {
    Target {
        host: server.address().ip().to_string(),
        port: server.address().port().to_string(),
        user: USER,
        is_mariadb: server.kind().is_mariadb(),
        tls: Tls::new(&[]),
        drivers: &[],
        are_asked_for: false,
    }
}

#[test]
fn what_a_mysql_is_told_permits_all_or_nothing() {
    let Some(server) = required_with(Kind::MySql, &Options::new()) else { return };
    let target = target(&server);
    for ((_, lines), permitted) in
        [(target.left(), "uncompressed"), (target.server(), "zstd,zlib,uncompressed")]
    {
        server.sql(&lines.join("\n")).unwrap();
        let asked = "select @@global.protocol_compression_algorithms; select variable_value from \
                     performance_schema.persisted_variables where variable_name = 'protocol_compression_algorithms'";
        assert_eq!(server.sql(asked).unwrap(), format!("{permitted}\n{permitted}"));
    }
}

#[test]
fn a_mariadb_that_nothing_is_set_on_compresses_for_the_client_that_is_told_to_ask() {
    let Some(server) = required(Kind::MariaDb) else { return };
    let target = target(server);
    assert!(target.left().1.is_empty() && target.server().1.is_empty());
    let place = (target.host.as_str(), target.port.as_str());
    let clients = target.clients(place, ZLIB);
    let (_, lines) = clients.iter().find(|(title, _)| title.starts_with("MariaDB")).unwrap();
    // The password is asked for; here nobody answers.
    let words = lines[0].split(' ').skip(1).filter(|word| *word != "-p");
    let mut command = server.command("mariadb").unwrap();
    let output = command.env("MYSQL_PWD", PASSWORD).args(words).args(["-N", "-e", STATUS]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(told.trim(), "Compression\tON", "{}", String::from_utf8_lossy(&output.stderr));
}
