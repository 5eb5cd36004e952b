//! Packet and frame ids on both legs: as a real server's on the client leg, except that packet ids inside frames
//! start at the reply's first frame and count by one; on the server leg as a real client's.
//!
//! ```text
//! case on a framed client leg             packet ids of the reply   frame id
//! select 1                                1 2 3 4 5                 1
//! select 1; select 2; select 3            1 ... 15 (servers: 1-5, 2-6, 3-7)   1
//! command in 3 frames                     3 4 5 6 7                 3
//! command in 14 frames                    14 ...                    14
//! LOAD DATA LOCAL, client frames 2, 3, 4  OK = 5                    5
//! STMT_CLOSE + QUERY in one frame         1 ... (servers: 0-4)      1
//! ```
//! Not here: which packets share a frame (`turns`).

use super::*;
use crate::command::COM_BINLOG_DUMP;

const NONE: Capabilities = Capabilities::NONE;

fn sent(id: u8, frame: u8) -> (u8, Option<u8>) {
    (id, Some(frame))
}

/// The ids of a reply's first packet on a framed client leg.
fn first_of_reply(dialogue: &mut Dialogue, server_id: u8, payload: &[u8]) -> (u8, Option<u8>) {
    let sent = dialogue.server(server_id, payload);
    (sent.id, sent.frame)
}

#[test]
fn a_reply_starts_behind_its_command_on_every_kind_of_leg() {
    for mut dialogue in [Dialogue::plain(NONE), Dialogue::framed(NONE)] {
        for _ in 0..3 {
            let command = dialogue.command(&query("select 1"));
            assert_eq!((command.id, command.frame), sent(0, 0));
            assert_eq!(dialogue.reply(&ONE_ROW), [1, 2, 3, 4, 5]);
        }
    }
}

#[test]
fn a_reply_to_a_command_of_n_frames_starts_at_frame_n() {
    for frames in [1_u8, 2, 3, 14, 255] {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.client_frame(0, false).unwrap();
        dialogue.client(0, &query("select 1")).unwrap();
        for id in 1..frames {
            dialogue.client_frame(id, true).unwrap();
        }
        assert_eq!(first_of_reply(&mut dialogue, 1, &[1]), sent(frames, frames));
        assert_eq!(dialogue.server(2, COLUMN).id, frames.wrapping_add(1));
    }
}

/// 20 MB in 1,221 frames: 1221 mod 256 = 197.
#[test]
fn a_command_of_more_than_256_frames_wraps() {
    let mut dialogue = Dialogue::framed(NONE);
    dialogue.client_frame(0, false).unwrap();
    dialogue.packet(Direction::ToServer, 0, PACKET_PAYLOAD_LEN_MAX, &query("insert")).unwrap();
    for frame in 1..=1220_u32 {
        dialogue.client_frame(frame as u8, frame != 1025).unwrap();
        if frame == 1025 {
            // The second piece starts with a frame, which does not make it a command.
            let piece = dialogue.client(1, b"rest").unwrap();
            assert_eq!(piece, Sent { id: 1, frame: None, ends_frame: true });
        }
    }
    assert_eq!(first_of_reply(&mut dialogue, 1, OK), sent(197, 197));
    assert!(dialogue.is_done());
}

#[test]
fn ids_wrap_at_256_within_a_reply() {
    for mut dialogue in [Dialogue::plain(NONE), Dialogue::framed(NONE)] {
        dialogue.command(&query("select 600 rows"));
        dialogue.reply(&[&[1], COLUMN, EOF]);
        let mut expected = 4_u8;
        for _ in 0..600 {
            // A server's own ids jump within frames; they are not looked at.
            assert_eq!(dialogue.server(77, ROW).id, expected);
            expected = expected.wrapping_add(1);
        }
        assert_eq!(dialogue.server(0, EOF).id, expected);
        assert!(dialogue.is_done());
    }
}

