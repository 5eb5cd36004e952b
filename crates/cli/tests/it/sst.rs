//! A join of two real Galera nodes by `wsrep_sst_wirepress`, small; `make sst` has the rest.
//!
//! Not here: what goes wrong in transfers (`scripts/sst failures`).

use std::path::Path;
use std::process::Command;

use lab::real::{Kind, required, root_or_skip, skip};

#[test]
fn a_galera_node_joins_by_our_method_with_equal_tables() {
    // Fetched, or allowed to be missing.
    if required(Kind::MariaDb).is_none() || !root_or_skip() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cache = std::env::var_os("WIREPRESS_CACHE").map_or_else(|| root.join(".cache"), Into::into);
    if !cache.join("servers/bin/mariadb-backup").exists() {
        skip("want of mariadb-backup (scripts/fetch-servers --sst)");
        return;
    }
    let mut script = Command::new(root.join("scripts/sst"));
    script.arg("smoke").env("SST_WIREPRESS", env!("CARGO_BIN_EXE_wirepress")).current_dir(&root);
    let output = script.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    assert!(out.contains("checksums equal"), "{out}\n{err}");
}
