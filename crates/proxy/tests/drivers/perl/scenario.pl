# The scenario of ../README.md with DBD::mysql and DBD::MariaDB.
use strict;
use warnings;
use utf8;
use DBI;
use Digest::SHA qw(sha256 sha256_hex);

$| = 1;
my $driver = $ENV{DRIVER};
my $is_mariadb = $driver eq "dbd-mariadb";
my $table = $ENV{DB_TABLE};
my $prefix = $is_mariadb ? "mariadb" : "mysql";

sub connect_as {
    my ($user) = @_;
    my $place = $is_mariadb ? "DBI:MariaDB:" : "DBI:mysql:";
    $place .= "database=$ENV{DB_NAME};host=$ENV{DB_HOST};port=$ENV{DB_PORT};${prefix}_multi_statements=1";
    $place .= ";${prefix}_compression=1" if $ENV{DB_COMPRESS};
    # DBD::mysql cannot insist on TLS with MariaDB's library.
    $place .= ";${prefix}_ssl=1;${prefix}_ssl_optional=1" if $ENV{DB_TLS};
    my %options = (RaiseError => 1, PrintError => 0, AutoCommit => 1, "${prefix}_server_prepare" => 1);
    $options{mysql_enable_utf8mb4} = 1 unless $is_mariadb;
    return DBI->connect($place, $user, $ENV{DB_PASSWORD}, \%options);
}

my $connection;

sub expect {
    my ($actual, $wanted) = map { defined $_ ? $_ : "undef" } @_;
    die "$driver: got " . substr($actual, 0, 300) . " instead of " . substr($wanted, 0, 300) . "\n" if $actual ne $wanted;
}

# Text protocol: no statement of the server's.
sub run { my ($sql) = @_; $connection->do($sql, { "${prefix}_server_prepare" => 0 }); }
sub rows { my ($sql) = @_; return $connection->selectall_arrayref($sql, { "${prefix}_server_prepare" => 0 }); }
sub value { return rows(@_)->[0][0]; }

sub blob {
    my ($length) = @_;
    my $half = int($length / 2);
    my $data = join "", map { sha256($_) } 0 .. $half / 32;
    $data = substr($data, 0, $half);
    return $data . substr("wirepress " x ($length / 20 + 2), 0, $length - $half);
}

sub types {
    run("create table ${table}_types (i int, u bigint unsigned, d decimal(20,6), f double,
        s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int)");
    my $binary = join "", map { chr } 156 .. 255;
    my @row = (-42, "18446744073709551615", "12345678901234.567891", 0.1, "héllo 密码 🔑", $binary, "2026-11-21 12:34:56.789012", undef);
    my $insert = $connection->prepare("insert into ${table}_types values (?, ?, ?, ?, ?, ?, ?, ?)");
    $insert->bind_param($_ + 1, $row[$_], $_ == 5 ? DBI::SQL_VARBINARY() : DBI::SQL_VARCHAR()) for 0 .. $#row;
    $insert->execute;
    my $choose = $connection->prepare("select i, cast(u as char), cast(d as char), f, s, b, cast(t as char), n from ${table}_types");
    $choose->execute;
    my @found = $choose->fetchrow_array;
    expect($found[$_], $row[$_]) for 0 .. $#row;
}

sub every_type {
    run("create table ${table}_every ($ENV{DB_COLUMNS})");
    my $values = $ENV{DB_VALUES};
    utf8::decode($values);
    run("insert into ${table}_every values $values");
    my $sql = "select * from ${table}_every order by id";
    my $statement = $connection->prepare($sql);
    $statement->execute;
    for my $row (@{ rows($sql) }, @{ $statement->fetchall_arrayref }) {
        my @texts = map { my $text = defined $_ ? $_ : "undef"; utf8::encode($text) if utf8::is_utf8($text); unpack "H*", $text } @$row;
        print "row @texts\n";
    }
}

sub large {
    my ($length) = @_;
    my $data = blob($length);
    run("create table if not exists ${table}_blobs (id int primary key, v longblob)");
    my $insert = $connection->prepare("insert into ${table}_blobs values (?, ?)");
    $insert->bind_param(1, $length, DBI::SQL_INTEGER());
    $insert->bind_param(2, $data, DBI::SQL_BLOB());
    $insert->execute;
    expect(value("select sha2(v, 256) from ${table}_blobs where id = $length"), sha256_hex($data));
    expect(sha256_hex(value("select v from ${table}_blobs where id = $length")), sha256_hex($data));
}

