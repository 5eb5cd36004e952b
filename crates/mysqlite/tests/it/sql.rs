//! MySQL's SQL on SQLite: each line's answer is what MySQL 9.7 answers to the same.
//!
//! Not here: whole dumps (`live`).

use mysqlite::{Options, Server};

use crate::client::Client;
use crate::server;

#[track_caller]
fn check(client: &mut Client, sql: &str, expected: &[&str]) {
    assert_eq!(client.lines(sql), expected, "{sql}");
}

fn with_table() -> (Server, Client) {
    let server = server();
    let mut client = Client::of(&server);
    client
        .query(
            "create database shop; use shop; \
             create table item (id int not null auto_increment, name varchar(20) not null default 'x', price \
             decimal(10,2), n int, primary key (id), unique key by_name (name), key by_n (n)) engine=InnoDB; \
             insert into item (name, price, n) values ('pen', 1.5, 3), ('ink', 20, 5), ('Cap', null, 3)",
        )
        .unwrap();
    (server, client)
}

#[test]
fn expressions_have_mysqls_values() {
    let server = server();
    let mut client = Client::of(&server);
    for (sql, expected) in [
        ("select 1 + 1, 7 div 2, 7 % 4, 1 = 1, 5 / 2", "2|3|3|1|2.5"),
        ("select 'it''s', \"a\\\"b\", 'a' 'b', 'x\\ty'", "it's|a\"b|ab|x\ty"),
        ("select concat('a', 1, 'b'), concat('a', null), concat_ws(',', 'a', null, 'b')", "a1b|NULL|a,b"),
        (
            "select left('hello', 2), right('hello', 2), substring('hello', 2, 3), mid('hello', 2)",
            "he|lo|ell|ello",
        ),
        ("select length('é'), char_length('é'), upper('abc'), hex('ab'), hex(255)", "2|1|ABC|6162|FF"),
        ("select if(1 > 2, 'a', 'b'), ifnull(null, 3), nullif(1, 1), coalesce(null, 2)", "b|3|NULL|2"),
        ("select md5('a')", "0cc175b9c0f1b6a831c399e269772661"),
        ("select sha1('a')", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        ("select left(sha2('a', 256), 16)", "ca978112ca1bbdca"),
        ("select length(repeat(left(sha2(rand(), 256), 32), 2000))", "64000"),
        (
            "select floor(1.7), ceil(1.2), abs(-3), mod(7, 3), truncate(1.29, 1), greatest(1, 3, 2)",
            "1|2|3|1|1.2|3",
        ),
        ("select 'A' like 'a', 'a_b' like 'a\\_b', 'axb' like 'a\\_b', null <=> null", "1|1|0|1"),
        ("select cast('12' as signed) + 1, cast(1.005 as decimal(10,2)), cast(65 as char)", "13|1.01|65"),
        (
            "select date_add('2026-01-31', interval 1 month), datediff('2026-11-21', '2026-11-01')",
            "2026-02-28|20",
        ),
        (
            "select date_format('2026-11-21 20:05:03', '%d.%m.%Y %H:%i'), year('2026-11-21')",
            "21.11.2026 20:05|2026",
        ),
        (
            "select extract(month from '2026-11-21'), trim(both 'x' from 'xxaxx'), position('b' in 'abc')",
            "11|a|2",
        ),
        (
            "select substring_index('a.b.c', '.', 2), lpad('5', 3, '0'), reverse('abc'), field('b', 'a', 'b')",
            "a.b|005|cba|2",
        ),
        ("select case 2 when 1 then 'a' when 2 then 'b' end, 3 between 1 and 5, 2 in (1, 2)", "b|1|1"),
        ("select 18446744073709551615, -9223372036854775808", "18446744073709551615|-9223372036854775808"),
        ("select 1 from dual where 1 || 0 and not 0 && !0", "1"),
        ("select x'4142', 0x41, b'101', _utf8mb4'a', convert('a' using utf8mb4)", "AB|A|5|a|a"),
        ("select @@version_comment limit 1", "wirepress embedded database (SQLite)"),
        ("select inet_nothing", ""),
    ] {
        if expected.is_empty() {
            assert_eq!(client.error(sql), 1054);
        } else {
            check(&mut client, sql, &[expected]);
        }
    }
    client.query("set @a = 5, @b := 'x'").unwrap();
    check(&mut client, "select @a + 1, @b, @c", &["6|x|NULL"]);
}

#[test]
fn columns_are_named_as_mysql_names_them() {
    let (_server, mut client) = with_table();
    let sql = "select sum(n), `name`, i.id, n + 1 as more, count( * ), 'text', i.price p, max(n) \"quoted\", ID from item i";
    let result = &client.query(sql).unwrap()[0];
    let names: Vec<&str> = result.columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["sum(n)", "name", "id", "more", "count( * )", "text", "p", "quoted", "ID"]);
}

