//! Round trips, lies about lengths, bombs.

use proptest::prelude::*;

use super::*;

const FRAMED: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd];

fn pack(algorithm: Algorithm, level: u8, plain: &[u8]) -> Option<Vec<u8>> {
    let mut out = b"before".to_vec();
    let packed = Contexts::new().compress(algorithm, level, plain, &mut out).unwrap();
    assert!(out.starts_with(b"before"));
    packed.then(|| out.split_off(6))
}

proptest! {
    #[test]
    fn what_was_packed_unpacks_to_the_same_bytes(
        seed in proptest::collection::vec(any::<u8>(), 1..300), repeats in 1_usize..60, level in 1_u8..=22
    ) {
        let plain = seed.repeat(repeats);
        for algorithm in FRAMED {
            if let Some(packed) = pack(algorithm, level, &plain) {
                prop_assert!(packed.len() < plain.len());
                prop_assert!(Contexts::is_canonical(algorithm, &packed, &plain));
                let mut out = Vec::new();
                Contexts::new().decompress(algorithm, &packed, plain.len(), &mut out).unwrap();
                prop_assert_eq!(&out, &plain);
            }
        }
    }

    #[test]
    fn any_garbage_is_a_fault_or_bytes_within_the_declared_length(
        packed in proptest::collection::vec(any::<u8>(), 0..200), declared_len in 0_usize..4096
    ) {
        for algorithm in FRAMED {
            let mut out = Vec::new();
            let result = Contexts::new().decompress(algorithm, &packed, declared_len, &mut out);
            prop_assert!(out.len() <= declared_len);
            prop_assert!(result.is_ok() || out.is_empty());
        }
    }
}

