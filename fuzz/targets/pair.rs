//! Frames of a pair stream with lying lengths, broken histories and bombs, as they are and with their checksums put
//! right: a reader gives bytes or names the fault, and where the stream was cut makes no difference.
//!
//! Not here: what a session does with the fault (crate `proxy`).
#![no_main]

use codec::{Algorithm, AlgorithmSet, ZstdLevel};
use libfuzzer_sys::fuzz_target;
use wire::pair::{CodecSet, Event, FRAME_PLAIN_LEN_MAX, Preamble, Reader, Writer};

fuzz_target!(|input: (bool, u8, Vec<(u16, u8)>, &[u8])| {
    let (zstd, cut_len, flips, bytes) = input;
    drop(Preamble::parse(bytes));
    same_however_cut(bytes, cut_len);
    // A stream of an honest end, with some bytes changed: deeper than garbage comes.
    let mut writer = Writer::default();
    let algorithm = if zstd { Algorithm::Zstd } else { Algorithm::Zlib };
    writer.agree(CodecSet::of(AlgorithmSet::ALL), &[algorithm], ZstdLevel::MIN);
    writer.start_packing();
    let mut stream = Vec::new();
    for piece in bytes.chunks(usize::from(cut_len).max(1) * 7) {
        writer.write(piece, &mut stream, |_| true).unwrap();
    }
    writer.end(&mut stream).unwrap();
    let (plain, _, fault) = read(stream.chunks(usize::from(cut_len).max(1)));
    assert!(fault.is_none() && plain == bytes);
    for (at, xor) in flips {
        let len = stream.len();
        stream[usize::from(at) % len] ^= xor;
    }
    same_however_cut(&stream, cut_len);
});

fn same_however_cut(bytes: &[u8], cut_len: u8) {
    assert_eq!(read([bytes]), read(bytes.chunks(usize::from(cut_len).max(1))));
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Vec<Event>, Option<String>) {
    let mut reader = Reader::default();
    reader.agree(CodecSet::of(AlgorithmSet::ALL));
    let (mut received, mut plain, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        received.extend_from_slice(piece);
        loop {
            let before_len = plain.len();
            match reader.read(&received, &mut plain) {
                Ok(Some((len, event))) => {
                    assert!(plain.len() - before_len <= FRAME_PLAIN_LEN_MAX);
                    received.drain(..len);
                    events.push(event);
                }
                Ok(None) => break,
                Err(fault) => return (plain, events, Some(fault.to_string())),
            }
        }
    }
    (plain, events, None)
}
