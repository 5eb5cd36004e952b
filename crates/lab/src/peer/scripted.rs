//! One end of a connection, client or server, without or with frames.
//!
//! Not here: when to say what (the test).

use std::io::{self, Read, Write};
use std::mem;

use codec::{Algorithm, Contexts};
use wire::{frame, packet};

use super::seen::{HEAD_LEN, SeenFrame, SeenPacket};
use super::socket::Socket;
use super::{frames, packets};

/// A scripted end of a connection.
pub struct Peer {
    socket: Socket,
    algorithm: Algorithm,
    contexts: Contexts,
    /// Packets that were not received yet, as on a leg without frames.
    inner: Vec<u8>,
    /// Bytes of `inner` that were received as packets.
    taken_len: usize,
    /// Bytes of the inner stream before the next packet.
    inner_start: u64,
    /// Where each remembered frame ended in the inner stream.
    frame_ends: Vec<u64>,
    seen_frames: Vec<SeenFrame>,
    seen_packets: Vec<SeenPacket>,
}

/// A received packet; long payloads are in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Its sequence id.
    pub sequence_id: u8,
    /// Its payload.
    pub payload: Vec<u8>,
}

impl Peer {
    pub(super) fn new(socket: Socket) -> Self {
        Self {
            socket,
            algorithm: Algorithm::Uncompressed,
            contexts: Contexts::new(),
            inner: Vec::new(),
            taken_len: 0,
            inner_start: 0,
            frame_ends: Vec::new(),
            seen_frames: Vec::new(),
            seen_packets: Vec::new(),
        }
    }

    /// Connects to `host:port` or `unix:/path`.
    ///
    /// Errors: the system's.
    pub fn connect(address: &str) -> io::Result<Self> {
        Socket::connect(address).map(Self::new)
    }

    /// Both directions carry frames of `algorithm` from now on.
    pub fn start_frames(&mut self, algorithm: Algorithm) {
        self.algorithm = algorithm;
    }

    /// What it speaks.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Writes bytes as they are.
    ///
    /// Errors: the system's.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Writes pieces, each when the other end has taken the one before it: on a Unix socket it never sees two at
    /// once.
    ///
    /// Errors: the system's, `TimedOut`.
    pub fn send_pieces(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        for piece in pieces {
            self.socket.write_all(piece)?;
            self.socket.wait_until_taken()?;
        }
        Ok(())
    }

