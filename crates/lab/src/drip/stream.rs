//! A stream that gives and takes little at a time, and is not ready every other time.
//!
//! Invariants: bytes and errors of the inner stream pass unchanged; `Pending` has always asked to be woken
//! again, so a correct caller never hangs.
//!
//! Not here: time; nothing waits.
//!
//! Source: the idea of `InterleavePending` in async-compression's tests.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::cuttings::random_len;
use crate::generate::Sequence;

/// Wraps a stream: reads and writes are cut, and every other call is `Pending`.
#[derive(Debug)]
pub struct Drip<S> {
    inner: S,
    read: Side,
    write: Side,
}

#[derive(Debug)]
struct Side {
    lengths: Lengths,
    ready: bool,
    /// The length for the next call that moves bytes.
    next_len: usize,
}

#[derive(Debug)]
enum Lengths {
    /// Given ones, over and over.
    Given { lengths: Vec<usize>, next: usize },
    /// From a seed.
    Random(Sequence),
}

impl<S> Drip<S> {
    /// Every read and write moves at most `len` bytes (at least 1).
    pub fn pieces(inner: S, len: usize) -> Self {
        Self::given(inner, vec![len])
    }

    /// Reads and writes move at most the given numbers of bytes, one after the other and then again from the
    /// first; a 0 counts as 1, none at all as one byte each.
    pub fn given(inner: S, lengths: Vec<usize>) -> Self {
        let lengths = if lengths.is_empty() { vec![1] } else { lengths };
        let side = |lengths| Side::new(Lengths::Given { lengths, next: 0 });
        Self { inner, read: side(lengths.clone()), write: side(lengths) }
    }

    /// Lengths from a seed: single bytes, header sizes and long runs, mixed.
    pub fn random(inner: S, seed: u64) -> Self {
        let side = |id| Side::new(Lengths::Random(Sequence::new(seed, id)));
        Self { inner, read: side(0), write: side(1) }
    }

    /// The stream inside.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl Side {
    fn new(mut lengths: Lengths) -> Self {
        let next_len = lengths.next();
        // The first call is `Pending`: what a caller forgets most easily.
        Self { lengths, ready: false, next_len }
    }

    /// `Pending` every other call.
    fn poll_turn(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.ready = !self.ready;
        if self.ready {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn moved(&mut self) {
        self.next_len = self.lengths.next();
    }
}

impl Lengths {
    fn next(&mut self) -> usize {
        match self {
            Self::Given { lengths, next } => {
                let len = lengths.get(*next % lengths.len()).copied().unwrap_or(1).max(1);
                *next += 1;
                len
            }
            Self::Random(sequence) => random_len(sequence),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Drip<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.read.poll_turn(cx));
        let len = self.read.next_len.min(buffer.remaining());
        let mut few = ReadBuf::new(buffer.initialize_unfilled_to(len));
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut few))?;
        let got = few.filled().len();
        buffer.advance(got);
        self.read.moved();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Drip<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.write.poll_turn(cx));
        let few = bytes.get(..self.write.next_len).unwrap_or(bytes);
        let written = ready!(Pin::new(&mut self.inner).poll_write(cx, few))?;
        self.write.moved();
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write.poll_turn(cx));
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write.poll_turn(cx));
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::generate::blob;

    #[tokio::test]
    async fn bytes_pass_unchanged_whatever_the_cutting() {
        let sent = blob(1, 1, 50_000);
        let drips: [fn(tokio::io::DuplexStream) -> Drip<tokio::io::DuplexStream>; 3] = [
            |stream| Drip::pieces(stream, 3),
            |stream| Drip::given(stream, vec![1, 4, 7, 0, 16_384]),
            |stream| Drip::random(stream, 9),
        ];
        for drip in drips {
            let (one, other) = tokio::io::duplex(4096);
            let (mut writer, mut reader) = (drip(one), drip(other));
            let write = async {
                writer.write_all(&sent).await.unwrap();
                writer.shutdown().await.unwrap();
            };
            let mut got = Vec::new();
            let (_, read) = tokio::join!(write, reader.read_to_end(&mut got));
            assert_eq!(read.unwrap(), sent.len());
            assert_eq!(got, sent);
        }
    }

    #[tokio::test]
    async fn every_other_call_is_pending_and_no_read_is_longer_than_asked() {
        let (mut one, other) = tokio::io::duplex(4096);
        one.write_all(b"abcdef").await.unwrap();
        let mut drip = Drip::given(other, vec![2, 1]);
        let mut got = Vec::new();
        for len in [2, 1, 2] {
            let mut buffer = [0; 100];
            let mut pending = 0;
            let read = std::future::poll_fn(|cx| {
                let mut buffer = ReadBuf::new(&mut buffer);
                let polled = Pin::new(&mut drip).poll_read(cx, &mut buffer);
                pending += usize::from(polled.is_pending());
                polled.map_ok(|()| buffer.filled().len())
            });
            let read = read.await.unwrap();
            assert_eq!((read, pending), (len, 1));
            got.extend_from_slice(&buffer[..read]);
        }
        assert_eq!(got, b"abcde");
    }
}
