//! Two thousand connections: how long a look at them takes, and whether sessions wait for it.
//!
//! The server behind is the embedded one, which takes a thread for each; a real one would take more memory.
//! Not here: what is in the table (`sql`).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use admin::{Admin, Prices, Setup, Tables, Totals};
use mysqlite::{LiveTables, Method, Options, Server};
use proxy::{Address, ListenerConfig, Proxy, raise_open_files_limit};
use wire::connect::Login;
use wire::response::ok;
use wire::{Capabilities, Endpoint};

const COUNT: usize = 2000;

/// A logged-in connection of our own.
struct Client {
    stream: TcpStream,
    endpoint: Endpoint,
}

impl Client {
    fn connect(address: &Address) -> Self {
        let Address::Tcp { host, port } = address else { unreachable!() };
        let stream = TcpStream::connect((host.as_str(), *port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut client = Self { stream, endpoint: Endpoint::new(1 << 24) };
        client.packet();
        let capabilities =
            Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
        let login = Login {
            capabilities,
            user: b"root".to_vec(),
            charset: 45,
            auth_plugin: Some(b"mysql_native_password".to_vec()),
            ..Login::default()
        };
        client.send(&login.build());
        assert_eq!(client.packet()[0], ok::HEADER);
        client
    }

    fn ping(&mut self) -> Duration {
        let begun = Instant::now();
        self.endpoint.begin_command();
        self.send(&[wire::command::COM_PING]);
        assert_eq!(self.packet()[0], ok::HEADER);
        begun.elapsed()
    }

    fn send(&mut self, payload: &[u8]) {
        self.endpoint.send(payload);
        self.endpoint.flush();
        let len = self.endpoint.output().len();
        self.stream.write_all(self.endpoint.output()).unwrap();
        self.endpoint.sent(len);
    }

    fn packet(&mut self) -> Vec<u8> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(payload) = self.endpoint.packet().unwrap() {
                return payload;
            }
            let len = self.stream.read(&mut buffer).unwrap();
            assert!(len > 0, "closed");
            self.endpoint.receive(&buffer[..len]);
        }
    }
}

/// Asks the port of HTTP; what it answers is to be read.
fn get(socket: &Path, path: &str) -> UnixStream {
    let mut stream = UnixStream::connect(socket).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// The slowest of some, and how long it is.
fn list_of_the_page(socket: &Path) -> (Duration, usize) {
    let mut slowest = Duration::ZERO;
    let mut top = String::new();
    for _ in 0..10 {
        let begun = Instant::now();
        top.clear();
        get(socket, "/api/top?sort=user&filter=root&limit=50").read_to_string(&mut top).unwrap();
        slowest = slowest.max(begun.elapsed());
        assert!(top.contains("\"matching\":2000") && top.matches("\"connection_id\"").count() == 50, "{top}");
    }
    (slowest, top.len())
}

#[test]
fn two_thousand_connections_are_listed_at_once_and_none_waits_for_it() {
    raise_open_files_limit();
    let options = Options { method: Method::Native, ..Options::default() };
    let server = Server::start(options).unwrap();
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), server.address().unwrap().into());
    config.server_tls.mode = Some(proxy::SslMode::Disabled);
    let proxy = Proxy::start(config).unwrap();
    let mut clients: Vec<_> = (0..COUNT).map(|_| Client::connect(proxy.address())).collect();
    let directory = tempfile::tempdir().unwrap();
    let listen = Some(Address::Unix(directory.path().join("admin.sock")));
    let http = directory.path().join("http.sock");
    let http_listen = Some(Address::Unix(http.clone()));
    let setup = Setup { listen, http_listen, user: "admin".to_owned(), ..Setup::default() };
    let admin = Admin::open(&setup, &proxy.live()).unwrap();

    // What a session feels of it is the time that the registry is locked and memory is read, no more.
    let tables = Tables::new(proxy.live(), <std::sync::Arc<Totals>>::default(), Prices::default());
    let begun = Instant::now();
    assert_eq!(tables.rows("connections").len(), COUNT);
    let looked = begun.elapsed();

    let Some(Address::Unix(path)) = admin.sql_address() else { unreachable!() };
    let Some(real) = lab::real::required_programs() else { return };
    let ask = |statement: &str| {
        let mut client = real.command("mysql").unwrap();
        client.args(["--batch", "--user=admin", &format!("--execute={statement}")]);
        let output = client.arg(format!("--socket={}", path.display())).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // The client's own start is not part of it.
    let times = |statement: &str| {
        let mut times: Vec<_> = (0..5)
            .map(|_| {
                let begun = Instant::now();
                let lines = ask(statement).lines().count();
                (begun.elapsed(), lines)
            })
            .collect();
        times.sort();
        times[0]
    };
    let (start, _) = times("do 1");
    let (listing, lines) = times("select * from connections");
    assert_eq!(lines, COUNT + 1);
    let took = listing.saturating_sub(start);
    println!("{COUNT} connections: read in {looked:?}, selected in {took:?} (client's start {start:?})");
    assert!(took < Duration::from_millis(200), "{took:?}");

    // The web page: its stream, which is open from here on, and its list.
    let mut events = get(&http, "/api/events");
    let (took, len) = list_of_the_page(&http);
    println!("the page's list took {took:?}, {len} bytes");
    assert!(took < Duration::from_millis(200), "{took:?}");

    // Sessions go on meanwhile.
    let slowest = std::thread::scope(|scope| {
        let listing = scope.spawn(|| {
            let mut told = [0; 1 << 16];
            (0..5)
                .map(|_| ask("select * from connections").len() + events.read(&mut told).unwrap())
                .sum::<usize>()
        });
        let mut slowest = Duration::ZERO;
        let mut pings = 0;
        while !listing.is_finished() || pings < 200 {
            let index = pings % COUNT;
            slowest = slowest.max(clients[index].ping());
            pings += 1;
        }
        slowest
    });
    println!("the slowest of the pings meanwhile took {slowest:?}");
    assert!(slowest < Duration::from_millis(200), "{slowest:?}");
}
