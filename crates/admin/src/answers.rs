//! What the port answers by HTTP: which path tells what, and with which headers.
//!
//! Invariants: GET and HEAD only, nothing is changed here; every answer tells browsers to keep nothing and to show it to no
//! other site.
//! Not here: sockets (`http_port`), who may ask (`doorkeeper`), what is told (`metrics`, `tables`, `feed`, `page`).

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use mysqlite::{LiveTable, LiveTables, LiveValue};
use proxy::Live;
use tokio::sync::mpsc::Receiver;

use crate::doorkeeper::{Doorkeeper, Refusal};
use crate::feed::{Feed, Order};
use crate::{Tables, metrics, page};

/// What answers.
pub(crate) struct Answers {
    pub(crate) live: Live,
    pub(crate) tables: Tables,
    pub(crate) feed: Arc<Feed>,
    pub(crate) doorkeeper: Doorkeeper,
}

pub(crate) type Answer = Response<Either<Full<Bytes>, Events>>;

/// A stream of events, until the page leaves or is dropped.
pub(crate) struct Events(Receiver<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

impl Answers {
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Answer {
        let (method, path, headers) = (request.method(), request.uri().path(), request.headers());
        if method != Method::GET && method != Method::HEAD {
            return with(
                text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n"),
                header::ALLOW,
                "GET, HEAD",
            );
        }
        match path {
            "/healthz" => return text(StatusCode::OK, "ok\n"),
            "/readyz" if self.live.is_ready() => return text(StatusCode::OK, "ready\n"),
            "/readyz" => return text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
            _ => {}
        }
        if let Err(refusal) = self.check(headers, path) {
            return refused(refusal);
        }
        if let Some((kind, text)) = page::file(path) {
            return typed(StatusCode::OK, kind, text);
        }
        match path {
            "/metrics" => {
                typed(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics::page(&self.live))
            }
            "/api/events" => self.events(method),
            "/api/top" => match Order::parse(request.uri().query().unwrap_or_default()) {
                Ok(order) => typed(StatusCode::OK, JSON, self.feed.top(&order)),
                Err(bad) => typed(StatusCode::BAD_REQUEST, TEXT, format!("{bad}\n")),
            },
            _ => self.table(path),
        }
    }

    fn check(&self, headers: &HeaderMap, path: &str) -> Result<(), Refusal> {
        self.doorkeeper.check(headers, path == "/")
    }

    fn events(&self, method: &Method) -> Answer {
        if method == Method::HEAD {
            return typed(StatusCode::OK, EVENTS, "");
        }
        let Some(receiver) = self.feed.join() else {
            let full = text(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open; close one\n");
            return with(full, header::RETRY_AFTER, "5");
        };
        typed(StatusCode::OK, EVENTS, "").map(|_| Either::Right(Events(receiver)))
    }

    fn table(&self, path: &str) -> Answer {
        let table = path
            .strip_prefix("/api/")
            .and_then(|name| self.tables.tables().iter().find(|table| table.name == name));
        match table {
            Some(table) => typed(StatusCode::OK, JSON, self.json(table)),
            None => text(
                StatusCode::NOT_FOUND,
                "there is /, /metrics, /healthz, /readyz, /api/events, /api/top and /api/<table>\n",
            ),
        }
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

fn refused(refusal: Refusal) -> Answer {
    match refusal {
        Refusal::Foreign => text(StatusCode::FORBIDDEN, "web pages of other origins may not ask here\n"),
        Refusal::Misdirected => text(
            StatusCode::MISDIRECTED_REQUEST,
            "this port is on the loopback: ask it by address, as localhost, or by the name in --admin-http-listen\n",
        ),
        Refusal::Unknown => with(
            text(StatusCode::UNAUTHORIZED, "the admin account's name and password are needed\n"),
            header::WWW_AUTHENTICATE,
            "Basic realm=\"wirepress\", charset=\"UTF-8\"",
        ),
    }
}

fn text(status: StatusCode, body: &'static str) -> Answer {
    typed(status, TEXT, body)
}

fn typed(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Either::Left(Full::new(body.into())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn with(mut answer: Answer, name: header::HeaderName, value: &'static str) -> Answer {
    answer.headers_mut().insert(name, HeaderValue::from_static(value));
    answer
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const HEADERS: [(header::HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CONTENT_SECURITY_POLICY, page::POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];
