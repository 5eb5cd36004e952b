//! The scenario of ../../README.md with sqlx.

use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode};
use sqlx::{AssertSqlSafe, Connection, Executor, Row};

type Done<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[path = "common.rs"]
mod common;
use common::{blob, expect, rows_600, setting, text};

async fn connect(user: &str) -> Result<MySqlConnection, sqlx::Error> {
    let tls = if setting("DB_TLS") == "1" { MySqlSslMode::Required } else { MySqlSslMode::Disabled };
    let options = MySqlConnectOptions::new()
        .host(&setting("DB_HOST"))
        .port(setting("DB_PORT").parse().unwrap())
        .username(user)
        .password(&setting("DB_PASSWORD"))
        .database(&setting("DB_NAME"))
        .ssl_mode(tls);
    MySqlConnection::connect_with(&options).await
}

/// Text protocol.
async fn run(connection: &mut MySqlConnection, sql: String) -> Done {
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    Ok(())
}

async fn rows_of(connection: &mut MySqlConnection, sql: String) -> Done<Vec<MySqlRow>> {
    Ok(connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql))).await?)
}

/// Whatever its type, as it came.
fn bytes(row: &MySqlRow, column: usize) -> Done<Option<Vec<u8>>> {
    Ok(row.try_get_unchecked(column)?)
}

async fn word(connection: &mut MySqlConnection, sql: String) -> Done<String> {
    let rows = rows_of(connection, sql).await?;
    Ok(String::from_utf8(bytes(&rows[0], 0)?.unwrap())?)
}

async fn types(connection: &mut MySqlConnection, table: &str) -> Done {
    run(connection, common::types_table(table)).await?;
    let binary: Vec<u8> = (156..=255).collect();
    sqlx::query(AssertSqlSafe(format!("insert into {table}_types values (?, ?, ?, ?, ?, ?, ?, ?)")))
        .bind(-42)
        .bind(u64::MAX)
        .bind("12345678901234.567891")
        .bind(0.1)
        .bind("héllo 密码 🔑")
        .bind(&binary)
        .bind("2026-11-21 12:34:56.789012")
        .bind(None::<i32>)
        .execute(&mut *connection)
        .await?;
    let sql = format!("select i, u, cast(d as char), f, s, b, cast(t as char), n from {table}_types");
    let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(connection).await?;
    expect(row.try_get::<i32, _>(0)?, -42);
    expect(row.try_get::<u64, _>(1)?, u64::MAX);
    expect(row.try_get::<String, _>(2)?, "12345678901234.567891");
    expect(row.try_get::<f64, _>(3)?, 0.1);
    expect(row.try_get::<String, _>(4)?, "héllo 密码 🔑");
    expect(row.try_get::<Vec<u8>, _>(5)?, binary);
    expect(row.try_get::<String, _>(6)?, "2026-11-21 12:34:56.789012");
    expect(row.try_get::<Option<i32>, _>(7)?, None);
    Ok(())
}

async fn every_type(connection: &mut MySqlConnection, table: &str) -> Done {
    run(connection, format!("create table {table}_every ({})", setting("DB_COLUMNS"))).await?;
    run(connection, format!("insert into {table}_every values {}", setting("DB_VALUES"))).await?;
    let sql = format!("select * from {table}_every order by id");
    let mut rows = rows_of(connection, sql.clone()).await?;
    rows.extend(sqlx::query(AssertSqlSafe(sql)).fetch_all(connection).await?);
    for row in rows {
        let values = (0..row.len())
            .map(|column| bytes(&row, column).map(|value| value.map_or("null".into(), |v| text(&v))));
        println!("row {}", values.collect::<Done<Vec<String>>>()?.join(" "));
    }
    Ok(())
}

async fn large(connection: &mut MySqlConnection, table: &str, length: u32) -> Done {
    let data = blob(usize::try_from(length)?);
    run(connection, format!("create table if not exists {table}_blobs (id int primary key, v longblob)"))
        .await?;
    let insert = format!("insert into {table}_blobs values (?, ?)");
    sqlx::query(AssertSqlSafe(insert)).bind(length).bind(&data).execute(&mut *connection).await?;
    let hash =
        word(connection, format!("select sha2(v, 256) from {table}_blobs where id = {length}")).await?;
    expect(hash, text(&Sha256::digest(&data)));
    // Of the text protocol it takes a row that begins with a length of eight bytes (0xFE) for the end of the rows.
    let choose = format!("select v from {table}_blobs where id = ?");
    let found: Vec<u8> = sqlx::query_scalar(AssertSqlSafe(choose)).bind(length).fetch_one(connection).await?;
    expect(found == data, true);
    Ok(())
}

async fn prepared(connection: &mut MySqlConnection, table: &str) -> Done {
    run(connection, format!("create table {table}_prepared (id int primary key, v varchar(50))")).await?;
    let wanted: Vec<(i32, String)> = (0..200).map(|i| (i, format!("value {i}"))).collect();
    for (id, v) in &wanted {
        let insert = format!("insert into {table}_prepared values (?, ?)");
        sqlx::query(AssertSqlSafe(insert)).bind(id).bind(v).execute(&mut *connection).await?;
    }
    for low in [0, 100] {
        let sql = format!("select id, v from {table}_prepared where id >= ? order by id");
        let found: Vec<(i32, String)> =
            sqlx::query_as(AssertSqlSafe(sql)).bind(low).fetch_all(&mut *connection).await?;
        expect(&found[..], &wanted[usize::try_from(low)?..]);
    }
    Ok(())
}

