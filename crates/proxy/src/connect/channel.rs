//! One leg during the connection phase: whole packets, never compressed.
//!
//! Invariants: a packet is at most `LOGIN_LEN_MAX`; buffers that may hold a password are wiped; ids count on
//! from whatever the peer sent, so the legs may differ, by an SSLRequest for example.
//! Not here: which packet follows which (`super`).

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;

use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error as TlsFault, ServerConfig};
use wire::limits::LOGIN_LEN_MAX;
use wire::response::err;
use wire::{Fault, packet, proxy_protocol};
use zeroize::Zeroizing;

use crate::Cause;
use crate::leg::Leg;

/// A leg that speaks packets.
pub(crate) struct Channel {
    pub(crate) leg: Leg,
    received: Zeroizing<Vec<u8>>,
    /// Packets that go with the next one.
    kept: Vec<u8>,
    next_id: u8,
    /// Says what a peer's first bytes look like when they can't be MySQL's.
    foreign: fn(&[u8]) -> Option<&'static str>,
    first: bool,
    /// It was sent a PROXY header, which it may refuse before the login comes.
    may_refuse_early: bool,
}

impl Channel {
    pub(crate) fn new(leg: Leg, foreign: fn(&[u8]) -> Option<&'static str>) -> Self {
        Self {
            leg,
            received: Zeroizing::default(),
            kept: Vec::new(),
            next_id: 0,
            foreign,
            first: true,
            may_refuse_early: false,
        }
    }

    /// The next packet's payload. Cancel-safe: bytes read so far stay.
    pub(crate) async fn read(&mut self) -> Result<Zeroizing<Vec<u8>>, Cause> {
        loop {
            if self.first
                && self.received.len() > packet::HEADER_LEN
                && let Some(looks_like) = (self.foreign)(&self.received)
            {
                return Err(Fault::NotMySql { looks_like }.into());
            }
            if let Some(header) = packet::Header::parse(&self.received) {
                if header.payload_len > LOGIN_LEN_MAX {
                    return Err(self.too_long(header.payload_len));
                }
                let end = packet::HEADER_LEN + header.payload_len;
                if let Some(payload) = self.received.get(packet::HEADER_LEN..end) {
                    let payload = Zeroizing::new(payload.to_vec());
                    self.check_id(header.sequence_id, payload.first() == Some(&err::HEADER))?;
                    self.received.drain(..end);
                    self.first = false;
                    return Ok(payload);
                }
            }
            self.read_on().await?;
        }
    }

    /// The PROXY protocol header before the first packet.
    pub(crate) async fn read_proxy_header(&mut self) -> Result<proxy_protocol::Header, Cause> {
        loop {
            if let Some((header, len)) = proxy_protocol::parse(&self.received)? {
                self.received.drain(..len);
                return Ok(header);
            }
            self.read_on().await?;
        }
    }

    async fn read_on(&mut self) -> Result<(), Cause> {
        self.make_room();
        match poll_fn(|cx| self.leg.poll_read(cx, &mut self.received)).await? {
            0 => Err(Cause::ClosedEarly),
            _ => Ok(()),
        }
    }

    /// For what is read at once. A `Vec` that grows by itself frees its old memory as it is; this is wiped.
    fn make_room(&mut self) {
        let wanted_len = self.received.len() + READ_LEN;
        if self.received.capacity() < wanted_len {
            let mut larger = Zeroizing::new(Vec::with_capacity(2 * wanted_len));
            larger.extend_from_slice(&self.received);
            self.received = larger;
        }
    }

