//! Real drivers through the proxy: one scenario each (`tests/drivers/README.md`), compared with what the same driver
//! gets directly from the server.
//!
//! Two programs are made of this: the tests of `smoke`, some cells for each driver, and `examples/drivers`, all
//! cells, which `make drivers` runs. A driver that this machine has no toolchain for is listed as not run.
//!
//! Not here: fetching drivers (`scripts/fetch-drivers`), flows that only some clients know (`flows`).

pub(crate) mod catalog;
pub(crate) mod run;
#[cfg(test)]
mod smoke;
