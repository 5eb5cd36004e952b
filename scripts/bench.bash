# What the bench scripts share: a private real MySQL, paths to it, and figures with their spread. Sourced, not run.
#
#   $bin, $wirepress   the fetched programs, the release binary or $WIREPRESS
#   $work              a folder that is gone in the end, with a log for each process
#   $direct            the server's port; $mysqld_pid; "${login[@]}" for MySQL's own clients
#
# Not here: what is measured.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

bench=$(basename -- "$0")
bin=${WIREPRESS_CACHE:-.cache}/servers/bin
[[ -x $bin/mysqld ]] || bin=$PWD/.cache/servers/bin
wirepress=${WIREPRESS:-${CARGO_TARGET_DIR:-target}/release/wirepress}
fail() { printf '%s: %s\n' "$bench" "$*" >&2; exit 1; }
for program in "$bin/mysqld" "$bin/mysql" "$bin/sysbench" "$wirepress"; do
    [[ -x $program ]] || fail "$program is missing; run make build servers"
done

work=$(mktemp -d)
pids=()
finish() {
    kill "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf -- "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

free_port() { # a port that nobody listens on
    local port
    while :; do
        port=$((20000 + RANDOM % 12000)) # below the ports of connections that are opened
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}
await_port() { # port, what
    for _ in {1..300}; do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
        sleep 0.1
    done
    fail "$2 did not start; $(tail -n 3 "$work/$2.log" 2>/dev/null)"
}

# start_mysqld [ARGUMENT...]: an empty server, on TCP and on $work/sock.
start_mysqld() {
    local -a as_root=()
    ((EUID == 0)) && as_root=(--user=root)
    direct=$(free_port)
    "$bin/mysqld" --no-defaults --initialize-insecure "${as_root[@]}" --datadir="$work/data" >"$work/init.log" 2>&1 ||
        fail "mysqld can't make its data directory; $(tail -n 3 "$work/init.log")"
    "$bin/mysqld" --no-defaults "${as_root[@]}" --datadir="$work/data" --socket="$work/sock" --port="$direct" \
        --bind-address=127.0.0.1 --mysqlx=OFF --skip-log-bin --innodb-flush-log-at-trx-commit=0 \
        --innodb-buffer-pool-size=512M "$@" >"$work/mysqld.log" 2>&1 &
    pids+=($!) mysqld_pid=$!
    await_port "$direct" mysqld
    # Without TLS unless a script asks for it: TLS would be measured besides.
    login=(--user=root --host=127.0.0.1 --ssl-mode=DISABLED --get-server-public-key)
}

# start_haproxy: TCP mode in front of that server; $haproxy_port, $haproxy_pid.
start_haproxy() {
    [[ -x $bin/haproxy ]] || fail "$bin/haproxy is missing; run make servers"
    haproxy_port=$(free_port)
    cat >"$work/haproxy.cfg" <<CFG
global
    nbthread 2
    maxconn 5000
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
listen mysql
    bind 127.0.0.1:$haproxy_port
    server mysql 127.0.0.1:$direct
CFG
    "$bin/haproxy" -f "$work/haproxy.cfg" -db >"$work/haproxy.log" 2>&1 &
    pids+=($!) haproxy_pid=$!
    await_port "$haproxy_port" haproxy
}

# start_wirepress NAME [ARGUMENT...]: a proxy without compression and TLS, unless the arguments say otherwise, in front
# of that server; $NAME_port, $NAME_pid.
start_wirepress() {
    local name=$1 port
    shift
    port=$(free_port)
    "$wirepress" proxy --listen "127.0.0.1:$port" --server "127.0.0.1:$direct" --log-level error \
        --compression-algorithms uncompressed --ssl-mode disabled --policy fixed "$@" >"$work/$name.log" 2>&1 &
    pids+=($!)
    await_port "$port" "$name"
    printf -v "${name}_port" %s "$port"
    printf -v "${name}_pid" %s "${pids[-1]}"
}

# fill ROWS: sysbench's table.
fill() {
    "$bin/mysql" "${login[@]}" --port="$direct" -e 'create database sbtest'
    "$bin/sysbench" oltp_point_select --mysql-host=127.0.0.1 --mysql-port="$direct" --mysql-user=root \
        --tables=1 --table-size="$1" prepare >"$work/prepare.log"
}

cpu_s() { # pid: user and system
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/^.*\) /, ""); print ($12 + $13) / hz }' "/proc/$1/stat"
}

# What was measured with: a line's beginning.
machine() {
    printf 'MySQL %s, %s, %d cores' "$("$bin/mysqld" --version | grep -oE '[0-9]+\.[0-9.]+' | head -1)" \
        "$("$wirepress" --version)" "$(nproc)"
}

# summary FILE [FORMAT]: median, least and most of a column of numbers.
summary() {
    sort -n "$1" | awk -v f="${2:-%.2f}" '{ v[NR] = $1 } END {
        m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
        printf f " (" f " to " f ")", m, v[1], v[NR] }'
}
median() { # FILE [FORMAT]
    sort -n "$1" | awk -v f="${2:-%.1f}" '{ v[NR] = $1 }
        END { printf f, NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
