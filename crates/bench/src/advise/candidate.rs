//! What could be done about a workload: who packs, with what, and what that costs on the workload's own bytes.
//!
//! ```text
//!  none          server ═ link ═ app
//!  server        server packs ═ link ═ app unpacks               if the server offers it; frames of up to 16 KiB
//!  wirepress     server ─ wirepress packs ═ link ═ app unpacks   frames of up to 128 KiB
//! ```
//! Both pack otherwise: wirepress by parameters of its own (`docs/adr/0005-zstd-parameters.md`), a server by the libraries'.
//! So the sampled frames are packed here in either way to know the rates.
//!
//! Invariants: a rate is CPU time of this thread on frames that were sampled, so a neighbour does not slow it down; none of
//! it is written anywhere.
//!
//! Not here: wirepress beside the app, which unpacks what the server packs: to the link it is the same as `server`.

use std::fmt;
use std::time::Duration;

use codec::{Algorithm, Contexts};
use wire::frame;
use wire::limits::SHARED_FRAME_LEN_UNKNOWN;

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

impl Packer {
    /// Codecs that pack as it does.
    const fn contexts(self) -> Contexts {
        match self {
            Self::Server => Contexts::of_a_server(),
            Self::Wirepress => Contexts::new(),
        }
    }

    /// What it makes frames of, where wirepress makes `frame`.
    fn pieces(self, frame: &[u8]) -> std::slice::Chunks<'_, u8> {
        match self {
            Self::Server => frame.chunks(SHARED_FRAME_LEN_UNKNOWN),
            Self::Wirepress => frame.chunks(frame.len().max(1)),
        }
    }
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
    /// All that pack, the server's first.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let of = |packer| COMPRESSIONS.into_iter().map(move |compression| Self { packer, compression });
        of(Packer::Server).chain(of(Packer::Wirepress))
    }

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
        1e9 * self.cpu_s_per_byte()
    }

    /// The same for a byte.
    pub(crate) fn cpu_s_per_byte(&self) -> f64 {
        1.0 / self.pack_bytes_per_s + 1.0 / self.unpack_bytes_per_s
    }

    /// What was measured with [`Contexts::of_a_server`], or [`Contexts::new`], as the candidate's own packer does it: a
    /// server's zlib is another code than the one here.
    pub(crate) fn of(candidate: &Candidate, measured: Self) -> Self {
        let is_servers = candidate.packer == Packer::Server;
        let factor =
            if is_servers && candidate.compression.algorithm == Algorithm::Zlib { ZLIB_CPU } else { 1.0 };
        Self { pack_bytes_per_s: measured.pack_bytes_per_s / factor, ..measured }
    }
}

/// Packs and unpacks frames as the candidate does, until [`CPU_MIN`] of each has been spent.
///
/// # Errors
/// The codec fails, which it does not with what it has packed itself.
pub(crate) fn codec_rates(candidate: &Candidate, frames: &[Vec<u8>]) -> anyhow::Result<CodecRates> {
    let Compression { algorithm, level } = candidate.compression;
    let mut contexts = candidate.packer.contexts();
    let pieces: Vec<&[u8]> = frames.iter().flat_map(|frame| candidate.packer.pieces(frame)).collect();
    let mut packed = vec![Vec::new(); pieces.len()];
    let (mut pack, mut unpack, mut rounds) = (Duration::ZERO, Duration::ZERO, 0.0);
    let mut plain = Vec::new();
    // The first round makes contexts and touches memory.
    for round in 0.. {
        let start = cpu::this_thread();
        for (from, to) in pieces.iter().zip(&mut packed) {
            to.clear();
            frame::encode(&mut contexts, algorithm, level, 0, from, to)?;
        }
        let middle = cpu::this_thread();
        for body in &packed {
            plain.clear();
            if let (Some(header), Some(body)) = (frame::Header::parse(body), body.get(frame::HEADER_LEN..)) {
                frame::decode(&mut contexts, algorithm, header, body, &mut plain)?;
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
    let measured = CodecRates {
        ratio: plain_bytes / packed_bytes.max(1.0),
        pack_bytes_per_s: rate(pack),
        unpack_bytes_per_s: rate(unpack),
    };
    Ok(CodecRates::of(candidate, measured))
}

#[expect(clippy::cast_precision_loss, reason = "samples are some megabytes")]
const fn f64_of(count: usize) -> f64 {
    count as f64
}

/// What servers send at once by default (`net_buffer_length`).
const SERVER_FRAME_BYTES: f64 = 16_384.0;
/// What wirepress closes a frame at (`docs/adr/0006-frame-size.md`).
const WIREPRESS_FRAME_BYTES: f64 = 131_072.0;
/// zlib, which servers pack with, takes so much more CPU than zlib-rs at the same level, on sysbench's digits and on prose
/// alike: 1.75 and 1.7 times. Source: `cargo run --example speeds`, "zlib 6 server", beside `zlib.compress` of Python with
/// zlib 1.2.13, both on pieces of 16 KiB. MySQL's own: `wirepress bench codec-cpu`.
pub(crate) const ZLIB_CPU: f64 = 1.7;
/// Long against the clock's resolution and a core's change of speed; ten candidates take some seconds.
const CPU_MIN: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_repeat_shrink_and_noise_does_not() {
        let repeated = vec![b"wirepress ".repeat(5000); 4];
        let noise = vec![lab::generate::blob(1, 1, 50_000); 4];
        for candidate in Candidate::all() {
            let rates = codec_rates(&candidate, &repeated).unwrap();
            assert!(rates.ratio > 50.0 && rates.pack_bytes_per_s > 1e6, "{candidate} {rates:?}");
            assert!(rates.cpu_s_per_gb() > 0.0);
            let rates = codec_rates(&candidate, &noise).unwrap();
            assert!((0.99..=1.0).contains(&rates.ratio), "{candidate} {rates:?}");
        }
    }

    #[test]
    fn what_a_server_packs_takes_more_cpu_on_digits_than_what_wirepress_does() {
        let mut digits = Vec::new();
        for id in 1..=4_000 {
            let row = lab::generate::sysbench_row(1, id, 4_000);
            digits.extend_from_slice(format!("{id}\t{}\t{}\t{}", row.k, row.c, row.pad).as_bytes());
        }
        let frames: Vec<Vec<u8>> = digits.chunks(128 << 10).map(<[u8]>::to_vec).collect();
        let [zlib, zstd_1, zstd_3, ..] = COMPRESSIONS;
        for (compression, factor) in [(zlib, 1.5), (zstd_1, 1.2), (zstd_3, 1.5)] {
            let packing = |packer| {
                1.0 / codec_rates(&Candidate { packer, compression }, &frames).unwrap().pack_bytes_per_s
            };
            let (server, wirepress) = (packing(Packer::Server), packing(Packer::Wirepress));
            assert!(server > factor * wirepress, "{compression:?}: {server} {wirepress}");
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
