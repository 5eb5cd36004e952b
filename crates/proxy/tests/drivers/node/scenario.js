// The scenario of ../README.md with mysql2 and mariadb.
"use strict";

const { createHash } = require("node:crypto");
const { env } = process;
const table = env.DB_TABLE;
const isMysql2 = env.DRIVER === "mysql2";
const driver = isMysql2 ? require("mysql2/promise") : require("mariadb");

function connect(user = env.DB_USER) {
  const settings = {
    host: env.DB_HOST,
    port: Number(env.DB_PORT),
    user,
    password: env.DB_PASSWORD,
    database: env.DB_NAME,
    compress: env.DB_COMPRESS === "1",
    multipleStatements: true,
    connectTimeout: 30000, // One second is too short for a busy machine.
    ...(env.DB_TLS === "1" ? { ssl: { rejectUnauthorized: false } } : {}),
  };
  const own = isMysql2 ? {} : { allowPublicKeyRetrieval: true, maxAllowedPacket: 256 << 20, rowsAsArray: true };
  return driver.createConnection({ ...settings, ...own });
}

// Rows as arrays, from either driver.
async function rows(statement, parameters) {
  if (!isMysql2) return connection.query(statement, parameters);
  const [found] = await connection.query({ sql: statement, rowsAsArray: true }, parameters);
  return found;
}

function expect(actual, wanted) {
  const [a, b] = [actual, wanted].map((value) => JSON.stringify(value, (_, v) => (typeof v === "bigint" ? Number(v) : v)));
  if (a !== b) throw new Error(`got ${String(a).slice(0, 300)} instead of ${String(b).slice(0, 300)}`);
}

function blob(length) {
  const data = Buffer.alloc(length, "wirepress ");
  const half = length / 2;
  for (let i = 0, at = 0; at < half; i += 1, at += 32) createHash("sha256").update(String(i)).digest().copy(data, at);
  // The filling starts anew behind the half.
  Buffer.alloc(length - half, "wirepress ").copy(data, half);
  return data;
}

async function types() {
  await rows(`create table ${table}_types (i int, u bigint unsigned, d decimal(20,6), f double,
    s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int)`);
  const binary = Buffer.from(Array.from({ length: 100 }, (_, i) => 156 + i));
  const row = [-42, "18446744073709551615", "12345678901234.567891", 0.1, "héllo 密码 🔑"];
  const rest = ["2026-11-21 12:34:56.789012", null];
  await connection.execute(`insert into ${table}_types values (?, ?, ?, ?, ?, ?, ?, ?)`, [...row, binary, ...rest]);
  const [found] = await rows(
    `select i, cast(u as char), cast(d as char), f, s, b, cast(t as char), n from ${table}_types`);
  expect(found[5].equals(binary), true);
  found.splice(5, 1);
  expect(found, [...row, ...rest]);
}

async function everyType() {
  await rows(`create table ${table}_every (${env.DB_COLUMNS})`);
  await rows(`insert into ${table}_every values ${env.DB_VALUES}`);
  const sql = `select * from ${table}_every order by id`;
  const print = (found) => {
    const text = (_, v) => (typeof v === "bigint" ? `${v}n` : v);
    for (const row of found) console.log("row", JSON.stringify(row, text));
  };
  print(await rows(sql));
  print(isMysql2 ? (await connection.execute({ sql, rowsAsArray: true }))[0] : await connection.execute(sql));
}

async function session() {
  const status = async (name) => (await rows(`show session status like '${name}'`))[0][1];
  console.log("session", await status("compression"), await status("ssl_version"));
}

async function large(length) {
  const data = blob(length);
  await rows(`create table if not exists ${table}_blobs (id int primary key, v longblob)`);
  await rows(`insert into ${table}_blobs values (?, ?)`, [length, data]);
  const [[hash]] = await rows(`select sha2(v, 256) from ${table}_blobs where id = ?`, [length]);
  expect(hash, createHash("sha256").update(data).digest("hex"));
  const [[found]] = await rows(`select v from ${table}_blobs where id = ?`, [length]);
  expect(found.equals(data), true);
}

