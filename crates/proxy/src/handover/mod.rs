//! A restart that refuses nobody: the old process hands its listening sockets to the new one, and then drains.
//!
//! ```text
//! new process --connect--> handover socket of the old one
//!             <-- addresses, and the listening sockets themselves (SCM_RIGHTS)
//!             --  "ready" when it accepts    -->    the old one stops accepting and drains
//! ```
//! Until "ready" nothing has changed for the old process; both accept from the same queue in between, so that no
//! connection is lost.
//!
//! Invariants: only the same user, or root, is given the sockets.
//! Not here: the text (`message`), when a process ends (crate `cli`), socket activation by systemd (crate `cli`).

mod message;

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

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
    path: PathBuf,
    /// Not kept open: a drain closes them.
    listeners: Vec<Weak<Listener>>,
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
    pub fn confirm(mut self, proxy: &Proxy) -> io::Result<()> {
        self.predecessor.write_all(READY)?;
        let is_inherited = |listener: &&Arc<Listener>| self.inherited.contains(listener.asked());
        proxy.listeners().iter().filter(is_inherited).for_each(|listener| listener.take_over());
        Ok(())
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
            path: path.to_owned(),
            listeners: proxy.listeners().iter().map(Arc::downgrade).collect(),
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

    /// The handover socket's file; it belongs to the successor when [`Self::wait`] has returned.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn hand_over(&self, mut successor: &UnixStream) -> io::Result<()> {
        let peer = socket_peercred(successor)?.uid;
        if peer != rustix::process::geteuid() && !peer.is_root() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
        }
        let listeners: Vec<_> = self.listeners.iter().filter_map(Weak::upgrade).collect();
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
        listeners.iter().for_each(|listener| listener.give_away());
        Ok(())
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
/// The predecessor answers at once.
const PEER_TIMEOUT: Duration = Duration::from_secs(5);
/// A successor reads certificates and starts threads.
const START_TIMEOUT: Duration = Duration::from_secs(30);
