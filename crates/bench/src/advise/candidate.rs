//! What could be done about a workload: who packs, with what, and what that costs on the workload's own bytes.
//!
//! ```text
//!  none          server ═ link ═ app
//!  server        server packs ═ link ═ app unpacks               if the server offers it: measured by asking for it
//!  wirepress     server ─ wirepress packs ═ link ═ app unpacks   frames of up to 128 KiB, packed here to know the rates
//! ```
//! Invariants: a rate is CPU time of this process's own codecs on frames that were sampled, so a neighbour does not
//! slow it down; none of it is written anywhere.
//!
//! Not here: wirepress beside the app, which unpacks what the server packs: to the link it is the same as `server`.

use std::fmt;
use std::time::Duration;

use codec::{Algorithm, Contexts};
use wire::frame;

use crate::client::Compression;
use crate::cpu;

/// Who packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packer {
    /// The server itself.
    Server,
    /// A wirepress on the server's side of the link.
    Wirepress,
}

/// Something that could be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Who packs; nobody where there is no compression.
    pub(crate) packer: Packer,
    /// With what.
    pub(crate) compression: Compression,
}

impl Candidate {
    /// No compression.
    pub(crate) const NONE: Self = Self { packer: Packer::Server, compression: Compression::NONE };

    /// Whether it packs at all.
    pub(crate) const fn packs(&self) -> bool {
        self.compression.algorithm.is_framed()
    }

    /// Bytes that are packed together.
    pub(crate) fn frame_bytes(&self) -> f64 {
        match self.packer {
            Packer::Server => SERVER_FRAME_BYTES,
            Packer::Wirepress => WIREPRESS_FRAME_BYTES,
        }
    }

    /// `zstd 3`, `zlib`, `none`.
    pub(crate) fn setting(&self) -> String {
        match self.compression.algorithm {
            Algorithm::Uncompressed => "none".to_owned(),
            Algorithm::Zlib => "zlib".to_owned(),
            Algorithm::Zstd => format!("zstd {}", self.compression.level),
        }
    }

    /// Who does it, in words.
    pub(crate) const fn who(&self) -> &'static str {
        match self.packer {
            _ if !self.packs() => "nobody",
            Packer::Server => "the server itself",
            Packer::Wirepress => "wirepress beside the server",
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packer {
            _ if !self.packs() => f.write_str("none"),
            Packer::Server => write!(f, "server {}", self.setting()),
            Packer::Wirepress => write!(f, "wirepress {}", self.setting()),
        }
    }
}

/// The compressions that are tried.
pub(crate) const COMPRESSIONS: [Compression; 5] = {
    let [a, b, c, d, e] = codec::ADVISED;
    [compression(a), compression(b), compression(c), compression(d), compression(e)]
};

const fn compression((algorithm, level): (Algorithm, u8)) -> Compression {
    Compression { algorithm, level }
}

/// What a codec does with the workload's bytes, on one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CodecRates {
    /// Plain bytes in terms of packed ones, frames' headers included.
    pub(crate) ratio: f64,
    /// Plain bytes per second of CPU, packing.
    pub(crate) pack_bytes_per_s: f64,
    /// Plain bytes per second of CPU, unpacking.
    pub(crate) unpack_bytes_per_s: f64,
}

impl CodecRates {
    /// CPU seconds for a GB (10^9 bytes) of plain bytes, both ends together.
    pub(crate) fn cpu_s_per_gb(&self) -> f64 {
        1e9 / self.pack_bytes_per_s + 1e9 / self.unpack_bytes_per_s
    }
}

/// Packs and unpacks frames until [`CPU_MIN`] of each has been spent.
///
/// # Errors
/// The codec fails, which it does not with what it has packed itself.
pub(crate) fn codec_rates(compression: Compression, frames: &[Vec<u8>]) -> anyhow::Result<CodecRates> {
    let mut contexts = Contexts::new();
    let mut packed = vec![Vec::new(); frames.len()];
    let (mut pack, mut unpack, mut rounds) = (Duration::ZERO, Duration::ZERO, 0.0);
    let mut plain = Vec::new();
    // The first round makes contexts and touches memory.
    for round in 0.. {
        let start = cpu::this_thread();
        for (from, to) in frames.iter().zip(&mut packed) {
            to.clear();
            frame::encode(&mut contexts, compression.algorithm, compression.level, 0, from, to)?;
        }
        let middle = cpu::this_thread();
        for body in &packed {
            plain.clear();
            if let (Some(header), Some(body)) = (frame::Header::parse(body), body.get(frame::HEADER_LEN..)) {
                frame::decode(&mut contexts, compression.algorithm, header, body, &mut plain)?;
            }
        }
        let end = cpu::this_thread();
        if round > 0 {
            pack += middle - start;
            unpack += end - middle;
            rounds += 1.0;
        }
        if round > 0 && pack + unpack >= CPU_MIN {
            break;
        }
    }
    let plain_bytes = f64_of(frames.iter().map(Vec::len).sum());
    let packed_bytes = f64_of(packed.iter().map(Vec::len).sum());
    let rate = |time: Duration| plain_bytes * rounds / time.as_secs_f64().max(1e-9);
    Ok(CodecRates {
        ratio: plain_bytes / packed_bytes.max(1.0),
        pack_bytes_per_s: rate(pack),
        unpack_bytes_per_s: rate(unpack),
    })
}

#[expect(clippy::cast_precision_loss, reason = "samples are some megabytes")]
const fn f64_of(count: usize) -> f64 {
    count as f64
}

/// What servers send at once by default (`net_buffer_length`).
const SERVER_FRAME_BYTES: f64 = 16_384.0;
/// What wirepress closes a frame at (`docs/adr/0006-frame-size.md`).
const WIREPRESS_FRAME_BYTES: f64 = 131_072.0;
/// Long against the clock's resolution and a core's change of speed; five codecs take less than two seconds.
const CPU_MIN: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_repeat_shrink_and_noise_does_not() {
        let repeated = vec![b"wirepress ".repeat(5000); 4];
        let noise = vec![lab::generate::blob(1, 1, 50_000); 4];
        for compression in COMPRESSIONS {
            let rates = codec_rates(compression, &repeated).unwrap();
            assert!(rates.ratio > 50.0 && rates.pack_bytes_per_s > 1e6, "{compression:?} {rates:?}");
            assert!(rates.cpu_s_per_gb() > 0.0);
            let rates = codec_rates(compression, &noise).unwrap();
            assert!((0.99..=1.0).contains(&rates.ratio), "{compression:?} {rates:?}");
        }
    }

    #[test]
    fn candidates_are_named_as_people_call_them() {
        let zstd = Compression { algorithm: Algorithm::Zstd, level: 3 };
        let named = |packer| Candidate { packer, compression: zstd }.to_string();
        assert_eq!(named(Packer::Server), "server zstd 3");
        assert_eq!(named(Packer::Wirepress), "wirepress zstd 3");
        assert_eq!(Candidate::NONE.to_string(), "none");
    }
}
