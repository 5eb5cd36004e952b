//! The socket under TLS: first what the peer had sent before TLS began, then the socket, read ahead in large pieces.
//!
//! ```text
//! socket -> scratch (32 KiB, the thread's) -> rustls, which asks for 4 KiB at a time
//!                                     \-> ahead (what it has not asked for yet)
//! ```
//! Invariants: an idle leg holds no buffer here.
//! Not here: TLS itself (rustls).

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::leg::Stream;

/// A socket that TLS reads from and writes to.
pub(crate) struct Carrier {
    stream: Stream,
    /// Came with what TLS asked for.
    ahead: Vec<u8>,
    /// Bytes of `ahead` that were read.
    start: usize,
    /// Bytes that came from the socket, without what was there before.
    pub(crate) received_len: u64,
    /// Bytes that the socket took.
    pub(crate) sent_len: u64,
}

impl Carrier {
    /// The socket below.
    pub(crate) const fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(crate) const fn stream_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// `received`: what the peer had sent already, the beginning of its TLS.
    pub(crate) const fn new(stream: Stream, received: Vec<u8>) -> Self {
        Self { stream, ahead: received, start: 0, received_len: 0, sent_len: 0 }
    }

    /// Reads as much as comes at once, fills `buffer` and keeps the rest.
    fn poll_read_ahead(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.resize(AHEAD_LEN, 0);
            let mut read = ReadBuf::new(scratch);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read))?;
            self.received_len += read.filled().len() as u64;
            let (wanted, rest) = read.filled().split_at(read.filled().len().min(buffer.remaining()));
            buffer.put_slice(wanted);
            (self.ahead, self.start) = (rest.to_vec(), 0);
            Poll::Ready(Ok(()))
        })
    }
}

impl AsyncRead for Carrier {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.start == this.ahead.len() {
            if buffer.remaining() >= AHEAD_LEN {
                let before_len = buffer.filled().len();
                ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
                this.received_len += (buffer.filled().len() - before_len) as u64;
                return Poll::Ready(Ok(()));
            }
            return this.poll_read_ahead(cx, buffer);
        }
        let waiting = this.ahead.get(this.start..).unwrap_or_default();
        let len = waiting.len().min(buffer.remaining());
        buffer.put_slice(waiting.get(..len).unwrap_or_default());
        this.start += len;
        if this.start == this.ahead.len() {
            this.ahead = Vec::new();
            this.start = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Carrier {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let len = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes))?;
        this.sent_len += len as u64;
        Poll::Ready(Ok(len))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let len = ready!(Pin::new(&mut this.stream).poll_write_vectored(cx, slices))?;
        this.sent_len += len as u64;
        Poll::Ready(Ok(len))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// Two TLS records: a system call for each 4 KiB would dominate a scan.
const AHEAD_LEN: usize = 32 << 10;

thread_local! {
    /// Made once: a look at a socket that has nothing costs no memory.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
