//! A client of a running proxy's admin port, for the commands that show what it tells.
//!
//! Not here: what they ask (`status_command`, `top`), what the tables mean (crate `admin`).

use std::path::PathBuf;

use anyhow::{Context, bail};
use bench::client::{Account, Client, ClientTls, Compression, Stop};
use proxy::{Address, Fingerprint, ServerTls, SslMode};
use zeroize::Zeroizing;

use crate::settings::SslWish;

/// Where the admin port is, and who asks.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AdminPort {
    /// The admin port: unix:/path or host:port.
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Address,
    /// The admin account.
    #[arg(long, value_name = "NAME", default_value = "admin")]
    pub(crate) user: String,
    /// A file whose first line is its password.
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tls: AdminTls,
}

/// How the admin port is spoken to, in the words of MySQL's clients.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AdminTls {
    /// TLS towards the admin port [default: preferred, or verify_ca with --ssl-ca].
    #[arg(long, value_name = "MODE", requires = "admin", value_enum, ignore_case = true)]
    pub(crate) ssl_mode: Option<SslWish>,
    /// Authorities that may have signed its certificate, or the certificate itself, PEM.
    #[arg(long, value_name = "FILE", requires = "admin")]
    pub(crate) ssl_ca: Option<PathBuf>,
    /// SHA-256 fingerprint of the only certificate that it may have, whoever signed it.
    #[arg(long, value_name = "HEX", requires = "admin")]
    pub(crate) ssl_fp: Option<Fingerprint>,
}

impl AdminPort {
    /// Connects and logs in.
    pub(crate) fn connect(&self) -> anyhow::Result<Client> {
        Client::connect(&self.address()?, &self.account()?, Compression::NONE, &Stop::new())
            .with_context(|| format!("the admin port at {}", self.admin))
    }

    /// Who asks, with the file's password.
    pub(crate) fn account(&self) -> anyhow::Result<Account> {
        let password = match &self.password_file {
            Some(path) => std::fs::read_to_string(path)
                .with_context(|| format!("can't read the password from '{}'", path.display()))?,
            None => String::new(),
        };
        Ok(Account {
            user: self.user.clone(),
            password: Zeroizing::new(password.lines().next().unwrap_or_default().to_owned()),
            database: String::new(),
            tls: self.tls()?,
        })
    }

    fn tls(&self) -> anyhow::Result<Option<ClientTls>> {
        let AdminTls { ssl_mode, ssl_ca, ssl_fp } = self.tls.clone();
        let mode = ssl_mode.map(SslMode::from);
        let wish = ServerTls { mode, ca: ssl_ca, fingerprint: ssl_fp, ..ServerTls::default() };
        let parts = wish.client(&self.admin)?;
        Ok(parts.map(|(config, name, is_required)| ClientTls { config, name, is_required }))
    }

    /// Where it is, for a client.
    pub(crate) fn address(&self) -> anyhow::Result<lab::link::Address> {
        Ok(match &self.admin {
            Address::Tcp { host, port } => lab::link::Address::Tcp(format!("{host}:{port}")),
            Address::Unix(path) => lab::link::Address::Unix(path.clone()),
            Address::Pair(_) => bail!("{} is an address of a pair; an admin port has none", self.admin),
        })
    }
}