    /// Whether the peer, whose turn it is not, has closed by now.
    pub(crate) async fn has_closed(&mut self) -> bool {
        // So that the socket's news are fetched before it is asked.
        tokio::task::yield_now().await;
        poll_fn(|cx| {
            while self.received.len() <= LOGIN_LEN_MAX {
                self.make_room();
                match self.leg.poll_read(cx, &mut self.received) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(true),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => break,
                }
            }
            Poll::Ready(false)
        })
        .await
    }

    /// Whether the peer has sent nothing yet, its PROXY header aside.
    pub(crate) fn is_silent(&self) -> bool {
        self.first && self.received.is_empty()
    }

    /// Whether the peer's first packet has not been read yet.
    pub(crate) const fn is_first_due(&self) -> bool {
        self.first
    }

    /// Whether what waits looks like a PROXY header.
    pub(crate) fn has_proxy_header(&self) -> bool {
        proxy_protocol::starts_like(&self.received)
    }

    /// Whether the peer, whose turn it is not, has said something by now, or closed.
    pub(crate) async fn has_spoken(&mut self) -> bool {
        self.has_closed().await || !self.received.is_empty()
    }

    /// Sends the PROXY protocol header that goes before all packets.
    pub(crate) async fn write_proxy_header(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        self.may_refuse_early = true;
        Ok(self.leg.write_all(bytes).await?)
    }

    /// Ids restart: a command follows.
    pub(crate) const fn begin_command(&mut self) {
        self.next_id = 0;
    }

    /// Sends one packet, behind those that were kept for it.
    pub(crate) async fn write(&mut self, payload: &[u8]) -> Result<(), Cause> {
        let len = self.kept.len() + packet::HEADER_LEN + payload.len();
        let mut bytes = Zeroizing::new(Vec::with_capacity(len));
        bytes.append(&mut self.kept);
        self.next_id = packet::split(payload, self.next_id, &mut bytes);
        Ok(self.leg.write_all(&bytes).await?)
    }

    /// Keeps a packet, which holds no password, for the next [`write`](Self::write).
    pub(crate) fn keep(&mut self, payload: &[u8]) {
        self.next_id = packet::split(payload, self.next_id, &mut self.kept);
    }

    /// Goes on as a TLS server behind the client's SSLRequest. What came behind that is TLS already, never packets.
    pub(crate) async fn accept_tls(&mut self, config: Arc<ServerConfig>) -> Result<(), Cause> {
        let received = std::mem::take(&mut *self.received);
        self.leg.accept_tls(config, received).await.map_err(Cause::Tls)
    }

    /// Goes on as a TLS client behind our own SSLRequest.
    pub(crate) async fn connect_tls(
        &mut self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<(), Cause> {
        let received = std::mem::take(&mut *self.received);
        self.leg.connect_tls(config, name, received).await.map_err(|error| Cause::Tls(plainly(error)))
    }

    /// The leg, and what the peer has sent beyond the connection phase: a copy, since behind its end the buffer still has
    /// the login's bytes, and is wiped.
    pub(crate) fn into_parts(self) -> (Leg, Vec<u8>) {
        let beyond = self.received.to_vec();
        (self.leg, beyond)
    }

    fn check_id(&mut self, actual: u8, is_error: bool) -> Result<(), Cause> {
        let expected = self.next_id;
        self.next_id = actual.wrapping_add(1);
        // A server's refusal before its greeting may carry any id, one of a PROXY header the login's own.
        let may_differ = self.first || (self.may_refuse_early && is_error);
        if actual != expected && !may_differ {
            return Err(Fault::SequenceOutOfOrder { expected, actual }.into());
        }
        Ok(())
    }

    fn too_long(&self, len: usize) -> Cause {
        if self.first {
            Fault::NotMySql { looks_like: "a first packet of absurd length" }
        } else {
            Fault::LoginTooLong { len, max: LOGIN_LEN_MAX }
        }
        .into()
    }
}

/// More than a greeting or a login mostly is, and little to wipe: with room for 8 KiB that was 2 % of what a connection costs us.
const READ_LEN: usize = 512;

/// Without what rustls says before the words of our own verifier.
fn plainly(error: io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(TlsFault::General(own_words)) => io::Error::new(error.kind(), own_words.clone()),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn a_packet_that_was_kept_comes_before_the_next_one_and_in_one_piece_with_it() {
        let (near, far) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(Leg::unix(near), |_| None);
        channel.keep(&[1, 3]);
        assert!(far.try_read(&mut [0; 16]).is_err());
        channel.write(&[0]).await.unwrap();
        far.readable().await.unwrap();
        let mut bytes = [0; 16];
        let len = far.try_read(&mut bytes).unwrap();
        assert_eq!(bytes.get(..len), Some(&[2, 0, 0, 0, 1, 3, 1, 0, 0, 1, 0][..]));
    }

    #[tokio::test]
    async fn what_is_handed_on_has_no_room_in_which_a_password_could_be_left() {
        let (mut peer, socket) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(Leg::unix(socket), |_| None);
        peer.write_all(b"\x06\0\0\0secret\x01\0\0\x01\x0e").await.unwrap();
        assert_eq!(&channel.read().await.unwrap()[..], b"secret");
        let (_leg, beyond) = channel.into_parts();
        assert_eq!((&beyond[..], beyond.capacity()), (&b"\x01\0\0\x01\x0e"[..], 5));
    }
}
