//! Every kind of reply ends with its last packet, and not before.
//!
//! Not here: ids (`ids`).

use super::*;
use crate::command::*;

/// A reply must be over exactly behind its last packet.
fn ends_with_its_last_packet(name: &str, agreed: Capabilities, command: &[u8], packets: &[&[u8]]) {
    for mut dialogue in [Dialogue::plain(agreed), Dialogue::framed(agreed)] {
        dialogue.command(command);
        for (index, packet) in packets.iter().enumerate() {
            assert!(!dialogue.is_done(), "{name}: over before packet {index}");
            dialogue.server(index as u8 + 1, packet);
        }
        assert!(dialogue.is_done(), "{name}: {:?} goes on", dialogue.conversation.oldest());
    }
}

const NONE: Capabilities = Capabilities::NONE;
const OPTIONAL: Capabilities = Capabilities::OPTIONAL_RESULTSET_METADATA;
const CACHED: Capabilities = Capabilities::MARIADB_CACHE_METADATA;
/// OK in place of an EOF: status 2, 0x0a (more results), 0x62 (cursor).
const OK_EOF: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
const OK_EOF_MORE: &[u8] = &[0xfe, 0, 0, 0x0a, 0, 0, 0];
const OK_EOF_CURSOR: &[u8] = &[0xfe, 0, 0, 0x62, 0, 0, 0];
const EOF_CURSOR: &[u8] = &[0xfe, 0, 0, 0x62, 0];
const BINARY_ROW: &[u8] = &[0, 0, 1, 0, 0, 0];

#[test]
fn results_of_queries_end_where_they_end() {
    for (name, agreed, packets) in [
        ("ok", NONE, &[OK][..]),
        ("error", NONE, &[ERR]),
        ("a row", NONE, &ONE_ROW),
        ("a row, eof deprecated", NO_EOF, &[&[1], COLUMN, ROW, OK_EOF]),
        ("no row", NO_EOF, &[&[1], COLUMN, OK_EOF]),
        ("an error behind rows", NONE, &[&[1], COLUMN, EOF, ROW, ERR]),
        ("an error in place of the first row", NO_EOF, &[&[2], COLUMN, COLUMN, ERR]),
        ("a long count", NO_EOF, &[&[0xfc, 2, 0], COLUMN, COLUMN, ROW, OK_EOF]),
        ("two results", NONE, &[&[1], COLUMN, EOF, ROW, EOF_MORE, &[1], COLUMN, EOF, ROW, EOF]),
        ("two results, eof deprecated", NO_EOF, &[&[1], COLUMN, ROW, OK_EOF_MORE, &[1], COLUMN, OK_EOF]),
        ("ok, then a result", NONE, &[&[0, 0, 0, 0x0a, 0, 0, 0], &[1], COLUMN, EOF, EOF]),
        ("a result, then ok", NO_EOF, &[&[1], COLUMN, OK_EOF_MORE, OK]),
        ("a result, then an error", NO_EOF, &[&[1], COLUMN, OK_EOF_MORE, ERR]),
        ("an ok whose counts are long", NONE, &[&[0, 0xfe, 1, 2, 3, 4, 5, 6, 7, 8, 0xfc, 9, 9, 2, 0, 0, 0]]),
    ] {
        ends_with_its_last_packet(name, agreed, &query("select 1"), packets);
    }
}

