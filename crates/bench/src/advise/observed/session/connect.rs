//! The connection phase of a session that is followed: what it will be, and whether it can be read.
//!
//! ```text
//!  greeting ─▶ login ─▶ authentication … OK ─▶ commands, or frames if both sides know an algorithm
//!     └ refused, another protocol   └ TLS: over
//! ```
//! Invariants: of a login only its capabilities are kept; a packet of this phase is bounded by [`LOGIN_LEN_MAX`].
//!
//! Not here: parsing (`wire::connect`).

use codec::Algorithm;
use wire::connect::greeting::FirstPacket;
use wire::connect::login::ClientHello;
use wire::limits::LOGIN_LEN_MAX;
use wire::response::{err, ok};
use wire::{Capabilities, Direction};

use super::{Phase, Session, Unexpected};
use crate::advise::observed::cursor::Piece;
use crate::advise::observed::gathered::Gathered;

impl Session {
    /// A piece of the connection phase.
    pub(super) fn connect(
        &mut self,
        phase: Phase,
        direction: Direction,
        piece: &Piece<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), Unexpected> {
        match (phase, direction) {
            (Phase::Greeting | Phase::Authentication(_), Direction::ToClient)
            | (Phase::Login, Direction::ToServer) => {}
            // The client's answers.
            (Phase::Authentication(_), Direction::ToServer) => return Ok(()),
            // Who speaks out of turn speaks another protocol.
            _ => return Err(Unexpected),
        }
        let Piece::Body { bytes, is_last, .. } = piece else { return Ok(()) };
        if self.held.len() + bytes.len() > LOGIN_LEN_MAX {
            return Err(Unexpected);
        }
        self.held.extend_from_slice(bytes);
        if !is_last {
            return Ok(());
        }
        let payload = std::mem::take(&mut self.held);
        match phase {
            Phase::Greeting => self.greeting(&payload, gathered),
            Phase::Login => self.login(&payload, gathered),
            Phase::Authentication(algorithm) => match payload.first() {
                Some(&ok::HEADER) if algorithm.is_framed() => self.phase = Phase::Packed(algorithm),
                Some(&ok::HEADER) => self.phase = Phase::Commands,
                Some(&err::HEADER) => {
                    gathered.counts.refused += 1;
                    self.forget(Phase::Over);
                }
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn greeting(&mut self, payload: &[u8], gathered: &mut Gathered) {
        match FirstPacket::parse(payload) {
            Ok(FirstPacket::Greeting(greeting)) => {
                self.offered = greeting.capabilities;
                gathered.server_capabilities = Some(greeting.capabilities);
                gathered.is_mariadb = Some(greeting.is_mariadb());
                self.phase = Phase::Login;
            }
            Ok(FirstPacket::Refusal(_)) => {
                gathered.counts.refused += 1;
                self.forget(Phase::Over);
            }
            Err(_) => {
                gathered.counts.foreign += 1;
                self.forget(Phase::Over);
            }
        }
    }

    fn login(&mut self, payload: &[u8], gathered: &mut Gathered) {
        match ClientHello::parse(payload) {
            Ok(ClientHello::SslRequest(_)) => {
                gathered.counts.tls += 1;
                self.forget(Phase::Over);
            }
            Ok(ClientHello::Login(login)) => {
                let both = |flag| self.offered.contains(flag) && login.capabilities.contains(flag);
                let algorithm = if both(Capabilities::COMPRESS) {
                    Algorithm::Zlib
                } else if both(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
                    Algorithm::Zstd
                } else {
                    Algorithm::Uncompressed
                };
                if let Some(packed) = gathered.counts.packed(algorithm) {
                    packed.sessions += 1;
                }
                self.agreed = Capabilities(self.offered.0 & login.capabilities.0);
                self.phase = Phase::Authentication(algorithm);
            }
            Err(_) => {
                gathered.counts.foreign += 1;
                self.forget(Phase::Over);
            }
        }
    }
}
