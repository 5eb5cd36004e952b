//! What a user may choose about a run.
//!
//! Invariants: whatever is here has been checked; a wrong option is found before anything is started.
//!
//! Not here: reading arguments (crate `cli`).

use std::path::PathBuf;

use lab::kernel_link::KernelLink;
use lab::link::Link;

use super::database::DatabaseWish;
use super::pins::Pins;
use crate::plan::Scale;

/// Options of `wirepress bench PLAN`.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What is measured.
    pub database: DatabaseWish,
    /// How a proxy of the run speaks to a user's server inside TLS: the arguments of its server leg. Where the account's
    /// TLS is required, everything that crosses the network is; otherwise cells say what is.
    pub server_leg_tls: Vec<String>,
    /// How much of the plan.
    pub scale: Scale,
    /// Links in user space, instead of the plan's own.
    pub links: Vec<Link>,
    /// Links of the kernel's, instead of the plan's own.
    pub kernel_links: Vec<KernelLink>,
    /// Only the cells that do one of these ([`Cell::does`](crate::record::Cell::does)); all if there is none.
    pub workloads: Vec<String>,
    /// Repetitions of each cell, instead of the scale's own.
    pub repetitions: Option<u32>,
    /// Seed of the order and of all data.
    pub seed: u64,
    /// Whether the hosts are pinned to a core each.
    pub pins: Pins,
    /// Whether a run that goes on may have been begun on another machine.
    pub may_be_elsewhere: bool,
    /// The folder for the samples and reports; made, and must not hold samples yet.
    pub out: PathBuf,
    /// The command as it was given, without passwords.
    pub command: Vec<String>,
}

impl RunOptions {
    /// Seed unless said otherwise; any would do.
    pub const SEED: u64 = 1;
}
