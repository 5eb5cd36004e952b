"""MySQL Connector/Python (pure): prepared statements, compression, dictionaries, several results. Run by live.rs."""
import datetime
import decimal
import sys

import mysql.connector

port, password = int(sys.argv[1]), sys.argv[2]
for compress in (False, True):
    db = mysql.connector.connect(host="127.0.0.1", port=port, user="tester", password=password, compress=compress,
                                 use_pure=True, ssl_disabled=True)
    cursor = db.cursor()
    cursor.execute("drop database if exists cp")
    cursor.execute("create database cp")
    cursor.execute("use cp")
    cursor.execute("create table t (id int auto_increment primary key, d decimal(20,10), s text, dt datetime, f float)")
    prepared = db.cursor(prepared=True)
    moment = datetime.datetime(2026, 11, 21, 1, 2, 3)
    for n in range(100):
        prepared.execute("insert into t (d, s, dt, f) values (?, ?, ?, ?)", (decimal.Decimal(n) / 8, "é" * n, moment, 1.5))
    db.commit()
    prepared.execute("select id, d, s, dt, f from t where id > ? order by id", (98,))
    rows = prepared.fetchall()
    assert rows == [(99, decimal.Decimal("12.25"), "é" * 98, moment, 1.5),
                    (100, decimal.Decimal("12.375"), "é" * 99, moment, 1.5)], rows
    prepared.close()
    named = db.cursor(dictionary=True)
    named.execute("select count(*) as many, database() as name from t")
    assert named.fetchone() == {"many": 100, "name": "cp"}
    named.execute("show tables")
    assert named.fetchall() == [{"Tables_in_cp": "t"}]
    named.execute("show status like 'Compression'")
    assert named.fetchone()["Value"] == ("ON" if compress else "OFF")
    cursor.execute("select repeat('x', 3000000), 1")
    assert len(cursor.fetchone()[0]) == 3000000
    try:
        cursor.execute("select * from nowhere")
        raise SystemExit("no error")
    except mysql.connector.ProgrammingError as error:
        assert error.errno == 1146, error
    db.cmd_reset_connection()
    db.close()
print("ok")
