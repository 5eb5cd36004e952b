//! Real servers, real clients, real drivers.
//!
//! Not here: peers that misbehave on purpose (`bad_input`).

mod authentication;
mod client;
mod counters;
mod drivers;
mod dumps;
mod flows;
mod front;
mod limits;
pub(crate) mod log_lines;
mod pair;
mod probes;
mod proxy_protocol;
mod replication;
mod route;
mod servers;
mod sizes;
pub(crate) mod tls;
