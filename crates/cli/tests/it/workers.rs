//! How many threads serve sessions where a container may use less than the machine has.
//!
//! Not here: which thread a session gets (crate `proxy`, `listener`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::real::{root_or_skip, skip};

use crate::process::ProxyProcess;

/// A control group that may use one CPU's time.
struct OneCpu(PathBuf);

impl OneCpu {
    fn new() -> Option<Self> {
        let name = format!("wirepress-{}", std::process::id());
        // Version 2, and version 1, which mounts each controller by itself.
        for (root, file, quota) in [
            ("/sys/fs/cgroup", "cpu.max", "100000 100000"),
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000"),
        ] {
            let group = Self(Path::new(root).join(&name));
            // In version 1 the root of all is a plain folder, in which anything can be made.
            if fs::create_dir(&group.0).is_ok()
                && group.0.join("cgroup.procs").exists()
                && fs::write(group.0.join(file), quota).is_ok()
            {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.0));
    }
}

#[test]
fn a_cgroup_quota_of_one_cpu_makes_one_worker() {
    if !root_or_skip() {
        return;
    }
    let Some(group) = OneCpu::new() else {
        return skip("want of a cgroup controller for CPU time");
    };
    let proxy = ProxyProcess::command(&["--listen", "127.0.0.1:0", "--server", "127.0.0.1:1"]);
    let mut shell = Command::new("sh");
    let enter = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
    shell.arg("-c").arg(enter).arg(&group.0).arg(proxy.get_program()).args(proxy.get_args());
    let mut process = ProxyProcess::start_as(shell, Stdio::piped(), 1);
    process.await_log("; 1 workers");
    process.signal(rustix::process::Signal::TERM);
    assert!(process.end().0.success());
}

#[test]
fn more_workers_than_cpus_are_warned_of() {
    let args = ["--listen", "127.0.0.1:0", "--server", "127.0.0.1:1", "--workers", "1024"];
    let mut process = ProxyProcess::start(&args, 1);
    process.await_log("1024 workers on ");
    process.signal(rustix::process::Signal::TERM);
    assert!(process.end().0.success());
}
