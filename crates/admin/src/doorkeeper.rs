//! Who gets an answer by HTTP.
//!
//! ```text
//! another site's page       refused, but for opening our page, which then asks for itself
//! a name that isn't ours    refused on the loopback: another site's page that had its name point here
//! no or wrong credentials   asked for them
//! ```
//! Source: Fetch Metadata (`Sec-Fetch-*`), RFC 7617 (Basic).
//! Not here: answers (`answers`).

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::uri::Authority;
use proxy::Address;

use crate::Credentials;

pub(crate) struct Doorkeeper {
    /// What the header must say; `None` where none is needed.
    authorization: Option<String>,
    /// On the loopback: the host that was asked for, besides those that always lead there.
    loopback_name: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A browser asks on behalf of another site's page.
    Foreign,
    /// A name that may be anybody's.
    Misdirected,
    /// No credentials, or wrong ones.
    Unknown,
}

impl Doorkeeper {
    /// `bound` is where `listen` has led to.
    pub(crate) fn new(credentials: &Credentials, listen: &Address, bound: &Address) -> Self {
        let authorization = (!credentials.password.is_empty()).then(|| {
            let both = format!("{}:{}", credentials.user, credentials.password);
            format!("Basic {}", STANDARD.encode(both))
        });
        let loopback_name = match (listen, bound) {
            (Address::Tcp { host, .. }, Address::Tcp { host: ip, .. }) if is_loopback(ip) => {
                Some(host.clone())
            }
            _ => None,
        };
        Self { authorization, loopback_name }
    }

    /// Whether this request may be answered. `is_page` where nothing is told: the page itself, which may be linked to.
    pub(crate) fn check(&self, headers: &HeaderMap, is_page: bool) -> Result<(), Refusal> {
        if is_foreign(headers) && !(is_page && is_followed_link(headers)) {
            return Err(Refusal::Foreign);
        }
        if !self.is_ours(text(headers, header::HOST)) {
            return Err(Refusal::Misdirected);
        }
        let Some(wanted) = &self.authorization else { return Ok(()) };
        let given = headers.get(header::AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
        if is_same(given, wanted.as_bytes()) { Ok(()) } else { Err(Refusal::Unknown) }
    }

    /// An address can't be made to point elsewhere, a name can.
    fn is_ours(&self, host: Option<&str>) -> bool {
        let (Some(own), Some(host)) = (&self.loopback_name, host) else { return true };
        let Ok(host) = host.parse::<Authority>() else { return false };
        let host = host.host().trim_matches(['[', ']']).to_ascii_lowercase();
        host.parse::<IpAddr>().is_ok()
            || host == "localhost"
            || host.ends_with(".localhost")
            || host == own.to_ascii_lowercase()
    }
}

fn is_loopback(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn is_foreign(headers: &HeaderMap) -> bool {
    if matches!(text(headers, "sec-fetch-site"), Some("cross-site" | "same-site")) {
        return true;
    }
    let (origin, host) = (text(headers, header::ORIGIN), text(headers, header::HOST));
    match (headers.contains_key(header::ORIGIN), origin, host) {
        (false, ..) => false,
        (true, Some(origin), Some(host)) => {
            origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) != Some(host)
        }
        (true, ..) => true,
    }
}

/// In a wiki, say; neither a frame nor a script.
fn is_followed_link(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::ORIGIN)
        && text(headers, "sec-fetch-mode") == Some("navigate")
        && text(headers, "sec-fetch-dest") == Some("document")
}

/// Takes as long for a guess that begins right as for any other of its length.
fn is_same(given: &[u8], wanted: &[u8]) -> bool {
    given.len() == wanted.len() && given.iter().zip(wanted).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listen: &str, headers: &[(&'static str, &str)], is_page: bool) -> Result<(), Refusal> {
        let credentials = Credentials { user: "admin".to_owned(), password: String::new() };
        let bound = if listen.starts_with("unix") { listen } else { "127.0.0.1:9307" };
        let bound = if listen.starts_with("10.") { listen } else { bound };
        let keeper = Doorkeeper::new(&credentials, &listen.parse().unwrap(), &bound.parse().unwrap());
        let headers =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        keeper.check(&headers, is_page)
    }

    #[test]
    fn a_name_that_may_be_anybodys_does_not_lead_to_the_loopback() {
        for ours in
            ["127.0.0.1:9307", "localhost:8080", "LOCALHOST", "[::1]:9307", "wirepress.localhost", "own:1"]
        {
            assert_eq!(check("own:9307", &[("host", ours)], false), Ok(()), "{ours}");
        }
        for other in
            ["rebound.example:9307", "localhost.example", "127.0.0.1.example", "own.example", "", "a b"]
        {
            assert_eq!(check("own:9307", &[("host", other)], false), Err(Refusal::Misdirected), "{other}");
        }
        for elsewhere in ["10.0.0.5:9307", "unix:/run/wirepress.sock"] {
            assert_eq!(check(elsewhere, &[("host", "db1.example:9307")], false), Ok(()));
        }
    }

    #[test]
    fn a_link_to_the_page_may_be_followed_and_nothing_else() {
        let follow =
            [("host", "127.0.0.1:1"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        let document = [&follow[..], &[("sec-fetch-dest", "document")]].concat();
        assert_eq!(check("127.0.0.1:1", &document, true), Ok(()));
        assert_eq!(check("127.0.0.1:1", &document, false), Err(Refusal::Foreign));
        let frame = [&follow[..], &[("sec-fetch-dest", "iframe")]].concat();
        assert_eq!(check("127.0.0.1:1", &frame, true), Err(Refusal::Foreign));
        let posted = [&document[..], &[("origin", "http://elsewhere.example")]].concat();
        assert_eq!(check("127.0.0.1:1", &posted, true), Err(Refusal::Foreign));
    }
}
