//! `--ssl-fp`: a certificate by its fingerprint.
//!
//! Invariant: it depends on nothing of this crate, so that a fuzz target can compile it by itself.
//! Not here: when it is compared (`server_leg`).

use std::fmt;
use std::str::FromStr;

/// SHA-256 of a certificate in DER form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// Why a text is no fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no SHA-256 fingerprint; write 64 hex digits, with or without colons, as 'openssl x509 -in \
     server-cert.pem -noout -fingerprint -sha256' prints them"
)]
pub struct BadFingerprint(String);

impl Fingerprint {
    pub(super) const fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Fingerprint {
    type Err = BadFingerprint;

    fn from_str(text: &str) -> Result<Self, BadFingerprint> {
        let bad = || BadFingerprint(text.to_owned());
        let digits: Vec<u8> =
            text.bytes().filter(|byte| *byte != b':').map(|byte| byte.to_ascii_lowercase()).collect();
        let mut out = [0; 32];
        if digits.len() != 2 * out.len() {
            return Err(bad());
        }
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
            let &[high, low] = pair else { return Err(bad()) };
            *byte = value(high).ok_or_else(bad)? << 4 | value(low).ok_or_else(bad)?;
        }
        Ok(Self(out))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_openssl_prints_it() {
        let text =
            "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF";
        let read: Fingerprint = text.parse().unwrap();
        assert_eq!(read.to_string(), text);
        assert_eq!(text.replace(':', "").to_lowercase().parse(), Ok(read));
        for bad in ["", "00:11", &text[1..], &text.replace('A', "G")] {
            assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
        }
    }
}
