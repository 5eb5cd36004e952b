//! Frames of what was collected: packed, in the history that there is, or stored.
//!
//! ```text
//!  collected ─▶ the controller's choice ─▶ wire::pair::Writer ─▶ out
//! ```
//! Invariants: a worker packs no longer than a millisecond or two before others have their turn, up to level 12 and but for the
//! first frame behind a change of level.
//! Not here: when a frame ends and leaves (`super`), which frames are worth it (`codec::pace`).

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use codec::HistoryCompressor;
use codec::pace::{Next, PackedFrame};
use tokio::time::Instant;
use wire::pair::{FRAME_PLAIN_LEN_MAX, HEADER_LEN, Writer};

use super::PairStream;
use crate::budget;
use crate::pair::as_io;
use crate::worker::step_aside;

impl PairStream {
    /// Bytes at which a frame is full: what a worker packs in about a millisecond at the level that is chosen for the next one.
    pub(super) fn frame_len(&self) -> usize {
        let (wanted, level) = match &self.paced {
            Some(paced) => (paced.frame_len(), paced.level()),
            None => (usize::MAX, self.level()),
        };
        let packs_len = codec::plain_bytes_per_ms(self.algorithm(), level);
        wanted.min(FRAME_PLAIN_LEN_MAX).min(packs_len.max(FRAME_LEN_MIN))
    }

    /// Bytes of the frame that is being filled.
    pub(super) fn collected_len(&self) -> usize {
        self.collected.len().saturating_sub(HEADER_LEN)
    }

    /// Makes a frame of what was collected, once those before are on their way; `more` follow it at once, or somebody waits
    /// for it.
    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>, more: bool) -> Poll<io::Result<()>> {
        // Nothing waits beside a pause.
        if !(more && self.gathers() && self.worked_len <= WORK_LEN_MAX) {
            ready!(self.poll_drain(cx))?;
        }
        if self.pauses(cx) {
            return Poll::Pending;
        }
        self.last_write = Instant::now();
        if self.out.is_empty() {
            self.out_since = self.last_write;
        }
        let plain_len = self.collected_len();
        let before_len = self.out.len();
        let waiting_len = before_len - self.out_start;
        let level = match &mut self.paced {
            None => self.writer.is_worth_packing(plain_len).then_some(0),
            Some(paced) => {
                paced.look(&self.below, waiting_len);
                paced.choose(plain_len, if more { Next::Follows } else { Next::Unknown }).level
            }
        };
        let is_packed = match level {
            Some(level) => self.pack(level)?,
            None => false,
        };
        if is_packed {
            // What packs slowly counts for more.
            let packs_len = codec::plain_bytes_per_ms(self.algorithm(), self.level());
            self.worked_len += plain_len * (WORK_LEN_MAX / packs_len).max(1);
            self.last_packed = self.last_write;
            self.collected.clear();
        } else {
            self.store()?;
        }
        if let Some(paced) = &mut self.paced {
            paced.made(plain_len, self.out.len() - before_len);
            paced.hand_over(&self.below, waiting_len);
        }
        Poll::Ready(Ok(()))
    }

    /// Packs what was collected, if there is memory for that.
    fn pack(&mut self, level: u8) -> io::Result<bool> {
        let is_zstd = self.algorithm() == codec::Algorithm::Zstd;
        // 0 where nobody chooses.
        if let Some(level) = codec::ZstdLevel::new(level).filter(|_| is_zstd) {
            self.writer.set_level(level);
        }
        let Self { below, writer, collected, out, shared, reserved, paced, times: [time, _], sent, .. } =
            self;
        let plain = collected.get(HEADER_LEN..).unwrap_or_default();
        // Never waited for: without memory the frame goes stored.
        let may_take =
            |len| shared.as_ref().is_some_and(|shared| shared.budget.try_hold(&mut *reserved, len));
        let begun = below.begin_work(plain.len());
        let before_len = out.len();
        if plain.len() >= FRAME_LEN_MIN && out.is_empty() {
            // Others may follow behind what little becomes of it.
            out.reserve(HEADER_LEN + HistoryCompressor::room_for(plain.len()) + GATHERED_LEN);
        }
        let packed = writer.pack(plain, out, may_take).map_err(as_io)?;
        let took = time.end(begun, plain.len());
        if let Some(packed) = packed {
            sent.packed += 1;
            sent.codec_ns += took.cpu_ns;
            if packed.begins_anew {
                budget::hold_at_most(reserved, writer.history_len());
            }
        }
        match (paced, packed) {
            (None, _) => {}
            (Some(paced), None) => paced.left(),
            // Without memory for another history it goes on in the one that there is.
            (Some(paced), Some(packed)) => paced.packed(
                PackedFrame {
                    level: if is_zstd { packed.level.get() } else { level },
                    plain_len: plain.len(),
                    packed_len: out.len() - before_len,
                    begins_history: packed.begins_anew,
                },
                took,
            ),
        }
        Ok(packed.is_some())
    }

    /// Makes what was collected a stored frame.
    fn store(&mut self) -> io::Result<()> {
        // A history that nothing was packed with for long is of no use.
        if self.last_write.duration_since(self.last_packed) >= self.history_timeout {
            self.drop_history()?;
        }
        Writer::store(&mut self.collected, 0).map_err(as_io)?;
        self.sent.stored += 1;
        if self.out.is_empty() {
            std::mem::swap(&mut self.collected, &mut self.out);
        } else {
            self.out.extend_from_slice(&self.collected);
            self.collected.clear();
        }
        Ok(())
    }

    /// Whether what waits goes on waiting for the next frame, whose bytes are here: those that shrank to next to nothing share a
    /// record of TLS, a call, and a wake-up of the other end.
    fn gathers(&self) -> bool {
        let waiting_len = self.out.len() - self.out_start;
        !self.is_cut && waiting_len < GATHERED_LEN && self.out_since.elapsed() < GATHERED_FOR
    }

    /// Whether others on this worker have their turn first.
    pub(super) fn pauses(&mut self, cx: &mut Context<'_>) -> bool {
        let pauses = self.worked_len > WORK_LEN_MAX;
        if pauses {
            self.worked_len = 0;
            step_aside(cx);
        }
        pauses
    }
}

/// A frame's header and a record's are 29 bytes. Who has more to send has a link to keep busy.
const GATHERED_LEN: usize = 2 << 10;
/// Some frames of what packs so well, and no time that anybody notices.
const GATHERED_FOR: Duration = Duration::from_micros(500);
/// Less would be mostly headers, also where packing it takes longer.
const FRAME_LEN_MIN: usize = 8 << 10;
/// Some frames: a worker is away for a millisecond or two.
const WORK_LEN_MAX: usize = 120 << 10;