/// Read from MySQL 9.7.4 with `resultset_metadata` FULL and NONE: the count, then the flag.
#[test]
fn optional_metadata_is_left_out_where_the_flag_says_so() {
    let execute = [COM_STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0];
    for (name, agreed, packets) in [
        ("full", OPTIONAL, &[&[1, 1], COLUMN, EOF, ROW, EOF][..]),
        ("none", OPTIONAL, &[&[2, 0], EOF, b"\x011\x012", EOF]),
        ("none, twice", OPTIONAL, &[&[1, 0], EOF_MORE, ROW, EOF_MORE, &[1, 0], EOF, ROW, EOF]),
        ("full, eof deprecated", OPTIONAL | NO_EOF, &[&[1, 1], COLUMN, ROW, OK_EOF]),
        ("none, eof deprecated", OPTIONAL | NO_EOF, &[&[2, 0], b"\x011\x012", OK_EOF]),
        (
            "none, twice, eof deprecated",
            OPTIONAL | NO_EOF,
            &[&[1, 0], ROW, OK_EOF_MORE, &[1, 0], ROW, OK_EOF],
        ),
        ("none, no row", OPTIONAL | NO_EOF, &[&[1, 0], OK_EOF]),
    ] {
        ends_with_its_last_packet(name, agreed, &query("select 1"), packets);
    }
    for (name, agreed, packets) in [
        ("none", OPTIONAL, &[&[1, 0], EOF, BINARY_ROW, BINARY_ROW, EOF][..]),
        ("none, eof deprecated", OPTIONAL | NO_EOF, &[&[1, 0], BINARY_ROW, OK_EOF]),
        ("none, cursor", OPTIONAL, &[&[1, 0], EOF_CURSOR]),
        ("none, cursor, eof deprecated", OPTIONAL | NO_EOF, &[&[1, 0], OK_EOF_CURSOR]),
    ] {
        ends_with_its_last_packet(name, agreed, &execute, packets);
    }
}

