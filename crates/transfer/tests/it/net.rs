//! Both ends in one process, with a way between them that can be broken.
//!
//! Not here: real processes and their ends (crate `cli`), links of the kernel (`wirepress bench sst`).

use std::io::{Cursor, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use transfer::net::{Patience, ReceiveOptions, Receiver, Security, SendOptions, SharedKey, send};
use transfer::{Fault, Meter, PackOptions, Rule, Setting, Summary, UnpackOptions, pack_pieces, unpack};

use crate::{pages, threads};

fn key(text: &str) -> Security {
    Security::Shared(SharedKey::new(text.repeat(32).as_bytes()).unwrap())
}

fn patience() -> Patience {
    let [start, reconnect, silence] = [10, 5, 5].map(Duration::from_secs);
    Patience { start, reconnect, silence }
}

type Received = (Vec<u8>, Result<Summary, Fault>);

/// A receiver, its address, and what it will have received.
fn receiving(security: Security, fail_after: Option<usize>) -> (String, std::thread::JoinHandle<Received>) {
    receiving_with(security, patience(), fail_after)
}

fn receiving_with(
    security: Security,
    patience: Patience,
    fail_after: Option<usize>,
) -> (String, std::thread::JoinHandle<Received>) {
    struct Limited(Vec<u8>, Option<usize>);
    impl Write for Limited {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.1.is_some_and(|limit| self.0.len() + bytes.len() > limit) {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.0.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let options = ReceiveOptions { security, patience, window_len: 40 << 20 };
    let receiver = Receiver::bind("127.0.0.1:0", options).unwrap();
    let address = receiver.address().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        let mut out = Limited(Vec::new(), fail_after);
        let done = receiver
            .run((), |stream| unpack(stream, &mut out, &UnpackOptions::new(threads(2)), &Meter::default()));
        (out.0, done)
    });
    (address, thread)
}

fn options(to: &str, security: Security) -> SendOptions {
    SendOptions {
        to: to.to_owned(),
        connections: Some(3),
        security,
        rate_limit: None,
        patience: patience(),
        window_len: 16 << 20,
    }
}

fn sending(to: &str, security: Security, input: impl Read + Send + 'static) -> Result<Summary, Fault> {
    let options = options(to, security);
    let pack = PackOptions { rule: Rule::Fixed(Setting::Level(1)), threads: threads(2) };
    send(&options, move |sink| pack_pieces(input, &pack, &Meter::default(), sink))
}

#[test]
fn a_stream_arrives_whatever_the_security() {
    for security in [key("a"), Security::Clear] {
        for len in [0, 1, 30_000_000] {
            let plain = pages(len);
            let (to, receiver) = receiving(security.clone(), None);
            let sent = sending(&to, security.clone(), Cursor::new(plain.clone())).unwrap();
            let (back, received) = receiver.join().unwrap();
            assert_eq!(received.unwrap().plain_len, sent.plain_len);
            assert!(back == plain);
        }
    }
}

#[test]
fn another_key_is_refused_and_neither_end_succeeds() {
    let (to, receiver) = receiving(key("a"), None);
    let fault = sending(&to, key("b"), Cursor::new(pages(1000))).unwrap_err();
    assert!(matches!(fault, Fault::ConnectionLost { .. }), "{fault}");
    let (back, received) = receiver.join().unwrap();
    assert!(back.is_empty() && received.is_err());
}

#[test]
fn a_receiver_that_fails_is_the_senders_fault_in_its_words() {
    let (to, receiver) = receiving(key("a"), Some(1_000_000));
    let fault = sending(&to, key("a"), Cursor::new(pages(30_000_000))).unwrap_err();
    assert!(receiver.join().unwrap().1.is_err());
    assert!(
        matches!(&fault, Fault::PeerFailed { words } if words.contains("cannot write the output")),
        "{fault}"
    );
}

#[test]
fn a_source_that_fails_is_the_receivers_fault_in_its_words() {
    struct Failing(usize);
    impl Read for Failing {
        fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or_else(|| std::io::Error::other("the backup failed"))?;
            room.fill(7);
            Ok(room.len())
        }
    }
    let (to, receiver) = receiving(key("a"), None);
    assert!(matches!(sending(&to, key("a"), Failing(5)), Err(Fault::Read(_))));
    let fault = receiver.join().unwrap().1.unwrap_err();
    let words = std::error::Error::source(&fault).unwrap().to_string();
    assert!(words.contains("the backup failed"), "{words}");
}

#[test]
fn a_source_that_fails_before_anything_is_connected_is_told_to_the_receiver_too() {
    // It is a race, which the source does not win each time.
    for _ in 0..100 {
        let (to, receiver) = receiving(Security::Clear, None);
        let fault = send(&options(&to, Security::Clear), |_| Err(Fault::Panicked)).unwrap_err();
        assert!(matches!(fault, Fault::Panicked), "{fault}");
        let fault = receiver.join().unwrap().1.unwrap_err();
        let words = std::error::Error::source(&fault).unwrap().to_string();
        assert!(!words.contains("no sender came"), "{words}");
    }
}

