//! What `bench` promises, against real servers, and its pages in a real browser.
//!
//! Not here: tests of single functions (beside the code); the whole demo, which needs the binary (crate `cli`).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod advise;
mod client;
mod observed;
mod page;
