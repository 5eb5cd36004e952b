//! What a test may ask of its private server.
//!
//! Not here: options every server gets (`server`).

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};

/// How to start a private server. The default is a small one on 127.0.0.1, without binary log.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) bind: IpAddr,
    pub(super) binary_log: Option<u32>,
    pub(super) resolves_names: bool,
    pub(super) arguments: Vec<OsString>,
    pub(super) through: Vec<OsString>,
    pub(super) is_galera_node: bool,
}

impl Options {
    /// The default: 127.0.0.1, no binary log, names of clients not looked up.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            binary_log: None,
            resolves_names: false,
            arguments: Vec::new(),
            through: Vec::new(),
            is_galera_node: false,
        }
    }

    /// Adds an option of the server, such as `--max-connect-errors=5`. It wins over ours.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Listens on `address` instead of 127.0.0.1; the unspecified address means all.
    #[must_use]
    pub const fn bind(mut self, address: IpAddr) -> Self {
        self.bind = address;
        self
    }

    /// Writes a row-based binary log, as sources and replicas do; ids of servers that replicate must differ.
    #[must_use]
    pub const fn binary_log(mut self, server_id: u32) -> Self {
        self.binary_log = Some(server_id);
        self
    }

    /// Lets the server look up the names of its clients. Only then has it the cache of hosts that
    /// `max_connect_errors` counts in.
    #[must_use]
    pub const fn resolve_names(mut self) -> Self {
        self.resolves_names = true;
        self
    }

    /// Makes MariaDB the first node of a Galera cluster of its own.
    #[must_use]
    pub const fn galera_node(mut self) -> Self {
        self.is_galera_node = true;
        self
    }

    /// Runs the server through a program that execs it, such as `ip netns exec NAME`.
    #[must_use]
    pub fn through<T: Into<OsString>>(mut self, command: impl IntoIterator<Item = T>) -> Self {
        self.through = command.into_iter().map(Into::into).collect();
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