/// Passes a connection on until it ends, or after so many bytes.
fn pass_on(mut from: TcpStream, to: &str, limit_len: u64) {
    let mut onward = TcpStream::connect(to).unwrap();
    let (mut back_from, mut back) = (onward.try_clone().unwrap(), from.try_clone().unwrap());
    std::thread::spawn(move || {
        let _copied = std::io::copy(&mut back_from, &mut back);
        let _is_shut = back.shutdown(Shutdown::Both);
    });
    // Either end may be gone.
    let _copied = std::io::copy(&mut Read::by_ref(&mut from).take(limit_len), &mut onward);
    for stream in [&from, &onward] {
        let _is_shut = stream.shutdown(Shutdown::Both);
    }
}

/// Passes connections on to `to`, and breaks each after so many bytes, as long as there are lengths left.
fn breaking(to: String, mut lens: Vec<usize>) -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let broken = Arc::<Mutex<usize>>::default();
    let counted = Arc::clone(&broken);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (from, to, limit) = (stream.unwrap(), to.clone(), lens.pop());
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || {
                pass_on(from, &to, limit.map_or(u64::MAX, |len| len as u64));
                *counted.lock().unwrap() += usize::from(limit.is_some());
            });
        }
    });
    (address, broken)
}

#[test]
fn connections_that_break_cost_nothing_but_time() {
    let plain = pages(40_000_000);
    let (to, receiver) = receiving(key("a"), None);
    let (to, broken) = breaking(to, vec![5_000_000, 3_000, 100, 2_000_000, 1_234_567, 700_000]);
    let sent = sending(&to, key("a"), Cursor::new(plain.clone()));
    let (back, received) = receiver.join().unwrap();
    assert!(sent.is_ok() && received.is_ok(), "{sent:?} {received:?}");
    assert!(back == plain);
    assert!(*broken.lock().unwrap() >= 3);
}

#[test]
fn a_piece_that_takes_longer_than_the_permitted_silence_is_no_silence() {
    // The receiver alone would say something every five seconds.
    let (to, receiver) = receiving(key("a"), None);
    let options = SendOptions {
        rate_limit: Some(150_000),
        patience: Patience { silence: Duration::from_secs(1), ..patience() },
        ..options(&to, key("a"))
    };
    let plain = pages(450_000);
    let (input, pack) =
        (Cursor::new(plain.clone()), PackOptions { rule: Rule::Fixed(Setting::Stored), threads: threads(1) });
    let sent = send(&options, move |sink| pack_pieces(input, &pack, &Meter::default(), sink));
    let (back, received) = receiver.join().unwrap();
    assert!(sent.is_ok() && received.is_ok(), "{sent:?} {received:?}");
    assert!(back == plain);
}

#[test]
fn connections_that_break_before_a_piece_is_through_are_given_up() {
    let short = Patience { start: Duration::from_secs(1), reconnect: Duration::from_secs(1), ..patience() };
    // The receiver waits longer, or it may be the first to give up, which it would say.
    let longer = Patience { start: Duration::from_secs(4), reconnect: Duration::from_secs(4), ..patience() };
    let (to, receiver) = receiving_with(Security::Clear, longer, None);
    let (to, _) = breaking(to, vec![5000; 10_000]);
    let options = SendOptions { patience: short, ..options(&to, Security::Clear) };
    let pack = PackOptions { rule: Rule::Fixed(Setting::Stored), threads: threads(1) };
    let input = Cursor::new(pages(450_000));
    let fault = send(&options, move |sink| pack_pieces(input, &pack, &Meter::default(), sink)).unwrap_err();
    assert!(matches!(fault, Fault::ConnectionLost { .. }), "{fault}");
    assert!(receiver.join().unwrap().1.is_err());
}

#[test]
fn a_receiver_that_is_gone_fails_the_sender_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    drop(listener);
    let options = Patience { start: Duration::from_millis(600), ..patience() };
    let send_options = SendOptions {
        to,
        connections: None,
        security: Security::Clear,
        rate_limit: None,
        patience: options,
        window_len: 1 << 20,
    };
    let pack = PackOptions { rule: Rule::Fastest, threads: threads(1) };
    let done = send(&send_options, move |sink| {
        pack_pieces(Cursor::new(pages(9_000_000)), &pack, &Meter::default(), sink)
    });
    assert!(matches!(done, Err(Fault::ConnectionLost { .. })));
}

