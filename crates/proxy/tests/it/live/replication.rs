//! A real replica follows its real source through the proxy, with compression on either leg, semi-sync included.
//!
//! The source's binary log is an endless reply; with semi-sync it is interrupted by acknowledgements, after which
//! each receiver expects other ids. A replica that stays connected, acknowledges every transaction and ends
//! with the source's rows shows that all of them were right.
//!
//! Not here: the ids themselves (`wire::conversation`).

use codec::Algorithm::{self, Uncompressed, Zlib, Zstd};
use lab::real::{Kind, Options, PASSWORD, RealServer, USER, required_with};
use proxy::{ListenerConfig, Proxy, SslMode};

/// A source, a replica, and the words of their kind.
struct Pair {
    source: RealServer,
    replica: RealServer,
    kind: Kind,
}

impl Pair {
    fn start(kind: Kind) -> Option<Self> {
        let [source_plugin, replica_plugin]: [&[&str]; 2] = match kind {
            Kind::MySql => [
                &["--plugin-load-add=semisync_source.so", "--rpl-semi-sync-source-timeout=20000"],
                &["--plugin-load-add=semisync_replica.so"],
            ],
            _ => [&["--rpl-semi-sync-master-timeout=20000"], &[]],
        };
        let options = |id, arguments: &[&str]| {
            arguments
                .iter()
                .fold(Options::new().binary_log(id), |options, argument| options.argument(*argument))
        };
        let source = required_with(kind, &options(1, source_plugin))?;
        let replica = required_with(kind, &options(2, replica_plugin))?;
        source
            .sql("create database r; create table r.t (id int auto_increment primary key, v longblob)")
            .unwrap();
        Some(Self { source, replica, kind })
    }

    fn word(&self, mysql: &'static str, mariadb: &'static str) -> &'static str {
        if self.kind == Kind::MySql { mysql } else { mariadb }
    }

    fn set_semi_sync(&self, on: bool) {
        let source = self.word("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled");
        let replica = self.word("rpl_semi_sync_replica_enabled", "rpl_semi_sync_slave_enabled");
        self.source.sql(&format!("set global {source}={}", u8::from(on))).unwrap();
        self.replica.sql(&format!("set global {replica}={}", u8::from(on))).unwrap();
    }

    /// Points the replica at the proxy, compressing as `algorithm` says, and starts it.
    fn follow(&self, proxy: &Proxy, algorithm: Algorithm) {
        let proxy::Address::Tcp { port, .. } = proxy.address().clone() else { unreachable!() };
        let statements = match self.kind {
            Kind::MySql => format!(
                "stop replica; reset replica all; change replication source to source_host='127.0.0.1',
                 source_port={port}, source_user='{USER}', source_password='{PASSWORD}', get_source_public_key=1,
                 source_ssl=0, source_auto_position=1, source_compression_algorithms='{algorithm}', source_connect_retry=1,
                 source_heartbeat_period=0.5; start replica"
            ),
            _ => format!(
                "stop slave; set global slave_compressed_protocol={}; change master to master_host='127.0.0.1',
                 master_port={port}, master_user='{USER}', master_password='{PASSWORD}', master_use_gtid=slave_pos,
                 master_connect_retry=1, master_heartbeat_period=0.5; start slave",
                u8::from(algorithm == Zlib)
            ),
        };
        self.replica.sql(&statements).unwrap();
    }

    /// Waits until the replica has applied all that the source has logged.
    fn catch_up(&self) {
        let done = match self.kind {
            Kind::MySql => {
                let executed = self.source.sql("select @@gtid_executed").unwrap().replace("\\n", "");
                self.replica.sql(&format!("select wait_for_executed_gtid_set('{executed}', 30)")).unwrap()
            }
            _ => {
                let position = self.source.sql("select @@gtid_binlog_pos").unwrap();
                self.replica.sql(&format!("select master_gtid_wait('{position}', 30)")).unwrap()
            }
        };
        assert_eq!(done, "0", "the replica did not catch up: {}", self.status());
    }

    fn status(&self) -> String {
        let statement = self.word("show replica status", "show all slaves status");
        self.replica.sql(statement).unwrap_or_else(|fault| fault.to_string())
    }

    fn source_status(&self, name: &str) -> u64 {
        let found = self.source.sql(&format!("show global status like '{name}'")).unwrap();
        found.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Small transactions, one of many rows, one event of several MiB, and one beyond 16 MiB.
    fn write(&self, with_huge_event: bool) {
        let mut statements = String::from("truncate table r.t;");
        for n in 0..20 {
            statements.push_str(&format!("insert into r.t (v) values (repeat('row {n} ', {}));", 1 + n * 40));
        }
        statements.push_str("insert into r.t (v) select v from r.t limit 200;");
        statements.push_str("insert into r.t (v) values (repeat(uuid(), 60000));");
        if with_huge_event {
            statements.push_str("insert into r.t (v) values (repeat('0123456789abcdef', 1100000));");
        }
        self.source.sql(&statements).unwrap();
    }

    fn assert_same_rows(&self) {
        let checksum = "select count(*), sum(crc32(v)), sum(length(v)) from r.t";
        assert_eq!(self.source.sql(checksum).unwrap(), self.replica.sql(checksum).unwrap());
    }
}

fn start_proxy(source: &RealServer, server_algorithm: Algorithm) -> Proxy {
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), source.address().into());
    config.server_algorithms = vec![server_algorithm];
    config.server_tls.mode = Some(SslMode::Disabled);
    Proxy::start(config).unwrap()
}

/// Every pair of legs, first without and then with semi-sync.
fn a_replica_follows(kind: Kind, algorithms: &[Algorithm]) {
    let Some(pair) = Pair::start(kind) else { return };
    for semi_sync in [false, true] {
        pair.set_semi_sync(semi_sync);
        for (client, server) in algorithms.iter().flat_map(|c| algorithms.iter().map(move |s| (*c, *s))) {
            let proxy = start_proxy(&pair.source, server);
            pair.follow(&proxy, client);
            pair.catch_up();
            let sessions = proxy.counters().sessions();
            let acknowledged = pair.word("Rpl_semi_sync_source_yes_tx", "Rpl_semi_sync_master_yes_tx");
            let not_acknowledged = pair.word("Rpl_semi_sync_source_no_tx", "Rpl_semi_sync_master_no_tx");
            let before = [acknowledged, not_acknowledged].map(|name| pair.source_status(name));
            pair.write(client == server);
            pair.catch_up();
            pair.assert_same_rows();
            let after = [acknowledged, not_acknowledged].map(|name| pair.source_status(name));
            if semi_sync {
                let transactions = if client == server { 24 } else { 23 };
                assert_eq!(
                    [after[0] - before[0], after[1] - before[1]],
                    [transactions, 0],
                    "{client} to {server}: a transaction was not acknowledged; {}",
                    pair.status()
                );
            }
            assert_eq!(
                proxy.counters().sessions(),
                sessions,
                "{client} to {server}: the replica reconnected"
            );
            pair.replica.sql(pair.word("stop replica", "stop slave")).unwrap();
            proxy.stop();
        }
    }
}

#[test]
fn a_mysql_replica_follows_its_source_on_every_pair_of_legs() {
    a_replica_follows(Kind::MySql, &[Uncompressed, Zlib, Zstd]);
}

#[test]
fn a_mariadb_replica_follows_its_source_on_every_pair_of_legs() {
    a_replica_follows(Kind::MariaDb, &[Uncompressed, Zlib]);
}
