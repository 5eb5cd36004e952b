//! Small sends of a worker's sessions, handed to the kernel by one system call.
//!
//! ```text
//! session -> Outgoing (up to 4 KiB) -\
//! session -> Outgoing                 -> queue -> io_uring_enter, when every session that was ready had its turn
//! session -> Outgoing               -/
//! ```
//! A send wakes its reader, and on a busy machine the kernel then lets the reader run first: with one system call for
//! each, a worker loses its core once for each reply. What the socket does not take at once is its session's own matter
//! again, which is woken.
//!
//! Invariants: a socket's bytes keep their order; nothing waits for a clock; the kernel holds no buffer of ours behind
//! `submit`; without io_uring every send is a system call of its own, and nothing else changes.
//! Not here: reads, long sends (`leg::stream`); why sends and not reads (docs/adr/0028-small-sends-together-by-io-uring.md).

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::os::fd::RawFd;
use std::rc::Rc;
use std::task::{Poll, Waker};

use io_uring::{IoUring, opcode, types};

use crate::codec_time::Begun;

/// A worker's queue.
pub(crate) struct Sends {
    /// None where the kernel doesn't let us.
    ring: RefCell<Option<IoUring>>,
    queue: RefCell<Vec<Rc<Outgoing>>>,
    spare: RefCell<Vec<Vec<u8>>>,
    /// Of `run`, which hands over.
    sender: RefCell<Option<Waker>>,
}

/// What one socket is to be sent.
pub(crate) struct Outgoing {
    socket: RawFd,
    bytes: RefCell<Vec<u8>>,
    is_queued: Cell<bool>,
    failed: Cell<Option<io::Error>>,
    /// Of the session, for when the socket did not take everything.
    session: RefCell<Option<Waker>>,
}

impl Outgoing {
    pub(crate) fn to(socket: RawFd) -> Rc<Self> {
        Rc::new(Self {
            socket,
            bytes: RefCell::default(),
            is_queued: Cell::new(false),
            failed: Cell::default(),
            session: RefCell::default(),
        })
    }

    /// Bytes that the socket does not have.
    pub(crate) fn len(&self) -> usize {
        self.bytes.borrow().len()
    }

    /// Whether the socket has not taken all.
    pub(crate) fn is_behind(&self) -> bool {
        !self.bytes.borrow().is_empty()
    }

    /// Whether it waits for `Sends::submit`.
    pub(crate) fn is_queued(&self) -> bool {
        self.is_queued.get()
    }

    /// What the kernel said of the last send.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Sends by `send` what the socket had no room for.
    pub(crate) fn send_rest(
        &self,
        mut send: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = self.bytes.borrow_mut();
        while !bytes.is_empty() {
            let len = std::task::ready!(send(&bytes))?.min(bytes.len());
            bytes.drain(..len);
        }
        *bytes = Vec::new();
        Poll::Ready(Ok(()))
    }

    /// The kernel took it and never said what became of it: it may still read the bytes, and nobody knows whether the peer
    /// has them.
    fn lose(&self) {
        std::mem::forget(self.bytes.take());
        self.sent(-libc::EIO);
    }

    /// The kernel is done with it: so many bytes, or a negative error.
    fn sent(&self, result: i32) {
        let mut bytes = self.bytes.borrow_mut();
        self.is_queued.set(false);
        match usize::try_from(result) {
            Ok(len) => {
                let len = len.min(bytes.len());
                bytes.drain(..len);
            }
            Err(_) => {
                let error = io::Error::from_raw_os_error(-result);
                if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) {
                    self.failed.set(Some(error));
                }
            }
        }
        if (!bytes.is_empty() || result < 0)
            && let Some(session) = &*self.session.borrow()
        {
            session.wake_by_ref();
        }
    }
}

impl Sends {
    /// With a ring, if the kernel lets us have one.
    pub(crate) fn new(wanted: bool) -> Self {
        let ring = wanted.then(ring).and_then(|ring| match ring {
            Ok(ring) => Some(ring),
            Err(error) => {
                tracing::info!(%error, "no io_uring here: each send is a system call of its own");
                None
            }
        });
        Self {
            ring: RefCell::new(ring),
            queue: RefCell::default(),
            spare: RefCell::default(),
            sender: RefCell::default(),
        }
    }

    /// Whether sends are put together at all.
    pub(crate) fn is_on(&self) -> bool {
        self.ring.borrow().is_some()
    }

