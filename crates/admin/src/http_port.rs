//! The admin port that speaks HTTP: its sockets and its thread.
//!
//! Invariants: a client that says nothing, or reads nothing, is left alone after a while; there are only so many at once.
//! Not here: what is answered (`answers`), and to whom (`doorkeeper`).

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use proxy::{Address, Live, remove_stale_socket};
use rustix::fs::Mode;
use rustix::process::umask;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, oneshot};
use tokio_io_timeout::TimeoutStream;

use crate::answers::Answers;
use crate::doorkeeper::Doorkeeper;
use crate::feed::Feed;
use crate::{Credentials, Fault, Tables};

/// An open port. It closes when this is dropped.
pub struct HttpPort {
    address: Address,
    /// Dropped to end it.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl HttpPort {
    /// Opens the port.
    pub(crate) fn open(
        listen: &Address,
        credentials: &Credentials,
        live: Live,
        tables: Tables,
        feed: Arc<Feed>,
    ) -> Result<Self, Fault> {
        credentials.check(OPTION, listen)?;
        let fault = |error| Fault::Listen { option: OPTION, address: listen.clone(), error };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Fault::Thread)?;
        let (listener, address) = runtime.block_on(bind(listen)).map_err(fault)?;
        let doorkeeper = Doorkeeper::new(credentials, listen, &address);
        let answers = Arc::new(Answers { live, tables, feed, doorkeeper });
        let (stop, stopped) = oneshot::channel();
        let serving = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(&listener, &answers) => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("admin-http".to_owned()).spawn(serving);
        Ok(Self { address, stop: Some(stop), thread: Some(thread.map_err(Fault::Thread)?) })
    }

    /// Where it listens, with the port that the system chose if 0 was asked.
    pub const fn address(&self) -> &Address {
        &self.address
    }
}

impl Drop for HttpPort {
    fn drop(&mut self) {
        self.stop = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the admin port's HTTP server died");
        }
        if let Address::Unix(path) = &self.address
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::debug!(%error, "the admin port's socket file could not be removed");
        }
    }
}

async fn bind(listen: &Address) -> io::Result<(Listener, Address)> {
    match listen {
        Address::Tcp { host, port } => {
            let listener = TcpListener::bind((host.as_str(), *port)).await?;
            let address = listener.local_addr()?.into();
            Ok((Listener::Tcp(listener), address))
        }
        Address::Unix(path) => {
            remove_stale_socket(path)?;
            let before = umask(Mode::RWXG | Mode::RWXO);
            let bound = StdUnixListener::bind(path);
            umask(before);
            let bound = bound?;
            bound.set_nonblocking(true)?;
            Ok((Listener::Unix(UnixListener::from_std(bound)?), listen.clone()))
        }
        Address::Pair(_) => Err(crate::no_pair()),
    }
}

async fn accept(listener: &Listener, answers: &Arc<Answers>) {
    let places = Arc::new(Semaphore::new(CLIENTS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let answers = Arc::clone(answers);
        let answer = move |request: &Request<Incoming>| answers.answer(request);
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(async move {
                    serve(stream, WRITE_PATIENCE, answer).await;
                    drop(place);
                });
            }),
            Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(async move {
                    serve(stream, WRITE_PATIENCE, answer).await;
                    drop(place);
                });
            }),
        };
        if let Err(error) = accepted {
            tracing::warn!(%error, "the admin port can't accept; trying again");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}

/// `write_patience` is for a client to take more of an answer.
async fn serve<B>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    write_patience: Duration,
    answer: impl Fn(&Request<Incoming>) -> Response<B>,
) where
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut stream = Box::pin(TimeoutStream::new(stream));
    stream.as_mut().set_write_timeout_pinned(Some(write_patience));
    let service =
        service_fn(|request: Request<Incoming>| std::future::ready(Ok::<_, Infallible>(answer(&request))));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_buf_size(BUFFER_LEN_MAX)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a client of the admin port");
    }
}

const OPTION: &str = "--admin-http-listen";
/// What is kept for a client that reads slowly. A request's head is shorter.
const BUFFER_LEN_MAX: usize = 64 << 10;
/// More than scrapers and open pages of a team.
const CLIENTS_MAX: usize = 64;
/// For a request's head, and between two requests.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// As the port that speaks MySQL.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);
/// When the process has no file left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use hyper::body::Bytes;
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_left_alone() {
        let (mut client, server) = tokio::io::duplex(1024);
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let answer = |_: &Request<Incoming>| Response::new(Full::new(Bytes::from(vec![0; 1 << 20])));
        let served = serve(server, Duration::from_millis(20), answer);
        tokio::time::timeout(Duration::from_secs(20), served).await.unwrap();
    }
}
