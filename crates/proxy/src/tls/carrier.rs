//! The socket under TLS: first what the peer had sent before TLS began, then the socket, read ahead in large pieces.
//!
//! ```text
//! socket -> ahead (32 KiB, only while records wait in it) -> rustls, which asks for 4 KiB at a time
//! ```
//! Invariants: an idle leg holds no buffer here.
//! Not here: TLS itself (rustls).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::leg::Stream;

/// A socket that TLS reads from and writes to.
pub(crate) struct Carrier {
    stream: Stream,
    ahead: Vec<u8>,
    /// Bytes of `ahead` that were read.
    start: usize,
}

impl Carrier {
    /// `received`: what the peer had sent already, the beginning of its TLS.
    pub(crate) const fn new(stream: Stream, received: Vec<u8>) -> Self {
        Self { stream, ahead: received, start: 0 }
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.start = 0;
        self.ahead = vec![0; AHEAD_LEN];
        let mut buffer = ReadBuf::new(&mut self.ahead);
        let read = Pin::new(&mut self.stream).poll_read(cx, &mut buffer);
        let len = buffer.filled().len();
        self.ahead.truncate(len);
        if len == 0 {
            self.ahead = Vec::new();
        }
        read
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
                return Pin::new(&mut this.stream).poll_read(cx, buffer);
            }
            ready!(this.poll_fill(cx))?;
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
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, slices)
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
