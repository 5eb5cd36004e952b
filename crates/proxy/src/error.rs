//! Why a session ended otherwise than in order, and what its client is told.
//!
//! Not here: the protocol's faults themselves (`wire::Fault`).

use std::fmt::{self, Write};
use std::io;

use wire::response::ErrPacket;
use wire::{Fault, Side};

/// Where a session was when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The other half of a pair is to say who it is.
    Pair,
    /// A trusted peer's PROXY protocol header is due.
    ProxyHeader,
    /// The server's socket is being opened.
    Dial,
    /// The server's greeting is due.
    Greeting,
    /// The client's login is due.
    Login,
    /// The authentication exchange runs.
    Authentication,
    /// Commands and replies.
    Command,
}

impl Phase {
    /// Lower-case name for logs and counters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pair => "pair",
            Self::ProxyHeader => "proxy_header",
            Self::Dial => "dial",
            Self::Greeting => "greeting",
            Self::Login => "login",
            Self::Authentication => "authentication",
            Self::Command => "command",
        }
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// No server may be used: why, for each.
    #[error("all servers are down: {0}")]
    AllServersDown(String),
    /// The budget of buffered bytes stayed exhausted until the deadline.
    #[error("no buffer memory became free in time")]
    BufferMemoryExhausted,
    /// The peer closed in the middle of a packet or frame, or before the login's end.
    #[error("it closed the connection too early")]
    ClosedEarly,
    /// The server offers none of the algorithms that its leg shall use.
    #[error("it offers none of the compression algorithms asked for ({wished})")]
    CompressionNotOffered {
        /// The list of `--compression-algorithms`.
        wished: String,
    },
    /// The listener and the client have no algorithm in common, or its zstd level is invalid.
    #[error("{0}")]
    CompressionRefused(ErrPacket),
    /// The peer broke the protocol.
    #[error("{0}")]
    Protocol(#[from] Fault),
    /// The socket failed.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The server does not speak the PROXY protocol.
    #[error("it is MySQL {0}, which takes a PROXY protocol header for a login")]
    ProxyProtocolUnknown(String),
    /// RSA between a plain and a secure leg failed.
    #[error("the password could not be carried between the legs: {0}")]
    Rsa(&'static str),
    /// The server refused the connection or the login; its own error was passed on.
    #[error("{0}")]
    Refused(ErrPacket),
    /// A helper thread died.
    #[error("a codec thread failed")]
    CodecThreadFailed,
    /// The operator ended the session.
    #[error("the operator killed the connection")]
    Killed,
    /// The proxy stops.
    #[error("the proxy is stopping")]
    Stopping,
    /// The client said nothing between two commands for longer than the operator allows.
    #[error("it was idle for {0} s")]
    Idle(u64),
    /// There is no room for another connection, in total or from this address.
    #[error("too many connections")]
    TooManyConnections,
    /// Nothing came in time.
    #[error("nothing came for {0} s")]
    TimedOut(u64),
    /// A TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(io::Error),
    /// One side wants TLS, which the other does not offer.
    #[error("TLS is asked for and not offered")]
    TlsNotOffered,
    /// The listener wants TLS, which the client did not use.
    #[error("it does not use TLS, which this listener requires")]
    TlsRequired,
}

impl From<io::Error> for Cause {
    /// A pair stream's faults come by a socket's interface.
    fn from(error: io::Error) -> Self {
        error.downcast::<Fault>().map_or_else(Self::Io, Self::Protocol)
    }
}

impl Cause {
    /// A short constant name, for the counter's label.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AllServersDown(_) => "all_servers_down",
            Self::BufferMemoryExhausted => "buffer_memory_exhausted",
            Self::ClosedEarly => "closed_early",
            Self::CompressionNotOffered { .. } => "compression_not_offered",
            Self::CompressionRefused(_) => "compression_refused",
            Self::Protocol(fault) => fault_name(fault),
            Self::Io(_) => "io",
            Self::ProxyProtocolUnknown(_) => "proxy_protocol_unknown",
            Self::Rsa(_) => "rsa",
            Self::Refused(_) => "refused",
            Self::CodecThreadFailed => "codec_thread_failed",
            Self::Idle(_) => "idle",
            Self::Killed => "killed",
            Self::TooManyConnections => "too_many_connections",
            Self::Stopping => "stopping",
            Self::TimedOut(_) => "timed_out",
            Self::Tls(_) => "tls",
            Self::TlsNotOffered => "tls_not_offered",
            Self::TlsRequired => "tls_required",
        }
    }
}

