//! A value made from files, which is made again when one of them changes.
//!
//! Invariants: what can't be loaded leaves the last good value in place and is warned of once for each change.
//! Not here: what is made (`listener`, `server_leg`).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::TlsError;

type Load<T> = Box<dyn Fn() -> Result<T, TlsError> + Send + Sync>;

/// A value and the files that it was made of.
pub(crate) struct Reloading<T> {
    files: Vec<PathBuf>,
    load: Load<T>,
    state: Mutex<State<T>>,
}

struct State<T> {
    value: Arc<T>,
    stamps: Vec<Stamp>,
    checked: Instant,
}

/// Changes whenever a file's contents are replaced; `None` while it isn't there.
type Stamp = Option<(SystemTime, u64)>;

impl<T> Reloading<T> {
    /// Loads for the first time.
    pub(crate) fn new(files: Vec<PathBuf>, load: Load<T>) -> Result<Self, TlsError> {
        let stamps = stamps(&files);
        let value = Arc::new(load()?);
        Ok(Self { files, load, state: Mutex::new(State { value, stamps, checked: Instant::now() }) })
    }

    /// The value, as new as the files were a moment ago.
    pub(crate) fn get(&self) -> Arc<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.checked.elapsed() >= CHECK_INTERVAL {
            state.checked = Instant::now();
            let now = stamps(&self.files);
            if now != state.stamps {
                state.stamps = now;
                match (self.load)() {
                    Ok(value) => {
                        state.value = Arc::new(value);
                        tracing::info!(files = ?self.files, "TLS files were read again");
                    }
                    Err(error) => {
                        tracing::warn!(%error, "TLS files changed and can't be used; the old ones stay")
                    }
                }
            }
        }
        Arc::clone(&state.value)
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.iter().map(stamp).collect()
}

/// Looking at a few files takes microseconds; a handshake a hundred times that.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn check_now<T>(reloading: &Reloading<T>) -> Arc<T> {
        let mut state = reloading.state.lock().unwrap();
        state.checked = Instant::now().checked_sub(CHECK_INTERVAL).unwrap();
        drop(state);
        reloading.get()
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_bad_one_leaves_the_last_good_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("number");
        std::fs::write(&path, "1").unwrap();
        let file = path.clone();
        let load = move || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            text.parse::<u32>().map_err(|error| TlsError::file("number", &file, error))
        };
        let reloading = Reloading::new(vec![path.clone()], Box::new(load)).unwrap();
        assert_eq!(*check_now(&reloading), 1);
        std::fs::write(&path, "22").unwrap();
        assert_eq!(*check_now(&reloading), 22);
        std::fs::write(&path, "not a number").unwrap();
        assert_eq!(*check_now(&reloading), 22);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(*check_now(&reloading), 22);
        std::fs::write(&path, "333").unwrap();
        assert_eq!(*check_now(&reloading), 333);
    }
}
