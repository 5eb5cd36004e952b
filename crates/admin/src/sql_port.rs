//! The admin port that speaks MySQL.
//!
//! Invariants: a port of the network has a password; a Unix socket's file is its owner's alone; its clients are served
//! by threads of their own, never by a worker of the proxy.
//! Not here: what it shows (`tables`).

use std::io;
use std::net::ToSocketAddrs;
use std::sync::Arc;

use mysqlite::{Account, Method, Options, Server, StartFault, Store};
use proxy::{Address, remove_stale_socket};
use rustix::fs::Mode;
use rustix::process::umask;

use crate::{Credentials, Fault, Tables};

/// An open port. It closes when this is dropped.
pub struct SqlPort {
    server: Server,
}

impl SqlPort {
    /// Opens the port.
    pub fn open(listen: &Address, credentials: &Credentials, tables: Tables) -> Result<Self, Fault> {
        credentials.check(OPTION, listen)?;
        let fault = |error| Fault::Listen { option: OPTION, address: listen.clone(), error };
        let mut options = Options {
            tcp: None,
            accounts: vec![Account::new(credentials.user.clone(), &credentials.password)],
            method: Method::CachingSha2,
            ..Options::default()
        };
        match listen {
            Address::Tcp { host, port } => {
                let found = (host.as_str(), *port).to_socket_addrs().map_err(fault)?.next();
                options.tcp = Some(found.ok_or_else(|| fault(io::ErrorKind::NotFound.into()))?);
            }
            Address::Unix(path) => {
                remove_stale_socket(path).map_err(fault)?;
                options.unix = Some(path.clone());
            }
            Address::Pair(_) => return Err(fault(crate::no_pair())),
        }
        let store = Store::open_live(Arc::new(tables))?;
        // The socket's file is made with this, and nobody makes files meanwhile.
        let before = umask(Mode::RWXG | Mode::RWXO);
        let server = Server::start_with(options, Arc::new(store));
        umask(before);
        server.map(|server| Self { server }).map_err(|error| match error {
            StartFault::Listen { cause, .. } => fault(cause),
            other => Fault::Database(other),
        })
    }

    /// Where it listens, with the port that the system chose if 0 was asked.
    pub fn address(&self) -> Option<Address> {
        let socket = || self.server.socket().map(|path| Address::Unix(path.to_owned()));
        self.server.address().map(Address::from).or_else(socket)
    }
}

const OPTION: &str = "--admin-listen";