#[test]
fn frame_ids_wrap_at_256_towards_both_legs() {
    let mut dialogue = Dialogue::framed(NONE);
    dialogue.command(&query("select 600 rows"));
    dialogue.server(1, &[1]);
    for side in [Side::Server, Side::Client] {
        // Id 0 and id 1 are the command's and the reply's first.
        for id in 2 - u32::from(side == Side::Server)..600 {
            assert_eq!(dialogue.conversation.take_frame_id(side), id as u8);
        }
    }
}

#[test]
fn the_results_of_several_statements_count_on_without_frames_and_begin_one_each_with_them() {
    let counting: Vec<u8> = (1..=15).collect();
    // MySQL's own: each result begins at the id of its frame.
    let jumping = vec![1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 3, 4, 5, 6, 7];
    for (mut dialogue, expected_ids, expected_frames) in
        [(Dialogue::plain(NONE), counting, vec![1]), (Dialogue::framed(NONE), jumping, vec![1, 2, 3])]
    {
        dialogue.command(&query("select 1; select 2; select 3"));
        let result: [&[u8]; 5] = [&[1], COLUMN, EOF, ROW, EOF_MORE];
        let (mut ids, mut frames) = (Vec::new(), Vec::new());
        // MySQL's own ids: 1-5, 2-6, 3-7.
        for (first, packets) in [(1, &result), (2, &result), (3, &ONE_ROW)] {
            for (id, packet) in (first..).zip(packets) {
                let sent = dialogue.server(id, packet);
                ids.push(sent.id);
                frames.extend(sent.frame);
            }
        }
        assert_eq!(ids, expected_ids);
        assert_eq!(frames, expected_frames, "packets that must begin a frame");
        assert!(dialogue.is_done());
    }
}

#[test]
fn two_commands_in_one_frame_are_answered_from_1() {
    let mut dialogue = Dialogue::framed(NONE);
    dialogue.client_frame(0, false).unwrap();
    let close = dialogue.client(0, &[COM_STMT_CLOSE, 1, 0, 0, 0]).unwrap();
    let ping = dialogue.client(0, &[COM_PING]).unwrap();
    assert_eq!((close.frame, ping.frame), (Some(0), Some(0)), "each gets a frame of its own");
    // MySQL answers such a command with packet ids from 0.
    assert_eq!(first_of_reply(&mut dialogue, 0, OK), sent(1, 1));
}

#[test]
fn pipelined_commands_are_each_answered_from_1() {
    for mut dialogue in [Dialogue::plain(NONE), Dialogue::framed(NONE)] {
        for _ in 0..3 {
            assert_eq!(dialogue.command(&[COM_PING]).id, 0);
        }
        for _ in 0..3 {
            assert_eq!(first_of_reply(&mut dialogue, 1, OK), sent(1, 1));
        }
        assert!(dialogue.is_done());
    }
}

#[test]
fn an_empty_frame_counts_and_the_command_goes_on_behind_it() {
    let mut dialogue = Dialogue::framed(NONE);
    let empty = frame::Header { packed_len: 0, sequence_id: 0, plain_len: 0 };
    dialogue.conversation.frame_received(Side::Client, empty, false).unwrap();
    dialogue.client_frame(1, false).unwrap();
    assert_eq!(dialogue.client(0, &[COM_PING]).unwrap().frame, Some(0));
    assert_eq!(first_of_reply(&mut dialogue, 1, OK), sent(2, 2));
    dialogue.command(&[COM_PING]);
}

#[test]
fn a_wrong_id_of_the_client_is_named() {
    let wrong = |expected, actual| Err(Fault::SequenceOutOfOrder { expected, actual });
    assert_eq!(Dialogue::framed(NONE).client_frame(1, false), wrong(0, 1));
    let mut dialogue = Dialogue::framed(NONE);
    dialogue.client_frame(0, false).unwrap();
    dialogue.client(0, &query("long")).unwrap();
    assert_eq!(dialogue.client_frame(2, true), wrong(1, 2));

    assert_eq!(Dialogue::plain(NONE).client(1, &[COM_PING]).map(drop), wrong(0, 1));
    let mut dialogue = Dialogue::plain(NONE);
    dialogue.packet(Direction::ToServer, 0, PACKET_PAYLOAD_LEN_MAX, &query("long")).unwrap();
    assert_eq!(dialogue.client(2, b"rest").map(drop), wrong(1, 2));
}

