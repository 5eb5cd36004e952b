//! What a live test does when it cannot run: it fails, unless the user said otherwise, and then it is on a list.
//!
//! Invariant: every skipped test leaves a file in `target/skipped-tests/` whose first line is the reason, every
//! live test that runs one in `target/live-tests/`. `make test` empties both first and counts them at the end.
//!
//! Not here: starting servers (`server`).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::server::runs_as_root;
use super::{Install, Kind, Options, RealServer};

/// The shared server of this process, or nothing if the user said `WIREPRESS_SKIP_LIVE=1`: the test returns then.
///
/// ```text
/// let Some(server) = lab::real::required(lab::real::Kind::MySql) else { return };
/// ```
///
/// # Panics
/// If the server cannot be had: a live test does not pass unnoticed.
#[must_use]
pub fn required(kind: Kind) -> Option<&'static RealServer> {
    if !runs_live(kind.server_program()) {
        return None;
    }
    match RealServer::shared(kind) {
        Ok(server) => Some(server),
        Err(fault) => panic!("this live test needs {kind}: {fault}\n{ADVICE}"),
    }
}

/// A server of the test's own, or nothing if the user said `WIREPRESS_SKIP_LIVE=1`.
///
/// # Panics
/// If the server cannot be had.
#[must_use]
pub fn required_with(kind: Kind, options: &Options) -> Option<RealServer> {
    if !runs_live(kind.server_program()) {
        return None;
    }
    match RealServer::start(kind, options) {
        Ok(server) => Some(server),
        Err(fault) => panic!("this live test needs {kind}: {fault}\n{ADVICE}"),
    }
}

/// The fetched programs, for a test that needs a real client but no real server; or nothing if the user said
/// `WIREPRESS_SKIP_LIVE=1`.
///
/// # Panics
/// If they were not fetched.
#[must_use]
pub fn required_programs() -> Option<Install> {
    if !runs_live("programs") {
        return None;
    }
    match Install::find() {
        Ok(install) => Some(install),
        Err(fault) => panic!("this live test needs the fetched programs: {fault}\n{ADVICE}"),
    }
}

/// Records that this test was not run, and for what reason: the words after "not run: 1 for ".
pub fn skip(reason: &str) {
    record(SKIPPED, reason);
}

/// Whether the test may go on: only root can make network namespaces. If not it is recorded as skipped.
#[must_use]
pub fn root_or_skip() -> bool {
    let is_root = runs_as_root();
    if !is_root {
        record(SKIPPED, "want of root");
    }
    is_root
}

fn runs_live(with: &str) -> bool {
    let skips = env::var_os("WIREPRESS_SKIP_LIVE").is_some_and(|value| value == "1");
    if skips {
        record(SKIPPED, "the sake of WIREPRESS_SKIP_LIVE=1");
    } else {
        record(LIVE, with);
    }
    !skips
}

/// Leaves the file that `make test` counts.
///
/// # Panics
/// If it cannot be written: a test must not vanish.
fn record(list: &str, line: &str) {
    let thread = thread::current();
    // The test harness names each test's thread after the test, unless it was told to use one thread.
    static UNNAMED_COUNT: AtomicUsize = AtomicUsize::new(0);
    let test = match thread.name() {
        None | Some("main") => format!("unnamed-{}", UNNAMED_COUNT.fetch_add(1, Ordering::Relaxed)),
        Some(name) => name.replace("::", "."),
    };
    // Cargo tells a test its package; every package's test binary has the same name.
    let package = env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "unknown".to_owned());
    let directory = target_directory(&env::current_exe().unwrap_or_default()).join(list);
    let written = fs::create_dir_all(&directory)
        .and_then(|()| fs::write(directory.join(format!("{package}.{test}")), format!("{line}\n")));
    if let Err(error) = written {
        panic!("cannot record the test in {}: {error}", directory.display());
    }
}

/// The target directory that the test binary is in: the one Cargo tagged.
fn target_directory(executable: &Path) -> PathBuf {
    let target = executable.ancestors().find(|directory| directory.join("CACHEDIR.TAG").is_file());
    target.unwrap_or_else(|| Path::new("target")).to_path_buf()
}

const SKIPPED: &str = "skipped-tests";
const LIVE: &str = "live-tests";

const ADVICE: &str =
    "run `make servers` to fetch the real servers, or say WIREPRESS_SKIP_LIVE=1 to go without live tests";
