//! What a stream takes at most, computed before it begins.
//!
//! ```text
//! program + slots * (chunk + longest frame) + threads * context
//! ```
//! Not here: what the kernel's pipes hold.

use std::num::NonZeroUsize;

use crate::reader::packed_len_max;
use crate::{FrameRecord, Setting};

/// What a number of threads may take by default, bytes: 16 MiB and 12 MiB for each.
pub const fn permitted_len(threads: NonZeroUsize) -> u64 {
    (16 + 12 * threads.get() as u64) * MIB
}

/// Length of the chunks that a setting gets, bytes.
///
/// A level's window is never longer than this, so a longer chunk would gain little. At fast levels the way through memory is
/// felt, and short chunks stay in caches: they are just long enough to pack as much as `pzstd -1` does with 2 MiB, which
/// carries less beside its frames (`scripts/bench-pack`).
pub const fn chunk_len(setting: Option<Setting>) -> usize {
    match setting {
        Some(Setting::Level(9..)) => 8 << 20,
        Some(Setting::Level(3..)) => 2 << 20,
        _ => 1536 << 10,
    }
}

/// How many chunks may be under way: each worker has one before and one after it, the ends have one each.
pub(crate) const fn slots(threads: NonZeroUsize) -> usize {
    2 * threads.get() + 2
}

/// What packing takes at most, bytes; `None` is the controller's choice of settings.
pub fn pack_len_max(setting: Option<Setting>, threads: NonZeroUsize) -> u64 {
    let chunk_len = chunk_len(setting);
    let contexts = threads.get() * context_len_max(setting);
    PROGRAM_LEN + (slots(threads) * slot_len(chunk_len) + contexts) as u64
}

/// How many chunks may be under way so that unpacking takes no more than is permitted; and what it takes.
pub(crate) fn unpack_slots(chunk_len: usize, threads: NonZeroUsize, permitted_len: u64) -> (usize, u64) {
    let fixed_len = PROGRAM_LEN + (threads.get() * DECOMPRESSION_LEN) as u64;
    let slot_len = slot_len(chunk_len) as u64;
    let fitting = permitted_len.saturating_sub(fixed_len) / slot_len.max(1);
    let slots = usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, slots(threads));
    (slots, fixed_len + slots as u64 * slot_len)
}

/// What unpacking a stream with chunks of this length takes at most, bytes.
pub fn unpack_len_max(chunk_len: usize, threads: NonZeroUsize, permitted_len: u64) -> u64 {
    unpack_slots(chunk_len, threads, permitted_len).1
}

/// The longest window of a foreign stream that fits into what is permitted, as zstd's logarithm.
pub(crate) fn window_log_max(permitted_len: u64) -> u32 {
    // The window itself, two blocks and the buffers on both sides.
    let window_len = permitted_len.saturating_sub(PROGRAM_LEN + 2 * MIB).max(1);
    window_len.ilog2().clamp(WINDOW_LOG_LEAST, WINDOW_LOG_MOST)
}

/// What a foreign stream with a window of this length takes, bytes.
pub(crate) const fn foreign_len(window_len: u64) -> u64 {
    PROGRAM_LEN + 2 * MIB + window_len.next_power_of_two()
}

fn slot_len(chunk_len: usize) -> usize {
    chunk_len + FrameRecord::LEN + packed_len_max(chunk_len)
}

/// libzstd's tables for one thread and a chunk; a test compares them with its own words.
const fn context_len_max(setting: Option<Setting>) -> usize {
    let kib = match setting {
        Some(Setting::Stored) => 0,
        Some(Setting::Level(..=2)) => 1 << 10,
        Some(Setting::Level(3..=5)) => 3 << 10,
        None | Some(Setting::Level(6)) => 3900,
        Some(Setting::Level(7..=8)) => 6 << 10,
        Some(Setting::Level(9..=12)) => 50 << 10,
        Some(Setting::Level(_)) => 130 << 10,
    };
    kib << 10
}

const MIB: u64 = 1 << 20;
/// The program, its stacks and buffers without chunks and contexts; see the peaks that `scripts/bench-pack` prints.
const PROGRAM_LEN: u64 = 7 * MIB;
/// libzstd's context for one thread: it decompresses from buffer to buffer, without a window.
const DECOMPRESSION_LEN: usize = 256 << 10;
/// zstd's ZSTD_WINDOWLOG_ABSOLUTEMIN and ZSTD_WINDOWLOG_MAX on 64 bits.
const WINDOW_LOG_LEAST: u32 = 10;
const WINDOW_LOG_MOST: u32 = 31;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto;

    #[test]
    fn what_is_computed_for_default_settings_is_within_what_is_promised() {
        for threads in (1..=64).filter_map(NonZeroUsize::new) {
            for setting in [None, Some(Setting::Level(1)), Some(Setting::Level(3)), Some(Setting::Stored)] {
                let len = pack_len_max(setting, threads);
                assert!(len <= permitted_len(threads), "{setting:?} {threads}: {len}");
                let chunk_len = chunk_len(setting);
                let permitted_len = permitted_len(threads);
                assert!(unpack_len_max(chunk_len, threads, permitted_len) <= permitted_len);
                assert_eq!(unpack_slots(chunk_len, threads, permitted_len).0, slots(threads));
            }
        }
    }

    #[test]
    fn contexts_are_no_larger_than_computed() {
        let text = b"request completed in 12 ms; ".repeat(400_000);
        let mut out = Vec::with_capacity(16 << 20);
        for level in [-5, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 19, 22] {
            let setting = Some(Setting::Level(level));
            let mut context = zstd_safe::CCtx::create();
            context.set_parameter(zstd_safe::CParameter::CompressionLevel(level)).unwrap();
            context.compress2(&mut out, &text[..chunk_len(setting)]).unwrap();
            let (len, len_max) = (context.sizeof(), context_len_max(setting));
            assert!(len <= len_max, "{level}: {len} bytes, computed {len_max}");
            if auto::CANDIDATES.contains(&Setting::Level(level)) {
                assert!(len <= context_len_max(None), "{level}: {len}");
            }
        }
    }

    #[test]
    fn a_larger_window_needs_more() {
        assert!(window_log_max(permitted_len(NonZeroUsize::MIN)) >= 23);
        assert!(foreign_len(1 << 27) > permitted_len(NonZeroUsize::MIN));
        assert_eq!(window_log_max(foreign_len(1 << 27)), 27);
    }
}