/// Both servers check frames only; MariaDB Connector/J 2 sends wrong packet ids in them.
#[test]
fn packet_ids_in_a_clients_frames_are_not_looked_at() {
    let mut dialogue = Dialogue::framed(NONE);
    dialogue.client_frame(0, false).unwrap();
    assert_eq!(dialogue.client(9, &[COM_PING]).unwrap().id, 0);
    assert_eq!(first_of_reply(&mut dialogue, 1, OK), sent(1, 1));
}

mod local_infile {
    use super::*;

    const REQUEST: &[u8] = b"\xfbfile.csv";

    #[test]
    fn a_file_counts_on_between_request_and_ok_on_plain_legs() {
        for packets in [1_u32, 3, 1000] {
            let mut dialogue = Dialogue::plain(NONE);
            dialogue.command(&query("load data local"));
            assert_eq!(dialogue.server(1, REQUEST).id, 1);
            let mut id = 2_u8;
            for index in 0..packets {
                let payload: &[u8] = if index + 1 == packets { &[] } else { &[COM_QUERY, b'x'] };
                let sent = dialogue.client(id, payload).unwrap();
                assert_eq!(sent.id, id);
                id = id.wrapping_add(1);
            }
            assert_eq!(dialogue.server(id, OK).id, id);
            assert!(dialogue.is_done());
            assert!(dialogue.conversation.awaits_command());
        }
    }