#[test]
fn random_bytes_are_not_packed() {
    let plain: Vec<u8> = (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut noise = plain;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for byte in &mut noise {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
    for algorithm in FRAMED {
        assert!(pack(algorithm, 1, &noise).is_none());
    }
}

/// Rule 5. More and more zeros behind noise: at some length the packed form is as long as the content.
#[test]
fn what_is_as_long_packed_as_plain_is_not_packed() {
    let noise: Vec<u8> = (1..=64_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for algorithm in FRAMED {
        let lens: Vec<Option<usize>> = (0..64)
            .map(|zeros| {
                pack(algorithm, 1, &[&noise[..], &vec![0; zeros]].concat()).map(|packed| packed.len())
            })
            .collect();
        assert!(
            lens.iter().enumerate().all(|(zeros, len)| len.is_none_or(|len| len < 64 + zeros)),
            "{lens:?}"
        );
        assert!(lens[0].is_none() && lens[63].is_some(), "the border lies between: {lens:?}");
    }
}

#[test]
fn a_bomb_stops_at_the_declared_length() {
    let plain = vec![0; 16 << 20];
    for algorithm in FRAMED {
        let packed = pack(algorithm, 1, &plain).unwrap();
        let mut out = Vec::new();
        let fault = Contexts::new().decompress(algorithm, &packed, 1000, &mut out).unwrap_err();
        assert_eq!(fault, Fault::BodyLongerThanDeclared { declared_len: 1000 });
        assert!(out.is_empty() && out.capacity() < 100_000);
    }
}

#[test]
fn a_length_declared_too_large_is_a_fault_with_zstd_and_allowed_with_zlib_as_servers_do() {
    let plain = b"abcdefgh".repeat(100);
    let zlib = pack(Algorithm::Zlib, 1, &plain).unwrap();
    let mut out = Vec::new();
    assert_eq!(Contexts::new().decompress(Algorithm::Zlib, &zlib, 1000, &mut out), Ok(800));
    assert_eq!(out, plain);
    let zstd = pack(Algorithm::Zstd, 1, &plain).unwrap();
    let fault = Contexts::new().decompress(Algorithm::Zstd, &zstd, 1000, &mut out).unwrap_err();
    assert_eq!(fault, Fault::BodyShorterThanDeclared { declared_len: 1000, actual_len: 800 });
}

#[test]
fn a_truncated_body_is_corrupt() {
    let plain = b"abcdefgh".repeat(100);
    for algorithm in FRAMED {
        let packed = pack(algorithm, 1, &plain).unwrap();
        let cut = &packed[..packed.len() - 3];
        assert!(Contexts::new().decompress(algorithm, cut, 800, &mut Vec::new()).is_err());
    }
}

#[test]
fn bytes_after_a_stream_make_it_not_canonical() {
    let plain = b"abcdefgh".repeat(100);
    for algorithm in FRAMED {
        let mut packed = pack(algorithm, 1, &plain).unwrap();
        packed.extend_from_slice(b"junk!");
        assert!(!Contexts::is_canonical(algorithm, &packed, &plain));
    }
}

#[test]
fn one_context_serves_many_levels_in_turn() {
    let plain = b"0123456789-".repeat(1000);
    let mut contexts = Contexts::new();
    for level in [1, 22, 3, 7, 1] {
        for algorithm in FRAMED {
            let mut packed = Vec::new();
            assert!(contexts.compress(algorithm, level, &plain, &mut packed).unwrap());
            let mut out = Vec::new();
            contexts.decompress(algorithm, &packed, plain.len(), &mut out).unwrap();
            assert_eq!(out, plain);
        }
    }
}

#[test]
fn a_context_serves_another_level_behind_a_frame_that_did_not_shrink() {
    let mut state = 1_u64;
    let noise: Vec<u8> = (0..100_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    let text = b"the link carries what the server sends ".repeat(2000);
    for algorithm in FRAMED {
        let mut contexts = Contexts::new();
        for level in [1, 3, 1, 7, 2, 9, 1] {
            let mut out = Vec::new();
            assert!(!contexts.compress(algorithm, level, &noise, &mut out).unwrap(), "{algorithm} {level}");
            assert!(out.is_empty());
            assert!(contexts.compress(algorithm, level + 1, &text, &mut out).unwrap(), "{algorithm} {level}");
            assert!(
                !contexts.compress(algorithm, level + 1, &noise, &mut out).unwrap(),
                "{algorithm} {level}"
            );
        }
    }
}

#[test]
fn zstd_1_makes_digits_smaller_than_the_library_does_in_the_frames_of_a_server() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut digit = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b'0' + u8::try_from((state >> 32) % 10).unwrap()
    };
    // As packets of sysbench's rows: a header, the id, and 15 groups of 11 digits.
    let mut rows = Vec::new();
    for id in 1000_u32..7000 {
        rows.extend([188, 0, 0, (id % 256) as u8, 4]);
        rows.extend(id.to_string().into_bytes());
        for (len, groups) in [(119, 10), (59, 5)] {
            rows.push(len);
            for group in 0..groups {
                rows.extend((group > 0).then_some(b'-'));
                rows.extend((0..11).map(|_| digit()));
            }
        }
    }
    // A server fills frames of 16 KiB; each has a header of 7 bytes.
    let of_a_server: usize = rows
        .chunks(16 << 10)
        .map(|frame| {
            let mut room = vec![0; frame.len()];
            7 + zstd_safe::compress(&mut room[..], frame, 1).unwrap()
        })
        .sum();
    for frame_len in [16 << 10, 64 << 10, 128 << 10] {
        let own: usize =
            rows.chunks(frame_len).map(|frame| 7 + pack(Algorithm::Zstd, 1, frame).unwrap().len()).sum();
        assert!(own < of_a_server, "{frame_len}: {own} {of_a_server}");
    }
}

#[test]
fn what_is_packed_as_a_server_does_is_what_the_library_makes_and_is_read_as_any_other() {
    let plain: Vec<u8> = (0_u32..2_000).flat_map(|n| (n * 7919 % 10_007).to_string().into_bytes()).collect();
    let of_a_server = |algorithm, level| {
        let mut packed = Vec::new();
        assert!(Contexts::of_a_server().compress(algorithm, level, &plain, &mut packed).unwrap());
        assert!(Contexts::is_canonical(algorithm, &packed, &plain));
        let mut out = Vec::new();
        Contexts::new().decompress(algorithm, &packed, plain.len(), &mut out).unwrap();
        assert_eq!(out, plain);
        packed
    };
    for level in [1_u8, 3, 7] {
        let mut room = vec![0; plain.len()];
        let len = zstd_safe::compress(&mut room[..], &plain, i32::from(level)).unwrap();
        assert_eq!(of_a_server(Algorithm::Zstd, level), room[..len]);
    }
    assert_ne!(Some(of_a_server(Algorithm::Zstd, 3)), pack(Algorithm::Zstd, 3, &plain));
    assert_eq!(of_a_server(Algorithm::Zlib, 1), of_a_server(Algorithm::Zlib, 9));
    let noise: Vec<u8> = (0..=255).collect();
    assert!(!Contexts::of_a_server().compress(Algorithm::Zlib, 6, &noise, &mut Vec::new()).unwrap());
}
