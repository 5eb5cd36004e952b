//! Port probes and silent clients must not get the proxy's address blocked by the server.
//!
//! A server counts connections that end between greeting and login, by address, and after `max_connect_errors`
//! of them blocks the address. Loopback is never counted, so the server runs in a network namespace of its own
//! and sees the proxy at the other end of a veth pair.
//!
//! Not here: what the client of a refused login is told (`bad_input`).

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required_with, root_or_skip};
use proxy::{Address, ListenerConfig, Proxy};
use wire::Capabilities;
use wire::connect::Login;

use super::proxy_protocol::HaProxy;

/// A namespace joined to this one by a veth pair; gone when dropped.
struct Namespace {
    name: String,
    /// Its own address.
    address: Ipv4Addr,
}

impl Namespace {
    fn new(index: u8) -> Self {
        let name = format!("wirepress-{}-{index}", std::process::id());
        let veth = format!("wp{index}x{}", std::process::id() % 100_000);
        let (ours, address) = (Ipv4Addr::new(10, 213, index, 1), Ipv4Addr::new(10, 213, index, 2));
        let namespace = Self { name, address };
        // The cache that errors are counted in holds only addresses whose name is known.
        std::fs::create_dir_all(namespace.etc()).unwrap();
        let hosts = format!("127.0.0.1 localhost\n{ours} prober.test\n");
        std::fs::write(namespace.etc().join("hosts"), hosts).unwrap();
        let name = &namespace.name;
        ip(&format!("netns add {name}"));
        ip(&format!("link add {veth} type veth peer name eth0 netns {name}"));
        ip(&format!("addr add {ours}/30 dev {veth}"));
        ip(&format!("link set {veth} up"));
        ip(&format!("-n {name} addr add {address}/30 dev eth0"));
        ip(&format!("-n {name} link set eth0 up"));
        ip(&format!("-n {name} link set lo up"));
        namespace
    }

    /// What `ip netns exec` puts over /etc.
    fn etc(&self) -> PathBuf {
        Path::new("/etc/netns").join(&self.name)
    }

    fn server(&self, kind: Kind) -> Option<RealServer> {
        let options = Options::new()
            .bind(IpAddr::V4(self.address))
            .resolve_names()
            .argument("--max-connect-errors=100")
            .through(["ip", "netns", "exec", &self.name]);
        required_with(kind, &options)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(Command::new("ip").args(["netns", "delete", &self.name]).status());
        drop(std::fs::remove_dir_all(self.etc()));
    }
}

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {words}: {status}");
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
            socket.read_exact(&mut greeting).unwrap();
            let len = usize::from(greeting[0]) | usize::from(greeting[1]) << 8;
            socket.read_exact(&mut vec![0; len - 1]).unwrap();
            let login = Login {
                capabilities: Capabilities::PROTOCOL_41
                    | Capabilities::LONG_PASSWORD
                    | Capabilities::SECURE_CONNECTION
                    | Capabilities::PLUGIN_AUTH,
                user: USER.into(),
                auth_response: vec![7; 32].into(),
                auth_plugin: Some(b"caching_sha2_password".to_vec()),
                ..Login::default()
            };
            let mut packet = Vec::new();
            wire::packet::split(&login.build(), 1, &mut packet);
            socket.write_all(&packet).unwrap();
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

fn a_thousand_probes_leave_logins_working(kind: Kind, index: u8) {
    if !root_or_skip() {
        return;
    }
    let namespace = Namespace::new(index);
    let Some(server) = namespace.server(kind) else { return };
    let host = namespace.address.to_string();
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
    let namespace = Namespace::new(3);
    let Some(server) = namespace.server(Kind::MySql) else { return };
    let host = namespace.address.to_string();
    let target = Address::Tcp { host, port: server.address().port() };
    for send_proxy in ["send-proxy", "send-proxy-v2"] {
        let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), target.clone());
        config.proxy_protocol_from = vec!["127.0.0.1".parse().unwrap()];
        let proxy = Proxy::start(config).unwrap();
        let haproxy = HaProxy::start(&server, proxy.address(), &format!("{send_proxy} check inter 2ms"));
        haproxy.wait_for_checks(&proxy, 300);
        assert_eq!(login_error(&server, "127.0.0.1", haproxy.port), None);
        drop(haproxy);
        while proxy.counters().sessions_open() > 0 {
            std::thread::yield_now();
        }
        assert!(proxy.counters().faults().is_empty(), "{:?}", proxy.counters().faults());
        let counted = server.sql("select coalesce(sum(sum_connect_errors + count_handshake_errors), 0) from performance_schema.host_cache");
        assert_eq!(counted.unwrap(), "0");
    }
}

#[test]
fn a_thousand_probes_leave_logins_working_on_mysql() {
    a_thousand_probes_leave_logins_working(Kind::MySql, 1);
}

#[test]
fn a_thousand_probes_leave_logins_working_on_mariadb() {
    a_thousand_probes_leave_logins_working(Kind::MariaDb, 2);
}
