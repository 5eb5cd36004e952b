//! The drivers that lines are known for, and how each asks for compression.
//!
//! Invariants: an option stands here only if the driver's scenario of `docs/drivers.md` uses it, or its own manual has it;
//! a driver that cannot ask for an algorithm has no lines for it.
//!
//! Source: `docs/drivers.md`, whose scenarios ran with these options; for .NET the connection options of Connector/NET and of
//! MySqlConnector (`UseCompression`), for C the manual of MySQL's C API (`mysql_options()`).
//!
//! Not here: wirepress for those that cannot (the module above).

use std::fmt;
use std::str::FromStr;

use codec::Algorithm;

use super::tls::Tls;
use crate::client::Compression;

/// A driver by its name in `docs/drivers.md`, where it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// MySQL Connector/J.
    ConnectorJ,
    /// MariaDB Connector/J, 2.7 and 3.
    MariaDbConnectorJ,
    /// Of Go.
    Go,
    /// Of PHP.
    Mysqli,
    /// Of PHP.
    Pdo,
    /// MySQL Connector/Python, in Python and in C.
    ConnectorPython,
    /// Of Python, `MySQLdb`.
    Mysqlclient,
    /// Of Python; it has no compression.
    PyMySql,
    /// Of Node.js.
    Mysql2,
    /// Of Node.js.
    MariaDbNode,
    /// Connector/NET and MySqlConnector, which name it alike.
    DotNet,
    /// Of Ruby.
    RubyMysql2,
    /// Of Perl.
    DbdMysql,
    /// Of Perl.
    DbdMariaDb,
    /// MariaDB's.
    Odbc,
    /// Of Rust.
    MysqlAsync,
    /// Of Rust; it has no compression.
    Sqlx,
    /// libmysqlclient, the only one here that can ask for zstd.
    CApi,
}

/// Whom a driver connects to.
pub(super) struct Place<'a> {
    pub(super) host: &'a str,
    pub(super) port: &'a str,
    pub(super) user: &'a str,
    pub(super) is_mariadb: bool,
    pub(super) tls: &'a Tls<'a>,
}

impl Driver {
    /// All.
    pub const ALL: [Self; 18] = [
        Self::ConnectorJ,
        Self::MariaDbConnectorJ,
        Self::Go,
        Self::Mysqli,
        Self::Pdo,
        Self::ConnectorPython,
        Self::Mysqlclient,
        Self::PyMySql,
        Self::Mysql2,
        Self::MariaDbNode,
        Self::DotNet,
        Self::RubyMysql2,
        Self::DbdMysql,
        Self::DbdMariaDb,
        Self::Odbc,
        Self::MysqlAsync,
        Self::Sqlx,
        Self::CApi,
    ];

    /// What a terminal has room for: one of each of the most common languages.
    pub(in crate::advise::report) const COMMON: [Self; 5] =
        [Self::ConnectorJ, Self::Go, Self::Mysqli, Self::ConnectorPython, Self::Mysql2];

