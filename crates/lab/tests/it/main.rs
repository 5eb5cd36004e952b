//! What `lab` promises, against the real world.
//!
//! Not here: tests of single functions (beside the code).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod kernel_link;
mod link;
mod real_server;
