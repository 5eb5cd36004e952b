//! What stands between client and server in one cell, started for it and gone behind it.
//!
//! ```text
//!  direct                  client ═ network ═ server
//!  wirepress               client ═ network ═ wirepress ─ server
//!  wirepress beside app    client ─ wirepress ═ network ═ server
//!  wirepress pair          client ─ wirepress ═ network ═ wirepress ─ server
//!  HAProxy, MySQL Router   client ═ network ═ proxy ─ server
//! ```
//! Compression and TLS of the cell are those of what crosses the network. So beside the app it is wirepress that
//! asks for them, and the client has neither. A pair's stream is always inside TLS: between two hosts it does not start
//! without.
//!
//! Invariants: all of it is stopped when the stage is dropped.
//!
//! Not here: what the client does (`job`).

use std::ffi::OsString;
use std::iter::Sum;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use lab::link::{Address, Traffic};

use super::certificates::Certificates;
use super::database::Database;
use super::network::{Crossing, Network};
use super::pins::Pins;
use super::proxy_process::ProxyProcess;
use super::wirepress_process::{LEVEL_MAX, Place, Policy, WirepressOptions, server_leg};
use crate::client::{Account, Client, ClientFault, ClientTls, Stop};
use crate::job::Donor;
use crate::record::{Cell, Path, Setting};

/// What every stage of a run is made of.
pub(crate) struct Parts<'a> {
    /// The database.
    pub(crate) database: &'a Database,
    /// What servers and proxies show.
    pub(crate) certificates: &'a Certificates,
    /// This program, which has `proxy`.
    pub(crate) program: PathBuf,
    /// A folder for configurations and logs.
    pub(crate) folder: PathBuf,
    /// Whether hosts are pinned to cores.
    pub(crate) pins: Pins,
    /// Everything that crosses the network is inside TLS, and this is how a proxy speaks to the server.
    pub(crate) server_leg_tls: Option<&'a [String]>,
    /// The wish to stop.
    pub(crate) stop: &'a Stop,
}

/// A stage that is set.
pub(crate) struct Stage<'a> {
    // Dropped in this order: who connects before who is connected to.
    /// Nobody, one, or a pair: beside the application, and beside the server.
    proxies: Vec<ProxyProcess>,
    crossing: Crossing<'a>,
    network: &'a Network,
    client_address: Address,
    client_setting: Setting,
    client_tls: Option<ClientTls>,
    client_words: Vec<OsString>,
    pins: Pins,
}

impl<'a> Stage<'a> {
    /// Starts what the cell needs; where there is a donor, it stands in the server's place.
    pub(crate) fn set(
        cell: &Cell,
        network: &'a Network,
        parts: &Parts<'_>,
        donor: Option<&Donor>,
    ) -> anyhow::Result<Self> {
        let client_words: Vec<OsString> =
            network.client_through().into_iter().chain(parts.pins.client_words()).collect();
        let server = match donor {
            Some(donor) => donor.address()?,
            None => parts.server_address(network),
        };
        let mut client = (cell.setting, parts.is_encrypted(cell));
        // Where the client connects to, unless that is the network.
        let mut beside_app = None;
        let (proxies, crossing) = match cell.path {
            Path::Direct => (vec![], network.open(&server)?),
            Path::Wirepress => {
                let proxy = parts.wirepress_beside_server(cell, network)?;
                let crossing = network.open(&proxy.address())?;
                (vec![proxy], crossing)
            }
            Path::WirepressBesideApp => {
                client = (Setting::None, false);
                let crossing = network.open(&server)?;
                let proxy = parts.wirepress_beside_app(cell, &client_words, &crossing)?;
                beside_app = Some(proxy.address());
                (vec![proxy], crossing)
            }
            Path::WirepressPair => {
                client = (Setting::None, false);
                let far = parts.pair_beside_server(cell, network)?;
                let crossing = network.open(&far.address())?;
                let near = parts.pair_beside_app(cell, &client_words, &crossing)?;
                beside_app = Some(near.address());
                (vec![near, far], crossing)
            }
            Path::Haproxy | Path::Router => {
                ensure!(
                    cell.setting == Setting::None || cell.path == Path::Haproxy,
                    "MySQL Router refuses compressed clients"
                );
                let proxy = ProxyProcess::relay(cell.path, network.server_ip(), parts)?;
                let crossing = network.open(&proxy.address())?;
                (vec![proxy], crossing)
            }
        };
        let client_address = beside_app.unwrap_or_else(|| crossing.address());
        let (client_setting, client_has_tls) = client;
        let client_tls = client_has_tls.then(|| parts.client_tls(cell.path)).transpose()?;
        let pins = parts.pins;
        Ok(Self {
            proxies,
            crossing,
            network,
            client_address,
            client_setting,
            client_tls,
            client_words,
            pins,
        })
    }

