//! Whatever a client says first is parsed or refused, and a login translated for the server leg stays the same
//! login.
//!
//! Not here: what a server says first (`greeting`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Capabilities;
use wire::connect::login::{ClientHello, Login, foreign_protocol};

fuzz_target!(|input: (u32, Option<u8>, &[u8])| {
    let (bits, level, payload) = input;
    let _ = foreign_protocol(payload);
    let Ok(ClientHello::Login(login)) = ClientHello::parse(payload) else { return };
    // Any wish can be built.
    let _ = Login::for_server_leg(payload, Capabilities::from_bits(bits, 0), level);
    if login.capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
        let same =
            Login::for_server_leg(payload, login.capabilities, login.zstd_level).expect("it was parsed");
        assert_eq!(Login::parse(&same).as_ref(), Ok(&login));
    } else {
        let same = Login::for_server_leg(payload, login.capabilities, None).expect("it was parsed");
        assert_eq!(same, payload);
    }
});