    /// Client frames 2, 3, 4 of one packet each: the OK is 5.
    #[test]
    fn a_file_in_three_frames_is_answered_by_the_fifth() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(&query("load data local"));
        dialogue.server_frame(1);
        assert_eq!(first_of_reply(&mut dialogue, 1, REQUEST), sent(1, 1));
        for (id, payload) in [(2, &b"a"[..]), (3, b"b"), (4, b"")] {
            dialogue.client_frame(id, false).unwrap();
            dialogue.client(id, payload).unwrap();
        }
        dialogue.server_frame(3); // The server leg had one frame for all.
        assert_eq!(first_of_reply(&mut dialogue, 3, OK), sent(5, 5));
        assert!(dialogue.is_done());
    }

    #[test]
    fn a_file_in_one_frame_is_answered_by_the_third() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(&query("load data local"));
        dialogue.server_frame(1);
        dialogue.server(1, REQUEST);
        dialogue.client_frame(2, false).unwrap();
        let [first, second, last] =
            [(2, &b"a"[..]), (3, b"b"), (4, b"")].map(|(id, payload)| dialogue.client(id, payload).unwrap());
        assert_eq!(first.frame, Some(2), "towards the server the file goes on behind its request");
        assert_eq!((second.frame, last.frame, last.ends_frame), (None, None, true));
        assert_eq!(first_of_reply(&mut dialogue, 3, OK), sent(3, 3));
    }

    /// 600 frames: ids pass 0 twice, which makes none of them a command.
    #[test]
    fn a_file_of_more_than_256_frames_wraps() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(&query("load data local"));
        dialogue.server_frame(1);
        dialogue.server(1, REQUEST);
        for frame in 2..602_u32 {
            dialogue.client_frame(frame as u8, false).unwrap();
            assert!(dialogue.conversation.is_clients_turn());
            dialogue.client(0, if frame == 601 { b"" } else { &[COM_QUERY] }).unwrap();
        }
        assert_eq!(dialogue.conversation.in_flight(), 1);
        assert_eq!(first_of_reply(&mut dialogue, 9, OK), sent(602_u32 as u8, 602_u32 as u8));
        assert!(dialogue.is_done());
    }

    /// PHP and Connector/J number frames by the packets they received, others by the frames: it comes to the same.
    #[test]
    fn a_file_asked_for_behind_a_result_goes_on_from_its_request() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(&query("select 1; load data local"));
        dialogue.server_frame(1);
        dialogue.reply(&[&[1], COLUMN, EOF, ROW, EOF_MORE, REQUEST]);
        dialogue.client_frame(3, false).unwrap();
        dialogue.client(3, b"").unwrap();
        assert_eq!(first_of_reply(&mut dialogue, 8, OK), sent(4, 4));
    }

    #[test]
    fn an_error_before_the_end_of_the_file_does_not_make_the_rest_commands() {
        for framed in [false, true] {
            let mut dialogue = if framed { Dialogue::framed(NONE) } else { Dialogue::plain(NONE) };
            dialogue.command(&query("load data local"));
            dialogue.server_frame(1);
            dialogue.server(1, REQUEST);
            let go_on = |dialogue: &mut Dialogue, id, payload: &[u8]| {
                if framed {
                    dialogue.client_frame(id, false).unwrap();
                }
                dialogue.client(id, payload).unwrap();
            };
            go_on(&mut dialogue, 2, b"a");
            assert_eq!(dialogue.server(3, ERR).id, 3);
            assert!(dialogue.is_done());
            go_on(&mut dialogue, 3, &[COM_QUERY]);
            assert!(dialogue.is_done(), "a line of the file is no command");
            go_on(&mut dialogue, 4, b"");
            assert_eq!(dialogue.command(&[COM_PING]).id, 0);
            assert_eq!(first_of_reply(&mut dialogue, 1, OK), sent(1, 1));
        }
    }

    #[test]
    fn an_error_before_the_file_begins_does_not_make_it_a_command() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(&query("load data local"));
        dialogue.server_frame(1);
        dialogue.server(1, REQUEST);
        dialogue.server(2, ERR);
        dialogue.client_frame(2, false).unwrap();
        let only = dialogue.client(2, b"").unwrap();
        assert_eq!((only.frame, only.ends_frame), (Some(2), true));
        assert!(dialogue.conversation.awaits_command());
    }

    #[test]
    fn several_files_of_one_command_follow_each_other() {
        let mut dialogue = Dialogue::plain(NONE);
        dialogue.command(&query("load data local; load data local"));
        for (request, ok) in [(1, &[0, 0, 0, 0x0a, 0, 0, 0][..]), (4, OK)] {
            assert_eq!(dialogue.server(request, REQUEST).id, request);
            assert_eq!(dialogue.client(request + 1, b"").unwrap().id, request + 1);
            assert_eq!(dialogue.server(request + 2, ok).id, request + 2);
        }
        assert!(dialogue.is_done());
    }
}

mod change_user {
    use super::*;

    const COMMAND: &[u8] = &[COM_CHANGE_USER, b'u', 0, 0, 0, 45, 0];
    const SWITCH: &[u8] = b"\xfecaching_sha2_password\x00nonce\x00";

    #[test]
    fn an_auth_switch_counts_on_in_both_directions() {
        for framed in [false, true] {
            let mut dialogue = if framed { Dialogue::framed(NONE) } else { Dialogue::plain(NONE) };
            dialogue.command(COMMAND);
            dialogue.server_frame(1);
            assert_eq!(first_of_reply(&mut dialogue, 1, SWITCH), sent(1, 1));
            assert!(dialogue.conversation.is_clients_turn());
            if framed {
                dialogue.client_frame(2, false).unwrap();
            }
            // A scramble that starts with 0x11, or any command's byte, is none.
            let answer = dialogue.client(2, &[COM_CHANGE_USER; 32]).unwrap();
            assert_eq!(answer, Sent { id: 2, frame: Some(2), ends_frame: true });
            dialogue.server_frame(3);
            assert_eq!(first_of_reply(&mut dialogue, 3, OK), sent(3, 3));
            assert!(dialogue.is_done());
        }
    }

