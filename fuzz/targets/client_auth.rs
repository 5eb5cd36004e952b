//! A server that says anything to a client of our own: no step panics, and a password leaves in clear on a secure leg
//! alone.
//!
//! Shape: a byte for the leg and the plugin, then packets, each behind a byte with its length.
//! Not here: the relayed exchange (`auth`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::connect::auth::Security;
use wire::connect::client_auth::{ClientExchange, Plugin, Step};

const PASSWORD: &[u8] = b"correct horse battery staple";

fuzz_target!(|input: &[u8]| {
    let Some((setting, mut rest)) = input.split_first() else { return };
    let security = [Security::Plain, Security::Socket, Security::Tls][usize::from(setting % 3)];
    let plugin = if setting & 0x80 == 0 { Plugin::CachingSha2 } else { Plugin::Native };
    let mut exchange = ClientExchange::new(plugin, PASSWORD, vec![7; 20], security);
    while let Some((len, packets)) = rest.split_first() {
        let (packet, behind) = packets.split_at(packets.len().min(usize::from(*len)));
        rest = behind;
        match exchange.step(packet) {
            Ok(Step::Send(answer)) if security == Security::Plain => {
                assert!(
                    !answer.windows(PASSWORD.len()).any(|window| window == PASSWORD),
                    "in clear on a plain leg"
                );
            }
            Ok(Step::Encrypt { masked_password, .. }) => {
                assert_eq!(masked_password.len(), PASSWORD.len() + 1)
            }
            Ok(Step::Send(_) | Step::Wait) => {}
            Err(_) => return,
        }
    }
});
