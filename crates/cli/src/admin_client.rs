//! A client of a running proxy's admin port, for the commands that show what it tells.
//!
//! Not here: what they ask (`status_command`, `top`), what the tables mean (crate `admin`), TLS (`peer_tls`).

use std::path::PathBuf;

use anyhow::{Context, bail};
use bench::client::{Account, Client, Compression, Stop};
use proxy::Address;
use zeroize::Zeroizing;

use crate::peer_tls::PeerTls;

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
    pub(crate) tls: PeerTls,
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
            tls: self.tls.client(&self.admin)?,
        })
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
