//! The lines to paste: what makes client, server, drivers and wirepress do what is advised.
//!
//! Invariants: a driver that cannot do it is given wirepress beside the app instead, and not an option that it has not;
//! nobody else loses what the server permits; no password in them.
//!
//! TLS stays as it was asked for (`tls`).
//!
//! Source: the reference manuals of MySQL 8.4 (`--compression-algorithms`, `protocol_compression_algorithms`), MariaDB,
//! Connector/J 9 (`useCompression`), go-sql-driver/mysql 1.9 (`compress`) and PHP's mysqli (`MYSQLI_CLIENT_COMPRESS`);
//! what works through the proxy is in `docs/drivers.md`.

mod tls;

use codec::Algorithm;

use self::tls::Tls;
use super::Advice;
use crate::advise::candidate::{Candidate, Packer};
use crate::advise::verdict::Choice;
use crate::client::Compression;
use lab::link::Address;

/// Titles with their lines; of some there is nothing to paste.
pub(super) fn lines(advice: &Advice<'_>) -> Vec<(String, Vec<String>)> {
    let findings = advice.findings;
    let (host, port) = host_and_port(&findings.server);
    let target = Target {
        host,
        port,
        user: &findings.user,
        is_mariadb: findings.is_mariadb == Some(true),
        tls: Tls::new(&findings.ssl_options),
    };
    match advice.choice {
        Choice::Leave => vec![target.left()],
        _ => target.set(advice.subject.candidate),
    }
}

/// The server, and who its clients are there.
struct Target<'a> {
    host: String,
    port: String,
    user: &'a str,
    is_mariadb: bool,
    tls: Tls<'a>,
}

type Titled = (String, Vec<String>);

impl Target<'_> {
    fn left(&self) -> Titled {
        if self.is_mariadb {
            let title =
                "Nothing needs to be set: MariaDB compresses for clients that ask, and for nobody else.";
            return (title.to_owned(), Vec::new());
        }
        (
            "Nothing needs to be set. To make sure that nobody compresses, on the server:".to_owned(),
            vec!["SET PERSIST protocol_compression_algorithms = 'uncompressed';".to_owned()],
        )
    }

    fn set(&self, one: Candidate) -> Vec<Titled> {
        let is_zstd = one.compression.algorithm == Algorithm::Zstd;
        let through = one.packer == Packer::Wirepress;
        let to = match through {
            true => ("HOST_OF_WIREPRESS", "3307"),
            false => (self.host.as_str(), self.port.as_str()),
        };
        let mut all = self.clients(to, one.compression);
        all.push(if through { self.beside_server(one.compression) } else { self.server() });
        if is_zstd {
            all.push(self.beside_app(to, one.compression.level));
        } else {
            all.extend(self.drivers(to));
        }
        all
    }

    fn clients(&self, (host, port): (&str, &str), compression: Compression) -> Vec<Titled> {
        let (user, algorithm) = (self.user, compression.algorithm.name());
        let mysql = |level: &str| {
            let tls = self.tls.of_mysql();
            vec![format!(
                "mysql -h {host} -P {port} -u {user} -p --compression-algorithms={algorithm}{level}{tls}"
            )]
        };
        let title = "MySQL client (8.0.18 or later):".to_owned();
        if compression.algorithm == Algorithm::Zstd {
            return vec![(title, mysql(&format!(" --zstd-compression-level={}", compression.level)))];
        }
        let mariadb = format!("mariadb -h {host} -P {port} -u {user} -p --compress{}", self.tls.of_mariadb());
        vec![(title, mysql("")), ("MariaDB client:".to_owned(), vec![mariadb])]
    }

    fn server(&self) -> Titled {
        if self.is_mariadb {
            let title =
                "MariaDB server: it packs with zlib for every client that asks, and nothing is to be set.";
            return (title.to_owned(), Vec::new());
        }
        (
            "MySQL server: nothing is to be set, because it permits all of them; only if that was restricted:".to_owned(),
            vec!["SET PERSIST protocol_compression_algorithms = 'zstd,zlib,uncompressed';".to_owned()],
        )
    }

    fn beside_server(&self, compression: Compression) -> Titled {
        let algorithm = compression.algorithm.name();
        let mut lines = vec![
            "[[listener]]".to_owned(),
            "listen = \"0.0.0.0:3307\"".to_owned(),
            format!("server = \"{}:{}\"", self.host, self.port),
            "compression-algorithms = \"uncompressed\"".to_owned(),
            format!("protocol-compression-algorithms = [\"{algorithm}\", \"uncompressed\"]"),
        ];
        if compression.algorithm == Algorithm::Zstd {
            lines.push(format!("zstd-compression-level-max = {}", compression.level));
        }
        lines.extend(self.tls.of_client_leg());
        lines.extend(self.tls.of_server_leg());
        ("wirepress.toml, beside the server; `wirepress proxy --config wirepress.toml`:".to_owned(), lines)
    }

    fn beside_app(&self, (host, port): (&str, &str), level: u8) -> Titled {
        let title = "Connector/J, go-sql-driver, mysqli know zlib at most: wirepress.toml beside the app asks for zstd instead \
                     of them;\nthe app then connects to 127.0.0.1:3307, uncompressed:";
        let mut lines = vec![
            "[[listener]]".to_owned(),
            "listen = \"127.0.0.1:3307\"".to_owned(),
            format!("server = \"{host}:{port}\""),
            "compression-algorithms = \"zstd\"".to_owned(),
            format!("zstd-compression-level = {level}"),
        ];
        lines.extend(self.tls.of_server_leg());
        (title.to_owned(), lines)
    }

    fn drivers(&self, (host, port): (&str, &str)) -> Vec<Titled> {
        let user = self.user;
        let java =
            format!("jdbc:mysql://{host}:{port}/DATABASE?useCompression=true{}", self.tls.of_connector_j());
        let go = format!("{user}:PASSWORD@tcp({host}:{port})/DATABASE?compress=true{}", self.tls.of_go());
        let (set, flags) = self.tls.of_mysqli();
        let connect = format!(
            "$link->real_connect('{host}', '{user}', $password, 'DATABASE', {port}, null, MYSQLI_CLIENT_COMPRESS{flags});"
        );
        vec![
            ("Connector/J:".to_owned(), vec![java]),
            ("go-sql-driver/mysql (1.9 or later):".to_owned(), vec![go]),
            ("PHP, mysqli:".to_owned(), set.into_iter().chain([connect]).collect()),
        ]
    }
}

