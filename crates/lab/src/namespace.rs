//! A network namespace that is joined to this one by a veth pair: another host, which can be cut off.
//!
//! ```text
//! this namespace   10.213.x.y+1 ══ veth ══ eth0 10.213.x.y+2   the other
//! ```
//! Invariants: needs root and iproute2; its addresses are nobody else's on this machine; gone when dropped.
//!
//! Not here: who runs in it (`real::Options::through`), whether a test may go without root (`real::root_or_skip`).

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A namespace; gone when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    veth: String,
    ours: Ipv4Addr,
    address: Ipv4Addr,
}

impl Namespace {
    /// Makes one whose host is reached, and reaches this one.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn new() -> io::Result<Self> {
        // Of this process, of this machine: names and networks are the whole machine's.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (count, pid) = (COUNT.fetch_add(1, Ordering::Relaxed), std::process::id());
        let network = free_network(pid.wrapping_mul(NETWORKS_PER_PROCESS).wrapping_add(count))?;
        let namespace = Self {
            name: format!("wirepress-{pid}-{count}"),
            // 15 bytes at most, and a process id has up to seven digits.
            veth: format!("wp{pid}x{count}"),
            ours: Ipv4Addr::from(network + 1),
            address: Ipv4Addr::from(network + 2),
        };
        let Self { name, veth, ours, address } = &namespace;
        std::fs::create_dir_all(namespace.etc())?;
        std::fs::write(namespace.etc().join("hosts"), format!("127.0.0.1 localhost\n{ours} prober.test\n"))?;
        ip(&format!("netns add {name}"))?;
        ip(&format!("link add {veth} type veth peer name eth0 netns {name}"))?;
        ip(&format!("addr add {ours}/30 dev {veth}"))?;
        ip(&format!("link set {veth} up"))?;
        ip(&format!("-n {name} addr add {address}/30 dev eth0"))?;
        ip(&format!("-n {name} link set eth0 up"))?;
        ip(&format!("-n {name} link set lo up"))?;
        Ok(namespace)
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
        let Self { name, veth, ours, address } = self;
        ip(&format!("neigh replace {address} lladdr {NOBODY} nud permanent dev {veth}"))?;
        ip(&format!("-n {name} neigh replace {ours} lladdr {NOBODY} nud permanent dev eth0"))
    }

    /// What `ip netns exec` puts over /etc.
    fn etc(&self) -> PathBuf {
        Path::new("/etc/netns").join(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The veth pair goes with it. What fails here was there only in part.
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

fn ip(words: &str) -> io::Result<()> {
    let output = Command::new("ip").args(words.split(' ')).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim_end())))
}

/// Locally administered, and on no veth.
const NOBODY: &str = "02:00:00:00:00:01";
/// Four addresses each in 10.213.0.0/16.
const NETWORK_COUNT: u32 = 1 << 14;
/// Processes that start at the same time have neighbouring ids, and look for free networks at the same time.
const NETWORKS_PER_PROCESS: u32 = 64;
