//! A connected socket without TLS: TCP or Unix.
//!
//! Invariants: bytes keep their order, whichever way they go; what was taken is with the kernel before the socket
//! closes.
//! Not here: counting (`super`), TLS (`crate::tls`), when small sends go (`crate::sends`).

use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::codec_time::Begun;
use crate::sends::{Outgoing, Sends};

/// The two kinds of sockets.
pub(crate) enum Stream {
    Tcp(Tcp),
    Unix(UnixStream),
}

/// A TCP socket, whose small sends may go together with those of others.
pub(crate) struct Tcp {
    socket: TcpStream,
    together: Option<Together>,
}

struct Together {
    sends: Rc<Sends>,
    outgoing: Rc<Outgoing>,
}

impl Tcp {
    pub(crate) const fn new(socket: TcpStream) -> Self {
        Self { socket, together: None }
    }

    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// From now on small sends go with those of the worker's other sessions.
    pub(crate) fn send_together(&mut self, sends: &Rc<Sends>) {
        if sends.is_on() && self.together.is_none() {
            let outgoing = Outgoing::to(self.socket.as_raw_fd());
            self.together = Some(Together { sends: Rc::clone(sends), outgoing });
        }
    }

    /// Hands over what is queued; says whether the socket took all of it.
    pub(crate) fn submit(&self) -> bool {
        self.together.as_ref().is_none_or(|Together { sends, outgoing }| {
            if outgoing.is_queued() {
                sends.submit();
            }
            !outgoing.is_behind()
        })
    }

    /// Bytes that wait to go together with those of others.
    pub(super) fn together_len(&self) -> usize {
        self.together.as_ref().map_or(0, |it| it.outgoing.len())
    }

    /// Codec work on `len` bytes begins: nobody's small send waits for it.
    pub(super) fn begin_work(&self, len: usize) -> Begun {
        self.together.as_ref().map_or_else(|| Begun::now(len), |it| it.sends.begin_work(len))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if let Some(Together { sends, outgoing }) = &self.together {
            if sends.push(outgoing, slices, cx.waker()) {
                return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
            }
            // Others don't wait for a long one.
            sends.submit();
        }
        ready!(self.poll_rest(cx))?;
        match slices {
            [bytes] => Pin::new(&mut self.socket).poll_write(cx, bytes),
            _ => Pin::new(&mut self.socket).poll_write_vectored(cx, slices),
        }
    }

