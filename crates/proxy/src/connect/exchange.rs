//! Runs an authentication exchange between two legs, at login or in COM_CHANGE_USER.
//!
//! Not here: what each packet means (`wire::connect::auth`), RSA (`rsa`).

use std::sync::Arc;

use wire::Side;
use wire::connect::auth::{Exchange, MORE_DATA, Security, Step};
use wire::response::ErrPacket;
use zeroize::Zeroizing;

use super::rsa::{self, OwnKey};
use crate::{Cause, Phase, SessionError};

/// Both legs as a source and sink of whole packets.
pub(crate) trait Packets {
    /// The next packet of `side`.
    async fn read(&mut self, side: Side) -> Result<Zeroizing<Vec<u8>>, SessionError>;
    /// The next packet of whichever side speaks first.
    async fn read_either(&mut self) -> Result<(Side, Zeroizing<Vec<u8>>), SessionError>;
    /// Sends a packet to `side`.
    async fn write(&mut self, side: Side, payload: &[u8]) -> Result<(), SessionError>;
    /// Sends a packet to `side` with the next one, which is sure to follow soon: at once, where nothing can be kept.
    async fn write_with_next(&mut self, side: Side, payload: &[u8]) -> Result<(), SessionError> {
        self.write(side, payload).await
    }
}

/// Relays packets until the server says OK or ERR, which is passed on too; `Ok(None)` is success.
pub(crate) async fn run(
    exchange: &mut Exchange,
    packets: &mut impl Packets,
    own_key: &Arc<OwnKey>,
) -> Result<Option<ErrPacket>, SessionError> {
    let mut masked_password = Zeroizing::new(Vec::new());
    let mut next = (Side::Server, packets.read(Side::Server).await?);
    loop {
        let (side, payload) = next;
        let failed = |cause: Cause| SessionError { side, phase: Phase::Authentication, cause };
        let step = match side {
            Side::Server => exchange.server_packet(&payload),
            Side::Client => exchange.client_packet(&payload),
        };
        match step.map_err(|fault| failed(fault.into()))? {
            Step::Forward if side == Side::Client => packets.write(Side::Server, &payload).await?,
            Step::Inform => {
                packets.write_with_next(Side::Client, &payload).await?;
                next = (Side::Server, packets.read(Side::Server).await?);
                continue;
            }
            Step::Forward => packets.write(Side::Client, &payload).await?,
            Step::Succeeded => {
                packets.write(Side::Client, &payload).await?;
                return Ok(None);
            }
            Step::Refused => {
                packets.write(Side::Client, &payload).await?;
                return Ok(Some(ErrPacket::parse(&payload).map_err(|fault| failed(fault.into()))?));
            }
            Step::AskServerForKey { request, masked_password: masked } => {
                if exchange.client() == Security::Plain {
                    tracing::warn!(
                        "a client sent its password in clear over TCP, as some do where TLS is not offered"
                    );
                }
                masked_password = Zeroizing::new(masked);
                packets.write(Side::Server, &request).await?;
            }
            Step::EncryptForServer { server_key_pem } => {
                let ciphertext = rsa::encrypt(&server_key_pem, &masked_password).map_err(failed)?;
                masked_password = Zeroizing::default();
                packets.write(Side::Server, &ciphertext).await?;
                next = (Side::Server, packets.read(Side::Server).await?);
                continue;
            }
            Step::OfferOwnKey => {
                let own_key = Arc::clone(own_key);
                let pem = tokio::task::spawn_blocking(move || own_key.public_pem()).await;
                let pem = pem.map_err(|_| failed(Cause::CodecThreadFailed))?.map_err(failed)?;
                let mut answer = vec![MORE_DATA];
                answer.extend_from_slice(pem.as_bytes());
                packets.write(Side::Client, &answer).await?;
                next = (Side::Client, packets.read(Side::Client).await?);
                continue;
            }
            Step::DecryptForServer => {
                let masked = own_key.decrypt(&payload).map_err(failed)?;
                let password = Zeroizing::new(exchange.unmask(&masked));
                packets.write(Side::Server, &password).await?;
            }
        }
        next = match side {
            Side::Client => (Side::Server, packets.read(Side::Server).await?),
            Side::Server => packets.read_either().await?,
        };
    }
}
