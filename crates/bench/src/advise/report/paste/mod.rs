//! The lines to paste: what makes client, server, drivers and wirepress do what is advised.
//!
//! Invariants: a driver that cannot do it is given wirepress beside the app instead, and not an option that it has not;
//! no password in them.
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
use crate::advise::candidate::Packer;
use crate::advise::verdict::Choice;
use lab::link::Address;

/// Titles with their lines.
pub(super) fn lines(advice: &Advice<'_>) -> Vec<(String, Vec<String>)> {
    let titled = |title: &str, lines: &[String]| (title.to_owned(), lines.to_vec());
    if advice.choice == Choice::Leave {
        return vec![titled(
            "Nothing needs to be set. To make sure that nobody compresses, on the server:",
            &["SET PERSIST protocol_compression_algorithms = 'uncompressed';".to_owned()],
        )];
    }
    let one = advice.subject.candidate;
    let (is_zstd, level) = (one.compression.algorithm == Algorithm::Zstd, one.compression.level);
    let (host, port) = host_and_port(&advice.findings.server);
    let user = &advice.findings.user;
    let mut all = Vec::new();
    let tls = Tls::new(&advice.findings.ssl_options);
    let through = one.packer == Packer::Wirepress;
    let (to_host, to_port) = if through {
        ("HOST_OF_WIREPRESS".to_owned(), "3307".to_owned())
    } else {
        (host.clone(), port.clone())
    };
    let algorithm = one.compression.algorithm.name();
    let zstd_level = if is_zstd { format!(" --zstd-compression-level={level}") } else { String::new() };
    all.push(titled(
        "MySQL client (8.0.18 or later):",
        &[format!(
            "mysql -h {to_host} -P {to_port} -u {user} -p --compression-algorithms={algorithm}{zstd_level}{}",
            tls.of_mysql()
        )],
    ));
    if through {
        all.push(titled(
            "wirepress.toml, beside the server; `wirepress proxy --config wirepress.toml`:",
            &[
                beside_server(&host, &port, one.compression.algorithm, level),
                tls.of_client_leg(),
                tls.of_server_leg(),
            ]
            .concat(),
        ));
    } else {
        all.push(titled(
            "MySQL server, which permits all of them unless told otherwise:",
            &[format!("SET PERSIST protocol_compression_algorithms = '{algorithm},uncompressed';")],
        ));
    }
    if is_zstd {
        all.push(titled(
            "Connector/J, go-sql-driver, mysqli know zlib at most: wirepress.toml beside the app asks for zstd instead of \
             them;\nthe app then connects to 127.0.0.1:3307, uncompressed:",
            &[beside_app(&to_host, &to_port, level), tls.of_server_leg()].concat(),
        ));
    } else {
        all.push(titled(
            "Connector/J:",
            &[format!(
                "jdbc:mysql://{to_host}:{to_port}/DATABASE?useCompression=true{}",
                tls.of_connector_j()
            )],
        ));
        all.push(titled(
            "go-sql-driver/mysql (1.9 or later):",
            &[format!("{user}:PASSWORD@tcp({to_host}:{to_port})/DATABASE?compress=true{}", tls.of_go())],
        ));
        let (set, flags) = tls.of_mysqli();
        let connect = format!(
            "$link->real_connect('{to_host}', '{user}', $password, 'DATABASE', {to_port}, null, MYSQLI_CLIENT_COMPRESS{flags});"
        );
        all.push(titled("PHP, mysqli:", &set.into_iter().chain([connect]).collect::<Vec<_>>()));
    }
    all
}

fn beside_server(host: &str, port: &str, algorithm: Algorithm, level: u8) -> Vec<String> {
    let mut lines = vec![
        "[[listener]]".to_owned(),
        "listen = \"0.0.0.0:3307\"".to_owned(),
        format!("server = \"{host}:{port}\""),
        "compression-algorithms = \"uncompressed\"".to_owned(),
        format!("protocol-compression-algorithms = [\"{}\", \"uncompressed\"]", algorithm.name()),
    ];
    if algorithm == Algorithm::Zstd {
        lines.push(format!("zstd-compression-level-max = {level}"));
    }
    lines
}

fn beside_app(host: &str, port: &str, level: u8) -> Vec<String> {
    vec![
        "[[listener]]".to_owned(),
        "listen = \"127.0.0.1:3307\"".to_owned(),
        format!("server = \"{host}:{port}\""),
        "compression-algorithms = \"zstd\"".to_owned(),
        format!("zstd-compression-level = {level}"),
    ]
}

/// What clients are told; a socket has no link, so its server is taken for one on this machine.
fn host_and_port(address: &Address) -> (String, String) {
    let (host, port) = address.host_and_port().unwrap_or(("127.0.0.1", "3306"));
    (host.to_owned(), port.to_owned())
}
