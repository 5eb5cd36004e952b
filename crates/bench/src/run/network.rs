//! The network between the client's host and the server's: a link in user space, or the kernel's.
//!
//! ```text
//!  user space   client ─▶ 127.0.0.1:port of the link ─▶ server     one link for each way it is crossed
//!  kernel       client in a network namespace ═ packets ═ server   one for the whole run
//!  bare         client ─▶ server                                   nothing of ours between, nothing counted
//! ```
//!
//! Not here: what a link does to bytes (`lab::link`, `lab::kernel_link`), who stands where (`stage`).

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::Context;
use lab::kernel_link::{KernelLink, PAYLOAD_SHARE, RunningKernelLink};
use lab::link::{Address, Link, RunningLink, Traffic};

use crate::calibrate::{self, Calibration};
use crate::record::KERNEL;

/// A network that cells name.
pub(crate) enum Network {
    /// In user space.
    User(Link),
    /// The kernel's.
    Kernel(Box<RunningKernelLink>),
    /// None: the machine's own loopback.
    Bare,
}

/// A way across it, to one server.
pub(crate) enum Crossing<'a> {
    /// Through a relay of ours.
    User(RunningLink),
    /// As packets, to this address.
    Kernel(&'a RunningKernelLink, Address),
    /// At once, to this address.
    Bare(Address),
}

impl Network {
    /// Makes the kernel's.
    pub(crate) fn kernel(link: &KernelLink) -> anyhow::Result<Self> {
        let running = link.open().with_context(|| format!("cannot open the kernel link {link}"))?;
        Ok(Self::Kernel(Box::new(running)))
    }

    /// The network of that [name](Self::name).
    pub(crate) fn named(name: &str) -> anyhow::Result<Self> {
        match name.strip_prefix(KERNEL) {
            Some(link) => Self::kernel(&KernelLink::parse(link)?),
            None => Ok(Self::User(Link::parse(name)?)),
        }
    }

    /// What TCP can have of it in each direction, bytes per second, if it has a rate.
    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
    pub(crate) fn payload_bytes_per_s(&self) -> Option<f64> {
        let rate = self.link().rate_bytes_per_s? as f64;
        Some(if self.has_hosts() { rate * PAYLOAD_SHARE } else { rate })
    }

    /// The name in [`crate::record::Cell::link`].
    pub(crate) fn name(&self) -> String {
        match self {
            Self::User(link) => link.to_string(),
            Self::Kernel(running) => kernel_name(running.link()),
            Self::Bare => Link::UNLIMITED.to_string(),
        }
    }

    /// What was wished.
    pub(crate) fn link(&self) -> Link {
        match self {
            Self::User(link) => *link,
            Self::Kernel(running) => running.link().link,
            Self::Bare => Link::UNLIMITED,
        }
    }

    /// What it really does.
    pub(crate) fn calibrate(&self) -> anyhow::Result<Calibration> {
        match self {
            Self::User(link) => calibrate::user_space(*link),
            Self::Kernel(running) => calibrate::kernel(running),
            Self::Bare => calibrate::bare(&self.name()),
        }
    }

    /// Whether it is known what crosses it.
    pub(crate) fn counts_bytes(&self) -> bool {
        !matches!(self, Self::Bare)
    }

    /// Whether client and server have hosts, with addresses, of their own.
    pub(crate) fn has_hosts(&self) -> bool {
        matches!(self, Self::Kernel(_))
    }

    /// Opens a way to a server.
    pub(crate) fn open(&self, server: &Address) -> anyhow::Result<Crossing<'_>> {
        match self {
            Self::User(link) => {
                let running = link.open(server.clone());
                Ok(Crossing::User(running.with_context(|| format!("cannot open the link {link}"))?))
            }
            Self::Kernel(running) => Ok(Crossing::Kernel(running, server.clone())),
            Self::Bare => Ok(Crossing::Bare(server.clone())),
        }
    }

    /// A command that runs a program on the client's host.
    pub(crate) fn client_through(&self) -> Vec<OsString> {
        match self {
            Self::User(_) | Self::Bare => Vec::new(),
            Self::Kernel(running) => running.client_exec().map(OsString::from).into(),
        }
    }

    /// Where a program on the server's host listens so that the client's host reaches it.
    pub(crate) fn server_ip(&self) -> IpAddr {
        match self {
            Self::User(_) | Self::Bare => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Self::Kernel(running) => running.server_ip(),
        }
    }

    /// Runs something on a thread of the client's host, so that sockets that it opens are there.
    pub(crate) fn on_client_host<T: Send>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        match self {
            Self::User(_) | Self::Bare => work(),
            Self::Kernel(running) => running.in_client(work)?,
        }
    }
}

impl Crossing<'_> {
    /// Where the client's side connects to.
    pub(crate) fn address(&self) -> Address {
        match self {
            Self::User(running) => running.address().into(),
            Self::Kernel(_, server) | Self::Bare(server) => server.clone(),
        }
    }

    /// What it has carried.
    pub(crate) fn traffic(&self) -> Traffic {
        match self {
            Self::User(running) => running.traffic(),
            Self::Kernel(running, _) => running.traffic(),
            Self::Bare(_) => Traffic::default(),
        }
    }

    /// CPU time of its threads, in this process.
    pub(crate) fn cpu(&self) -> Duration {
        match self {
            Self::User(running) => running.cpu(),
            Self::Kernel(running, _) => running.cpu(),
            Self::Bare(_) => Duration::ZERO,
        }
    }
}

/// The name of a kernel link in [`crate::record::Cell::link`].
pub(crate) fn kernel_name(link: &KernelLink) -> String {
    format!("{KERNEL}{link}")
}
