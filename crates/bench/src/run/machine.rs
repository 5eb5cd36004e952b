//! What this machine is, for the first line of the file.

use std::fs;
use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};

use crate::record::Machine;

/// This machine.
pub(super) fn this() -> Machine {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    Machine {
        cpu: value(&read("/proc/cpuinfo"), "model name", ':')
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: u32::try_from(crate::cpu::cores()).unwrap_or(1),
        memory_mib: value(&read("/proc/meminfo"), "MemTotal", ':')
            .and_then(|text| text.trim_end_matches("kB").trim().parse::<u64>().ok())
            .unwrap_or_default()
            / 1024,
        kernel: format!("{} {}", std::env::consts::OS, read("/proc/sys/kernel/osrelease").trim()),
        system: value(&read("/etc/os-release"), "PRETTY_NAME", '=')
            .map_or_else(|| std::env::consts::OS.to_owned(), |name| name.trim_matches('"').to_owned()),
    }
}

/// The value in the first line `name<separator>value`.
fn value(text: &str, name: &str, separator: char) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(separator)?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// This program's version and, because a version alone does not name a build, the hash of its file.
pub(super) fn wirepress(program: &Path) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match fs::read(program) {
        Ok(bytes) => {
            let hash: String =
                digest(&SHA256, &bytes).as_ref().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            format!("{version} (build {hash})")
        }
        Err(_) => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let machine = this();
        assert!(machine.cores >= 1 && !machine.cpu.is_empty() && !machine.kernel.is_empty(), "{machine:?}");
        assert_eq!(value("a : b c\nd=e", "a", ':').as_deref(), Some("b c"));
        assert_eq!(value("a : b", "x", ':'), None);
    }
}
