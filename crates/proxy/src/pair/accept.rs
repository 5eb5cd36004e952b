//! The listener's end: preamble, TLS, hello; and the wait for a session.
//!
//! Invariants: whoever is no pair is told so in its own protocol, within `--login-timeout`; no server is dialled before
//! the other end has proved itself.
//! Not here: the session that follows (`session`).

use std::future::poll_fn;
use std::task::Poll;

use codec::{Algorithm, AlgorithmSet};
use tokio::time::timeout;
use wire::pair::{Event, Hello, Mode, Preamble, Writer};
use wire::response::ErrPacket;
use wire::{Fault, Side, packet};

use super::key::Role;
use super::{Pair, PairStream};
use crate::client_address::ClientAddress;
use crate::ending::Ending;
use crate::leg::Leg;
use crate::{Cause, Phase, SessionError};

/// Waits on `leg`, which is whole connection of another wirepress at `peer`, until it begins a session: its leg, and whose
/// session it is. `None`: it went, or the proxy drains, or has other settings by now.
pub(crate) async fn accept(
    leg: Leg,
    peer: ClientAddress,
    pair: &Pair,
    ending: &Ending,
) -> Result<Option<(Leg, ClientAddress)>, SessionError> {
    let failed = |cause| SessionError { side: Side::Client, phase: Phase::Pair, cause };
    let limit = pair.config.login_timeout;
    let Some(preamble) = ending.unless_stopped(timeout(limit, pair.preamble(leg))).await else {
        return Ok(None);
    };
    let greeted = match preamble {
        Ok(Ok(Some((leg, received)))) => {
            let greeted = timeout(limit, pair.welcome(leg, received));
            let greeted = ending.unless_stopped(greeted).await;
            let Some(greeted) = greeted else { return Ok(None) };
            greeted.unwrap_or(Err(Cause::TimedOut(limit.as_secs())))
        }
        Ok(Ok(None)) => return Ok(None),
        Ok(Err(cause)) => Err(cause),
        Err(_) => Err(Cause::TimedOut(limit.as_secs())),
    };
    let mut stream = greeted.map_err(failed)?;
    // Warm: it may wait for hours.
    let opened = poll_fn(|cx| match ending.is_draining() {
        true => Poll::Ready(None),
        false => stream.poll_open(cx).map(Some),
    });
    // What came by settings that are not in force any more is no session of those that are: the other end dials anew.
    let opened = pair.replaced.unless_draining(opened);
    match ending.unless_stopped(opened).await.flatten().flatten() {
        Some(Ok(Some(client))) => Ok(Some((Leg::pair(stream), peer.told_by(&client)))),
        Some(Ok(None)) => Ok(None),
        Some(Err(error)) => Err(failed(error.into())),
        None => {
            Leg::pair(stream).linger().await;
            Ok(None)
        }
    }
}

impl Pair {
    /// Reads who it is, and answers; `None` if it left without a word.
    async fn preamble(&self, mut leg: Leg) -> Result<Option<(Leg, Vec<u8>)>, Cause> {
        let mut received = Vec::new();
        let parsed = timeout(self.config.login_timeout / 2, async {
            loop {
                if let Some(preamble) = Preamble::parse(&received)? {
                    return Ok(Some(preamble));
                }
                if leg.read(&mut received).await? == 0 {
                    return if received.is_empty() { Ok(None) } else { Err(Cause::ClosedEarly) };
                }
            }
        });
        let (theirs, len) = match parsed.await {
            Ok(Ok(Some(preamble))) => preamble,
            Ok(Ok(None)) => return Ok(None),
            Ok(Err(cause)) => {
                turn_away(leg, &received).await;
                return Err(cause);
            }
            Err(_) => {
                turn_away(leg, &received).await;
                return Err(Fault::PairPeerForeign {
                    looks_like: "a MySQL client, which waits for a greeting",
                }
                .into());
            }
        };
        received.drain(..len);
        let why = match (theirs, &self.accept_tls) {
            (Preamble::Mode(Mode::Tls), Some(_)) => None,
            (Preamble::Mode(Mode::Clear), None) if leg.is_local() => None,
            (Preamble::Mode(Mode::Clear), None) => Some("a stream in clear may not leave its host"),
            (Preamble::Mode(Mode::Clear), Some(_)) => Some(
                "this pair listener wants TLS: give the same --pair-key, or --ssl-ca, --ssl-cert and --ssl-key",
            ),
            (Preamble::Mode(Mode::Tls), None) => {
                Some("this pair listener has neither --pair-key nor --tls-cert, so it speaks no TLS")
            }
            (Preamble::Refusal(_), _) => Some("a dialer has nothing to refuse"),
        };
        if let Some(why) = why {
            leg.write_all(&Preamble::Refusal(why.to_owned()).build()).await?;
            leg.linger().await;
            return Err(Fault::PairKey(why).into());
        }
        let mode = if self.accept_tls.is_some() { Mode::Tls } else { Mode::Clear };
        leg.write_all(&Preamble::Mode(mode).build()).await?;
        Ok(Some((leg, received)))
    }