    /// Where the client connects to.
    pub(crate) fn client_address(&self) -> &Address {
        &self.client_address
    }

    /// What the client itself asks for.
    pub(crate) fn client_setting(&self) -> Setting {
        self.client_setting
    }

    /// Whether the client itself uses TLS.
    pub(crate) fn client_has_tls(&self) -> bool {
        self.client_tls.is_some()
    }

    /// A connection of our own client.
    pub(crate) fn connect(&self, parts: &Parts<'_>) -> Result<Client, ClientFault> {
        let account = Account { tls: self.client_tls.clone(), ..parts.database.account().clone() };
        Client::connect(&self.client_address, &account, self.client_setting.compression(), parts.stop)
    }

    /// A command that runs a client's program where clients are.
    pub(crate) fn client_words(&self) -> &[OsString] {
        &self.client_words
    }

    /// Runs something of our own client on the client's host: sockets that it opens are there, and its threads on that
    /// host's cores.
    pub(crate) fn on_client_host<T: Send>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        self.network.on_client_host(|| self.pins.on_client_cores(work))
    }

    /// What has crossed it.
    pub(crate) fn traffic(&self) -> Traffic {
        self.crossing.traffic()
    }

    /// CPU time of the link's threads, in this process.
    pub(crate) fn link_cpu(&self) -> Duration {
        self.crossing.cpu()
    }

    /// CPU time of the proxy, if there is one; of both halves of a pair.
    pub(crate) fn proxy_cpu(&self) -> Option<Duration> {
        self.sum_of_proxies(ProxyProcess::cpu)
    }

    /// Memory of the proxy, its share of what it shares included; of both halves of a pair.
    pub(crate) fn proxy_pss_bytes(&self) -> Option<u64> {
        self.sum_of_proxies(|proxy| pss_bytes(proxy.id()))
    }

    /// None where nobody stands between, or one of them is gone.
    fn sum_of_proxies<T: Sum>(&self, of_one: impl Fn(&ProxyProcess) -> Option<T>) -> Option<T> {
        (!self.proxies.is_empty()).then(|| self.proxies.iter().map(of_one).sum())?
    }
}

