//! One direction of one leg, out of what a session or a sum counts.
//!
//! ```text
//!              client leg          server leg
//! to_server    unpacked there ──▶  packed there
//! to_client    packed there   ◀──  unpacked there
//! ```
//! Not here: counting (crate `proxy`).

use proxy::Traffic;

/// One direction of one leg.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Flow {
    /// What a leg without compression would carry, bytes.
    pub plain_len: u64,
    /// What it carried, without what TLS adds, bytes.
    pub packed_len: u64,
    /// CPU time of its codec, nanoseconds.
    pub cpu_ns: u64,
    /// Frames with a packed body; those included that were forwarded as their sender had packed them.
    pub frames_packed: u64,
    /// Frames whose body was stored.
    pub frames_stored: u64,
}

impl Flow {
    /// The names that labels and columns are made of, in the order of [`Flow::of`]: side and direction.
    pub const NAMES: [(&'static str, &'static str); 4] =
        [("client", "to_server"), ("client", "to_client"), ("server", "to_server"), ("server", "to_client")];

    /// All four. `traffic`: to the server, to the client.
    pub const fn of([to_server, to_client]: &[Traffic; 2]) -> [Self; 4] {
        [
            Self::source(to_server, to_server.client_leg_len),
            Self::destination(to_client, to_client.client_leg_len),
            Self::destination(to_server, to_server.server_leg_len),
            Self::source(to_client, to_client.server_leg_len),
        ]
    }

    const fn source(traffic: &Traffic, packed_len: u64) -> Self {
        Self {
            plain_len: traffic.plain_len,
            packed_len,
            cpu_ns: traffic.unpack_ns,
            frames_packed: traffic.source_frames_packed,
            frames_stored: traffic.source_frames_stored,
        }
    }

    const fn destination(traffic: &Traffic, packed_len: u64) -> Self {
        Self {
            plain_len: traffic.plain_len,
            packed_len,
            cpu_ns: traffic.pack_ns,
            frames_packed: traffic.frames_packed + traffic.frames_forwarded,
            frames_stored: traffic.frames_stored,
        }
    }

    /// Both together.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            plain_len: self.plain_len + other.plain_len,
            packed_len: self.packed_len + other.packed_len,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            frames_packed: self.frames_packed + other.frames_packed,
            frames_stored: self.frames_stored + other.frames_stored,
        }
    }

    /// Plain per packed; `None` before the first byte.
    pub fn ratio(&self) -> Option<f64> {
        (self.packed_len > 0).then(|| self.plain_len as f64 / self.packed_len as f64)
    }

    /// Bytes that did not have to be sent; negative where framing cost more than packing saved.
    pub const fn saved_len(&self) -> i64 {
        self.plain_len.cast_signed().saturating_sub(self.packed_len.cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leg_is_told_of_its_own_codec() {
        let to_server = Traffic {
            plain_len: 100,
            client_leg_len: 50,
            server_leg_len: 20,
            pack_ns: 7,
            unpack_ns: 3,
            source_frames_packed: 2,
            frames_packed: 5,
            frames_forwarded: 1,
            ..Traffic::default()
        };
        let [client, _, server, _] = Flow::of(&[to_server, Traffic::default()]);
        assert_eq!((client.ratio(), client.cpu_ns, client.frames_packed), (Some(2.0), 3, 2));
        assert_eq!((server.ratio(), server.cpu_ns, server.frames_packed), (Some(5.0), 7, 6));
        assert_eq!((client.saved_len(), server.saved_len()), (50, 80));
        assert_eq!(Flow::default().ratio(), None);
    }
}
