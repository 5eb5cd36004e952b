//! Any cutting of a stream gives the same, any flipped bit is a named fault, and histories rest together.

use codec::{Algorithm, AlgorithmSet, ZstdLevel};
use proptest::prelude::*;

use super::*;
use crate::Fault;
use crate::proxy_protocol;

const LEVEL: ZstdLevel = ZstdLevel::MIN;

fn ends(wish: Algorithm) -> (Writer, Reader) {
    let (mut writer, mut reader) = (Writer::default(), Reader::default());
    let codecs = CodecSet::of(AlgorithmSet::ALL);
    writer.agree(codecs, &[wish], LEVEL);
    reader.agree(codecs);
    (writer, reader)
}

/// All that `pieces` hold, and how it ended.
fn read_all<'a>(
    mut reader: Reader,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Vec<Event>, Option<Fault>) {
    let (mut received, mut plain, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        received.extend_from_slice(piece);
        loop {
            match reader.read(&received, &mut plain) {
                Ok(Some((len, event))) => {
                    received.drain(..len);
                    events.push(event);
                }
                Ok(None) => break,
                Err(fault) => return (plain, events, Some(fault)),
            }
        }
    }
    // As at a socket's end.
    let is_whole = received.is_empty() && events.last() == Some(&Event::End);
    (plain, events, (!is_whole).then_some(Fault::PairBrokenOff))
}

/// A stream of everything: stored, packed, large, rest, end; and the bytes that it carries.
fn stream(wish: Algorithm, messages: &[Vec<u8>], rest_at: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut writer, _) = ends(wish);
    let (mut bytes, mut plain) = (Vec::new(), Vec::new());
    let hello = Hello {
        versions: (1, 1),
        codecs: CodecSet::of(AlgorithmSet::ALL),
        proof: Some([7; PROOF_LEN]),
        program: "wirepress test".to_owned(),
    };
    Writer::hello(&hello, &mut bytes).unwrap();
    Writer::open(&proxy_protocol::Header::LOCAL, &mut bytes).unwrap();
    for (index, message) in messages.iter().enumerate() {
        if index == 1 {
            writer.start_packing();
        }
        if index == rest_at {
            writer.rest(&mut bytes).unwrap();
        }
        let mut rest = &message[..];
        while !rest.is_empty() {
            let (len, _) = writer.write(rest, &mut bytes, |_| true).unwrap();
            rest = &rest[len..];
        }
        plain.extend_from_slice(message);
    }
    writer.end(&mut bytes).unwrap();
    (bytes, plain)
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 1..300),
        prop::collection::vec(b'a'..b'e', 1..3000),
        (any::<u8>(), 1_usize..200_000).prop_map(|(byte, len)| vec![byte; len]),
    ]
}

fn wish() -> impl Strategy<Value = Algorithm> {
    prop_oneof![Just(Algorithm::Zstd), Just(Algorithm::Zlib), Just(Algorithm::Uncompressed)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_cutting_of_a_stream_gives_the_same_bytes(
        wish in wish(),
        messages in prop::collection::vec(message(), 1..12),
        rest_at in 0_usize..12,
        cuts in prop::collection::vec(1_usize..5000, 1..40),
    ) {
        let (bytes, plain) = stream(wish, &messages, rest_at);
        let mut pieces = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            let (piece, behind) = rest.split_at(rest.len().min(*cut));
            pieces.push(piece);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        let whole = read_all(ends(wish).1, [&bytes[..]]);
        prop_assert_eq!(&whole.0, &plain);
        prop_assert_eq!(&whole.2, &None);
        prop_assert_eq!(read_all(ends(wish).1, pieces), whole);
    }
}

#[test]
fn any_flipped_bit_is_a_named_fault_and_nothing_of_its_frame_is_passed_on() {
    for wish in [Algorithm::Zstd, Algorithm::Zlib, Algorithm::Uncompressed] {
        let rows: Vec<_> =
            (0..12_u32).map(|id| format!("{id} a row that looks like others {id}").into_bytes()).collect();
        let (bytes, plain) = stream(wish, &rows, 6);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let (read, _, fault) = read_all(ends(wish).1, [&flipped[..]]);
            let fault = fault.unwrap_or_else(|| panic!("{wish}: bit {bit} is unnoticed"));
            assert!(plain.starts_with(&read), "{wish}: bit {bit}, {fault}");
            assert_ne!(fault, Fault::PairBrokenOff, "{wish}: bit {bit} makes the reader wait");
        }
    }
}

