//! The binary as a user runs it.
//!
//! Not here: tests of single functions (beside the code).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admin;
mod advise;
mod advise_running;
mod bench;
mod bench_controller;
mod bench_programs;
mod codec_time;
mod demo;
mod dependencies;
mod faults;
mod handover;
mod log_flood;
mod one_liners;
mod own_server_tls;
mod pack;
mod pair;
mod policy;
mod process;
mod restart;
mod send;
mod send_links;
mod server_leg;
mod signals;
mod sst;
mod top;
mod unsafe_code;
mod workers;