#[test]
fn columns_carry_their_declared_types() {
    let (_server, mut client) = with_table();
    let result = &client.query("select *, count(*), 1.5e0, now(), null from item").unwrap()[0];
    let types: Vec<u8> = result.columns.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(types, [3, 253, 246, 3, 8, 5, 12, 253]);
    check(&mut client, "select price from item order by id", &["1.50", "20.00", "NULL"]);
}

#[test]
fn rows_are_written_read_and_counted() {
    let (_server, mut client) = with_table();
    let ok = |client: &mut Client, sql: &str| client.query(sql).unwrap().pop().unwrap().ok;
    let inserted = ok(&mut client, "insert into item set name = 'nib', n = 9");
    assert_eq!((inserted.affected_rows, inserted.last_insert_id), (1, 4));
    check(&mut client, "select last_insert_id(), row_count()", &["4|1"]);
    let many = ok(&mut client, "insert into item (id, name) values (0, 'a'), (null, 'b'), (default, 'c')");
    assert_eq!((many.affected_rows, many.last_insert_id), (3, 5));
    assert_eq!(ok(&mut client, "update item set n = n + 1 where n = 3").affected_rows, 2);
    assert_eq!(
        ok(&mut client, "delete from item where name in ('a', 'b') order by id desc limit 1").affected_rows,
        1
    );
    check(&mut client, "select name from item where id > 4 order by id", &["a", "c"]);
    assert_eq!(ok(&mut client, "insert ignore into item (name) values ('PEN'), ('new')").affected_rows, 1);
    ok(
        &mut client,
        "insert into item (name, n) values ('pen', 70) on duplicate key update n = values(n) + n",
    );
    check(&mut client, "select n from item where name = 'pen'", &["74"]);
    ok(&mut client, "insert into item (name, n) values ('pen', 1) as new on duplicate key update n = new.n");
    check(&mut client, "select n from item where name = 'PEN'", &["1"]);
    ok(&mut client, "replace into item (name, n) values ('pen', 2)");
    check(&mut client, "select count(*), min(n) from item where name = 'pen'", &["1|2"]);
    ok(&mut client, "insert into item (name, n) select concat(name, '2'), n from item where n = 2");
    check(&mut client, "select name from item where name like 'pen%' order by 1", &["pen", "pen2"]);
    ok(&mut client, "truncate table item");
    check(&mut client, "select count(*) from item", &["0"]);
    assert_eq!(ok(&mut client, "insert into item (name) values ('again')").last_insert_id, 1);
}

#[test]
fn queries_of_many_shapes_run() {
    let (_server, mut client) = with_table();
    for (sql, expected) in [
        ("select i.name, j.name from item i join shop.item j on i.n = j.n and i.id < j.id", vec!["pen|Cap"]),
        ("select item.name from item, (select max(id) m from item) x where item.id = x.m", vec!["Cap"]),
        ("select shop.item.name from shop.item force index (by_n) order by name limit 1, 1", vec!["ink"]),
        (
            "select n, count(*) c, group_concat(name order by name separator '+') from item group by n having c > 1",
            vec!["3|2|Cap+pen"],
        ),
        ("(select 1) union all (select 2) order by 1 desc", vec!["2", "1"]),
        ("with t as (select n from item) select distinct n from t order by n for update", vec!["3", "5"]),
        ("select sql_no_cache name from item where id = 1 lock in share mode", vec!["pen"]),
        (
            "select /*!40001 SQL_NO_CACHE */ name from item where exists (select 1 from item k where k.id = item.id - 2)",
            vec!["Cap"],
        ),
        ("select sum(n), avg(n), max(name) from item", vec!["11|3.6667|pen"]),
        (
            "select table_name, table_rows from information_schema.tables where table_schema = database()",
            vec!["item|3"],
        ),
        (
            "select column_name from information_schema.COLUMNS where TABLE_NAME = 'item' and column_key = 'PRI'",
            vec!["id"],
        ),
    ] {
        assert_eq!(client.lines(sql), expected, "{sql}");
    }
}

#[test]
fn what_show_tells_is_what_mysql_tells() {
    let (_server, mut client) = with_table();
    check(&mut client, "show databases like 'sh%'", &["shop"]);
    check(&mut client, "show full tables", &["item|BASE TABLE"]);
    check(&mut client, "show tables like 'x%'", &[]);
    check(
        &mut client,
        "show columns from item like 'n%'",
        &["name|varchar(20)|NO|UNI|x|", "n|int|YES|MUL|NULL|"],
    );
    check(&mut client, "describe item id", &["id|int|NO|PRI|NULL|auto_increment"]);
    check(&mut client, "show variables like 'autocommit'", &["autocommit|ON"]);
    check(
        &mut client,
        "show index from item where Key_name = 'by_n'",
        &["item|1|by_n|1|n|A|0|NULL|NULL|YES|BTREE|||YES|NULL"],
    );
    let created = client.lines("show create table item").pop().unwrap();
    let expected = "item|CREATE TABLE `item` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `name` varchar(20) NOT NULL \
        DEFAULT 'x',\n  `price` decimal(10,2) DEFAULT NULL,\n  `n` int DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  UNIQUE \
        KEY `by_name` (`name`),\n  KEY `by_n` (`n`)\n) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 \
        COLLATE=utf8mb4_0900_ai_ci";
    assert_eq!(created, expected);
    for sql in [
        "show warnings",
        "show triggers like 'item'",
        "show function status where Db = 'shop'",
        "show events",
    ] {
        check(&mut client, sql, &[]);
    }
}

