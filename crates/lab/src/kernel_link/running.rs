//! A kernel link that runs: its namespace, its devices, its threads.
//!
//! ```text
//!  Tun    threads "packets to server" and "packets to client", each a pump
//!  Veth   thread "packets counted", which reads the interface's counts
//! ```
//!
//! Invariants: dropping it ends the threads, then closes the devices, then removes the namespace.
//!
//! Not here: moving packets.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use super::pump::{Counts, Pump};
use super::schedule::Schedule;
use super::tbf::{self, Sampler};
use super::tun::Tun;
use super::{KernelLink, KernelLinkFault, Kind, MTU_BYTES};
use crate::link::Traffic;
use crate::link::running::lock;
use crate::link::system::Thread;
use crate::link::traffic::{Counter, Direction};
use crate::namespace::{Namespace, THEIR_DEVICE, ip, run};

/// A link to another host, which is a namespace.
#[derive(Debug)]
pub struct RunningKernelLink {
    link: KernelLink,
    kind: Kind,
    traffic: Arc<Counter>,
    sampler: Option<Arc<Sampler>>,
    counts: [Arc<Counts>; 2],
    broken: Arc<Mutex<Option<String>>>,
    stop: Arc<OwnedFd>,
    threads: Vec<RunningThread>,
    // Dropped last: the devices are in it.
    namespace: Namespace,
}

#[derive(Debug)]
struct RunningThread {
    thread: JoinHandle<()>,
    /// Set by the thread as its first act.
    id: Arc<Mutex<Option<Thread>>>,
}

/// Packets that a link of [`Kind::Tun`] has seen, both ways together. A large packet counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Delivered.
    pub carried: u64,
    /// Lost on purpose.
    pub lost: u64,
    /// Dropped, because the queue was full.
    pub refused: u64,
}

impl RunningKernelLink {
    pub(super) fn start(link: KernelLink, kind: Kind) -> Result<Self, KernelLinkFault> {
        if !rustix::process::geteuid().is_root() {
            return Err(KernelLinkFault::NotRoot);
        }
        for program in ["ip", "tc"] {
            run(program, "-V").map_err(|source| KernelLinkFault::ProgramMissing { program, source })?;
        }
        let namespace = Namespace::apart().map_err(KernelLinkFault::network("make a network namespace"))?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(|error| KernelLinkFault::network("make an event")(error.into()))?;
        let mut running = Self {
            link,
            kind,
            traffic: Arc::new(Counter::new(Instant::now())),
            sampler: None,
            counts: Default::default(),
            broken: Arc::default(),
            stop: Arc::new(stop),
            threads: Vec::new(),
            namespace,
        };
        match kind {
            Kind::Tun => running.start_pumps()?,
            Kind::Veth => running.start_veth()?,
        }
        Ok(running)
    }

    fn start_pumps(&mut self) -> Result<(), KernelLinkFault> {
        let large_bytes = self.link.large_packet_bytes();
        let ours = Arc::new(
            Tun::open(self.namespace.device(), large_bytes.is_some()).map_err(KernelLinkFault::Tun)?,
        );
        let theirs = self.namespace.inside(|| Tun::open(THEIR_DEVICE, large_bytes.is_some()));
        let theirs = Arc::new(theirs.and_then(|tun| tun).map_err(KernelLinkFault::Tun)?);
        let gso = large_bytes.map_or_else(String::new, |bytes| format!(" gso_max_size {bytes}"));
        // The link's queue is ours, so the device's must never be the one that is full.
        self.connect(&format!("mtu {MTU_BYTES} txqueuelen {DEVICE_QUEUE_PACKETS}{gso}"))?;
        let now = Instant::now();
        for (direction, name, from, to) in [
            (Direction::ToServer, "packets to server", &theirs, &ours),
            (Direction::ToClient, "packets to client", &ours, &theirs),
        ] {
            let pump = Pump {
                from: Arc::clone(from),
                to: Arc::clone(to),
                stop: Arc::clone(&self.stop),
                direction,
                schedule: Schedule::new(&self.link, direction as u64, now),
                traffic: Arc::clone(&self.traffic),
                counts: Arc::clone(&self.counts[direction as usize]),
            };
            self.spawn(name, move || pump.run())?;
        }
        Ok(())
    }

    fn start_veth(&mut self) -> Result<(), KernelLinkFault> {
        let (name, device) = (self.namespace.name(), self.namespace.device());
        ip(&format!("link add {device} type veth peer name {THEIR_DEVICE} netns {name}"))
            .map_err(KernelLinkFault::network("make a veth pair"))?;
        self.connect(&format!("mtu {MTU_BYTES}"))?;
        if let Some(rate) = self.link.link.rate_bytes_per_s {
            tbf::limit(&self.namespace, rate)?;
        }
        let sampler = Arc::new(Sampler::new(self.namespace.device(), Arc::clone(&self.traffic)));
        self.sampler = Some(Arc::clone(&sampler));
        let stop = Arc::clone(&self.stop);
        self.spawn("packets counted", move || sampler.run(&stop))
    }

