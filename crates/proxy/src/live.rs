//! A running proxy as others may look at it, and the little that they may change.
//!
//! Invariants: holds no listening socket open; nothing here can read what passes, but for first bytes of statements with `--query-text`
//! (a tap copies replies to measure them, and tells lengths and times);
//! what is changed here counts for new
//! sessions only, and until the settings are read again.
//! Not here: who may look (crate `admin`).

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use codec::{AlgorithmSet, ZlibLevel, ZstdLevel};

use crate::counters::FaultLabels;
use crate::listener::Listener;
use crate::meter::Connection;
use crate::registry::{Sum, SumLabels};
use crate::route::{FileError, Route};
use crate::tap::{TapCodec, TapExchange, TapRefused, TapState};
use crate::worker::Shared;
use crate::{Address, LinkState, ListenerConfig, Policy};

/// A running proxy. It may outlive it: then there is nothing to see.
#[derive(Clone)]
pub struct Live {
    listeners: Vec<Weak<Listener>>,
    shared: Arc<Shared>,
    begun: Instant,
}

/// A listener.
#[derive(Debug, Clone)]
pub struct ListenerState {
    /// Where it listens.
    pub address: Address,
    /// The settings of new sessions.
    pub config: ListenerConfig,
}

/// A server of a listener.
#[derive(Debug, Clone)]
pub struct ServerState {
    /// Where the listener listens.
    pub listener: Address,
    /// Where the server is.
    pub address: Address,
    /// Sessions of this proxy on it.
    pub sessions: usize,
    /// Why it gets no new sessions; `None` while it does.
    pub down: Option<String>,
}

/// A setting that can be changed while the proxy runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// `protocol_compression_algorithms`.
    Permitted(AlgorithmSet),
    /// `zstd_compression_level`.
    ZstdLevel(ZstdLevel),
    /// `zstd_compression_level_max`.
    ZstdLevelMax(ZstdLevel),
    /// `zlib_compression_level`.
    ZlibLevel(ZlibLevel),
    /// `intercept_session_status`.
    InterceptSessionStatus(bool),
    /// `policy`.
    Policy(Policy),
    /// `cost_p99_percent`.
    CostP99Percent(u32),
}

impl Live {
    pub(crate) fn new(listeners: &[Arc<Listener>], shared: Arc<Shared>) -> Self {
        let listeners = listeners.iter().map(Arc::downgrade).collect();
        Self { listeners, shared, begun: Instant::now() }
    }

    /// Sessions that run, by id.
    pub fn connections(&self) -> Vec<Connection> {
        self.shared.registry.connections()
    }

    /// Sums over all sessions that have logged in, those included that run.
    pub fn sums(&self) -> BTreeMap<SumLabels, Sum> {
        self.shared.registry.sums()
    }

    /// Ends a session, by its id here; was it there?
    pub fn kill(&self, id: u64) -> bool {
        self.shared.registry.kill(id)
    }

    /// Sessions begun so far, and those that have not ended.
    pub fn sessions(&self) -> (u64, u64) {
        (self.shared.counters.sessions(), self.shared.counters.sessions_open())
    }

    /// Sessions that ended out of order, by side, phase and cause.
    pub fn faults(&self) -> BTreeMap<FaultLabels, u64> {
        self.shared.counters.faults()
    }

