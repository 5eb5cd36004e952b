//! Rows that pass in a run leave behind what they do one by one.

use super::*;

/// A conversation whose reply has come to its rows.
fn at_rows(framed: bool, agreed: Capabilities) -> Dialogue {
    let mut dialogue = if framed { Dialogue::framed(agreed) } else { Dialogue::plain(agreed) };
    dialogue.command(&query("select 1"));
    let head: &[&[u8]] = if agreed == NO_EOF { &[&[1], COLUMN] } else { &[&[1], COLUMN, EOF] };
    dialogue.reply(head);
    dialogue
}

/// Packets whose ids count from `first_id`.
fn bytes_of(payloads: &[&[u8]], first_id: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut id = first_id;
    for payload in payloads {
        packet::split(payload, id, &mut bytes);
        id = id.wrapping_add(1);
    }
    bytes
}

/// What becomes of the bytes if each packet is begun by itself, up to the first that is not all there.
fn one_by_one(dialogue: &mut Dialogue, bytes: &mut [u8], len: usize) {
    let mut at = 0;
    while at < len {
        let header = packet::Header::parse(&bytes[at..]).unwrap();
        let end = at + packet::HEADER_LEN + header.payload_len;
        let sent = dialogue.server(header.sequence_id, &bytes[at + packet::HEADER_LEN..end]);
        bytes[at + 3] = sent.id;
        at = end;
    }
}

#[test]
fn rows_leave_the_same_behind_as_one_by_one() {
    let long = [7; 300];
    let rows: Vec<&[u8]> = [ROW, &long, b"\xfb", ROW].into_iter().cycle().take(600).collect();
    for framed in [false, true] {
        for agreed in [NO_EOF, Capabilities::default()] {
            // Ids as they should be, and others, which MySQL's clients would refuse.
            for first_id in [3, 4, 200] {
                let (mut fast, mut slow) = (at_rows(framed, agreed), at_rows(framed, agreed));
                let mut bytes = bytes_of(&rows, first_id);
                let mut expected = bytes.clone();
                let passed = fast.conversation.pass_rows(&mut bytes, usize::MAX);
                assert_eq!(passed.len, bytes.len());
                let all_len = expected.len();
                one_by_one(&mut slow, &mut expected, all_len);
                assert!(bytes == expected, "{framed} {first_id}");
                assert_eq!(passed.renumbered, bytes != bytes_of(&rows, first_id), "{framed} {first_id}");
                assert_eq!(format!("{:?}", fast.conversation), format!("{:?}", slow.conversation));
            }
        }
    }
}

#[test]
fn what_may_be_more_than_a_row_is_left_alone() {
    let rest = |payloads: &[&[u8]], len_max: usize| {
        let mut dialogue = at_rows(false, NO_EOF);
        let mut bytes = bytes_of(payloads, 3);
        dialogue.conversation.pass_rows(&mut bytes, len_max).len
    };
    let row_len = packet::HEADER_LEN + ROW.len();
    for end in [EOF, ERR, b"", b"\xff\xff\xff\x01"] {
        assert_eq!(rest(&[ROW, ROW, end, ROW], usize::MAX), 2 * row_len, "{end:?}");
    }
    assert_eq!(rest(&[ROW, ROW, ROW], 3 * row_len - 1), 2 * row_len);
    assert_eq!(rest(&[ROW, &vec![1; PACKET_PAYLOAD_LEN_MAX]], usize::MAX), row_len);
    // A packet that is not all there.
    let mut bytes = bytes_of(&[ROW, ROW], 3);
    bytes.pop();
    assert_eq!(at_rows(false, NO_EOF).conversation.pass_rows(&mut bytes, usize::MAX).len, row_len);
    // No rows are due.
    let mut idle = Dialogue::plain(NO_EOF);
    assert_eq!(idle.conversation.pass_rows(&mut bytes_of(&[ROW], 1), usize::MAX).len, 0);
    idle.command(&query("select 1"));
    assert_eq!(idle.conversation.pass_rows(&mut bytes_of(&[ROW], 1), usize::MAX).len, 0);
    // Nor anything but the rest of a row in pieces.
    let mut dialogue = at_rows(false, NO_EOF);
    dialogue.packet(Direction::ToClient, 3, PACKET_PAYLOAD_LEN_MAX, &[1]).unwrap();
    assert_eq!(dialogue.conversation.pass_rows(&mut bytes_of(&[ROW], 4), usize::MAX).len, 0);
}