impl Parts<'_> {
    /// The database as the network's server side names it.
    fn server_address(&self, network: &Network) -> Address {
        match self.database.private() {
            Some(server) if network.has_hosts() => {
                SocketAddr::new(network.server_ip(), server.address().port()).into()
            }
            _ => self.database.address().clone(),
        }
    }

    fn wirepress_beside_server(&self, cell: &Cell, network: &Network) -> anyhow::Result<ProxyProcess> {
        let mut arguments = server_leg(self.server_leg_tls);
        if self.is_encrypted(cell) {
            arguments.extend(["--tls", "preferred"].map(str::to_owned));
            for (option, name) in [("--tls-cert", "server-cert.pem"), ("--tls-key", "server-key.pem")] {
                arguments.extend([option.to_owned(), self.certificates.path(name).display().to_string()]);
            }
        }
        let through = self.pins.server_words();
        let options = WirepressOptions {
            program: &self.program,
            through: &through,
            listen: network.server_ip(),
            server: self.database.address(),
            place: Place::Alone,
            policy: Policy::of(cell.setting),
            arguments: &arguments,
        };
        ProxyProcess::wirepress(&options, self.stop)
    }

    fn wirepress_beside_app(
        &self,
        cell: &Cell,
        client_words: &[OsString],
        crossing: &Crossing<'_>,
    ) -> anyhow::Result<ProxyProcess> {
        let mut arguments = asked_for(cell);
        match self.server_leg_tls {
            // The link's own address is in nobody's certificate.
            Some(tls) => arguments.extend(tls.iter().map(|word| match word.as_str() {
                "verify_identity" => "verify_ca".to_owned(),
                _ => word.clone(),
            })),
            None => {
                let ssl_mode = if cell.tls { "required" } else { "disabled" };
                arguments.extend(["--ssl-mode", ssl_mode].map(str::to_owned));
            }
        }
        let options = WirepressOptions {
            program: &self.program,
            through: client_words,
            listen: [127, 0, 0, 1].into(),
            server: &crossing.address(),
            place: Place::Alone,
            policy: Policy::of(cell.setting),
            arguments: &arguments,
        };
        ProxyProcess::wirepress(&options, self.stop)
    }

    fn pair_beside_server(&self, cell: &Cell, network: &Network) -> anyhow::Result<ProxyProcess> {
        let through = self.pins.server_words();
        let permitted =
            ["--protocol-compression-algorithms".to_owned(), cell.setting.algorithm_name().to_owned()];
        let arguments = [server_leg(self.server_leg_tls), permitted.into(), self.pair_key()].concat();
        // Everything is packed at the highest level that is permitted, unless the policy chooses.
        let level = match Policy::of(cell.setting) {
            Policy::Fixed => cell.setting.compression().level,
            Policy::Latency => LEVEL_MAX,
        };
        let options = WirepressOptions {
            program: &self.program,
            through: &through,
            listen: network.server_ip(),
            server: self.database.address(),
            place: Place::PairBesideServer { level },
            policy: Policy::of(cell.setting),
            arguments: &arguments,
        };
        ProxyProcess::wirepress(&options, self.stop)
    }

    fn pair_beside_app(
        &self,
        cell: &Cell,
        client_words: &[OsString],
        crossing: &Crossing<'_>,
    ) -> anyhow::Result<ProxyProcess> {
        let arguments = [asked_for(cell), self.pair_key()].concat();
        let options = WirepressOptions {
            program: &self.program,
            through: client_words,
            listen: [127, 0, 0, 1].into(),
            server: &crossing.address(),
            place: Place::PairBesideApp,
            policy: Policy::of(cell.setting),
            arguments: &arguments,
        };
        ProxyProcess::wirepress(&options, self.stop)
    }

    fn is_encrypted(&self, cell: &Cell) -> bool {
        cell.tls || self.server_leg_tls.is_some()
    }

    /// What our own client wants to see: a user's server is checked as the user said, whoever else has our certificates.
    fn client_tls(&self, path: Path) -> anyhow::Result<ClientTls> {
        match &self.database.account().tls {
            Some(tls) if matches!(path, Path::Direct | Path::Haproxy) => Ok(tls.clone()),
            _ => self.certificates.client_tls(),
        }
    }

    fn pair_key(&self) -> Vec<String> {
        vec!["--pair-key".to_owned(), self.certificates.path("pair-key").display().to_string()]
    }
}

/// From the kernel's own sum over a process's mappings; none where it is gone.
fn pss_bytes(id: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// What a wirepress beside the application wants across the network. Alone, with the latency policy, that is what it chooses
/// itself at each login, by what it has seen of the link; a pair has no such choice.
fn asked_for(cell: &Cell) -> Vec<String> {
    if cell.path == Path::WirepressBesideApp && cell.setting == Setting::Latency {
        return Vec::new();
    }
    let mut arguments = vec!["--compression-algorithms".to_owned(), cell.setting.algorithm_name().to_owned()];
    if let Setting::Zstd(level) = cell.setting {
        arguments.extend(["--zstd-compression-level".to_owned(), level.to_string()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::fixture;

    #[test]
    fn the_policy_alone_beside_the_app_chooses_what_the_server_packs_with_and_nobody_else() {
        let asked = |path, setting| asked_for(&fixture::cell("unlimited", path, setting)).join(" ");
        assert_eq!(asked(Path::WirepressBesideApp, Setting::Latency), "");
        assert_eq!(asked(Path::WirepressPair, Setting::Latency), "--compression-algorithms zstd");
        assert_eq!(asked(Path::WirepressBesideApp, Setting::None), "--compression-algorithms uncompressed");
        assert_eq!(
            asked(Path::WirepressBesideApp, Setting::Zstd(7)),
            "--compression-algorithms zstd --zstd-compression-level 7"
        );
    }
}
