//! A real server, as `mysql://user:password@host:port/database`.
//!
//! ```text
//! mysql://user:password@host:port/database?socket=/path
//!         │    │        │    │    │         └ instead of host and port
//!         │    │        │    │    └ schema in which tables are made; must exist
//!         │    │        │    └ 3306 unless given
//!         │    │        └ name, address, or IPv6 literal in brackets
//!         └────┴ percent-encoded where they hold : / @ % ? or #
//! ```
//!
//! Invariants: neither `Debug` nor an error shows the password.
//!
//! Not here: options of drivers behind the '?' other than `socket`; TLS, which has options of the command line.

use std::path::PathBuf;
use std::str::FromStr;

use lab::link::Address;
use zeroize::Zeroizing;

use crate::client::Account;

/// Where a real server is and who we are there.
#[derive(Debug, Clone)]
pub struct ServerUrl {
    /// Where it listens.
    pub address: Address,
    /// User, password, schema.
    pub account: Account,
}

/// What is wrong with a server's URL. The URL itself is not repeated: it may hold a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server's URL {cause}; write mysql://user:password@host:port/database")]
pub struct ServerUrlFault {
    cause: Cause,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Cause {
    #[error("does not begin with mysql://")]
    Scheme,
    #[error("names no user before an @")]
    User,
    #[error("names no host")]
    Host,
    #[error("has the port '{0}', which is not a number from 1 to 65535")]
    Port(String),
    #[error("names no database behind the host: one that exists, in which tables may be made")]
    Database,
    #[error("has '{0}' behind the '?', where only socket=/path is known")]
    Query(String),
    #[error("has a % that is not followed by two hexadecimal digits, or hides bytes that are not UTF-8")]
    Percent,
}

impl FromStr for ServerUrl {
    type Err = ServerUrlFault;

    fn from_str(text: &str) -> Result<Self, ServerUrlFault> {
        parse(text).map_err(|cause| ServerUrlFault { cause })
    }
}

fn parse(text: &str) -> Result<ServerUrl, Cause> {
    let rest = text.strip_prefix("mysql://").ok_or(Cause::Scheme)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (who, host) = authority.rsplit_once('@').ok_or(Cause::User)?;
    let (user, password) = who.split_once(':').unwrap_or((who, ""));
    if user.is_empty() {
        return Err(Cause::User);
    }
    let account = Account {
        user: percent_decoded(user)?,
        password: Zeroizing::new(percent_decoded(password)?),
        database: percent_decoded(database)?,
        tls: None,
    };
    let address = match socket(query)? {
        Some(path) => Address::Unix(path),
        None => Address::Tcp(tcp(host)?),
    };
    if account.database.is_empty() {
        return Err(Cause::Database);
    }
    Ok(ServerUrl { address, account })
}

fn socket(query: &str) -> Result<Option<PathBuf>, Cause> {
    if query.is_empty() {
        return Ok(None);
    }
    match query.strip_prefix("socket=") {
        Some(path) if path.starts_with(['/', '%']) => Ok(Some(PathBuf::from(percent_decoded(path)?))),
        _ => Err(Cause::Query(query.to_owned())),
    }
}

/// `host:port` as the system's resolver reads it.
fn tcp(host: &str) -> Result<String, Cause> {
    // The colons of an IPv6 literal stand inside its brackets.
    let port_at = host.rfind(':').filter(|at| host.rfind(']').is_none_or(|bracket| bracket < *at));
    let (name, port) = match port_at {
        Some(at) => (host.get(..at).unwrap_or_default(), host.get(at + 1..).unwrap_or_default()),
        None => (host, DEFAULT_PORT),
    };
    if name.is_empty() {
        return Err(Cause::Host);
    }
    match port.parse::<u16>() {
        Ok(1..) => Ok(format!("{name}:{port}")),
        _ => Err(Cause::Port(port.to_owned())),
    }
}

fn percent_decoded(text: &str) -> Result<String, Cause> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16)).ok_or(Cause::Percent);
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).map_err(|_| Cause::Percent)?);
    }
    String::from_utf8(bytes).map_err(|_| Cause::Percent)
}

/// MySQL's own.
const DEFAULT_PORT: &str = "3306";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, String, String, String) {
        let url: ServerUrl = text.parse().unwrap();
        let Account { user, password, database, tls: _ } = url.account;
        (url.address.to_string(), user, password.to_string(), database)
    }

    fn fields(address: &str, user: &str, password: &str, database: &str) -> (String, String, String, String) {
        (address.to_owned(), user.to_owned(), password.to_owned(), database.to_owned())
    }

    #[test]
    fn urls_are_read_as_people_write_them() {
        assert_eq!(
            parsed("mysql://me:pw@db.example:3307/test"),
            fields("db.example:3307", "me", "pw", "test")
        );
        assert_eq!(parsed("mysql://me@localhost/test"), fields("localhost:3306", "me", "", "test"));
        assert_eq!(parsed("mysql://me:@[::1]:3307/test"), fields("[::1]:3307", "me", "", "test"));
        assert_eq!(parsed("mysql://me@[::1]/test"), fields("[::1]:3306", "me", "", "test"));
        assert_eq!(parsed("mysql://m%40e:a%2Fb%3a%25@h/d%20b"), fields("h:3306", "m@e", "a/b:%", "d b"));
        assert_eq!(parsed("mysql://me:p@ss@h/d"), fields("h:3306", "me", "p@ss", "d"));
        assert_eq!(parsed("mysql://me@/d?socket=/run/my.sock"), fields("unix:/run/my.sock", "me", "", "d"));
    }

    #[test]
    fn errors_say_what_is_missing_and_never_repeat_the_password() {
        for (text, part) in [
            ("postgres://me:hush@h/d", "does not begin with mysql://"),
            ("mysql://h/d", "names no user before an @"),
            ("mysql://:hush@h/d", "names no user before an @"),
            ("mysql://me:hush@:3306/d", "names no host"),
            ("mysql://me:hush@h:0/d", "has the port '0'"),
            ("mysql://me:hush@h:port/d", "has the port 'port'"),
            ("mysql://me:hush@h", "names no database"),
            ("mysql://me:hush@h/", "names no database"),
            ("mysql://me:hush%2@h/d", "has a % that is not followed"),
            ("mysql://me:hush@h/d?ssl=true", "has 'ssl=true' behind the '?'"),
        ] {
            let message = text.parse::<ServerUrl>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
            assert!(message.contains("write mysql://user:password@host:port/database"), "{message}");
            assert!(!message.contains("hush"), "{message}");
        }
        let url: ServerUrl = "mysql://me:hush@h/d".parse().unwrap();
        assert!(!format!("{url:?}").contains("hush"));
    }
}
