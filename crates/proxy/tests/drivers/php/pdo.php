<?php
// The scenario of ../README.md with PHP's PDO (pdo_mysql on mysqlnd).

$table = getenv("DB_TABLE");

function connect(string $user): PDO
{
    $options = [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        // Statements of the server's, not ones that PDO fills in itself.
        PDO::ATTR_EMULATE_PREPARES => false,
        PDO::MYSQL_ATTR_COMPRESS => getenv("DB_COMPRESS") === "1",
    ];
    if (getenv("DB_TLS") === "1") {
        // Any TLS option turns it on.
        $options += [PDO::MYSQL_ATTR_SSL_CIPHER => "DEFAULT", PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => false];
    }
    $place = "mysql:host=" . getenv("DB_HOST") . ";port=" . getenv("DB_PORT") . ";dbname=" . getenv("DB_NAME") . ";charset=utf8mb4";
    return new PDO($place, $user, getenv("DB_PASSWORD"), $options);
}

function expect($actual, $wanted): void
{
    if ($actual !== $wanted) {
        throw new Exception("got " . substr(var_export($actual, true), 0, 300) . " instead of " . substr(var_export($wanted, true), 0, 300));
    }
}

function value(string $statement)
{
    global $connection;
    return $connection->query($statement)->fetchColumn();
}

function blob(int $length): string
{
    $data = "";
    for ($i = 0; strlen($data) < $length / 2; $i++) {
        $data .= hash("sha256", (string) $i, true);
    }
    $data = substr($data, 0, intdiv($length, 2));
    return $data . substr(str_repeat("wirepress ", intdiv($length, 20) + 2), 0, $length - strlen($data));
}

function types(): void
{
    global $connection, $table;
    $connection->exec("create table {$table}_types (i int, u bigint unsigned, d decimal(20,6), f double,
        s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int)");
    $binary = implode("", array_map("chr", range(156, 255)));
    $row = [-42, "18446744073709551615", "12345678901234.567891", 0.1, "héllo 密码 🔑", $binary, "2026-11-21 12:34:56.789012", null];
    $connection->prepare("insert into {$table}_types values (?, ?, ?, ?, ?, ?, ?, ?)")->execute($row);
    $statement = $connection->prepare("select i, cast(u as char), cast(d as char), f, s, b, cast(t as char), n from {$table}_types");
    $statement->execute();
    expect($statement->fetch(PDO::FETCH_NUM), $row);
}

function everyType(): void
{
    global $connection, $table;
    $connection->exec("create table {$table}_every (" . getenv("DB_COLUMNS") . ")");
    $connection->exec("insert into {$table}_every values " . getenv("DB_VALUES"));
    $choose = "select * from {$table}_every order by id";
    $text = $connection->query($choose)->fetchAll(PDO::FETCH_NUM);
    $statement = $connection->prepare($choose);
    $statement->execute();
    foreach ([...$text, ...$statement->fetchAll(PDO::FETCH_NUM)] as $row) {
        echo "row ", rawurlencode(var_export($row, true)), "\n";
    }
}

function status(string $name): string
{
    global $connection;
    return $connection->query("show session status like '$name'")->fetch(PDO::FETCH_NUM)[1];
}

function large(int $length): void
{
    global $connection, $table;
    $data = blob($length);
    $connection->exec("create table if not exists {$table}_blobs (id int primary key, v longblob)");
    $statement = $connection->prepare("insert into {$table}_blobs values (?, ?)");
    $statement->execute([$length, $data]);
    expect(value("select sha2(v, 256) from {$table}_blobs where id = $length"), hash("sha256", $data));
    expect(value("select v from {$table}_blobs where id = $length") === $data, true);
}

function prepared(): void
{
    global $connection, $table;
    $connection->exec("create table {$table}_prepared (id int primary key, v varchar(50))");
    $wanted = array_map(fn($i) => [$i, "value $i"], range(0, 199));
    $insert = $connection->prepare("insert into {$table}_prepared values (?, ?)");
    foreach ($wanted as $row) {
        $insert->execute($row);
    }
    $select = $connection->prepare("select id, v from {$table}_prepared where id >= ? order by id");
    foreach ([0, 100] as $low) {
        $select->execute([$low]);
        expect($select->fetchAll(PDO::FETCH_NUM), array_slice($wanted, $low));
    }
}

function transaction(): void
{
    global $connection, $table;
    $connection->exec("create table {$table}_transaction (id int) engine=innodb");
    foreach (["rollBack", "commit"] as $wanted => $end) {
        $connection->beginTransaction();
        $connection->exec("insert into {$table}_transaction values (1)");
        $connection->$end();
        expect((int) value("select count(*) from {$table}_transaction"), $wanted);
    }
}

function error(): void
{
    global $connection, $table;
    try {
        $connection->query("select * from {$table}_nowhere");
        throw new Exception("no error");
    } catch (PDOException $fault) {
        expect($fault->errorInfo[1], 1146);
    }
    expect((int) value("select 1"), 1);
}

function rows600(): void
{
    global $connection, $table;
    $connection->exec("create table {$table}_rows (id int primary key, v char(100))");
    $wanted = array_map(fn($i) => [$i, sprintf("%0100d", $i)], range(0, 599));
    $connection->exec("insert into {$table}_rows values " . implode(",", array_map(fn($row) => "($row[0], '$row[1]')", $wanted)));
    expect($connection->query("select id, v from {$table}_rows order by id")->fetchAll(PDO::FETCH_NUM), $wanted);
}

function stream(): void
{
    global $connection, $table;
    $connection->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
    $count = $ids = $values = 0;
    $found = $connection->query("select a.id * 1000 + b.id, a.v from {$table}_rows a join {$table}_rows b where b.id < 100");
    foreach ($found->getIterator() as $row) {
        expect(strlen($row[1]), 100);
        $count += 1;
        $ids += (int) $row[0];
        $values += (int) $row[1];
    }
    $connection->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, true);
    expect([$count, $ids, $values], [60000, 17972970000, 17970000]);
}

function multi(): void
{
    global $connection;
    // PDO sends several statements only when it fills them in itself.
    $connection->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
    $found = $connection->query("select 1; select repeat('x', 100000); select 3");
    $results = [];
    do {
        $results[] = (string) $found->fetchColumn();
    } while ($found->nextRowset());
    $connection->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
    expect($results, ["1", str_repeat("x", 100000), "3"]);
}

function who(): string
{
    return value("select substring_index(current_user(), '@', 1)");
}

function step(string $name, callable $body, ...$arguments): void
{
    $body(...$arguments);
    echo "ok $name\n";
}

try {
    $connection = connect(getenv("DB_USER"));
    echo "session ", status("compression"), " ", status("ssl_version"), "\n";
    step("types", "types");
    step("every_type", "everyType");
    step("blob_3_mib", "large", 3 << 20);
    step("blob_20_mb", "large", 20000000);
    step("prepared", "prepared");
    step("transaction", "transaction");
    step("error", "error");
    step("rows_600", "rows600");
    step("stream", "stream");
    step("multi", "multi");
    $keeper = $connection;
    $connection = connect(getenv("DB_FRESH_USER"));
    expect(who(), getenv("DB_FRESH_USER"));
    $connection = $keeper;
    echo "ok full_authentication\n";
    echo "no change_user\n";
    $first = (int) value("select connection_id()");
    // PDO has no close.
    $keeper = $connection = null;
    $connection = connect(getenv("DB_USER"));
    expect((int) value("select connection_id()") > $first, true);
    echo "ok reconnect\n";
} catch (Throwable $fault) {
    fwrite(STDERR, "pdo: $fault\n");
    exit(1);
}
