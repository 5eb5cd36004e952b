// node mysql2: text and prepared statements, types, a pool, compression. Run by live.rs.
const [port, password, modules] = process.argv.slice(2);
const mysql = require(`${modules}/mysql2/promise`);
const assert = require('assert');
(async () => {
  for (const compress of [false, true]) {
    const pool = mysql.createPool({ host: '127.0.0.1', port: +port, user: 'tester', password, compress, multipleStatements: true });
    await pool.query('drop database if exists js; create database js');
    await pool.query('create table js.t (id int auto_increment primary key, n bigint, s varchar(99), d datetime, b blob)');
    const date = new Date(2026, 10, 21, 1, 2, 3);
    const [inserted] = await pool.execute('insert into js.t (n, s, d, b) values (?, ?, ?, ?)', [7, 'ä', date, Buffer.from([0, 255])]);
    assert.strictEqual(inserted.insertId, 1);
    for (const rows of [(await pool.query('select * from js.t'))[0], (await pool.execute('select * from js.t where id = ?', [1]))[0]]) {
      assert.deepStrictEqual({ ...rows[0] }, { id: 1, n: 7, s: 'ä', d: date, b: Buffer.from([0, 255]) });
    }
    const counts = await Promise.all([...Array(50).keys()].map((n) => pool.execute('insert into js.t (n) values (?)', [n])));
    assert.strictEqual(new Set(counts.map(([ok]) => ok.insertId)).size, 50);
    const [[{ total }]] = await pool.query('select count(*) total from js.t');
    assert.strictEqual(total, 51);
    await assert.rejects(pool.query('select * from js.nowhere'), { errno: 1146 });
    await pool.end();
  }
  console.log('ok');
})().catch((error) => { console.error(error); process.exit(1); });
