//! Reads the packets of a capture, pcap or pcapng, one after the other.
//!
//! ```text
//!  pcap     header: link type, unit of time │ packet │ packet │ …
//!  pcapng   section │ interface: link type, unit of time │ packet of interface n │ …
//! ```
//! Invariants: holds one packet and what is read ahead of it, [`BUFFER_BYTES`]; a file that ends within a packet is used
//! up to there.
//!
//! Not here: what is in the packets (`segment`).

use std::io::Read;
use std::time::Duration;

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};

use super::segment::Captured;

/// How reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At the file's end.
    Whole,
    /// Within a packet: the file was cut off.
    Cut,
    /// At something that is none.
    Damaged,
    /// The reader of the packets wanted no more.
    Stopped,
}

/// Why there is nothing to read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CaptureFault {
    #[error("the file is empty")]
    Empty,
    #[error("the file is compressed by {0}: unpack it first")]
    Compressed(&'static str),
    #[error("the file is no capture, neither pcap nor pcapng")]
    NoCapture,
}

/// An interface of a capture.
#[derive(Clone, Copy)]
struct Interface {
    link_type: i32,
    units_per_s: u64,
    offset_s: u64,
}

/// Hands each packet to `packet`, until that returns false.
///
/// # Errors
/// It is no capture.
pub(super) fn read(
    file: impl Read + Send,
    mut packet: impl FnMut(&Captured<'_>) -> bool,
) -> Result<End, CaptureFault> {
    let mut file = file;
    let mut begin = Vec::new();
    // What cannot be read is as good as not there.
    file.by_ref().take(4).read_to_end(&mut begin).ok();
    if begin.is_empty() {
        return Err(CaptureFault::Empty);
    }
    for (magic, name) in COMPRESSED {
        if begin.starts_with(magic) {
            return Err(CaptureFault::Compressed(name));
        }
    }
    let mut reader = create_reader(BUFFER_BYTES, Whole(begin.as_slice().chain(file)))
        .map_err(|_| CaptureFault::NoCapture)?;
    let mut interfaces = Vec::new();
    loop {
        if begin == PCAPNG && is_too_short(reader.data()) {
            return Ok(End::Damaged);
        }
        let (len, goes_on) = match reader.next() {
            Ok((len, block)) => (len, handle(&block, &mut interfaces, &mut packet)),
            Err(PcapError::Eof) => return Ok(End::Whole),
            Err(PcapError::UnexpectedEof) => return Ok(End::Cut),
            Err(PcapError::Incomplete(_)) => {
                if reader.refill().is_err() {
                    return Ok(End::Damaged);
                }
                continue;
            }
            Err(_) => return Ok(End::Damaged),
        };
        if !goes_on {
            return Ok(End::Stopped);
        }
        if len == 0 {
            return Ok(End::Damaged);
        }
        reader.consume(len);
    }
}

/// Whether a block is shorter than what is around each: from such a length the parser subtracts without looking.
fn is_too_short(block: &[u8]) -> bool {
    let Some(Ok(len)) = block.get(4..8).map(<[u8; 4]>::try_from) else { return false };
    u32::from_le_bytes(len).min(u32::from_be_bytes(len)) < BLOCK_LEN_MIN
}

/// False if no more packets are wanted.
fn handle(
    block: &PcapBlockOwned<'_>,
    interfaces: &mut Vec<Interface>,
    packet: &mut impl FnMut(&Captured<'_>) -> bool,
) -> bool {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let units_per_s = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            // The upper half tells of checksums.
            let link_type = header.network.0 & 0xffff;
            interfaces.push(Interface { link_type, units_per_s, offset_s: 0 });
            true
        }
        PcapBlockOwned::Legacy(one) => {
            let Some(interface) = interfaces.first() else { return true };
            let units = u64::from(one.ts_sec).saturating_mul(interface.units_per_s);
            let at = interface.time(units.saturating_add(u64::from(one.ts_usec)));
            packet(&captured(interface, one.data, one.origlen, at))
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            true
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(one)) => {
            if interfaces.len() < INTERFACES_MAX {
                interfaces.push(Interface {
                    link_type: one.linktype.0 & 0xffff,
                    units_per_s: units_per_s(one.if_tsresol),
                    offset_s: u64::try_from(one.if_tsoffset).unwrap_or_default(),
                });
            }
            true
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(one)) => {
            let Some(interface) = interfaces.get(one.if_id as usize) else { return true };
            let at = interface.time(u64::from(one.ts_high) << 32 | u64::from(one.ts_low));
            packet(&captured(interface, one.packet_data(), one.origlen, at))
        }
        // Names, statistics; and packets without a time, which are of no use here.
        PcapBlockOwned::NG(_) => true,
    }
}

fn captured<'a>(interface: &Interface, bytes: &'a [u8], wire_len: u32, at: Duration) -> Captured<'a> {
    let wire_len = bytes.len().max(wire_len as usize);
    Captured { link_type: interface.link_type, bytes, wire_len, at }
}

impl Interface {
    fn time(&self, units: u64) -> Duration {
        let nanos = u128::from(units) * 1_000_000_000 / u128::from(self.units_per_s);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            .saturating_add(Duration::from_secs(self.offset_s))
    }
}

/// Of a pcapng interface: a power of ten, or, with the highest bit, of two.
fn units_per_s(resolution: u8) -> u64 {
    let units = match resolution {
        0x80.. => 1u64.checked_shl(u32::from(resolution & 0x7f)),
        _ => 10u64.checked_pow(u32::from(resolution)),
    };
    units.unwrap_or(1_000_000)
}

/// A reader whose reads are as long as they can be: the parser takes a short one at the beginning for the end.
struct Whole<R>(R);

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut len = 0;
        while let Some(rest) = buffer.get_mut(len..).filter(|rest| !rest.is_empty()) {
            match self.0.read(rest) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(len)
    }
}

/// Larger than any packet: snap lengths end at 256 KiB.
const BUFFER_BYTES: usize = 1 << 20;
/// Of a section, with which a pcapng begins.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Kind, length, and the length again.
const BLOCK_LEN_MIN: u32 = 12;
/// A capture of all of a machine's has dozens.
const INTERFACES_MAX: usize = 10_000;
/// What people do to large captures.
const COMPRESSED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zX", "xz"), (b"BZh", "bzip2")];

#[cfg(test)]
mod tests;