    /// The name in arguments.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectorJ => "connector-j",
            Self::MariaDbConnectorJ => "mariadb-connector-j",
            Self::Go => "go-sql-driver",
            Self::Mysqli => "mysqli",
            Self::Pdo => "pdo",
            Self::ConnectorPython => "connector-python",
            Self::Mysqlclient => "mysqlclient",
            Self::PyMySql => "pymysql",
            Self::Mysql2 => "mysql2",
            Self::MariaDbNode => "mariadb-node",
            Self::DotNet => "dotnet",
            Self::RubyMysql2 => "ruby-mysql2",
            Self::DbdMysql => "dbd-mysql",
            Self::DbdMariaDb => "dbd-mariadb",
            Self::Odbc => "odbc-mariadb",
            Self::MysqlAsync => "mysql_async",
            Self::Sqlx => "sqlx",
            Self::CApi => "c-api",
        }
    }

    /// What its users call it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::ConnectorJ => "MySQL Connector/J",
            Self::MariaDbConnectorJ => "MariaDB Connector/J",
            Self::Go => "go-sql-driver/mysql (1.9 or later)",
            Self::Mysqli => "PHP, mysqli",
            Self::Pdo => "PHP, PDO",
            Self::ConnectorPython => "MySQL Connector/Python",
            Self::Mysqlclient => "mysqlclient (Python)",
            Self::PyMySql => "PyMySQL",
            Self::Mysql2 => "mysql2 (Node.js)",
            Self::MariaDbNode => "mariadb (Node.js)",
            Self::DotNet => ".NET, Connector/NET or MySqlConnector",
            Self::RubyMysql2 => "mysql2 (Ruby)",
            Self::DbdMysql => "Perl, DBD::mysql",
            Self::DbdMariaDb => "Perl, DBD::MariaDB",
            Self::Odbc => "MariaDB Connector/ODBC",
            Self::MysqlAsync => "mysql_async (Rust)",
            Self::Sqlx => "sqlx (Rust)",
            Self::CApi => "MySQL's C API (libmysqlclient 8.0.18 or later)",
        }
    }

    /// Whether it can be told to ask for that.
    pub(super) const fn knows(self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::Uncompressed => true,
            Algorithm::Zlib => !matches!(self, Self::PyMySql | Self::Sqlx),
            Algorithm::Zstd => matches!(self, Self::CApi),
        }
    }

    /// Whether its lines have the TLS in them; that of the others stays as it is in the app.
    const fn tells_tls(self) -> bool {
        matches!(self, Self::ConnectorJ | Self::Go | Self::Mysqli)
    }

    /// A title, and the lines that ask for compression; none where it [cannot](Self::knows).
    pub(super) fn asking(self, to: &Place<'_>, compression: Compression) -> Option<(String, Vec<String>)> {
        if !self.knows(compression.algorithm) {
            return None;
        }
        let leaves_tls = to.tls.is_wanted() && !self.tells_tls();
        let besides = if leaves_tls { ", its TLS as it is" } else { "" };
        Some((format!("{}{besides}:", self.title()), self.lines(to, compression)))
    }

    fn lines(self, to: &Place<'_>, compression: Compression) -> Vec<String> {
        let Place { host, port, user, is_mariadb, tls } = to;
        let place = format!("{host}:{port}/DATABASE");
        let line = match self {
            Self::ConnectorJ => format!("jdbc:mysql://{place}?useCompression=true{}", tls.of_connector_j()),
            Self::MariaDbConnectorJ => format!("jdbc:mariadb://{place}?useCompression=true"),
            Self::Go => {
                format!("{user}:PASSWORD@tcp({host}:{port})/DATABASE?compress=true{}", tls.of_go())
            }
            Self::Mysqli => {
                let (set, flags) = tls.of_mysqli();
                let connect = format!(
                    "$link->real_connect('{host}', '{user}', $password, 'DATABASE', {port}, null, \
                     MYSQLI_CLIENT_COMPRESS{flags});"
                );
                return set.into_iter().chain([connect]).collect();
            }
            Self::Pdo => format!(
                "$pdo = new PDO('mysql:host={host};port={port};dbname=DATABASE', '{user}', $password, \
                 [PDO::MYSQL_ATTR_COMPRESS => true]);"
            ),
            Self::ConnectorPython => {
                // Its default is one that MariaDB does not know.
                let collation = if *is_mariadb { ", collation='utf8mb4_general_ci'" } else { "" };
                format!(
                    "connection = mysql.connector.connect(host='{host}', port={port}, user='{user}', password=password, \
                     database='DATABASE', compress=True{collation})"
                )
            }
            Self::Mysqlclient => format!(
                "connection = MySQLdb.connect(host='{host}', port={port}, user='{user}', password=password, \
                 database='DATABASE', compress=True)"
            ),
            Self::Mysql2 => format!(
                "const connection = await mysql.createConnection({{ host: '{host}', port: {port}, user: '{user}', password, \
                 database: 'DATABASE', compress: true }});"
            ),
            Self::MariaDbNode => format!(
                "const connection = await mariadb.createConnection({{ host: '{host}', port: {port}, user: '{user}', password, \
                 database: 'DATABASE', compress: true }});"
            ),
            Self::DotNet => format!(
                "Server={host};Port={port};Database=DATABASE;User ID={user};Password=PASSWORD;UseCompression=true"
            ),
            Self::RubyMysql2 => format!(
                "client = Mysql2::Client.new(host: '{host}', port: {port}, username: '{user}', password: password, \
                 database: 'DATABASE', flags: ['COMPRESS'])"
            ),
            Self::DbdMysql => format!(
                "my $dbh = DBI->connect('DBI:mysql:database=DATABASE;host={host};port={port};mysql_compression=1', \
                 '{user}', $password);"
            ),
            Self::DbdMariaDb => format!(
                "my $dbh = DBI->connect('DBI:MariaDB:database=DATABASE;host={host};port={port};mariadb_compression=1', \
                 '{user}', $password);"
            ),
            Self::Odbc => format!(
                "DRIVER=NAME_OF_DRIVER;SERVER={host};PORT={port};UID={user};PWD=PASSWORD;DATABASE=DATABASE;OPTION=2048"
            ),
            Self::MysqlAsync => format!("mysql://{user}:PASSWORD@{place}?compression=fast"),
            Self::CApi => return c_lines(compression),
            Self::PyMySql | Self::Sqlx => return Vec::new(),
        };
        vec![line]
    }
}

