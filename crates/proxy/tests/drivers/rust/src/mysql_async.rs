//! The scenario of ../../README.md with mysql_async.

use std::env;

use futures_util::StreamExt;
use mysql_async::prelude::Queryable;
use mysql_async::{
    ChangeUserOpts, Compression, Conn, Error, Opts, OptsBuilder, Params, Row, SslOpts, TxOpts, Value, params,
};
use sha2::{Digest, Sha256};

type Done<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[path = "common.rs"]
mod common;
use common::{blob, expect, rows_600, setting, text};

async fn connect(user: &str) -> Result<Conn, Error> {
    let tls =
        SslOpts::default().with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true);
    let builder = OptsBuilder::default()
        .ip_or_hostname(setting("DB_HOST"))
        .tcp_port(setting("DB_PORT").parse().unwrap())
        .user(Some(user))
        .pass(Some(setting("DB_PASSWORD")))
        .db_name(Some(setting("DB_NAME")))
        .prefer_socket(false)
        .compression((setting("DB_COMPRESS") == "1").then(Compression::fast))
        .ssl_opts((setting("DB_TLS") == "1").then_some(tls));
    Conn::new(Opts::from(builder)).await
}

async fn value(connection: &mut Conn, sql: &str) -> Done<Value> {
    let row: Option<Row> = connection.query_first(sql).await?;
    Ok(row.unwrap().unwrap().remove(0))
}

async fn word(connection: &mut Conn, sql: &str) -> Done<String> {
    Ok(mysql_async::from_value(value(connection, sql).await?))
}

async fn types(connection: &mut Conn, table: &str) -> Done {
    connection.query_drop(common::types_table(table)).await?;
    let binary: Vec<u8> = (156..=255).collect();
    let row: Vec<Value> = vec![
        Value::Int(-42),
        Value::UInt(u64::MAX),
        "12345678901234.567891".into(),
        0.1.into(),
        "héllo 密码 🔑".into(),
        binary.into(),
        "2026-11-21 12:34:56.789012".into(),
        Value::NULL,
    ];
    let insert = format!("insert into {table}_types values (?, ?, ?, ?, ?, ?, ?, ?)");
    connection.exec_drop(insert, Params::Positional(row.clone())).await?;
    let sql = format!("select i, u, d, f, s, b, cast(t as char), n from {table}_types");
    let found: Option<Row> = connection.exec_first(sql, ()).await?;
    expect(found.unwrap().unwrap(), row);
    Ok(())
}

async fn every_type(connection: &mut Conn, table: &str) -> Done {
    connection.query_drop(format!("create table {table}_every ({})", setting("DB_COLUMNS"))).await?;
    connection.query_drop(format!("insert into {table}_every values {}", setting("DB_VALUES"))).await?;
    let sql = format!("select * from {table}_every order by id");
    let mut rows: Vec<Row> = connection.query(&sql).await?;
    rows.extend(connection.exec::<Row, _, _>(&sql, ()).await?);
    for row in rows {
        let values = row.unwrap();
        println!("row {}", values.iter().map(|value| value.as_sql(true)).collect::<Vec<_>>().join(" "));
    }
    Ok(())
}

async fn large(connection: &mut Conn, table: &str, length: usize) -> Done {
    let data = blob(length);
    connection
        .query_drop(format!("create table if not exists {table}_blobs (id int primary key, v longblob)"))
        .await?;
    connection.exec_drop(format!("insert into {table}_blobs values (?, ?)"), (length, &data)).await?;
    let hash =
        word(connection, &format!("select sha2(v, 256) from {table}_blobs where id = {length}")).await?;
    expect(hash, text(&Sha256::digest(&data)));
    let found = value(connection, &format!("select v from {table}_blobs where id = {length}")).await?;
    expect(found == Value::Bytes(data), true);
    Ok(())
}

