//! A packed stream from bytes that nobody packed: it is refused, or it holds what it says; a stream that was packed and
//! then altered is refused.
//!
//! Not here: threads; the reader and the workers' check are called one after the other.
#![no_main]

use std::io::Cursor;
use std::num::NonZeroUsize;

use libfuzzer_sys::fuzz_target;
use transfer::{Fault, Meter, Opened, PackOptions, PackedFrame, Rule, Setting, StreamReader};

fuzz_target!(|input: (u8, u16, u8, &[u8])| {
    let (kind, at, flip, bytes) = input;
    if kind % 4 > 0 {
        // Whatever it is, it ends with a fault or with frames that fit.
        let stream = if kind % 4 == 1 { bytes.to_vec() } else { [&START[..], bytes].concat() };
        drop(read(&stream));
        return;
    }
    let mut stream = Vec::new();
    let options = PackOptions { rule: Rule::Fixed(Setting::Level(1)), threads: NonZeroUsize::MIN };
    transfer::pack(Cursor::new(bytes.to_vec()), &mut stream, &options, &Meter::default()).unwrap();
    assert_eq!(read(&stream).unwrap(), bytes.len() as u64);
    let at = usize::from(at) % stream.len();
    let was = stream[at];
    stream[at] ^= flip;
    assert!(was == stream[at] || read(&stream).is_err());
    stream[at] = was;
    stream.truncate(at);
    assert!(read(&stream).is_err());
});

/// The plain length of a stream that is whole and whose frames are as packed.
fn read(stream: &[u8]) -> Result<u64, Fault> {
    let Opened::Ours(mut reader) = StreamReader::open(Cursor::new(stream))? else {
        return Err(Fault::StartMissing);
    };
    let mut frame = PackedFrame::default();
    let mut plain_len = 0;
    while let Some(record) = reader.next(&mut frame)? {
        if !record.fits(&frame.packed) {
            return Err(Fault::FrameAltered { number: record.number });
        }
        assert!(record.plain_len <= reader.start().chunk_len);
        plain_len += u64::from(record.plain_len);
    }
    Ok(plain_len)
}

/// A start record with chunks of 64 KiB.
const START: [u8; 16] = *b"\x57\x2a\x4d\x18\x08\0\0\0wpS\x01\0\0\x01\0";
