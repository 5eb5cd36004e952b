//! The protocol's packets against what real servers and clients sent.
//!
//! Not here: rules of a dialogue (`src/conversation/tests`), live servers (crate `proxy`).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod captures;
mod proxy_protocol;