    /// Takes `slices` behind what `outgoing` has; false if they are too many bytes, or it is behind.
    pub(crate) fn push(&self, outgoing: &Rc<Outgoing>, slices: &[IoSlice<'_>], session: &Waker) -> bool {
        let len: usize = slices.iter().map(|slice| slice.len()).sum();
        let mut waiting = outgoing.bytes.borrow_mut();
        let is_behind = !waiting.is_empty() && !outgoing.is_queued();
        if is_behind || waiting.len() + len > SEND_LEN_MAX || !self.is_on() {
            return false;
        }
        if waiting.capacity() == 0 {
            *waiting = self.spare.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(SEND_LEN_MAX));
        }
        slices.iter().for_each(|slice| waiting.extend_from_slice(slice));
        drop(waiting);
        if outgoing.is_queued.replace(true) {
            return true;
        }
        let mut waker = outgoing.session.borrow_mut();
        match &mut *waker {
            Some(waker) => waker.clone_from(session),
            None => *waker = Some(session.clone()),
        }
        drop(waker);
        let mut queue = self.queue.borrow_mut();
        queue.push(Rc::clone(outgoing));
        let len = queue.len();
        drop(queue);
        if len == SENDS_MAX {
            self.submit();
        } else if len == 1
            && let Some(sender) = &*self.sender.borrow()
        {
            sender.wake_by_ref();
        }
        true
    }

    /// Hands over what is queued, now.
    pub(crate) fn submit(&self) {
        if self.queue.borrow().is_empty() {
            return;
        }
        let mut queue = self.queue.borrow_mut();
        let mut ring = self.ring.borrow_mut();
        if let Some(used) = ring.as_mut()
            && let Err(error) = send_all(used, &queue)
        {
            tracing::warn!(%error, "io_uring failed: from now on each send is a system call of its own");
            let taken_len = queue.len().saturating_sub(used.submission().len());
            give_back(&queue, taken_len);
            // With what it had not taken.
            *ring = None;
        }
        let mut spare = self.spare.borrow_mut();
        for outgoing in queue.drain(..) {
            let mut bytes = outgoing.bytes.borrow_mut();
            if bytes.is_empty() {
                spare.push(std::mem::take(&mut *bytes));
            }
        }
        spare.truncate(SENDS_MAX);
    }

    /// Codec work on `len` bytes begins now: if they are many, nobody's small send waits for it.
    pub(crate) fn begin_work(&self, len: usize) -> Begun {
        if len > WORK_LEN_MAX {
            self.submit();
        }
        Begun::now(len)
    }

    /// Hands over whenever all sessions that were ready had their turn.
    pub(crate) async fn run(self: Rc<Self>) {
        std::future::poll_fn(|cx| {
            self.submit();
            let mut sender = self.sender.borrow_mut();
            if !sender.as_ref().is_some_and(|sender| sender.will_wake(cx.waker())) {
                *sender = Some(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

/// The ring has failed when the kernel had taken the first `taken_len` of these.
fn give_back(queue: &[Rc<Outgoing>], taken_len: usize) {
    for (index, outgoing) in queue.iter().enumerate().filter(|(_, outgoing)| outgoing.is_queued()) {
        match index < taken_len {
            true => outgoing.lose(),
            false => outgoing.sent(-libc::EAGAIN),
        }
    }
}

#[cfg(test)]
impl Sends {
    /// As if the ring had failed.
    pub(crate) fn break_ring(&self, taken_len: usize) {
        give_back(&std::mem::take(&mut *self.queue.borrow_mut()), taken_len);
        *self.ring.borrow_mut() = None;
    }
}

fn ring() -> io::Result<IoUring> {
    let entries = u32::try_from(SENDS_MAX).map_err(io::Error::other)?;
    // The kernel needs not interrupt us to tell that something is done: we ask. Kernels before 6.1 don't know it.
    let quiet = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    quiet.or_else(|_| IoUring::new(entries))
}

/// Sends, and waits until the kernel is done with all of it: no send waits for its socket.
fn send_all(ring: &mut IoUring, queue: &[Rc<Outgoing>]) -> io::Result<()> {
    for (index, outgoing) in queue.iter().enumerate() {
        let bytes = outgoing.bytes.borrow();
        let len = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let send = opcode::Send::new(types::Fd(outgoing.socket), bytes.as_ptr(), len)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
            .build()
            .user_data(index as u64);
        // SAFETY: `bytes` stay where they are until the kernel has told of this send, which is waited for below; the
        // socket stays open as long, for its owner submits before it closes.
        #[expect(unsafe_code, reason = "the ring reads what the entry points to")]
        unsafe { ring.submission().push(&send) }.map_err(io::Error::other)?;
    }
    let mut missing = queue.len();
    while missing > 0 {
        match ring.submit_and_wait(missing) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        for done in ring.completion() {
            missing = missing.saturating_sub(1);
            if let Some(outgoing) = usize::try_from(done.user_data()).ok().and_then(|index| queue.get(index))
            {
                outgoing.sent(done.result());
            }
        }
    }
    Ok(())
}

/// A longer one costs more than its system call.
const SEND_LEN_MAX: usize = 4 << 10;
/// Work on so much takes some ten microseconds.
const WORK_LEN_MAX: usize = 8 << 10;
/// So many go at the latest.
const SENDS_MAX: usize = 32;