async fn prepared(connection: &mut Conn, table: &str) -> Done {
    connection
        .query_drop(format!("create table {table}_prepared (id int primary key, v varchar(50))"))
        .await?;
    let wanted: Vec<(u32, String)> = (0..200).map(|i| (i, format!("value {i}"))).collect();
    let rows = wanted.iter().map(|(id, v)| params! { "id" => id, "v" => v });
    connection.exec_batch(format!("insert into {table}_prepared values (:id, :v)"), rows).await?;
    let choose =
        connection.prep(format!("select id, v from {table}_prepared where id >= ? order by id")).await?;
    for low in [0, 100] {
        let found: Vec<(u32, String)> = connection.exec(&choose, (low,)).await?;
        expect(&found[..], &wanted[low..]);
    }
    Ok(())
}

async fn transaction(connection: &mut Conn, table: &str) -> Done {
    connection.query_drop(format!("create table {table}_transaction (id int) engine=innodb")).await?;
    for wanted in [0, 1] {
        let mut transaction = connection.start_transaction(TxOpts::default()).await?;
        transaction.query_drop(format!("insert into {table}_transaction values (1)")).await?;
        if wanted == 0 {
            transaction.rollback().await?
        } else {
            transaction.commit().await?
        }
        let count: Option<u32> =
            connection.query_first(format!("select count(*) from {table}_transaction")).await?;
        expect(count, Some(wanted));
    }
    Ok(())
}

async fn error(connection: &mut Conn, table: &str) -> Done {
    match connection.query_drop(format!("select * from {table}_nowhere")).await {
        Err(Error::Server(fault)) => expect(fault.code, 1146),
        other => panic!("{other:?}"),
    }
    expect(word(connection, "select 1").await?, "1".to_owned());
    Ok(())
}

async fn rows(connection: &mut Conn, table: &str) -> Done {
    let (create, insert, wanted) = rows_600(table);
    connection.query_drop(create).await?;
    connection.query_drop(insert).await?;
    let found: Vec<(u32, String)> =
        connection.query(format!("select id, v from {table}_rows order by id")).await?;
    expect(found, wanted);
    Ok(())
}

async fn stream(connection: &mut Conn, table: &str) -> Done {
    let mut sums = (0, 0, 0);
    let mut rows = connection.query_iter(common::stream(table)).await?;
    let mut rows = rows.stream::<(u64, String)>().await?.unwrap();
    while let Some(row) = rows.next().await {
        let (id, v) = row?;
        expect(v.len(), 100);
        sums = (sums.0 + 1, sums.1 + id, sums.2 + v.parse::<u64>()?);
    }
    expect(sums, common::STREAM_SUMS);
    Ok(())
}

async fn multi(connection: &mut Conn) -> Done {
    let mut results = connection.query_iter("select 1; select repeat('x', 100000); select 3").await?;
    let mut found = Vec::new();
    while !results.is_empty() {
        found.extend(results.collect::<String>().await?);
    }
    results.drop_result().await?;
    expect(found, vec!["1".to_owned(), "x".repeat(100_000), "3".to_owned()]);
    Ok(())
}

const WHO: &str = "select substring_index(current_user(), '@', 1)";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let (table, user) = (setting("DB_TABLE"), setting("DB_USER"));
    let mut connection = connect(&user).await?;
    let mut status = Vec::new();
    for name in ["compression", "ssl_version"] {
        let row: Option<(String, String)> =
            connection.query_first(format!("show session status like '{name}'")).await?;
        status.push(row.unwrap().1);
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
            expect(word(&mut stranger, WHO).await?, fresh);
            stranger.disconnect().await?;
            println!("ok full_authentication");
        }
        Err(fault) => println!("no full_authentication {fault}"),
    }
    let first: u32 = mysql_async::from_value(value(&mut connection, "select connection_id()").await?);
    let second = setting("DB_SECOND_USER");
    let options = ChangeUserOpts::new()
        .with_user(Some(second.clone()))
        .with_pass(Some(env::var("DB_PASSWORD")?))
        .with_db_name(Some(setting("DB_NAME")));
    connection.change_user(options).await?;
    expect(word(&mut connection, WHO).await?, second);
    println!("ok change_user");
    connection.disconnect().await?;
    let mut connection = connect(&user).await?;
    let id: u32 = mysql_async::from_value(value(&mut connection, "select connection_id()").await?);
    expect(id > first, true);
    connection.disconnect().await?;
    println!("ok reconnect");
    Ok(())
}
