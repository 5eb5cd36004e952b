//! TLS of each leg: who asks for it, with which certificates, and what is checked.
//!
//! ```text
//! client leg   --tls off|preferred|required       a certificate of the proxy's (`listener`)
//! server leg   --ssl-mode disabled ... verify_identity, MySQL's own words (`server_leg`)
//! ```
//! Invariants: TLS 1.2 and 1.3 only; files are read again when they change, and a file that can't be used leaves
//! the last good one in place, with a warning.
//! Not here: when a leg is upgraded (`connect`), the records (rustls).

use std::io;

use tokio_rustls::rustls::Error;

mod carrier;
mod der;
mod ephemeral;
mod files;
mod fingerprint;
mod listener;
mod reloading;
mod self_signed;
mod server_leg;
mod version_1;

pub(crate) use carrier::Carrier;
pub(crate) use ephemeral::ephemeral;
pub use files::TlsError;
pub use fingerprint::{BadFingerprint, Fingerprint};
pub use listener::{ListenerTls, TlsMode};
pub(crate) use reloading::Reloading;
pub use self_signed::make_self_signed;
pub use server_leg::{ClientParts, ServerTls, SslMode};

/// Whether a handshake failed because the peer speaks no TLS, or not any more.
pub(crate) fn is_no_tls(error: &io::Error) -> bool {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => matches!(error, Error::InvalidMessage(_)),
        None => true,
    }
}
