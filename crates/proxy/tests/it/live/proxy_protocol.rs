//! The client's real address: through HAProxy and other proxies, to MariaDB's process list, and in the connection
//! attributes of both servers.
//!
//! Not here: headers that are wrong, and every form of those that are right (`bad_input::proxy_header`); checks that
//! must not be counted by the server (`probes`).

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};

use codec::Algorithm;
use lab::peer::Peer;
use lab::real::{Kind, Options as ServerOptions, PASSWORD, RealServer, USER, required, required_with};
use lab::wait::wait_until;
use proxy::{Address, ListenerConfig, ListenerTls, Proxy, SendProxy, SslMode, TlsMode};
use tempfile::TempDir;
use wire::Capabilities;
use wire::proxy_protocol::{Header, Options, build_v1, build_v2};
use wire::response::ErrPacket;

use super::client::{Client, Terms, remember_password};
use super::front::{Front, Transport};
use super::log_lines;
use super::tls::has_mariadb_11_8;

const TCP: (Transport, Transport) = (Transport::Tcp, Transport::Tcp);
const VERSIONS: [SendProxy; 2] = [SendProxy::V1, SendProxy::V2];

/// HAProxy in front of a proxy; ended when dropped.
pub(super) struct HaProxy {
    process: Child,
    pub(super) port: u16,
    _directory: TempDir,
}

impl HaProxy {
    /// Relays to `target`, with `options` of HAProxy's `server` line.
    pub(super) fn start(server: &RealServer, target: &Address, options: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("wirepress-haproxy-").tempdir().unwrap();
        // Free now: HAProxy can't say which port it chose.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let path = directory.path().join("haproxy.cfg");
        let text = format!(
            "defaults\n mode tcp\n timeout connect 10s\n timeout client 60s\n timeout server 60s\n timeout check 10s\n\
             listen front\n bind 127.0.0.1:{port}\n server wirepress {target} {options}\n"
        );
        fs::write(&path, text).unwrap();
        let mut command = server.command("haproxy").unwrap();
        command.arg("-db").arg("-f").arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
        let haproxy = Self { process: command.spawn().unwrap(), port, _directory: directory };
        wait_until("HAProxy listens", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        haproxy
    }

    /// Until the proxy has seen so many more sessions.
    pub(super) fn wait_for_checks(&self, proxy: &Proxy, count: u64) {
        let begun = proxy.counters().sessions();
        wait_until("HAProxy checks", || proxy.counters().sessions() >= begun + count);
    }

    fn address(&self) -> Address {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)).into()
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn trusting(config: &mut ListenerConfig) {
    config.proxy_protocol_from = vec!["127.0.0.1".parse().unwrap(), "unix".parse().unwrap()];
}

/// A header of version 1 or 2.
fn header(version: SendProxy, source: &str) -> Vec<u8> {
    let source: SocketAddr = source.parse().unwrap();
    let header = Header::proxied(source.into(), SocketAddr::new(source.ip(), 3306).into());
    match version {
        SendProxy::V1 => build_v1(&header),
        SendProxy::V2 => build_v2(&header, Options { crc32c: true }),
    }
}

fn behind(preface: Vec<u8>) -> Terms {
    Terms { preface, ..Terms::default() }
}

fn mariadb(kind: Kind, networks: &str) -> Option<RealServer> {
    let options = ServerOptions::new().argument("--performance-schema=ON");
    required_with(kind, &options.argument(format!("--proxy-protocol-networks={networks}")))
}

const HOST: &str = "select host from information_schema.processlist where id = connection_id()";
pub(in crate::live) const CLIENT_ATTRIBUTES: &str = "select coalesce(group_concat(attr_name, '=', attr_value order by attr_name), '') from \
     performance_schema.session_connect_attrs where processlist_id = connection_id() and \
     (attr_name like '\\_client\\_ip%' or attr_name like '\\_client\\_port%' or attr_name = 'own')";

pub(in crate::live) fn attributes_of(address: SocketAddr) -> String {
    format!("_client_ip={},_client_port={}", address.ip(), address.port())
}

fn attributes(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
        wire::write_lenenc_bytes(&mut out, text.as_bytes());
    }
    out
}

