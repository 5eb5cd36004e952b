//! One end of a connection, without I/O: for our own clients and servers.
//!
//! ```text
//! socket bytes -> receive -> [frames] -> packet()        send(payload) -> [frames] -> output -> socket bytes
//! ```
//! Ids follow `sql-common/net_serv.cc`: a received id sets the next one to send, a command starts again at 0.
//!
//! Invariants: a payload is bounded by `packet_len_max`; a frame never holds two commands.
//! Not here: the relay, which never joins packets (crate `proxy`).

use codec::{Algorithm, Contexts};

use crate::limits::{FRAME_LEN_MAX, PACKET_PAYLOAD_LEN_MAX, SHARED_FRAME_LEN_MAX};
use crate::{Fault, frame, packet};

/// A client's or a server's end.
pub struct Endpoint {
    compression: Option<Compression>,
    packet_len_max: usize,
    received: Vec<u8>,
    /// Bytes of `received` that were consumed.
    received_start: usize,
    inner: Vec<u8>,
    /// Bytes of `inner` that were consumed.
    inner_start: usize,
    /// Pieces of a payload of 16 MiB and more.
    joined: Vec<u8>,
    packet_id: u8,
    frame_id: u8,
    /// Packets of the frame that is being filled.
    pending: Vec<u8>,
    output: Vec<u8>,
    /// Bytes of `output` that were sent.
    output_start: usize,
}

struct Compression {
    algorithm: Algorithm,
    level: u8,
    contexts: Contexts,
}

impl Endpoint {
    /// An end before the greeting.
    ///
    /// Units: `packet_len_max` is this end's max_allowed_packet, bytes.
    pub const fn new(packet_len_max: usize) -> Self {
        Self {
            compression: None,
            packet_len_max,
            received: Vec::new(),
            received_start: 0,
            inner: Vec::new(),
            inner_start: 0,
            joined: Vec::new(),
            packet_id: 0,
            frame_id: 0,
            pending: Vec::new(),
            output: Vec::new(),
            output_start: 0,
        }
    }

    /// Takes packets of up to so many bytes from now on.
    pub const fn set_packet_len_max(&mut self, packet_len_max: usize) {
        self.packet_len_max = packet_len_max;
    }

    /// Both directions are framed from now on. Call it right after the OK that ends the login.
    pub fn start_compression(&mut self, algorithm: Algorithm, level: u8) {
        self.compression =
            algorithm.is_framed().then(|| Compression { algorithm, level, contexts: Contexts::new() });
    }

    /// Takes bytes from the socket.
    pub fn receive(&mut self, bytes: &[u8]) {
        let buffer = if self.compression.is_some() { &mut self.received } else { &mut self.inner };
        buffer.extend_from_slice(bytes);
    }

    /// The next whole payload; `None` when more bytes are needed.
    pub fn packet(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let mut payload = Vec::new();
        Ok(self.packet_into(&mut payload)?.then_some(payload))
    }