#[test]
fn a_frame_of_the_full_length_is_read_whatever_it_holds() {
    let mut seed = 1_u64;
    let mut noise = |len: usize| -> Vec<u8> {
        std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        })
        .take(len)
        .collect()
    };
    let lens = [1 << 16, (1 << 16) - 1, (1 << 16) + 1, FRAME_PLAIN_LEN_MAX - 1, FRAME_PLAIN_LEN_MAX];
    for wish in [Algorithm::Zstd, Algorithm::Zlib, Algorithm::Uncompressed] {
        let (mut writer, mut reader) = ends(wish);
        writer.start_packing();
        for plain in lens.into_iter().flat_map(|len| [noise(len), vec![b'a'; len]]) {
            for packs in [true, false] {
                let (mut bytes, mut read) = (Vec::new(), Vec::new());
                if !packs || writer.pack(&plain, &mut bytes, |_| true).unwrap().is_none() {
                    let start = Writer::begin(&mut bytes);
                    bytes.extend_from_slice(&plain);
                    Writer::store(&mut bytes, start).unwrap();
                }
                assert!(reader.read(&bytes[..bytes.len() - 1], &mut read).unwrap().is_none());
                let whole = Some((bytes.len(), Event::Bytes(plain.len())));
                assert_eq!(reader.read(&bytes, &mut read).unwrap(), whole, "{wish}");
                assert!(read == plain, "{wish}");
            }
        }
    }
    let mut too_long = vec![0; HEADER_LEN + BODY_LEN_MAX + 1];
    assert_eq!(Writer::store(&mut too_long, 0), Err(Fault::PairHeader));
}

#[test]
fn a_full_frame_begins_a_long_history_at_once() {
    let (mut writer, _) = ends(Algorithm::Zstd);
    writer.start_packing();
    writer.pack(b"a small reply", &mut Vec::new(), |_| true).unwrap();
    let short_len = writer.history_len();
    let begins_anew = writer.pack(&[b'a'; FRAME_PLAIN_LEN_MAX], &mut Vec::new(), |_| true);
    assert_eq!(begins_anew, Ok(Some(Packed { begins_anew: true, level: ZstdLevel::MIN })));
    assert!(writer.history_len() > short_len);
}

#[test]
fn another_level_begins_another_history_if_there_is_memory_for_it() {
    let (mut writer, mut reader) = ends(Algorithm::Zstd);
    writer.start_packing();
    let rows = b"order 17, customer 7919, open; ".repeat(FRAME_PLAIN_LEN_MAX / 31);
    let mut pack = |writer: &mut Writer, has_memory| {
        let (mut bytes, mut plain) = (Vec::new(), Vec::new());
        let packed = writer.pack(&rows, &mut bytes, |_| has_memory).unwrap();
        reader.read(&bytes, &mut plain).unwrap().unwrap();
        assert!(plain == rows);
        packed.unwrap()
    };
    let [easy, hard] = [1, 7].map(|level| ZstdLevel::new(level).unwrap());
    while pack(&mut writer, true).begins_anew {}
    let easy_len = writer.history_len();
    writer.set_level(hard);
    assert_eq!(pack(&mut writer, false), Packed { begins_anew: false, level: easy }, "no memory");
    assert_eq!(pack(&mut writer, true), Packed { begins_anew: true, level: hard });
    assert!(writer.history_len() > easy_len);
    assert_eq!(pack(&mut writer, false), Packed { begins_anew: false, level: hard });
    // What takes less needs no more memory.
    writer.set_level(easy);
    assert_eq!(pack(&mut writer, false), Packed { begins_anew: true, level: easy });
}

#[test]
fn a_stream_that_breaks_off_anywhere_never_looks_complete() {
    let (bytes, _) = stream(Algorithm::Zstd, &[b"login".to_vec(), b"a row".to_vec(), b"a row".to_vec()], 9);
    for len in 0..bytes.len() {
        assert!(read_all(ends(Algorithm::Zstd).1, [&bytes[..len]]).2.is_some(), "{len} bytes");
    }
}

#[test]
fn a_rest_drops_the_history_of_both_ends_and_the_next_frame_begins_anew() {
    for wish in [Algorithm::Zstd, Algorithm::Zlib] {
        let (mut writer, mut reader) = ends(wish);
        writer.start_packing();
        let say = |writer: &mut Writer, reader: &mut Reader| {
            let (mut bytes, mut plain) = (Vec::new(), Vec::new());
            writer.write(b"the very same row of some length, again and again", &mut bytes, |_| true).unwrap();
            assert!(reader.read(&bytes, &mut plain).unwrap().is_some());
            bytes.len()
        };
        let first = say(&mut writer, &mut reader);
        let second = say(&mut writer, &mut reader);
        assert!(second < first / 2, "{wish}: {second} of {first}");
        assert!(writer.has_history() && reader.has_history());
        let mut bytes = Vec::new();
        assert!(writer.rest(&mut bytes).unwrap());
        assert_eq!(reader.read(&bytes, &mut Vec::new()).unwrap(), Some((HEADER_LEN, Event::Rest)));
        assert!(!writer.has_history() && !reader.has_history());
        assert!(!writer.rest(&mut bytes).unwrap(), "there is nothing left to tell");
        assert_eq!(say(&mut writer, &mut reader), first, "{wish}");
    }
}

