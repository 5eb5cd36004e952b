//! The servers of a listener: which one a session is given, and which are known to be down.
//!
//! ```text
//! health thread: check every --health-check-interval ──▶ Health per server ◀── failed dials of sessions
//! session: candidates in --routing-strategy's order, the next one where a server doesn't greet
//! ```
//! Invariants: a session changes its server only before the client has seen a byte; sessions that run are left
//! where they are.
//! Not here: dialling (`connect::greet`), how a check looks (`check`), when (`checks`).

mod check;
mod checks;
mod health;
mod monitor;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use self::checks::Checks;
use self::health::{Change, Health, Seen};
pub(crate) use self::monitor::Account;
use crate::{Address, Cause, ListenerConfig, RoutingStrategy, spare_file};

/// The servers of one listener, in the configuration's order.
pub(crate) struct Servers {
    list: Vec<Arc<Server>>,
    strategy: RoutingStrategy,
    /// Health counts only where something would find out that a server is back.
    is_checked: bool,
    /// Where the search among equals begins next.
    turn: AtomicUsize,
}

/// One server, by its address.
pub(crate) struct Server {
    pub(crate) address: Address,
    sessions: AtomicUsize,
    health: Mutex<Health>,
}

/// A session's place on a server.
pub(crate) struct Chosen(Arc<Server>);

impl Servers {
    /// Keeps what `previous` knew of the servers that stay.
    pub(crate) fn new(config: &ListenerConfig, previous: Option<&Self>) -> Self {
        let known = |address: &Address| {
            let list = previous.map_or(&[][..], |previous| &previous.list);
            list.iter().find(|server| server.address == *address).cloned()
        };
        let new = |address: &Address| {
            Arc::new(Server {
                address: address.clone(),
                sessions: AtomicUsize::new(0),
                health: Mutex::default(),
            })
        };
        Self {
            list: config
                .servers
                .iter()
                .map(|address| known(address).unwrap_or_else(|| new(address)))
                .collect(),
            strategy: config.routing_strategy,
            is_checked: config.health_check.is_needed(config.servers.len()),
            turn: AtomicUsize::new(0),
        }
    }

    /// The servers that are worth a try, best first. None: all are down.
    pub(crate) fn candidates(&self) -> Vec<Arc<Server>> {
        let is_up = |server: &&Arc<Server>| !self.is_checked || server.health().is_up();
        let mut candidates: Vec<_> = self.list.iter().filter(is_up).cloned().collect();
        if self.strategy == RoutingStrategy::LeastConnections && candidates.len() > 1 {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % candidates.len();
            candidates.rotate_left(turn);
            candidates.sort_by_key(|server| server.sessions.load(Ordering::Relaxed));
        }
        candidates
    }

    /// A session could not use `server`. Where nothing would find out that it is back this is forgotten.
    pub(crate) fn failed(&self, server: &Server, cause: &Cause) {
        if self.is_checked
            && let Some(seen) = Seen::failed(cause)
        {
            server.see(seen);
        }
    }

    /// Servers that are down, and why.
    pub(crate) fn down(&self) -> Vec<(Address, String)> {
        let down = |server: &Arc<Server>| {
            let health = server.health();
            (!health.is_up()).then(|| (server.address.clone(), health.reason().to_owned()))
        };
        self.checked().iter().filter_map(down).collect()
    }

    /// Every server: its address, its sessions, and why it is down.
    pub(crate) fn states(&self) -> Vec<(Address, usize, Option<String>)> {
        let state = |server: &Arc<Server>| {
            let health = server.health();
            let is_down = self.is_checked && !health.is_up();
            let down = is_down.then(|| health.reason().to_owned());
            (server.address.clone(), server.sessions.load(Ordering::Relaxed), down)
        };
        self.list.iter().map(state).collect()
    }

    /// The same as a text.
    pub(crate) fn reasons(&self) -> String {
        let down = self.down();
        down.iter().map(|(address, why)| format!("{address}: {why}")).collect::<Vec<_>>().join("; ")
    }

    /// The servers that somebody has to look after.
    fn checked(&self) -> &[Arc<Server>] {
        if self.is_checked { &self.list } else { &[] }
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, server) in self.list.iter().enumerate() {
            write!(f, "{}{}", if index > 0 { ", " } else { "" }, server.address)?;
        }
        Ok(())
    }
}

impl Server {
    /// Takes a place.
    pub(crate) fn choose(self: &Arc<Self>) -> Chosen {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        Chosen(Arc::clone(self))
    }

