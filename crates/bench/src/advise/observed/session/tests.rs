//! Sessions made by hand: what is understood, what is left out, and what no bytes can do.

use std::time::Duration;

use lab::generate::Sequence;
use wire::connect::{Greeting, Login};
use wire::response::ErrPacket;
use wire::{Capabilities, Direction, command, packet};

use super::super::gathered::{Gathered, Seen};
use super::Session;

const TO_SERVER: Direction = Direction::ToServer;
const TO_CLIENT: Direction = Direction::ToClient;
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// A session, and a clock that goes on by a millisecond with each chunk.
struct Dialogue {
    session: Session,
    gathered: Gathered,
    at: Duration,
}

impl Dialogue {
    fn new() -> Self {
        let mut gathered = Gathered::with_queries(1);
        Self { session: Session::from_beginning(&mut gathered), gathered, at: Duration::ZERO }
    }

    fn logged_in(capabilities: Capabilities) -> Self {
        let mut dialogue = Self::new();
        dialogue.log_in(capabilities);
        dialogue
    }

    fn log_in(&mut self, capabilities: Capabilities) {
        let base = Capabilities::LONG_PASSWORD | Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION;
        let capabilities = base | capabilities;
        let greeting = Greeting {
            server_version: b"9.7.4".to_vec(),
            thread_id: 7,
            nonce: vec![1; 20],
            capabilities,
            charset: 45,
            status: 2,
            auth_plugin: b"caching_sha2_password".to_vec(),
        };
        self.packet(TO_CLIENT, 0, &greeting.build());
        let login = Login { capabilities, user: b"me".to_vec(), ..Login::default() };
        self.packet(TO_SERVER, 1, &login.build());
        self.packet(TO_CLIENT, 2, &[1, 3]);
        self.packet(TO_CLIENT, 3, OK);
    }

    fn says(&mut self, direction: Direction, bytes: &[u8]) {
        self.at += Duration::from_millis(1);
        self.session.bytes(direction, bytes, self.at, &mut self.gathered);
    }

    fn packet(&mut self, direction: Direction, id: u8, payload: &[u8]) {
        self.says(direction, &packets(id, &[payload]));
    }

    fn query(&mut self, sql: &str) {
        self.packet(TO_SERVER, 0, &[&[command::COM_QUERY], sql.as_bytes()].concat());
    }

    fn quit(&mut self) {
        self.packet(TO_SERVER, 0, &[command::COM_QUIT]);
        self.session.end(&mut self.gathered);
    }

    fn seen(&self) -> &[Seen] {
        self.gathered.exchanges.kept()
    }
}

fn packets(mut id: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in payloads {
        id = packet::split(payload, id, &mut bytes);
    }
    bytes
}

#[test]
fn an_exchange_is_timed_from_the_commands_last_byte_to_the_replys_first_and_last() {
    let mut dialogue = Dialogue::logged_in(Capabilities::NONE);
    let query = packets(0, &[&[&[command::COM_QUERY][..], b"select 1"].concat()]);
    let (begin, rest) = query.split_at(6);
    dialogue.says(TO_SERVER, begin);
    dialogue.says(TO_SERVER, rest);
    dialogue.says(TO_CLIENT, &packets(1, &[b"columns"]));
    dialogue.says(TO_CLIENT, &packets(2, &[b"row", b"row"]));
    dialogue.quit();
    let expected =
        Seen { request_bytes: 13.0, reply_bytes: 25.0, reply_packets: 3, first_s: 0.001, time_s: 0.002 };
    assert_eq!(dialogue.seen(), [expected]);
    assert_eq!(dialogue.gathered.frames.kept(), [packets(1, &[b"columns", b"row", b"row"])]);
    assert_eq!(dialogue.gathered.queries.as_deref(), Some(&["select 1".to_owned()][..]));
    let counts = &dialogue.gathered.counts;
    assert_eq!((counts.sessions, counts.used, counts.lost, counts.unrecognised), (1, 1, 0, 0));
}

