"""PyMySQL: types, parameters, transactions, errors, LOAD DATA LOCAL, streaming. Run by live.rs."""
import datetime
import decimal
import sys
import tempfile

import pymysql

port, password = int(sys.argv[1]), sys.argv[2]
connect = dict(host="127.0.0.1", port=port, user="tester", password=password)
db = pymysql.connect(**connect, local_infile=True, client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
cursor = db.cursor()
cursor.execute("create database py; use py")
while cursor.nextset():
    pass
cursor.execute("create table t (id int auto_increment primary key, n bigint unsigned, d decimal(9,2), f double,"
               " s varchar(50), b blob, dt datetime, da date, j json) ")
row = (2**64 - 1, decimal.Decimal("12.50"), 0.25, "ä'\\\n\0", bytes(range(256)),
       datetime.datetime(2026, 11, 21, 1, 2, 3), datetime.date(2026, 11, 21), '{"a": 1}')
cursor.execute("insert into t (n, d, f, s, b, dt, da, j) values (%s,%s,%s,%s,%s,%s,%s,%s)", row)
assert cursor.lastrowid == 1 and cursor.rowcount == 1
cursor.execute("select n, d, f, s, b, dt, da, j from t")
assert cursor.fetchone() == row, row
cursor.executemany("insert into t (s) values (%s)", [(str(n),) for n in range(1000)])
assert cursor.rowcount == 1000
db.rollback()
cursor.execute("select count(*) from t")
assert cursor.fetchone() == (0,), "not committed, so rolled back"
cursor.executemany("insert into t (s) values (%s)", [(str(n),) for n in range(1000)])
db.commit()
stream = pymysql.cursors.SSCursor(db)
stream.execute("select s from t order by id")
assert sum(int(s) for (s,) in stream) == 499500
stream.close()
try:
    cursor.execute("insert into t (id) values (5000), (5000)")
    raise SystemExit("no error for a duplicate")
except pymysql.IntegrityError as error:
    assert error.args[0] == 1062, error
with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    file.write("head\n" + "".join(f'{n},"a,b"\n' for n in range(9000, 9500)))
    file.flush()
    cursor.execute(f"load data local infile '{file.name}' into table t fields terminated by ',' "
                   "optionally enclosed by '\"' ignore 1 lines (id, s)")
assert cursor.rowcount == 500, cursor.rowcount
big = "x" * (17 << 20)
cursor.execute("select length(%s), %s", (big, big))
assert cursor.fetchone() == (len(big), big)
db.close()
try:
    pymysql.connect(**{**connect, "password": "wrong"})
    raise SystemExit("no error for a wrong password")
except pymysql.OperationalError as error:
    assert error.args[0] == 1045, error
print("ok")
