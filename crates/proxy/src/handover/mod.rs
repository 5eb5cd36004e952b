//! A restart that refuses nobody: the old process hands its listening sockets to the new one, and then drains.
//!
//! ```text
//! new process --connect--> handover socket of the old one
//!             <-- addresses, and the listening sockets themselves (SCM_RIGHTS)
//!             --  "ready" when it accepts    -->    the old one stops accepting and drains
//! ```
//! Until "ready" nothing has changed for the old process; both accept from the same queue in between, so that no
//! connection is lost. An old process that is told to end meanwhile ends, and the new one goes on: socket files that were
//! handed over are not removed. One that drains already has no sockets to give; it answers when its addresses are free.
//!
//! Invariants: only the same user, or root, is given the sockets; no process removes another's socket file.
//! Not here: the text (`message`), when a process ends (crate `cli`), socket activation by systemd (crate `cli`).

mod message;

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::ending::Ending;
use crate::listener::{Inherited, Listener};
use crate::{Address, Proxy};

/// What a predecessor handed over.
#[derive(Debug)]
pub struct Inheritance {
    /// Listening sockets, by the addresses that they were asked for.
    pub sockets: Vec<Inherited>,
    predecessor: UnixStream,
    inherited: Vec<Address>,
}

/// Where a successor may ask for the listening sockets.
pub struct Handover {
    listener: UnixListener,
    file: HandoverFile,
    /// Not kept open: a drain closes them.
    listeners: Vec<Weak<Listener>>,
    ending: Arc<Ending>,
}

/// The file of a handover socket. A successor puts its own in its place.
#[derive(Debug, Clone)]
pub struct HandoverFile {
    path: PathBuf,
    /// What tells it from another of the same name.
    made: (u64, u64, i64, i64),
}

impl Inheritance {
    /// Asks the process that serves at `path`; `None` if there is none.
    pub fn ask_for(path: &Path) -> io::Result<Option<Self>> {
        let predecessor = match UnixStream::connect(path) {
            Ok(stream) => stream,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        predecessor.set_read_timeout(Some(PEER_TIMEOUT))?;
        let (text, sockets) = receive(&predecessor)?;
        let malformed =
            |why| io::Error::new(io::ErrorKind::InvalidData, format!("'{}': {why}", path.display()));
        let addresses = message::parse(&text).map_err(malformed)?;
        if addresses.len() != sockets.len() {
            return Err(malformed("addresses and sockets don't match"));
        }
        let inherited = addresses.clone();
        let sockets = addresses.into_iter().zip(sockets);
        // Until it is confirmed the predecessor listens on, also if this process fails.
        let sockets =
            sockets.map(|(address, socket)| Inherited { address, socket, is_ours: false }).collect();
        Ok(Some(Self { sockets, predecessor, inherited }))
    }

    /// Says that this process accepts, with `proxy`: the predecessor drains. Take [`Self::sockets`] first.
    pub fn confirm(mut self, proxy: &Proxy) {
        // Whoever accepts from the sockets need not give up because nobody else does any more.
        if let Err(error) = self.predecessor.write_all(READY) {
            tracing::warn!(%error, "the predecessor has ended meanwhile");
        }
        let is_inherited = |listener: &&Arc<Listener>| self.inherited.contains(listener.asked());
        proxy.listeners().iter().filter(is_inherited).for_each(|listener| listener.take_over());
    }
}

impl HandoverFile {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), made: Self::made(path)? })
    }

    fn made(path: &Path) -> io::Result<(u64, u64, i64, i64)> {
        let found = std::fs::symlink_metadata(path)?;
        Ok((found.dev(), found.ino(), found.mtime(), found.mtime_nsec()))
    }

    /// Removes it, unless a successor's is in its place.
    pub fn remove(&self) {
        if Self::made(&self.path).is_ok_and(|made| made == self.made)
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::debug!(%error, "the handover socket could not be removed");
        }
    }
}

