//! Every way in which a peer can break the protocol, by name.
//!
//! Not here: what the other peer is told about it (crate `proxy`), faults of packed bodies (`codec::Fault`).

/// What a peer did wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// An authentication packet came when none was due, or of the wrong shape.
    #[error("unexpected packet during authentication: {0}")]
    AuthPacketUnexpected(&'static str),
    /// A server asks our own client for a plugin that it lacks.
    #[error(
        "the server asks for authentication by '{0}', and only mysql_native_password and caching_sha2_password are \
         known here: use an account with one of them"
    )]
    AuthPluginUnknown(String),
    /// The packed body of a frame is wrong.
    #[error("compressed packet: {0}")]
    Body(#[from] codec::Fault),
    /// A packet of COM_CHANGE_USER or of its exchange is larger than any honest one.
    #[error("a packet of {len} bytes in a change of user; at most {max} are accepted")]
    ChangeUserTooLong {
        /// Payload length in the header, bytes.
        len: usize,
        /// The limit, bytes.
        max: usize,
    },
    /// A password in clear would cross a leg that is neither TLS nor a Unix socket.
    #[error("a password in clear would cross the {0} leg, which is not TLS")]
    ClearPasswordRefused(crate::Side),
    /// The greeting isn't protocol version 10.
    #[error("the greeting has protocol version {version}, only version 10 is spoken here")]
    GreetingVersionUnknown {
        /// First byte of the payload.
        version: u8,
    },
    /// The peer's first bytes are not MySQL's classic protocol.
    #[error("this is not the classic MySQL protocol: {looks_like}")]
    NotMySql {
        /// What the bytes look like instead.
        looks_like: &'static str,
    },
    /// A login in the form before MySQL 4.1.
    #[error("the login uses the protocol of before MySQL 4.1")]
    LoginTooOld,
    /// A packet of the connection phase is larger than any honest one.
    #[error("a packet of {len} bytes before the end of the login; at most {max} are accepted")]
    LoginTooLong {
        /// Payload length in the header, bytes.
        len: usize,
        /// The limit, bytes.
        max: usize,
    },
    /// A field runs past the end of its packet, or a terminator is missing.
    #[error("malformed packet: {0}")]
    Malformed(&'static str),
    /// A sequence id is not the next one.
    #[error("sequence id {actual} where {expected} was due")]
    SequenceOutOfOrder {
        /// The id that was due.
        expected: u8,
        /// The id that came.
        actual: u8,
    },
    /// A packet joined from pieces is larger than the receiver's limit.
    #[error("a packet of more than {max} bytes")]
    PacketTooLarge {
        /// The limit, bytes.
        max: usize,
    },
    /// A frame of a pair follows its sender's last word.
    #[error("pair: a frame behind the last one")]
    PairBehindEnd,
    /// The other end of a pair went away in the middle of its stream.
    #[error("pair: the stream broke off without its last frame")]
    PairBrokenOff,
    /// A frame's CRC-32C is not its own.
    #[error("pair: a frame's checksum is {announced:#010x}, but its bytes give {actual:#010x}")]
    PairChecksum {
        /// What the frame says.
        announced: u32,
        /// What its bytes add up to.
        actual: u32,
    },
    /// A frame's codec was not agreed on.
    #[error("pair: a frame is packed by {0}, which was not agreed on")]
    PairCodecNotAgreed(codec::Algorithm),
    /// A HELLO has two fields of a tag, and nobody knows which one counts.
    #[error("pair: its HELLO has field {0} twice")]
    PairFieldRepeated(u8),
    /// A frame's header contradicts itself.
    #[error("pair: a frame's header is damaged")]
    PairHeader,
    /// A frame goes on in a history that was never begun, or was given up.
    #[error("pair: a frame refers to a {0} history that there is not")]
    PairHistoryMissing(codec::Algorithm),
    /// A frame of a kind that this version does not know.
    #[error("pair: a frame of the unknown kind {0}")]
    PairKindUnknown(u8),
    /// The keys of the two ends differ, or one has none.
    #[error("pair: {0}")]
    PairKey(&'static str),
    /// The peer is no pair.
    #[error("it is no wirepress pair: its first bytes look like {looks_like}")]
    PairPeerForeign {
        /// What the bytes look like instead.
        looks_like: &'static str,
    },
    /// The other end says why it won't.
    #[error("the pair refused: {0}")]
    PairRefused(String),
    /// A frame that is not due.
    #[error("pair: unexpected frame: {0}")]
    PairUnexpected(&'static str),
    /// The ends have no version in common.
    #[error("pair: it speaks versions {} to {}, and we {} to {}; update the older one", theirs.0, theirs.1, ours.0, ours.1)]
    PairVersion {
        /// Lowest and highest of ours.
        ours: (u8, u8),
        /// And of the other end.
        theirs: (u8, u8),
    },
    /// The CRC-32C that a PROXY protocol header carries is not its own.
    #[error("PROXY protocol header: its checksum is {announced:#010x}, but its bytes give {actual:#010x}")]
    ProxyCrcMismatch {
        /// What the header says.
        announced: u32,
        /// What its bytes add up to.
        actual: u32,
    },
    /// A PROXY protocol header has another form than its version's.
    #[error("PROXY protocol header: {0}")]
    ProxyHeader(&'static str),
    /// A PROXY protocol header was due, and the peer began with something else.
    #[error("no PROXY protocol header before the first packet")]
    ProxyHeaderMissing,
    /// A PROXY protocol header announces more bytes than any honest one has.
    #[error("a PROXY protocol header of {len} bytes; at most {max} are accepted")]
    ProxyHeaderTooLong {
        /// Header, addresses and TLVs, bytes.
        len: usize,
        /// The limit, bytes.
        max: usize,
    },
    /// A PROXY protocol header speaks of datagrams (UDP), which carry no MySQL.
    #[error("PROXY protocol header: it relays datagrams, not a stream")]
    ProxyNotStream,
}
