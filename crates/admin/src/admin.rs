//! All admin ports of a process, and the thread that samples totals for them.
//!
//! Invariants: nothing is opened that was not asked for; when this is dropped, all is closed and its threads have ended.
//! Not here: what the ports say (`tables`).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use proxy::{Address, ListenerTls, Live};

use crate::feed::Feed;
use crate::{Credentials, Fault, HttpPort, Prices, SqlPort, Tables, Totals};

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Setup {
    /// `--admin-listen`
    pub listen: Option<Address>,
    /// `--admin-http-listen`
    pub http_listen: Option<Address>,
    /// `--admin-user`
    pub user: String,
    /// `--admin-password-file`
    pub password_file: Option<PathBuf>,
    /// `--admin-tls-cert`, `--admin-tls-key`: of the port that speaks MySQL.
    pub tls: Option<ListenerTls>,
    /// `--price-per-gb`, `--price-per-core-hour`
    pub prices: Prices,
}

/// Open admin ports; by default none.
#[derive(Default)]
pub struct Admin {
    sql: Option<SqlPort>,
    http: Option<HttpPort>,
    /// Dropped to end the sampler.
    stop: Option<Sender<()>>,
    sampler: Option<JoinHandle<()>>,
}

impl Admin {
    /// Opens the ports that are asked for.
    pub fn open(setup: &Setup, live: &Live) -> Result<Self, Fault> {
        let mut admin = Self::default();
        if setup.listen.is_none() && setup.http_listen.is_none() {
            return Ok(admin);
        }
        let credentials = Credentials::read(&setup.user, setup.password_file.as_deref())?;
        let totals = Arc::<Totals>::default();
        let tables = Tables::new(live.clone(), Arc::clone(&totals), setup.prices);
        if let Some(listen) = &setup.listen {
            admin.sql = Some(SqlPort::open(listen, &credentials, setup.tls.as_ref(), tables.clone())?);
        }
        let mut feed = None;
        if let Some(listen) = &setup.http_listen {
            let feed = Arc::clone(feed.insert(Arc::new(Feed::new(live.clone(), setup.prices))));
            admin.http = Some(HttpPort::open(listen, &credentials, live.clone(), tables, feed)?);
        }
        admin.start_sampler(live.clone(), totals, feed)?;
        Ok(admin)
    }

    /// Where SQL is spoken.
    pub fn sql_address(&self) -> Option<Address> {
        self.sql.as_ref().and_then(SqlPort::address)
    }

    /// Where HTTP is spoken.
    pub fn http_address(&self) -> Option<&Address> {
        self.http.as_ref().map(HttpPort::address)
    }

    fn start_sampler(
        &mut self,
        live: Live,
        totals: Arc<Totals>,
        feed: Option<Arc<Feed>>,
    ) -> Result<(), Fault> {
        let (stop, stopped) = channel();
        let sample = move || {
            while stopped.recv_timeout(SAMPLE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let sums = live.sums();
                totals.sample_of(sums.clone());
                if let Some(feed) = &feed {
                    feed.sample(sums);
                }
            }
        };
        let thread = std::thread::Builder::new().name("admin".to_owned()).spawn(sample);
        (self.stop, self.sampler) = (Some(stop), Some(thread.map_err(Fault::Thread)?));
        Ok(())
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.stop = None;
        if self.sampler.take().is_some_and(|sampler| sampler.join().is_err()) {
            tracing::error!("the admin port's sampler died");
        }
    }
}

/// What a session carries near a minute's end counts for the next by at most so much.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
