//! An address that refuses whoever connects.
//!
//! Not here: an address that swallows packets (`namespace`).

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

/// A port of loopback at which nobody listens, and nobody will while this is held: a connection of ours has it.
///
/// A port that was only found free may be another test's listener a moment later.
pub struct Nobody {
    connection: TcpStream,
    _listener: TcpListener,
}

impl Nobody {
    /// # Errors
    /// No socket.
    pub fn new() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let connection = TcpStream::connect(listener.local_addr()?)?;
        Ok(Self { connection, _listener: listener })
    }

    /// Where connections are refused.
    ///
    /// # Errors
    /// The kernel doesn't tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.connection.local_addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_refuses() {
        let nobody = Nobody::new().unwrap();
        let refusal = TcpStream::connect(nobody.address().unwrap()).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::ConnectionRefused);
        assert!(TcpListener::bind(nobody.address().unwrap()).is_err(), "nobody else can listen there");
    }
}