#[test]
fn what_is_sent_byte_by_byte_is_the_same() {
    let mut dialogue = Dialogue::logged_in(Capabilities::NONE);
    let mut cut = Dialogue::logged_in(Capabilities::NONE);
    for number in 0..20u8 {
        let reply = vec![b'x'; usize::from(number) * 40];
        let query = packets(0, &[b"\x03select"]);
        let reply = packets(1, &[b"\x01", &reply, b"", b"\xfe\0\0"]);
        dialogue.says(TO_SERVER, &query);
        dialogue.says(TO_CLIENT, &reply);
        query.chunks(1).for_each(|byte| cut.says(TO_SERVER, byte));
        reply.chunks(1).for_each(|byte| cut.says(TO_CLIENT, byte));
    }
    dialogue.quit();
    cut.quit();
    let bytes = |dialogue: &Dialogue| -> Vec<(f64, f64, u64)> {
        dialogue.seen().iter().map(|one| (one.request_bytes, one.reply_bytes, one.reply_packets)).collect()
    };
    assert_eq!(bytes(&dialogue), bytes(&cut));
    assert_eq!(dialogue.seen().len(), 20);
    assert_eq!(dialogue.gathered.frames.kept(), cut.gathered.frames.kept());
}

#[test]
fn tls_refusals_streams_and_other_protocols_are_counted_and_left_alone() {
    let mut tls = Dialogue::new();
    let capabilities = Capabilities::PROTOCOL_41 | Capabilities::SSL;
    let greeting = Greeting {
        server_version: b"9.7.4".to_vec(),
        thread_id: 7,
        nonce: vec![1; 20],
        capabilities,
        charset: 45,
        status: 2,
        auth_plugin: Vec::new(),
    };
    tls.packet(TO_CLIENT, 0, &greeting.build());
    let mut request = Login { capabilities, ..Login::default() }.build();
    request.truncate(32);
    tls.packet(TO_SERVER, 1, &request);
    tls.says(TO_SERVER, b"\x16\x03\x01\x02\x00\x01");
    assert!(tls.session.is_over() && tls.gathered.counts.tls == 1);

    let mut refused = Dialogue::new();
    refused.packet(TO_CLIENT, 0, &ErrPacket::new(1040, b"08004", "Too many connections").build());
    assert!(refused.session.is_over() && refused.gathered.counts.refused == 1);

    let mut foreign = Dialogue::new();
    foreign.packet(TO_CLIENT, 0, b"HTTP/1.1 400 Bad Request");
    assert!(foreign.session.is_over() && foreign.gathered.counts.foreign == 1);

    let mut stream = Dialogue::logged_in(Capabilities::NONE);
    stream.packet(TO_SERVER, 0, &[command::COM_BINLOG_DUMP, 4, 0, 0, 0]);
    assert!(stream.session.is_over() && stream.gathered.counts.streams == 1);
}

#[test]
fn of_a_compressed_session_the_frames_are_counted() {
    let mut dialogue = Dialogue::logged_in(Capabilities::COMPRESS);
    for (packed_len, plain_len) in [(20usize, 100usize), (30, 0)] {
        let header = wire::frame::Header { packed_len, sequence_id: 0, plain_len };
        dialogue.says(TO_CLIENT, &header.build());
        dialogue.says(TO_CLIENT, &vec![1; packed_len]);
    }
    dialogue.session.end(&mut dialogue.gathered);
    let packed = dialogue.gathered.counts.zlib;
    assert_eq!((packed.sessions, packed.plain_bytes, packed.packed_bytes), (1, 130, 64));
    assert!(dialogue.seen().is_empty());
}

#[test]
fn uploads_and_pipelined_commands_are_no_exchanges() {
    let mut dialogue = Dialogue::logged_in(Capabilities::NONE);
    dialogue.query("load data local infile 'f' into table t");
    dialogue.packet(TO_CLIENT, 1, b"\xfbf");
    dialogue.packet(TO_SERVER, 2, b"1\n2\n");
    dialogue.packet(TO_SERVER, 3, b"");
    dialogue.packet(TO_CLIENT, 4, OK);
    dialogue.query("select 1");
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.says(TO_SERVER, &packets(0, &[b"\x03select 2"]).repeat(2));
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.query("select 3");
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.quit();
    let counts = &dialogue.gathered.counts;
    assert_eq!((counts.dialogues, counts.pipelined), (1, 1));
    assert_eq!(dialogue.seen().len(), 2);
}

#[test]
fn statements_that_are_closed_are_not_answered_and_long_data_belongs_to_its_execution() {
    let mut dialogue = Dialogue::logged_in(Capabilities::NONE);
    dialogue.query("select 1");
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.packet(TO_SERVER, 0, &[command::COM_STMT_CLOSE, 1, 0, 0, 0]);
    dialogue.packet(TO_SERVER, 0, &[command::COM_STMT_SEND_LONG_DATA; 96]);
    dialogue.packet(TO_SERVER, 0, &[command::COM_STMT_EXECUTE; 16]);
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.quit();
    let requests: Vec<f64> = dialogue.seen().iter().map(|one| one.request_bytes).collect();
    assert_eq!(requests, [13.0, 120.0]);
    assert_eq!(dialogue.gathered.counts.lost, 0);
}

