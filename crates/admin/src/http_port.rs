//! The admin port that speaks HTTP: metrics, health, and the live tables as JSON.
//!
//! ```text
//! /healthz, /readyz                   for anybody: they tell nothing else
//! /metrics, /api/<table>              with the credentials, and not for web pages of other origins
//! ```
//! Invariants: GET and HEAD only, nothing is changed here; a client that says nothing is left alone after a while; there
//! are only so many at once.
//! Not here: what is told (`metrics`, `tables`).

use std::convert::Infallible;
use std::io;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use mysqlite::{LiveTable, LiveTables, LiveValue};
use proxy::{Address, Live, remove_stale_socket};
use rustix::fs::Mode;
use rustix::process::umask;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, oneshot};

use crate::{Credentials, Fault, Tables, metrics};

/// An open port. It closes when this is dropped.
pub struct HttpPort {
    address: Address,
    /// Dropped to end it.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What answers.
struct Answers {
    live: Live,
    tables: Tables,
    /// What the header must say; `None` where none is needed.
    authorization: Option<String>,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl HttpPort {
    /// Opens the port.
    pub fn open(
        listen: &Address,
        credentials: &Credentials,
        live: Live,
        tables: Tables,
    ) -> Result<Self, Fault> {
        credentials.check(OPTION, listen)?;
        let fault = |error| Fault::Listen { option: OPTION, address: listen.clone(), error };
        let authorization = (!credentials.password.is_empty()).then(|| {
            let both = format!("{}:{}", credentials.user, credentials.password);
            format!("Basic {}", STANDARD.encode(both))
        });
        let answers = Arc::new(Answers { live, tables, authorization });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Fault::Thread)?;
        let (listener, address) = runtime.block_on(bind(listen)).map_err(fault)?;
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
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(async move {
                    serve(stream, answers).await;
                    drop(place);
                });
            }),
            Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(async move {
                    serve(stream, answers).await;
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

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, answers: Arc<Answers>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answers.answer(request.method(), request.uri().path(), request.headers());
        std::future::ready(Ok::<_, Infallible>(answer))
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a client of the admin port");
    }
}

type Answer = Response<Full<Bytes>>;

impl Answers {
    fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Answer {
        if method != Method::GET && method != Method::HEAD {
            let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        match path {
            "/healthz" => return text(StatusCode::OK, "ok\n"),
            "/readyz" if self.live.is_ready() => return text(StatusCode::OK, "ready\n"),
            "/readyz" => return text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
            _ => {}
        }
        if is_foreign(headers) {
            return text(StatusCode::FORBIDDEN, "web pages of other origins may not ask here\n");
        }
        if !self.is_authorized(headers) {
            let mut answer =
                text(StatusCode::UNAUTHORIZED, "the admin account's name and password are needed\n");
            let asks = HeaderValue::from_static("Basic realm=\"wirepress\", charset=\"UTF-8\"");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, asks);
            return answer;
        }
        if path == "/metrics" {
            return typed(
                StatusCode::OK,
                "text/plain; version=0.0.4; charset=utf-8",
                metrics::page(&self.live),
            );
        }
        let table = path
            .strip_prefix("/api/")
            .and_then(|name| self.tables.tables().iter().find(|table| table.name == name));
        match table {
            Some(table) => typed(StatusCode::OK, "application/json", self.json(table)),
            None => text(StatusCode::NOT_FOUND, "there is /metrics, /healthz, /readyz and /api/<table>\n"),
        }
    }

    fn is_authorized(&self, headers: &HeaderMap) -> bool {
        let Some(wanted) = &self.authorization else { return true };
        let given = headers.get(header::AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
        is_same(given, wanted.as_bytes())
    }

    /// A table as a list of objects.
    fn json(&self, table: &LiveTable) -> String {
        let object = |row: Vec<LiveValue>| {
            let names = table.columns.iter().map(|(name, _)| (*name).to_owned());
            serde_json::Value::Object(names.zip(row.into_iter().map(json_value)).collect())
        };
        serde_json::Value::Array(self.tables.rows(table.name).into_iter().map(object).collect()).to_string()
    }
}

fn json_value(value: LiveValue) -> serde_json::Value {
    match value {
        LiveValue::Null => serde_json::Value::Null,
        LiveValue::Int(number) => number.into(),
        LiveValue::Real(number) => number.into(),
        LiveValue::Text(text) => text.into(),
    }
}

/// Whether a browser asks on behalf of another site's page.
fn is_foreign(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site" || site == "same-site") {
        return true;
    }
    match (headers.contains_key(header::ORIGIN), text(header::ORIGIN), text(header::HOST)) {
        (false, ..) => false,
        (true, Some(origin), Some(host)) => {
            origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) != Some(host)
        }
        (true, ..) => true,
    }
}

/// Takes as long for a guess that begins right as for any other of its length.
fn is_same(given: &[u8], wanted: &[u8]) -> bool {
    given.len() == wanted.len() && given.iter().zip(wanted).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn text(status: StatusCode, body: &'static str) -> Answer {
    typed(status, "text/plain; charset=utf-8", body)
}

fn typed(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

const OPTION: &str = "--admin-http-listen";
/// More than scrapers and open pages of a team.
const CLIENTS_MAX: usize = 64;
/// For a request's head, and between two requests.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// When the process has no file left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