    /// For how long it has run.
    pub fn uptime(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether new sessions are taken.
    pub fn is_ready(&self) -> bool {
        let listens = self.listeners.iter().any(|listener| listener.strong_count() > 0);
        listens && !self.shared.ending.is_draining()
    }

    /// The listeners.
    pub fn listeners(&self) -> Vec<ListenerState> {
        let state = |listener: Arc<Listener>| ListenerState {
            address: listener.address().clone(),
            config: listener.route().config.clone(),
        };
        self.listeners.iter().filter_map(Weak::upgrade).map(state).collect()
    }

    /// Each listener's servers.
    pub fn servers(&self) -> Vec<ServerState> {
        let states = |listener: Arc<Listener>| {
            let servers = listener.route().servers.states();
            let address = listener.address().clone();
            let state = move |(server, sessions, down)| ServerState {
                listener: address.clone(),
                address: server,
                sessions,
                down,
            };
            servers.into_iter().map(state)
        };
        self.listeners.iter().filter_map(Weak::upgrade).flat_map(states).collect()
    }

    /// Links to peers that frames were paced for, by peer.
    pub fn links(&self) -> Vec<LinkState> {
        self.shared.links.states()
    }

    /// CPU time that packing by [`Policy::Cost`] may take, in per cent of one core.
    pub fn cost_cpu_percent(&self) -> u32 {
        self.shared.cpu_allowance.hold().0.percent()
    }

    /// Changes that, for all sessions at once.
    pub fn set_cost_cpu_percent(&self, percent: u32) {
        self.shared.cpu_allowance.hold().0.set(percent);
    }

    /// Looks at what passes for so long, for the advisor; no time ends it.
    ///
    /// Errors: it is on already.
    pub fn set_tap(&self, time: Duration) -> Result<(), TapRefused> {
        if time.is_zero() {
            self.shared.tap.end();
            return Ok(());
        }
        self.shared.tap.start(time, &self.shared)
    }

    /// The tap that is on, or the last one.
    pub fn tap(&self) -> TapState {
        self.shared.tap.last_run().map_or_else(TapState::default, |run| run.state())
    }

    /// What codecs made of its samples.
    pub fn tap_codecs(&self) -> Vec<TapCodec> {
        self.shared.tap.last_run().map_or_else(Vec::new, |run| run.codecs())
    }

    /// Exchanges that it timed.
    pub fn tap_exchanges(&self) -> Vec<TapExchange> {
        self.shared.tap.last_run().map_or_else(Vec::new, |run| run.exchanges())
    }

    /// Changes a setting of all listeners, for new sessions.
    ///
    /// Errors: a file that the settings name can't be read any more; then nothing is changed.
    pub fn change(&self, change: Change) -> Result<(), FileError> {
        let _changing = self.shared.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let listeners: Vec<_> = self.listeners.iter().filter_map(Weak::upgrade).collect();
        let changed = |listener: &Arc<Listener>| {
            let route = listener.route();
            let mut config = route.config.clone();
            change.apply(&mut config);
            Route::new(config, Some(&route)).map(Arc::new)
        };
        let routes = listeners.iter().map(changed).collect::<Result<Vec<_>, _>>()?;
        for (listener, route) in listeners.iter().zip(routes) {
            listener.set_route(route);
        }
        Ok(())
    }
}

impl Change {
    const fn apply(self, config: &mut ListenerConfig) {
        match self {
            Self::Permitted(permitted) => config.permitted = permitted,
            Self::ZstdLevel(level) => config.zstd_level = Some(level),
            Self::ZstdLevelMax(level) => config.zstd_level_max = Some(level),
            Self::ZlibLevel(level) => config.zlib_level = level,
            Self::InterceptSessionStatus(on) => config.intercept_session_status = on,
            Self::Policy(policy) => config.policy = policy,
            Self::CostP99Percent(percent) => config.cost_p99_percent = percent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Proxy};

    #[test]
    fn a_change_while_the_settings_are_read_again_undoes_none_of_them() {
        let config = |login_timeout| -> Config {
            let listener =
                ListenerConfig::new("127.0.0.1:0".parse().unwrap(), "127.0.0.1:9".parse().unwrap());
            ListenerConfig { login_timeout, ..listener }.into()
        };
        let mut proxy = Proxy::start(config(Duration::from_secs(1))).unwrap();
        let live = proxy.live();
        std::thread::scope(|scope| {
            let changing = scope.spawn(|| {
                while live.is_ready() {
                    live.change(Change::ZlibLevel(ZlibLevel::DEFAULT)).unwrap();
                }
            });
            for seconds in 2..200 {
                proxy.reload(config(Duration::from_secs(seconds))).unwrap();
                // A change that had begun before is done.
                std::thread::sleep(Duration::from_millis(1));
                let now = live.listeners()[0].config.login_timeout;
                assert_eq!(now, Duration::from_secs(seconds));
            }
            proxy.stop();
            changing.join().unwrap();
        });
    }
}