    /// Payloads as this leg carries them: packets with ids from `first_id` on, in frames of `frame_len` plain
    /// bytes with ids from `first_id` on where it has frames.
    #[must_use]
    pub fn wrap<'a>(
        &self,
        first_id: u8,
        payloads: impl IntoIterator<Item = &'a [u8]>,
        frame_len: usize,
    ) -> Vec<u8> {
        let inner = packets(first_id, payloads);
        if self.algorithm.is_framed() { frames(self.algorithm, first_id, &inner, frame_len) } else { inner }
    }

    /// The next packet.
    ///
    /// Errors: `UnexpectedEof` at the other end's end, `InvalidData` for a frame that can't be decoded,
    /// `WouldBlock` when nothing came in time.
    pub fn receive(&mut self) -> io::Result<Packet> {
        self.fill(packet::HEADER_LEN)?;
        let header = packet::Header::parse(self.waiting()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let end = packet::HEADER_LEN + header.payload_len;
        self.fill(end)?;
        let payload = self.waiting().get(packet::HEADER_LEN..end).unwrap_or_default().to_vec();
        self.taken_len += end;
        let start = self.inner_start;
        self.inner_start += end as u64;
        self.seen_packets.push(SeenPacket {
            sequence_id: header.sequence_id,
            payload_len: header.payload_len,
            first_frame: self.frame_at(start),
            header_end_frame: self.frame_at(start + packet::HEADER_LEN as u64 - 1),
            last_frame: self.frame_at(self.inner_start - 1),
            ends_frame: self.frame_ends.contains(&self.inner_start),
        });
        Ok(Packet { sequence_id: header.sequence_id, payload })
    }

    /// The next payload, joined from its pieces, and the id of its first.
    ///
    /// Errors: as [`Self::receive`].
    pub fn receive_joined(&mut self) -> io::Result<Packet> {
        let mut packet = self.receive()?;
        let mut piece_len = packet.payload.len();
        while piece_len == wire::limits::PACKET_PAYLOAD_LEN_MAX {
            let piece = self.receive()?;
            piece_len = piece.payload.len();
            packet.payload.extend(piece.payload);
        }
        Ok(packet)
    }

    /// Reads something, whatever it is, and forgets it.
    ///
    /// Errors: `UnexpectedEof`, the system's.
    pub fn receive_some(&mut self) -> io::Result<()> {
        match self.socket.read(&mut [0; 1024])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Reads until the other end closes, and says how many bytes still came.
    ///
    /// Errors: `WouldBlock` when it does not close in time. A reset counts as a close.
    pub fn receive_end(&mut self) -> io::Result<usize> {
        let (mut count, mut room) = (self.waiting().len(), vec![0; READ_LEN]);
        loop {
            match self.socket.read(&mut room) {
                Ok(0) => return Ok(count),
                Ok(len) => count += len,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(count),
                Err(error) => return Err(error),
            }
        }
    }

    /// No more bytes to the other end, which may still speak.
    ///
    /// Errors: the system's.
    pub fn shut_writing(&self) -> io::Result<()> {
        self.socket.shut_writing()
    }

    /// Its socket, for what is no packet any more, as TLS. What was not received is lost.
    #[must_use]
    pub fn into_stream(self) -> impl Read + Write {
        self.socket
    }

    /// What came since the last call: frames and packets. Only whole packets may have been taken in between.
    pub fn take_seen(&mut self) -> (Vec<SeenFrame>, Vec<SeenPacket>) {
        self.frame_ends.clear();
        (mem::take(&mut self.seen_frames), mem::take(&mut self.seen_packets))
    }

    /// The id behind the last one that came: of a frame where there are frames, else of a packet.
    #[must_use]
    pub fn next_id(&self) -> u8 {
        let last = if self.algorithm.is_framed() {
            self.seen_frames.last().map(|frame| frame.sequence_id)
        } else {
            self.seen_packets.last().map(|packet| packet.sequence_id)
        };
        last.map_or(0, |id| id.wrapping_add(1))
    }

    fn waiting(&self) -> &[u8] {
        self.inner.get(self.taken_len..).unwrap_or_default()
    }

    /// Reads until `len` bytes wait.
    fn fill(&mut self, len: usize) -> io::Result<()> {
        if self.waiting().len() < len {
            self.inner.drain(..self.taken_len);
            self.taken_len = 0;
        }
        while self.inner.len() < self.taken_len + len {
            if self.algorithm.is_framed() {
                self.read_frame()?;
            } else {
                let before_len = self.inner.len();
                self.inner.resize(before_len + READ_LEN, 0);
                let read = self.socket.read(self.inner.get_mut(before_len..).unwrap_or_default());
                self.inner.truncate(before_len + *read.as_ref().unwrap_or(&0));
                if read? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
        Ok(())
    }

    fn read_frame(&mut self) -> io::Result<()> {
        let mut header = [0; frame::HEADER_LEN];
        self.socket.read_exact(&mut header)?;
        let header = frame::Header::parse(&header).ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut body = vec![0; header.packed_len];
        self.socket.read_exact(&mut body)?;
        let before_len = self.inner.len();
        frame::decode(&mut self.contexts, self.algorithm, header, &body, &mut self.inner)
            .map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))?;
        self.frame_ends.push(self.inner_start + self.waiting().len() as u64);
        self.seen_frames.push(SeenFrame {
            sequence_id: header.sequence_id,
            packed_len: header.packed_len,
            plain_len: header.plain_len,
            inner_len: self.inner.len() - before_len,
            head: body.iter().copied().take(HEAD_LEN).collect(),
        });
        Ok(())
    }

    /// The remembered frame that holds a place of the inner stream.
    fn frame_at(&self, place: u64) -> usize {
        self.frame_ends.partition_point(|end| *end <= place)
    }
}

/// One read on a leg without frames.
const READ_LEN: usize = 256 << 10;
