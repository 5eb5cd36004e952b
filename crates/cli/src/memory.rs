//! What the C library does with memory that is given back.
//!
//! glibc gets a large block from the kernel by itself, and gives it back when it is freed, but learns from that: the
//! next block of that size (up to 32 MiB) comes from its heap, whose top stays. So one row of 64 MiB left 17 to 33 MiB
//! behind (`scripts/bench-memory`). With a threshold that is set it doesn't learn.
//!
//! What is smaller goes back when 128 KiB are free at the end of a thread's heap: a session's memory, that is, with a
//! system call and fresh pages for each login. A little more is kept.
//!
//! Not here: who holds how much (`proxy`'s budget).

/// From now on a large block goes back to the kernel when it is freed.
pub(crate) fn give_back_large_blocks() {
    set_thresholds();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no safe binding knows mallopt")]
fn set_thresholds() {
    for (option, bytes) in [(libc::M_MMAP_THRESHOLD, LARGE_BYTES), (libc::M_TRIM_THRESHOLD, KEPT_BYTES)] {
        // SAFETY: called before there are threads; the function takes two numbers and touches nothing of ours.
        let _is_set = unsafe { libc::mallopt(option, bytes) };
    }
}

/// Other C libraries don't learn.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn set_thresholds() {}

/// Above what sessions use all the time (128 KiB and below), below what a large packet takes (16 MiB): a system call
/// for each such block costs little beside filling it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: i32 = 1024 * 1024;
/// Of each thread's heap, at its end.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 1024 * 1024;