    /// Ready when nothing is left over that the socket had no room for. What is queued counts as sent: it goes without
    /// anybody's help.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.together {
            Some(Together { outgoing, .. }) if !outgoing.is_queued() => self.poll_rest(cx),
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Ready when the kernel has everything.
    fn poll_handed_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(Together { sends, outgoing }) = &self.together
            && outgoing.is_queued()
        {
            sends.submit();
        }
        self.poll_rest(cx)
    }

    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(Together { outgoing, .. }) = &self.together else { return Poll::Ready(Ok(())) };
        if let Some(error) = outgoing.take_failure() {
            return Poll::Ready(Err(error));
        }
        if !outgoing.is_behind() {
            return Poll::Ready(Ok(()));
        }
        let socket = &mut self.socket;
        outgoing.send_rest(|bytes| Pin::new(&mut *socket).poll_write(cx, bytes))
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.submit();
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(&mut stream.socket).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => stream.poll_write(cx, &[IoSlice::new(bytes)]),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => stream.poll_write(cx, slices),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => stream.poll_flush(cx),
            Self::Unix(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => {
                ready!(stream.poll_handed_over(cx))?;
                Pin::new(&mut stream.socket).poll_shutdown(cx)
            }
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::task::LocalSet;

    use super::*;

    /// Numbers that look random, the same for the same seed (Knuth's MMIX).
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % end
        }
    }

    /// Our end, which sends together with others if `sends` can, and the peer.
    async fn pair(sends: &Rc<Sends>) -> (Stream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (peer, _) = listener.accept().await.unwrap();
        // Little fits, or nothing would ever be left over.
        socket2::SockRef::from(&ours).set_send_buffer_size(16 << 10).unwrap();
        socket2::SockRef::from(&peer).set_recv_buffer_size(64 << 10).unwrap();
        let mut ours = Tcp::new(ours);
        ours.send_together(sends);
        (Stream::Tcp(ours), peer)
    }

    /// Runs `test` with a ring and without, beside the task that hands over.
    fn with_and_without_ring<F: Future<Output = ()>>(test: impl Fn(Rc<Sends>) -> F) {
        for io_uring in [true, false] {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let sends = Rc::new(Sends::new(io_uring));
            assert!(!sends.is_on() || io_uring);
            runtime.block_on(LocalSet::new().run_until(async {
                let sender = tokio::task::spawn_local(Rc::clone(&sends).run());
                test(sends).await;
                assert!(!sender.is_finished());
            }));
        }
    }

    #[test]
    fn bytes_keep_their_order_whatever_their_lengths_and_however_slow_the_reader() {
        with_and_without_ring(async |sends| {
            for seed in 0..6 {
                let (mut ours, mut peer) = pair(&sends).await;
                let writer = tokio::task::spawn_local(async move {
                    let mut random = Random(seed);
                    let mut written = Vec::new();
                    for _ in 0..100 {
                        let len_max = *[10, 100, 4_000, 5_000, 40_000].get(random.below(5)).unwrap();
                        let len = 1 + random.below(len_max);
                        let bytes: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
                        ours.write_all(&bytes).await.unwrap();
                        written.extend_from_slice(&bytes);
                        match random.below(3) {
                            0 => ours.flush().await.unwrap(),
                            1 => tokio::task::yield_now().await,
                            _ => {}
                        }
                    }
                    if seed % 2 == 0 {
                        ours.shutdown().await.unwrap();
                    }
                    // What is queued goes before the socket closes; what is left over would need somebody who waits.
                    std::future::poll_fn(|cx| {
                        let Stream::Tcp(ours) = &mut ours else { unreachable!() };
                        ours.poll_handed_over(cx)
                    })
                    .await
                    .unwrap();
                    written
                });
                let mut random = Random(seed);
                let mut read = Vec::new();
                let mut some = vec![0; 20_000];
                loop {
                    let room = some.get_mut(..1 + random.below(20_000)).unwrap();
                    let len = peer.read(room).await.unwrap();
                    if len == 0 {
                        break;
                    }
                    read.extend_from_slice(&room[..len]);
                    tokio::task::yield_now().await;
                }
                assert_eq!(read, writer.await.unwrap(), "seed {seed}");
            }
        });
    }

    #[test]
    fn what_was_taken_is_sent_before_the_socket_closes() {
        with_and_without_ring(async |sends| {
            let (mut ours, mut peer) = pair(&sends).await;
            ours.write_all(b"last ").await.unwrap();
            ours.write_all(b"words").await.unwrap();
            drop(ours);
            let mut read = String::new();
            peer.read_to_string(&mut read).await.unwrap();
            assert_eq!(read, "last words");
        });
    }

    #[test]
    fn a_peer_that_is_gone_is_told_of_by_the_next_flush() {
        with_and_without_ring(async |sends| {
            let (mut ours, peer) = pair(&sends).await;
            socket2::SockRef::from(&peer).set_linger(Some(std::time::Duration::ZERO)).unwrap();
            drop(peer);
            let told = async {
                loop {
                    if let Err(error) = ours.write_all(b"anybody?").await {
                        return error;
                    }
                    tokio::task::yield_now().await;
                    if let Err(error) = ours.flush().await {
                        return error;
                    }
                }
            };
            let error = tokio::time::timeout(std::time::Duration::from_secs(10), told).await.unwrap();
            let kinds = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
            assert!(kinds.contains(&error.kind()), "{error}");
        });
    }

    #[test]
    fn what_a_broken_ring_had_not_taken_goes_the_ordinary_way_and_what_it_had_ends_the_session() {
        with_and_without_ring(async |sends| {
            let (mut ours, mut peer) = pair(&sends).await;
            let (mut taken, _its_peer) = pair(&sends).await;
            let had_ring = sends.is_on();
            taken.write_all(b"who knows").await.unwrap();
            ours.write_all(b"before, ").await.unwrap();
            sends.break_ring(1);
            assert!(!sends.is_on());
            assert_eq!(taken.flush().await.is_err(), had_ring);
            ours.write_all(b"and behind").await.unwrap();
            ours.flush().await.unwrap();
            drop(ours);
            let mut read = String::new();
            peer.read_to_string(&mut read).await.unwrap();
            assert_eq!(read, "before, and behind");
        });
    }

    #[test]
    fn more_sockets_than_fit_one_call_are_all_served() {
        with_and_without_ring(async |sends| {
            let mut legs = Vec::new();
            for _ in 0..100 {
                legs.push(pair(&sends).await);
            }
            for (index, (ours, _)) in legs.iter_mut().enumerate() {
                ours.write_all(format!("{index:3}").as_bytes()).await.unwrap();
            }
            for (index, (_, peer)) in legs.iter_mut().enumerate() {
                let mut read = [0; 3];
                peer.read_exact(&mut read).await.unwrap();
                assert_eq!(read, format!("{index:3}").as_bytes());
            }
        });
    }
}
