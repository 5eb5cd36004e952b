//! Capability flags: MySQL's 32 bits, and MariaDB's extended ones above them.
//!
//! Source: MySQL `include/mysql_com.h`, MariaDB `include/mysql_com.h`.
//! Not here: agreeing on compression (`connect::negotiate`).

use std::ops::{BitAnd, BitOr, Sub};

/// A set of capability flags. Bits 0 to 31 are MySQL's, 32 to 63 MariaDB's extended capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Capabilities(pub u64);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl Capabilities {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*

            const NAMES: &[(Self, &str)] = &[$((Self::$name, stringify!($name))),*];
        }
    };
}

flags! {
    /// CLIENT_LONG_PASSWORD; MariaDB calls it CLIENT_MYSQL: clear means extended capabilities follow.
    LONG_PASSWORD = 0;
    /// The affected-rows count is of found rows.
    FOUND_ROWS = 1;
    /// Longer flags in column definitions.
    LONG_FLAG = 2;
    /// A database name is in the login.
    CONNECT_WITH_DB = 3;
    /// zlib compression.
    COMPRESS = 5;
    /// LOAD DATA LOCAL.
    LOCAL_FILES = 7;
    /// Spaces before the parenthesis of a function are ignored.
    IGNORE_SPACE = 8;
    /// The protocol of MySQL 4.1 and later.
    PROTOCOL_41 = 9;
    /// An interactive client: `interactive_timeout` counts.
    INTERACTIVE = 10;
    /// TLS.
    SSL = 11;
    /// Status flags in OK and EOF.
    TRANSACTIONS = 13;
    /// Authentication of 4.1.
    SECURE_CONNECTION = 15;
    /// Several statements in a command.
    MULTI_STATEMENTS = 16;
    /// Several results in a reply.
    MULTI_RESULTS = 17;
    /// Several results of a prepared statement.
    PS_MULTI_RESULTS = 18;
    /// Authentication plugins.
    PLUGIN_AUTH = 19;
    /// Connection attributes in the login.
    CONNECT_ATTRS = 20;
    /// The authentication response's length is length-encoded.
    PLUGIN_AUTH_LENENC_CLIENT_DATA = 21;
    /// Expired passwords can be handled.
    CAN_HANDLE_EXPIRED_PASSWORDS = 22;
    /// Session state in OK.
    SESSION_TRACK = 23;
    /// OK instead of EOF.
    DEPRECATE_EOF = 24;
    /// The client may be spared column definitions.
    OPTIONAL_RESULTSET_METADATA = 25;
    /// zstd compression; a level byte ends the login.
    ZSTD_COMPRESSION_ALGORITHM = 26;
    /// Query attributes in COM_QUERY and COM_STMT_EXECUTE.
    QUERY_ATTRIBUTES = 27;
    /// Several authentication factors.
    MULTI_FACTOR_AUTHENTICATION = 28;
    /// MariaDB: progress reports in the middle of a reply.
    MARIADB_PROGRESS = 32;
    /// MariaDB: bulk execution.
    MARIADB_STMT_BULK_OPERATIONS = 34;
    /// MariaDB: extended types in column definitions.
    MARIADB_EXTENDED_METADATA = 35;
    /// MariaDB: column definitions may be left out when unchanged.
    MARIADB_CACHE_METADATA = 36;
    /// MariaDB: one result per bulk row.
    MARIADB_BULK_UNIT_RESULTS = 37;
}

impl Capabilities {
    /// No flag.
    pub const NONE: Self = Self(0);

    /// Whether all of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set with `flag` set or cleared.
    #[must_use]
    pub const fn with(self, flag: Self, on: bool) -> Self {
        if on { Self(self.0 | flag.0) } else { Self(self.0 & !flag.0) }
    }

    /// MySQL's 32 bits.
    pub const fn mysql_bits(self) -> u32 {
        let [a, b, c, d, ..] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// MariaDB's extended 32 bits.
    pub const fn mariadb_bits(self) -> u32 {
        let [.., a, b, c, d] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// From MySQL's bits and MariaDB's.
    pub const fn from_bits(mysql: u32, mariadb: u32) -> Self {
        Self(mysql as u64 | (mariadb as u64) << 32)
    }
}

impl BitOr for Capabilities {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Capabilities {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for Capabilities {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl std::fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = Self::NAMES.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name);
        f.debug_set().entries(names).finish()
    }
}
