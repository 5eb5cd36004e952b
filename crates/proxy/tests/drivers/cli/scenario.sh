#!/usr/bin/env bash
# The scenario of ../README.md with the command lines mysql and mariadb: each step is statements on standard input.
set -euo pipefail
export LC_ALL=C.UTF-8
table=$DB_TABLE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

options=(--protocol=tcp "--host=$DB_HOST" "--port=$DB_PORT" --batch --skip-column-names --unbuffered
    --max-allowed-packet=256M --default-character-set=utf8mb4)
case $DRIVER in
    mariadb-cli)
        [[ $DB_COMPRESS == 0 ]] || options+=(--compress)
        if [[ $DB_TLS == 1 ]]; then options+=(--ssl); else options+=(--skip-ssl); fi
        ;;
    *)
        algorithm=zlib
        [[ $DRIVER != mysql-cli-zstd ]] || algorithm=zstd
        [[ $DB_COMPRESS == 1 ]] || algorithm=uncompressed
        options+=("--compression-algorithms=$algorithm" --get-server-public-key)
        if [[ $DB_TLS == 1 ]]; then options+=(--ssl-mode=REQUIRED); else options+=(--ssl-mode=DISABLED); fi
        ;;
esac

# run OPTION...: statements are on standard input. Without the warning about a password for all to see.
run() { run_as "$DB_USER" "$@"; }
run_as() {
    local user=$1
    shift
    MYSQL_PWD=$DB_PASSWORD "$PROGRAM" "${options[@]}" "--user=$user" "$@" "$DB_NAME"
}

expect() {
    [[ $1 == "$2" ]] || { printf '%s: got %.300s instead of %.300s\n' "$DRIVER" "$1" "$2" >&2; exit 1; }
}

status() { run <<<"show session status like '$1'" | cut -f 2; }
printf 'session %s %s\n' "$(status compression)" "$(status ssl_version)"

# Binary values go in as hex, as mysqldump writes them.
wanted=$(printf -- "-42\t18446744073709551615\t12345678901234.567891\t0.1\théllo 密码 🔑\tFFFE00\t2026-11-21 12:34:56.789012\tNULL")
expect "$(run <<SQL
create table ${table}_types (i int, u bigint unsigned, d decimal(20,6), f double,
    s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int);
insert into ${table}_types values (-42, 18446744073709551615, 12345678901234.567891, 0.1, 'héllo 密码 🔑', x'fffe00',
    '2026-11-21 12:34:56.789012', null);
select i, u, d, f, s, hex(b), t, n from ${table}_types;
SQL
)" "$wanted"
echo 'ok types'

run --raw <<SQL | od -An -v -tx1 | tr -d ' \n' | sed 's/^/row /; s/$/\n/'
create table ${table}_every ($DB_COLUMNS);
insert into ${table}_every values $DB_VALUES;
select * from ${table}_every order by id;
SQL
echo 'ok every_type'

# Goes in as text and comes back raw.
blob() {
    local length=$1 half=$(($1 / 2)) name=$work/$1
    # Numbers packed by gzip instead of hashes, which would take a process each. Pipes end early on purpose.
    { seq 1 "$half" | gzip -1 -n | head -c "$half"; } >"$name" || true
    yes 'wirepress ' | tr -d '\n' | head -c "$((length - half))" >>"$name" || true
    {
        printf "create table if not exists %s_blobs (id int primary key, v longblob);\ninsert into %s_blobs values (%d, from_base64('" "$table" "$table" "$length"
        base64 -w 0 "$name"
        printf "'));\n"
    } | run
    expect "$(run <<<"select sha2(v, 256) from ${table}_blobs where id = $length")" "$(sha256sum <"$name" | cut -c 1-64)"
    # What comes back is the value and the line's end.
    run --raw --quick <<<"select v from ${table}_blobs where id = $length" >"$name.back"
    echo >>"$name"
    cmp "$name.back" "$name" >&2
}
blob $((3 << 20))
echo 'ok blob_3_mib'
blob 20000000
echo 'ok blob_20_mb'
# It prepares only by statements of text.
echo 'no prepared'

expect "$(run <<SQL | tr '\n' ' '
create table ${table}_transaction (id int) engine=innodb;
start transaction; insert into ${table}_transaction values (1); rollback;
select count(*) from ${table}_transaction;
start transaction; insert into ${table}_transaction values (1); commit;
select count(*) from ${table}_transaction;
SQL
)" '0 1 '
echo 'ok transaction'

expect "$(run --force <<<"select * from ${table}_nowhere; select 1;" 2>&1 | grep -oE '^(ERROR 1146|1$)' | tr '\n' ' ')" 'ERROR 1146 1 '
echo 'ok error'

rows=$(seq -f '%.0f' 0 599 | awk '{ printf "%d\t%0100d\n", $1, $1 }')
{
    printf 'create table %s_rows (id int primary key, v char(100));\ninsert into %s_rows values ' "$table" "$table"
    awk '{ printf "%s(%s, '\''%s'\'')", (NR > 1 ? "," : ""), $1, $2 }' <<<"$rows"
    printf ';\n'
} | run
expect "$(run <<<"select id, v from ${table}_rows order by id")" "$rows"
echo 'ok rows_600'

expect "$(run --quick <<<"select a.id * 1000 + b.id, a.v from ${table}_rows a join ${table}_rows b where b.id < 100" |
    awk 'length($2) == 100 { count++; ids += $1; values += $2 } END { printf "%d %.0f %.0f", count, ids, values }')" '60000 17972970000 17970000'
echo 'ok stream'

# With its own delimiter three statements are one query.
expect "$(run --delimiter='//' <<<"select 1; select repeat('x', 100000); select 3//" | md5sum)" \
    "$({ echo 1; head -c 100000 /dev/zero | tr '\0' x; echo; echo 3; } | md5sum)"
echo 'ok multi'

if said=$(run_as "$DB_FRESH_USER" <<<"select substring_index(current_user(), '@', 1)" 2>&1); then
    expect "$said" "$DB_FRESH_USER"
    echo 'ok full_authentication'
else
    echo "no full_authentication ${said//$'\n'/ }"
fi
echo 'no change_user'

first=$(run <<<'select connection_id()')
expect "$(($(run <<<'select connection_id()') > first))" 1
echo 'ok reconnect'