sub prepared {
    run("create table ${table}_prepared (id int primary key, v varchar(50))");
    my $insert = $connection->prepare("insert into ${table}_prepared values (?, ?)");
    $insert->execute($_, "value $_") for 0 .. 199;
    my $choose = $connection->prepare("select id, v from ${table}_prepared where id >= ? order by id");
    for my $low (0, 100) {
        $choose->execute($low);
        my $found = join ";", map { "@$_" } @{ $choose->fetchall_arrayref };
        expect($found, join ";", map { "$_ value $_" } $low .. 199);
    }
}

sub transaction {
    run("create table ${table}_transaction (id int) engine=innodb");
    my $wanted = 0;
    for my $end ("rollback", "commit") {
        $connection->begin_work;
        run("insert into ${table}_transaction values (1)");
        $connection->$end;
        expect(value("select count(*) from ${table}_transaction"), $wanted++);
    }
}

sub error {
    eval { run("select * from ${table}_nowhere"); 1 } and die "$driver: no error\n";
    expect($connection->err, 1146);
    expect(value("select 1"), 1);
}

sub rows_600 {
    run("create table ${table}_rows (id int primary key, v char(100))");
    my @wanted = map { [$_, sprintf "%0100d", $_] } 0 .. 599;
    run("insert into ${table}_rows values " . join ",", map { "($_->[0], '$_->[1]')" } @wanted);
    my $found = rows("select id, v from ${table}_rows order by id");
    expect(join(";", map { "@$_" } @$found), join(";", map { "@$_" } @wanted));
}

sub stream {
    my $sql = "select a.id * 1000 + b.id, a.v from ${table}_rows a join ${table}_rows b where b.id < 100";
    my $statement = $connection->prepare($sql, { mysql_use_result => 1, mysql_server_prepare => 0 });
    $statement->execute;
    my ($count, $ids, $values) = (0, 0, 0);
    while (my ($id, $v) = $statement->fetchrow_array) {
        expect(length $v, 100);
        $count++;
        $ids += $id;
        $values += $v;
    }
    expect("$count $ids $values", "60000 17972970000 17970000");
}

sub multi {
    my $statement = $connection->prepare("select 1; select repeat('x', 100000); select 3", { "${prefix}_server_prepare" => 0 });
    $statement->execute;
    my @results;
    do { push @results, $statement->fetchrow_array } while $statement->more_results;
    expect("@results", "1 " . "x" x 100000 . " 3");
}

sub who { return value("select substring_index(current_user(), '\@', 1)"); }

sub step {
    my ($name, $body, @arguments) = @_;
    $body->(@arguments);
    print "ok $name\n";
}

binmode STDOUT, ":utf8";
$connection = connect_as($ENV{DB_USER});
print "session ", join(" ", map { rows("show session status like '$_'")->[0][1] } "compression", "ssl_version"), "\n";
step("types", \&types);
step("every_type", \&every_type);
step("blob_3_mib", \&large, 3 << 20);
step("blob_20_mb", \&large, 20_000_000);
step("prepared", \&prepared);
step("transaction", \&transaction);
step("error", \&error);
step("rows_600", \&rows_600);
if ($is_mariadb) {
    # With mariadb_use_result it finds no row.
    print "no stream\n";
} else {
    step("stream", \&stream);
}
step("multi", \&multi);
my $keeper = $connection;
if ($connection = eval { connect_as($ENV{DB_FRESH_USER}) }) {
    expect(who(), $ENV{DB_FRESH_USER});
    $connection->disconnect;
    print "ok full_authentication\n";
} else {
    my $reason = $@;
    $reason =~ s/\s+/ /g;
    print "no full_authentication $reason\n";
}
$connection = $keeper;
print "no change_user\n";
my $first = value("select connection_id()");
$connection->disconnect;
$connection = connect_as($ENV{DB_USER});
expect(value("select connection_id()") > $first ? 1 : 0, 1);
$connection->disconnect;
print "ok reconnect\n";
