//! What can be wrong with a kernel link.
//!
//! Not here: connections that break while it runs.

use std::io;

use crate::link::LinkTextCause;

/// Why a kernel link could not be read or started.
#[derive(Debug, thiserror::Error)]
pub enum KernelLinkFault {
    /// The kernel has no such congestion control, or refuses it.
    #[error("a kernel link pins TCP's congestion control to cubic, which this kernel refuses: {0}; {ADVICE}")]
    CongestionControl(#[source] io::Error),
    /// A thread of the link's own has ended.
    #[error("the kernel link has broken: {0}; run it again")]
    Broken(String),
    /// A packet link was asked for another rate.
    #[error(
        "the kernel link '{link}' has delay, loss or jitter; only the rate of one without can change while it runs"
    )]
    KeepsRate {
        /// What it is.
        link: String,
    },
    /// A packet link was asked to be a veth pair.
    #[error(
        "the kernel link '{link}' has delay, loss or jitter, which a veth pair with tbf has not; leave the choice to the link"
    )]
    NeedsPackets {
        /// What was asked for.
        link: String,
    },
    /// No namespace, device, address or queueing discipline.
    #[error("a kernel link cannot {what}: {source}; {ADVICE}")]
    Network {
        /// What was tried, a verb.
        what: &'static str,
        /// What the program or the system said.
        source: io::Error,
    },
    /// Not allowed to make network devices.
    #[error("a kernel link makes a network namespace, for which this process must be root's; {ADVICE}")]
    NotRoot,
    /// A program is not installed.
    #[error(
        "a kernel link needs the program '{program}' (package iproute2), which is not there: {source}; {ADVICE}"
    )]
    ProgramMissing {
        /// Its name.
        program: &'static str,
        /// What starting it said.
        source: io::Error,
    },
    /// The text is no kernel link.
    #[error(
        "kernel link '{text}': {cause}; write RATE[,ROUND_TRIP][,loss=SHARE][,jitter=TIME], for example '1gbit', \
         '100mbit,1.4ms' or '100mbit,1.4ms,loss=0.1%,jitter=0.2ms'"
    )]
    Text {
        /// What the user wrote.
        text: String,
        /// What is wrong with which part.
        cause: KernelLinkTextCause,
    },
    /// The kernel has no TUN devices, or gives us none.
    #[error(
        "a kernel link with delay, loss or jitter, or a rate of packets, needs /dev/net/tun: {0}; {ADVICE}"
    )]
    Tun(#[source] io::Error),
}

impl KernelLinkFault {
    /// For `map_err`: what was tried.
    pub(super) fn network(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Network { what, source }
    }
}

/// What is wrong with the text of a kernel link. `part` is the piece of text it is about.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelLinkTextCause {
    /// Too long.
    #[error("the jitter '{part}' is above 1s")]
    JitterRange { part: String },
    /// The jitter's unit is unknown.
    #[error("the jitter '{part}' does not end in us, ms or s")]
    JitterUnit { part: String },
    /// Rate or round trip.
    #[error(transparent)]
    Link(#[from] LinkTextCause),
    /// Nearly nothing or nearly all.
    #[error("the loss '{part}' is not between 0.0001% and 50%")]
    LossRange { part: String },
    /// The loss is no percentage.
    #[error("the loss '{part}' does not end in %")]
    LossUnit { part: String },
    /// The same effect again.
    #[error("'{part}' is there twice")]
    Twice { part: String },
    /// No such effect.
    #[error("'{part}' is not known; there are loss=… and jitter=…")]
    Unknown { part: String },
}

const ADVICE: &str = "--link emulates the link in user space and needs none of this";
