//! Standard input and output as plain files, without the buffers that the standard library puts before them.
//!
//! Not here: standard error, which has only lines.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use anyhow::Context;
use rustix::fs::{OFlags, fcntl_getfl, fstat, major, minor};

/// The input can't be a stream, or the output can't take one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoStream {
    /// Nothing was redirected to the input, and somebody would have to type it.
    #[error(
        "standard input is a terminal: give it a stream, as in `mariadb-backup --stream=mbstream ... | wirepress pack`"
    )]
    Input,
    /// Compressed bytes would go to a terminal.
    #[error(
        "standard output is a terminal, which can't show compressed bytes: redirect it, as in `wirepress pack > FILE`"
    )]
    Output,
    /// There is nothing to read from.
    #[error(
        "standard input is closed (or /dev/null opened for reading and writing): give it a stream, or < /dev/null"
    )]
    InputClosed,
    /// All that is written would be lost.
    #[error(
        "standard output is closed (or /dev/null opened for reading and writing), so all would be lost: redirect it, to > \
         /dev/null if that is what is wanted"
    )]
    OutputClosed,
}

/// Standard input.
pub(crate) fn input() -> anyhow::Result<File> {
    let input = io::stdin();
    if input.is_terminal() {
        return Err(NoStream::Input.into());
    }
    if was_closed(&input) {
        return Err(NoStream::InputClosed.into());
    }
    let input = input.as_fd().try_clone_to_owned().context("cannot use standard input")?;
    widen(&input);
    Ok(input.into())
}

/// Standard output.
pub(crate) fn output() -> anyhow::Result<File> {
    let output = io::stdout();
    if was_closed(&output) {
        return Err(NoStream::OutputClosed.into());
    }
    let output = output.as_fd().try_clone_to_owned().context("cannot use standard output")?;
    widen(&output);
    Ok(output.into())
}

/// Whether the process was started without it.
///
/// Rust's runtime then opens /dev/null in its place before `main`, for reading and writing (`sanitize_standard_fds` of std), and
/// nothing would fail. Shells, systemd and Rust open /dev/null for the one way that is needed; some open it for both
/// (daemon(3), Python's `subprocess.DEVNULL`), and can't be told from that.
fn was_closed(stream: &impl AsFd) -> bool {
    let is_null = fstat(stream).is_ok_and(|stat| (major(stat.st_rdev), minor(stat.st_rdev)) == DEV_NULL);
    is_null && fcntl_getfl(stream).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDWR)
}

/// Whether this is a file on a disk.
pub(crate) fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Sees that a file has what was written to it: a file system with a quota, or of another host, may tell only now that it hasn't.
pub(crate) fn keep(file: &File) -> io::Result<()> {
    if is_regular(file) { file.sync_data() } else { Ok(()) }
}

/// A pipe holds 64 KiB, which takes a switch between processes for each; with more there are fewer.
pub(crate) fn widen(pipe: &impl AsFd) {
    // It may be no pipe, or the user's limit may be reached: then it stays as it is.
    let _is_wide = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_LEN);
}

/// /dev/null's numbers (Linux, Documentation/admin-guide/devices.txt).
const DEV_NULL: (u32, u32) = (1, 3);
/// What /proc/sys/fs/pipe-max-size allows everybody by default.
const PIPE_LEN: usize = 1 << 20;
