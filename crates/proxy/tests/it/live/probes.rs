//! Port probes and silent clients must not get the proxy's address blocked by the server.
//!
//! A server counts connections that end between greeting and login, by address, and after `max_connect_errors`
//! of them blocks the address. Loopback is never counted, so the server runs in a network namespace of its own
//! and sees the proxy at the other end of a veth pair.
//!
//! Not here: what the client of a refused login is told (`bad_input`).

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

use lab::namespace::Namespace;
use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required_with, root_or_skip};
use lab::wait::wait_until;
use proxy::{
    Address, ListenerConfig, ListenerTls, Monitor, Proxy, ServerTls, SslMode, TlsMode, make_self_signed,
};
use tempfile::TempDir;
use wire::Capabilities;
use wire::connect::Login;
use wire::connect::login::ssl_request;

use super::tls::start_tls;

use super::proxy_protocol::HaProxy;

fn server_in(namespace: &Namespace, kind: Kind, options: Options) -> Option<RealServer> {
    let options = options
        .bind(IpAddr::V4(namespace.address()))
        // The cache that errors are counted in holds only addresses whose name is known.
        .resolve_names()
        .argument("--max-connect-errors=100")
        .through(namespace.exec());
    required_with(kind, &options)
}

fn login_error(server: &RealServer, host: &str, port: u16) -> Option<String> {
    let mut client = match server.kind() {
        Kind::MySql => {
            let mut client = server.command("mysql").unwrap();
            client.args(["--get-server-public-key", "--ssl-mode=DISABLED"]);
            client
        }
        _ => server.command("mariadb").unwrap(),
    };
    let client = client.args(["-h", host, "-P", &port.to_string(), "-u", USER]);
    let output = client.arg(format!("-p{PASSWORD}")).args(["-e", "select 1"]).output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Connects and leaves in one of the ways of probes, scanners and broken clients.
fn probe(address: (&str, u16), manner: u32) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut greeting = [0; 5];
    match manner % 5 {
        // Closes at once, before or while the proxy dials.
        0 => {}
        // Reads the greeting and leaves, as a health check does.
        1 => socket.read_exact(&mut greeting).unwrap(),
        // Speaks something else.
        2 => {
            socket.read_exact(&mut greeting).unwrap();
            socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            drop(socket.read_to_end(&mut answer));
        }
        // Logs in with a scramble that can't be right, and leaves when more is asked of it.
        3 => {
            read_greeting(&mut socket);
            socket.write_all(&packet(&stranger(Capabilities::NONE).build(), 1)).unwrap();
            // More data, a switch, or a refusal.
            let mut answer = [0];
            assert_eq!(socket.read(&mut answer).unwrap(), 1, "no answer to a login");
        }
        // Begins a login and breaks off.
        _ => {
            socket.read_exact(&mut greeting).unwrap();
            socket.write_all(&[200, 0, 0, 1, 0x85, 0xa6]).unwrap();
        }
    }
}

/// Leaves in one of the ways that only TLS has.
fn probe_tls(address: (&str, u16), manner: u32) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    read_greeting(&mut socket);
    let login = stranger(Capabilities::SSL);
    let capabilities = login.capabilities;
    let login = login.build();
    socket.write_all(&packet(&ssl_request(&login, capabilities), 1)).unwrap();
    match manner % 6 {
        // Leaves behind the SSLRequest.
        0 => {}
        // In the middle of its first TLS record.
        1 => socket.write_all(&[0x16, 3, 1, 0, 200, 1, 0, 0]).unwrap(),
        // Does not like the certificate: a fatal alert, unknown authority.
        2 => socket.write_all(&[0x15, 3, 3, 0, 2, 2, 48]).unwrap(),
        // Behind the handshake, before its login.
        3 => drop(start_tls(socket).flush()),
        // Speaks something else behind TLS.
        4 => {
            let mut stream = start_tls(socket);
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            drop(stream.read_to_end(&mut Vec::new()));
        }
        // Logs in with a scramble that can't be right, and leaves when more is asked of it.
        _ => {
            let mut stream = start_tls(socket);
            stream.write_all(&packet(&login, 2)).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 1, "no answer to a login");
        }
    }
}

fn read_greeting(socket: &mut TcpStream) {
    let mut header = [0; 4];
    socket.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
    socket.read_exact(&mut payload).unwrap();
    assert_eq!(payload[0], 10, "no greeting: {}", payload.escape_ascii());
}

/// A login of the account that all servers have.
fn stranger(more: Capabilities) -> Login {
    Login {
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::LONG_PASSWORD
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | more,
        user: USER.into(),
        auth_response: vec![7; 32].into(),
        auth_plugin: Some(b"caching_sha2_password".to_vec()),
        ..Login::default()
    }
}

fn packet(payload: &[u8], id: u8) -> Vec<u8> {
    let mut packet = Vec::new();
    wire::packet::split(payload, id, &mut packet);
    packet
}

/// A server with TLS and these arguments, and a proxy in front of it with TLS on both legs.
struct Secured {
    server: RealServer,
    proxy: Proxy,
    port: u16,
    _namespace: Namespace,
    _directory: TempDir,
}

