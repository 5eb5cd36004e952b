//! The dialer's end: preamble, TLS, hello; and a session's begin.
//!
//! Invariants: nothing of a client crosses before the other end has proved itself; a warm stream that died in the pool is
//! replaced by a new one before anybody notices; an end that closes whatever is opened is tried a few times, and for no longer
//! than a dial may take.
//! Not here: the pool (`pool`), what follows the greeting (`connect`).

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::time::timeout;
use wire::connect::greeting::{self, FirstPacket};
use wire::pair::{Event, Mode, Preamble, Writer};
use wire::{Fault, Side, proxy_protocol};
use zeroize::Zeroizing;

use super::key::Role;
use super::{Pair, PairStream, Pool};
use crate::connect::Channel;
use crate::leg::Leg;
use crate::lookups::Lookups;
use crate::{Address, Cause, Phase, SessionError};

/// Begins a session of `client` with the pair at `peer`, by a warm stream if `pool` has one, into `slot`; the server's first
/// packet, which the other end passes on.
pub(crate) async fn open(
    slot: &mut Option<Channel>,
    pair: &Arc<Pair>,
    peer: &Address,
    client: &proxy_protocol::Header,
    lookups: &Lookups,
    pool: Option<&Rc<Pool>>,
) -> Result<(FirstPacket, Zeroizing<Vec<u8>>), SessionError> {
    let failed = |phase| move |cause| SessionError { side: Side::Server, phase, cause };
    // Its own dial and the server's greeting both take part of it.
    let limit = pair.config.connect_timeout + pair.config.login_timeout;
    // Each of the warm ones may be gone, and a new one may meet the other end's reload.
    let mut retries = pair.config.pair.warm_connections + 1;
    let begun = Instant::now();
    loop {
        let warm = match pool {
            Some(pool) => pool.take(pair, peer).await,
            None => None,
        };
        let mut leg = match warm {
            Some(leg) => leg,
            None => pair.dial(peer, lookups).await.map_err(failed(Phase::Dial))?,
        };
        let opened = async {
            let Some(stream) = leg.pair_mut() else { return Err(Cause::ClosedEarly) };
            stream.send(|out| Writer::open(client, out)).await?;
            let server = slot.insert(Channel::new(leg, greeting::foreign_protocol));
            timeout(limit, server.read()).await.unwrap_or(Err(Cause::TimedOut(limit.as_secs())))
        };
        match opened.await {
            Ok(payload) => {
                let first = FirstPacket::parse(&payload);
                return Ok((first.map_err(|fault| failed(Phase::Greeting)(fault.into()))?, payload));
            }
            // It went while it waited: the other end was restarted, say. Nothing was lost, since nobody has spoken yet.
            Err(cause) if is_gone(&cause) && retries > 0 && begun.elapsed() < pair.config.connect_timeout => {
                retries -= 1;
                *slot = None;
            }
            Err(cause) => return Err(failed(Phase::Greeting)(cause)),
        }
    }
}

fn is_gone(cause: &Cause) -> bool {
    matches!(cause, Cause::Io(_) | Cause::ClosedEarly | Cause::Protocol(Fault::PairBrokenOff))
}

impl Pair {
    /// A new stream to `peer`, ready for a session.
    pub(super) async fn dial(&self, peer: &Address, lookups: &Lookups) -> Result<Leg, Cause> {
        let (limit, user_timeout) = (self.config.connect_timeout, self.config.tcp_user_timeout);
        let leg = Leg::dial(peer, limit, user_timeout, lookups).await?;
        let greeted = timeout(limit, self.greet(leg, peer));
        greeted.await.unwrap_or(Err(Cause::TimedOut(limit.as_secs())))
    }

    async fn greet(&self, mut leg: Leg, peer: &Address) -> Result<Leg, Cause> {
        let mode = if self.dial_tls.is_some() { Mode::Tls } else { Mode::Clear };
        if mode == Mode::Clear && !leg.is_local() {
            return Err(Fault::PairKey(
                "its address is on another host, and neither a key nor an authority is given",
            )
            .into());
        }
        leg.write_all(&Preamble::Mode(mode).build()).await?;
        let mut received = Vec::new();
        let (theirs, len) = loop {
            if let Some(preamble) = Preamble::parse(&received)? {
                break preamble;
            }
            if leg.read(&mut received).await? == 0 {
                return Err(Cause::ClosedEarly);
            }
        };
        received.drain(..len);
        match theirs {
            Preamble::Refusal(why) => return Err(Fault::PairRefused(why).into()),
            Preamble::Mode(theirs) if theirs != mode => {
                return Err(Fault::PairUnexpected("its preamble contradicts ours").into());
            }
            Preamble::Mode(_) => {}
        }
        let mut exporter = None;
        if let Some(tls) = &self.dial_tls {
            let name = self.config.server_tls.name_of(peer)?;
            let behind = std::mem::take(&mut received);
            leg.connect_tls(tls.get(), name, behind).await.map_err(Cause::Tls)?;
            exporter = Some(leg.exporter().map_err(Cause::Tls)?);
        }
        let proof = match (&self.key, &exporter) {
            (Some(key), Some(exporter)) => Some(key.prove(Role::Dialer, exporter)),
            _ => None,
        };
        let ours = self.hello(codec::AlgorithmSet::of(&self.config.server_algorithms), proof);
        let mut stream = PairStream::new(leg, received, self.config.pair.history_timeout);
        stream.send(|out| Writer::hello(&ours, out)).await?;
        let theirs = match stream.event().await {
            Ok(Event::Hello(theirs)) => theirs,
            Ok(Event::Refusal(why)) => return Err(Fault::PairRefused(why).into()),
            Ok(_) => return Err(Fault::PairUnexpected("a HELLO is due").into()),
            // TLS 1.3 tells only now what it thinks of our certificate.
            Err(Cause::Io(error)) if exporter.is_some() => return Err(Cause::Tls(error)),
            Err(cause) => return Err(cause),
        };
        let agreement = ours.agree(&theirs)?;
        if let (Some(key), Some(exporter)) = (&self.key, &exporter) {
            let proof = theirs
                .proof
                .as_ref()
                .ok_or(Fault::PairKey("the other end has no --pair-key, and we have"))?;
            if !key.is_proven(Role::Listener, exporter, proof) {
                return Err(Fault::PairKey("the other end's --pair-key is another one than ours").into());
            }
        }
        stream.agree(agreement, &self.config.server_algorithms, self.config.zstd_level());
        tracing::debug!(%peer, program = theirs.program, version = agreement.version, "a pair stream is ready");
        Ok(Leg::pair(stream))
    }
}