/// MariaDB's process list has the client's own address, whoever told the proxy.
fn mariadb_lists_the_client(kind: Kind, networks: &str, to_server: Transport) {
    let Some(server) = mariadb(kind, networks) else { return };
    for sent in VERSIONS {
        let front =
            Front::with(&server, (Transport::Tcp, to_server), |config| config.send_proxy = Some(sent));
        let mut client = Client::connect(front.proxy.address(), &Terms::default()).unwrap();
        assert_eq!(client.value(HOST), client.address.unwrap().to_string());

        let front = Front::with(&server, (Transport::Tcp, to_server), |config| {
            trusting(config);
            config.send_proxy = Some(sent);
        });
        for (source, host) in [
            ("192.0.2.7:51874", "192.0.2.7:51874"),
            ("[2001:db8::7]:51874", "2001:db8::7:51874"),
            ("[::ffff:192.0.2.7]:51874", "192.0.2.7:51874"),
        ] {
            for received in VERSIONS {
                let terms = behind(header(received, source));
                let mut client = Client::connect(front.proxy.address(), &terms).unwrap();
                assert_eq!(client.value(HOST), host, "{received:?} {sent:?}");
            }
        }
        let terms = behind(build_v2(&Header::LOCAL, Options::default()));
        let mut client = Client::connect(front.proxy.address(), &terms).unwrap();
        assert_eq!(client.value(HOST), client.address.unwrap().to_string());
        assert!(front.proxy.counters().faults().is_empty(), "{:?}", front.proxy.counters().faults());
    }
}

#[test]
fn mariadb_lists_the_client_of_one_trusted_address() {
    mariadb_lists_the_client(Kind::MariaDb, "127.0.0.1", Transport::Tcp);
}

#[test]
fn mariadb_11_8_lists_the_client() {
    if !has_mariadb_11_8() {
        return;
    }
    mariadb_lists_the_client(Kind::MariaDb118, "*", Transport::Tcp);
}

#[test]
fn mariadb_lists_the_client_of_a_proxy_on_its_socket() {
    mariadb_lists_the_client(Kind::MariaDb, "localhost", Transport::Socket);
}

#[test]
fn a_client_on_a_socket_is_listed_as_the_proxy_itself() {
    let Some(server) = mariadb(Kind::MariaDb, "*") else { return };
    for sent in VERSIONS {
        let front = Front::with(&server, (Transport::Socket, Transport::Tcp), |config| {
            config.send_proxy = Some(sent);
        });
        let mut client = Client::connect(front.proxy.address(), &Terms::default()).unwrap();
        let host = client.value(HOST);
        assert!(host.starts_with("127.0.0.1:"), "{host}");
        assert_eq!(client.value(CLIENT_ATTRIBUTES), "");
    }
}

#[test]
fn mariadbs_own_refusal_of_an_untrusted_proxy_is_passed_on() {
    let Some(server) = mariadb(Kind::MariaDb, "192.0.2.0/24") else { return };
    for sent in VERSIONS {
        assert_eq!(refusal_of_a_header(&server, sent).code, 1130);
        let front = Front::with(&server, TCP, |config| config.send_proxy = Some(sent));
        let error = Client::connect(front.proxy.address(), &Terms::default()).err().unwrap();
        assert_eq!(error.code, 1130, "{error}");
        assert!(error.message.contains("Proxy header is not accepted from 127.0.0.1"), "{error}");
    }
}

#[test]
fn proxies_in_a_row_pass_the_address_on() {
    let Some(mariadb) = mariadb(Kind::MariaDb, "*") else { return };
    let Some(mysql) = required(Kind::MySql) else { return };
    remember_password(mysql);
    for server in [&mariadb, mysql] {
        for sent in VERSIONS {
            let inner = Front::with(server, TCP, |config| {
                trusting(config);
                config.send_proxy = server.kind().is_mariadb().then_some(sent);
            });
            let outer = Front::with(server, TCP, |config| {
                trusting(config);
                config.servers = vec![inner.proxy.address().clone()];
                config.send_proxy = Some(sent);
            });
            let terms = behind(header(sent, "192.0.2.7:51874"));
            let mut client = Client::connect(outer.proxy.address(), &terms).unwrap();
            assert_eq!(client.value(CLIENT_ATTRIBUTES), "_client_ip=192.0.2.7,_client_port=51874");
            if server.kind().is_mariadb() {
                assert_eq!(client.value(HOST), "192.0.2.7:51874");
            }
            drop(client);
            for front in [&inner, &outer] {
                assert!(front.proxy.counters().faults().is_empty(), "{:?}", front.proxy.counters().faults());
            }
        }
    }
}