    /// Replaces `payload` by the next whole one; says whether there was one.
    pub fn packet_into(&mut self, payload: &mut Vec<u8>) -> Result<bool, Fault> {
        while let Some((piece, continues)) = self.piece()? {
            let bytes = self.inner.get(piece.clone()).unwrap_or_default();
            if self.joined.len() + bytes.len() > self.packet_len_max {
                return Err(Fault::PacketTooLarge { max: self.packet_len_max });
            }
            payload.clear();
            if continues || !self.joined.is_empty() {
                self.joined.extend_from_slice(bytes);
                if !continues {
                    std::mem::swap(payload, &mut self.joined);
                    self.joined.clear();
                }
            } else {
                payload.extend_from_slice(bytes);
            }
            self.inner_start = piece.end;
            if !continues {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A client is about to send a command: ids restart.
    pub fn begin_command(&mut self) {
        self.flush();
        (self.packet_id, self.frame_id) = (0, 0);
    }

    /// Queues one payload.
    pub fn send(&mut self, payload: &[u8]) {
        if self.pending.len() + payload.len() > SHARED_FRAME_LEN_MAX {
            // A packet that needs frames larger than others get shares none.
            self.flush();
        }
        let buffer = if self.compression.is_some() { &mut self.pending } else { &mut self.output };
        self.packet_id = packet::split(payload, self.packet_id, buffer);
        if self.pending.len() >= SEND_FRAME_LEN {
            self.flush();
        }
    }

    /// Closes the current frame: call it when the peer shall answer.
    pub fn flush(&mut self) {
        let Some(compression) = &mut self.compression else { return };
        // Only a packet of its own is longer than a shared frame may be; it crosses in at most two, since Connector/
        // Python's pure mode silently returns wrong data from three.
        for plain in self.pending.chunks(FRAME_LEN_MAX) {
            let Compression { algorithm, level, contexts } = compression;
            let start = self.output.len();
            if frame::encode(contexts, *algorithm, *level, self.frame_id, plain, &mut self.output).is_err() {
                // A library without memory: the frame goes stored.
                self.output.truncate(start);
                let header =
                    frame::Header { packed_len: plain.len(), sequence_id: self.frame_id, plain_len: 0 };
                self.output.extend_from_slice(&header.build());
                self.output.extend_from_slice(plain);
            }
            self.frame_id = self.frame_id.wrapping_add(1);
        }
        if !self.pending.is_empty() {
            self.pending.clear();
            // As servers and libmysqlclient do after each flush.
            self.packet_id = self.frame_id;
        }
    }

    /// Bytes for the socket.
    pub fn output(&self) -> &[u8] {
        self.output.get(self.output_start..).unwrap_or_default()
    }

    /// `len` bytes of the output were written.
    pub fn sent(&mut self, len: usize) {
        self.output_start += len;
        if self.output_start >= self.output.len() {
            self.output.clear();
            self.output_start = 0;
        }
    }

    /// The next piece within `inner`, without its header, and whether the payload goes on.
    fn piece(&mut self) -> Result<Option<(std::ops::Range<usize>, bool)>, Fault> {
        loop {
            let rest = self.inner.get(self.inner_start..).unwrap_or_default();
            if let Some(header) = packet::Header::parse(rest) {
                if header.payload_len > self.packet_len_max {
                    return Err(Fault::PacketTooLarge { max: self.packet_len_max });
                }
                if rest.len() >= packet::HEADER_LEN + header.payload_len {
                    let start = self.inner_start + packet::HEADER_LEN;
                    self.packet_id = header.sequence_id.wrapping_add(1);
                    if self.compression.is_some() {
                        self.packet_id = self.frame_id;
                    }
                    return Ok(Some((start..start + header.payload_len, header.continues())));
                }
            }
            if !self.unpack_frame()? {
                return Ok(None);
            }
        }
    }

    /// Moves one whole frame from `received` into `inner`; says whether there was one.
    fn unpack_frame(&mut self) -> Result<bool, Fault> {
        if self.inner_start > 0 {
            self.inner.drain(..self.inner_start);
            self.inner_start = 0;
        }
        let Some(compression) = &mut self.compression else { return Ok(false) };
        let rest = self.received.get(self.received_start..).unwrap_or_default();
        let Some(header) = frame::Header::parse(rest) else { return Ok(false) };
        let Some(body) = rest.get(frame::HEADER_LEN..frame::HEADER_LEN + header.packed_len) else {
            return Ok(false);
        };
        frame::decode(&mut compression.contexts, compression.algorithm, header, body, &mut self.inner)?;
        self.frame_id = header.sequence_id.wrapping_add(1);
        self.received_start += frame::HEADER_LEN + header.packed_len;
        if self.received_start == self.received.len() {
            self.received.clear();
            self.received_start = 0;
        } else if self.received_start > RECEIVED_SLACK {
            self.received.drain(..self.received_start);
            self.received_start = 0;
        }
        Ok(true)
    }
}

/// Frames are closed at this size: 64 KiB pack within a few percent of 1 MiB.
const SEND_FRAME_LEN: usize = 64 << 10;
/// Consumed bytes are moved out only now and then.
const RECEIVED_SLACK: usize = 256 << 10;

const _: () = assert!(SEND_FRAME_LEN < PACKET_PAYLOAD_LEN_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    fn carry(from: &mut Endpoint, to: &mut Endpoint, cut: usize) {
        from.flush();
        let bytes = from.output().to_vec();
        from.sent(bytes.len());
        for piece in bytes.chunks(cut) {
            to.receive(piece);
        }
    }

    fn pair(algorithm: Algorithm) -> (Endpoint, Endpoint) {
        let mut ends = (Endpoint::new(64 << 20), Endpoint::new(64 << 20));
        ends.0.start_compression(algorithm, 1);
        ends.1.start_compression(algorithm, 1);
        ends
    }

    #[test]
    fn payloads_of_every_size_arrive_whole_on_every_kind_of_leg() {
        for algorithm in Algorithm::ALL {
            let (mut client, mut server) = pair(algorithm);
            for len in [0, 1, 49, 50, 65_536, 0xff_ff_fe, 0xff_ff_ff, 0x100_0000, 0x1ff_fffe] {
                let payload: Vec<u8> = (0..len).map(|i: usize| (i / 7) as u8).collect();
                client.begin_command();
                client.send(&payload);
                carry(&mut client, &mut server, 1 << 20);
                assert_eq!(server.packet().unwrap().as_ref(), Some(&payload), "{algorithm} {len}");
                server.send(&payload);
                server.send(b"end");
                carry(&mut server, &mut client, 1 << 20);
                assert_eq!(client.packet().unwrap().as_ref(), Some(&payload), "{algorithm} {len}");
                assert_eq!(client.packet().unwrap().as_deref(), Some(&b"end"[..]));
                assert_eq!(client.packet().unwrap(), None);
            }
        }
    }

    #[test]
    fn a_packet_crosses_in_at_most_two_frames_and_a_large_one_shares_none() {
        for len in [1 << 20, 3 << 20, 0xff_ff_fa, 0xff_ff_fe, 0x100_0000] {
            let mut server = pair(Algorithm::Zlib).1;
            let mut end = 0;
            let mut packet_ends = Vec::new();
            for len in [100, len, 100] {
                server.send(&vec![7; len]);
                end += len + packet::HEADER_LEN * (1 + len / PACKET_PAYLOAD_LEN_MAX);
                packet_ends.push(end);
            }
            server.flush();
            let mut rest = server.output();
            let mut plain_end = 0;
            let mut frame_ends = Vec::new();
            while let Some(header) = frame::Header::parse(rest) {
                plain_end += if header.plain_len == 0 { header.packed_len } else { header.plain_len };
                frame_ends.push(plain_end);
                rest = &rest[frame::HEADER_LEN + header.packed_len..];
            }
            assert_eq!(plain_end, end);
            assert!(frame_ends.contains(&packet_ends[0]) && frame_ends.contains(&packet_ends[1]), "{len}");
            let frame_count =
                frame_ends.iter().filter(|&&at| at > packet_ends[0] && at <= packet_ends[1]).count();
            assert!(frame_count <= 2, "{len}: {frame_count} frames");
        }
    }

    #[test]
    fn bytes_that_come_one_by_one_give_the_same_packets() {
        let (mut client, mut server) = pair(Algorithm::Zlib);
        client.begin_command();
        client.send(&b"select 1".repeat(30));
        carry(&mut client, &mut server, 1);
        assert_eq!(server.packet().unwrap(), Some(b"select 1".repeat(30)));
    }

    #[test]
    fn a_packet_above_the_limit_is_refused_at_its_header() {
        let mut server = Endpoint::new(1000);
        server.receive(&[0xe9, 3, 0, 0]);
        assert_eq!(server.packet(), Err(Fault::PacketTooLarge { max: 1000 }));
    }
}