impl Handover {
    /// Serves at `path`, in place of whoever did before.
    pub fn offer(path: &Path, proxy: &Proxy) -> io::Result<Self> {
        // Under its final name only when nobody else may connect.
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}", std::process::id()));
        let beside = PathBuf::from(beside);
        let listener = UnixListener::bind(&beside)?;
        std::fs::set_permissions(&beside, PermissionsExt::from_mode(0o600))?;
        std::fs::rename(&beside, path)?;
        Ok(Self {
            listener,
            file: HandoverFile::of(path)?,
            listeners: proxy.listeners().iter().map(Arc::downgrade).collect(),
            ending: proxy.ending(),
        })
    }

    /// Waits until a successor accepts. It blocks: call it on a thread of its own.
    pub fn wait(&self) -> io::Result<()> {
        loop {
            let (successor, _) = self.listener.accept()?;
            match self.hand_over(&successor) {
                Ok(()) => return Ok(()),
                Err(error) => tracing::warn!(%error, "a successor asked for the sockets and did not start"),
            }
        }
    }

    /// The handover socket's file.
    pub const fn file(&self) -> &HandoverFile {
        &self.file
    }

    fn hand_over(&self, mut successor: &UnixStream) -> io::Result<()> {
        let peer = socket_peercred(successor)?.uid;
        if peer != rustix::process::geteuid() && !peer.is_root() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
        }
        self.await_free_addresses();
        let lent = Lent::new(self.listeners.iter().filter_map(Weak::upgrade).collect(), &self.ending);
        let listeners = &lent.listeners;
        let text = message::build(listeners.iter().map(|listener| listener.asked()));
        let sockets: Vec<_> = listeners.iter().map(|listener| listener.socket()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&sockets)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many listeners to hand over"));
        }
        sendmsg(successor.as_fd(), &[IoSlice::new(text.as_bytes())], &mut control, SendFlags::empty())?;
        successor.set_read_timeout(Some(START_TIMEOUT))?;
        let mut answer = [0; READY.len()];
        successor.read_exact(&mut answer)?;
        if answer != *READY {
            return Err(io::ErrorKind::InvalidData.into());
        }
        lent.keep();
        Ok(())
    }

    /// A drain closes the sockets: whoever asks then binds anew.
    fn await_free_addresses(&self) {
        let begun = Instant::now();
        let is_open = || self.listeners.iter().any(|listener| listener.strong_count() > 0);
        while self.ending.is_draining() && is_open() && begun.elapsed() < PEER_TIMEOUT / 2 {
            std::thread::sleep(CLOSING_LOOK);
        }
    }
}

/// Listeners whose sockets another process has: their files stay, whatever becomes of this one.
struct Lent<'a> {
    listeners: Vec<Arc<Listener>>,
    /// Those whose files were ours, unless the successor keeps them.
    ours: Vec<Arc<Listener>>,
    ending: &'a Ending,
}

impl<'a> Lent<'a> {
    fn new(listeners: Vec<Arc<Listener>>, ending: &'a Ending) -> Self {
        let ours = listeners.iter().filter(|listener| listener.give_away()).map(Arc::clone).collect();
        Self { listeners, ours, ending }
    }

    fn keep(mut self) {
        self.ours.clear();
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        for listener in &self.ours {
            listener.take_over();
            if self.ending.is_draining() {
                listener.remove_file();
            }
        }
    }
}

/// The text up to its empty line, and the sockets that came with it.
fn receive(stream: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let (mut text, mut sockets) = (Vec::new(), Vec::new());
    while !text.ends_with(message::END) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [0; 4096];
        let received =
            recvmsg(stream, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                sockets.extend(fds);
            }
        }
        if received.bytes == 0 || text.len() > TEXT_LEN_MAX {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        text.extend_from_slice(bytes.get(..received.bytes).unwrap_or_default());
    }
    Ok((text, sockets))
}

const READY: &[u8; 6] = b"ready\n";
/// Linux passes at most 253 at once.
const SOCKETS_MAX: usize = 253;
const TEXT_LEN_MAX: usize = 64 << 10;
/// Sockets are closed a moment after a drain began.
const CLOSING_LOOK: Duration = Duration::from_millis(5);
/// The predecessor answers at once.
const PEER_TIMEOUT: Duration = Duration::from_secs(5);
/// A successor reads certificates and starts threads.
const START_TIMEOUT: Duration = Duration::from_secs(30);