async function prepared() {
  await rows(`create table ${table}_prepared (id int primary key, v varchar(50))`);
  const wanted = Array.from({ length: 200 }, (_, i) => [i, `value ${i}`]);
  const insert = `insert into ${table}_prepared values (?, ?)`;
  if (isMysql2) {
    const statement = await connection.prepare(insert);
    for (const row of wanted) await statement.execute(row);
    await statement.close();
  } else {
    await connection.batch(insert, wanted); // Pipelined, or MariaDB's bulk command.
  }
  for (const low of [0, 100]) {
    const sql = `select id, v from ${table}_prepared where id >= ? order by id`;
    const found = isMysql2
      ? (await connection.execute({ sql, rowsAsArray: true }, [low]))[0]
      : await connection.execute(sql, [low]);
    expect(Array.from(found), wanted.slice(low));
  }
}

async function transaction() {
  await rows(`create table ${table}_transaction (id int) engine=innodb`);
  await connection.beginTransaction();
  await rows(`insert into ${table}_transaction values (1)`);
  await connection.rollback();
  expect(Array.from(await rows(`select count(*) from ${table}_transaction`)), [[0]]);
  await connection.beginTransaction();
  await rows(`insert into ${table}_transaction values (2)`);
  await connection.commit();
  expect(Array.from(await rows(`select count(*) from ${table}_transaction`)), [[1]]);
}

async function error() {
  const fault = await rows(`select * from ${table}_nowhere`).then(() => undefined, (fault) => fault);
  expect(fault?.errno, 1146);
  expect(Array.from(await rows("select 1")), [[1]]);
}

async function rows600() {
  await rows(`create table ${table}_rows (id int primary key, v char(100))`);
  const wanted = Array.from({ length: 600 }, (_, i) => [i, String(i).padStart(100, "0")]);
  const values = wanted.map(([id, v]) => `(${id}, '${v}')`).join();
  await rows(`insert into ${table}_rows values ${values}`);
  expect(Array.from(await rows(`select id, v from ${table}_rows order by id`)), wanted);
}

async function stream() {
  const sql = `select a.id * 1000 + b.id, a.v from ${table}_rows a join ${table}_rows b where b.id < 100`;
  const source = isMysql2
    ? connection.connection.query({ sql, rowsAsArray: true }).stream()
    : connection.queryStream(sql);
  let [count, ids, values] = [0, 0, 0];
  for await (const [id, v] of source) {
    if (v.length !== 100) throw new Error(`a value of ${v.length} characters`);
    count += 1;
    ids += Number(id);
    values += Number(v);
  }
  expect([count, ids, values], [60000, 17972970000, 17970000]);
}

async function multi() {
  const results = await rows("select 1; select repeat('x', 100000); select 3");
  expect(results.map((result) => result[0][0]), [1, "x".repeat(100000), 3]);
}

const who = async () => (await rows("select substring_index(current_user(), '@', 1)"))[0][0];

async function step(name, body, ...parameters) {
  await body(...parameters);
  console.log("ok", name);
}

let connection;
async function main() {
  connection = await connect();
  await session();
  await step("types", types);
  await step("every_type", everyType);
  await step("blob_3_mib", large, 3 << 20);
  await step("blob_20_mb", large, 20000000);
  await step("prepared", prepared);
  await step("transaction", transaction);
  await step("error", error);
  await step("rows_600", rows600);
  await step("stream", stream);
  await step("multi", multi);
  const keeper = connection;
  connection = await connect(env.DB_FRESH_USER);
  expect(await who(), env.DB_FRESH_USER);
  await connection.end();
  console.log("ok full_authentication");
  connection = keeper;
  const [[firstId]] = await rows("select connection_id()");
  try {
    await connection.changeUser({ user: env.DB_SECOND_USER, password: env.DB_PASSWORD, database: env.DB_NAME });
    expect(await who(), env.DB_SECOND_USER);
    console.log("ok change_user");
  } catch (fault) {
    // MariaDB's driver doesn't do it on MySQL.
    if (fault.code !== "ER_MYSQL_CHANGE_USER_BUG") throw fault;
    console.log("no change_user");
  }
  await connection.end();
  connection = await connect();
  const [[secondId]] = await rows("select connection_id()");
  expect(secondId > firstId, true);
  await connection.end();
  console.log("ok reconnect");
}

main().catch((fault) => {
  console.error(env.DRIVER, fault);
  process.exit(1);
});
