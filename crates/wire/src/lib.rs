//! The classic MySQL protocol as a pure state machine.
//!
//! ```text
//! packet   3 length | 1 sequence id | payload            the unit of the protocol
//! frame    3 packed length | 1 sequence id | 3 plain length | body    carries packets once compression is on
//! pair     frames between two wirepress, which name their codec and have history
//! ```
//!
//! Invariants: no clock, no socket, no global; every number from a peer is checked against [`limits`] before it
//! is added, allocated or recursed on; "need more bytes" is `Ok(None)`, never a fault.
//!
//! Not here: reading and writing (crate `proxy`), the algorithms (crate `codec`), X protocol.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::cast_possible_truncation))]

pub mod capability;
pub mod command;
pub mod connect;
pub mod conversation;
pub mod endpoint;
mod fault;
pub mod frame;
pub mod limits;
pub mod packet;
pub mod pair;
pub mod proxy_protocol;
mod reader;
pub mod response;
pub mod scanner;
pub mod session_status;

pub use capability::Capabilities;
pub use endpoint::Endpoint;
pub use fault::Fault;
pub use reader::{Reader, write_lenenc_bytes, write_lenenc_int};

/// Which peer of the proxy: the application or the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The application's end.
    Client,
    /// The database's end.
    Server,
}

/// Where bytes flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client to the server: commands.
    ToServer,
    /// From the server to the client: replies.
    ToClient,
}

impl Side {
    /// MySQL's word for the peer, lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

impl Direction {
    /// The name used in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToServer => "to_server",
            Self::ToClient => "to_client",
        }
    }

    /// The side whose bytes these are.
    pub const fn source(self) -> Side {
        match self {
            Self::ToServer => Side::Client,
            Self::ToClient => Side::Server,
        }
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
