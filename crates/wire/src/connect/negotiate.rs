//! Which compression algorithm each leg gets, by MySQL's rules.
//!
//! Client leg: the client's wish is met if permitted; both bits mean zlib; nothing in common is error 3922, a
//! zstd level outside 1 to 22 is error 3923. Server leg: the first of the wished that the server offers. The
//! legs are independent.
//!
//! Source: MySQL 9.7 `sql/auth/sql_authentication.cc`; pinned by `tests/it/live` of crate `proxy`.
//! Not here: the packets themselves (`greeting`, `login`).

use codec::{Algorithm, AlgorithmSet, ZstdLevel};

use super::Login;
use crate::Capabilities;
use crate::response::ErrPacket;

/// What a client leg agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLeg {
    /// The algorithm of both directions.
    pub algorithm: Algorithm,
    /// The level that the client asked for, if it is zstd.
    pub zstd_level: Option<ZstdLevel>,
}

/// What the greeting tells the client: the server's capabilities, with the listener's compression and TLS.
pub fn offered(server: Capabilities, permitted: AlgorithmSet, tls: bool) -> Capabilities {
    server
        .with(Capabilities::COMPRESS, permitted.zlib)
        .with(Capabilities::ZSTD_COMPRESSION_ALGORITHM, permitted.zstd)
        .with(Capabilities::SSL, tls)
}

/// The client leg's algorithm, or MySQL's own error.
pub fn client_leg(login: &Login, permitted: AlgorithmSet) -> Result<ClientLeg, ErrPacket> {
    let asks = |flag| login.capabilities.contains(flag);
    if asks(Capabilities::COMPRESS) && permitted.zlib {
        return Ok(ClientLeg { algorithm: Algorithm::Zlib, zstd_level: None });
    }
    if asks(Capabilities::ZSTD_COMPRESSION_ALGORITHM) && permitted.zstd {
        let level = login.zstd_level.and_then(ZstdLevel::new).ok_or_else(|| {
            ErrPacket::new(WRONG_LEVEL, b"HY000", "Invalid zstd compression level for algorithm 'zstd'.")
        })?;
        return Ok(ClientLeg { algorithm: Algorithm::Zstd, zstd_level: Some(level) });
    }
    // A client that set a bit which was not offered would read our plain replies as frames and hang.
    let asked = match (asks(Capabilities::COMPRESS), asks(Capabilities::ZSTD_COMPRESSION_ALGORITHM)) {
        (true, _) => "zlib",
        (_, true) => "zstd",
        _ if permitted.uncompressed => {
            return Ok(ClientLeg { algorithm: Algorithm::Uncompressed, zstd_level: None });
        }
        _ => "uncompressed",
    };
    let message = format!("Invalid compression algorithm '{asked}'. Permitted here: {permitted}.");
    Err(ErrPacket::new(WRONG_ALGORITHM, b"HY000", message))
}

/// The server leg's algorithm: the first of `wished` that the server offers; `None` when it offers none of them.
pub fn server_leg(server: Capabilities, wished: &[Algorithm]) -> Option<Algorithm> {
    wished.iter().copied().find(|algorithm| match algorithm {
        Algorithm::Uncompressed => true,
        Algorithm::Zlib => server.contains(Capabilities::COMPRESS),
        Algorithm::Zstd => server.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM),
    })
}

/// The capability bits of the server leg's login, and of the SSLRequest before it, whose bits are the ones that count:
/// the client's, with exactly one algorithm, and with this leg's own TLS.
pub fn requested(client: Capabilities, algorithm: Algorithm, tls: bool) -> Capabilities {
    client
        .with(Capabilities::COMPRESS, algorithm == Algorithm::Zlib)
        .with(Capabilities::ZSTD_COMPRESSION_ALGORITHM, algorithm == Algorithm::Zstd)
        .with(Capabilities::SSL, tls)
}

/// ER_WRONG_COMPRESSION_ALGORITHM_CLIENT.
const WRONG_ALGORITHM: u16 = 3922;
/// ER_WRONG_COMPRESSION_LEVEL_CLIENT.
const WRONG_LEVEL: u16 = 3923;

#[cfg(test)]
mod tests {
    use super::*;

    fn login(capabilities: Capabilities, zstd_level: Option<u8>) -> Login {
        Login { capabilities, zstd_level, ..Login::default() }
    }

    const ZLIB: Capabilities = Capabilities::COMPRESS;
    const ZSTD: Capabilities = Capabilities::ZSTD_COMPRESSION_ALGORITHM;

    #[test]
    fn both_bits_mean_zlib() {
        let leg = client_leg(&login(ZLIB | ZSTD, Some(9)), AlgorithmSet::ALL).unwrap();
        assert_eq!(leg.algorithm, Algorithm::Zlib);
        let only_zstd = AlgorithmSet { zlib: false, ..AlgorithmSet::ALL };
        assert_eq!(client_leg(&login(ZLIB | ZSTD, Some(9)), only_zstd).unwrap().algorithm, Algorithm::Zstd);
    }

    #[test]
    fn nothing_in_common_is_mysqls_3922() {
        let only_zstd = AlgorithmSet::of(&[Algorithm::Zstd]);
        for capabilities in [Capabilities::NONE, ZLIB] {
            assert_eq!(client_leg(&login(capabilities, None), only_zstd).unwrap_err().code, 3922);
        }
        let only_plain = AlgorithmSet::of(&[Algorithm::Uncompressed]);
        assert_eq!(client_leg(&login(ZSTD, Some(3)), only_plain).unwrap_err().code, 3922);
    }

    #[test]
    fn a_level_outside_1_to_22_is_mysqls_3923() {
        for level in [None, Some(0), Some(23), Some(255)] {
            assert_eq!(client_leg(&login(ZSTD, level), AlgorithmSet::ALL).unwrap_err().code, 3923);
        }
        let leg = client_leg(&login(ZSTD, Some(22)), AlgorithmSet::ALL).unwrap();
        assert_eq!(leg.zstd_level, Some(ZstdLevel::MAX));
    }

    #[test]
    fn the_server_leg_takes_the_first_wish_that_the_server_offers() {
        assert_eq!(server_leg(ZLIB | ZSTD, &Algorithm::ALL), Some(Algorithm::Zstd));
        assert_eq!(server_leg(ZLIB, &Algorithm::ALL), Some(Algorithm::Zlib));
        assert_eq!(server_leg(Capabilities::NONE, &Algorithm::ALL), Some(Algorithm::Uncompressed));
        assert_eq!(server_leg(ZLIB, &[Algorithm::Zstd]), None);
    }

    #[test]
    fn exactly_one_algorithm_is_asked_of_the_server() {
        assert_eq!(requested(ZLIB | ZSTD | Capabilities::SSL, Algorithm::Zstd, false), ZSTD);
        assert_eq!(requested(ZSTD, Algorithm::Zlib, true), ZLIB | Capabilities::SSL);
        assert_eq!(requested(ZSTD, Algorithm::Uncompressed, false), Capabilities::NONE);
    }
}