/// What clients are told; a socket has no link, so its server is taken for one on this machine.
fn host_and_port(address: &Address) -> (String, String) {
    let (host, port) = address.host_and_port().unwrap_or(("127.0.0.1", "3306"));
    (host.to_owned(), port.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(is_mariadb: bool, packer: Packer, algorithm: Algorithm) -> String {
        let target = Target {
            host: "db".to_owned(),
            port: "3306".to_owned(),
            user: "me",
            is_mariadb,
            tls: Tls::new(&[]),
        };
        let compression = Compression { algorithm, level: 3 };
        let all = target.set(Candidate { packer, compression });
        all.into_iter().map(|(title, lines)| format!("{title}\n{}\n", lines.join("\n"))).collect()
    }

    #[test]
    fn a_mariadb_is_told_nothing_that_only_mysql_knows() {
        let told = set(true, Packer::Server, Algorithm::Zlib);
        assert!(!told.contains("SET PERSIST") && told.contains("nothing is to be set"), "{told}");
        assert!(told.contains("mariadb -h db -P 3306 -u me -p --compress\n"), "{told}");
        let told = set(false, Packer::Server, Algorithm::Zstd);
        assert!(told.contains("only if that was restricted:\nSET PERSIST "), "{told}");
        assert!(told.contains("--compression-algorithms=zstd --zstd-compression-level=3\n"), "{told}");
        // MariaDB's own client knows no zstd.
        assert!(!told.contains("mariadb -h"), "{told}");
    }

    #[test]
    fn a_server_that_packs_is_told_to_refuse_nobody() {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
            let told = set(false, Packer::Server, algorithm);
            assert!(
                told.contains("SET PERSIST protocol_compression_algorithms = 'zstd,zlib,uncompressed';"),
                "{told}"
            );
        }
    }

    #[test]
    fn drivers_get_what_they_know_and_wirepress_for_the_rest() {
        let told = set(true, Packer::Wirepress, Algorithm::Zlib);
        assert!(told.contains("jdbc:mysql://HOST_OF_WIREPRESS:3307/DATABASE?useCompression=true"), "{told}");
        let told = set(true, Packer::Wirepress, Algorithm::Zstd);
        assert!(!told.contains("jdbc:") && told.contains("listen = \"127.0.0.1:3307\""), "{told}");
    }
}
