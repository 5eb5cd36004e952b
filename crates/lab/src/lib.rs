//! The simulated world that tests, demo and benchmark share: what is stored, and what lies between.
//!
//! * [`generate`]: rows and blobs from a seed; the same seed gives the same bytes for ever.
//! * [`link`]: a network between two hosts with a rate, a round trip and counted bytes, in user space.
//! * [`kernel_link`]: the same between two TCP stacks of the kernel, with loss and jitter; needs root.
//! * [`drip`]: a byte stream cut at every possible, prescribed or random place.
//! * [`peer`]: a server and a client that say exactly what a test tells them.
//! * [`real`]: private instances of real servers.
//! * [`browser`]: a real one, without a window.
//! * [`namespace`]: another host, which can be cut off.
//! * [`wait`]: until another process has done it, with a limit.
//!
//! Invariants: only `peer` knows a MySQL packet; nothing but `namespace` and `kernel_link` needs root; only loopback is touched, and
//! namespaces made here.
//!
//! Not here: the MySQL protocol (crate `wire`), the embedded database (crate `mysqlite`), the experiments
//! that use all this (crate `bench`). Crate `proxy` depends on this one in its tests only.

pub mod browser;
pub mod drip;
pub mod generate;
pub mod kernel_link;
pub mod link;
pub mod namespace;
pub mod peer;
pub mod real;
pub mod wait;
