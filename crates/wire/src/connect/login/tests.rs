//! Logins read, built, and rewritten for the server leg.
//!
//! Not here: logins of real clients (`tests/it/captures.rs`).

use super::*;

fn login() -> Login {
    Login {
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::LONG_PASSWORD
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::CONNECT_ATTRS
            | Capabilities::ZSTD_COMPRESSION_ALGORITHM,
        max_packet_len: 1 << 24,
        charset: 45,
        user: b"root".to_vec(),
        auth_response: vec![9; 32].into(),
        database: Some(b"sbtest".to_vec()),
        auth_plugin: Some(b"caching_sha2_password".to_vec()),
        attributes: Some(b"\x03_os\x05Linux".to_vec()),
        zstd_level: Some(7),
    }
}

fn for_server_leg(
    payload: &[u8],
    capabilities: Capabilities,
    zstd_level: Option<u8>,
) -> Result<Vec<u8>, Fault> {
    Login::for_server_leg(payload, &ServerLeg { capabilities, zstd_level, ..ServerLeg::default() })
}

#[test]
fn a_login_round_trips() {
    assert_eq!(Login::parse(&login().build()), Ok(login()));
}

#[test]
fn the_server_leg_gets_other_bits_and_level_and_nothing_else_changes() {
    let payload = login().build();
    let without = login().capabilities - Capabilities::ZSTD_COMPRESSION_ALGORITHM;
    let plain = for_server_leg(&payload, without, None).unwrap();
    assert_eq!(Login::parse(&plain), Ok(Login { capabilities: without, zstd_level: None, ..login() }));
    let zstd = for_server_leg(&plain, login().capabilities, Some(7)).unwrap();
    assert_eq!(zstd, payload);
}

#[test]
fn the_level_is_found_behind_absent_fields_and_may_be_four_bytes() {
    let mut payload = login().build();
    payload.extend_from_slice(&[0, 0, 0]);
    assert_eq!(Login::parse(&payload).unwrap().zstd_level, Some(7));
}

#[test]
fn a_plugin_that_was_left_out_is_native_where_something_follows_it() {
    let without = Login { auth_plugin: None, attributes: None, zstd_level: None, ..login() };
    let mut payload = without.build();
    payload.truncate(payload.len() - 2);
    assert_eq!(Login::parse(&payload), Ok(without.clone()));
    // Nothing does: it passes as it came.
    let plain = without.capabilities - Capabilities::ZSTD_COMPRESSION_ALGORITHM;
    let passed = for_server_leg(&payload, plain, None).unwrap();
    assert_eq!(passed[4..], payload[4..]);
    let filled = Login {
        auth_plugin: Some(UNNAMED_PLUGIN.to_vec()),
        attributes: Some(Vec::new()),
        zstd_level: Some(3),
        ..without.clone()
    };
    let zstd = for_server_leg(&payload, without.capabilities, Some(3)).unwrap();
    assert_eq!(Login::parse(&zstd), Ok(filled.clone()));
    let attributes = [(&b"_client_ip"[..], &b"192.0.2.1"[..])];
    let leg = ServerLeg { capabilities: plain, attributes: &attributes, ..ServerLeg::default() };
    let with = Login::parse(&Login::for_server_leg(&payload, &leg).unwrap()).unwrap();
    assert_eq!((with.auth_plugin, with.zstd_level), (filled.auth_plugin, None));
}

