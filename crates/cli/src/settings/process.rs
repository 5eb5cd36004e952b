//! What the process has once: threads, limits, admin ports, the log.
//!
//! Not here: what a listener has (`listener`).

use std::path::PathBuf;
use std::time::Duration;

use admin::{Prices, Setup};
use anyhow::bail;
use proxy::{Address, Config, ListenerConfig, ListenerTls, TlsMode, make_self_signed};
use serde::Deserialize;

use super::values::{IoUringWish, Percent, number, parsed};
use crate::flood::LINES_PER_SECOND;
use crate::log::LogFormat;

/// Settings of the whole process.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(crate) struct ProcessSettings {
    /// Threads that serve sessions [default: one per CPU that this process may use, by affinity and cgroup quota].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) workers: Option<u16>,
    /// Whether the small sends of many sessions go to the kernel together, by io_uring: wherever the kernel lets us, or
    /// never [default: auto].
    #[arg(long, value_name = "WHEN", value_enum)]
    pub(crate) io_uring: Option<IoUringWish>,
    /// Connections at most; more are refused with MySQL's error 1040 [default: what the limit of open files allows].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections_max: Option<u32>,
    /// Connections at most from one client address, or one /64 of IPv6; 0 for no limit [default: 0].
    #[arg(long, value_name = "N")]
    pub(crate) connections_per_address_max: Option<u32>,
    /// Seconds that a drain (SIGTERM, a handover) gives to sessions that hold a transaction, a cursor or a running
    /// statement [default: 30].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) drain_timeout: Option<u64>,
    /// A socket file by which a new process takes the listening sockets over; the old one then drains.
    #[arg(long, value_name = "FILE")]
    pub(crate) handover: Option<PathBuf>,
    /// Memory for packets and frames that are larger than an ordinary buffer, in MiB, at least 32 [default: 256].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(32..))]
    pub(crate) buffer_memory: Option<u32>,
    /// With --policy cost: CPU time that packing may take, of all sessions of this process together, in per cent of one core,
    /// as top counts it: 200 is all of two cores. 0: everything goes stored [default: 50].
    #[arg(long, value_name = "PERCENT")]
    #[serde(deserialize_with = "number")]
    pub(crate) cost_cpu_percent: Option<Percent>,
    /// Where operators ask SQL about the running proxy: unix:/path, or host:port with a password [default: nowhere].
    #[arg(long, value_name = "ADDR")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) admin_listen: Option<Address>,
    /// Where the web page and monitoring are, by HTTP (/, /metrics, /healthz, /readyz, /api): unix:/path, or host:port with a
    /// password [default: nowhere].
    #[arg(long, value_name = "ADDR")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) admin_http_listen: Option<Address>,
    /// The account of the admin ports [default: admin].
    #[arg(long, value_name = "NAME")]
    pub(crate) admin_user: Option<String>,
    /// A file whose first line is the admin account's password; a Unix socket may do without.
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_password_file: Option<PathBuf>,
    /// The admin port's certificate, PEM: needed where other hosts reach --admin-listen, who must then use TLS.
    #[arg(long, value_name = "FILE", requires = "admin_tls_key")]
    pub(crate) admin_tls_cert: Option<PathBuf>,
    /// The private key of --admin-tls-cert, PEM, not encrypted.
    #[arg(long, value_name = "FILE", requires = "admin_tls_cert")]
    pub(crate) admin_tls_key: Option<PathBuf>,
    /// Instead of both: a self-signed pair in this folder, which must exist; the pair is made there if it is missing.
    #[arg(long, value_name = "FOLDER", conflicts_with = "admin_tls_cert")]
    pub(crate) admin_tls_self_signed: Option<PathBuf>,
    /// What 10^9 bytes cost on the network, in whatever currency: the admin port then tells what is saved [default: none].
    #[arg(long, value_name = "PRICE")]
    pub(crate) price_per_gb: Option<f64>,
    /// What an hour of one core costs, which is taken off what is saved [default: none].
    #[arg(long, value_name = "PRICE")]
    pub(crate) price_per_core_hour: Option<f64>,
    /// Log lines to write: error, warn, info or debug [default: info].
    #[arg(long, value_name = "LEVEL")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) log_level: Option<tracing::Level>,
    /// How log lines look: text, or an object of JSON in each line [default: text].
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) log_format: Option<LogFormat>,
    /// Log lines of one kind (the same words, side, phase and cause) that are written in a second; the others are counted,
    /// and told of every 10 seconds. 0 for no limit [default: 100].
    #[arg(long, value_name = "LINES")]
    pub(crate) log_rate_limit: Option<u32>,
}

