//! Several servers behind one listener: which one a session is given, and what checks find out.
//!
//! Not here: the count of strikes (`servers::health`), checks against `max_connect_errors` (`probes`).

use std::io::Write;
use std::time::Duration;

use codec::Algorithm;
use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required_with};
use lab::wait::{wait_until, wait_while_amiss};
use proxy::{Config, ListenerConfig, Monitor, Proxy, RoutingStrategy, SendProxy, SslMode};
use tempfile::NamedTempFile;

use super::authentication::Connection;

fn config(servers: &[&RealServer]) -> ListenerConfig {
    let first = servers[0].address().into();
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), first);
    config.servers = servers.iter().map(|server| server.address().into()).collect();
    config.health_check.interval = Some(Duration::from_millis(20));
    config
}

fn start(kind: Kind, options: &Options) -> Option<RealServer> {
    required_with(kind, options)
}

fn open(proxy: &Proxy) -> Connection {
    Connection::open(proxy.address(), Algorithm::Zlib, USER, PASSWORD).unwrap()
}

/// Whether a session reaches MariaDB.
fn is_mariadb(connection: &mut Connection) -> bool {
    connection.query("select version()").unwrap().contains("MariaDB")
}

/// Waits until a look at the proxy says so.
fn wait_for_servers(what: &str, proxy: &Proxy, is_so: impl Fn(&[(proxy::Address, String)]) -> bool) {
    wait_while_amiss(what, || {
        let down = proxy.servers_down();
        if is_so(&down) { Ok(()) } else { Err(down) }
    });
}

fn wait_for_checks(server: &RealServer, checks: u64) {
    let connections = || -> u64 {
        let row = server.sql("show global status like 'Connections'").unwrap();
        row.split('\t').nth(1).unwrap().parse().unwrap()
    };
    let before = connections();
    wait_until("the server is checked", || connections() >= before + 2 * checks);
}

#[test]
fn sessions_go_to_the_first_server_that_is_up() {
    let Some(mut mysql) = start(Kind::MySql, &Options::new()) else { return };
    let Some(mut mariadb) = start(Kind::MariaDb, &Options::new()) else { return };
    let proxy = Proxy::start(config(&[&mysql, &mariadb])).unwrap();
    assert!(!is_mariadb(&mut open(&proxy)));

    mysql.kill().unwrap();
    // At once, whatever checks have seen: the client notices nothing.
    let mut moved = open(&proxy);
    assert!(is_mariadb(&mut moved));
    wait_for_servers("MySQL is down", &proxy, |down| down.len() == 1);
    assert!(proxy.servers_down()[0].1.contains("refused"), "{:?}", proxy.servers_down());

    mysql.restart().unwrap();
    wait_for_servers("MySQL is back", &proxy, <[_]>::is_empty);
    assert!(!is_mariadb(&mut open(&proxy)));
    // Who runs is left where it is.
    assert!(is_mariadb(&mut moved));

    let addresses = [mysql.address().to_string(), mariadb.address().to_string()];
    mysql.kill().unwrap();
    mariadb.kill().unwrap();
    wait_for_servers("both are down", &proxy, |down| down.len() == 2);
    let Err(error) = Connection::open(proxy.address(), Algorithm::Zlib, USER, PASSWORD) else {
        panic!("no server is left");
    };
    assert_eq!(error.code, 1429);
    for address in &addresses {
        assert!(error.message.contains(address), "{error}");
    }
    assert!(error.message.contains("all servers are down"), "{error}");
}

#[test]
fn sessions_go_to_the_server_with_the_least_connections() {
    let Some(mysql) = start(Kind::MySql, &Options::new()) else { return };
    let Some(mariadb) = start(Kind::MariaDb, &Options::new()) else { return };
    let mut config = config(&[&mysql, &mariadb]);
    config.routing_strategy = RoutingStrategy::LeastConnections;
    let proxy = Proxy::start(config).unwrap();
    let mut all: Vec<_> = (0..6).map(|_| open(&proxy)).collect();
    let on_mariadb: Vec<_> = all.iter_mut().map(is_mariadb).collect();
    assert_eq!(on_mariadb.iter().filter(|is| **is).count(), 3, "{on_mariadb:?}");
    // Those on MariaDB leave; the next ones go there.
    let mut index = 0;
    all.retain(|_| {
        index += 1;
        !on_mariadb[index - 1]
    });
    wait_until("those on MariaDB ended", || proxy.counters().sessions_open() <= 3);
    assert!((0..3).map(|_| open(&proxy)).collect::<Vec<_>>().iter_mut().all(is_mariadb));
}

