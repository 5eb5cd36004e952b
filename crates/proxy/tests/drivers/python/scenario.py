"""The scenario of ../README.md with Connector/Python (pure and C), PyMySQL and mysqlclient."""

import os

if os.environ["DRIVER"] == "mysql-connector-c":
    # First: it needs the newer OpenSSL of its wheel, not the one that Python's own modules would load.
    import _mysql_connector  # noqa: F401

import decimal
import hashlib

DRIVER = os.environ["DRIVER"]
COMPRESS = os.environ["DB_COMPRESS"] == "1"
TLS = os.environ["DB_TLS"] == "1"
TABLE = os.environ["DB_TABLE"]
IS_CONNECTOR = DRIVER.startswith("mysql-connector")

if IS_CONNECTOR:
    import mysql.connector as driver
elif DRIVER == "mysqlclient":
    import MySQLdb as driver
    import MySQLdb.constants.CLIENT
    import MySQLdb.cursors
else:
    import ssl

    import pymysql as driver
    import pymysql.cursors


def connect(user=os.environ["DB_USER"]):
    settings = {
        "host": os.environ["DB_HOST"],
        "port": int(os.environ["DB_PORT"]),
        "user": user,
        "password": os.environ["DB_PASSWORD"],
        "database": os.environ["DB_NAME"],
        "charset": "utf8mb4",
    }
    if IS_CONNECTOR:
        # MariaDB doesn't know the default, utf8mb4_0900_ai_ci.
        settings.update(collation="utf8mb4_general_ci", use_pure=DRIVER.endswith("pure"), compress=COMPRESS)
        settings.update(ssl_disabled=not TLS)
    elif DRIVER == "mysqlclient":
        settings.update(client_flag=MySQLdb.constants.CLIENT.MULTI_STATEMENTS)
        if COMPRESS:
            # Given at all, even as False, it turns compression on.
            settings.update(compress=True)
        if TLS:
            # Any of these turns it on; the certificate is not checked.
            settings.update(ssl={"cipher": "DEFAULT"})
    else:
        settings.update(client_flag=driver.constants.CLIENT.MULTI_STATEMENTS)
        if TLS:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            settings.update(ssl=context)
        else:
            settings.update(ssl_disabled=True)
    return driver.connect(**settings)


def execute(statement, parameters=None):
    cursor = connection.cursor()
    cursor.execute(statement, parameters)
    rows = cursor.fetchall() if cursor.description else None
    cursor.close()
    return rows


def expect(actual, wanted):
    if actual != wanted:
        raise SystemExit(f"{DRIVER}: got {str(actual)[:300]!r} instead of {str(wanted)[:300]!r}")