impl ProcessSettings {
    /// These settings where `over` has none.
    pub(crate) fn overridden_by(self, over: Self) -> Self {
        Self {
            workers: over.workers.or(self.workers),
            io_uring: over.io_uring.or(self.io_uring),
            connections_max: over.connections_max.or(self.connections_max),
            connections_per_address_max: over
                .connections_per_address_max
                .or(self.connections_per_address_max),
            drain_timeout: over.drain_timeout.or(self.drain_timeout),
            handover: over.handover.or(self.handover),
            buffer_memory: over.buffer_memory.or(self.buffer_memory),
            cost_cpu_percent: over.cost_cpu_percent.or(self.cost_cpu_percent),
            admin_listen: over.admin_listen.or(self.admin_listen),
            admin_http_listen: over.admin_http_listen.or(self.admin_http_listen),
            admin_user: over.admin_user.or(self.admin_user),
            admin_password_file: over.admin_password_file.or(self.admin_password_file),
            admin_tls_cert: over.admin_tls_cert.or(self.admin_tls_cert),
            admin_tls_key: over.admin_tls_key.or(self.admin_tls_key),
            admin_tls_self_signed: over.admin_tls_self_signed.or(self.admin_tls_self_signed),
            price_per_gb: over.price_per_gb.or(self.price_per_gb),
            price_per_core_hour: over.price_per_core_hour.or(self.price_per_core_hour),
            log_level: over.log_level.or(self.log_level),
            log_format: over.log_format.or(self.log_format),
            log_rate_limit: over.log_rate_limit.or(self.log_rate_limit),
        }
    }

    /// How log lines look.
    pub(crate) fn log_format(&self) -> LogFormat {
        self.log_format.unwrap_or_default()
    }

    /// Log lines of one kind in a second.
    pub(crate) fn log_rate_limit(&self) -> u32 {
        self.log_rate_limit.unwrap_or(LINES_PER_SECOND)
    }

    /// Log lines to write.
    pub(crate) fn log_level(&self) -> tracing::Level {
        self.log_level.unwrap_or(tracing::Level::INFO)
    }

    /// The admin ports that are asked for. Makes a self-signed certificate if one is asked for.
    pub(crate) fn admin(&self) -> anyhow::Result<Setup> {
        Ok(Setup {
            tls: self.admin_tls()?,
            listen: self.admin_listen.clone(),
            http_listen: self.admin_http_listen.clone(),
            user: self.admin_user.clone().unwrap_or_else(|| ADMIN_USER.to_owned()),
            password_file: self.admin_password_file.clone(),
            prices: Prices { per_gb: self.price_per_gb, per_core_hour: self.price_per_core_hour },
        })
    }

    fn admin_tls(&self) -> anyhow::Result<Option<ListenerTls>> {
        let (cert, key) = match (&self.admin_tls_cert, &self.admin_tls_key, &self.admin_tls_self_signed) {
            (None, None, None) => return Ok(None),
            (Some(cert), Some(key), None) => (cert.clone(), key.clone()),
            (None, None, Some(folder)) => make_self_signed(folder)?,
            (_, _, Some(_)) => {
                bail!(
                    "admin-tls-self-signed stands instead of admin-tls-cert and admin-tls-key; give one or the other"
                )
            }
            _ => bail!("admin-tls-cert and admin-tls-key go together"),
        };
        Ok(Some(ListenerTls { mode: TlsMode::Preferred, cert, key, client_ca: None }))
    }

    /// How long a drain may take.
    pub(crate) fn drain_timeout(&self) -> Duration {
        Duration::from_secs(self.drain_timeout.unwrap_or(DRAIN_SECONDS))
    }

    /// The proxy's configuration with these listeners.
    pub(crate) fn config(&self, listeners: Vec<ListenerConfig>) -> Config {
        let mut config = Config { listeners, ..Config::default() };
        config.workers = self.workers.map_or(config.workers, usize::from);
        config.io_uring = self.io_uring != Some(IoUringWish::Off);
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        config.connections_max = self.connections_max.map(count);
        config.connections_per_address_max =
            self.connections_per_address_max.map_or(config.connections_per_address_max, count);
        if let Some(mebibytes) = self.buffer_memory {
            config.buffer_memory_max = count(mebibytes).saturating_mul(1 << 20);
        }
        config.cost_cpu_percent = self.cost_cpu_percent.map_or(config.cost_cpu_percent, |it| it.0);
        config
    }
}

/// Long enough for most transactions, shorter than the patience of service managers.
const DRAIN_SECONDS: u64 = 30;

const ADMIN_USER: &str = "admin";
