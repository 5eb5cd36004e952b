//! Which packets may share a frame.
//!
//! Not here: how large a frame may be (crate `proxy`, `packer`).

use super::*;

const NONE: Capabilities = Capabilities::NONE;

/// Both servers read and write with one buffer: the reply to a first command overwrites the second.
#[test]
fn every_command_has_frames_of_its_own() {
    for mut dialogue in [Dialogue::plain(NONE), Dialogue::framed(NONE)] {
        for command in [&[COM_PING][..], &[COM_STMT_CLOSE, 1, 0, 0, 0], &query("select 1")] {
            let sent = dialogue.command(command);
            assert_eq!((sent.frame, sent.ends_frame), (Some(0), true));
        }
    }
}

#[test]
fn a_command_in_pieces_ends_its_frame_with_its_last_piece() {
    let mut dialogue = Dialogue::plain(NONE);
    let first = dialogue.packet(Direction::ToServer, 0, PACKET_PAYLOAD_LEN_MAX, &query("insert")).unwrap();
    assert_eq!((first.frame, first.ends_frame), (Some(0), false));
    let last = dialogue.client(1, b"").unwrap();
    assert_eq!((last.frame, last.ends_frame), (None, true));
    assert_eq!(dialogue.client(0, &[COM_PING]).unwrap().frame, Some(0));
}

#[test]
fn the_packets_of_a_reply_share_frames_and_two_replies_do_not() {
    let mut dialogue = Dialogue::framed(NONE);
    dialogue.command(&query("select 1"));
    dialogue.command(&query("select 1"));
    for _ in 0..2 {
        for (index, packet) in ONE_ROW.iter().enumerate() {
            let sent = dialogue.server(index as u8 + 1, packet);
            assert_eq!(sent.frame.is_some(), index == 0);
            assert!(!sent.ends_frame);
        }
    }
}

#[test]
fn a_packet_that_hands_over_the_turn_ends_its_frame() {
    let mut dialogue = Dialogue::framed(NONE);
    dialogue.command(&query("load data local"));
    assert!(dialogue.server(1, b"\xfbfile").ends_frame);

    let mut dialogue = Dialogue::framed(NONE);
    dialogue.command(&[COM_CHANGE_USER]);
    assert!(dialogue.server(1, b"\xfeplugin\0nonce\0").ends_frame);
}

#[test]
fn another_users_session_holds_nothing_of_the_one_before() {
    let mut dialogue = Dialogue::plain(NONE);
    dialogue.command(&query("begin"));
    dialogue.server(1, b"\0\0\0\x03\0\0\0");
    assert!(!dialogue.conversation.may_end());
    dialogue.conversation.user_changed();
    assert!(dialogue.conversation.may_end());
}

#[test]
fn the_packets_of_a_file_share_frames() {
    let mut dialogue = Dialogue::plain(NONE);
    dialogue.command(&query("load data local"));
    dialogue.server(1, b"\xfbfile");
    assert_eq!(dialogue.client(2, b"line").unwrap(), Sent { id: 2, frame: Some(0), ends_frame: false });
    assert_eq!(dialogue.client(3, b"line").unwrap(), Sent { id: 3, frame: None, ends_frame: false });
    let piece = dialogue.packet(Direction::ToServer, 4, PACKET_PAYLOAD_LEN_MAX, b"long").unwrap();
    assert_eq!(piece, Sent { id: 4, frame: None, ends_frame: false });
    // The empty piece behind it ends the long packet and not the file.
    assert_eq!(dialogue.client(5, b"").unwrap(), Sent { id: 5, frame: None, ends_frame: false });
    assert!(dialogue.conversation.is_clients_turn());
    assert_eq!(dialogue.client(6, b"").unwrap(), Sent { id: 6, frame: None, ends_frame: true });
    assert!(dialogue.conversation.awaits_command());
}
