//! Whatever a client says first is parsed or refused, and a login translated for the server leg stays the same
//! login.
//!
//! Not here: what a server says first (`greeting`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Capabilities;
use wire::connect::login::{ClientHello, Login, ServerLeg, apply_ssl_request, foreign_protocol, ssl_request};

fuzz_target!(|input: (u32, Option<u8>, &[u8])| {
    let (bits, level, payload) = input;
    let _ = foreign_protocol(payload);
    let Ok(ClientHello::Login(login)) = ClientHello::parse(payload) else { return };
    // Any wish can be built.
    let leg = ServerLeg {
        capabilities: Capabilities::from_bits(bits, 0),
        zstd_level: level,
        ..ServerLeg::default()
    };
    let _ = Login::for_server_leg(payload, &leg);
    let attributes = [(&b"_client_ip"[..], &b"192.0.2.1"[..])];
    let _ =
        Login::for_server_leg(payload, &ServerLeg { asks_for_switch: true, attributes: &attributes, ..leg });
    let mut copy = payload.to_vec();
    apply_ssl_request(&ssl_request(payload, login.capabilities), &mut copy);
    assert_eq!(copy, payload);
    let same = ServerLeg { capabilities: login.capabilities, ..ServerLeg::default() };
    if login.capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
        let leg = ServerLeg { zstd_level: login.zstd_level, ..same };
        let same = Login::for_server_leg(payload, &leg).expect("it was parsed");
        assert_eq!(Login::parse(&same).as_ref(), Ok(&login));
    } else {
        let same = Login::for_server_leg(payload, &same).expect("it was parsed");
        assert_eq!(same, payload);
    }
});