/// The assertions in the code itself would fail.
#[test]
fn a_rewritten_login_never_outgrows_its_first_room() {
    let long = vec![b'x'; 250];
    let attributes = [(long.as_slice(), long.as_slice()), (b"", b"")];
    let smallest = Login { user: Vec::new(), database: None, auth_plugin: None, ..login() };
    for login in [smallest, login(), Login { auth_response: long.clone().into(), ..login() }] {
        let whole = Login { attributes: None, zstd_level: None, ..login.clone() }.build();
        // With the empty length of attributes and what was left out, and without.
        for payload in [&whole[..], &whole[..whole.len() - 2]] {
            for (asks_for_switch, attributes) in
                [(false, &[][..]), (true, &[]), (false, &attributes), (true, &attributes)]
            {
                let capabilities = login.capabilities;
                let leg = ServerLeg { capabilities, zstd_level: Some(3), asks_for_switch, attributes };
                let rewritten = Login::for_server_leg(payload, &leg).unwrap();
                assert_eq!(Login::parse(&rewritten).unwrap().zstd_level, Some(3));
            }
        }
    }
}

#[test]
fn the_level_is_never_taken_for_the_length_of_attributes_that_were_left_out() {
    let mut payload = Login { zstd_level: None, attributes: Some(Vec::new()), ..login() }.build();
    assert_eq!(payload.pop(), Some(0));
    assert_eq!(Login::parse(&payload).unwrap().attributes, None);
    let zstd = for_server_leg(&payload, login().capabilities, Some(7)).unwrap();
    assert_eq!(Login::parse(&zstd).unwrap().zstd_level, Some(7));
}

#[test]
fn an_ssl_request_is_known_by_its_length_and_bit() {
    let capabilities = login().capabilities | Capabilities::SSL;
    let mut payload = Login { capabilities, ..login() }.build();
    payload.truncate(32);
    assert_eq!(ClientHello::parse(&payload), Ok(ClientHello::SslRequest(capabilities)));
    assert!(matches!(ClientHello::parse(&payload[..4]), Ok(ClientHello::SslRequest(_))));
}

#[test]
fn the_bits_of_the_ssl_request_count_and_the_logins_own_do_not() {
    let mut payload = login().build();
    let ssl_bits = (login().capabilities - Capabilities::ZSTD_COMPRESSION_ALGORITHM) | Capabilities::COMPRESS;
    let request = ssl_request(&payload, ssl_bits | Capabilities::SSL);
    assert_eq!(ClientHello::parse(&request), Ok(ClientHello::SslRequest(ssl_bits | Capabilities::SSL)));
    apply_ssl_request(&request, &mut payload);
    assert_eq!(Login::parse(&payload).unwrap().capabilities, ssl_bits | Capabilities::SSL);
}

#[test]
fn a_switch_is_asked_for_without_the_clients_response() {
    let payload = login().build();
    let capabilities = login().capabilities;
    let leg = ServerLeg { capabilities, zstd_level: Some(7), asks_for_switch: true, attributes: &[] };
    let expected =
        Login { auth_response: Zeroizing::default(), auth_plugin: Some(NO_PLUGIN.to_vec()), ..login() };
    assert_eq!(Login::parse(&Login::for_server_leg(&payload, &leg).unwrap()), Ok(expected));
}

#[test]
fn attributes_of_ours_replace_a_clients_own() {
    let forged = b"\x03_os\x05Linux\x0a_client_ip\x071.2.3.4";
    let payload = Login { attributes: Some(forged.to_vec()), ..login() }.build();
    let leg = ServerLeg {
        capabilities: login().capabilities,
        zstd_level: Some(7),
        attributes: &[(b"_client_ip", b"10.0.0.1")],
        ..ServerLeg::default()
    };
    let rewritten = Login::parse(&Login::for_server_leg(&payload, &leg).unwrap()).unwrap();
    assert_eq!(rewritten.attributes.as_deref(), Some(&b"\x0a_client_ip\x0810.0.0.1\x03_os\x05Linux"[..]));
    assert_eq!(rewritten.user, b"root");
    assert_eq!(rewritten.zstd_level, Some(7));

    let without = Login {
        attributes: None,
        capabilities: login().capabilities - Capabilities::CONNECT_ATTRS,
        ..login()
    };
    let leg = ServerLeg { capabilities: without.capabilities | Capabilities::CONNECT_ATTRS, ..leg };
    let rewritten = Login::parse(&Login::for_server_leg(&without.build(), &leg).unwrap()).unwrap();
    assert_eq!(rewritten.attributes.as_deref(), Some(&b"\x0a_client_ip\x0810.0.0.1"[..]));
}

