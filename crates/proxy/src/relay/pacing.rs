//! Who decides about a session's frames, by its policy: controllers, their links and budgets; and what its replies tell.
//!
//! Not here: the controllers (`paced`), how replies are timed (`receipt`).

use std::rc::Rc;
use std::sync::Arc;

use codec::Algorithm;
use wire::Side;

use super::paced::{Levels, Paced};
use super::receipt::{Receipt, SAMPLE_LEN, Stands};
use crate::budgets::{Budgets, Exchange};
use crate::connect::{FramedLeg, ServerLegChoice};
use crate::leg::Leg;
use crate::links::{Link, LinkUse, Links};
use crate::worker::Worker;
use crate::{ListenerConfig, Policy};

/// Of one session.
pub(super) struct Pacing {
    policy: Policy,
    level_max: u8,
    /// To the client, to the server: those that something is decided for.
    links: [Option<LinkUse>; 2],
    budgets: Budgets,
    receipt: Option<Receipt>,
}

impl Pacing {
    pub(super) fn new(
        config: &ListenerConfig,
        worker: &Worker,
        [client, server]: [&FramedLeg; 2],
        choice: ServerLegChoice,
    ) -> Self {
        let policy = config.policy;
        let link = |leg: &FramedLeg, side, is_watched: bool| {
            let is_paced = match policy {
                Policy::Fixed => false,
                Policy::Latency | Policy::Cost => leg.algorithm.is_framed() || leg.leg.as_pair().is_some(),
            };
            if !is_paced && !is_watched {
                return None;
            }
            let link = match leg.leg.peer_address() {
                Some(peer) => worker.shared.links.to(peer, side),
                None => Links::unshared(),
            };
            Some(LinkUse::of(link))
        };
        let links = [link(client, Side::Client, false), link(server, Side::Server, choice.follows_the_link)];
        let receipt = links[1]
            .as_ref()
            .filter(|_| choice.follows_the_link)
            .map(|link| Receipt::new(link.link(), choice.chosen.packing, choice.user, choice.trial));
        let budgets = Budgets {
            cpu: Arc::clone(&worker.shared.cpu_allowance),
            p99_percent: config.cost_p99_percent,
            exchange: Rc::new(Exchange::default()),
        };
        Self { policy, level_max: config.paced_zstd_level_max().get(), links, budgets, receipt }
    }

    /// The controller of frames to `side`, where they are not packed as they were asked for.
    pub(super) fn controller(&self, side: Side, leg: &Leg, algorithm: Algorithm) -> Option<Box<Paced>> {
        let level_max = match algorithm {
            Algorithm::Zstd => self.level_max,
            _ => ZLIB_LEVEL_MAX,
        };
        self.paced(side, leg, algorithm, Levels::UpTo(level_max))
    }

    /// A pair's stream to `side` may pack, what its controller wants where there is one.
    pub(super) fn start_pair(&self, side: Side, leg: &mut Leg, worker: &Worker) {
        let Some(stream) = leg.as_pair() else { return };
        let levels = Levels::OfHistory { agreed: stream.level(), max: self.level_max };
        let algorithm = stream.algorithm();
        let paced =
            if algorithm.is_framed() { self.paced(side, stream.below(), algorithm, levels) } else { None };
        if let Some(stream) = leg.pair_mut() {
            stream.start_packing(&worker.shared, paced);
        }
    }

    fn paced(&self, side: Side, leg: &Leg, algorithm: Algorithm, levels: Levels) -> Option<Box<Paced>> {
        let link = self.link(side)?;
        let paced = match self.policy {
            Policy::Fixed => return None,
            Policy::Latency if leg.is_unix() => Paced::without_a_link(side, algorithm, link),
            Policy::Latency => Paced::by_latency(side, leg, algorithm, levels, link)?,
            Policy::Cost => Paced::by_cost(side, leg, algorithm, levels, link, self.budgets.clone()),
        };
        Some(Box::new(paced))
    }

    fn link(&self, side: Side) -> Option<Arc<Link>> {
        let [to_client, to_server] = &self.links;
        let link = if side == Side::Client { to_client } else { to_server };
        link.as_ref().map(LinkUse::link)
    }

    /// The session waits; `oldest` is the command whose reply is due. Links are told how long exchanges take, where that is
    /// a budget.
    pub(super) fn follow_exchange(&self, oldest: Option<u64>) {
        if self.policy != Policy::Cost {
            return;
        }
        if let Some(time) = self.budgets.exchange.follow(oldest) {
            for link in self.links.iter().flatten() {
                link.link().replied(time);
            }
        }
    }

    /// The session waits; the link is told how replies come, where later sessions' server legs follow from that. `sample`
    /// fills with a part of a reply when one is wanted.
    pub(super) fn follow_replies(&mut self, stands: impl FnOnce() -> Stands, sample: &mut Option<Vec<u8>>) {
        let Some(receipt) = &mut self.receipt else { return };
        let wants_sample = receipt.step(stands());
        match sample {
            Some(bytes) if bytes.len() >= SAMPLE_LEN => {
                receipt.sampled(bytes);
                *sample = None;
            }
            None if wants_sample => *sample = Some(Vec::with_capacity(SAMPLE_LEN)),
            _ => {}
        }
    }
}

/// libdeflate's 6 is what zlib's own default is.
const ZLIB_LEVEL_MAX: u8 = 6;