    #[test]
    fn full_authentication_takes_several_turns() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(COMMAND);
        let turns: [(&[u8], &[u8]); 3] =
            [(SWITCH, &[7; 32]), (&[1, 4], &[2]), (b"\x01-----BEGIN", &[9; 256])];
        let mut id = 1;
        for (server, client) in turns {
            dialogue.server_frame(id);
            assert_eq!(first_of_reply(&mut dialogue, id, server), sent(id, id));
            dialogue.client_frame(id + 1, false).unwrap();
            assert_eq!(dialogue.client(id + 1, client).unwrap().frame, Some(id + 1));
            id += 2;
        }
        assert_eq!(first_of_reply(&mut dialogue, id, ERR), sent(7, 7));
        assert!(dialogue.is_done());
    }

    #[test]
    fn an_answer_in_two_frames_is_answered_behind_both() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(COMMAND);
        dialogue.server_frame(1);
        dialogue.server(1, SWITCH);
        dialogue.client_frame(2, false).unwrap();
        dialogue.client(2, &[9; 256]).unwrap();
        dialogue.client_frame(3, true).unwrap();
        assert_eq!(first_of_reply(&mut dialogue, 3, OK), sent(4, 4));
    }

    /// The fast path: `01 03` asks the client for nothing, and OK follows.
    #[test]
    fn a_turn_that_the_client_did_not_need_leaves_nothing_behind() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(COMMAND);
        dialogue.server_frame(1);
        assert_eq!(dialogue.server(1, &[1, 3]).id, 1);
        dialogue.server_frame(2);
        assert_eq!(dialogue.server(2, OK).id, 2);
        assert!(dialogue.conversation.awaits_command());
        dialogue.command(&query("select 1"));
        dialogue.server_frame(1);
        for (id, packet) in (1..).zip(ONE_ROW) {
            assert!(!dialogue.server(id, packet).ends_frame, "rows may share a frame again");
        }
        // Behind the next COM_CHANGE_USER the client has no turn before the server spoke.
        dialogue.command(COMMAND);
        assert!(dialogue.conversation.awaits_command());
    }
}

mod nobody_asked {
    use super::*;

    /// MySQL's idle timeout: packet 0, and frame 0 where there are frames.
    #[test]
    fn an_error_out_of_nowhere_keeps_its_id() {
        for mut dialogue in [Dialogue::plain(NONE), Dialogue::framed(NONE)] {
            dialogue.command(&[COM_PING]);
            dialogue.server(1, OK);
            assert_eq!(first_of_reply(&mut dialogue, 0, ERR), sent(0, 0));
        }
    }

    /// MariaDB's, which is meant to be taken for the answer to the next command.
    #[test]
    fn an_error_numbered_1_stays_1() {
        for mut dialogue in [Dialogue::plain(NONE), Dialogue::framed(NONE)] {
            dialogue.command(&query("select 1"));
            dialogue.reply(&ONE_ROW);
            assert_eq!(first_of_reply(&mut dialogue, 1, ERR), sent(1, 1));
        }
    }

    #[test]
    fn an_error_of_the_proxy_takes_the_ids_that_are_due() {
        let mut dialogue = Dialogue::plain(NONE);
        // Nothing was asked: it will be taken for the answer to the next command.
        assert_eq!(dialogue.conversation.error_ids(), (1, 1));
        dialogue.command(&query("select 1"));
        assert_eq!(dialogue.conversation.error_ids().0, 1);
        dialogue.reply(&[&[1], COLUMN]);
        assert_eq!(dialogue.conversation.error_ids().0, 3);

        let mut dialogue = Dialogue::framed(NONE);
        dialogue.client_frame(0, false).unwrap();
        dialogue.client(0, &query("select 1")).unwrap();
        dialogue.client_frame(1, true).unwrap();
        assert_eq!(dialogue.conversation.error_ids(), (2, 2));
        dialogue.reply(&[&[1], COLUMN]);
        assert_eq!(dialogue.conversation.error_ids(), (4, 3), "packets count on, and the next frame");
    }
}

mod semi_sync {
    use super::*;