#[test]
fn a_server_that_refuses_is_passed_over_and_the_last_refusal_is_told() {
    let full = Options::new().argument("--max-connections=10");
    let Some(full) = start(Kind::MariaDb, &full) else { return };
    let Some(mysql) = start(Kind::MySql, &Options::new()) else { return };
    let direct = || Connection::open(&full.address().into(), Algorithm::Uncompressed, USER, PASSWORD);
    // The rights of the account count, too: some may go beyond the limit.
    let _all: Vec<_> = std::iter::from_fn(|| direct().ok()).take(12).collect();
    let mut config = config(&[&full, &mysql]);
    // Checks take connections too.
    config.health_check.interval = None;
    let proxy = Proxy::start(config.clone()).unwrap();
    assert!(!is_mariadb(&mut open(&proxy)));

    config.servers.truncate(1);
    let proxy = Proxy::start(config).unwrap();
    let Err(error) = Connection::open(proxy.address(), Algorithm::Zlib, USER, PASSWORD) else {
        panic!("it takes no more connections");
    };
    assert_eq!((error.code, error.message.as_str()), (1040, "Too many connections"));
}

fn password_file(password: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    writeln!(file, "{password}").unwrap();
    file
}

fn monitored(server: &RealServer, mode: SslMode, password: &NamedTempFile) -> Proxy {
    let mut config = config(&[server]);
    config.server_tls.mode = Some(mode);
    config.health_check.monitor =
        Some(Monitor { user: "monitor".to_owned(), password_file: password.path().to_owned() });
    Proxy::start(Config::from(config)).unwrap()
}

#[test]
fn a_galera_node_that_is_not_synced_gets_no_new_sessions() {
    let Some(node) = start(Kind::MariaDb, &Options::new().galera_node()) else { return };
    node.sql("create user monitor identified by 'secret'").unwrap();
    let password = password_file("secret");
    let proxy = monitored(&node, SslMode::Preferred, &password);
    let mut before = open(&proxy);
    assert_eq!(before.query("select variable_value from information_schema.global_status where variable_name='wsrep_local_state_comment'"), Ok("Synced".to_owned()));
    node.sql("set global wsrep_desync=on").unwrap();
    wait_for_servers("the node is desynced", &proxy, |down| {
        down.iter().any(|(_, why)| why.contains("Donor/Desynced"))
    });
    let Err(error) = Connection::open(proxy.address(), Algorithm::Zlib, USER, PASSWORD) else {
        panic!("the node is not Synced");
    };
    assert!(error.message.contains("not Synced, but Donor/Desynced"), "{error}");
    assert_eq!(before.query("select 1"), Ok("1".to_owned()));
    node.sql("set global wsrep_desync=off").unwrap();
    wait_for_servers("the node is synced", &proxy, <[_]>::is_empty);
    assert_eq!(open(&proxy).query("select 2"), Ok("2".to_owned()));
}

/// Its source does not exist: it looks for it, which is no fault of its own.
fn a_replica_whose_threads_stop(kind: Kind, words: [&str; 4]) {
    let [point, grant, stop_applier, stop_receiver] = words;
    let Some(replica) = start(kind, &Options::new().binary_log(2)) else { return };
    replica.sql("create user monitor identified by 'secret'").unwrap();
    replica.sql(&format!("{point}; {grant}")).unwrap();
    let password = password_file("secret");
    // MySQL's plugin wants the password itself at first: under TLS, and under its key.
    for mode in [SslMode::Disabled, SslMode::Preferred] {
        replica.sql("flush privileges").unwrap();
        replica.sql(if kind.is_mariadb() { "start slave" } else { "start replica" }).unwrap();
        let proxy = monitored(&replica, mode, &password);
        wait_for_checks(&replica, 3);
        assert_eq!(proxy.servers_down(), []);
        replica.sql(stop_applier).unwrap();
        wait_for_servers("the applier is stopped", &proxy, |down| {
            down.iter().any(|(_, why)| why.contains("applier"))
        });
        replica.sql(if kind.is_mariadb() { "start slave" } else { "start replica" }).unwrap();
        wait_for_servers("the replica runs", &proxy, <[_]>::is_empty);
        replica.sql(stop_receiver).unwrap();
        wait_for_servers("the receiver is stopped", &proxy, |down| {
            down.iter().any(|(_, why)| why.contains("receiver"))
        });
    }
}

#[test]
fn a_mysql_replica_whose_threads_stop_gets_no_new_sessions() {
    a_replica_whose_threads_stop(
        Kind::MySql,
        [
            "change replication source to source_host='127.0.0.1', source_port=1, source_user='x', source_ssl=0",
            "grant replication client on *.* to monitor",
            "stop replica sql_thread",
            "stop replica io_thread",
        ],
    );
}