async fn transaction(connection: &mut MySqlConnection, table: &str) -> Done {
    run(connection, format!("create table {table}_transaction (id int) engine=innodb")).await?;
    for wanted in ["0", "1"] {
        let mut transaction = connection.begin().await?;
        run(&mut transaction, format!("insert into {table}_transaction values (1)")).await?;
        if wanted == "0" {
            transaction.rollback().await?
        } else {
            transaction.commit().await?
        }
        expect(word(connection, format!("select count(*) from {table}_transaction")).await?, wanted);
    }
    Ok(())
}

async fn error(connection: &mut MySqlConnection, table: &str) -> Done {
    let fault = connection
        .execute(sqlx::raw_sql(AssertSqlSafe(format!("select * from {table}_nowhere"))))
        .await
        .unwrap_err();
    let fault = fault.as_database_error().unwrap().downcast_ref::<sqlx::mysql::MySqlDatabaseError>();
    expect(fault.number(), 1146);
    expect(word(connection, "select 1".to_owned()).await?, "1");
    Ok(())
}

async fn rows(connection: &mut MySqlConnection, table: &str) -> Done {
    let (create, insert, wanted) = rows_600(table);
    run(connection, create).await?;
    run(connection, insert).await?;
    let mut next = 0;
    for row in rows_of(connection, format!("select id, v from {table}_rows order by id")).await? {
        expect(bytes(&row, 0)?.unwrap(), wanted[next].0.to_string().into_bytes());
        expect(bytes(&row, 1)?.unwrap(), wanted[next].1.as_bytes());
        next += 1;
    }
    expect(next, 600);
    Ok(())
}

async fn stream(connection: &mut MySqlConnection, table: &str) -> Done {
    let mut sums = (0, 0, 0);
    let mut rows = connection.fetch(sqlx::raw_sql(AssertSqlSafe(common::stream(table))));
    while let Some(row) = rows.try_next().await? {
        let [id, v] = [0, 1].map(|column| String::from_utf8(bytes(&row, column).unwrap().unwrap()).unwrap());
        expect(v.len(), 100);
        sums = (sums.0 + 1, sums.1 + id.parse::<u64>()?, sums.2 + v.parse::<u64>()?);
    }
    expect(sums, common::STREAM_SUMS);
    Ok(())
}

async fn multi(connection: &mut MySqlConnection) -> Done {
    let rows = rows_of(connection, "select 1; select repeat('x', 100000); select 3".to_owned()).await?;
    let found: Vec<Vec<u8>> = rows.iter().map(|row| bytes(row, 0).unwrap().unwrap()).collect();
    expect(found, vec![b"1".to_vec(), vec![b'x'; 100_000], b"3".to_vec()]);
    Ok(())
}

async fn id(connection: &mut MySqlConnection) -> Done<u32> {
    Ok(word(connection, "select connection_id()".to_owned()).await?.parse()?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let (table, user) = (setting("DB_TABLE"), setting("DB_USER"));
    let mut connection = connect(&user).await?;
    let mut status = Vec::new();
    for name in ["compression", "ssl_version"] {
        let rows = rows_of(&mut connection, format!("show session status like '{name}'")).await?;
        status.push(String::from_utf8(bytes(&rows[0], 1)?.unwrap())?);
    }
    println!("session {}", status.join(" "));
    types(&mut connection, &table).await?;
    println!("ok types");
    every_type(&mut connection, &table).await?;
    println!("ok every_type");
    large(&mut connection, &table, 3 << 20).await?;
    println!("ok blob_3_mib");
    large(&mut connection, &table, 20_000_000).await?;
    println!("ok blob_20_mb");
    prepared(&mut connection, &table).await?;
    println!("ok prepared");
    transaction(&mut connection, &table).await?;
    println!("ok transaction");
    error(&mut connection, &table).await?;
    println!("ok error");
    rows(&mut connection, &table).await?;
    println!("ok rows_600");
    stream(&mut connection, &table).await?;
    println!("ok stream");
    multi(&mut connection).await?;
    println!("ok multi");
    let fresh = setting("DB_FRESH_USER");
    match connect(&fresh).await {
        Ok(mut stranger) => {
            expect(
                word(&mut stranger, "select substring_index(current_user(), '@', 1)".to_owned()).await?,
                fresh,
            );
            stranger.close().await?;
            println!("ok full_authentication");
        }
        Err(fault) => println!("no full_authentication {fault}"),
    }
    println!("no change_user");
    let first = id(&mut connection).await?;
    connection.close().await?;
    let mut connection = connect(&user).await?;
    expect(id(&mut connection).await? > first, true);
    connection.close().await?;
    println!("ok reconnect");
    Ok(())
}