    /// Both devices: what they are set to, addresses, congestion control.
    fn connect(&self, set: &str) -> Result<(), KernelLinkFault> {
        let (name, device) = (self.namespace.name(), self.namespace.device());
        let prepare = KernelLinkFault::network("prepare its devices");
        // No IPv6 addresses, so no packets about them.
        ip(&format!("link set {device} addrgenmode none {set}"))
            .and_then(|()| ip(&format!("-n {name} link set {THEIR_DEVICE} addrgenmode none {set}")))
            .and_then(|()| self.namespace.join())
            .map_err(prepare)?;
        let network = Ipv4Addr::from(u32::from(self.namespace.our_address()) - 1);
        let (ours, theirs) = (self.namespace.our_address(), self.namespace.address());
        ip(&format!("route change {network}/30 dev {device} src {ours} congctl {CONGESTION_CONTROL}"))
            .and_then(|()| {
                ip(&format!(
                    "-n {name} route change {network}/30 dev {THEIR_DEVICE} src {theirs} congctl {CONGESTION_CONTROL}"
                ))
            })
            .map_err(KernelLinkFault::CongestionControl)
    }

    fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<(), KernelLinkFault> {
        let id = Arc::new(Mutex::new(None));
        let (own_id, broken) = (Arc::clone(&id), Arc::clone(&self.broken));
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            *lock(&own_id) = Some(Thread::this());
            if let Err(error) = work() {
                lock(&broken).get_or_insert_with(|| error.to_string());
            }
        });
        let thread = thread.map_err(KernelLinkFault::network("start a thread"))?;
        self.threads.push(RunningThread { thread, id });
        Ok(())
    }

    /// What was asked for.
    #[must_use]
    pub const fn link(&self) -> &KernelLink {
        &self.link
    }

    /// What it is made of.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The address in this namespace that leads over the link: servers bind it, the client connects to it. Whoever
    /// connects to it from this namespace does not cross the link.
    #[must_use]
    pub const fn server_ip(&self) -> IpAddr {
        IpAddr::V4(self.namespace.our_address())
    }

    /// The client's address.
    #[must_use]
    pub const fn client_ip(&self) -> IpAddr {
        IpAddr::V4(self.namespace.address())
    }

    /// The words before a command that shall run on the client's host.
    #[must_use]
    pub fn client_exec(&self) -> [&str; 4] {
        self.namespace.exec()
    }

    /// Runs `work` on the client's host, on a thread of its own. Sockets that it opens and threads that it starts stay
    /// there.
    ///
    /// # Errors
    /// [`KernelLinkFault::Network`]: no thread, or no way in.
    pub fn in_client<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, KernelLinkFault> {
        self.namespace.inside(work).map_err(KernelLinkFault::network("enter the client's namespace"))
    }

    /// Another rate from now on, of a link that has neither delay, loss nor jitter; none is more than the machine can. What
    /// waits in the queue stays there: the filter is changed and never taken away.
    ///
    /// # Errors
    /// A link whose packets pass through threads of ours keeps its rate.
    pub fn set_rate(&self, rate_bytes_per_s: Option<u64>) -> Result<(), KernelLinkFault> {
        if self.kind == Kind::Tun {
            return Err(KernelLinkFault::KeepsRate { link: self.link.to_string() });
        }
        tbf::limit(&self.namespace, rate_bytes_per_s.unwrap_or(tbf::NO_LIMIT_BYTES_PER_S))
    }

    /// What TCP carried since the start. A veth pair's is an estimate from its counts of frames, in buckets of 100 ms as
    /// near as the thread that reads them wakes up.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        if let Some(sampler) = &self.sampler {
            sampler.sample(Instant::now());
        }
        self.traffic.read()
    }

    /// Packets since the start; none is known of a veth pair.
    #[must_use]
    pub fn packets(&self) -> Option<PacketCounts> {
        let sum = |count: fn(&Counts) -> u64| self.counts.iter().map(|counts| count(counts)).sum();
        (self.kind == Kind::Tun).then(|| PacketCounts {
            carried: sum(|counts| counts.carried.load(Ordering::Relaxed)),
            lost: sum(|counts| counts.lost.load(Ordering::Relaxed)),
            refused: sum(|counts| counts.refused.load(Ordering::Relaxed)),
        })
    }

    /// CPU time that the link's own threads have used: to be taken off a process's. A pump's has TCP's work of receiving
    /// in it, which the kernel does when a packet is handed to it; what the kernel does for a veth pair is nobody's.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        self.threads.iter().filter_map(|thread| (*lock(&thread.id))?.cpu()).sum()
    }

    /// TCP's congestion control on both sides, whatever the machine's own is.
    #[must_use]
    pub const fn congestion_control(&self) -> &'static str {
        CONGESTION_CONTROL
    }

    /// Whether packets still pass. To be asked when a connection over the link has failed, and at the end.
    ///
    /// # Errors
    /// [`KernelLinkFault::Broken`].
    pub fn check(&self) -> Result<(), KernelLinkFault> {
        lock(&self.broken).clone().map_or(Ok(()), |why| Err(KernelLinkFault::Broken(why)))
    }
}

impl Drop for RunningKernelLink {
    fn drop(&mut self) {
        // Every thread polls it. Adding 1 to 0 cannot fail.
        rustix::io::write(&*self.stop, &1_u64.to_ne_bytes()).ok();
        for thread in self.threads.drain(..) {
            // A panic of the thread has been printed; there is nothing to add.
            drop(thread.thread.join());
        }
    }
}

/// Linux's default of many years, and what most servers run: some machines' own is another (bbr, reno).
const CONGESTION_CONTROL: &str = "cubic";
/// More than a window of single segments at any rate that these links reach.
const DEVICE_QUEUE_PACKETS: u32 = 10_000;
