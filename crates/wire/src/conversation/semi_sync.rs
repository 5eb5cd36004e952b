//! Semi-synchronous replication: events that ask for an acknowledgement.
//!
//! ```text
//! event   00 | ef | flag | timestamp 4 | type 1 | server id 4 | event length 4 | ...
//! ack     ef | position 8 | file name
//! ```
//! Without semi-sync an event lacks `ef | flag`, and its timestamp may start with 0xEF: the event's own length
//! tells the two apart.
//!
//! Source: MySQL `plugin/semisync/semisync_replica.cc`, MariaDB `sql/semisync_master.cc`; pinned by the
//! replication tests of crate `proxy`.
//! Not here: whether semi-sync is on; the bytes say it.

use super::Ids;
use crate::packet;

/// Whether a client's packet is an acknowledgement.
pub(super) fn is_ack(peek: &[u8]) -> bool {
    peek.first() == Some(&MAGIC)
}

/// Whether an event asks for an acknowledgement.
pub(super) fn asks_for_ack(header: packet::Header, peek: &[u8]) -> bool {
    let [0, MAGIC, ACK_WANTED, event @ ..] = peek else { return false };
    let Some(length) = event.get(EVENT_LENGTH_AT..).and_then(|rest| rest.first_chunk()) else { return false };
    let event_len = u32::from_le_bytes(*length) as usize;
    // The first piece of an event of 16 MiB and more tells only that it is long.
    event_len == header.payload_len - SEMI_SYNC_HEADER_LEN
        || (header.continues() && event_len > header.payload_len - SEMI_SYNC_HEADER_LEN)
}

/// The client leg's next ids behind an event that asks for an acknowledgement, before the ack was seen.
///
/// A replica resets its counters when it sends the ack. On a framed leg it then takes frame 0; on a plain one
/// the ack itself counts, and it expects 1.
pub(super) const fn ids_after_ack(framed: bool) -> Ids {
    Ids { packet: if framed { 0 } else { 1 }, frame: 0 }
}

const MAGIC: u8 = 0xef;
const ACK_WANTED: u8 = 0x01;
/// OK byte, magic and flag.
const SEMI_SYNC_HEADER_LEN: usize = 3;
/// Behind timestamp, type and server id.
const EVENT_LENGTH_AT: usize = 9;