#[test]
fn a_sender_that_never_comes_fails_the_receiver_in_time() {
    let patience = Patience { start: Duration::from_millis(600), ..patience() };
    let options = ReceiveOptions { security: key("a"), patience, window_len: 1 << 20 };
    let receiver = Receiver::bind("127.0.0.1:0", options).unwrap();
    let done = receiver
        .run((), |stream| unpack(stream, Vec::new(), &UnpackOptions::new(threads(1)), &Meter::default()));
    assert!(matches!(done, Err(Fault::Read(_))));
}

/// Whatever stands in between permits one connection: the others are refused, and nothing is wrong.
#[test]
fn connections_that_are_refused_while_one_stands_cost_nothing() {
    let plain = pages(10_000_000);
    let (to, receiver) = receiving(key("a"), None);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (from, _) = listener.accept().unwrap();
        drop(listener);
        pass_on(from, &to, u64::MAX);
    });
    // Longer than a host may refuse that has nobody else.
    let options = SendOptions { rate_limit: Some(2_000_000), ..options(&address, key("a")) };
    let pack = PackOptions { rule: Rule::Fixed(Setting::Stored), threads: threads(2) };
    let input = Cursor::new(plain.clone());
    send(&options, move |sink| pack_pieces(input, &pack, &Meter::default(), sink)).unwrap();
    let (back, received) = receiver.join().unwrap();
    received.unwrap();
    assert!(back == plain);
}

/// It has not what the first one got, which was not kept.
#[test]
fn another_receiver_at_the_same_address_ends_both() {
    let (first, first_receiver) = receiving(key("a"), None);
    let (second, second_receiver) = receiving(key("a"), None);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        pass_on(listener.accept().unwrap().0, &first, 3_000_000);
        pass_on(listener.accept().unwrap().0, &second, u64::MAX);
    });
    let options = SendOptions { connections: Some(1), window_len: 2 << 20, ..options(&address, key("a")) };
    let pack = PackOptions { rule: Rule::Fixed(Setting::Level(1)), threads: threads(2) };
    let input = Cursor::new(pages(100_000_000));
    let begun = std::time::Instant::now();
    let fault = send(&options, move |sink| pack_pieces(input, &pack, &Meter::default(), sink)).unwrap_err();
    assert!(fault.to_string().contains("another one"), "{fault}");
    assert!(second_receiver.join().unwrap().1.is_err());
    assert!(begun.elapsed() < patience().reconnect, "{:?}", begun.elapsed());
    assert!(first_receiver.join().unwrap().1.is_err());
}

/// Passes a connection on, in clear, and breaks it in place of the receiver's last word.
fn pass_on_without_done(from: TcpStream, to: &str) {
    let mut onward = TcpStream::connect(to).unwrap();
    let (mut back, mut from_too) = (onward.try_clone().unwrap(), from.try_clone().unwrap());
    let (mut forth, mut onward_too) = (from.try_clone().unwrap(), onward.try_clone().unwrap());
    std::thread::spawn(move || drop(std::io::copy(&mut forth, &mut onward_too)));
    // None of its messages has more than a head.
    let mut head = [0; 13];
    while back.read_exact(&mut head).is_ok() && head[0] != b'D' {
        from_too.write_all(&head).unwrap();
    }
    for stream in [&from, &onward] {
        let _is_shut = stream.shutdown(Shutdown::Both);
    }
    onward.flush().unwrap();
}

/// A way on which the last word is lost, and then another connection stands or none.
fn last_word_lost(another: bool) -> (Result<Summary, Fault>, Received, Duration) {
    let plain = pages(10_000_000);
    let short = Patience { reconnect: Duration::from_secs(2), ..patience() };
    let (to, receiver) = receiving_with(Security::Clear, short, None);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        pass_on_without_done(listener.accept().unwrap().0, &to);
        if another {
            pass_on(listener.accept().unwrap().0, &to, u64::MAX);
        }
    });
    let options = SendOptions { connections: Some(1), patience: short, ..options(&address, Security::Clear) };
    let pack = PackOptions { rule: Rule::Fixed(Setting::Level(1)), threads: threads(2) };
    let input = Cursor::new(plain.clone());
    let sent = send(&options, move |sink| pack_pieces(input, &pack, &Meter::default(), sink));
    let began = std::time::Instant::now();
    let received = receiver.join().unwrap();
    assert!(received.0 == plain);
    (sent, received, began.elapsed())
}

#[test]
fn the_last_word_is_told_again_over_the_next_connection() {
    let (sent, (_, received), took) = last_word_lost(true);
    assert!(sent.is_ok() && received.is_ok(), "{sent:?} {received:?}");
    // The sender has said that it knows.
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_sender_who_missed_only_the_last_word_says_so() {
    let (sent, (_, received), _) = last_word_lost(false);
    let fault = sent.unwrap_err().to_string();
    assert!(fault.contains("it had received everything and may have succeeded"), "{fault}");
    received.unwrap();
}
