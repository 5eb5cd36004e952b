//! The simulated world that tests, the demo and the benchmarks share.
//!
//! Not here: anything the product needs at run time. `proxy` never depends on this crate outside its tests.

pub mod real;
