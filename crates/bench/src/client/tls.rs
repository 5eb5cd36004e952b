//! TLS of a connection: asked for with the login's own head, then below everything.
//!
//! Not here: what is checked of the server (who makes the configuration), when it is asked for (`connection`).

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// How a connection is encrypted, where the server can.
#[derive(Clone)]
pub struct ClientTls {
    /// What is checked, and what we show.
    pub config: Arc<ClientConfig>,
    /// The name that the server's certificate should have, where that is checked.
    pub name: ServerName<'static>,
    /// A server without TLS is none.
    pub is_required: bool,
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config: _, name, is_required } = self;
        f.debug_struct("ClientTls")
            .field("name", name)
            .field("is_required", is_required)
            .finish_non_exhaustive()
    }
}

impl ClientTls {
    /// The stream above `socket`; its handshake is yet to be done.
    pub(super) fn over(&self, socket: TcpStream) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let connection = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        Ok(StreamOwned::new(connection.map_err(io::Error::other)?, socket))
    }
}
