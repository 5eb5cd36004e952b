//! Connections that are opened, used once, and closed: connect, login, one query, quit.
//!
//! Invariants: each of them is counted when its reply is there; the clients are threads with our own client, whose
//! cost is the same for every path.

use std::thread;
use std::time::{Duration, Instant};

use super::{Meter, Outcome};
use crate::client::ClientFault;
use crate::cpu;
use crate::run::{Parts, Stage};

/// Connects for a time.
#[derive(Clone, Copy, Debug)]
pub struct Connect {
    /// Clients at once.
    pub threads: u32,
    /// For how long.
    pub time: Duration,
}

impl Connect {
    pub(super) fn run(
        &self,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
        meter: &mut dyn Meter,
    ) -> anyhow::Result<Outcome> {
        stage.on_client_host(|| {
            // MySQL then has the password in its cache, and the first login is no different from the others.
            Self::once(stage, parts)?;
            meter.start();
            let start = Instant::now();
            let all: Result<Vec<_>, ClientFault> = thread::scope(|scope| {
                let clients: Vec<_> =
                    (0..self.threads).map(|_| scope.spawn(|| self.client(start, stage, parts))).collect();
                clients
                    .into_iter()
                    .map(|client| client.join().unwrap_or(Err(ClientFault::Interrupted)))
                    .collect()
            });
            let run_time = start.elapsed();
            meter.stop();
            let all = all?;
            let client_cpu = all.iter().map(|(_, cpu)| *cpu).sum();
            let times_ms: Vec<f64> = all.into_iter().flat_map(|(times_ms, _)| times_ms).collect();
            Ok(Outcome::of_transactions(&times_ms, self.threads, run_time, client_cpu))
        })
    }

    fn client(
        &self,
        start: Instant,
        stage: &Stage<'_>,
        parts: &Parts<'_>,
    ) -> Result<(Vec<f64>, Duration), ClientFault> {
        let mut times_ms = Vec::new();
        while start.elapsed() < self.time {
            times_ms.push(Self::once(stage, parts)?.as_secs_f64() * 1e3);
        }
        Ok((times_ms, cpu::this_thread()))
    }

    fn once(stage: &Stage<'_>, parts: &Parts<'_>) -> Result<Duration, ClientFault> {
        let start = Instant::now();
        let mut client = stage.connect(parts)?;
        client.query("select 1")?;
        client.quit();
        Ok(start.elapsed())
    }
}
