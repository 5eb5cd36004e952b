//! Limits that come from the protocol itself or guard against peers that lie.
//!
//! Not here: limits that an operator may set (crate `proxy`, `config`).

/// Longest payload of one packet; a payload of this length or more continues in the next packet.
pub const PACKET_PAYLOAD_LEN_MAX: usize = 0xff_ff_ff;

/// Longest frame that is emitted, wire and plain. One less than the field allows: MariaDB's Node.js driver
/// takes a wire length of 0xFFFFFF for "continues".
pub const FRAME_LEN_MAX: usize = 0xff_ff_fe;

/// A frame of several packets is never larger than this: receivers check frame plus leftover against
/// `max_allowed_packet` (MySQL bug 42503), and 1 MiB is also what that bug's fix chose.
pub const SHARED_FRAME_LEN_MAX: usize = 1 << 20;

/// A frame of several packets towards a receiver whose `max_allowed_packet` is unknown: what servers
/// themselves send by default (`net_buffer_length`).
pub const SHARED_FRAME_LEN_UNKNOWN: usize = 16 << 10;

/// A frame whose plain payload, inner headers included, is shorter is sent stored.
/// Source: `MIN_COMPRESS_LENGTH` in MySQL's and MariaDB's `my_sys.h`.
pub const COMPRESS_LEN_MIN: usize = 50;

/// Longest packet of the connection phase. Connection attributes may take 64 KiB, a token of an
/// authentication plugin some more; nothing honest comes near. COM_CHANGE_USER and its exchange have the same bound.
pub const LOGIN_LEN_MAX: usize = 256 << 10;

/// First payload bytes that the conversation wants to see of a packet: an OK packet's status flags lie
/// within the first 21 (1 + 9 + 9 + 2).
pub const PEEK_LEN: usize = 32;

/// Commands that may be in flight before the client is no longer read. Connector/J's bulk mode pipelines
/// thousands; each costs some 20 bytes here.
pub const COMMANDS_IN_FLIGHT_MAX: usize = 16_384;

/// Longest version 1 header of the PROXY protocol, CRLF included.
/// Source: its specification, section 2.1: UNKNOWN with two IPv6 addresses and ports.
pub const PROXY_V1_LEN_MAX: usize = 107;

/// Longest header of the PROXY protocol that is read. The specification wants the addresses to fit a segment of 536
/// bytes, and bounds TLVs by their 16-bit length alone; those of a TLS client with a certificate take some hundred
/// bytes, and a cloud's own some more.
pub const PROXY_HEADER_LEN_MAX: usize = 4096;

/// Longest header of the PROXY protocol that is sent: MariaDB answers the login behind a longer one with error 1105.
/// Source: `MAX_PROXY_HEADER_LEN` in MariaDB's `sql/proxy_protocol.cc`; measured.
pub const PROXY_HEADER_SENT_LEN_MAX: usize = 256;
