//! The packets of replies: read or refused, the same when built and read again, and what is peeked of those that end a
//! reply is what they say.
//!
//! Not here: where a reply ends (`conversation`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::limits::PEEK_LEN;
use wire::response::{ErrPacket, OkPacket, eof, err, ok, text_result};
use wire::{Reader, write_lenenc_bytes, write_lenenc_int};

fuzz_target!(|payload: &[u8]| {
    let peek = &payload[..payload.len().min(PEEK_LEN)];
    if let Ok(ok) = OkPacket::parse(payload) {
        assert_eq!(OkPacket::parse(&ok.build(ok::HEADER)), Ok(ok.clone()));
        assert_eq!(ok::status_of(peek), ok.status, "the status lies within what is peeked");
    }
    if let Ok(error) = ErrPacket::parse(payload) {
        // A text that seems to begin with a state, and has none, would be read with one.
        if error.sqlstate.is_some() || !error.message.starts_with('#') {
            assert_eq!(ErrPacket::parse(&error.build()), Ok(error));
        }
    }
    let _ = (err::ends_reply(peek), eof::status_of(peek));
    for deprecate_eof in [false, true] {
        if eof::ends_rows(peek, payload.len(), deprecate_eof) {
            assert_eq!(payload[0], eof::HEADER);
        }
    }

    if let Ok(values) = text_result::row(payload) {
        let mut built = Vec::new();
        for value in &values {
            match value {
                Some(value) => write_lenenc_bytes(&mut built, value),
                None => built.push(0xfb),
            }
        }
        assert_eq!(text_result::row(&built), Ok(values));
    }
    let _ = text_result::column_name(payload);

    let mut reader = Reader::new(payload);
    while let Ok(value) = reader.lenenc_int() {
        let mut built = Vec::new();
        write_lenenc_int(&mut built, value);
        assert_eq!(Reader::new(&built).lenenc_int(), Ok(value));
    }
    let mut reader = Reader::new(payload);
    while let Ok(bytes) = reader.lenenc_bytes() {
        let mut built = Vec::new();
        write_lenenc_bytes(&mut built, bytes);
        assert_eq!(Reader::new(&built).lenenc_bytes(), Ok(bytes));
    }
});
