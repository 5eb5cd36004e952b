//! Authentication through the proxy, by real clients on real servers, on every pair of transports.
//!
//! ```text
//! client leg        server leg      caching_sha2_password's full authentication
//! TCP               TCP             RSA from end to end
//! TCP               Unix socket     RSA up to the proxy (its own key), clear behind it
//! Unix socket       TCP             clear up to the proxy, RSA (the server's key) behind it
//! Unix socket       Unix socket     clear from end to end
//! ```
//! An account that was just made is in no server's cache: its first login is a full authentication.
//!
//! Not here: rules of the exchange on bytes (`wire::connect::auth`), probes and blocked hosts (`probes`).

mod change_user;
mod connection;
mod mariadb;
mod mysql;
mod refusals;
mod unnamed;

use std::sync::atomic::{AtomicU32, Ordering};

use lab::real::RealServer;

pub(crate) use self::connection::Connection;

/// Makes an account that no test has used, with some rights; `identified` is what follows its name.
pub(crate) fn new_account(server: &RealServer, identified: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("account_{}", COUNT.fetch_add(1, Ordering::Relaxed));
    server
        .sql(&format!("create user '{name}'@'%' {identified}; grant select on *.* to '{name}'@'%'"))
        .unwrap();
    name
}

/// What a login must print: the account it was matched with.
const WHO: &str = "select current_user()";

fn is(account: &str) -> Result<String, String> {
    Ok(format!("{account}@%"))
}

pub(crate) fn assert_denied(result: &Result<String, String>, context: &str) {
    let message = result.as_ref().unwrap_err();
    assert!(message.contains("ERROR 1045 (28000): Access denied for user"), "{context}: {message}");
}
