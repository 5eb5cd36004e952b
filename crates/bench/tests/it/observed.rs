//! Advice about traffic that was seen, and about what sysbench sends; on real servers.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bench::advise::{self, Options, PcapOptions, Prices, SslOption, StatementSource, TrialOptions, Workload};
use bench::client::{Account, Client, Compression, Stop};
use etherparse::PacketBuilder;
use lab::link::Link;
use lab::real::{Kind, PASSWORD, RealServer, USER, required, required_with};
use serde_json::Value;

pub(crate) fn options(workload: Workload, folder: &Path, link: Option<&str>) -> Options {
    Options {
        workload,
        assume_link: link.map(|link| Link::parse(link).unwrap()),
        seed: 1,
        prices: Prices::default(),
        drivers: Vec::new(),
        out: Some(folder.join("out")),
        json: false,
    }
}

fn told(options: &Options) -> String {
    let mut told = Vec::new();
    advise::run(options, &mut told).unwrap();
    String::from_utf8(told).unwrap()
}

fn refusal(options: &Options) -> String {
    format!("{:#}", advise::run(options, &mut Vec::new()).unwrap_err())
}

/// A reader that has gone (`| head`).
struct Gone;

impl Write for Gone {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A part of a conversation: when, whether from the client, what.
type Part = (Duration, bool, Vec<u8>);

/// Passes one client on to the server, and writes down what passes.
fn recorder(server: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<Part>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let record = Arc::<Mutex<Vec<Part>>>::default();
    let kept = Arc::clone(&record);
    std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(server).unwrap();
        let start = Instant::now();
        std::thread::scope(|scope| {
            for (mut from, mut to, is_client) in [
                (client.try_clone().unwrap(), server.try_clone().unwrap(), true),
                (server.try_clone().unwrap(), client.try_clone().unwrap(), false),
            ] {
                let record = &record;
                scope.spawn(move || {
                    let mut buffer = vec![0; 64 << 10];
                    while let Ok(len @ 1..) = from.read(&mut buffer) {
                        record.lock().unwrap().push((start.elapsed(), is_client, buffer[..len].to_vec()));
                        if to.write_all(&buffer[..len]).is_err() {
                            break;
                        }
                    }
                    to.shutdown(Shutdown::Both).ok();
                });
            }
        });
    });
    (address, kept)
}

/// The conversation as a capture beside the server: 0.2 ms to it, 4.8 ms to the client.
fn capture(parts: &[Part]) -> Vec<u8> {
    let mut file = 0xa1b2_c3d4u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0]);
    for value in [0u32, 0, 262_144, 1] {
        file.extend(value.to_le_bytes());
    }
    let (mut next, mut at_us) = ([1_000u32, 2_000u32], 1_000_000u64);
    let mut packet = |is_client: bool, next: [u32; 2], at_us: u64, flags: &str, payload: &[u8]| {
        let (ends, ports) = (([10, 0, 0, 1], [10, 0, 0, 2]), (40_000, 3306));
        let ((from, to), (from_port, to_port)) =
            if is_client { (ends, ports) } else { ((ends.1, ends.0), (ports.1, ports.0)) };
        let [own, other] = if is_client { next } else { [next[1], next[0]] };
        let tcp =
            PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4(from, to, 64).tcp(from_port, to_port, own, 65_000);
        let tcp = if flags.contains('S') { tcp.syn() } else { tcp };
        let tcp = if flags.contains('A') { tcp.ack(other) } else { tcp };
        let mut bytes = Vec::new();
        tcp.write(&mut bytes, payload).unwrap();
        let len = u32::try_from(bytes.len()).unwrap();
        for value in
            [u32::try_from(at_us / 1_000_000).unwrap(), u32::try_from(at_us % 1_000_000).unwrap(), len, len]
        {
            file.extend(value.to_le_bytes());
        }
        file.extend(bytes);
    };
    packet(true, next, at_us, "S", b"");
    next[0] += 1;
    packet(false, next, at_us + 200, "SA", b"");
    next[1] += 1;
    packet(true, next, at_us + 5_000, "A", b"");
    at_us += 10_000;
    for (at, is_client, bytes) in parts {
        for piece in bytes.chunks(1448) {
            packet(*is_client, next, at_us + u64::try_from(at.as_micros()).unwrap(), "A", piece);
            let own = &mut next[usize::from(!is_client)];
            *own = own.wrapping_add(u32::try_from(piece.len()).unwrap());
        }
    }
    file
}

pub(crate) fn pcap(file: &Path, port: u16) -> Workload {
    Workload::Pcap(PcapOptions { file: file.to_path_buf(), port })
}

/// Forty replies of prose, seen on their way.
pub(crate) fn capture_of_prose(server: &RealServer) -> Vec<u8> {
    let (address, record) = recorder(server.address());
    let account = Account {
        user: USER.to_owned(),
        password: PASSWORD.to_owned().into(),
        database: String::new(),
        tls: None,
    };
    let mut client = Client::connect(&address.into(), &account, Compression::NONE, &Stop::new()).unwrap();
    for _ in 0..40 {
        client
            .query(
                "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300) \
                 select i, concat('the server sends and the link carries ', sha2(i, 256)) from n",
            )
            .unwrap();
    }
    client.quit();
    // The recorder's threads end with the connection.
    let deadline = Instant::now() + Duration::from_secs(20);
    while Arc::strong_count(&record) > 1 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    capture(&record.lock().unwrap())
}