#[test]
fn the_ssl_request_has_the_bits_of_the_login_behind_it() {
    let without = Login {
        attributes: None,
        capabilities: login().capabilities - Capabilities::CONNECT_ATTRS,
        ..login()
    };
    let leg = ServerLeg {
        capabilities: without.capabilities | Capabilities::SSL,
        zstd_level: Some(7),
        attributes: &[(b"_client_ip", b"10.0.0.1")],
        ..ServerLeg::default()
    };
    let payload = without.build();
    let behind = Login::parse(&Login::for_server_leg(&payload, &leg).unwrap()).unwrap();
    let request = ssl_request(&payload, leg.bits());
    assert_eq!(ClientHello::parse(&request), Ok(ClientHello::SslRequest(behind.capabilities)));
    assert!(behind.capabilities.contains(Capabilities::CONNECT_ATTRS), "or the level is read from them");
}

#[test]
fn attributes_that_are_too_many_beside_ours_lose_their_end() {
    let mut own = Vec::new();
    for name in [b"a", b"b", b"c"] {
        write_lenenc_bytes(&mut own, name);
        write_lenenc_bytes(&mut own, &vec![b'x'; 21_830]);
    }
    assert!(own.len() <= ATTRIBUTES_LEN_MAX, "{}", own.len());
    let both = replace_attributes(&own, &[(b"_client_ip", b"2001:db8:1111:2222:3333:4444:5555:6666")]);
    assert!(both.len() <= ATTRIBUTES_LEN_MAX && both.len() > 2 * 21_830, "{}", both.len());
    assert_eq!(both[..11], *b"\x0a_client_ip");
}

#[test]
fn a_login_of_before_4_1_is_named() {
    assert_eq!(ClientHello::parse(&[5, 0, 0, 0, 1, b'r', 0]), Err(Fault::LoginTooOld));
}

#[test]
fn a_proxy_protocol_header_before_a_login_is_named_and_a_login_is_not() {
    for first in [&b"PROXY TCP4 "[..], b"PROX", b"\r\n\r\n\0\r\nQUIT\n", b"\r\n\r\n"] {
        assert_eq!(foreign_protocol(first), Some("a PROXY protocol header"));
    }
    for first in [&b"PROXIMA"[..], b"PRO\x01\x85", b"\r\n\r\x01\x85"] {
        assert_eq!(foreign_protocol(first), None);
    }
}

#[test]
fn a_tls_handshake_is_named_and_a_login_whose_length_looks_so_is_not() {
    for first in [&b"\x16\x03\x01\x02\x00\x01"[..], b"\x16\x03\x03\x01\x00\x01\x00"] {
        assert_eq!(foreign_protocol(first), Some("a TLS handshake without MySQL's greeting"));
    }
    // Of 790, 66,326 and 197,398 bytes, and what may still be either.
    for first in [
        &b"\x16\x03\x00\x01\x85\xa6"[..],
        b"\x16\x03\x01\x01\x85\xa6",
        b"\x16\x03\x03\x01\x85\xa6",
        b"\x16\x03\x01\x01\x85",
    ] {
        assert_eq!(foreign_protocol(first), None);
    }
}

#[test]
fn a_login_cut_anywhere_never_panics() {
    let whole = login().build();
    for len in 0..whole.len() {
        drop(ClientHello::parse(&whole[..len]));
    }
}

#[test]
fn attributes_longer_than_the_packet_are_malformed() {
    let mut payload = Login { zstd_level: None, ..login() }.build();
    let at = payload.len() - 11;
    payload[at] = 200;
    assert!(Login::parse(&payload).is_err());
}
