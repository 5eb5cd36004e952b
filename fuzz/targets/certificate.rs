//! Whatever a server presents as its certificate: the key of one of version 1 is found within its bytes, or none is.
//!
//! The file under test is compiled here by itself, so that fuzzing needs no TLS library.
//! Not here: certificates of version 3, and what is done with a key (rustls, aws-lc).
#![no_main]

#[allow(dead_code, unreachable_pub, reason = "written for the proxy, which uses all of it")]
#[path = "../../crates/proxy/src/tls/der.rs"]
mod der;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|certificate: &[u8]| {
    let within = |part: &[u8]| {
        let (all, part) = (certificate.as_ptr_range(), part.as_ptr_range());
        all.start <= part.start && part.end <= all.end
    };
    let Some(info) = der::version_1_key_info(certificate) else { return };
    assert!(within(info));
    if let Some((algorithm, key)) = der::algorithm_and_key(info) {
        assert!(within(algorithm) && within(key));
        assert!(algorithm.len() + key.len() < info.len());
    }
});
