//! Two wirepress as a pair, before real servers: keys, wrong peers, ends, and bytes on the wire.
//!
//! What a connection carries is compared with a direct one in `flows` and `sizes`, where a pair is one of the ways.
//! Not here: the frames (`wire::pair`).

mod bytes;
mod ends;
mod keys;
mod pace;
mod tap;
mod warm;
mod wrong_peers;

use lab::real::RealServer;
use proxy::{Address, ListenerConfig, Proxy, SslMode};
use tap::Tap;

/// Both halves, and the wire between them.
struct Halves {
    dialer: Proxy,
    listener: Proxy,
    tap: Tap,
}

impl Halves {
    fn of(server: &RealServer) -> Self {
        Self::to(server.address().into(), |_| {}, |_| {})
    }

    /// With the settings of dialer and listener changed.
    fn to(
        server: Address,
        dialer: impl FnOnce(&mut ListenerConfig),
        listener: impl FnOnce(&mut ListenerConfig),
    ) -> Self {
        let listener = Proxy::start(pair_listener(server, listener)).unwrap();
        let tap = Tap::before(listener.address());
        let dialer = Proxy::start(pair_dialer(tap.address(), dialer)).unwrap();
        Self { dialer, listener, tap }
    }
}

fn pair_listener(server: Address, adjust: impl FnOnce(&mut ListenerConfig)) -> ListenerConfig {
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), server);
    config.is_pair = true;
    config.server_tls.mode = Some(SslMode::Disabled);
    adjust(&mut config);
    config
}

fn pair_dialer(peer: Address, adjust: impl FnOnce(&mut ListenerConfig)) -> ListenerConfig {
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), Address::Pair(Box::new(peer)));
    adjust(&mut config);
    config
}