#[test]
fn mysql_which_knows_no_proxy_protocol_is_named_with_what_to_do() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    for sent in VERSIONS {
        let refused = refusal_of_a_header(server, sent);
        assert!([1043, 1156].contains(&refused.code), "{refused}");
        for mode in [SslMode::Disabled, SslMode::Preferred, SslMode::Required] {
            let front = Front::with(server, TCP, |config| {
                config.send_proxy = Some(sent);
                config.server_tls.mode = Some(mode);
            });
            let error = Client::connect(front.proxy.address(), &Terms::default()).err().unwrap();
            assert_eq!(error.code, 1429, "{error}");
            for words in ["MySQL 9.7", "takes a PROXY protocol header for a login", "leave --send-proxy out"]
            {
                assert!(error.message.contains(words), "{sent:?} {mode:?}: {error}");
            }
            let told = front.client(USER, PASSWORD).run("do 1").unwrap_err();
            assert!(told.contains("1429") && told.contains("leave --send-proxy out"), "{told}");
            let counters = front.proxy.counters();
            wait_until("both are counted", || {
                counters.faults_of(wire::Side::Server, "proxy_protocol_unknown") == 2
            });
        }
    }
}

/// A server's word on a header without a login, directly: its id is that of the answer to a login.
fn refusal_of_a_header(server: &RealServer, version: SendProxy) -> ErrPacket {
    let mut peer = Peer::connect(&server.address().to_string()).unwrap();
    peer.send(&header(version, "192.0.2.7:51874")).unwrap();
    assert_eq!(peer.receive().unwrap().payload[0], 10, "a greeting");
    let refusal = peer.receive().unwrap();
    assert_eq!(refusal.sequence_id, 1, "{refusal:?}");
    ErrPacket::parse(&refusal.payload).unwrap()
}

/// What both servers keep of a client's attributes, its own and forged ones.
fn attributes_name_the_client(server: &RealServer, algorithms: &[Algorithm], modes: &[SslMode]) {
    remember_password(server);
    for (algorithm, mode) in algorithms.iter().flat_map(|one| modes.iter().map(move |mode| (*one, *mode))) {
        for through_header in [false, true] {
            let front = Front::with(server, TCP, |config| {
                config.server_algorithms = vec![algorithm];
                config.server_tls.mode = Some(mode);
                if through_header {
                    trusting(config);
                }
            });
            let forged = [("_client_ip", "203.0.113.66"), ("own", "kept"), ("_client_port", "1")];
            let preface = if through_header { header(SendProxy::V2, "192.0.2.7:51874") } else { Vec::new() };
            for own in [None, Some(attributes(&[])), Some(attributes(&forged))] {
                let terms = Terms { attributes: own.clone(), ..behind(preface.clone()) };
                let mut client = Client::connect(front.proxy.address(), &terms).unwrap();
                let real = client.address.filter(|_| !through_header);
                let mut expected = attributes_of(real.unwrap_or_else(|| "192.0.2.7:51874".parse().unwrap()));
                if own == Some(attributes(&forged)) {
                    expected.push_str(",own=kept");
                }
                assert_eq!(client.value(CLIENT_ATTRIBUTES), expected, "{algorithm} {mode:?} {own:?}");
                for _ in 0..2 {
                    client.change_user(own.as_deref().unwrap_or_default());
                    assert_eq!(client.value(CLIENT_ATTRIBUTES), expected, "after COM_CHANGE_USER");
                }
            }
        }
    }
}

#[test]
fn mysqls_attributes_name_the_client() {
    let Some(server) = required(Kind::MySql) else { return };
    attributes_name_the_client(server, &Algorithm::ALL, &[SslMode::Disabled, SslMode::Required]);
}

#[test]
fn mariadbs_attributes_name_the_client() {
    let Some(server) = mariadb(Kind::MariaDb, "") else { return };
    let algorithms = [Algorithm::Uncompressed, Algorithm::Zlib];
    attributes_name_the_client(&server, &algorithms, &[SslMode::Disabled]);
}

