//! What is packed comes back; what nobody packed is refused or fits the length that was declared, and leaves what
//! was there before.
//!
//! Not here: headers (`frame`).
#![no_main]

use std::cell::RefCell;

use codec::{Algorithm, Contexts};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, u8, u16, &[u8])| {
    let (zstd, level, declared_len, bytes) = input;
    let algorithm = if zstd { Algorithm::Zstd } else { Algorithm::Zlib };
    // The levels that a listener permits by default are the fast ones; the slow ones would be most of the time.
    let level = level % 8;
    CONTEXTS.with_borrow_mut(|contexts| {
        let mut packed = BEFORE.to_vec();
        if contexts.compress(algorithm, level, bytes, &mut packed) == Ok(true) {
            assert!(packed.len() < BEFORE.len() + bytes.len());
            let body = &packed[BEFORE.len()..];
            assert!(Contexts::is_canonical(algorithm, body, bytes));
            let mut plain = BEFORE.to_vec();
            assert_eq!(contexts.decompress(algorithm, body, bytes.len(), &mut plain), Ok(bytes.len()));
            assert_eq!(plain[BEFORE.len()..], *bytes);
        } else {
            assert_eq!(packed, BEFORE);
        }

        let declared_len = usize::from(declared_len);
        let mut plain = BEFORE.to_vec();
        match contexts.decompress(algorithm, bytes, declared_len, &mut plain) {
            Ok(len) => {
                assert!(len <= declared_len);
                assert_eq!(plain.len(), BEFORE.len() + len);
                let _ = Contexts::is_canonical(algorithm, bytes, &plain[BEFORE.len()..]);
            }
            Err(_) => assert_eq!(plain.len(), BEFORE.len()),
        }
        assert_eq!(plain[..BEFORE.len()], *BEFORE);
    });
});

const BEFORE: &[u8] = b"before";

thread_local! {
    /// As a worker has them: one session's bytes must not change what another's become.
    static CONTEXTS: RefCell<Contexts> = const { RefCell::new(Contexts::new()) };
}