impl Secured {
    fn new(kind: Kind, arguments: &[&str], server_tls: ServerTls) -> Option<Self> {
        let namespace = Namespace::new().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (cert, key) = make_self_signed(directory.path()).unwrap();
        let options = arguments.iter().fold(Options::new(), |options, argument| options.argument(*argument));
        let options = options
            .argument(format!("--ssl-cert={}", cert.display()))
            .argument(format!("--ssl-key={}", key.display()));
        let server = server_in(&namespace, kind, options)?;
        let target = Address::Tcp { host: namespace.address().to_string(), port: server.address().port() };
        let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), target);
        config.server_tls = server_tls;
        config.tls = Some(ListenerTls { mode: TlsMode::Preferred, cert, key, client_ca: None });
        let proxy = Proxy::start(config).unwrap();
        let Address::Tcp { port, .. } = *proxy.address() else { unreachable!() };
        Some(Self { server, proxy, port, _namespace: namespace, _directory: directory })
    }

    fn login_error(&self) -> Option<String> {
        login_error(&self.server, "127.0.0.1", self.port)
    }
}

fn probes_of_tls_leave_logins_working(kind: Kind, arguments: &[&str]) {
    if !root_or_skip() {
        return;
    }
    let required = ServerTls { mode: Some(SslMode::Required), ..ServerTls::default() };
    let Some(secured) = Secured::new(kind, arguments, required) else { return };
    for manner in 0..600 {
        probe_tls(("127.0.0.1", secured.port), manner);
        probe(("127.0.0.1", secured.port), manner);
    }
    assert_eq!(secured.login_error(), None, "{:?}", secured.proxy.counters().faults());
}

#[test]
fn probes_that_leave_before_and_in_tls_leave_logins_working_on_mysql() {
    probes_of_tls_leave_logins_working(Kind::MySql, &[]);
}

#[test]
fn probes_that_leave_before_and_in_tls_leave_logins_working_on_mariadb() {
    probes_of_tls_leave_logins_working(Kind::MariaDb, &[]);
}

#[test]
fn probes_leave_logins_working_on_a_mysql_that_requires_secure_transport() {
    probes_of_tls_leave_logins_working(Kind::MySql, &["--require-secure-transport=ON"]);
}

#[test]
fn probes_leave_logins_working_on_a_mariadb_that_requires_secure_transport() {
    probes_of_tls_leave_logins_working(Kind::MariaDb, &["--require-secure-transport=ON"]);
}

/// What can't be helped: a TLS handshake that the proxy breaks off because it does not believe the certificate. Only
/// going on with a server that isn't believed would end it otherwise.
fn distrust_is_counted(kind: Kind) {
    if !root_or_skip() {
        return;
    }
    let fingerprint = Some("00".repeat(32).parse().unwrap());
    let wrong = ServerTls { fingerprint, ..ServerTls::default() };
    let Some(secured) = Secured::new(kind, &[], wrong) else { return };
    let error = secured.login_error().unwrap();
    assert!(error.contains("is not the one of --ssl-fp"), "{error}");
    for _ in 0..150 {
        let mut socket = TcpStream::connect(("127.0.0.1", secured.port)).unwrap();
        socket.write_all(&packet(&stranger(Capabilities::NONE).build(), 1)).unwrap();
        drop(socket.read_to_end(&mut Vec::new()));
    }
    let error = secured.login_error().unwrap();
    assert!(error.contains("is blocked because of many connection errors"), "{error}");
}

#[test]
fn handshakes_with_a_server_that_is_not_believed_are_counted_by_mysql() {
    distrust_is_counted(Kind::MySql);
}

#[test]
fn handshakes_with_a_server_that_is_not_believed_are_counted_by_mariadb() {
    distrust_is_counted(Kind::MariaDb);
}

fn a_thousand_probes_leave_logins_working(kind: Kind) {
    if !root_or_skip() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let Some(server) = server_in(&namespace, kind, Options::new()) else { return };
    let host = namespace.address().to_string();
    let port = server.address().port();

    let mut config =
        ListenerConfig::new("127.0.0.1:0".parse().unwrap(), Address::Tcp { host: host.clone(), port });
    config.login_timeout = Duration::from_secs(1);
    let proxy = Proxy::start(config).unwrap();
    let Address::Tcp { port: proxy_port, .. } = *proxy.address() else { unreachable!() };
    for manner in 0..1000 {
        probe(("127.0.0.1", proxy_port), manner);
    }
    // And some that say nothing until the deadline.
    let silent: Vec<_> = (0..20).map(|_| TcpStream::connect(("127.0.0.1", proxy_port)).unwrap()).collect();
    for mut socket in silent {
        let mut all = Vec::new();
        drop(socket.read_to_end(&mut all));
        assert!(!all.is_empty(), "a silent client got neither greeting nor error");
    }
    assert_eq!(login_error(&server, "127.0.0.1", proxy_port), None);
    proxy.stop();

    // The control: without the proxy the same probes get this address blocked.
    for _ in 0..150 {
        probe((&host, port), 1);
    }
    let error = login_error(&server, &host, port).unwrap_or_else(|| {
        let seen = server.sql(
            "select ip, host, sum_connect_errors, count_handshake_errors from performance_schema.host_cache",
        );
        panic!("the server does not count broken handshakes: {seen:?}")
    });
    assert!(error.contains("1129") || error.contains("blocked"), "{error}");
}

