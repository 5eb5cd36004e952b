//! A cell or two of the matrix for each driver: on MySQL with TLS on both legs, on MariaDB without, both with its
//! compression if it has one, and the server leg with what the proxy chooses by itself. Drivers with protocol code of
//! their own, which no other shares, get both.
//!
//! Not here: the whole matrix (`examples/drivers`).

use codec::Algorithm;
use lab::real::{Kind, required_programs, skip};

use super::catalog::{self, Driver};
use super::run::{Setting, Target, Verdict, directly, judge, program, through_proxy};

fn smoke(driver: &Driver, kinds: &[Kind]) {
    if required_programs().is_none() {
        return;
    }
    if let Err(reason) = program(driver) {
        return skip(&format!("want of {reason}"));
    }
    for &kind in kinds {
        let server_leg = [if kind == Kind::MySql { Algorithm::Zstd } else { Algorithm::Zlib }];
        let setting = Setting { compresses: driver.compression.is_some(), tls: kind == Kind::MySql };
        let target = Target::shared(kind);
        let proxied = through_proxy(driver, target, setting, &server_leg);
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
    ($($test:ident: $driver:ident on $($kind:ident),*;)*) => {
        $(#[test]
        fn $test() {
            smoke(&catalog::$driver, &[$(Kind::$kind),*]);
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
    the_mysql_command_line_gets_what_it_asks_for: MYSQL_CLI on MySql;
    the_mysql_command_line_gets_it_with_zstd: MYSQL_CLI_ZSTD on MariaDb;
    the_mariadb_command_line_gets_what_it_asks_for: MARIADB_CLI on MySql;
    connector_python_pure_gets_what_it_asks_for: CONNECTOR_PURE on MySql, MariaDb;
    connector_python_c_gets_what_it_asks_for: CONNECTOR_C on MySql;
    pymysql_gets_what_it_asks_for: PYMYSQL on MySql;
    mysqlclient_gets_what_it_asks_for: MYSQLCLIENT on MariaDb;
    odbc_gets_what_it_asks_for: PYODBC on MariaDb;
    node_mysql2_gets_what_it_asks_for: MYSQL2 on MySql, MariaDb;
    node_mariadb_gets_what_it_asks_for: MARIADB_NODE on MySql, MariaDb;
    go_sql_driver_gets_what_it_asks_for: GO on MySql, MariaDb;
    connector_j_gets_what_it_asks_for: CONNECTOR_J on MySql, MariaDb;
    mariadb_connector_j_gets_what_it_asks_for: MARIADB_J on MySql, MariaDb;
    mariadb_connector_j_2_gets_what_it_asks_for: MARIADB_J_2 on MariaDb;
    php_mysqli_gets_what_it_asks_for: MYSQLI on MySql, MariaDb;
    php_pdo_gets_what_it_asks_for: PDO on MySql;
    ruby_mysql2_gets_what_it_asks_for: RUBY on MySql;
    perl_dbd_mysql_gets_what_it_asks_for: DBD_MYSQL on MySql;
    perl_dbd_mariadb_gets_what_it_asks_for: DBD_MARIADB on MariaDb;
    rust_mysql_async_gets_what_it_asks_for: MYSQL_ASYNC on MySql;
    rust_sqlx_gets_what_it_asks_for: SQLX on MariaDb;
}

/// PyMySQL has no prepared statements and no COM_CHANGE_USER.
const LACKS_MAX: usize = 2;
