//! What can go wrong between this client and a server.
//!
//! Not here: advice about the experiment; its caller adds which step failed.

use std::io;

use lab::link::Address;
use wire::response::ErrPacket;

/// Why a client could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientFault {
    /// A packet that has no place here.
    #[error("the server answered with a packet that is not expected {when}")]
    AnswerUnexpected {
        /// What was going on.
        when: &'static str,
    },
    /// The server has closed the connection.
    #[error("the server closed the connection {when}")]
    Closed {
        /// What was going on.
        when: &'static str,
    },
    /// The algorithm was asked for and is not offered.
    #[error("{address} does not offer {algorithm} compression")]
    CompressionNotOffered {
        /// Whom we asked.
        address: Address,
        /// What we asked for.
        algorithm: codec::Algorithm,
    },
    /// No connection.
    #[error("cannot connect to {address}")]
    Connect {
        /// Whom we tried to reach.
        address: Address,
        /// The system's reason.
        source: io::Error,
    },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// The server's RSA key is none, or the password does not fit it.
    #[error("the server's public key for the password is not usable")]
    PublicKey,
    /// Nothing came for too long.
    #[error("the server has sent nothing for {seconds} s")]
    Silent {
        /// The deadline.
        seconds: u64,
    },
    /// The server said no.
    #[error("{0}")]
    Refused(ErrPacket),
    /// The socket broke.
    #[error("the connection broke")]
    Socket(#[from] io::Error),
    /// TLS could not be agreed on, or the server is not who it should be.
    #[error("TLS with {address}")]
    Tls {
        /// Whom we asked.
        address: Address,
        /// What was wrong.
        source: io::Error,
    },
    /// TLS was asked for and is not offered.
    #[error("{address} offers no TLS")]
    TlsNotOffered {
        /// Whom we asked.
        address: Address,
    },
    /// The peer broke the protocol.
    #[error("{0}")]
    Wire(#[from] wire::Fault),
}
