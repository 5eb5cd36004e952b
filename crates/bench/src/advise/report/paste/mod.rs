//! The lines to paste: what makes client, server, drivers and wirepress do what is advised.
//!
//! Invariants: a driver that cannot do it is given wirepress beside the app instead, and not an option that it has not;
//! nobody else loses what the server permits; no password in them.
//!
//! TLS stays as it was asked for (`tls`); the drivers' own words are in `driver`.
//!
//! Source: the reference manuals of MySQL 8.4 (`--compression-algorithms`, `protocol_compression_algorithms`) and MariaDB.

mod driver;
#[cfg(test)]
mod live;
mod tls;

use codec::Algorithm;

pub use self::driver::Driver;

use self::driver::Place;
use self::tls::Tls;
use super::Advice;
use crate::advise::candidate::{Candidate, Packer};
use crate::advise::verdict::Choice;
use crate::client::Compression;
use lab::link::Address;

/// Titles with their lines; of some there is nothing to paste. Those for the drivers that were asked for, or else for
/// these.
pub(super) fn lines(advice: &Advice<'_>, drivers: &[Driver]) -> Vec<(String, Vec<String>)> {
    let findings = advice.findings;
    let (host, port) = host_and_port(&findings.server);
    let target = Target {
        host,
        port,
        user: &findings.user,
        is_mariadb: findings.is_mariadb == Some(true),
        tls: Tls::new(&findings.ssl_options),
        drivers: if advice.drivers.is_empty() { drivers } else { advice.drivers },
        are_asked_for: !advice.drivers.is_empty(),
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
    drivers: &'a [Driver],
    /// Whether the user named them, and wants to hear of no other.
    are_asked_for: bool,
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
        let through = one.packer == Packer::Wirepress;
        let to = match through {
            true => ("HOST_OF_WIREPRESS", "3307"),
            false => (self.host.as_str(), self.port.as_str()),
        };
        let mut all = self.clients(to, one.compression);
        all.push(if through { self.beside_server(one.compression) } else { self.server() });
        let (host, port) = to;
        let place = Place { host, port, user: self.user, is_mariadb: self.is_mariadb, tls: &self.tls };
        all.extend(self.drivers.iter().filter_map(|driver| driver.asking(&place, one.compression)));
        all.extend(self.who_cannot(one).map(|who| self.beside_app(who, to, one.compression)));
        all
    }

    /// Which drivers need a wirepress to ask for it, if any is told of.
    fn who_cannot(&self, Candidate { packer, compression }: Candidate) -> Option<String> {
        let who = if self.are_asked_for {
            let cannot = self.drivers.iter().filter(|driver| !driver.knows(compression.algorithm));
            let titles: Vec<&str> = cannot.map(|driver| driver.title()).collect();
            if titles.is_empty() {
                return None;
            }
            format!("{}: no option asks for {}", titles.join("; "), compression.algorithm.name())
        } else if compression.algorithm == Algorithm::Zstd {
            "Of the drivers known here only MySQL's C API can ask for zstd".to_owned()
        } else {
            "Drivers without compression, such as PyMySQL and sqlx".to_owned()
        };
        let at_both_ends = match packer {
            Packer::Wirepress => {
                "; with one at both ends a pair packs small replies far better (docs/pair.md)"
            }
            Packer::Server => "",
        };
        Some(format!("{who}. wirepress.toml beside the app asks instead of them{at_both_ends};"))
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
        lines.push(FORECAST_POLICY.to_owned());
        lines.extend(self.tls.of_client_leg());
        lines.extend(self.tls.of_server_leg());
        let title = "wirepress packs by the policy \"latency\" unless told otherwise: what would come later for it stays as it \
                     is.\nForecast was \"fixed\", which packs all; \"latency\" should do no worse.\nwirepress.toml, beside the \
                     server; `wirepress proxy --config wirepress.toml`:";
        (title.to_owned(), lines)
    }

    fn beside_app(&self, who: String, (host, port): (&str, &str), compression: Compression) -> Titled {
        let mut lines = vec![
            "[[listener]]".to_owned(),
            "listen = \"127.0.0.1:3307\"".to_owned(),
            format!("server = \"{host}:{port}\""),
            format!("compression-algorithms = \"{}\"", compression.algorithm.name()),
        ];
        if compression.algorithm == Algorithm::Zstd {
            lines.push(format!("zstd-compression-level = {}", compression.level));
        }
        lines.extend(self.tls.of_server_leg());
        (who + "\nthe app then connects to 127.0.0.1:3307, uncompressed:", lines)
    }
}

/// In the file, for who wants exactly what was forecast.
const FORECAST_POLICY: &str = "# policy = \"fixed\"";

/// What clients are told; a socket has no link, so its server is taken for one on this machine.
fn host_and_port(address: &Address) -> (String, String) {
    let (host, port) = address.host_and_port().unwrap_or(("127.0.0.1", "3306"));
    (host.to_owned(), port.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(drivers: &[Driver], are_asked_for: bool, is_mariadb: bool, one: Candidate) -> String {
        let target = Target {
            host: "db".to_owned(),
            port: "3306".to_owned(),
            user: "me",
            is_mariadb,
            tls: Tls::new(&[]),
            drivers,
            are_asked_for,
        };
        target.set(one).into_iter().map(|(title, lines)| format!("{title}\n{}\n", lines.join("\n"))).collect()
    }

    fn set(is_mariadb: bool, packer: Packer, algorithm: Algorithm) -> String {
        told(&Driver::ALL, false, is_mariadb, candidate(packer, algorithm))
    }

    fn candidate(packer: Packer, algorithm: Algorithm) -> Candidate {
        Candidate { packer, compression: Compression { algorithm, level: 3 } }
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
        assert!(told.contains("such as PyMySQL and sqlx. wirepress.toml beside the app"), "{told}");
        assert!(told.contains("compression-algorithms = \"zlib\""), "{told}");
        let told = set(true, Packer::Wirepress, Algorithm::Zstd);
        assert!(!told.contains("jdbc:") && told.contains("listen = \"127.0.0.1:3307\""), "{told}");
        assert!(told.contains("MYSQL_OPT_ZSTD_COMPRESSION_LEVEL") && told.contains("a pair packs"), "{told}");
        assert!(!set(false, Packer::Server, Algorithm::Zstd).contains("a pair"));
    }

    #[test]
    fn a_driver_that_was_asked_for_is_the_only_one() {
        let asked = [Driver::Mysqli];
        let zlib = told(&asked, true, false, candidate(Packer::Server, Algorithm::Zlib));
        assert!(zlib.contains("MYSQLI_CLIENT_COMPRESS") && !zlib.contains("jdbc:"), "{zlib}");
        assert!(!zlib.contains("127.0.0.1:3307"), "{zlib}");
        let zstd = told(&asked, true, false, candidate(Packer::Server, Algorithm::Zstd));
        assert!(
            zstd.contains("PHP, mysqli: no option asks for zstd. wirepress.toml beside the app"),
            "{zstd}"
        );
        assert!(zstd.contains("listen = \"127.0.0.1:3307\"") && !zstd.contains("MYSQLI_"), "{zstd}");
    }

    #[test]
    fn a_wirepress_beside_the_server_is_told_with_the_policy_that_was_forecast() {
        let told = set(false, Packer::Wirepress, Algorithm::Zstd);
        assert!(
            told.contains("Forecast was \"fixed\"") && told.contains("\n# policy = \"fixed\"\n"),
            "{told}"
        );
        // Whoever packs is the server: no policy of ours.
        assert!(!set(false, Packer::Server, Algorithm::Zstd).contains("policy"));
    }
}
