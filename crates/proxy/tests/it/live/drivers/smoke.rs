//! Some cells of the matrix for each driver: on MySQL with TLS on both legs, on MariaDB without, both with its
//! compression if it has one, and the server leg with what the proxy chooses by itself.
//!
//! Not here: the whole matrix (`examples/drivers`).

use codec::Algorithm;
use lab::real::{Kind, required_programs, skip};

use super::catalog::{self, Driver};
use super::run::{Setting, Target, Verdict, directly, judge, program, through_proxy};

fn smoke(driver: &Driver) {
    if required_programs().is_none() {
        return;
    }
    if let Err(reason) = program(driver) {
        return skip(&format!("want of {reason}"));
    }
    for (kind, server_leg) in [(Kind::MySql, Algorithm::ALL.as_slice()), (Kind::MariaDb, &[Algorithm::Zlib])]
    {
        let setting = Setting { compresses: driver.compression.is_some(), tls: kind == Kind::MySql };
        let target = Target::shared(kind);
        let proxied = through_proxy(driver, target, setting, server_leg);
        let direct = directly(driver, target, setting);
        let verdict = judge(driver, &proxied, &direct);
        let Driver { title, compression, tls, note, .. } = driver;
        // What only works through the proxy is not its fault: MySQL's client asks MariaDB for zstd in vain.
        let is_fine = matches!(verdict, Verdict::Same | Verdict::DirectFails(_));
        let told = format!("{compression:?}, {tls}; {note}");
        assert!(is_fine, "{title}, {kind}, {setting} ({told}): {verdict:?}");
        // Or its program gives up too easily.
        assert!(proxied.lacks().len() <= LACKS_MAX, "{title}: {:?}", proxied.lacks());
    }
}

macro_rules! smoke_tests {
    ($($test:ident: $driver:ident;)*) => {
        $(#[test]
        fn $test() {
            smoke(&catalog::$driver);
        })*

        #[test]
        fn every_driver_has_a_smoke_test() {
            let tested = [$(catalog::$driver.name),*];
            for driver in catalog::ALL {
                assert!(tested.contains(&driver.name), "{} has none", driver.name);
            }
        }
    };
}

smoke_tests! {
    the_mysql_command_line_gets_what_it_asks_for: MYSQL_CLI;
    the_mysql_command_line_gets_it_with_zstd: MYSQL_CLI_ZSTD;
    the_mariadb_command_line_gets_what_it_asks_for: MARIADB_CLI;
    connector_python_pure_gets_what_it_asks_for: CONNECTOR_PURE;
    connector_python_c_gets_what_it_asks_for: CONNECTOR_C;
    pymysql_gets_what_it_asks_for: PYMYSQL;
    mysqlclient_gets_what_it_asks_for: MYSQLCLIENT;
    odbc_gets_what_it_asks_for: PYODBC;
    node_mysql2_gets_what_it_asks_for: MYSQL2;
    node_mariadb_gets_what_it_asks_for: MARIADB_NODE;
    go_sql_driver_gets_what_it_asks_for: GO;
    connector_j_gets_what_it_asks_for: CONNECTOR_J;
    mariadb_connector_j_gets_what_it_asks_for: MARIADB_J;
    mariadb_connector_j_2_gets_what_it_asks_for: MARIADB_J_2;
    php_mysqli_gets_what_it_asks_for: MYSQLI;
    php_pdo_gets_what_it_asks_for: PDO;
    ruby_mysql2_gets_what_it_asks_for: RUBY;
    perl_dbd_mysql_gets_what_it_asks_for: DBD_MYSQL;
    perl_dbd_mariadb_gets_what_it_asks_for: DBD_MARIADB;
    rust_mysql_async_gets_what_it_asks_for: MYSQL_ASYNC;
    rust_sqlx_gets_what_it_asks_for: SQLX;
}

/// PyMySQL has no prepared statements and no COM_CHANGE_USER.
const LACKS_MAX: usize = 2;
