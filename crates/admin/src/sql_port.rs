//! The admin port that speaks MySQL.
//!
//! Invariants: a port of the network has a password, and TLS where other hosts reach it; a Unix socket's file is its owner's alone; its clients are served
//! by threads of their own, never by a worker of the proxy.
//! Not here: what it shows (`tables`).

use std::io;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::time::Duration;

use mysqlite::{Account, Limits, Method, Options, Server, StartFault, Store, Tls};
use proxy::{Address, ListenerTls, remove_stale_socket};
use rustix::fs::Mode;
use rustix::process::umask;

use crate::{Credentials, Fault, Tables};

/// An open port. It closes when this is dropped.
pub struct SqlPort {
    server: Server,
}

impl SqlPort {
    /// Opens the port.
    pub fn open(
        listen: &Address,
        credentials: &Credentials,
        tls: Option<&ListenerTls>,
        tables: Tables,
    ) -> Result<Self, Fault> {
        credentials.check(OPTION, listen)?;
        let fault = |error| Fault::Listen { option: OPTION, address: listen.clone(), error };
        let mut options = Options {
            tcp: None,
            accounts: vec![Account::new(credentials.user.clone(), &credentials.password)],
            method: Method::CachingSha2,
            tls: tls.map(ListenerTls::settings).transpose()?.map(|config| Tls { config: Arc::new(config) }),
            limits: LIMITS,
            ..Options::default()
        };
        match listen {
            Address::Tcp { host, port } => {
                let found = (host.as_str(), *port).to_socket_addrs().map_err(fault)?.next();
                let found = found.ok_or_else(|| fault(io::ErrorKind::NotFound.into()))?;
                if options.tls.is_none() && !found.ip().is_loopback() {
                    return Err(Fault::NoTls { option: OPTION, address: listen.clone() });
                }
                options.tcp = Some(found);
            }
            Address::Unix(path) => {
                remove_stale_socket(path).map_err(fault)?;
                options.unix = Some(path.clone());
            }
            Address::Pair(_) => return Err(fault(crate::no_pair())),
        }
        let store = Store::open_live(Arc::new(tables))?;
        store.limit_statements(STATEMENT_LIMIT);
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
const LIMITS: Limits = Limits {
    // More than operators and tools of a team; each is a thread.
    connections_max: 64,
    login: Duration::from_secs(10),
    // As MySQL's wait_timeout: a client that is left open over night finds its connection in the morning.
    idle: Duration::from_secs(28_800),
    write: Duration::from_secs(60),
};
/// Each table is read in milliseconds; what takes longer is a join without a condition.
const STATEMENT_LIMIT: Duration = Duration::from_secs(10);
