"""The scenario of ../README.md with MariaDB's Connector/ODBC, run by pyodbc."""

import decimal
import hashlib
import os

import pyodbc

TABLE = os.environ["DB_TABLE"]
COMPRESSED, MULTI_STATEMENTS = 2048, 67108864
# Results row by row.
FORWARD_ONLY, NO_CACHE = 2097152, 1048576
pyodbc.pooling = False


def connect(user=os.environ["DB_USER"]):
    options = MULTI_STATEMENTS | FORWARD_ONLY | NO_CACHE | (COMPRESSED if os.environ["DB_COMPRESS"] == "1" else 0)
    settings = {
        "DRIVER": os.environ["ODBC_LIBRARY"],
        "SERVER": os.environ["DB_HOST"],
        "PORT": os.environ["DB_PORT"],
        "UID": user,
        "PWD": os.environ["DB_PASSWORD"],
        "DATABASE": os.environ["DB_NAME"],
        "CHARSET": "utf8mb4",
        "OPTION": options,
        "FORCETLS": os.environ["DB_TLS"],
    }
    return pyodbc.connect(";".join(f"{name}={value}" for name, value in settings.items()), autocommit=True)


def execute(statement, *parameters):
    cursor = connection.cursor()
    cursor.execute(statement, *parameters)
    rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else None
    cursor.close()
    return rows


def expect(actual, wanted):
    if actual != wanted:
        raise SystemExit(f"odbc-mariadb: got {str(actual)[:300]!r} instead of {str(wanted)[:300]!r}")


def blob(length):
    hashes = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(length // 64 + 1))
    half = hashes[: length // 2]
    return half + (b"wirepress " * (length // 20 + 2))[: length - len(half)]


def types():
    execute(
        f"create table {TABLE}_types (i int, u bigint unsigned, d decimal(20,6), f double,"
        " s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int)"
    )
    row = (-42, str(2**64 - 1), decimal.Decimal("12345678901234.567891"), 0.1, "héllo 密码 🔑", bytes(range(156, 256)))
    row += ("2026-11-21 12:34:56.789012", None)
    execute(f"insert into {TABLE}_types values (?, ?, ?, ?, ?, ?, ?, ?)", row)
    expect(execute(f"select i, cast(u as char), d, f, s, b, cast(t as char), n from {TABLE}_types"), [row])


def every_type():
    execute(f"create table {TABLE}_every ({os.environ['DB_COLUMNS']})")
    execute(f"insert into {TABLE}_every values {os.environ['DB_VALUES']}")
    # MySQL's JSON has no type of ODBC's.
    columns = ["id", *(f"c{i}" for i in range(1, 32)), "cast(c32 as char)", "c33"]
    choose = f"select {', '.join(columns)} from {TABLE}_every"
    for statement, *parameters in ((f"{choose} order by id",), (f"{choose} where id > ? order by id", 0)):
        for row in execute(statement, *parameters):
            print("row", ascii(row))


def large(length):
    data = blob(length)
    execute(f"create table if not exists {TABLE}_blobs (id int primary key, v longblob)")
    execute(f"insert into {TABLE}_blobs values (?, ?)", length, data)
    expect(execute(f"select sha2(v, 256) from {TABLE}_blobs where id = ?", length)[0][0], hashlib.sha256(data).hexdigest())
    expect(execute(f"select v from {TABLE}_blobs where id = {length}")[0][0] == data, True)


def prepared():
    execute(f"create table {TABLE}_prepared (id int primary key, v varchar(50))")
    wanted = [(i, f"value {i}") for i in range(200)]
    connection.cursor().executemany(f"insert into {TABLE}_prepared values (?, ?)", wanted)
    for low in (0, 100):
        expect(execute(f"select id, v from {TABLE}_prepared where id >= ? order by id", low), wanted[low:])


def transaction():
    execute(f"create table {TABLE}_transaction (id int) engine=innodb")
    connection.autocommit = False
    for wanted, end in enumerate((connection.rollback, connection.commit)):
        execute(f"insert into {TABLE}_transaction values (1)")
        end()
        expect(execute(f"select count(*) from {TABLE}_transaction")[0][0], wanted)
        connection.commit()
    connection.autocommit = True


def error():
    try:
        execute(f"select * from {TABLE}_nowhere")
        raise SystemExit("odbc-mariadb: no error")
    except pyodbc.Error as fault:
        expect("(1146)" in str(fault), True)
    expect(execute("select 1")[0][0], 1)


def rows_600():
    execute(f"create table {TABLE}_rows (id int primary key, v char(100))")
    wanted = [(i, f"{i:0100}") for i in range(600)]
    execute(f"insert into {TABLE}_rows values " + ",".join(f"({i}, '{v}')" for i, v in wanted))
    expect(execute(f"select id, v from {TABLE}_rows order by id"), wanted)


def stream():
    count = ids = values = 0
    cursor = connection.cursor()
    cursor.execute(f"select a.id * 1000 + b.id, a.v from {TABLE}_rows a join {TABLE}_rows b where b.id < 100")
    for id, v in cursor:
        expect(len(v), 100)
        count, ids, values = count + 1, ids + id, values + int(v)
    cursor.close()
    expect((count, ids, values), (60_000, 17_972_970_000, 17_970_000))


def multi():
    cursor = connection.cursor()
    cursor.execute("select 1; select repeat('x', 100000); select 3")
    results = [cursor.fetchall()[0][0]]
    while cursor.nextset():
        results.append(cursor.fetchall()[0][0])
    cursor.close()
    expect(results, [1, "x" * 100000, 3])


def step(name, body, *arguments):
    body(*arguments)
    print("ok", name, flush=True)


connection = connect()
status = [execute(f"show session status like '{name}'")[0][1] for name in ("compression", "ssl_version")]
print("session", *status, flush=True)
step("types", types)
step("every_type", every_type)
step("blob_3_mib", large, 3 << 20)
step("blob_20_mb", large, 20_000_000)
step("prepared", prepared)
step("transaction", transaction)
step("error", error)
step("rows_600", rows_600)
step("stream", stream)
step("multi", multi)
first_id = execute("select connection_id()")[0][0]
keeper = connection
try:
    connection = connect(os.environ["DB_FRESH_USER"])
    expect(execute("select substring_index(current_user(), '@', 1)")[0][0], os.environ["DB_FRESH_USER"])
    connection.close()
    print("ok full_authentication", flush=True)
except pyodbc.Error as fault:
    print("no full_authentication", str(fault).replace("\n", " "), flush=True)
connection = keeper
print("no change_user", flush=True)
connection.close()
connection = connect()
expect(execute("select connection_id()")[0][0] > first_id, True)
connection.close()
print("ok reconnect", flush=True)