    /// Takes note of a look at the server, and logs what that changes.
    fn see(&self, seen: Seen) {
        let change = self.health().see(seen);
        let server = &self.address;
        match change {
            Some(Change::Down(reason)) => tracing::warn!(%server, "the server is down: {reason}"),
            Some(Change::Up) => tracing::info!(%server, "the server is up again"),
            Some(Change::Notice(notice)) => tracing::warn!(%server, "health check: {notice}"),
            None => {}
        }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// What a failure says of the server; `None` for want of files, which is our own trouble.
    fn failed(cause: &Cause) -> Option<Self> {
        match cause {
            Cause::Io(error) if spare_file::is_wanted(error) => None,
            cause => Some(Self::Silent(cause.to_string())),
        }
    }
}

impl Chosen {
    /// The server has let the session in.
    pub(crate) fn let_in(&self) {
        self.0.health().let_in();
    }

    pub(crate) fn address(&self) -> &Address {
        &self.0.address
    }
}

impl Drop for Chosen {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(strategy: RoutingStrategy) -> ListenerConfig {
        let address = |port: u16| Address::Tcp { host: "192.0.2.1".to_owned(), port };
        let mut config = ListenerConfig::new(address(1), address(2));
        config.servers = vec![address(10), address(11), address(12)];
        config.routing_strategy = strategy;
        config
    }

    fn ports(servers: &Servers) -> Vec<u16> {
        let port = |server: &Arc<Server>| match server.address {
            Address::Tcp { port, .. } => port,
            Address::Unix(_) | Address::Pair(_) => 0,
        };
        servers.candidates().iter().map(port).collect()
    }

    #[test]
    fn the_first_available_server_comes_first_and_those_that_are_down_not_at_all() {
        let servers = Servers::new(&config(RoutingStrategy::FirstAvailable), None);
        let _busy = servers.list[0].choose();
        assert_eq!(ports(&servers), [10, 11, 12]);
        servers.list[0].see(Seen::Unfit("it is not Synced".to_owned()));
        assert_eq!(ports(&servers), [11, 12]);
        for server in &servers.list[1..] {
            server.see(Seen::Unfit("its replication is down".to_owned()));
        }
        assert!(ports(&servers).is_empty());
        assert!(servers.reasons().contains("192.0.2.1:10: it is not Synced"), "{}", servers.reasons());
    }

    #[test]
    fn the_server_with_the_least_connections_comes_first_and_equals_take_turns() {
        let servers = Servers::new(&config(RoutingStrategy::LeastConnections), None);
        let busy = servers.list[0].choose();
        let firsts: Vec<_> = (0..4).map(|_| ports(&servers)[0]).collect();
        assert!(firsts.contains(&11) && firsts.contains(&12) && !firsts.contains(&10), "{firsts:?}");
        let _others = [servers.list[1].choose(), servers.list[2].choose()];
        drop(busy);
        assert_eq!(ports(&servers)[0], 10);
    }

    #[test]
    fn sessions_find_a_dead_server_but_want_of_files_is_not_its_fault() {
        let mut config = config(RoutingStrategy::FirstAvailable);
        let servers = Servers::new(&config, None);
        let no_files = || Cause::Io(rustix::io::Errno::MFILE.into());
        let refused = || Cause::Io(std::io::ErrorKind::ConnectionRefused.into());
        for _ in 0..3 {
            servers.failed(&servers.list[0], &no_files());
            servers.failed(&servers.list[1], &refused());
        }
        assert_eq!(ports(&servers), [10, 12]);
        config.health_check.interval = None;
        let servers = Servers::new(&config, None);
        (0..3).for_each(|_| servers.failed(&servers.list[1], &refused()));
        assert!(servers.list[1].health().is_up(), "nobody would find it up again");
    }

    #[test]
    fn failures_with_sessions_that_are_let_in_between_take_no_server_out_of_service() {
        let servers = Servers::new(&config(RoutingStrategy::FirstAvailable), None);
        let refused = || Cause::Io(std::io::ErrorKind::ConnectionRefused.into());
        for _ in 0..6 {
            servers.failed(&servers.list[0], &refused());
            servers.list[0].choose().let_in();
        }
        assert_eq!(ports(&servers), [10, 11, 12]);
    }

    #[test]
    fn a_reload_keeps_what_is_known_and_unchecked_servers_are_never_down() {
        let mut config = config(RoutingStrategy::FirstAvailable);
        let servers = Servers::new(&config, None);
        servers.list[0].see(Seen::Unfit(String::new()));
        assert_eq!(ports(&Servers::new(&config, Some(&servers))), [11, 12]);
        config.health_check.interval = None;
        assert_eq!(ports(&Servers::new(&config, Some(&servers))), [10, 11, 12]);
    }
}