#[test]
fn tables_are_altered_with_their_rows() {
    let (_server, mut client) = with_table();
    for sql in [
        "alter table item add column size int not null default 2 after name, add key by_size (size)",
        "alter table item change n amount bigint, drop index by_n",
        "alter table item modify name varchar(100) not null",
        "create index by_amount on item (amount)",
        "alter table item rename to thing",
        "rename table thing to item",
        "alter table item drop column price",
        "drop index by_amount on item",
        "/*!40000 alter table item disable keys */",
        "alter table item auto_increment = 50",
    ] {
        client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    check(&mut client, "select * from item order by id", &["1|pen|2|3", "2|ink|2|5", "3|Cap|2|3"]);
    client.query("insert into item (name) values ('new')").unwrap();
    check(&mut client, "select id from item where name = 'new'", &["50"]);
    client.query("create table copy like item").unwrap();
    client.query("insert into copy select * from item").unwrap();
    check(&mut client, "select count(*) from copy", &["4"]);
    client.query("drop table copy, item").unwrap();
    check(&mut client, "show tables", &[]);
}

#[test]
fn errors_have_mysqls_numbers() {
    let (_server, mut client) = with_table();
    for (sql, code) in [
        ("select * from nowhere", 1146),
        ("select * from nodb.t", 1049),
        ("use nodb", 1049),
        ("select nothing from item", 1054),
        ("insert into item (nothing) values (1)", 1054),
        ("insert into item (name) values ('pen')", 1062),
        ("insert into item (name) values (null)", 1048),
        ("insert into item (name) values ('a', 2)", 1136),
        ("insert into item (name, n) values ('z', 'abc')", 1366),
        ("create table item (a int)", 1050),
        ("create database shop", 1007),
        ("drop database nodb", 1008),
        ("drop table nowhere", 1051),
        ("drop index nothing on item", 1091),
        ("create index by_n on item (n)", 1061),
        ("alter table item add column n int", 1060),
        ("create table u (a int, key (b))", 1072),
        ("select nothing(1)", 1305),
        ("selec 1", 1064),
        ("select 'abc", 1064),
        ("set nothing = 1", 1193),
        ("set version = 'x'", 1238),
        ("create view v as select 1", 1235),
        ("rollback to nothing", 1305),
    ] {
        assert_eq!(client.error(sql), code, "{sql}");
    }
    client.query("create table child (id int, foreign key (id) references item (id))").unwrap();
    assert_eq!(client.error("insert into child values (99)"), 1452);
    client.query("insert into child values (1)").unwrap();
    assert_eq!(client.error("delete from item where id = 1"), 1451);
    let mut other = Client::of(&_server);
    assert_eq!(other.error("select * from item"), 1046);
}

#[test]
fn nested_brackets_do_not_exhaust_the_stack() {
    let server = server();
    let mut client = Client::of(&server);
    let deep = format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(client.error(&deep), 1235);
    check(&mut client, &format!("select {}1{}", "(".repeat(50), ")".repeat(50)), &["1"]);
}

#[test]
fn a_file_keeps_its_tables_from_one_server_to_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { file: Some(directory.path().join("shop.sqlite")), ..Options::default() };
    let create = "create database d; use d; create table t (a bigint unsigned, e enum('x','it''s') default 'x' comment \
        'c', j json, primary key (a)) comment 'kept'; insert into t values (18446744073709551615, 'it''s', '{}')";
    let server = Server::start(options.clone()).unwrap();
    let mut client = Client::of(&server);
    client.query(create).unwrap();
    let before = client.lines("show create table d.t");
    drop(server);
    let server = Server::start(options).unwrap();
    let mut client = Client::of(&server);
    assert_eq!(client.lines("show create table d.t"), before);
    check(&mut client, "select * from d.t", &["18446744073709551615|it's|{}"]);
}

#[test]
fn rows_can_be_put_in_without_a_connection() {
    let server = server();
    let store = server.store().unwrap();
    store
        .execute("create database d; create table d.t (id int auto_increment primary key, c char(5))")
        .unwrap();
    let rows = (0..10_000).map(|n| [format!("{n}")]);
    assert_eq!(store.bulk_insert("d", "t", &["c"], rows).unwrap(), 10_000);
    let mut client = Client::of(&server);
    check(&mut client, "select count(*), max(id), max(c + 0) from d.t", &["10000|10000|9999"]);
    let again = store.bulk_insert("d", "t", &["id"], [[5]]);
    assert_eq!(again.unwrap_err().code().0, 1062);
}
