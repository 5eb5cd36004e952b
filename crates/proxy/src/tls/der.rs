//! The key of a certificate of X.509 version 1, in bytes.
//!
//! ```text
//! SEQUENCE { SEQUENCE { [0] version, if not 1 | serial | signature algorithm | issuer | validity | subject
//!                       | SEQUENCE { SEQUENCE { key's algorithm }, BIT STRING key } ...
//! ```
//! Invariants: what a server sent is only cut, never copied or recursed into; it depends on nothing, so that a fuzz
//! target can compile it by itself.
//! Source: RFC 5280, 4.1; X.690.
//! Not here: what the key is good for (`version_1`).

/// The SubjectPublicKeyInfo; `None` for any other version, and for what is no certificate.
pub(super) fn version_1_key_info(certificate: &[u8]) -> Option<&[u8]> {
    let mut fields = Element::first(Element::first(certificate)?.content)?.content;
    if fields.first() == Some(&VERSION) {
        return None;
    }
    for _serial_algorithm_issuer_validity_subject in 0..5 {
        fields = Element::first(fields)?.rest;
    }
    Some(Element::first(fields)?.whole)
}

/// Of a SubjectPublicKeyInfo the algorithm's identifier and the key itself.
pub(super) fn algorithm_and_key(info: &[u8]) -> Option<(&[u8], &[u8])> {
    let algorithm = Element::first(Element::first(info)?.content)?;
    // The first byte says how many bits of the last are unused: none.
    let key = Element::first(algorithm.rest)?.content.strip_prefix(&[0])?;
    Some((algorithm.content, key))
}

/// One element of DER.
struct Element<'a> {
    content: &'a [u8],
    /// With its tag and length.
    whole: &'a [u8],
    /// What follows it.
    rest: &'a [u8],
}

impl<'a> Element<'a> {
    fn first(bytes: &'a [u8]) -> Option<Self> {
        let (&[_tag, first], rest) = bytes.split_first_chunk()?;
        let digits_len = if first < LONG_LEN { 0 } else { usize::from(first - LONG_LEN) };
        if digits_len > LEN_DIGITS_MAX {
            return None;
        }
        let digits = rest.get(..digits_len)?;
        let long = digits.iter().fold(0, |len, digit| len << 8 | usize::from(*digit));
        let len = if first < LONG_LEN { usize::from(first) } else { long };
        let (start, end) = (2 + digits_len, 2 + digits_len + len);
        Some(Self { content: bytes.get(start..end)?, whole: bytes.get(..end)?, rest: bytes.get(end..)? })
    }
}

/// The tag of the version, which version 1 leaves out.
const VERSION: u8 = 0xa0;
/// From here a length's first byte is the number of its digits.
const LONG_LEN: u8 = 0x80;
/// No certificate has 16 MiB.
const LEN_DIGITS_MAX: usize = 3;
