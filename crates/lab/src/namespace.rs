//! A network namespace that is joined to this one by a veth pair: another host, which can be cut off.
//!
//! ```text
//! this namespace   10.213.x.y+1 ══ veth ══ eth0 10.213.x.y+2   the other
//! ```
//! Invariants: needs root and iproute2; its addresses are nobody else's on this machine; gone when dropped. What a
//! killed process left behind is removed by the next that makes one.
//!
//! Not here: who runs in it (`real::Options::through`), whether a test may go without root (`real::root_or_skip`),
//! rates and delays between the two (`kernel_link`).

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A namespace; gone when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    device: String,
    ours: Ipv4Addr,
    address: Ipv4Addr,
}

impl Namespace {
    /// Makes one whose host is reached, and reaches this one.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn new() -> io::Result<Self> {
        let namespace = Self::apart()?;
        let Self { name, device, .. } = &namespace;
        ip(&format!("link add {device} type veth peer name {THEIR_DEVICE} netns {name}"))?;
        namespace.join()?;
        Ok(namespace)
    }

    /// Makes one without a way to it: the caller makes [`Namespace::device`] here and [`THEIR_DEVICE`] there, and then
    /// [joins](Namespace::join) them.
    pub(crate) fn apart() -> io::Result<Self> {
        // Of this process, of this machine: names and networks are the whole machine's.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (count, pid) = (COUNT.fetch_add(1, Ordering::Relaxed), std::process::id());
        let network = free_network(pid.wrapping_mul(NETWORKS_PER_PROCESS).wrapping_add(count))?;
        let namespace = Self {
            name: format!("wirepress-{pid}-{count}"),
            // 15 bytes at most, and a process id has up to seven digits.
            device: format!("wp{pid}x{count}"),
            ours: Ipv4Addr::from(network + 1),
            address: Ipv4Addr::from(network + 2),
        };
        remove_leftovers(&namespace.name);
        let Self { name, ours, .. } = &namespace;
        std::fs::create_dir_all(namespace.etc())?;
        std::fs::write(namespace.etc().join("hosts"), format!("127.0.0.1 localhost\n{ours} prober.test\n"))?;
        ip(&format!("netns add {name}"))?;
        ip(&format!("-n {name} link set lo up"))?;
        Ok(namespace)
    }

    /// Gives both devices their addresses and lets packets pass.
    pub(crate) fn join(&self) -> io::Result<()> {
        let Self { name, device, ours, address } = self;
        ip(&format!("addr add {ours}/30 dev {device}"))?;
        ip(&format!("link set {device} up"))?;
        ip(&format!("-n {name} addr add {address}/30 dev {THEIR_DEVICE}"))?;
        ip(&format!("-n {name} link set {THEIR_DEVICE} up"))
    }

    /// Runs `work` in it, on a thread of its own. A socket that is opened there stays there, whoever uses it later;
    /// so does a thread.
    ///
    /// # Errors
    /// No thread, or the kernel lets nobody in.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let there = File::open(Path::new(NAMES).join(&self.name))?;
        thread::scope(|scope| {
            let thread =
                thread::Builder::new().name("in namespace".to_owned()).spawn_scoped(scope, move || {
                    move_into_link_name_space(there.as_fd(), Some(LinkNameSpaceType::Network))?;
                    Ok(work())
                })?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Its name, as `ip netns` lists it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Our end of the way to it.
    pub(crate) fn device(&self) -> &str {
        &self.device
    }

    /// Its own address.
    #[must_use]
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The address at which it reaches this namespace; there it has the name `prober.test`.
    #[must_use]
    pub const fn our_address(&self) -> Ipv4Addr {
        self.ours
    }

    /// The words before a command that shall run in it.
    #[must_use]
    pub fn exec(&self) -> [&str; 4] {
        ["ip", "netns", "exec", &self.name]
    }

    /// From now on packets vanish on their way, in both directions, and nobody is told: they are sent to a card that
    /// isn't there.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn black_hole(&self) -> io::Result<()> {
        let Self { name, device, ours, address } = self;
        ip(&format!("neigh replace {address} lladdr {NOBODY} nud permanent dev {device}"))?;
        ip(&format!("-n {name} neigh replace {ours} lladdr {NOBODY} nud permanent dev {THEIR_DEVICE}"))
    }

    /// What `ip netns exec` puts over /etc.
    fn etc(&self) -> PathBuf {
        Path::new("/etc/netns").join(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The kernel takes namespaces apart in its own time; our end of the veth pair must be gone at once, with its
        // address. What fails here was there only in part.
        drop(ip(&format!("link delete {}", self.device)));
        drop(ip(&format!("netns delete {}", self.name)));
        drop(std::fs::remove_dir_all(self.etc()));
    }
}

/// A network of four addresses that no interface here has.
fn free_network(start: u32) -> io::Result<u32> {
    let output = Command::new("ip").args(["-4", "-o", "addr", "show"]).output()?;
    let taken = String::from_utf8_lossy(&output.stdout);
    let base = u32::from(Ipv4Addr::new(10, 213, 0, 0));
    (0..NETWORK_COUNT)
        .map(|index| base + 4 * (start.wrapping_add(index) % NETWORK_COUNT))
        .find(|network| !taken.contains(&format!(" {}/", Ipv4Addr::from(network + 1))))
        .ok_or_else(|| io::Error::other("no network of 10.213.0.0/16 is free"))
}

/// Removes namespaces whose process is gone, and one of our own name: a process that was killed had our id then.
fn remove_leftovers(own_name: &str) {
    let Ok(names) = std::fs::read_dir(NAMES) else { return };
    for name in names.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let is_leftover = name == own_name
            || name
                .strip_prefix("wirepress-")
                .and_then(|rest| rest.split('-').next())
                .is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists());
        if is_leftover {
            // Another process may be removing it, too. What stays does not stop us: it has another name and network.
            drop(ip(&format!("netns delete {name}")));
            drop(std::fs::remove_dir_all(Path::new("/etc/netns").join(&name)));
        }
    }
}

pub(crate) fn ip(words: &str) -> io::Result<()> {
    run("ip", words)
}

/// Runs a program of iproute2; its arguments are separated by single spaces.
pub(crate) fn run(program: &str, words: &str) -> io::Result<()> {
    let output = Command::new(program).args(words.split(' ')).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{program} {words}: {}",
        String::from_utf8_lossy(&output.stderr).trim_end()
    )))
}

/// The other host's end of the way to it.
pub(crate) const THEIR_DEVICE: &str = "eth0";
/// Where `ip netns` keeps them.
const NAMES: &str = "/run/netns";
/// Locally administered, and on no veth.
const NOBODY: &str = "02:00:00:00:00:01";
/// Four addresses each in 10.213.0.0/16.
const NETWORK_COUNT: u32 = 1 << 14;
/// Processes that start at the same time have neighbouring ids, and look for free networks at the same time.
const NETWORKS_PER_PROCESS: u32 = 64;
