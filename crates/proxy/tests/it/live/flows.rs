//! What a MySQL connection carries besides rows, through every pair of legs, beside a direct connection.
//!
//! Not here: dumps and sysbench (`dumps`), sizes (`sizes`), authentication, COM_CHANGE_USER included
//! (`authentication`), drivers (`drivers`), replication (`replication`).

use std::sync::OnceLock;

use lab::real::{Kind, RealServer, required};

use super::client::remember_password;

mod ends;
mod local_infile;
mod mariadb;
mod negotiation;
mod session_status;
mod statements;

/// The shared server with database `flows`.
fn server(kind: Kind) -> Option<&'static RealServer> {
    static MYSQL: OnceLock<()> = OnceLock::new();
    static MARIADB: OnceLock<()> = OnceLock::new();
    let server = required(kind)?;
    let prepared = if kind == Kind::MySql { &MYSQL } else { &MARIADB };
    prepared.get_or_init(|| {
        remember_password(server);
        server.sql("create database flows").unwrap();
    });
    Some(server)
}
