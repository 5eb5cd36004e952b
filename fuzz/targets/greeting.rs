//! Whatever a server says first is parsed or refused; what was parsed survives building and parsing again, and
//! changing the capabilities changes nothing else.
//!
//! Not here: what a client says first (`login`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Capabilities;
use wire::connect::greeting::{FirstPacket, Greeting, foreign_protocol, replace_capabilities};

fuzz_target!(|input: (u32, &[u8])| {
    let (bits, payload) = input;
    let _ = foreign_protocol(payload);
    let Ok(FirstPacket::Greeting(greeting)) = FirstPacket::parse(payload) else { return };
    // Servers send 20; shorter ones lose their end, longer ones do not fit their length byte.
    if (20..=254).contains(&greeting.nonce.len()) {
        assert_eq!(Greeting::parse(&greeting.build()).as_ref(), Ok(&greeting));
    }
    let mut replaced = payload.to_vec();
    let capabilities = Capabilities::from_bits(bits, 0);
    if replace_capabilities(&mut replaced, capabilities).is_ok() {
        let again = Greeting::parse(&replaced).expect("a greeting stays one");
        assert_eq!(again.capabilities.mysql_bits(), bits);
        let others = |greeting: &Greeting| Greeting { capabilities, ..greeting.clone() };
        assert_eq!(others(&again), others(&greeting));
    }
});
