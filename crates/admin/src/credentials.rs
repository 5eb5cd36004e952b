//! Who may look at the proxy.
//!
//! Invariants: a port of the network has a password; a Unix socket may go without, since its file is its owner's alone.
//! Not here: how they are proved (`mysqlite::Account`).

use std::io;
use std::path::Path;

use proxy::Address;

use crate::Fault;

/// A name, and a password where there is one.
#[derive(Clone)]
pub struct Credentials {
    /// Account name.
    pub user: String,
    pub(crate) password: String,
}

impl Credentials {
    /// Reads the password, if there is a file for it: its first line.
    pub fn read(user: &str, password_file: Option<&Path>) -> Result<Self, Fault> {
        let Some(path) = password_file else {
            return Ok(Self { user: user.to_owned(), password: String::new() });
        };
        let fault = |error| Fault::Password { path: path.to_owned(), error };
        let text = std::fs::read_to_string(path).map_err(fault)?;
        let password = text.lines().next().unwrap_or_default().to_owned();
        if password.is_empty() {
            return Err(fault(io::Error::new(io::ErrorKind::InvalidData, "it is empty")));
        }
        Ok(Self { user: user.to_owned(), password })
    }

    /// Errors: `NoPassword` where `address` is on a network and there is none.
    pub(crate) fn check(&self, option: &'static str, address: &Address) -> Result<(), Fault> {
        match address {
            Address::Tcp { .. } if self.password.is_empty() => {
                Err(Fault::NoPassword { option, address: address.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// Without the password.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}