/// Read from MySQL 9.7.4: `select 1, ?` has two columns and a parameter, `select 1 union select 2` no parameter.
#[test]
fn prepared_statements_end_behind_their_definitions() {
    let full = [0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 1];
    let spared = [0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0];
    let without_parameter = [0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let short = [0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0];
    let nothing = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (name, agreed, packets) in [
        ("definitions and eofs", NONE, &[&short[..], COLUMN, EOF, COLUMN, COLUMN, EOF][..]),
        ("definitions", NO_EOF, &[&short, COLUMN, COLUMN, COLUMN]),
        ("nothing defined", NONE, &[&nothing]),
        ("an error", NONE, &[ERR]),
        ("full", OPTIONAL, &[&full, COLUMN, EOF, COLUMN, COLUMN, EOF]),
        ("full, eof deprecated", OPTIONAL | NO_EOF, &[&full, COLUMN, COLUMN, COLUMN]),
        ("spared, but not the eofs", OPTIONAL, &[&spared, EOF, EOF]),
        ("spared, no parameter", OPTIONAL, &[&without_parameter, EOF]),
        ("spared, eof deprecated", OPTIONAL | NO_EOF, &[&spared]),
        ("the flag counts only where it was agreed", NO_EOF, &[&spared, COLUMN, COLUMN, COLUMN]),
    ] {
        ends_with_its_last_packet(name, agreed, &[COM_STMT_PREPARE, b'x'], packets);
    }
}

/// Read from MySQL 9.7.4 and MariaDB 10.11.19.
#[test]
fn executions_cursors_and_out_parameters_end_where_they_end() {
    let execute = [COM_STMT_EXECUTE, 1, 0, 0, 0, 1, 1, 0, 0, 0];
    let out_eof: &[u8] = &[0xfe, 0, 0, 0x0a, 0x10];
    let out_ok: &[u8] = &[0xfe, 0, 0, 0x0a, 0x10, 0, 0];
    for (name, agreed, packets) in [
        ("rows", NONE, &[&[1], COLUMN, EOF, BINARY_ROW, BINARY_ROW, EOF][..]),
        ("cursor", NONE, &[&[1], COLUMN, EOF_CURSOR]),
        ("cursor, eof deprecated", NO_EOF, &[&[1], COLUMN, OK_EOF_CURSOR]),
        // MySQL's EOF behind the OUT parameters does not announce the OK that follows.
        (
            "out parameters of MySQL",
            NONE,
            &[&[1], COLUMN, EOF_MORE, BINARY_ROW, EOF_MORE, &[1], COLUMN, out_eof, BINARY_ROW, EOF, OK],
        ),
        (
            "out parameters of MariaDB",
            NONE,
            &[&[1], COLUMN, EOF_MORE, BINARY_ROW, EOF_MORE, &[1], COLUMN, out_eof, BINARY_ROW, out_eof, OK],
        ),
        (
            "out parameters, eof deprecated",
            NO_EOF,
            &[&[1], COLUMN, BINARY_ROW, OK_EOF_MORE, &[1], COLUMN, BINARY_ROW, out_ok, OK],
        ),
    ] {
        ends_with_its_last_packet(name, agreed, &execute, packets);
    }
    let fetch = [COM_STMT_FETCH, 1, 0, 0, 0, 5, 0, 0, 0];
    for (name, agreed, packets) in [
        ("rows left", NONE, &[BINARY_ROW, &[0xfe, 0, 0, 0x42, 0]][..]),
        ("last row sent", NONE, &[BINARY_ROW, &[0xfe, 0, 0, 0x82, 0]]),
        ("nothing left, eof deprecated", NO_EOF, &[&[0xfe, 0, 0, 0x82, 0, 0, 0]]),
        ("no cursor", NONE, &[ERR]),
    ] {
        ends_with_its_last_packet(name, agreed, &fetch, packets);
    }
}

/// Read from MariaDB 10.11.19: the second execution leaves the definitions out, their EOF stays.
#[test]
fn mariadbs_cached_metadata_is_left_out() {
    let execute = [COM_STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0];
    for (name, agreed, packets) in [
        ("first", CACHED, &[&[1, 1], COLUMN, EOF, BINARY_ROW, EOF][..]),
        ("second", CACHED, &[&[1, 0], EOF, BINARY_ROW, EOF]),
        ("first, eof deprecated", CACHED | NO_EOF, &[&[1, 1], COLUMN, BINARY_ROW, OK_EOF]),
        ("second, eof deprecated", CACHED | NO_EOF, &[&[1, 0], BINARY_ROW, OK_EOF]),
        ("second with a cursor", CACHED, &[&[1, 0], EOF_CURSOR]),
        ("second with a cursor, eof deprecated", CACHED | NO_EOF, &[&[1, 0], OK_EOF_CURSOR]),
    ] {
        ends_with_its_last_packet(name, agreed, &execute, packets);
    }
}

#[test]
fn other_commands_end_where_they_end() {
    let process_list: &[&[u8]] = &[&[2], COLUMN, COLUMN, EOF, ROW, EOF];
    for (command, packets) in [
        (COM_PING, &[OK][..]),
        (COM_INIT_DB, &[ERR]),
        (COM_FIELD_LIST, &[COLUMN, COLUMN, EOF]),
        (COM_FIELD_LIST, &[ERR]),
        (COM_STATISTICS, &[b"Uptime: 2026"]),
        (COM_DEBUG, &[EOF]),
        (COM_SET_OPTION, &[EOF]),
        (COM_PROCESS_INFO, process_list),
        (COM_PROCESS_KILL, &[OK]),
        (COM_STMT_RESET, &[OK]),
        (COM_RESET_CONNECTION, &[OK]),
        (COM_REGISTER_SLAVE, &[OK]),
        (COM_STMT_BULK_EXECUTE, &[OK]),
        (0x1d, &[ERR]),
    ] {
        ends_with_its_last_packet(&format!("command {command:#x}"), NONE, &[command, 0], packets);
    }
    ends_with_its_last_packet("nothing at all", NONE, &[], &[ERR]);
    ends_with_its_last_packet("field list", NO_EOF, &[COM_FIELD_LIST], &[COLUMN, OK_EOF]);
}

#[test]
fn commands_without_a_reply_wait_for_none() {
    let mut dialogue = Dialogue::plain(NONE);
    for command in [COM_STMT_CLOSE, COM_STMT_SEND_LONG_DATA, COM_QUIT] {
        dialogue.command(&[command, 1, 0, 0, 0]);
        assert!(dialogue.is_done());
    }
    assert!(dialogue.conversation.client_quits());
}

#[test]
fn mariadbs_progress_reports_end_nothing() {
    let report: &[u8] = &[0xff, 0xff, 0xff, 1, 1, 1, 0x10, 0x27, 0, 7, b'S', b't', b'a', b'g', b'e'];
    for packets in
        [&[report, report, OK][..], &[report, &[1], COLUMN, report, EOF, ROW, report, EOF], &[report, ERR]]
    {
        ends_with_its_last_packet("alter table", Capabilities::MARIADB_PROGRESS, &query("alter"), packets);
    }
}

#[test]
fn a_row_that_starts_with_0xfe_or_0xff_lengths_is_a_row() {
    // A text row whose first column has 16 MiB: 0xFE and eight bytes of length, in pieces.
    for agreed in [NONE, NO_EOF] {
        let mut dialogue = Dialogue::plain(agreed);
        dialogue.command(&query("select repeat('x', 16777216)"));
        dialogue.reply(if agreed == NO_EOF { &[&[1], COLUMN] } else { &[&[1], COLUMN, EOF] });
        let row = [0xfe, 0, 0, 0, 1, 0, 0, 0, 0, b'x'];
        dialogue.packet(Direction::ToClient, 4, PACKET_PAYLOAD_LEN_MAX, &row).unwrap();
        // The rest starts with bytes of the column, whatever they look like.
        dialogue.server(5, &[0xfe, 0, 0, 2, 0]);
        assert!(!dialogue.is_done());
        dialogue.server(6, ERR);
        assert!(dialogue.is_done(), "the packet behind the row is an error");
    }
}

#[test]
fn the_pieces_of_a_row_are_not_looked_at() {
    let mut dialogue = Dialogue::plain(NO_EOF);
    dialogue.command(&query("select repeat('x', 33554432)"));
    dialogue.reply(&[&[1], COLUMN]);
    for (id, peek) in [(3, &[0xfe, 0, 0, 0, 2][..]), (4, ERR)] {
        let sent = dialogue.packet(Direction::ToClient, id, PACKET_PAYLOAD_LEN_MAX, peek).unwrap();
        assert_eq!(sent.id, id);
    }
    dialogue.server(5, &[]); // A multiple of 16 MiB - 1 ends with an empty piece.
    assert!(!dialogue.is_done());
    dialogue.server(6, OK_EOF);
    assert!(dialogue.is_done());
}

#[test]
fn a_binary_log_dump_never_ends_but_with_eof_or_an_error() {
    for command in [COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID] {
        for end in [EOF, ERR] {
            let mut dialogue = Dialogue::framed(NONE);
            dialogue.command(&[command, 4, 0, 0, 0]);
            for id in 1..=255 {
                dialogue.server(id, &[0, 1, 2, 3, 4, 5]);
            }
            assert!(!dialogue.is_done());
            dialogue.server(0, end);
            assert!(dialogue.is_done());
        }
    }
}

#[test]
fn clone_and_group_replication_keep_their_own_protocol() {
    for command in [COM_CLONE, COM_SUBSCRIBE_GROUP_REPLICATION_STREAM] {
        let mut dialogue = Dialogue::plain(NONE);
        dialogue.command(&[command]);
        dialogue.reply(&[OK, ERR, EOF]);
        assert!(!dialogue.is_done());
    }
}

#[test]
fn pipelined_commands_are_answered_in_their_order() {
    for agreed in [NONE, NO_EOF] {
        let eof: &[u8] = if agreed == NO_EOF { OK_EOF } else { EOF };
        let mut dialogue = Dialogue::plain(agreed);
        dialogue.command(&[COM_STMT_PREPARE, b'x']);
        dialogue.command(&[COM_STMT_EXECUTE, 0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0, 0]);
        dialogue.command(&[COM_STMT_CLOSE, 1, 0, 0, 0]);
        dialogue.command(&[COM_PING]);
        assert_eq!(dialogue.conversation.in_flight(), 3);
        dialogue.server(1, &[0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        dialogue.server(2, COLUMN);
        if agreed == NONE {
            dialogue.server(3, EOF);
        }
        assert_eq!(dialogue.conversation.oldest().map(|(byte, _)| byte), Some(COM_STMT_EXECUTE));
        dialogue.server(1, &[1]);
        dialogue.server(2, COLUMN);
        dialogue.server(3, eof);
        if agreed == NONE {
            dialogue.server(4, eof);
        }
        assert_eq!(dialogue.conversation.oldest().map(|(byte, _)| byte), Some(COM_PING));
        dialogue.server(1, OK);
        assert!(dialogue.is_done());
    }
}

#[test]
fn a_client_that_pipelines_without_end_is_held_back() {
    let mut dialogue = Dialogue::plain(NONE);
    for _ in 0..COMMANDS_IN_FLIGHT_MAX {
        assert!(!dialogue.conversation.is_full());
        dialogue.command(&[COM_PING]);
    }
    assert!(dialogue.conversation.is_full());
    dialogue.server(1, OK);
    assert!(!dialogue.conversation.is_full());
}
