//! Looks names of servers up, on helper threads.
//!
//! A name server that says nothing keeps a lookup's thread for as long as the system's resolver waits, also when its
//! session has given up long ago. The same threads do codec work for other sessions, so only some may be kept, and of
//! those only some by one name.
//!
//! ```text
//! begun, on a thread:    who came before it began     at most PLACES_OF_A_NAME
//! next, waits for one:   who comes                    its answer is theirs
//! ```
//! Invariants: nothing is remembered, each connection's answer is of a lookup that began after it came; no more than
//! [`LOOKUPS_MAX`] threads are in the resolver.
//! Not here: for how long a session waits (`leg`), other uses of helper threads (`codec_threads`).

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;

/// Shared by all workers.
pub(crate) struct Lookups {
    /// As many as the configuration has had.
    names: Mutex<HashMap<String, Arc<Name>>>,
    places: Arc<Semaphore>,
    resolve: fn(&str) -> io::Result<Vec<SocketAddr>>,
}

struct Name {
    host: String,
    places: Arc<Semaphore>,
    next: Mutex<Arc<Lookup>>,
}

/// Its addresses have no port.
type Lookup = OnceCell<io::Result<Vec<SocketAddr>>>;

impl Default for Lookups {
    fn default() -> Self {
        Self::with(|host| Ok((host, 0).to_socket_addrs()?.collect()))
    }
}

impl Lookups {
    fn with(resolve: fn(&str) -> io::Result<Vec<SocketAddr>>) -> Self {
        Self { names: Mutex::default(), places: Arc::new(Semaphore::new(LOOKUPS_MAX)), resolve }
    }

    /// The addresses of `host`, in the resolver's order.
    pub(crate) async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let name = self.name(host);
        let next = Arc::clone(&name.next.lock().unwrap_or_else(PoisonError::into_inner));
        // If the one that began it gives up, another goes on.
        let found = next.get_or_init(|| self.look_up(&name, &next)).await;
        let with_port = |address: &SocketAddr| {
            let mut address = *address;
            address.set_port(port);
            address
        };
        match found {
            Ok(addresses) => Ok(addresses.iter().map(with_port).collect()),
            Err(error) => Err(match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            }),
        }
    }

    fn name(&self, host: &str) -> Arc<Name> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = names.get(host) {
            return Arc::clone(name);
        }
        let name = Arc::new(Name {
            host: host.to_owned(),
            places: Arc::new(Semaphore::new(PLACES_OF_A_NAME)),
            next: Mutex::default(),
        });
        names.insert(host.to_owned(), Arc::clone(&name));
        name
    }

    async fn look_up(&self, name: &Arc<Name>, this: &Arc<Lookup>) -> io::Result<Vec<SocketAddr>> {
        let of_the_name = Arc::clone(&name.places).acquire_owned().await.map_err(io::Error::other)?;
        let of_all = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
        {
            // Who comes from now on is not served by this one.
            let mut next = name.next.lock().unwrap_or_else(PoisonError::into_inner);
            if Arc::ptr_eq(&next, this) {
                *next = Arc::default();
            }
        }
        let (resolve, name) = (self.resolve, Arc::clone(name));
        let looked_up = spawn_blocking(move || {
            // Given back when the resolver is done, not when nobody waits for it any more.
            let _places = (of_the_name, of_all);
            resolve(&name.host)
        });
        looked_up.await.map_err(io::Error::other)?
    }
}

/// Half of one worker's helper threads, so that codec work never waits for a name.
const LOOKUPS_MAX: usize = 8;
/// Three names that nobody answers for leave room for others. A second place, since an answer that is lost takes seconds to
/// be asked for again.
const PLACES_OF_A_NAME: usize = 2;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn of_no_port() -> io::Result<Vec<SocketAddr>> {
        Ok(vec!["192.0.2.1:0".parse().unwrap()])
    }

    #[tokio::test]
    async fn names_that_hang_keep_no_other_waiting() {
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        let lookups = Lookups::with(|host| {
            while host.starts_with("hangs") && !IS_OVER.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            of_no_port()
        });
        for _ in 0..5 {
            for host in ["hangs-a.test", "hangs-b.test", "hangs-c.test"] {
                let given_up = timeout(Duration::from_millis(2), lookups.addresses(host, 1)).await;
                assert!(given_up.is_err(), "{host} does not hang");
            }
        }
        let found = timeout(Duration::from_secs(20), lookups.addresses("db.test", 3306)).await;
        assert_eq!(found.unwrap().unwrap(), ["192.0.2.1:3306".parse().unwrap()]);
        IS_OVER.store(true, Ordering::Relaxed);
    }

    #[tokio::test]
    async fn those_who_wait_share_the_next_lookup_and_those_who_come_later_have_another() {
        static BEGUN: AtomicUsize = AtomicUsize::new(0);
        static LET_THROUGH: AtomicUsize = AtomicUsize::new(0);
        let lookups = Lookups::with(|_| {
            let number = BEGUN.fetch_add(1, Ordering::Relaxed);
            while LET_THROUGH.load(Ordering::Relaxed) <= number {
                std::thread::sleep(Duration::from_millis(1));
            }
            of_no_port()
        });
        let ask = || lookups.addresses("db.test", 3306);
        let begun = |count| async move {
            while BEGUN.load(Ordering::Relaxed) < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        // The first two begin, the rest waits for either.
        let (first, second, third, ..) = tokio::join!(ask(), ask(), ask(), ask(), ask(), async {
            begun(2).await;
            LET_THROUGH.store(3, Ordering::Relaxed);
        });
        assert!(first.is_ok() && second.is_ok() && third.is_ok());
        assert_eq!(BEGUN.load(Ordering::Relaxed), 3);
        LET_THROUGH.store(4, Ordering::Relaxed);
        ask().await.unwrap();
        assert_eq!(BEGUN.load(Ordering::Relaxed), 4, "nothing is remembered");
    }

    #[tokio::test]
    async fn what_the_resolver_says_of_a_failure_is_passed_on() {
        let lookups = Lookups::with(|_| Err(io::Error::new(io::ErrorKind::NotFound, "no such name")));
        let error = lookups.addresses("db.test", 1).await.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::NotFound, "no such name"));
        let lookups = Lookups::with(|_| Err(rustix::io::Errno::MFILE.into()));
        let error = lookups.addresses("db.test", 1).await.unwrap_err();
        assert!(crate::spare_file::is_wanted(&error));
    }
}