#[test]
fn behind_a_gap_the_next_whole_command_begins_anew() {
    let mut dialogue = Dialogue::logged_in(Capabilities::NONE);
    dialogue.query("select 1");
    dialogue.session.lose(&mut dialogue.gathered);
    dialogue.says(TO_CLIENT, b"the rest of a reply");
    dialogue.says(TO_SERVER, b"the rest of a command");
    assert!(dialogue.session.is_lost());
    dialogue.query("select 2");
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.quit();
    assert_eq!((dialogue.seen().len(), dialogue.gathered.counts.lost), (1, 1));

    // The rest of the reply before comes behind the command: its id does not fit.
    let mut late = Dialogue::logged_in(Capabilities::NONE);
    late.session.lose(&mut late.gathered);
    late.query("select 2");
    late.packet(TO_CLIENT, 9, b"row");
    late.packet(TO_CLIENT, 10, b"row");
    assert!(late.session.is_lost());
    late.quit();
    assert!(late.seen().is_empty());
}

#[test]
fn a_session_from_the_middle_is_used_from_its_first_whole_command() {
    let mut gathered = Gathered::new(1);
    let session = Session::from_middle(&mut gathered);
    let mut dialogue = Dialogue { session, gathered, at: Duration::ZERO };
    dialogue.says(TO_CLIENT, b"rows of a reply whose command nobody has seen");
    dialogue.query("select 1");
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.quit();
    assert_eq!((dialogue.seen().len(), dialogue.gathered.counts.unrecognised), (1, 0));

    let mut gathered = Gathered::new(1);
    let mut packed = Session::from_middle(&mut gathered);
    let frame = [&[12, 0, 0, 0, 0, 0, 0][..], &packets(0, &[b"\x03select"])].concat();
    packed.bytes(TO_SERVER, &frame, Duration::ZERO, &mut gathered);
    packed.end(&mut gathered);
    assert_eq!(gathered.counts.unrecognised, 1);
}

#[test]
fn the_text_of_a_query_comes_without_its_attributes() {
    let mut dialogue = Dialogue::logged_in(Capabilities::QUERY_ATTRIBUTES);
    for (payload, id) in [(&b"\x03\x00\x01select 1"[..], 1), (b"\x03\x01\x01...select 2", 1)] {
        dialogue.packet(TO_SERVER, 0, payload);
        dialogue.packet(TO_CLIENT, id, OK);
    }
    dialogue.quit();
    assert_eq!(dialogue.gathered.queries, Some(vec!["select 1".to_owned()]));
    assert_eq!(dialogue.seen().len(), 2);
}

#[test]
fn in_a_pause_what_has_begun_is_ended_and_nothing_begins() {
    let mut dialogue = Dialogue::logged_in(Capabilities::NONE);
    dialogue.query("select 1");
    dialogue.gathered.is_pausing = true;
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.query("select 2");
    assert!(dialogue.session.is_lost());
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.gathered.is_pausing = false;
    dialogue.query("select 3");
    dialogue.packet(TO_CLIENT, 1, OK);
    dialogue.quit();
    assert_eq!((dialogue.seen().len(), dialogue.gathered.counts.lost), (2, 0));
}

#[test]
fn no_bytes_do_harm() {
    let mut sequence = Sequence::new(7, 7);
    for round in 0..300u32 {
        let mut dialogue =
            if round % 2 == 0 { Dialogue::new() } else { Dialogue::logged_in(Capabilities::NONE) };
        for _ in 0..40 {
            let direction = if sequence.below(2) == 0 { TO_SERVER } else { TO_CLIENT };
            let mut bytes = match sequence.below(3) {
                0 => packets(0, &[b"\x03select 1"]),
                1 => packets(1, &[b"\x01", b"row", &[0; 300]]),
                _ => (0..sequence.below(80)).map(|_| sequence.next_u64().to_le_bytes()[0]).collect(),
            };
            let place = sequence.below(u32::try_from(bytes.len()).unwrap()) as usize;
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 1 << sequence.below(8);
            }
            dialogue.says(direction, &bytes);
        }
        dialogue.quit();
        assert!(dialogue.session.held.capacity() <= 2 << 20);
    }
}