    /// TLS and both hellos.
    async fn welcome(&self, mut leg: Leg, mut received: Vec<u8>) -> Result<PairStream, Cause> {
        let mut exporter = None;
        if let Some(tls) = &self.accept_tls {
            let behind = std::mem::take(&mut received);
            leg.accept_tls(tls.get(), behind).await.map_err(Cause::Tls)?;
            exporter = Some(leg.exporter().map_err(Cause::Tls)?);
        }
        let mut stream = PairStream::new(leg, received, self.config.pair.history_timeout);
        let Event::Hello(theirs) = stream.event().await? else {
            return Err(Fault::PairUnexpected("a HELLO is due").into());
        };
        let judged = self.judge(&theirs, exporter.as_ref().map(|bytes| &bytes[..]));
        let (ours, agreement) = match judged {
            Ok(ours) => ours,
            Err(fault) => {
                let why = fault.to_string();
                stream.send(|out| Writer::refuse(&why, out)).await?;
                Leg::pair(stream).linger().await;
                return Err(fault.into());
            }
        };
        stream.send(|out| Writer::hello(&ours, out)).await?;
        let wishes: Vec<_> = Algorithm::ALL
            .into_iter()
            .filter(|algorithm| self.config.permitted.contains(*algorithm))
            .collect();
        stream.agree(agreement, &wishes, self.config.zstd_level_max());
        Ok(stream)
    }

    fn judge(
        &self,
        theirs: &Hello,
        exporter: Option<&[u8]>,
    ) -> Result<(Hello, wire::pair::Agreement), Fault> {
        let mut proof = None;
        if let (Some(key), Some(exporter)) = (&self.key, exporter) {
            let their_proof =
                theirs.proof.as_ref().ok_or(Fault::PairKey("this pair listener wants --pair-key"))?;
            if !key.is_proven(Role::Dialer, exporter, their_proof) {
                return Err(Fault::PairKey("the --pair-key of the two ends differs"));
            }
            proof = Some(key.prove(Role::Listener, exporter));
        }
        let ours = self.hello(permitted(self.config.permitted), proof);
        let agreement = ours.agree(theirs)?;
        Ok((ours, agreement))
    }
}

/// Stored frames are always possible.
const fn permitted(permitted: AlgorithmSet) -> AlgorithmSet {
    AlgorithmSet { uncompressed: true, ..permitted }
}

impl PairStream {
    /// Whose session begins; `None` if the other end went instead.
    fn poll_open(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<std::io::Result<Option<wire::proxy_protocol::Header>>> {
        loop {
            let event = std::task::ready!(self.poll_waiting(cx));
            return Poll::Ready(match event {
                Ok(Event::Open(client)) => Ok(Some(client)),
                Ok(Event::Rest) => continue,
                Ok(Event::End) => Ok(None),
                Ok(_) => Err(super::as_io(Fault::PairUnexpected("a session is to begin"))),
                // An unused stream may just go.
                Err(_) if !self.is_inside_frame() => Ok(None),
                Err(error) => Err(error),
            });
        }
    }
}

/// Tells somebody who is no pair, in its own protocol where that is known.
async fn turn_away(mut leg: Leg, received: &[u8]) {
    const WHAT: &str = "This is a wirepress pair listener (--pair-listen): only another wirepress connects here, by \
                        --server wirepress://host:port. Clients connect to that one.";
    let words = match received {
        [b'G' | b'P' | b'H', b'A'..=b'Z', ..] => format!(
            "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{WHAT}\n",
            WHAT.len() + 1
        )
        .into_bytes(),
        // Of TLS there is nothing to be said in clear.
        [0x16, ..] => Vec::new(),
        _ => {
            let mut bytes = Vec::new();
            let mut told = ErrPacket::new(HANDSHAKE_ERROR, b"08S01", WHAT.to_owned());
            // The form before a greeting.
            told.sqlstate = None;
            packet::split(&told.build(), 0, &mut bytes);
            bytes
        }
    };
    // It may be gone; there is nobody else to tell.
    drop(leg.write_all(&words).await);
    leg.linger().await;
}

/// ER_HANDSHAKE_ERROR.
const HANDSHAKE_ERROR: u16 = 1043;
