//! Streams as a whole: what is packed comes back, and nothing that was done to it on the way goes unnoticed.
//!
//! Not here: the command line (crate `cli`).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod net;

use std::io::{Cursor, Read};
use std::num::NonZeroUsize;

use proptest::prelude::*;
use transfer::{
    EndRecord, Fault, FrameRecord, Meter, PackOptions, Rule, Setting, StartRecord, Summary, UnpackOptions,
    pack, unpack,
};

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn packed_by(rule: Rule, workers: usize, plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let options = PackOptions { rule, threads: threads(workers) };
    let meter = Meter::default();
    let summary = pack(Cursor::new(plain.to_vec()), &mut out, &options, &meter).unwrap();
    assert_eq!((summary.plain_len, summary.packed_len), (plain.len() as u64, out.len() as u64));
    assert_eq!(meter.read().packed_len, out.len() as u64);
    out
}

fn packed(plain: &[u8]) -> Vec<u8> {
    packed_by(Rule::Fixed(Setting::Level(1)), 2, plain)
}

fn unpacked_by(options: &UnpackOptions, stream: &[u8]) -> (Vec<u8>, Result<Summary, Fault>) {
    let mut out = Vec::new();
    let done = unpack(Cursor::new(stream.to_vec()), &mut out, options, &Meter::default());
    (out, done)
}

fn unpacked(stream: &[u8]) -> (Vec<u8>, Result<Summary, Fault>) {
    unpacked_by(&UnpackOptions::new(threads(2)), stream)
}

/// Something of everything: text, zeros, noise.
fn pages(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut page = move |index: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let seed = state;
        (0..16_384_u64).map(move |at| match index % 3 {
            0 => b"INFO request completed in 12 ms\n"[at as usize % 32] ^ u8::from(at % 97 == seed % 97),
            1 => 0,
            _ => (seed.wrapping_mul(at | 1) >> 29) as u8,
        })
    };
    (0..len.div_ceil(16_384)).flat_map(|index| page(index).collect::<Vec<_>>()).take(len).collect()
}

const CHUNK: usize = transfer::memory::chunk_len(Some(Setting::Level(1)));

/// Where each frame with its record begins and ends.
fn frames(stream: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut at = StartRecord::LEN;
    let mut frames = Vec::new();
    while let Some(record) = stream[at..].first_chunk().and_then(FrameRecord::from_bytes) {
        let end = at + FrameRecord::LEN + record.packed_len as usize;
        frames.push(at..end);
        at = end;
    }
    assert_eq!(stream.len() - at, EndRecord::LEN);
    frames
}

#[test]
fn what_is_packed_comes_back_whatever_the_length_setting_and_threads() {
    for len in [0, 1, 13, 16_384, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 77] {
        let plain = pages(len);
        for (rule, workers) in [
            (Rule::Fixed(Setting::Level(1)), 1),
            (Rule::Fixed(Setting::Level(-3)), 3),
            (Rule::Fixed(Setting::Stored), 2),
            (Rule::Fastest, 2),
            (Rule::FastestSmall, 2),
        ] {
            let stream = packed_by(rule, workers, &plain);
            let (back, done) = unpacked_by(&UnpackOptions::new(threads(workers)), &stream);
            assert_eq!(done.unwrap().plain_len, len as u64);
            assert!(back == plain, "{len} {rule:?}");
        }
    }
}

#[test]
fn any_reader_of_zstd_reads_a_stream() {
    let plain = pages(3 * CHUNK + 5);
    let stream = packed(&plain);
    let mut out = vec![0; plain.len() + 1];
    let len = zstd_safe::DCtx::create().decompress(&mut out[..], &stream).unwrap();
    assert!(out[..len] == plain);
}

#[test]
fn a_stream_is_the_same_whatever_the_number_of_threads() {
    let plain = pages(4 * CHUNK);
    let one = packed_by(Rule::Fixed(Setting::Level(1)), 1, &plain);
    assert!(one == packed_by(Rule::Fixed(Setting::Level(1)), 4, &plain));
}

#[test]
fn every_cut_of_a_small_stream_is_noticed() {
    let stream = packed(b"a tiny stream, as the first one of a state transfer is");
    assert!(unpacked(&stream).1.is_ok());
    for len in 0..stream.len() {
        let (_, done) = unpacked(&stream[..len]);
        match done.unwrap_err() {
            Fault::Empty => assert_eq!(len, 0),
            Fault::StartMissing => assert!(len < StartRecord::LEN, "{len}"),
            Fault::EndMissing { .. } => (),
            other => panic!("cut at {len}: {other}"),
        }
    }
}