const fn fault_name(fault: &Fault) -> &'static str {
    match fault {
        Fault::AuthPacketUnexpected(_) => "auth_packet_unexpected",
        Fault::Body(codec::Fault::BodyLongerThanDeclared { .. }) => "body_longer_than_declared",
        Fault::Body(codec::Fault::BodyShorterThanDeclared { .. }) => "body_shorter_than_declared",
        Fault::Body(_) => "body_corrupt",
        Fault::ChangeUserTooLong { .. } => "change_user_too_long",
        Fault::ClearPasswordRefused(_) => "clear_password_refused",
        Fault::GreetingVersionUnknown { .. } => "greeting_version_unknown",
        Fault::NotMySql { .. } => "not_mysql",
        Fault::LoginTooOld => "login_too_old",
        Fault::LoginTooLong { .. } => "login_too_long",
        Fault::Malformed(_) => "malformed",
        Fault::PairBehindEnd
        | Fault::PairCodecNotAgreed(_)
        | Fault::PairFieldRepeated(_)
        | Fault::PairHeader
        | Fault::PairHistoryMissing(_)
        | Fault::PairKindUnknown(_)
        | Fault::PairUnexpected(_) => "pair_frame",
        Fault::PairBrokenOff => "pair_broken_off",
        Fault::PairChecksum { .. } => "pair_checksum",
        Fault::PairKey(_) => "pair_key",
        Fault::PairPeerForeign { .. } => "pair_peer_foreign",
        Fault::PairRefused(_) => "pair_refused",
        Fault::PairVersion { .. } => "pair_version",
        Fault::ProxyHeaderMissing => "proxy_header_missing",
        Fault::ProxyHeader(_)
        | Fault::ProxyHeaderTooLong { .. }
        | Fault::ProxyCrcMismatch { .. }
        | Fault::ProxyNotStream => "proxy_header",
        Fault::SequenceOutOfOrder { .. } => "sequence_out_of_order",
        Fault::PacketTooLarge { .. } => "packet_too_large",
        _ => "protocol",
    }
}

/// The end of a session that did not end in order.
#[derive(Debug)]
pub struct SessionError {
    /// Whose leg it happened on.
    pub side: Side,
    /// When.
    pub phase: Phase,
    /// What.
    pub cause: Cause,
}

impl SessionError {
    /// The error that the client may see, in which the server is called `server`; `None` when it has been told already
    /// or is the one that left.
    pub fn for_client(&self, server: &str) -> Option<ErrPacket> {
        let (code, sqlstate) = match (&self.cause, self.side) {
            (Cause::Refused(_) | Cause::ClosedEarly, Side::Client) | (Cause::Refused(_), Side::Server) => {
                return None;
            }
            (Cause::CompressionRefused(error), _) => return Some(error.clone()),
            (Cause::TooManyConnections, _) => {
                return Some(ErrPacket::new(CON_COUNT_ERROR, b"08004", "Too many connections".to_owned()));
            }
            (Cause::Idle(_), _) => (CLIENT_INTERACTION_TIMEOUT, b"HY000"),
            (Cause::Io(_) | Cause::Tls(_), Side::Client) => return None,
            (Cause::TlsRequired, _) => (SECURE_TRANSPORT_REQUIRED, b"HY000"),
            (Cause::Protocol(Fault::SequenceOutOfOrder { .. }), _) => (NET_PACKETS_OUT_OF_ORDER, b"08S01"),
            (Cause::Protocol(Fault::Body(_)), _) => (NET_UNCOMPRESS_ERROR, b"08S01"),
            (
                Cause::Protocol(
                    Fault::PacketTooLarge { .. }
                    | Fault::LoginTooLong { .. }
                    | Fault::ChangeUserTooLong { .. },
                ),
                Side::Client,
            ) => (NET_PACKET_TOO_LARGE, b"08S01"),
            (Cause::TimedOut(_), Side::Client) => (NET_READ_INTERRUPTED, b"08S01"),
            (Cause::Killed, _) => (CONNECTION_KILLED, b"70100"),
            (Cause::Stopping, _) => (SERVER_SHUTDOWN, b"08S01"),
            (Cause::BufferMemoryExhausted | Cause::CodecThreadFailed, _) => (OUT_OF_RESOURCES, b"HY000"),
            (_, Side::Client) => (HANDSHAKE_ERROR, b"08S01"),
            (_, Side::Server) if self.phase == Phase::Command => return None,
            (_, Side::Server) => (CONNECT_TO_FOREIGN_DATA_SOURCE, b"HY000"),
        };
        let message = match self.side {
            Side::Client => format!("wirepress: {} ({})", self.advice(), self.phase.name()),
            Side::Server => format!("wirepress can't use the MySQL server at '{server}': {}", self.advice()),
        };
        Some(ErrPacket::new(code, sqlstate, message))
    }

    /// Whether a socket failed, or the half of a pair whose socket it is.
    pub(crate) const fn is_io(&self) -> bool {
        matches!(self.cause, Cause::Io(_) | Cause::Protocol(Fault::PairBrokenOff))
    }

