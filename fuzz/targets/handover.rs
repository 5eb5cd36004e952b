//! What the process at the handover's path says, and what operators write as addresses, networks and fingerprints:
//! read or refused, and the same when written and read again.
//!
//! The files under test are compiled here by themselves, so that fuzzing needs no runtime and no TLS library.
//! Not here: the sockets that come with the message (the kernel), the config file's form (crate `toml`).
#![no_main]

macro_rules! of_the_proxy {
    ($($name:ident = $path:literal),* $(,)?) => { $(
        #[allow(dead_code, unreachable_pub, reason = "written for the proxy, which uses all of it")]
        #[path = $path]
        mod $name;
    )* };
}
of_the_proxy! {
    address = "../../crates/proxy/src/address.rs",
    networks = "../../crates/proxy/src/networks.rs",
    fingerprint = "../../crates/proxy/src/tls/fingerprint.rs",
    message = "../../crates/proxy/src/handover/message.rs",
}

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;

use crate::address::Address;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(addresses) = message::parse(bytes) {
        assert_eq!(message::parse(message::build(&addresses).as_bytes()), Ok(addresses));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(address) = round_trip::<Address>(text) {
        assert_eq!(message::parse(message::build([&address]).as_bytes()), Ok(vec![address]));
    }
    round_trip::<networks::Network>(text);
    round_trip::<fingerprint::Fingerprint>(text);
});

fn round_trip<T: FromStr + Display + Debug + PartialEq>(text: &str) -> Option<T> {
    let read = text.parse::<T>().ok()?;
    assert_eq!(read.to_string().parse::<T>().ok().as_ref(), Some(&read));
    Some(read)
}