def blob(length):
    hashes = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(length // 64 + 1))
    half = hashes[: length // 2]
    return half + (b"wirepress " * (length // 20 + 2))[: length - len(half)]


def types():
    execute(
        f"create table {TABLE}_types (i int, u bigint unsigned, d decimal(20,6), f double,"
        " s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int)"
    )
    binary = bytes(range(156, 256))
    number, text = decimal.Decimal("12345678901234.567891"), "héllo 密码 🔑"
    execute(
        f"insert into {TABLE}_types values (%s, %s, %s, %s, %s, %s, %s, %s)",
        (-42, 2**64 - 1, number, 0.1, text, binary, "2026-11-21 12:34:56.789012", None),
    )
    connection.commit()
    rows = execute(f"select i, u, d, f, s, b, cast(t as char), n from {TABLE}_types")
    expect([tuple(rows[0])], [(-42, 2**64 - 1, number, 0.1, text, binary, "2026-11-21 12:34:56.789012", None)])


def plain(value):
    return sorted(value) if isinstance(value, (set, frozenset)) else value


def every_type():
    execute(f"create table {TABLE}_every ({os.environ['DB_COLUMNS']})")
    execute(f"insert into {TABLE}_every values {os.environ['DB_VALUES']}")
    connection.commit()
    # The pure one cannot read such a row of a prepared statement.
    for prepared in (False, True) if DRIVER == "mysql-connector-c" else (False,):
        cursor = connection.cursor(prepared=True) if prepared else connection.cursor()
        cursor.execute(f"select * from {TABLE}_every order by id")
        for row in cursor.fetchall():
            print("row", ascii([plain(value) for value in row]))
        cursor.close()


def session():
    status = [execute(f"show session status like '{name}'")[0][1] for name in ("compression", "ssl_version")]
    print("session", *status, flush=True)


def large(length):
    data = blob(length)
    execute(f"create table if not exists {TABLE}_blobs (id int primary key, v longblob)")
    execute(f"insert into {TABLE}_blobs values (%s, %s)", (length, data))
    connection.commit()
    rows = execute(f"select sha2(v, 256) from {TABLE}_blobs where id = %s", (length,))
    expect(rows[0][0], hashlib.sha256(data).hexdigest())
    rows = execute(f"select v from {TABLE}_blobs where id = %s", (length,))
    expect(bytes(rows[0][0]) == data, True)


def prepared():
    execute(f"create table {TABLE}_prepared (id int primary key, v varchar(50))")
    wanted = [(i, f"value {i}") for i in range(200)]
    cursor = connection.cursor(prepared=True)
    cursor.executemany(f"insert into {TABLE}_prepared values (%s, %s)", wanted)
    cursor.close()
    connection.commit()
    cursor = connection.cursor(prepared=True)
    for low in (0, 100):
        cursor.execute(f"select id, v from {TABLE}_prepared where id >= %s order by id", (low,))
        expect([tuple(row) for row in cursor.fetchall()], wanted[low:])
    cursor.close()


def transaction():
    execute(f"create table {TABLE}_transaction (id int) engine=innodb")
    connection.start_transaction() if IS_CONNECTOR else connection.begin()
    execute(f"insert into {TABLE}_transaction values (1)")
    connection.rollback()
    expect(execute(f"select count(*) from {TABLE}_transaction")[0][0], 0)
    connection.commit()
    execute(f"insert into {TABLE}_transaction values (2)")
    connection.commit()
    expect(execute(f"select count(*) from {TABLE}_transaction")[0][0], 1)


def error():
    try:
        execute(f"select * from {TABLE}_nowhere")
        raise SystemExit(f"{DRIVER}: no error")
    except driver.Error as fault:
        expect(fault.args[0], 1146)
    expect(execute("select 1")[0][0], 1)


def rows_600():
    execute(f"create table {TABLE}_rows (id int primary key, v char(100))")
    wanted = [(i, f"{i:0100}") for i in range(600)]
    connection.cursor().executemany(f"insert into {TABLE}_rows values (%s, %s)", wanted)
    connection.commit()
    rows = execute(f"select id, v from {TABLE}_rows order by id")
    expect([tuple(row) for row in rows], wanted)


def stream():
    cursor = connection.cursor() if IS_CONNECTOR else connection.cursor(driver.cursors.SSCursor)
    cursor.execute(f"select a.id * 1000 + b.id, a.v from {TABLE}_rows a join {TABLE}_rows b where b.id < 100")
    count = ids = values = 0
    for id, v in cursor:
        expect(len(v), 100)
        count, ids, values = count + 1, ids + id, values + int(v)
    cursor.close()
    expect((count, ids, values), (60_000, 17_972_970_000, 17_970_000))


def multi():
    cursor = connection.cursor()
    results = []
    statements = "select 1; select repeat('x', 100000); select 3"
    cursor.execute(statements)
    results.append(cursor.fetchall()[0][0])
    while cursor.nextset():
        if cursor.description:
            results.append(cursor.fetchall()[0][0])
    cursor.close()
    expect(results, [1, "x" * 100000, 3])


def who():
    return execute("select substring_index(current_user(), '@', 1)")[0][0]


def step(name, body, *arguments):
    body(*arguments)
    print("ok", name, flush=True)


connection = connect()
session()
step("types", types)
step("every_type", every_type)
step("blob_3_mib", large, 3 << 20)
step("blob_20_mb", large, 20_000_000)
if IS_CONNECTOR:
    step("prepared", prepared)
else:
    print("no prepared", flush=True)
step("transaction", transaction)
step("error", error)
step("rows_600", rows_600)
step("stream", stream)
step("multi", multi)

first_id = execute("select connection_id()")[0][0]
keeper = connection
try:
    connection = connect(os.environ["DB_FRESH_USER"])
    expect(who(), os.environ["DB_FRESH_USER"])
    connection.close()
    print("ok full_authentication", flush=True)
except driver.Error as fault:
    # Directly, without TLS: not all can ask MySQL for its RSA key.
    print("no full_authentication", str(fault).replace("\n", " "), flush=True)
connection = keeper

# Connector/Python's pure mode refuses to change the user of a compressed connection; PyMySQL can't at all.
if DRIVER in ("mysql-connector-c", "mysqlclient"):
    change = connection.cmd_change_user if IS_CONNECTOR else connection.change_user
    change(os.environ["DB_SECOND_USER"], os.environ["DB_PASSWORD"], os.environ["DB_NAME"])
    expect(who(), os.environ["DB_SECOND_USER"])
    print("ok change_user", flush=True)
else:
    print("no change_user", flush=True)

connection.close()
connection = connect()
expect(execute("select connection_id()")[0][0] > first_id, True)
connection.close()
print("ok reconnect", flush=True)
