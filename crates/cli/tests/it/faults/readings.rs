//! What the kernel tells of a process: its memory, its CPU time, its open files, whether it runs.
//!
//! Not here: limits (`open_files`).

use std::time::Duration;

use rustix::process::Pid;

fn read(pid: Pid, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{}/{file}", pid.as_raw_pid())).unwrap()
}

/// Proportional set size.
pub(super) fn pss_bytes(pid: Pid) -> u64 {
    let text = read(pid, "smaps_rollup");
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// User and system time, to 10 ms.
pub(super) fn cpu_time(pid: Pid) -> Duration {
    let text = read(pid, "stat");
    let (_, fields) = text.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// Whether all its threads are stopped.
pub(super) fn is_stopped(pid: Pid) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())).unwrap();
    tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default()).all(
        |stat| {
            let state = stat.rsplit_once(") ").and_then(|(_, fields)| fields.chars().next());
            state == Some('T')
        },
    )
}

/// Numbers of the open files, ascending.
pub(super) fn open_files(pid: Pid) -> Vec<u64> {
    let folder = std::fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid())).unwrap();
    let mut numbers: Vec<u64> =
        folder.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}