#[test]
fn every_bit_of_a_small_stream_counts() {
    let plain = b"a tiny stream, as the first one of a state transfer is".repeat(4);
    let stream = packed(&plain);
    for at in 0..stream.len() {
        for bit in 0..8 {
            let mut bad = stream.clone();
            bad[at] ^= 1_u8 << bit;
            assert!(unpacked(&bad).1.is_err(), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn a_cut_at_a_frame_is_no_end() {
    let plain = pages(4 * CHUNK);
    let stream = packed(&plain);
    for (number, frame) in frames(&stream).iter().enumerate() {
        let (back, done) = unpacked(&stream[..frame.start]);
        let frames = number as u64;
        assert!(matches!(done, Err(Fault::EndMissing { frames: it, .. }) if it <= frames), "{number}");
        assert!(plain.starts_with(&back));
    }
}

#[test]
fn frames_that_are_swapped_lost_or_repeated_are_told_from_a_whole_stream() {
    // The same content in each frame: only the records tell.
    let stream = packed(&vec![7; 4 * CHUNK]);
    let frames = frames(&stream);
    assert_eq!(frames.len(), 4);
    let part = |number: usize| &stream[frames[number].clone()];
    let (start, end) = (&stream[..StartRecord::LEN], &stream[frames[3].end..]);
    assert!(unpacked(&[start, part(0), part(1), part(2), part(3), end].concat()).1.is_ok());
    for order in
        [&[1, 0, 2, 3][..], &[0, 1, 3, 2], &[0, 1, 3], &[0, 0, 1, 2, 3], &[0, 1, 2, 3, 3], &[3, 2, 1, 0]]
    {
        let moved: Vec<u8> = order.iter().flat_map(|&number| part(number)).copied().collect();
        let done = unpacked(&[start, &moved, end].concat()).1;
        assert!(matches!(done, Err(Fault::OutOfOrder { .. })), "{order:?}");
    }
    // Lost at the end, where no number is skipped.
    let done = unpacked(&[start, part(0), part(1), part(2), end].concat()).1;
    assert!(matches!(done, Err(Fault::TotalsDiffer)));
}

#[test]
fn an_end_of_another_stream_does_not_fit() {
    let (one, other) = (packed(b"one"), packed(b"two"));
    let cut = one.len() - EndRecord::LEN;
    let done = unpacked(&[&one[..cut], &other[other.len() - EndRecord::LEN..]].concat()).1;
    assert!(matches!(done, Err(Fault::TotalsDiffer)));
}

#[test]
fn what_follows_the_end_is_no_part_of_it() {
    let stream = packed(b"one");
    for behind in [&b"\0"[..], b"rubbish", &stream] {
        assert!(matches!(unpacked(&[&stream, behind].concat()).1, Err(Fault::TrailingBytes)));
    }
}

#[test]
fn an_end_alone_and_frames_alone_are_no_stream() {
    let stream = packed(&pages(100_000));
    for from in [StartRecord::LEN, stream.len() - EndRecord::LEN] {
        assert!(matches!(unpacked(&stream[from..]).1, Err(Fault::StartMissing)), "{from}");
    }
}

#[test]
fn foreign_zstd_is_read_only_on_request() {
    let plain = pages(3 * CHUNK + 1);
    let mut frame = vec![0; zstd_safe::compress_bound(plain.len())];
    let len = zstd_safe::compress(&mut frame[..], &plain, 1).unwrap();
    frame.truncate(len);
    assert!(matches!(unpacked(&frame).1, Err(Fault::StartMissing)));
    let options = UnpackOptions { foreign: true, ..UnpackOptions::new(threads(1)) };
    // Several frames, as pzstd writes them.
    let (back, done) = unpacked_by(&options, &[&frame[..], &frame].concat());
    assert!(done.is_ok() && back == plain.repeat(2));
    for cut in [1, 5, len / 2, len - 1] {
        let done = unpacked_by(&options, &frame[..cut]).1;
        assert!(matches!(done, Err(Fault::ForeignCutOff { .. })), "{cut}");
    }
    assert!(matches!(unpacked_by(&options, b"rubbish").1, Err(Fault::ForeignCorrupt { .. })));
    assert!(matches!(unpacked_by(&options, &packed(b"ours")).1, Err(Fault::NotForeign)));
}

#[test]
fn a_foreign_window_that_needs_more_memory_is_refused_by_name() {
    let mut context = zstd_safe::CCtx::create();
    context.set_parameter(zstd_safe::CParameter::WindowLog(27)).unwrap();
    context.set_parameter(zstd_safe::CParameter::ContentSizeFlag(false)).unwrap();
    let mut frame = vec![0; 1 << 20];
    let mut output = zstd_safe::OutBuffer::around(&mut frame[..]);
    let plain = pages(100_000);
    context.compress_stream(&mut output, &mut zstd_safe::InBuffer::around(&plain)).unwrap();
    context.end_stream(&mut output).unwrap();
    let len = output.pos();
    let mut options = UnpackOptions { foreign: true, ..UnpackOptions::new(threads(1)) };
    let fault = unpacked_by(&options, &frame[..len]).1.unwrap_err();
    assert!(fault.to_string().contains("--memory"), "{fault}");
    let Fault::MemoryExceeded { needed_len, .. } = fault else { panic!("{fault}") };
    options.memory_len = needed_len.next_multiple_of(1 << 20);
    let (back, done) = unpacked_by(&options, &frame[..len]);
    assert!(done.is_ok() && back == plain);
}

#[test]
fn an_input_or_output_that_fails_is_a_fault_of_that_end() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
    }
    impl std::io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let options = PackOptions { rule: Rule::Fastest, threads: threads(2) };
    let meter = Meter::default();
    assert!(matches!(pack(Broken, Vec::new(), &options, &meter), Err(Fault::Read(_))));
    let input = Cursor::new(pages(5 * CHUNK));
    assert!(matches!(pack(input, Broken, &options, &meter), Err(Fault::Write(_))));
    let options = UnpackOptions::new(threads(2));
    assert!(matches!(unpack(Broken, Vec::new(), &options, &meter), Err(Fault::Read(_))));
    let stream = Cursor::new(packed(b"some"));
    assert!(matches!(unpack(stream, Broken, &options, &meter), Err(Fault::Write(_))));
}

#[test]
fn chunks_that_the_memory_has_no_room_for_are_refused_by_name() {
    let stream = packed_by(Rule::Fixed(Setting::Level(19)), 1, b"some");
    let options = UnpackOptions { memory_len: 16 << 20, ..UnpackOptions::new(threads(1)) };
    let fault = unpacked_by(&options, &stream).1.unwrap_err();
    assert!(matches!(fault, Fault::MemoryExceeded { .. }), "{fault}");
    // By default there is room, if for fewer chunks at a time.
    assert!(unpacked(&stream).1.is_ok());
}

/// A stream of five frames, made once.
fn sample() -> &'static (Vec<u8>, Vec<u8>) {
    static SAMPLE: std::sync::OnceLock<(Vec<u8>, Vec<u8>)> = std::sync::OnceLock::new();
    SAMPLE.get_or_init(|| {
        let plain = pages(4 * CHUNK + 4321);
        let stream = packed(&plain);
        (plain, stream)
    })
}

/// A fault; and before it nothing that wasn't there.
fn is_noticed(bad: &[u8]) -> Result<(), TestCaseError> {
    let (back, done) = unpacked(bad);
    prop_assert!(done.is_err());
    prop_assert!(sample().0.starts_with(&back), "something wrong was given out");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_cut_is_noticed(cut in any::<prop::sample::Index>()) {
        let stream = &sample().1;
        is_noticed(&stream[..cut.index(stream.len())])?;
    }

    #[test]
    fn any_flipped_bit_is_noticed(at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bad = sample().1.clone();
        let at = at.index(bad.len());
        bad[at] ^= 1_u8 << bit;
        is_noticed(&bad)?;
    }

    #[test]
    fn any_piece_that_is_moved_lost_or_repeated_is_noticed(
        a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>(), c in any::<prop::sample::Index>(), how in 0..3,
    ) {
        let stream = &sample().1;
        let mut at = [a, b, c].map(|index| index.index(stream.len() + 1));
        at.sort_unstable();
        let [before, one, two, after] = [&stream[..at[0]], &stream[at[0]..at[1]], &stream[at[1]..at[2]], &stream[at[2]..]];
        let bad = match how {
            0 => [before, two, one, after].concat(),
            1 => [before, two, after].concat(),
            _ => [before, one, one, two, after].concat(),
        };
        if bad != *stream {
            is_noticed(&bad)?;
        }
    }

    #[test]
    fn a_reader_may_give_the_stream_in_any_parts(lens in prop::collection::vec(1..70_000_usize, 1..20)) {
        struct Dripping(Cursor<Vec<u8>>, Vec<usize>, usize);
        impl Read for Dripping {
            fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
                self.2 += 1;
                let len = room.len().min(self.1[self.2 % self.1.len()]);
                self.0.read(&mut room[..len])
            }
        }
        let (plain, stream) = sample();
        let input = Dripping(Cursor::new(stream.clone()), lens, 0);
        let mut back = Vec::new();
        unpack(input, &mut back, &UnpackOptions::new(threads(2)), &Meter::default()).unwrap();
        prop_assert!(back == *plain);
    }
}
