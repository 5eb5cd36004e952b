//! Samples of what replies are made of, in the frames that a proxy would pack.
//!
//! ```text
//!  reply   packet packet packet | packet ...     ─▶ Reservoir of frames
//! ```
//! Invariants: memory is bounded, whatever the replies are; every frame is kept with the same probability.
//!
//! Not here: who asks for replies (`traffic`), frames of sessions that pass by (`observed::frames`).

use super::reservoir::Reservoir;

/// Frames of replies, as a proxy makes them: packets until there are [`FRAME_BYTES`], or until the reply ends.
#[derive(Debug)]
pub(crate) struct Samples {
    frames: Reservoir<Vec<u8>>,
    filling: Vec<u8>,
}

impl Samples {
    /// None yet.
    pub(crate) fn new(seed: u64) -> Self {
        Self { frames: Reservoir::new(FRAMES_KEPT, seed), filling: Vec::new() }
    }

    /// A packet of a reply.
    pub(super) fn packet(&mut self, payload: &[u8]) {
        if !self.filling.is_empty() && self.filling.len() + payload.len() > FRAME_BYTES {
            self.end_frame();
        }
        // A larger packet is a frame by itself, of which the beginning is kept.
        let kept = payload.get(..payload.len().min(PACKET_KEPT_BYTES)).unwrap_or_default();
        wire::packet::split(kept, 0, &mut self.filling);
    }

    /// What has been collected is a frame.
    pub(super) fn end_frame(&mut self) {
        if !self.filling.is_empty() {
            self.frames.offer(std::mem::take(&mut self.filling));
        }
    }

    /// Those that are kept, at most [`FRAMES_KEPT`].
    pub(crate) fn frames(&self) -> &[Vec<u8>] {
        self.frames.kept()
    }

    /// Bytes that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.frames().iter().map(Vec::len).sum()
    }
}

/// Frames of several packets are closed at this length by the proxy (`docs/adr/0006-frame-size.md`).
pub(crate) const FRAME_BYTES: usize = 128 << 10;
/// 16 MiB at most, of ordinary frames.
pub(crate) const FRAMES_KEPT: usize = 128;
/// Of one large packet: as much as a large frame tells about a codec.
const PACKET_KEPT_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_ends_before_a_packet_that_does_not_fit_and_with_its_reply() {
        let mut samples = Samples::new(1);
        for _ in 0..5 {
            samples.packet(&vec![1; FRAME_BYTES / 2 - 100]);
        }
        samples.end_frame();
        samples.end_frame();
        let lens: Vec<usize> = samples.frames().iter().map(Vec::len).collect();
        let packet = FRAME_BYTES / 2 - 96;
        assert_eq!(lens, [2 * packet, 2 * packet, packet]);
    }
}