/// Before `mysql_real_connect()`.
fn c_lines(Compression { algorithm, level }: Compression) -> Vec<String> {
    let mut lines = vec![format!(
        "mysql_options(connection, MYSQL_OPT_COMPRESSION_ALGORITHMS, \"{}\");",
        algorithm.name()
    )];
    if algorithm == Algorithm::Zstd {
        lines.push(format!("unsigned int level = {level};"));
        lines.push("mysql_options(connection, MYSQL_OPT_ZSTD_COMPRESSION_LEVEL, &level);".to_owned());
    }
    lines
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Driver {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|driver| driver.name() == text)
            .ok_or_else(|| format!("one of {} is wanted", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZLIB: Compression = Compression { algorithm: Algorithm::Zlib, level: 6 };

    #[test]
    fn every_driver_has_a_name_of_its_own_that_is_read_again() {
        for driver in Driver::ALL {
            assert_eq!(driver.name().parse(), Ok(driver));
        }
        let told = "odbc".parse::<Driver>().unwrap_err();
        assert!(told.contains("odbc-mariadb, mysql_async"), "{told}");
    }

    #[test]
    fn lines_are_of_drivers_that_can_ask_and_name_the_option() {
        // The words of docs/drivers.md, without their values where a language writes these otherwise.
        let documented = include_str!("../../../../../../docs/drivers.md");
        for (driver, option) in [
            (Driver::ConnectorJ, "useCompression=true"),
            (Driver::MariaDbConnectorJ, "useCompression=true"),
            (Driver::Go, "compress=true"),
            (Driver::Mysqli, "MYSQLI_CLIENT_COMPRESS"),
            (Driver::Pdo, "PDO::MYSQL_ATTR_COMPRESS"),
            (Driver::ConnectorPython, "compress=True"),
            (Driver::Mysqlclient, "compress=True"),
            (Driver::Mysql2, "compress: true"),
            (Driver::MariaDbNode, "compress: true"),
            (Driver::DbdMysql, "mysql_compression=1"),
            (Driver::DbdMariaDb, "mariadb_compression=1"),
            (Driver::Odbc, "OPTION=2048"),
            (Driver::MysqlAsync, "compression=fast"),
        ] {
            let tls = Tls::new(&[]);
            let to = Place { host: "db", port: "3307", user: "me", is_mariadb: false, tls: &tls };
            let (_, lines) = driver.asking(&to, ZLIB).unwrap();
            assert!(lines[0].contains(option) && lines[0].contains("3307"), "{lines:?}");
            assert!(documented.contains(&format!("`{option}`")), "{option}");
            let zstd = Compression { algorithm: Algorithm::Zstd, level: 3 };
            assert_eq!(driver.asking(&to, zstd), None);
        }
        let tls = Tls::new(&[]);
        let to = Place { host: "db", port: "3307", user: "me", is_mariadb: true, tls: &tls };
        for driver in [Driver::PyMySql, Driver::Sqlx] {
            assert_eq!(driver.asking(&to, ZLIB), None);
        }
        let (_, lines) = Driver::ConnectorPython.asking(&to, ZLIB).unwrap();
        assert!(lines[0].ends_with("compress=True, collation='utf8mb4_general_ci')"), "{lines:?}");
    }
}
