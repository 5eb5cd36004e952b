//! Payloads to packets, packets to frames: with any id and any size.
//!
//! Not here: sending them (`scripted`).

use codec::{Algorithm, Contexts};
use wire::{frame, packet};

/// Payloads as packets with ids from `first_id` on; long ones are split as the protocol wants.
#[must_use]
pub fn packets<'a>(first_id: u8, payloads: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut id = first_id;
    for payload in payloads {
        id = packet::split(payload, id, &mut bytes);
    }
    bytes
}

/// `inner` as frames of `frame_len` plain bytes each (the last one shorter), with ids from `first_id` on.
///
/// # Panics
/// The codec library has no memory.
#[must_use]
pub fn frames(algorithm: Algorithm, first_id: u8, inner: &[u8], frame_len: usize) -> Vec<u8> {
    let (mut bytes, mut contexts) = (Vec::new(), Contexts::new());
    let mut id = first_id;
    for plain in inner.chunks(frame_len.max(1)) {
        if let Err(fault) = frame::encode(&mut contexts, algorithm, LEVEL, id, plain, &mut bytes) {
            panic!("{fault}");
        }
        id = id.wrapping_add(1);
    }
    bytes
}

/// The fastest: tests are about frames, not about their size.
const LEVEL: u8 = 1;
