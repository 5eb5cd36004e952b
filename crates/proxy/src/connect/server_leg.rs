//! What the server leg is compressed with: by the options, or by what its link has shown.
//!
//! Not here: what follows from what was seen (`codec::pace::PackingServer`), MySQL's rules (`wire::connect::negotiate`).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use codec::pace::{LegChoice, LegReason, Packing, Trial};
use codec::{Algorithm, ZstdLevel};
use wire::connect::greeting::Greeting;
use wire::connect::negotiate;
use wire::{Capabilities, Side};

use super::{Handshake, on};
use crate::links::Link;
use crate::worker::Worker;
use crate::{Cause, ListenerConfig, Phase, Policy, SessionError};

/// How a server leg is compressed.
pub(crate) struct ServerLegChoice {
    pub(crate) chosen: LegChoice,
    /// It is made by what the link has shown, so what it shows next is wanted.
    pub(crate) follows_the_link: bool,
    /// Whose session it is: users' replies are of different kinds.
    pub(crate) user: u64,
    /// It is made for others, too, which wait.
    pub(crate) trial: Option<HeldTrial>,
}

/// A session's trial. It is over when this is dropped: the login failed, or the session has ended.
pub(crate) struct HeldTrial {
    link: Arc<Link>,
    trial: Trial,
}

impl HeldTrial {
    /// The session is logged in.
    pub(crate) fn begins(&self) {
        self.link.server().trial_begins(self.link.now(), self.trial);
    }
}

impl Drop for HeldTrial {
    fn drop(&mut self) {
        self.link.server().trial_ends(self.trial);
    }
}

impl Handshake {
    pub(super) fn choose_server_leg(
        &self,
        greeting: &Greeting,
        user: &[u8],
        config: &ListenerConfig,
        worker: &Worker,
    ) -> Result<ServerLegChoice, SessionError> {
        if self.is_paired() {
            return Ok(by_itself(STORED, LegReason::AsAsked)); // What is below the leg packs.
        }
        let algorithm = negotiate::server_leg(greeting.capabilities, &config.server_algorithms);
        let algorithm = algorithm.ok_or_else(|| {
            let names: Vec<_> = config.server_algorithms.iter().map(|algorithm| algorithm.name()).collect();
            on(Side::Server, Phase::Login)(Cause::CompressionNotOffered { wished: names.join(",") })
        })?;
        let is_auto = config.server_algorithms_are_free && config.server_algorithms == Algorithm::ALL;
        if !is_auto || config.policy != Policy::Latency {
            return Ok(by_itself(packing(algorithm, config.zstd_level()), LegReason::AsAsked));
        }
        let Some(peer) = self.server.as_ref().and_then(|server| server.leg.peer_address()) else {
            return Ok(by_itself(STORED, LegReason::NoLink));
        };
        let link = worker.shared.links.to(peer, Side::Server);
        let possible = possible(greeting.capabilities, config);
        let user = key(user);
        let chosen = link.server().choose(link.now(), user, &possible);
        let (algorithm, level) = chosen.packing;
        tracing::debug!(%peer, %algorithm, level, reason = chosen.reason.words(), "the server leg was chosen");
        let trial = chosen.trial.map(|trial| HeldTrial { link, trial });
        Ok(ServerLegChoice { chosen, follows_the_link: true, user, trial })
    }
}

/// By no link.
const fn by_itself(packing: Packing, reason: LegReason) -> ServerLegChoice {
    let chosen = LegChoice { packing, reason, trial: None };
    ServerLegChoice { chosen, follows_the_link: false, user: 0, trial: None }
}

/// Two users of one key would only be taken to be of one kind.
fn key(user: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    user.hash(&mut hasher);
    hasher.finish()
}

/// What the server can pack with, in order of wish: its best algorithm, at no level above the one that was asked for, if one was.
fn possible(offered: Capabilities, config: &ListenerConfig) -> Vec<Packing> {
    let framed = [Algorithm::Zstd, Algorithm::Zlib, Algorithm::Uncompressed];
    match negotiate::server_leg(offered, &framed) {
        Some(Algorithm::Zstd) => {
            let mut levels = vec![config.zstd_level(), ZstdLevel::MIN, config.server_zstd_level_max()];
            levels.sort_by_key(|level| (*level != config.zstd_level(), *level));
            levels.dedup();
            levels.into_iter().map(|level| packing(Algorithm::Zstd, level)).collect()
        }
        Some(algorithm) if algorithm.is_framed() => vec![packing(algorithm, config.zstd_level())],
        _ => Vec::new(),
    }
}

fn packing(algorithm: Algorithm, level: ZstdLevel) -> Packing {
    (algorithm, if algorithm == Algorithm::Zstd { level.get() } else { 0 })
}

const STORED: Packing = (Algorithm::Uncompressed, 0);
