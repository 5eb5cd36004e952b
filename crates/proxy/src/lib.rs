//! The proxy: listener, sessions, legs, relay.
//!
//! ```text
//! client socket - listener - worker - session: leg, connect, relay, leg - server socket
//! ```
//! Invariants: the relay starts only behind a successful login; a session's end never ends the process; no
//! user's credential is kept.
//!
//! Not here: the protocol's rules (crate `wire`), algorithms (crate `codec`), argument parsing (crate `cli`).

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::cast_possible_truncation))]

mod acceptor;
mod address;
mod admission;
mod budget;
mod budgets;
mod buffer;
mod client_address;
mod codec_threads;
mod codec_time;
mod config;
mod connect;
mod core_share;
mod counters;
mod cpu_allowance;
mod ending;
mod error;
mod handover;
mod leg;
mod links;
mod listener;
mod live;
mod lookups;
mod meter;
mod networks;
mod pair;
mod proxy;
mod registry;
mod relay;
mod route;
mod sends;
mod servers;
mod session;
mod spare_file;
mod tap;
mod tls;
mod worker;

pub use address::{Address, BadAddress};
pub use config::{
    COST_PERCENT_MAX, Config, HealthCheck, ListenerConfig, Monitor, PairConfig, Policy, RoutingStrategy,
    SendProxy, raise_open_files_limit,
};
pub use counters::{Counters, FaultLabels, Traffic};
pub use error::{Cause, Phase, SessionError};
pub use handover::{Handover, HandoverFile, Inheritance};
pub use links::LinkState;
pub use listener::{Inherited, remove_stale_socket};
pub use live::{Change, ListenerState, Live, ServerState};
pub use meter::{Connection, Decision, LegLens, LegTerms, LoggedIn, State};
pub use networks::{BadNetwork, Network};
pub use pair::PairError;
pub use proxy::{Proxy, ReloadError, StartError, check};
pub use registry::{Sum, SumLabels};
pub use route::FileError;
pub use tap::{TapCodec, TapCounts, TapExchange, TapRefused, TapState, TapWay};
pub use tls::{
    BadFingerprint, ClientParts, Fingerprint, ListenerTls, ServerTls, SslMode, TlsError, TlsMode,
    make_self_signed,
};
pub use wire::limits::LOGIN_LEN_MAX;
