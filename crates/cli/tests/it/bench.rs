//! `wirepress bench`, small: on private and users' servers, interrupted and resumed, over a kernel link, and with what
//! cannot be.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lab::peer::Nobody;
use lab::real::{
    Install, Kind, Options, PASSWORD, RealServer, USER, required, required_programs, required_with,
    root_or_skip,
};

pub(super) fn bench(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
    command.arg("bench").args(args).current_dir(folder);
    if std::env::var_os("WIREPRESS_CACHE").is_none() {
        // Tests run in their package's folder, the command elsewhere.
        command.env("WIREPRESS_CACHE", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache"));
    }
    command
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(super) fn succeeded(output: &Output) -> String {
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", text(&output.stderr));
    told
}

/// The report of a run in which all but one measurement could be made, which its exit code and last line tell.
pub(super) fn told_of_a_failure(output: &Output, wanted: &str) -> String {
    let (told, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}\n{error}");
    assert!(error.contains(wanted) && error.contains("--resume run goes on"), "{told}\n{error}");
    told
}

/// How many records of that name a run's file has.
pub(super) fn records(folder: &Path, name: &str) -> usize {
    let samples = std::fs::read_to_string(folder.join("samples.jsonl")).unwrap();
    samples.matches(&format!("{{\"record\":\"{name}\"")).count()
}

pub(super) fn url(server: &RealServer, schema: &str) -> String {
    format!("mysql://{USER}:{PASSWORD}@{}/{schema}", server.address())
}

/// What was fetched, but for one program.
pub(super) fn cache_without(program: &str, install: &Install, folder: &Path) -> PathBuf {
    let cache = folder.join("cache");
    let bin = cache.join("servers/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let fetched = install.path().join("servers");
    for entry in std::fs::read_dir(fetched.join("bin")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != program {
            std::os::unix::fs::symlink(entry.path(), bin.join(entry.file_name())).unwrap();
        }
    }
    std::fs::copy(fetched.join("versions.txt"), cache.join("servers/versions.txt")).unwrap();
    std::os::unix::fs::symlink(fetched.join("roots"), cache.join("servers/roots")).unwrap();
    cache
}

#[test]
fn a_plan_leaves_samples_and_reports_that_can_be_made_again_from_the_samples_alone() {
    if required_programs().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let args = ["rds-wide", "--scale", "smoke", "--repetitions", "2", "--link", "unlimited", "--out", "run"];
    let told = succeeded(&bench(folder.path(), &args).output().unwrap());
    let run = folder.path().join("run");
    // Two paths, six settings, two rounds.
    assert_eq!(
        (records(&run, "sample"), records(&run, "failure"), records(&run, "end")),
        (24, 0, 1),
        "{told}"
    );
    for row in ["direct, zstd 10", "wirepress, zlib", "a private MySQL 9"] {
        assert!(told.contains(row), "{row}: {told}");
    }
    // The published column: 32.43 s uncompressed.
    assert!(told.contains("32.4"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 120), "{told}");

    let written = ["report.html", "report.md", "results.csv", "samples.csv", "results.json"];
    let first: Vec<Vec<u8>> = written.iter().map(|name| std::fs::read(run.join(name)).unwrap()).collect();
    for name in written {
        std::fs::remove_file(run.join(name)).unwrap();
    }
    let again = succeeded(&bench(folder.path(), &["report", "run"]).output().unwrap());
    assert!(again.contains("direct, zstd 10"), "{again}");
    for (name, first) in written.iter().zip(first) {
        assert!(std::fs::read(run.join(name)).unwrap() == first, "{name} is another one");
    }
    let compared = succeeded(&bench(folder.path(), &["compare", "run", "run"]).output().unwrap());
    assert!(compared.contains("no change beyond noise"), "{compared}");
}

#[test]
fn the_real_indexer_and_php_read_real_text() {
    let Some(install) = required_programs() else { return };
    if install.program("indexer").is_err() {
        return lab::real::skip("want of Sphinx (scripts/fetch-servers --sphinx)");
    }
    let folder = tempfile::tempdir().unwrap();
    let args = ["sphinx-index", "--scale", "smoke", "--link", "1gbit", "--out", "run"];
    let told = succeeded(&bench(folder.path(), &args).output().unwrap());
    let run = folder.path().join("run");
    // Two clients; five ways.
    assert_eq!((records(&run, "sample"), records(&run, "failure")), (10, 0), "{told}");
    let markdown = std::fs::read_to_string(run.join("report.md")).unwrap();
    assert!(markdown.contains("| programs | indexer 2.") && markdown.contains(", php 8."), "{markdown}");
    let csv = std::fs::read_to_string(run.join("samples.csv")).unwrap();
    let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let column = |name| names.iter().position(|it| *it == name).unwrap();
    for workload in ["Sphinx indexer", "PHP mysqli"] {
        let of = |path: &str, setting: &str, name| -> f64 {
            let start = format!("1gbit,{workload},1,{path},false,{setting},");
            let line =
                csv.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{start}: {csv}"));
            line.split(',').nth(column(name)).unwrap().parse().unwrap()
        };
        // Real text: zlib makes it less than half.
        for (path, setting) in [("direct", "zlib"), ("wirepress", "zlib"), ("wirepress beside app", "zstd 1")]
        {
            assert!(of(path, setting, "wire_bytes") < of("direct", "none", "wire_bytes") / 2.0, "{csv}");
        }
        let (query, all) = (of("direct", "none", "query_time_s"), of("direct", "none", "time_s"));
        assert!(0.0 < query && query < all, "{csv}");
    }
}

#[test]
fn a_backup_crosses_a_link_through_every_compressor_and_one_that_is_missing_is_told() {
    let Some(install) = required_programs() else { return };
    if install.program("mariadb-backup").is_err() {
        return lab::real::skip("want of mariadb-backup (scripts/fetch-servers --sst)");
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_without("lz4", &install, folder.path());
    let args = ["sst", "--scale", "smoke", "--link", "1gbit", "--workload", "2 threads", "--out", "run"];
    let mut command = bench(folder.path(), &args);
    let output = command.env("WIREPRESS_CACHE", &cache).output().unwrap();
    let told = told_of_a_failure(&output, "1 measurement failed, 7 samples kept; ");
    let run = folder.path().join("run");
    // None and six others arrived whole; lz4 did not.
    assert_eq!((records(&run, "sample"), records(&run, "failure")), (7, 1), "{told}");
    let samples = std::fs::read_to_string(run.join("samples.jsonl")).unwrap();
    assert!(samples.contains("lz4 is missing; scripts/fetch-servers --sst fetches it"), "{samples}");
    let of = |setting: &str, metric: &str| -> f64 {
        let lines = samples.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut cells =
            lines.filter(|record| record["record"] == "sample" && record["cell"]["setting"] == setting);
        cells.next().unwrap()["metrics"][metric].as_f64().unwrap()
    };
    for packed in ["pigz", "zstd -1", "pzstd -1", "wirepress pack -1"] {
        assert!(of(packed, "wire_bytes") < of("none", "wire_bytes") / 2.0, "{packed}: {samples}");
        // The files are the same, but for a page or two that the server has changed itself meanwhile.
        let written = of(packed, "written_bytes") / of("none", "written_bytes");
        assert!((0.98..1.02).contains(&written), "{packed}: {samples}");
    }
    assert!(
        of("mariadb-backup --compress", "written_bytes") < of("none", "written_bytes") / 1.5,
        "{samples}"
    );
    // Published rows that nobody measures here.
    assert!(told.contains("qpress, built in (published only)"), "{told}");

    // As the report says: what was missing is there, and the run goes on.
    let lz4 = "servers/bin/lz4";
    std::os::unix::fs::symlink(install.path().join(lz4), cache.join(lz4)).unwrap();
    let resume = ["sst", "--resume", "run"];
    let told = succeeded(&bench(folder.path(), &resume).env("WIREPRESS_CACHE", &cache).output().unwrap());
    assert_eq!(
        (records(&run, "sample"), records(&run, "failure"), records(&run, "end")),
        (8, 1, 2),
        "{told}"
    );
    assert!(!told.contains("lz4 is missing") && !told.contains("measurement failed"), "{told}");
    let again = bench(folder.path(), &resume).env("WIREPRESS_CACHE", &cache).output().unwrap();
    assert!(text(&again.stderr).contains("is complete"), "{}", text(&again.stderr));
}

#[test]
fn an_interrupted_run_keeps_its_samples_and_goes_on() {
    if required_programs().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let plan = ["rds-wide", "--scale", "smoke", "--with", "mariadb", "--link", "50mbit"];
    let mut child = bench(folder.path(), &plan)
        .args(["--out", "run"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let run = folder.path().join("run");
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("rounds, seed") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "the run ended before its first sample");
    }
    while records(&run, "sample") < 2 {
        assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
        std::thread::yield_now();
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
        .unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.contains("interrupted after"), "{rest}");
    assert!(rest.contains("; wirepress bench rds-wide --resume run goes on"), "{rest}");
    let kept = records(&run, "sample");
    assert!((2..8).contains(&kept), "{kept}");
    assert!(run.join("report.html").is_file());

    for (args, part) in [
        (vec!["rds-wide", "--with", "embedded"], "begun with --with mariadb, not with --with embedded"),
        (vec!["rds-wide", "--link", "20mbit"], "begun with --link 50mbit, not with --link 20mbit"),
        (vec!["rds-wide", "--link-kernel", "50mbit"], "not with --link-kernel 50mbit"),
        (vec!["rds-wide", "--pin"], "begun with no --pin, not with --pin"),
        (vec!["rds-scan"], "is of the plan rds-wide, not of rds-scan"),
    ] {
        let other = bench(folder.path(), &args).args(["--resume", "run"]).output().unwrap();
        assert!(text(&other.stderr).contains(part), "{args:?}: {}", text(&other.stderr));
    }
    assert_eq!((records(&run, "sample"), records(&run, "resumed")), (kept, 0));
    // The told command, as it stands.
    let told = succeeded(&bench(folder.path(), &["rds-wide", "--resume", "run"]).output().unwrap());
    // MariaDB packs with zlib alone: two settings by itself, six through the proxy.
    assert_eq!(
        (records(&run, "sample"), records(&run, "resumed"), records(&run, "end")),
        (8, 1, 1),
        "{told}"
    );
    let again = bench(folder.path(), &plan).args(["--resume", "run"]).output().unwrap();
    assert!(text(&again.stderr).contains("is complete"), "{}", text(&again.stderr));
}

#[test]
fn a_report_that_nobody_reads_is_written_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["rds-wide", "--with", "embedded", "--scale", "smoke", "--link", "unlimited", "--out", "run"];
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = bench(folder.path(), &args).stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["report.html", "report.md", "results.csv", "samples.csv", "results.json"] {
        assert!(folder.path().join("run").join(name).is_file(), "{name}");
    }
    // Made again, and compared.
    for args in [&["report", "run"][..], &["compare", "run", "run"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = bench(folder.path(), args).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_users_server_keeps_what_it_had_and_nothing_else() {
    let Some(server) = required(Kind::MySql) else { return };
    server.sql("create database mine; create table mine.t1 (a int); create database free").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plan = ["rds-wide", "--scale", "smoke", "--link", "unlimited", "--server"];
    let refused = bench(folder.path(), &plan).args([&url(server, "mine"), "--out", "no"]).output().unwrap();
    let told = text(&refused.stderr);
    assert!(told.contains("has a table t1 already; name an empty schema"), "{told}");
    assert_eq!(server.sql("show tables from mine; select count(*) from mine.t1").unwrap(), "t1\n0");

    let output = bench(folder.path(), &plan).args([&url(server, "free"), "--out", "run"]).output().unwrap();
    succeeded(&output);
    assert_eq!(records(&folder.path().join("run"), "sample"), 12);
    assert_eq!(server.sql("show tables from free").unwrap(), "");
    for entry in std::fs::read_dir(folder.path().join("run")).unwrap() {
        let file = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!file.contains(&format!(":{PASSWORD}@")), "the password was written down");
    }
}

#[test]
fn a_server_that_dies_ends_the_run_and_what_was_measured_is_kept() {
    let Some(mut server) = required_with(Kind::MariaDb, &Options::new()) else { return };
    server.sql("create database free").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut child =
        bench(folder.path(), &["rds-wide", "--scale", "smoke", "--link", "50mbit", "--out", "run"])
            .args(["--server", &url(&server, "free")])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let run = folder.path().join("run");
    while !run.join("samples.jsonl").is_file() || records(&run, "sample") < 1 {
        assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
        std::thread::yield_now();
    }
    server.kill().unwrap();
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{told}");
    assert!(told.contains("kept in run") && told.contains("Connection refused"), "{told}");
    assert!(told.contains("wirepress bench rds-wide --resume run --server URL --ssl-mode"), "{told}");
    let again = bench(folder.path(), &["rds-wide", "--resume", "run"]).output().unwrap();
    assert!(text(&again.stderr).contains("needs its server again"), "{}", text(&again.stderr));
    // A MariaDB isn't asked for zstd. What was being measured just then may fail before the server is known to be gone.
    let samples = std::fs::read_to_string(run.join("samples.jsonl")).unwrap();
    assert!(records(&run, "sample") >= 1 && (1..=2).contains(&records(&run, "failure")), "{told}\n{samples}");
    assert!(run.join("report.md").is_file());

    // Its table is there when the server is back; the line that is told makes way for the rest of the run.
    server.restart().unwrap();
    let resume = || {
        let mut command = bench(folder.path(), &["rds-wide", "--resume", "run"]);
        command.args(["--server", &url(&server, "free")]).output().unwrap()
    };
    let refused = resume();
    let told = text(&refused.stderr);
    let (_, drop) = told.split_once("drop it first: ").unwrap_or_else(|| panic!("{told}"));
    server.sql(drop.lines().next().unwrap()).unwrap();
    succeeded(&resume());
    assert_eq!(server.sql("show tables from free").unwrap(), "");
}

/// A file system of its own, so small that it is soon full.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: &Path) -> Self {
        std::fs::create_dir(path).unwrap();
        let words = ["-t", "tmpfs", "-o", "size=8k", "tmpfs"];
        assert!(Command::new("mount").args(words).arg(path).status().unwrap().success());
        Self(path.to_owned())
    }

    fn grow(&self) {
        let words = ["-o", "remount,size=64m"];
        assert!(Command::new("mount").args(words).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).status());
    }
}

#[test]
fn a_full_disk_ends_the_run_and_with_room_it_goes_on() {
    if !root_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(&folder.path().join("disk"));
    let args =
        ["rds-wide", "--with", "embedded", "--scale", "smoke", "--link", "unlimited", "--repetitions", "2"];
    let full = bench(folder.path(), &args).args(["--out", "disk/run"]).output().unwrap();
    let told = text(&full.stderr);
    assert_eq!(full.status.code(), Some(1), "{told}");
    assert!(told.contains("cannot write to disk/run/samples.jsonl: No space left on device"), "{told}");
    let run = folder.path().join("disk/run");
    let kept = records(&run, "sample");
    assert!(kept > 0 && records(&run, "end") == 0, "{told}");
    disk.grow();
    let resumed = bench(folder.path(), &args).args(["--resume", "disk/run"]).output().unwrap();
    succeeded(&resumed);
    assert!(records(&run, "sample") > kept && records(&run, "end") == 1);
    assert!(run.join("report.html").is_file());
}

#[test]
fn real_sysbench_runs_over_a_kernel_link() {
    if required_programs().is_none() || !root_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let args = ["oltp-matrix", "--scale", "smoke", "--link-kernel", "1gbit,0.5ms", "--out", "run"];
    let told = succeeded(&bench(folder.path(), &args).output().unwrap());
    let run = folder.path().join("run");
    // Two numbers of threads, nine variants.
    assert_eq!((records(&run, "sample"), records(&run, "failure")), (18, 0), "{told}");
    assert!(told.contains("kernel (TUN)") && told.contains("cubic"), "{told}");
}

#[test]
fn what_cannot_be_measured_is_named_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = Nobody::new().unwrap();
    let address = nobody.address().unwrap();
    for (args, code, part) in [
        (vec!["rds-scan", "--server", "http://me:hush@h/d"], 64, "does not begin with mysql://"),
        (vec!["rds-scan", "--server", "mysql://me:hush@h"], 64, "names no database"),
        (vec!["rds-scan", "--link", "100mb"], 64, "does not end in kbit, mbit or gbit"),
        (vec!["rds-scan", "--link-kernel", "100mbit,loss=2"], 64, "loss"),
        (vec!["rds-scan", "--scale", "huge"], 64, "there are smoke, laptop and full"),
        (vec!["no-plan"], 64, "unrecognized subcommand 'no-plan'"),
        (vec!["report", "nowhere"], 1, "nowhere/samples.jsonl"),
        (vec!["oltp-matrix", "--with", "embedded"], 1, "cannot be measured with the embedded database"),
        (vec!["rds-scan", "--with", "embedded", "--link-kernel", "1gbit"], 1, "only a private server"),
        (vec!["rds-scan", "--server", &format!("mysql://me:hush@{address}/d")], 1, "Connection refused"),
    ] {
        let output = bench(folder.path(), &args).output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {told}");
        assert!(told.contains(part), "{args:?}: {told}");
        assert!(!told.contains("hush"), "{told}");
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path().join("wirepress-bench")).into_iter().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}
