//! What a process says of the listening sockets that it hands over.
//!
//! ```text
//! wirepress handover 1 \n
//! address \n             one for each socket, in the order of the sockets, as it was asked for
//! \n
//! ```
//! Invariant: it depends on `Address` alone, so that a fuzz target can compile it by itself.
//! Not here: the sockets themselves (`super`).

use crate::address::Address;

/// The whole text.
pub(super) fn build<'a>(addresses: impl IntoIterator<Item = &'a Address>) -> String {
    let mut text = format!("{GREETING}\n");
    for address in addresses {
        text.push_str(&format!("{address}\n"));
    }
    text.push('\n');
    text
}

/// The addresses of a whole text, or what is wrong with it.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Address>, &'static str> {
    let text = std::str::from_utf8(text).map_err(|_| "an address can't be read")?;
    let mut lines = text.strip_suffix('\n').unwrap_or(text).lines();
    if lines.next() != Some(GREETING) {
        return Err("the process there speaks another handover protocol");
    }
    lines.map(str::parse).collect::<Result<_, _>>().map_err(|_| "an address can't be read")
}

/// What ends the text.
pub(super) const END: &[u8] = b"\n\n";
const GREETING: &str = "wirepress handover 1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_were_written() {
        let addresses = ["127.0.0.1:0", "[::1]:3306", "unix:/run/a socket"].map(|text| text.parse().unwrap());
        let text = build(&addresses);
        assert!(text.as_bytes().ends_with(END));
        assert_eq!(parse(text.as_bytes()), Ok(addresses.to_vec()));
    }

    #[test]
    fn what_is_no_such_text_is_named() {
        for (text, why) in [
            (&b""[..], "another handover protocol"),
            (b"wirepress handover 2\n\n", "another handover protocol"),
            (b"wirepress handover 1\nlocalhost\n\n", "an address"),
            (b"wirepress handover 1\nunix:/\xff\n\n", "an address"),
        ] {
            assert!(parse(text).unwrap_err().contains(why), "{text:?}");
        }
    }
}
