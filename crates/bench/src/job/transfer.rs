//! A state transfer: a backup of the private MariaDB through a compressor, over the link, into files on the joiner.
//!
//! ```text
//!  donor   mariadb-backup --stream │ compressor ══ link ══ joiner   decompressor │ mbstream -x
//! ```
//! The connection itself is the compressor's output and the decompressor's input, so that no relay (socat, nc) costs
//! anybody time. Preparing the backup and starting a server, which are the same for all, are left out.
//!
//! Invariants: what arrives has the backup's own closing file, or the sample fails; a program that is missing is a failure
//! that names it.
//!
//! Not here: Galera (`scripts/sst`).

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use lab::link::Address;
use lab::real::RealServer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::pipeline::{Ended, Pipeline};
use super::transfer_commands::{self, Ends};
use super::{Meter, Outcome};
use crate::client::Stop;
use crate::record::{Cell, Metric};
use crate::run::{Parts, Stage};
use crate::table::Table;

/// A transfer of everything that the private MariaDB has.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// What its data is made of.
    pub tables: Vec<Table>,
    /// Threads of backup, compressor and decompressor, as far as they have several.
    pub threads: u32,
}

/// Where a joiner connects to: what is sent goes out of the accepted connection.
#[derive(Debug)]
pub struct Donor(TcpListener);

impl Donor {
    pub(super) fn listen(ip: IpAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((ip, 0)).with_context(|| format!("cannot listen on {ip}"))?;
        Ok(Self(listener))
    }

    /// On the server's side of the network.
    pub(crate) fn address(&self) -> anyhow::Result<Address> {
        Ok(self.0.local_addr()?.into())
    }

    fn accept(&self) -> anyhow::Result<TcpStream> {
        let ready = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&ACCEPT_MAX))?;
        ensure!(ready > 0, "the joiner's connection did not come through the link");
        Ok(self.0.accept()?.0)
    }
}

impl Transfer {
    pub(super) fn run(
        &self,
        cell: &Cell,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
        donor: Option<&Donor>,
        meter: &mut dyn Meter,
    ) -> anyhow::Result<Outcome> {
        let (Some(server), Some(donor)) = (parts.database.private(), donor) else {
            bail!("only a private MariaDB can be backed up");
        };
        let folder = tempfile::Builder::new().prefix("transfer-").tempdir_in(&parts.folder)?;
        let [joined, temporary] = ["joined", "temporary"].map(|name| folder.path().join(name));
        for folder in [&joined, &temporary] {
            fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let ends = Ends {
            server,
            program: &parts.program,
            threads: self.threads,
            joined: &joined,
            temporary: &temporary,
        };
        let (donors, joiners) = (ends.donor(cell.setting)?, ends.joiner(cell.setting)?);
        settle(server, parts.stop)?;
        let received = stage.on_client_host(|| connect(stage.client_address()))?;
        let sent = OwnedFd::from(donor.accept()?);
        let server_words = parts.pins.server_words();
        let count = joiners.len();

        let mut pipeline = Pipeline::default();
        meter.start();
        let start = Instant::now();
        let received = Stdio::from(OwnedFd::from(received));
        pipeline.start(stage.client_words(), &joiners, received, Stdio::null(), folder.path())?;
        pipeline.start(&server_words, &donors, Stdio::null(), sent.into(), folder.path())?;
        let ended = pipeline.wait(parts.stop)?;
        let run_time = start.elapsed();
        meter.stop();
        ensure!(
            transfer_commands::is_whole(&joined),
            "what arrived has no {}: it is not a whole backup",
            transfer_commands::CHECKPOINTS
        );
        let cpu = |ended: &[Ended]| ended.iter().map(|ended| ended.cpu).sum::<Duration>();
        let (joiner, donor) = ended.split_at(count.min(ended.len()));
        let written_bytes = joiner.last().map_or(0, |ended| ended.written_bytes);
        let metrics = BTreeMap::from([
            (Metric::TimeS, run_time.as_secs_f64()),
            (Metric::WrittenBytes, f64_of(written_bytes)),
            (Metric::DonorCpuS, cpu(donor).as_secs_f64()),
            (Metric::JoinerCpuS, cpu(joiner).as_secs_f64()),
        ]);
        Ok(Outcome { count: 1.0, run_time, client_cpu: cpu(&ended), metrics, packed_bytes: 0 })
    }
}

fn connect(address: &Address) -> anyhow::Result<TcpStream> {
    let Address::Tcp(address) = address else { bail!("a transfer crosses TCP") };
    let address: SocketAddr = address.parse().with_context(|| format!("no address: {address}"))?;
    TcpStream::connect_timeout(&address, CONNECT_MAX).with_context(|| format!("cannot connect to {address}"))
}

/// Writes all pages to their files, so that every backup has the same bytes and next to no log.
fn settle(server: &RealServer, stop: &Stop) -> anyhow::Result<()> {
    server.sql("set global innodb_max_dirty_pages_pct_lwm = 0, innodb_max_dirty_pages_pct = 0")?;
    let begun = Instant::now();
    loop {
        let dirty = server.sql(
            "select variable_value from information_schema.global_status \
             where variable_name = 'Innodb_buffer_pool_pages_dirty'",
        )?;
        if dirty.trim() == "0" || begun.elapsed() > SETTLE_MAX {
            break;
        }
        ensure!(!stop.is_wished(), "interrupted");
        std::thread::sleep(SETTLE_LOOK);
    }
    server.sql("set global innodb_log_checkpoint_now = 1").map(drop).context("cannot make a checkpoint")
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a transfer are far below 2^53")]
fn f64_of(number: u64) -> f64 {
    number as f64
}

/// [`CONNECT_MAX`] for `poll`.
const ACCEPT_MAX: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// Over the slowest links.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// What is not written then was changed meanwhile, by the server itself.
const SETTLE_MAX: Duration = Duration::from_secs(30);
const SETTLE_LOOK: Duration = Duration::from_millis(50);