#[test]
fn a_capture_of_a_real_conversation_is_advised_about() {
    let Some(server) = required(Kind::MySql) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.pcap");
    std::fs::write(&file, capture_of_prose(server)).unwrap();

    let words = told(&options(pcap(&file, 3306), folder.path(), Some("20mbit,5ms")));
    for part in [
        "Use z",
        "the traffic that was seen takes",
        "40 exchanges of the capture timed (1 session, ",
        "round trip 5.00 ms",
        "ms each",
        "Only one session was open at a time",
        "-u USER -p",
        "10.0.0.2",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let json: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("out/advice.json")).unwrap())
            .unwrap();
    assert_eq!((&json["verdict"], &json["time_of"]), (&"use".into(), &"exchange".into()));
    assert_eq!(json["exchanges_count"], 40);
    assert_eq!(json["candidates"].as_array().unwrap().len(), 10);
    let html = std::fs::read_to_string(folder.path().join("out/advice.html")).unwrap();
    assert!(!html.contains("the link carries") && !words.contains("the link carries"));

    // Without a link's name its rate is what was seen, and the verdict says so.
    let words = told(&options(pcap(&file, 3306), folder.path(), None));
    assert!(words.contains("at least ") && words.contains("round trip 5.00 ms, as seen"), "{words}");
    assert!(words.contains("if the link is no faster than was seen") || words.contains("Leave"), "{words}");

    // Whoever reads no more still finds the files.
    std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    advise::run(&options(pcap(&file, 3306), folder.path(), Some("20mbit,5ms")), &mut Gone).unwrap();
    for name in ["advice.html", "advice.json"] {
        assert!(folder.path().join("out").join(name).is_file(), "{name}");
    }

    let words = refusal(&options(pcap(&file, 3307), folder.path(), None));
    assert!(words.contains("none with data to or from TCP port 3307") && words.contains("3306"), "{words}");
    std::fs::write(&file, "select 1").unwrap();
    let words = refusal(&options(pcap(&file, 3306), folder.path(), None));
    assert!(words.contains("no capture") && words.contains("tcpdump -s 0 -w FILE"), "{words}");
}

fn sysbench(server: &RealServer, script: &str, rows: u32, folder: &Path) -> Options {
    let trial = TrialOptions {
        server: format!("mysql://{USER}:{PASSWORD}@{}/sysbench", server.address()).parse().unwrap(),
        ssl_options: vec![SslOption { name: "ssl-mode", value: "disabled".to_owned() }],
        statements: StatementSource::Sysbench {
            script: script.to_owned(),
            options: vec!["tables=1".to_owned(), format!("table-size={rows}")],
        },
        allow_writes: false,
        time: Duration::from_secs(3),
        wirepress: folder.join("no-such-program"),
    };
    options(Workload::Trial(trial), folder, Some("20mbit,5ms"))
}

#[test]
fn what_a_script_of_sysbench_sends_is_run_under_every_candidate() {
    let Some(server) = required_with(Kind::MySql, &lab::real::Options::new()) else { return };
    server.sql("create database sysbench").unwrap();
    let folder = tempfile::tempdir().unwrap();

    let words = refusal(&sysbench(&server, "oltp_read_write", 1000, folder.path()));
    assert!(words.contains("oltp_read_write may write") && words.contains("--allow-writes"), "{words}");
    let words = refusal(&sysbench(&server, "oltp_read_only", 1000, folder.path()));
    assert!(words.contains("must have been prepared in the schema sysbench"), "{words}");
    assert!(words.contains("sbtest1' doesn't exist"), "{words}");

    let prepared = server
        .command("sysbench")
        .unwrap()
        .args(["oltp_read_only", "--mysql-host=127.0.0.1", "--mysql-db=sysbench", "--mysql-ssl=off"])
        .arg(format!("--mysql-port={}", server.address().port()))
        .arg(format!("--mysql-user={USER}"))
        .arg(format!("--mysql-password={PASSWORD}"))
        .args(["--tables=1", "--table-size=1000", "prepare"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(prepared.status.success(), "{prepared:?}");
    let before = server.sql("checksum table sysbench.sbtest1").unwrap();
    let words = told(&sysbench(&server, "oltp_read_only", 1000, folder.path()));
    // Transactions of BEGIN, 14 statements and COMMIT, whole.
    let statements: usize = words
        .split_once(" statements, ")
        .and_then(|(before, _)| before.rsplit('(').next())
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("{words}"));
    assert!(statements >= 16 && statements.is_multiple_of(16), "{words}");
    assert!(words.contains("the workload takes"), "{words}");
    assert_eq!(server.sql("checksum table sysbench.sbtest1").unwrap(), before);
}
