//! The drivers, and how each is told to compress and to use TLS.
//!
//! Not here: the programs (`tests/drivers`), versions (`scripts/fetch-drivers` writes them down).

/// A driver, and what must be known to use it.
#[derive(Debug)]
pub(crate) struct Driver {
    /// Its program in the cache.
    pub(crate) name: &'static str,
    /// What its users call it.
    pub(crate) title: &'static str,
    /// How its compression is turned on, if it has any.
    pub(crate) compression: Option<&'static str>,
    /// How its TLS is turned on.
    pub(crate) tls: &'static str,
    /// What else it needs.
    pub(crate) note: &'static str,
    /// A line on standard error that it prints without a proxy as well.
    pub(crate) known_warning: Option<&'static str>,
}

const KEY: &str = "Without TLS it asks the server for its RSA key.";
const C_LIBRARY: &str = "Uses MariaDB Connector/C.";

/// In the order of the matrix.
pub(crate) const ALL: [&Driver; 21] = [
    &MYSQL_CLI,
    &MYSQL_CLI_ZSTD,
    &MARIADB_CLI,
    &CONNECTOR_PURE,
    &CONNECTOR_C,
    &PYMYSQL,
    &MYSQLCLIENT,
    &PYODBC,
    &MYSQL2,
    &MARIADB_NODE,
    &GO,
    &CONNECTOR_J,
    &MARIADB_J,
    &MARIADB_J_2,
    &MYSQLI,
    &PDO,
    &RUBY,
    &DBD_MYSQL,
    &DBD_MARIADB,
    &MYSQL_ASYNC,
    &SQLX,
];