#[test]
fn a_programs_own_attributes_stay() {
    let Some(server) = required(Kind::MySql) else { return };
    let front = Front::new(server, TCP);
    let all = "select group_concat(attr_name order by attr_name) from performance_schema.session_connect_attrs \
               where processlist_id = connection_id()";
    let direct = super::front::Client::new(server, "mysql", &server.address().into(), USER, PASSWORD);
    let direct = direct.run(all).unwrap();
    let with_ours = front.client(USER, PASSWORD).run(all).unwrap();
    let without_ours: Vec<_> =
        with_ours.split(',').filter(|name| !["_client_ip", "_client_port"].contains(name)).collect();
    assert_eq!(without_ours.join(","), direct);
    assert_eq!(with_ours.split(',').count(), direct.split(',').count() + 2, "{with_ours}");
}

#[test]
fn haproxys_clients_are_known_by_their_own_addresses() {
    let Some(server) = required(Kind::MySql) else { return };
    log_lines::keep();
    remember_password(server);
    for options in
        ["send-proxy", "send-proxy-v2", "send-proxy-v2-ssl-cn", "send-proxy-v2 proxy-v2-options crc32c"]
    {
        let front = Front::with(server, TCP, trusting);
        let checked = format!("{options} check inter 2ms");
        let haproxy = HaProxy::start(server, front.proxy.address(), &checked);
        haproxy.wait_for_checks(&front.proxy, 100);
        let mut client = Client::connect(&haproxy.address(), &Terms::default()).unwrap();
        let address = client.address.unwrap();
        assert_eq!(client.value(CLIENT_ATTRIBUTES), attributes_of(address));
        let other = haproxy_client(server, &haproxy).run(CLIENT_ATTRIBUTES).unwrap();
        assert!(other.starts_with("_client_ip=127.0.0.1,_client_port="), "{other}");
        drop((client, haproxy));
        let named = format!("client={:?}", address.to_string());
        wait_until("the session's line", || {
            log_lines::lines().iter().any(|line| line.contains("session ended") && line.contains(&named))
        });
        wait_until("the last check", || front.proxy.counters().sessions_open() == 0);
        assert!(front.proxy.counters().faults().is_empty(), "{:?}", front.proxy.counters().faults());
    }
}

fn haproxy_client(server: &RealServer, haproxy: &HaProxy) -> super::front::Client {
    super::front::Client::new(server, "mysql", &haproxy.address(), USER, PASSWORD)
}

#[test]
fn tls_begins_behind_haproxys_header() {
    let Some(server) = required(Kind::MySql) else { return };
    let directory = tempfile::tempdir().unwrap();
    let (cert, key) = proxy::make_self_signed(directory.path()).unwrap();
    let front = Front::with(server, TCP, |config| {
        trusting(config);
        config.tls = Some(ListenerTls { mode: TlsMode::Required, cert, key, client_ca: None });
    });
    let haproxy = HaProxy::start(server, front.proxy.address(), "send-proxy-v2");
    let with_tls =
        haproxy_client(server, &haproxy).option("--ssl-mode=REQUIRED").run(CLIENT_ATTRIBUTES).unwrap();
    assert!(with_tls.starts_with("_client_ip=127.0.0.1,_client_port="), "{with_tls}");
    let without = haproxy_client(server, &haproxy).option("--ssl-mode=DISABLED").run("do 1").unwrap_err();
    assert!(without.contains("3159"), "{without}");
}

#[test]
fn old_and_plain_clients_are_not_disturbed_by_attributes_of_ours() {
    let Some(server) = required(Kind::MySql) else { return };
    remember_password(server);
    let front = Front::new(server, TCP);
    // No attributes of its own, none known: the last byte is the zstd level.
    for level in [1, 22] {
        let capabilities = Terms::default().capabilities - Capabilities::CONNECT_ATTRS;
        let terms = Terms { algorithm: Algorithm::Zstd, zstd_level: level, capabilities, ..Terms::default() };
        let mut client = Client::connect(front.proxy.address(), &terms).unwrap();
        assert_eq!(client.value(CLIENT_ATTRIBUTES), attributes_of(client.address.unwrap()));
    }
}