/// HAProxy's checks behind their PROXY header, of both versions, leave no trace at all.
#[test]
fn haproxys_checks_are_no_faults_and_no_connect_errors() {
    if !root_or_skip() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let Some(server) = server_in(&namespace, Kind::MySql, Options::new()) else { return };
    let host = namespace.address().to_string();
    let target = Address::Tcp { host, port: server.address().port() };
    for send_proxy in ["send-proxy", "send-proxy-v2"] {
        let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), target.clone());
        config.proxy_protocol_from = vec!["127.0.0.1".parse().unwrap()];
        let proxy = Proxy::start(config).unwrap();
        let haproxy = HaProxy::start(&server, proxy.address(), &format!("{send_proxy} check inter 2ms"));
        haproxy.wait_for_checks(&proxy, 300);
        assert_eq!(login_error(&server, "127.0.0.1", haproxy.port), None);
        drop(haproxy);
        wait_until("the last check ended", || proxy.counters().sessions_open() == 0);
        assert!(proxy.counters().faults().is_empty(), "{:?}", proxy.counters().faults());
        let counted = server.sql("select coalesce(sum(sum_connect_errors + count_handshake_errors), 0) from performance_schema.host_cache");
        assert_eq!(counted.unwrap(), "0");
    }
}

#[test]
fn a_thousand_probes_leave_logins_working_on_mysql() {
    a_thousand_probes_leave_logins_working(Kind::MySql);
}

#[test]
fn a_thousand_probes_leave_logins_working_on_mariadb() {
    a_thousand_probes_leave_logins_working(Kind::MariaDb);
}

fn connections(server: &RealServer) -> u64 {
    let row = server.sql("show global status like 'Connections'").unwrap();
    row.split('\t').nth(1).unwrap().parse().unwrap()
}

/// Checks without an account, and with one that may not log in, as often as they can.
fn health_checks_are_no_connect_errors(kind: Kind) {
    if !root_or_skip() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let Some(server) = server_in(&namespace, kind, Options::new()) else { return };
    let host = namespace.address().to_string();
    let target = Address::Tcp { host, port: server.address().port() };
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), target);
    // Nobody listens at the second.
    config.servers.push("127.0.0.1:1".parse().unwrap());
    config.health_check.interval = Some(Duration::from_millis(1));
    let proxy = Proxy::start(config).unwrap();
    let Address::Tcp { port, .. } = *proxy.address() else { unreachable!() };
    while connections(&server) < 400 {
        assert!(proxy.servers_down().len() < 2, "{:?}", proxy.servers_down());
    }
    assert_eq!(login_error(&server, "127.0.0.1", port), None);
    if kind == Kind::MySql {
        let counted = server.sql("select coalesce(sum(sum_connect_errors + count_handshake_errors), 0) from performance_schema.host_cache");
        assert_eq!(counted.unwrap(), "0");
    }
}

/// MariaDB counts an answer of a wrong length.
#[test]
fn checks_and_probes_are_no_connect_errors_where_mariadb_asks_for_signatures() {
    if !root_or_skip() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let options = Options::new().argument("--plugin-load-add=auth_ed25519");
    let Some(server) = server_in(&namespace, Kind::MariaDb, options) else { return };
    for account in (0..20).map(|number| format!("account_{number}")).chain(["monitor".to_owned()]) {
        server
            .sql(&format!("create user {account} identified via ed25519 using password('secret')"))
            .unwrap();
    }
    let host = namespace.address().to_string();
    let target = Address::Tcp { host, port: server.address().port() };
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), target);
    let password_file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&password_file, "secret").unwrap();
    config.health_check.interval = Some(Duration::from_millis(1));
    config.health_check.monitor =
        Some(Monitor { user: "monitor".to_owned(), password_file: password_file.path().to_owned() });
    let proxy = Proxy::start(config).unwrap();
    let Address::Tcp { port, .. } = *proxy.address() else { unreachable!() };
    while connections(&server) < 400 {
        assert_eq!(proxy.servers_down(), []);
    }
    for _ in 0..150 {
        probe(("127.0.0.1", port), 1);
        // Leaves when it is asked for a signature.
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        read_greeting(&mut socket);
        let login = Login { user: b"monitor".to_vec(), ..stranger(Capabilities::NONE) };
        socket.write_all(&packet(&login.build(), 1)).unwrap();
        socket.read_exact(&mut [0]).unwrap();
    }
    assert_eq!(login_error(&server, "127.0.0.1", port), None);
}

#[test]
fn health_checks_are_no_connect_errors_on_mysql() {
    health_checks_are_no_connect_errors(Kind::MySql);
}

#[test]
fn health_checks_are_no_connect_errors_on_mariadb() {
    health_checks_are_no_connect_errors(Kind::MariaDb);
}
