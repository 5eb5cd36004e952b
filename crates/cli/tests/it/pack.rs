//! `wirepress pack` and `wirepress unpack` as filters: with real `zstd` and `pzstd` where they are, in pipes that break,
//! with bad input and bad arguments.
//!
//! Not here: every cut and every bit (crate `transfer`).

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn wirepress(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirepress"));
    command.args(args);
    command
}

/// Runs a filter over `input`; one that ends early doesn't mind.
fn filter(mut command: Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut to_child = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(to_child.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

fn run(args: &[&str], input: &[u8]) -> Output {
    filter(wirepress(args), input)
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Like pages of a backup: rows, then nothing.
fn pages(len: usize) -> Vec<u8> {
    let rows = (0..).flat_map(|row: u64| {
        let digits = row.wrapping_mul(6_364_136_223_846_793_005).to_string();
        let zeros = if row.is_multiple_of(50) { 3000 } else { 0 };
        format!("{row:08} {digits}-{}-{digits}; ", row % 97)
            .into_bytes()
            .into_iter()
            .chain(std::iter::repeat_n(0, zeros))
    });
    rows.take(len).collect()
}

/// The program, if this machine has it; a test says so if not.
fn program(name: &str) -> Option<Command> {
    if Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        lab::real::skip(&format!("want of {name}"));
        return None;
    }
    Some(Command::new(name))
}

#[test]
fn what_is_packed_comes_back_at_every_setting() {
    let plain = pages(9_000_000);
    for args in [
        &["pack"][..],
        &["pack", "--auto", "-T1"],
        &["pack", "-1", "-T2"],
        &["pack", "-5"],
        &["pack", "--fast=3"],
    ] {
        let packed = run(args, &plain);
        assert!(packed.status.success(), "{}", told(&packed));
        assert!(told(&packed).starts_with("wirepress pack: 9.0 MB -> "), "{}", told(&packed));
        assert_eq!(told(&packed).lines().count(), 1);
        let back = run(&["unpack"], &packed.stdout);
        assert!(back.status.success() && back.stdout == plain, "{args:?}: {}", told(&back));
        let tested = run(&["unpack", "-t", "-q"], &packed.stdout);
        assert!(tested.status.success() && tested.stdout.is_empty() && tested.stderr.is_empty());
    }
}

#[test]
fn plain_zstd_reads_a_stream_and_its_streams_are_read_on_request() {
    let plain = pages(5_000_000);
    for name in ["zstd", "pzstd"] {
        let Some(mut reader) = program(name) else { continue };
        reader.args(["-d", "-q", "-c"]);
        for args in [&["pack", "-1"][..], &["pack"], &["pack", "--fast=5"]] {
            let packed = run(args, &plain).stdout;
            let mut reader = Command::new(name);
            reader.args(["-d", "-q", "-c"]);
            let back = filter(reader, &packed);
            assert!(back.status.success() && back.stdout == plain, "{name} {args:?}: {}", told(&back));
        }
        let mut writer = Command::new(name);
        writer.args(["-1", "-q", "-c"]);
        let foreign = filter(writer, &plain).stdout;
        let refused = run(&["unpack"], &foreign);
        assert_eq!(refused.status.code(), Some(1));
        assert!(told(&refused).contains("--foreign"), "{}", told(&refused));
        let back = run(&["unpack", "--foreign"], &foreign);
        assert!(back.status.success() && back.stdout == plain, "{}", told(&back));
    }
}

#[test]
fn a_foreign_window_beyond_the_memory_is_refused_by_the_option_that_permits_it() {
    let Some(mut writer) = program("zstd") else { return };
    writer.args(["-1", "--long=27", "-q", "-c"]);
    let plain = pages(3_000_000);
    let foreign = filter(writer, &plain).stdout;
    let refused = run(&["unpack", "--foreign", "-T1"], &foreign);
    assert_eq!(refused.status.code(), Some(1));
    let words = told(&refused);
    let memory = words.split("--memory ").nth(1).unwrap().trim();
    let back = run(&["unpack", "--foreign", "-T1", "--memory", memory], &foreign);
    assert!(back.status.success() && back.stdout == plain, "{memory}: {}", told(&back));
}

#[test]
fn a_stream_that_is_cut_or_altered_fails_and_says_why() {
    let packed = run(&["pack", "-1"], &pages(5_000_000)).stdout;
    let mut flipped = packed.clone();
    flipped[packed.len() / 2] ^= 1;
    let behind = [&packed[..], b"x"].concat();
    for (stream, why) in [
        (&packed[..packed.len() / 2], "has no end record"),
        (&packed[..packed.len() - 1], "has no end record"),
        (&flipped, "was altered"),
        (&behind, "bytes follow"),
        (b"", "the input is empty"),
        (b"rubbish that is no stream at all", "no start record"),
    ] {
        for args in [&["unpack"][..], &["unpack", "--test"]] {
            let output = run(args, stream);
            assert_eq!(output.status.code(), Some(1), "{why}");
            assert!(told(&output).contains(why), "{why}: {}", told(&output));
        }
    }
}

#[test]
fn tiny_and_empty_inputs_are_streams_too() {
    for plain in [&b""[..], b"x", b"0-1-23,galera-gtid\n"] {
        let packed = run(&["pack", "-q"], plain);
        assert!(packed.status.success() && packed.stderr.is_empty());
        let back = run(&["unpack", "-q"], &packed.stdout);
        assert!(back.status.success() && back.stdout == plain && back.stderr.is_empty());
    }
}

#[test]
fn memory_stays_within_what_is_promised_whatever_passes() {
    let plain = pages(60_000_000);
    let packed = run(&["pack", "-1", "-q"], &plain).stdout;
    // All but the end, so that it is still there to be asked.
    let begun = &packed[..packed.len() - 1];
    for (args, input, rest) in [
        (&["pack", "-q", "-1", "-T2"][..], &plain[..], &b""[..]),
        (&["pack", "-q", "-T2"], &plain, b""),
        (&["unpack", "-q", "-T2"], begun, &packed[packed.len() - 1..]),
    ] {
        let mut child = wirepress(args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut to_child = child.stdin.take().unwrap();
        to_child.write_all(input).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        to_child.write_all(rest).unwrap();
        drop(to_child);
        assert!(child.wait().unwrap().success());
        // 16 MiB and 12 MiB for each thread.
        assert!(peak_kib <= (16 + 2 * 12) << 10, "{args:?}: {peak_kib} KiB");
    }
}

#[test]
fn who_stops_reading_ends_it() {
    let mut child = wirepress(&["pack", "-1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut to_child = child.stdin.take().unwrap();
    // Without an end: it must not wait for one.
    let page = pages(1 << 20);
    while to_child.write_all(&page).is_ok() {}
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("cannot write the output"), "{}", told(&output));
}

#[test]
fn progress_tells_the_closing_line_too_and_bad_arguments_exit_with_64() {
    let output = run(&["pack", "--progress", "--size", "1M"], &pages(1 << 20));
    assert!(output.status.success() && told(&output).contains("ratio"), "{}", told(&output));
    for args in [
        &["pack", "-23"][..],
        &["pack", "-0"],
        &["pack", "--fast=0"],
        &["pack", "-1", "--auto"],
        &["pack", "-T300"],
        &["unpack", "-1"],
        &["unpack", "--memory", "much"],
        &["pack", "file"],
    ] {
        let output = run(args, b"");
        assert_eq!(output.status.code(), Some(64), "{args:?}: {}", told(&output));
        assert!(output.stdout.is_empty());
    }
}

/// Rust's runtime opens /dev/null in their place, which takes everything.
#[test]
fn a_closed_stream_is_no_dev_null() {
    let packed = run(&["pack"], b"rows").stdout;
    for (line, input, code, words) in [
        ("unpack >&-", &packed[..], 64, "standard output is closed"),
        ("pack >&-", b"rows", 64, "standard output is closed"),
        ("pack <&-", b"", 64, "standard input is closed"),
        ("receive --listen 127.0.0.1:0 --insecure >&-", b"", 64, "standard output is closed"),
        ("send --to 127.0.0.1:1 --insecure --start-timeout 1 <&-", b"", 64, "standard input is closed"),
        ("unpack > /dev/null", &packed, 0, "verified"),
        ("pack < /dev/null > /dev/null", b"", 0, "wirepress pack: 0.0 MB"),
    ] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec \"$0\" {line}"), env!("CARGO_BIN_EXE_wirepress")]);
        let output = filter(shell, input);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", told(&output));
        assert!(told(&output).contains(words), "{line}: {}", told(&output));
    }
}

/// A quota, or another host's file system, may tell only then.
#[test]
fn a_file_that_is_not_kept_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("full.c"), folder.path().join("full.so"));
    std::fs::write(&source, "#include <errno.h>\nint fdatasync(int fd) { errno = EDQUOT; return -1; }\n")
        .unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    assert!(compiler.status().unwrap().success());
    let packed = run(&["pack"], b"rows").stdout;
    for (args, input) in [(["pack", "-q"], &b"rows"[..]), (["unpack", "-q"], &packed)] {
        let file = std::fs::File::create(folder.path().join("out")).unwrap();
        let mut command = wirepress(&args);
        command.env("LD_PRELOAD", &library).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(file);
        let mut child = command.spawn().unwrap();
        drop(child.stdin.take().unwrap().write_all(input));
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(told(&output).contains("cannot write the output: "), "{args:?}: {}", told(&output));
    }
}
