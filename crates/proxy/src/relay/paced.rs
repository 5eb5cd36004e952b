//! The controller of one direction's frames, with the socket that it watches.
//!
//! ```text
//! look at the socket -> choose -> pack or not -> look again -> hand over
//! ```
//! Not here: the choice (`codec::pace`), frames (`packer`), what a look costs the kernel (`leg::look`).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use codec::Algorithm;
use codec::pace::{Choice, Pace, Reason};

use crate::leg::{Leg, Looker};
use crate::worker::Shared;

pub(super) struct Paced {
    pace: Pace,
    looker: Looker,
    peer: IpAddr,
    shared: Arc<Shared>,
    /// Plain length and length of what waits to be handed over.
    made: Option<(usize, usize)>,
    reasons: Vec<(Reason, u64)>,
}

impl Paced {
    /// None where the leg's socket can't be watched.
    pub(super) fn new(leg: &Leg, algorithm: Algorithm, level_max: u8, shared: &Arc<Shared>) -> Option<Self> {
        let looker = Looker::new(leg)?;
        let peer = leg.peer_ip()?;
        let mut pace = Pace::new(algorithm, level_max);
        if let Some(rate) = shared.links.bytes_per_s(peer) {
            pace.assume_link(rate);
        }
        Some(Self { pace, looker, peer, shared: Arc::clone(shared), made: None, reasons: Vec::new() })
    }

    /// Before a choice.
    pub(super) fn look(&mut self, leg: &Leg) {
        if let Some(look) = self.looker.look(leg) {
            self.pace.look(look);
        }
    }

    pub(super) fn choose(&mut self, plain_len: usize, more: bool) -> Choice {
        let choice = self.pace.choose(plain_len, more);
        match self.reasons.iter_mut().find(|(reason, _)| *reason == choice.reason) {
            Some((_, count)) => *count += 1,
            None => self.reasons.push((choice.reason, 1)),
        }
        choice
    }

    pub(super) fn packed(&mut self, level: u8, plain_len: usize, packed_len: usize, took: Duration) {
        self.pace.packed(level, plain_len, packed_len, took);
    }

    /// A frame, or a part of one, is ready.
    pub(super) fn made(&mut self, plain_len: usize, len: usize) {
        let (plain, all) = self.made.unwrap_or_default();
        self.made = Some((plain + plain_len, all + len));
    }

    /// What is ready is written now.
    pub(super) fn hand_over(&mut self, leg: &Leg) {
        if let Some((plain_len, len)) = self.made.take() {
            self.look(leg);
            self.pace.sent(plain_len, len);
        }
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        let link_bytes_per_s = self.pace.link_bytes_per_s();
        if let Some(rate) = link_bytes_per_s {
            self.shared.links.saw(self.peer, rate);
        }
        tracing::debug!(peer = %self.peer, reasons = ?self.reasons, ?link_bytes_per_s, "frames were paced");
    }
}
