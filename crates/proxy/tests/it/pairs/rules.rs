//! What every receiver may rely on, checked on what arrived.
//!
//! Each check names the rule of `docs/protocol.md` that it stands for.
//! Not here: payloads (`dialogue`).

use codec::Algorithm;
use lab::peer::{SeenFrame, SeenPacket};
use wire::limits::{COMPRESS_LEN_MIN, PACKET_PAYLOAD_LEN_MAX, SHARED_FRAME_LEN_MAX};

/// What arrived at one end.
pub(crate) struct Arrived {
    pub(crate) algorithm: Algorithm,
    pub(crate) frames: Vec<SeenFrame>,
    pub(crate) packets: Vec<SeenPacket>,
}

impl Arrived {
    /// Rules 3, 4 and 5. `packet_len_max`: the receiver's limit, 0 where the proxy doesn't know it.
    pub(crate) fn assert_frames(&self, packet_len_max: usize) {
        for (index, frame) in self.frames.iter().enumerate() {
            self.assert_body(frame);
            let first = self.packets.partition_point(|packet| packet.last_frame < index);
            let inside = self.packets[first..].iter().take_while(|packet| packet.first_frame <= index);
            if inside.count() > 1 {
                let limit = if packet_len_max == 0 {
                    16 << 10
                } else {
                    (packet_len_max / 2).min(SHARED_FRAME_LEN_MAX)
                };
                assert!(frame.inner_len <= limit, "rule 4: several packets in {frame:?}");
            }
        }
        for packet in self.packets.iter().filter(|_| self.algorithm.is_framed()) {
            assert_eq!(packet.header_end_frame, packet.first_frame, "rule 3: a cut header, {packet:?}");
            assert!(packet.last_frame <= packet.first_frame + 1, "rule 3: over two frames, {packet:?}");
            if packet.last_frame > packet.first_frame {
                assert!(packet.ends_frame, "rule 4: something behind the tail of {packet:?}");
                let before = self.packets.iter().filter(|other| other.last_frame == packet.first_frame);
                assert_eq!(before.count(), 0, "rule 4: something before the start of {packet:?}");
            }
        }
    }

    fn assert_body(&self, frame: &SeenFrame) {
        assert!(frame.inner_len > 0, "rule 5: an empty frame");
        assert!(frame.packed_len < PACKET_PAYLOAD_LEN_MAX, "rule 5: {frame:?} is 0xFFFFFF");
        assert!(frame.plain_len < PACKET_PAYLOAD_LEN_MAX, "rule 5: {frame:?} is 0xFFFFFF");
        if frame.plain_len == 0 {
            return;
        }
        assert_eq!(frame.plain_len, frame.inner_len, "rule 5: announce exactly");
        assert!(frame.inner_len >= COMPRESS_LEN_MIN, "rule 5: {frame:?} is too short to be packed");
        assert!(frame.packed_len < frame.plain_len, "rule 5: {frame:?} is not smaller");
        match self.algorithm {
            Algorithm::Zlib => {
                assert_eq!(frame.head[0], 0x78, "rule 5: CMF");
                assert_eq!(frame.head[1] & 0x20, 0, "rule 5: a preset dictionary");
            }
            Algorithm::Zstd => {
                assert_eq!(frame.head[..4], [0x28, 0xb5, 0x2f, 0xfd], "rule 5: one zstd frame");
                let descriptor = frame.head[4];
                assert_eq!(descriptor & 0x04, 0, "rule 5: a checksum");
                assert_eq!(descriptor & 0x03, 0, "rule 5: a dictionary");
                // Content size: its flag, or a single segment, which implies one byte of it.
                assert!(descriptor & 0xe0 != 0, "rule 5: no content size");
            }
            Algorithm::Uncompressed => panic!("a frame on a plain leg"),
        }
    }

    /// Rule 5 towards TiDB.
    pub(crate) fn assert_no_packed_multiples_of_32_kib(&self) {
        if self.algorithm == Algorithm::Zlib {
            for frame in self.frames.iter().filter(|frame| frame.plain_len > 0) {
                assert_ne!(frame.inner_len % (32 << 10), 0, "rule 5: {frame:?} towards TiDB");
            }
        }
    }

    /// Rule 2 on the client leg: ids start at `first_id` and count by one, frames for themselves.
    pub(crate) fn assert_ids(&self, first_id: u8) {
        let ids = |count: usize| (0..count).map(move |index| first_id.wrapping_add(index as u8));
        let frame_ids: Vec<u8> = self.frames.iter().map(|frame| frame.sequence_id).collect();
        assert_eq!(frame_ids, ids(frame_ids.len()).collect::<Vec<_>>(), "rule 2: frame ids");
        let packet_ids: Vec<u8> = self.packets.iter().map(|packet| packet.sequence_id).collect();
        assert_eq!(packet_ids, ids(packet_ids.len()).collect::<Vec<_>>(), "rule 2: packet ids");
    }

    /// Rule 1: no frame holds the start of two of the `commands` (payloads that start here and there).
    pub(crate) fn assert_one_command_a_frame(&self) {
        for pair in self.packets.windows(2) {
            assert!(pair[0].ends_frame, "rule 1: something behind the command {:?}", pair[0]);
            assert!(pair[0].last_frame < pair[1].first_frame, "rule 1: two commands in a frame");
        }
        for packet in &self.packets {
            assert_eq!(packet.sequence_id, 0, "a command starts at 0");
            assert_eq!(self.frames[packet.first_frame].sequence_id, 0, "a command starts at frame 0");
        }
    }
}
