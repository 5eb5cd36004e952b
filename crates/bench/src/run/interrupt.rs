//! Ctrl-C and its kin, turned into a wish to stop.
//!
//! Invariants: the first signal lets a run clean up; the second ends the process at once.
//!
//! Not here: what is cleaned up (`database`, `stage`).

use std::io;
use std::process::exit;
use std::thread::Builder;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::client::Stop;

/// From now on SIGINT, SIGTERM and SIGHUP wish `stop`.
///
/// # Errors
/// The system gives no handler or no thread.
pub(crate) fn watch(stop: Stop) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _inside = runtime.enter();
        [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?]
    };
    Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            any(&mut signals).await;
            stop.wish();
            any(&mut signals).await;
            exit(EXIT_FAILED);
        });
    })?;
    Ok(())
}

async fn any([one, two, three]: &mut [Signal; 3]) {
    tokio::select! {
        _ = one.recv() => {}
        _ = two.recv() => {}
        _ = three.recv() => {}
    }
}

/// As the binary's other failures.
const EXIT_FAILED: i32 = 1;
