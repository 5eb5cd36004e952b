//! Serves the embedded database until a line (or the end) comes on standard input: to try clients on it by hand.
//!
//! `cargo run --example serve -- /tmp/embedded.sock`
//!
//! Not here: `wirepress demo`, which is what a user starts.

use std::io::BufRead as _;

fn main() -> Result<(), mysqlite::StartFault> {
    let unix = std::env::args_os().nth(1).map(std::path::PathBuf::from);
    let server = mysqlite::Server::start(mysqlite::Options { unix, ..mysqlite::Options::default() })?;
    if let Some(address) = server.address() {
        println!("{address}");
    }
    // Either way it is time to end.
    std::io::stdin().lock().lines().next();
    Ok(())
}
