//! TLS towards whom a command talks to as a client, in the words of MySQL's clients.
//!
//! Not here: TLS of the proxy's legs (`settings`), which certificates are believed (crate `proxy`).

use std::path::PathBuf;

use anyhow::Context;
use bench::advise::SslOption;
use bench::client::ClientTls;
use bench::server_url::ServerUrl;
use proxy::{Address, Fingerprint, ServerTls, SslMode};

use crate::settings::SslWish;

/// How an admin port or a server is spoken to.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PeerTls {
    /// TLS towards the admin port or the server [default: preferred, or verify_ca with --ssl-ca].
    #[arg(long, value_name = "MODE", value_enum, ignore_case = true)]
    pub(crate) ssl_mode: Option<SslWish>,
    /// Authorities that may have signed its certificate, or the certificate itself, PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) ssl_ca: Option<PathBuf>,
    /// SHA-256 fingerprint of the only certificate that it may have, whoever signed it.
    #[arg(long, value_name = "HEX")]
    pub(crate) ssl_fp: Option<Fingerprint>,
}

/// The same, and who we are by a certificate of our own.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct OwnServerTls {
    #[command(flatten)]
    pub(crate) peer: PeerTls,
    /// Our own certificate, for an account that wants one, PEM.
    #[arg(long, value_name = "FILE", requires = "ssl_key")]
    pub(crate) ssl_cert: Option<PathBuf>,
    /// Its key, PEM.
    #[arg(long, value_name = "FILE", requires = "ssl_cert")]
    pub(crate) ssl_key: Option<PathBuf>,
}

/// TLS was asked for where nothing of it is used.
#[derive(Debug, thiserror::Error)]
#[error("{0} says how a server is spoken to, and {1}")]
pub(crate) struct TlsForNobody(pub(crate) &'static str, pub(crate) &'static str);

impl PeerTls {
    fn wish(&self) -> ServerTls {
        let Self { ssl_mode, ssl_ca, ssl_fp } = self.clone();
        ServerTls {
            mode: ssl_mode.map(SslMode::from),
            ca: ssl_ca,
            fingerprint: ssl_fp,
            ..ServerTls::default()
        }
    }

    /// For our own client.
    ///
    /// # Errors
    /// Settings that contradict each other, files that can't be used.
    pub(crate) fn client(&self, address: &Address) -> anyhow::Result<Option<ClientTls>> {
        client(&self.wish(), address)
    }
}

impl OwnServerTls {
    fn wish(&self) -> ServerTls {
        ServerTls { cert: self.ssl_cert.clone(), key: self.ssl_key.clone(), ..self.peer.wish() }
    }

    /// The first of its options that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let Self { peer: PeerTls { ssl_mode, ssl_ca, ssl_fp }, ssl_cert, ssl_key } = self;
        [
            (ssl_mode.is_some(), "--ssl-mode"),
            (ssl_ca.is_some(), "--ssl-ca"),
            (ssl_fp.is_some(), "--ssl-fp"),
            (ssl_cert.is_some(), "--ssl-cert"),
            (ssl_key.is_some(), "--ssl-key"),
        ]
        .into_iter()
        .find_map(|(is_given, name)| is_given.then_some(name))
    }

    /// The server, spoken to in this way.
    ///
    /// # Errors
    /// As `client`; and a URL that is none.
    pub(crate) fn server(&self, url: &str) -> anyhow::Result<ServerUrl> {
        let mut server: ServerUrl = url.parse()?;
        self.apply(&mut server)?;
        Ok(server)
    }

    /// The same where a server is started if none is named.
    ///
    /// # Errors
    /// As `server`; and TLS that is asked for towards nobody.
    pub(crate) fn server_or_started(&self, url: Option<&str>) -> anyhow::Result<Option<ServerUrl>> {
        match (url, self.given()) {
            (Some(url), _) => Ok(Some(self.server(url)?)),
            (None, Some(option)) => Err(TlsForNobody(option, "none is named by --server").into()),
            (None, None) => Ok(None),
        }
    }

    /// The same of a URL that was read.
    pub(crate) fn apply(&self, server: &mut ServerUrl) -> anyhow::Result<()> {
        server.account.tls = client(&self.wish(), &address_of(&server.address)?)?;
        Ok(())
    }

    /// All of it, the mode in force first.
    pub(crate) fn options(&self) -> Vec<SslOption> {
        let wish = self.wish();
        let mode = wish.mode().name().to_owned();
        let file = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
        [
            ("ssl-mode", Some(mode)),
            ("ssl-ca", file(wish.ca)),
            ("ssl-cert", file(wish.cert)),
            ("ssl-key", file(wish.key)),
            ("ssl-fp", wish.fingerprint.map(|fingerprint| fingerprint.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(SslOption { name, value: value? }))
        .collect()
    }

    /// For the server leg of a wirepress that is started before that server.
    pub(crate) fn server_leg(&self) -> Vec<String> {
        self.options().iter().flat_map(SslOption::arguments).collect()
    }
}

fn client(wish: &ServerTls, address: &Address) -> anyhow::Result<Option<ClientTls>> {
    let parts = wish.client(address)?;
    Ok(parts.map(|(config, name, is_required)| ClientTls { config, name, is_required }))
}

/// The proxy's word for it, which knows names.
fn address_of(address: &lab::link::Address) -> anyhow::Result<Address> {
    let text = address.to_string();
    text.parse().with_context(|| format!("'{text}' is no address"))
}