    /// The cause, and what to do about it where that isn't plain.
    fn advice(&self) -> String {
        match &self.cause {
            Cause::TlsNotOffered if self.side == Side::Server => {
                "it does not offer TLS, which --ssl-mode of the proxy asks for".to_owned()
            }
            Cause::TlsNotOffered => {
                "TLS is not offered by this proxy; connect with --ssl-mode=DISABLED or without --ssl"
                    .to_owned()
            }
            Cause::ProxyProtocolUnknown(_) => {
                format!(
                    "{}; leave --send-proxy out: the client's address is in the connection attributes; Percona \
                     Server needs this proxy's address in proxy_protocol_networks",
                    self.cause
                )
            }
            Cause::TlsRequired => {
                "connections without TLS are prohibited here (--tls required); connect with \
                 --ssl-mode=REQUIRED or --ssl"
                    .to_owned()
            }
            Cause::Protocol(Fault::ClearPasswordRefused(Side::Client)) => {
                format!("{}; connect with --ssl-mode=REQUIRED or --ssl", self.cause)
            }
            Cause::Protocol(Fault::ClearPasswordRefused(Side::Server)) => {
                format!("{}; --ssl-mode required of the proxy makes it so", self.cause)
            }
            Cause::CompressionNotOffered { .. } => {
                format!("{}; add 'uncompressed' to --compression-algorithms of the proxy", self.cause)
            }
            Cause::Protocol(Fault::AuthPacketUnexpected(_)) => {
                format!("{}; without --server-public-key-path the client takes the proxy's key", self.cause)
            }
            cause if self.phase == Phase::ProxyHeader => {
                format!(
                    "{cause}; this address is in --proxy-protocol-from, so a PROXY protocol header must come first"
                )
            }
            cause => cause.to_string(),
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} leg, {} phase: ", self.side, self.phase.name())?;
        // It goes to the log. A cause may hold a server's own words, and those a client's name: neither may begin a
        // line there, or steer a terminal.
        self.cause.to_string().chars().try_for_each(|character| {
            if character.is_control() {
                write!(f, "{}", character.escape_default())
            } else {
                f.write_char(character)
            }
        })
    }
}

/// ER_HANDSHAKE_ERROR.
const HANDSHAKE_ERROR: u16 = 1043;
/// ER_CON_COUNT_ERROR.
const CON_COUNT_ERROR: u16 = 1040;
/// ER_CLIENT_INTERACTION_TIMEOUT.
const CLIENT_INTERACTION_TIMEOUT: u16 = 4031;
/// MariaDB's ER_CONNECTION_KILLED, which MySQL's clients show as it is.
const CONNECTION_KILLED: u16 = 1927;
/// ER_SERVER_SHUTDOWN.
const SERVER_SHUTDOWN: u16 = 1053;
/// ER_OUT_OF_RESOURCES.
const OUT_OF_RESOURCES: u16 = 1041;
/// ER_SECURE_TRANSPORT_REQUIRED.
const SECURE_TRANSPORT_REQUIRED: u16 = 3159;
/// ER_NET_PACKET_TOO_LARGE.
const NET_PACKET_TOO_LARGE: u16 = 1153;
/// ER_NET_PACKETS_OUT_OF_ORDER.
const NET_PACKETS_OUT_OF_ORDER: u16 = 1156;
/// ER_NET_UNCOMPRESS_ERROR.
const NET_UNCOMPRESS_ERROR: u16 = 1157;
/// ER_NET_READ_INTERRUPTED.
const NET_READ_INTERRUPTED: u16 = 1159;
/// ER_CONNECT_TO_FOREIGN_DATA_SOURCE. Not CR_CONN_HOST_ERROR (2003), with which MySQL Router answers: numbers from
/// 2000 to 2999 are a client's own, and MariaDB's Connector/C hides a packet with one behind "malformed packet".
const CONNECT_TO_FOREIGN_DATA_SOURCE: u16 = 1429;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_has_a_number_that_belongs_to_clients() {
        let causes: [fn() -> Cause; 11] = [
            || Cause::BufferMemoryExhausted,
            || Cause::ClosedEarly,
            || Cause::CompressionNotOffered { wished: "zstd".to_owned() },
            || Cause::Protocol(Fault::Malformed("")),
            || Cause::Io(io::ErrorKind::ConnectionRefused.into()),
            || Cause::Rsa(""),
            || Cause::Stopping,
            || Cause::TimedOut(1),
            || Cause::Tls(io::ErrorKind::InvalidData.into()),
            || Cause::TlsNotOffered,
            || Cause::TlsRequired,
        ];
        for side in [Side::Client, Side::Server] {
            for phase in
                [Phase::ProxyHeader, Phase::Dial, Phase::Login, Phase::Authentication, Phase::Command]
            {
                for cause in causes {
                    let error = SessionError { side, phase, cause: cause() };
                    let code = error.for_client("db:3306").map_or(1, |told| told.code);
                    assert!(
                        !(2000..3000).contains(&code) && !(5000..6000).contains(&code),
                        "{error}: {code}"
                    );
                }
            }
        }
    }
}