#[test]
fn a_mariadb_replica_whose_threads_stop_gets_no_new_sessions() {
    a_replica_whose_threads_stop(
        Kind::MariaDb,
        [
            "change master to master_host='127.0.0.1', master_port=1, master_user='x'",
            "grant replica monitor on *.* to monitor",
            "stop slave sql_thread",
            "stop slave io_thread",
        ],
    );
}

#[test]
fn a_monitor_account_that_may_not_log_in_or_ask_takes_no_server_out_of_service() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = start(kind, &Options::new()) else { return };
        server.sql("create user monitor identified by 'secret'").unwrap();
        for password in ["wrong", "secret"] {
            let password = password_file(password);
            let proxy = monitored(&server, SslMode::Preferred, &password);
            wait_for_checks(&server, 5);
            assert_eq!(proxy.servers_down(), []);
            assert_eq!(open(&proxy).query("select 1"), Ok("1".to_owned()));
        }
    }
}

/// The account as it is made, and a password that is tried.
fn a_monitor_account_of_no_use_takes_no_server_out_of_service(
    server: &RealServer,
    account: &str,
    tried: &str,
) {
    server.sql(&format!("create user monitor {account}")).unwrap();
    let direct = || Connection::open(&server.address().into(), Algorithm::Uncompressed, "monitor", "secret");
    // The only place that the account has, if it has not been used up.
    let _held = account.contains("with max_").then(direct);
    let proxy = monitored(server, SslMode::Preferred, &password_file(tried));
    wait_for_checks(server, 5);
    assert_eq!(proxy.servers_down(), [], "{account}");
    assert_eq!(open(&proxy).query("select 1"), Ok("1".to_owned()), "{account}");
    drop(proxy);
    server.sql("drop user monitor").unwrap();
}

#[test]
fn a_monitor_account_that_mysql_locks_or_limits_takes_no_server_out_of_service() {
    let Some(server) = start(Kind::MySql, &Options::new()) else { return };
    for (account, tried) in [
        ("identified by 'secret' account lock", "secret"),
        ("identified by 'secret' with max_user_connections 1", "secret"),
        ("identified by 'secret' with max_connections_per_hour 1", "secret"),
        ("identified by 'secret' failed_login_attempts 1 password_lock_time 1", "wrong"),
        ("identified by 'secret' password expire", "secret"),
        ("identified with sha256_password by 'secret'", "secret"),
    ] {
        a_monitor_account_of_no_use_takes_no_server_out_of_service(&server, account, tried);
    }
}

#[test]
fn a_monitor_account_that_mariadb_locks_or_limits_takes_no_server_out_of_service() {
    let options = ["--plugin-load-add=auth_ed25519", "--max-password-errors=1"];
    let options = options.into_iter().fold(Options::new(), Options::argument);
    let Some(server) = start(Kind::MariaDb, &options) else { return };
    for (account, tried) in [
        ("identified by 'secret' account lock", "secret"),
        ("identified by 'secret' with max_user_connections 1", "secret"),
        ("identified by 'secret' with max_connections_per_hour 1", "secret"),
        ("identified via ed25519 using password('secret')", "secret"),
        ("identified by 'secret' password expire", "secret"),
        // Blocked after one.
        ("identified by 'secret'", "wrong"),
    ] {
        a_monitor_account_of_no_use_takes_no_server_out_of_service(&server, account, tried);
    }
}

#[test]
fn a_server_that_takes_a_check_s_proxy_header_for_a_login_is_named() {
    let Some(mysql) = start(Kind::MySql, &Options::new()) else { return };
    let networks = Options::new().argument("--proxy-protocol-networks=127.0.0.1");
    let Some(mariadb) = start(Kind::MariaDb, &networks) else { return };
    for version in [SendProxy::V1, SendProxy::V2] {
        let mut config = config(&[&mysql, &mariadb]);
        config.send_proxy = Some(version);
        let proxy = Proxy::start(config).unwrap();
        wait_for_servers("MySQL is down", &proxy, |down| down.len() == 1);
        let (address, why) = &proxy.servers_down()[0];
        assert_eq!(*address, mysql.address().into());
        assert!(why.contains("which takes a PROXY protocol header for a login"), "{why}");
        assert!(is_mariadb(&mut open(&proxy)));
        wait_for_checks(&mariadb, 3);
        assert_eq!(proxy.servers_down().len(), 1);
    }
}
