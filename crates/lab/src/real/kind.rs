//! Which server: its programs and its own options.
//!
//! Not here: options that every kind takes (`server`), where programs are (`install`).

use std::fmt;

/// A server that `scripts/fetch-servers` can fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// MySQL, 9 on Debian, what Ubuntu packages there (8.0.18 at least).
    MySql,
    /// MariaDB of the machine's own release.
    MariaDb,
    /// MariaDB 11.8, fetched by `scripts/fetch-servers --all` only.
    MariaDb118,
}

impl Kind {
    /// The server's program.
    #[must_use]
    pub const fn server_program(self) -> &'static str {
        match self {
            Self::MySql => "mysqld",
            Self::MariaDb => "mariadbd",
            Self::MariaDb118 => "mariadbd-11.8",
        }
    }

    /// The command line client that belongs to it.
    #[must_use]
    pub const fn client_program(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
            Self::MariaDb118 => "mariadb-11.8",
        }
    }

    /// Whether it is MariaDB of some version.
    #[must_use]
    pub const fn is_mariadb(self) -> bool {
        !matches!(self, Self::MySql)
    }

    /// Options that only this kind has or needs.
    pub(super) const fn own_arguments(self) -> &'static [&'static str] {
        match self {
            // The X protocol would open port 33060 besides. The log of an empty server is 8 MiB to keep the
            // template small; a row may not be larger than a tenth of the log, and tests send rows of 64 MiB.
            Self::MySql => &["--mysqlx=OFF", "--innodb-redo-log-capacity=1G"],
            Self::MariaDb | Self::MariaDb118 => &["--innodb-log-file-size=1G"],
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MySql => "MySQL",
            Self::MariaDb => "MariaDB",
            Self::MariaDb118 => "MariaDB 11.8",
        })
    }
}