    fn event(flag: u8, body_len: usize) -> Vec<u8> {
        let event_len = 19 + body_len;
        let mut packet = vec![0, 0xef, flag, 1, 2, 3, 4, 2, 1, 0, 0, 0];
        packet.extend_from_slice(&(event_len as u32).to_le_bytes());
        packet.resize(3 + event_len, 0);
        packet
    }

    const ACK: &[u8] = b"\xef\x04\0\0\0\0\0\0\0binlog.000001";

    #[test]
    fn ids_restart_behind_each_event_that_wants_an_ack() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(&[COM_BINLOG_DUMP]);
        assert_eq!(dialogue.server(1, &event(0, 10)).id, 1);
        assert_eq!(dialogue.server(2, &event(0, 10)).id, 2);
        let flagged = dialogue.server(3, &event(1, 10));
        assert_eq!((flagged.id, flagged.ends_frame), (3, true));
        // The source goes on before the ack is seen: packet 1, frame 0 of its own.
        assert_eq!(dialogue.server(1, &event(0, 10)).id, 0);
        assert_eq!(dialogue.conversation.take_frame_id(Side::Client), 0);
        dialogue.client_frame(0, false).unwrap();
        let ack = dialogue.client(0, ACK).unwrap();
        assert_eq!((ack.id, ack.frame, ack.ends_frame), (0, Some(0), true));
        assert_eq!(dialogue.conversation.in_flight(), 1, "an ack is no command");
        assert_eq!(dialogue.server(2, &event(0, 10)).id, 1);
    }

    /// A large row fills the frames before it, so that the flagged event begins one: that one still counts on.
    #[test]
    fn a_frame_that_begins_with_the_event_that_wants_an_ack_counts_on() {
        let mut dialogue = Dialogue::framed(NONE);
        dialogue.command(&[COM_BINLOG_DUMP]);
        assert_eq!(dialogue.server(1, &event(0, 10)).frame, Some(1));
        dialogue.server(2, &event(1, 10));
        assert_eq!(dialogue.conversation.take_frame_id(Side::Client), 2);
        dialogue.server(1, &event(0, 10));
        assert_eq!(dialogue.conversation.take_frame_id(Side::Client), 0);
    }

    #[test]
    fn a_plain_replica_expects_1_behind_its_ack() {
        let mut dialogue = Dialogue::plain(NONE);
        dialogue.command(&[COM_BINLOG_DUMP]);
        dialogue.server(1, &event(1, 10));
        assert_eq!(dialogue.client(0, ACK).unwrap().id, 0);
        assert_eq!(dialogue.server(1, &event(1, 10)).id, 1);
        assert_eq!(dialogue.server(1, &event(0, 10)).id, 1);
    }

    /// Without semi-sync the byte behind the OK is the timestamp's, which may be 0xEF and the next 0x01.
    #[test]
    fn a_timestamp_is_not_taken_for_the_magic_byte() {
        let mut dialogue = Dialogue::plain(NONE);
        dialogue.command(&[COM_BINLOG_DUMP]);
        let mut ordinary = vec![0, 0xef, 1, 0x20, 0x69, 2, 1, 0, 0, 0, 29, 0, 0, 0];
        ordinary.resize(1 + 29, 0);
        assert_eq!(dialogue.server(1, &ordinary).id, 1);
        assert_eq!(dialogue.server(2, &ordinary).id, 2);
    }

    #[test]
    fn a_flagged_event_of_16_mib_restarts_ids_behind_its_last_piece() {
        let mut dialogue = Dialogue::plain(NONE);
        dialogue.command(&[COM_BINLOG_DUMP]);
        let start = event(1, 20 << 20);
        let first = dialogue.packet(Direction::ToClient, 1, PACKET_PAYLOAD_LEN_MAX, &start).unwrap();
        assert_eq!(first.id, 1);
        let rest = dialogue.packet(Direction::ToClient, 2, 4_194_326 - 1, &[7; 32]).unwrap();
        assert_eq!(rest.id, 2);
        assert!(rest.ends_frame);
        assert_eq!(dialogue.server(1, &event(0, 10)).id, 1);
    }
}
