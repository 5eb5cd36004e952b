//! One open file that is kept for the moment when no other can be had: giving it up makes room for one socket, whose
//! client can then be told that there is no room.
//!
//! Not here: how many connections there may be (`admission`).

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

/// Holds the place of a file.
pub(crate) struct SpareFile(Option<OwnedFd>);

impl SpareFile {
    pub(crate) fn new() -> Self {
        // Without one, who waits goes on waiting.
        Self(eventfd(0, EventfdFlags::CLOEXEC).ok())
    }

    /// Does `work` while its place is free. Another thread may be faster.
    pub(crate) fn lend<T>(&mut self, work: impl FnOnce() -> T) -> T {
        drop(self.0.take());
        let done = work();
        *self = Self::new();
        done
    }
}

/// Whether `error` says that there are no files left, for this process or at all.
pub(crate) fn is_wanted(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].into_iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_files_is_told_from_other_errors() {
        assert!(is_wanted(&Errno::MFILE.into()) && is_wanted(&Errno::NFILE.into()));
        assert!(!is_wanted(&Errno::NOBUFS.into()) && !is_wanted(&io::ErrorKind::WouldBlock.into()));
    }
}
