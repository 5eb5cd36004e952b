//! Standard input and output as plain files, without the buffers that the standard library puts before them.
//!
//! Not here: standard error, which has only lines.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use anyhow::Context;

/// Somebody types the input or reads the output.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AtTerminal {
    /// Nothing was redirected to the input.
    #[error(
        "standard input is a terminal: give it a stream, as in `mariadb-backup --stream=mbstream ... | wirepress pack`"
    )]
    Input,
    /// Compressed bytes would go to a terminal.
    #[error(
        "standard output is a terminal, which can't show compressed bytes: redirect it, as in `wirepress pack > FILE`"
    )]
    Output,
}

/// Standard input.
pub(crate) fn input() -> anyhow::Result<File> {
    let input = io::stdin();
    if input.is_terminal() {
        return Err(AtTerminal::Input.into());
    }
    let input = input.as_fd().try_clone_to_owned().context("cannot use standard input")?;
    widen(&input);
    Ok(input.into())
}

/// Standard output.
pub(crate) fn output() -> anyhow::Result<File> {
    let output = io::stdout().as_fd().try_clone_to_owned().context("cannot use standard output")?;
    widen(&output);
    Ok(output.into())
}

/// Whether this is a file on a disk.
pub(crate) fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// A pipe holds 64 KiB, which takes a switch between processes for each; with more there are fewer.
pub(crate) fn widen(pipe: &impl AsFd) {
    // It may be no pipe, or the user's limit may be reached: then it stays as it is.
    let _is_wide = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_LEN);
}

/// What /proc/sys/fs/pipe-max-size allows everybody by default.
const PIPE_LEN: usize = 1 << 20;
