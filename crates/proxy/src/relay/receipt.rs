//! How fast replies come that a server sends: what the choice of later sessions' server legs is made from.
//!
//! ```text
//!  │ waits │ reply has begun, and the source has no more for now … bytes … bytes │ complete
//!          └────────────────────── told to the link ──────────────────────┘
//! ```
//! Besides the link is told how long the user's replies are, whenever a session ends and after so many of them.
//!
//! Bytes that came before the source first had no more are not counted: they may have waited in buffers. A reply that comes
//! at once is not looked at, so short ones cost nothing.
//!
//! Invariants: what the client holds back says nothing; of what passes, three samples for each link in ten minutes are copied.
//! Not here: what follows from it (`codec::pace::PackingServer`).

use std::sync::Arc;
use std::time::Instant;

use codec::Algorithm;
use codec::pace::{Packing, Sample};
use wire::packet;

use crate::connect::HeldTrial;
use crate::links::Link;

/// Of one session.
pub(super) struct Receipt {
    link: Arc<Link>,
    packing: Packing,
    /// Whose session it is.
    user: u64,
    /// Commands and plain bytes of replies that the link was told of.
    told: (u64, u64),
    /// A reply is under way.
    is_open: bool,
    /// The client has held it back.
    was_held: bool,
    /// At the last step.
    lens: Lens,
    /// When requests began to be held back, and what had been sent by then.
    held: Option<(Instant, u64)>,
    /// The link waits for a sample from here.
    samples: bool,
    /// Others wait for what this session shows, as long as it goes on.
    _trial: Option<HeldTrial>,
}

/// What a session has carried.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lens {
    /// Replies, plain.
    pub(super) plain_len: u64,
    /// Replies, as they came.
    pub(super) received_len: u64,
    /// Requests, as they went.
    pub(super) sent_len: u64,
    /// Commands.
    pub(super) commands: u64,
}

/// How a session stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stands {
    pub(super) lens: Lens,
    /// A reply has begun and is not complete, its end is known, and nobody but the server can go on with it. Events of a binary log
    /// come when there are some, which says nothing.
    pub(super) is_open: bool,
    /// The client takes no more for now.
    pub(super) client_holds: bool,
    /// The server's socket takes no more for now.
    pub(super) server_holds: bool,
}

impl Receipt {
    pub(super) fn new(link: Arc<Link>, packing: Packing, user: u64, trial: Option<HeldTrial>) -> Self {
        if let Some(trial) = &trial {
            trial.begins();
        }
        let lens = Lens::default();
        Self {
            link,
            packing,
            user,
            told: (0, 0),
            is_open: false,
            was_held: false,
            lens,
            held: None,
            samples: false,
            _trial: trial,
        }
    }

    /// The session waits; says whether a sample of the reply is wanted.
    pub(super) fn step(&mut self, stands: Stands) -> bool {
        let Stands { lens, is_open, client_holds, server_holds } = stands;
        let before = std::mem::replace(&mut self.lens, lens);
        self.follow_requests(server_holds, lens.sent_len);
        if lens.commands >= self.told.0 + TOLD_AFTER {
            self.tell_replies();
        }
        let plain_len = lens.plain_len.saturating_sub(before.plain_len);
        let begins = is_open && plain_len > 0;
        if !self.is_open && !begins {
            return false;
        }
        let now = self.link.now();
        let mut server = self.link.server();
        if self.is_open {
            server.got(now, plain_len, lens.received_len.saturating_sub(before.received_len));
        } else {
            server.begin(now, self.packing);
        }
        if client_holds && !self.was_held {
            self.was_held = true;
            server.holds();
        }
        if !is_open {
            server.end(now, self.packing, std::mem::take(&mut self.was_held));
        }
        self.is_open = is_open;
        self.samples |= self.packing.0 == Algorithm::Uncompressed && server.wants_sample(now);
        self.samples
    }

    fn tell_replies(&mut self) {
        let Lens { commands, plain_len, .. } = self.lens;
        let (told_commands, told_len) = std::mem::replace(&mut self.told, (commands, plain_len));
        let (replies, len) = (commands.saturating_sub(told_commands), plain_len.saturating_sub(told_len));
        self.link.server().told(self.link.now(), self.user, replies, len);
    }

    /// What the server's socket doesn't take is held back by the link, or by the server.
    fn follow_requests(&mut self, server_holds: bool, sent_len: u64) {
        match (self.held, server_holds) {
            (None, true) => self.held = Some((Instant::now(), sent_len)),
            (Some((since, from_len)), false) => {
                self.held = None;
                let len = sent_len.saturating_sub(from_len);
                let time_s = since.elapsed().as_secs_f64();
                if len >= REQUESTS_LEN && time_s > 0.0 {
                    self.link.server().held_back(self.link.now(), len as f64 / time_s);
                }
            }
            _ => {}
        }
    }

    /// A part of an uncompressed reply, from a packet's begin on: how well would it pack?
    pub(super) fn sampled(&mut self, plain: &[u8]) {
        self.samples = false;
        if let Ok(sample) = Sample::of(plain, row_len(plain), || self.link.now()) {
            tracing::debug!(?sample, "a reply was sampled");
            self.link.server().sampled(self.link.now(), sample);
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.tell_replies();
        if self.is_open {
            self.link.server().end(self.link.now(), self.packing, self.was_held);
        }
        if self.samples {
            self.link.server().not_sampled();
        }
    }
}

/// Bytes of a packet, on average of those that begin there.
fn row_len(plain: &[u8]) -> f64 {
    let (mut end, mut packets) = (0, 0_u32);
    while let Some(header) = plain.get(end..).and_then(packet::Header::parse) {
        end += packet::HEADER_LEN + header.payload_len;
        packets += 1;
    }
    end as f64 / f64::from(packets.max(1))
}

/// Enough for a ratio, some 2 ms of work at all levels.
pub(super) const SAMPLE_LEN: usize = 16 << 10;
/// Sessions of a pool don't end for hours.
const TOLD_AFTER: u64 = 1024;
/// More than sockets' buffers take of it at once.
const REQUESTS_LEN: u64 = 256 << 10;

#[cfg(test)]
mod tests {
    use super::row_len;

    #[test]
    fn a_rows_length_is_that_of_the_packets_that_begin_in_the_sample() {
        let packet = |payload_len: u8, part: usize| {
            let mut bytes = vec![payload_len, 0, 0, 7];
            bytes.extend(std::iter::repeat_n(0, part));
            bytes
        };
        assert_eq!(row_len(&[packet(6, 6), packet(36, 36), packet(96, 11)].concat()), 50.0);
        // Not even its header is whole.
        assert_eq!(row_len(&[packet(6, 6), vec![6, 0, 0]].concat()), 10.0);
        assert_eq!(row_len(&[0, 0, 16, 1, 0]), 1_048_580.0);
        assert_eq!(row_len(&[]), 0.0);
    }
}