pub(crate) const MYSQL_CLI: Driver = Driver {
    name: "mysql-cli",
    title: "mysql",
    compression: Some("--compression-algorithms=zlib"),
    tls: "--ssl-mode=REQUIRED",
    note: "--get-server-public-key without TLS.",
    known_warning: None,
};
pub(crate) const MYSQL_CLI_ZSTD: Driver = Driver {
    name: "mysql-cli-zstd",
    title: "mysql (zstd)",
    compression: Some("--compression-algorithms=zstd"),
    note: "As mysql. MariaDB has no zstd; through the proxy the client has it all the same.",
    ..MYSQL_CLI
};
pub(crate) const MARIADB_CLI: Driver = Driver {
    name: "mariadb-cli",
    title: "mariadb",
    compression: Some("--compress"),
    tls: "--ssl",
    note: C_LIBRARY,
    known_warning: None,
};
/// Pure Python, the receiver that returns wrong data when frames are cut where servers don't. It sends its password
/// in clear without TLS, which MySQL denies and the proxy mends.
pub(crate) const CONNECTOR_PURE: Driver = Driver {
    name: "mysql-connector-pure",
    title: "MySQL Connector/Python, pure",
    compression: Some("compress=True"),
    tls: "ssl_disabled=False",
    note: "MariaDB does not know its default collation: collation=utf8mb4_general_ci. Without TLS it cannot log in to \
           MySQL as an account that the server does not remember; through the proxy it can.",
    known_warning: None,
};
pub(crate) const CONNECTOR_C: Driver = Driver {
    name: "mysql-connector-c",
    title: "MySQL Connector/Python, C",
    note: "collation as above. Without TLS it cannot ask for the server's RSA key.",
    ..CONNECTOR_PURE
};
pub(crate) const PYMYSQL: Driver = Driver {
    name: "pymysql",
    title: "PyMySQL",
    compression: None,
    tls: "ssl=SSLContext",
    note: KEY,
    known_warning: None,
};
pub(crate) const MYSQLCLIENT: Driver = Driver {
    name: "mysqlclient",
    title: "mysqlclient (Python)",
    compression: Some("compress=True"),
    tls: "ssl={'cipher': ...}",
    note: "Uses MariaDB Connector/C. compress=False turns compression on as well.",
    known_warning: None,
};
pub(crate) const PYODBC: Driver = Driver {
    name: "odbc-mariadb",
    title: "MariaDB Connector/ODBC",
    compression: Some("OPTION=2048"),
    tls: "FORCETLS=1",
    note: "Run by pyodbc. Uses MariaDB Connector/C.",
    known_warning: None,
};
/// Compares the server's packet ids, which jump in frames, with its own; directly it warns even more often.
pub(crate) const MYSQL2: Driver = Driver {
    name: "mysql2",
    title: "mysql2 (Node.js)",
    compression: Some("compress: true"),
    tls: "ssl: {...}",
    note: "Warns of packets out of order when compressed, directly as well.",
    known_warning: Some("Warning: got packets out of order."),
};
pub(crate) const MARIADB_NODE: Driver = Driver {
    name: "mariadb-node",
    title: "mariadb (Node.js)",
    compression: Some("compress: true"),
    tls: "ssl: {...}",
    note: "allowPublicKeyRetrieval: true without TLS.",
    known_warning: None,
};
pub(crate) const GO: Driver = Driver {
    name: "go-sql-driver",
    title: "go-sql-driver/mysql",
    compression: Some("compress=true"),
    tls: "tls=skip-verify",
    note: "Warns of unexpected sequence numbers between results when compressed, directly as well.",
    known_warning: Some("unexpected sequence nr"),
};
pub(crate) const CONNECTOR_J: Driver = Driver {
    name: "connector-j",
    title: "MySQL Connector/J",
    compression: Some("useCompression=true"),
    tls: "sslMode=REQUIRED",
    note: "allowPublicKeyRetrieval=true without TLS.",
    known_warning: None,
};
/// Pipelines: its commands come before the replies to those before them.
pub(crate) const MARIADB_J: Driver = Driver {
    name: "mariadb-connector-j",
    title: "MariaDB Connector/J 3",
    tls: "sslMode=trust",
    note: "allowPublicKeyRetrieval=true without TLS; sends batches without waiting for replies.",
    ..CONNECTOR_J
};
/// Its numbering of packets is its own.
pub(crate) const MARIADB_J_2: Driver = Driver {
    name: "mariadb-connector-j-2",
    title: "MariaDB Connector/J 2.7",
    tls: "useSsl=true",
    ..MARIADB_J
};
pub(crate) const MYSQLI: Driver = Driver {
    name: "mysqli",
    title: "PHP mysqli",
    compression: Some("MYSQLI_CLIENT_COMPRESS"),
    tls: "MYSQLI_CLIENT_SSL",
    note: KEY,
    known_warning: None,
};
pub(crate) const PDO: Driver = Driver {
    name: "pdo",
    title: "PHP PDO",
    compression: Some("PDO::MYSQL_ATTR_COMPRESS"),
    tls: "PDO::MYSQL_ATTR_SSL_CA, or as here PDO::MYSQL_ATTR_SSL_CIPHER without a check",
    ..MYSQLI
};
pub(crate) const RUBY: Driver = Driver {
    name: "ruby-mysql2",
    title: "mysql2 (Ruby)",
    compression: Some("flags: COMPRESS"),
    tls: "sslcipher: ...",
    note: "Uses MariaDB Connector/C, with which it has no ssl_mode.",
    known_warning: None,
};
pub(crate) const DBD_MYSQL: Driver = Driver {
    name: "dbd-mysql",
    title: "Perl DBD::mysql",
    compression: Some("mysql_compression=1"),
    tls: "mysql_ssl=1",
    note: C_LIBRARY,
    known_warning: None,
};
pub(crate) const DBD_MARIADB: Driver = Driver {
    name: "dbd-mariadb",
    title: "Perl DBD::MariaDB",
    compression: Some("mariadb_compression=1"),
    tls: "mariadb_ssl=1",
    ..DBD_MYSQL
};
pub(crate) const MYSQL_ASYNC: Driver = Driver {
    name: "mysql_async",
    title: "mysql_async (Rust)",
    compression: Some("compression=fast"),
    tls: "ssl_opts",
    note: KEY,
    known_warning: None,
};
pub(crate) const SQLX: Driver = Driver {
    name: "sqlx",
    title: "sqlx (Rust)",
    compression: None,
    tls: "ssl-mode=REQUIRED",
    note: "Reads no text row whose first value has 16 MiB or more, directly as well; prepared statements do.",
    known_warning: None,
};