#[test]
fn without_memory_for_a_history_frames_are_stored() {
    let (mut writer, mut reader) = ends(Algorithm::Zstd);
    writer.start_packing();
    let (mut bytes, mut plain) = (Vec::new(), Vec::new());
    assert_eq!(writer.write(b"stored", &mut bytes, |_| false), Ok((6, false)));
    assert_eq!(writer.write(b"packed", &mut bytes, |_| true), Ok((6, true)));
    assert!(writer.history_len() > 0);
    let (len, _) = reader.read(&bytes, &mut plain).unwrap().unwrap();
    reader.read(&bytes[len..], &mut plain).unwrap().unwrap();
    assert_eq!(plain, b"storedpacked");
}

#[test]
fn a_frame_of_a_codec_that_was_not_agreed_on_or_without_its_history_is_refused() {
    let (mut writer, _) = ends(Algorithm::Zstd);
    writer.start_packing();
    let mut bytes = Vec::new();
    writer.write(b"first", &mut bytes, |_| true).unwrap();
    let fault = Reader::default().read(&bytes, &mut Vec::new()).unwrap_err();
    assert_eq!(fault, Fault::PairCodecNotAgreed(Algorithm::Zstd));
    bytes.clear();
    writer.write(b"second", &mut bytes, |_| true).unwrap();
    let fault = ends(Algorithm::Zstd).1.read(&bytes, &mut Vec::new()).unwrap_err();
    assert_eq!(fault, Fault::PairHistoryMissing(Algorithm::Zstd));
}

#[test]
fn incompressible_results_are_stored_but_for_a_try_now_and_then() {
    let (mut writer, _) = ends(Algorithm::Zstd);
    writer.start_packing();
    let mut seed = 1_u64;
    let mut noise = || -> Vec<u8> {
        std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        })
        .take(10_000)
        .collect()
    };
    let packed = (0..1000).filter(|_| writer.write(&noise(), &mut Vec::new(), |_| true).unwrap().1).count();
    assert!((1..20).contains(&packed), "{packed} of 1000 frames were tried");
    let mut bytes = Vec::new();
    assert!(writer.write(b"a small reply", &mut bytes, |_| true).unwrap().1, "small ones are always tried");
}

#[test]
fn older_and_newer_ends_agree_on_what_both_know() {
    let old = Hello { versions: (1, 1), codecs: CodecSet(0b10), proof: None, program: String::new() };
    let new = Hello { versions: (1, 9), codecs: CodecSet(0b1111_0110), ..old.clone() };
    assert_eq!(old.agree(&new), Ok(Agreement { version: 1, codecs: CodecSet(0b10) }));
    assert_eq!(new.agree(&old), old.agree(&new));
    let newest = Hello { versions: (5, 9), ..new.clone() };
    assert_eq!(old.agree(&newest), Err(Fault::PairVersion { ours: (1, 1), theirs: (5, 9) }));
    let mut body = new.build();
    body.extend_from_slice(&[200, 3, 0, 1, 2, 3]);
    assert_eq!(Hello::parse(&body), Ok(new), "fields of a later version are skipped");
}

#[test]
fn a_field_of_a_hello_comes_once() {
    let hello = Hello {
        versions: (1, 1),
        codecs: CodecSet(0b10),
        proof: Some([7; PROOF_LEN]),
        program: "w".to_owned(),
    };
    let body = hello.build();
    let unknown = [200, 1, 0, 9];
    for (tag, field) in [
        (1, &[1, 2, 0, 1, 9][..]),
        (2, &[2, 4, 0, 0, 0, 0, 0]),
        (3, &[3, 0, 0]),
        (4, &[4, 0, 0]),
        (200, &unknown),
    ] {
        let twice = [&body[..], &unknown, field].concat();
        assert_eq!(Hello::parse(&twice), Err(Fault::PairFieldRepeated(tag)));
    }
}

#[test]
fn a_foreign_peer_is_named_by_its_first_bytes() {
    for (bytes, name) in [
        (&b"\x4a\0\0\0\x0a8.4.0"[..], "MySQL server"),
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"\x16\x03\x01", "TLS"),
        (b"SSH-2.0-", "SSH"),
        (b"\xb3\0\0\x01\x85", "MySQL client"),
        (b"hello", "something else"),
        (b"\x89WPPAIRq", "another make"),
    ] {
        let fault = Preamble::parse(bytes).unwrap_err().to_string();
        assert!(fault.contains(name), "{fault}");
    }
    for preamble in [
        Preamble::Mode(Mode::Tls),
        Preamble::Mode(Mode::Clear),
        Preamble::Refusal("TLS is required".to_owned()),
    ] {
        let bytes = preamble.build();
        assert_eq!(Preamble::parse(&bytes), Ok(Some((preamble, bytes.len()))));
        assert_eq!(Preamble::parse(&bytes[..bytes.len() - 1]), Ok(None));
    }
}
