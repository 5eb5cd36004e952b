// The scenario of ../README.md with go-sql-driver/mysql.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var table = os.Getenv("DB_TABLE")
var background = context.Background()

// One connection, not a pool: every step goes through the same session.
func connect(user string) *sql.Conn {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = user, os.Getenv("DB_PASSWORD"), os.Getenv("DB_NAME")
	config.Net, config.Addr = "tcp", net.JoinHostPort(os.Getenv("DB_HOST"), os.Getenv("DB_PORT"))
	config.MultiStatements = true
	config.MaxAllowedPacket = 256 << 20
	config.TLSConfig = map[string]string{"0": "false", "1": "skip-verify"}[os.Getenv("DB_TLS")]
	check(config.Apply(mysql.EnableCompression(os.Getenv("DB_COMPRESS") == "1")))
	connector, err := mysql.NewConnector(config)
	check(err)
	connection, err := sql.OpenDB(connector).Conn(background)
	check(err)
	return connection
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-sql-driver:", err)
		os.Exit(1)
	}
}

func expect(actual, wanted any) {
	if a, b := fmt.Sprintf("%#v", actual), fmt.Sprintf("%#v", wanted); a != b {
		check(fmt.Errorf("got %.300s instead of %.300s", a, b))
	}
}

func blob(length int) []byte {
	data := make([]byte, 0, length+32)
	for i := 0; len(data) < length/2; i++ {
		hash := sha256.Sum256([]byte(strconv.Itoa(i)))
		data = append(data, hash[:]...)
	}
	data = data[:length/2]
	return append(data, strings.Repeat("wirepress ", length/20+2)[:length-len(data)]...)
}

type scenario struct{ connection *sql.Conn }

func (s *scenario) execute(statement string, parameters ...any) {
	_, err := s.connection.ExecContext(background, statement, parameters...)
	check(err)
}

func (s *scenario) scan(statement string, into ...any) {
	check(s.connection.QueryRowContext(background, statement).Scan(into...))
}

func (s *scenario) types() {
	s.execute("create table " + table + "_types (i int, u bigint unsigned, d decimal(20,6), f double," +
		" s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int)")
	binary := make([]byte, 100)
	for i := range binary {
		binary[i] = byte(156 + i)
	}
	number, text, moment := "12345678901234.567891", "héllo 密码 🔑", "2026-11-21 12:34:56.789012"
	s.execute("insert into "+table+"_types values (?, ?, ?, ?, ?, ?, ?, ?)",
		-42, uint64(18446744073709551615), number, 0.1, text, binary, moment, nil)
	var i int
	var u uint64
	var f float64
	var d, str, t string
	var b []byte
	var n sql.NullInt64
	s.scan("select i, u, d, f, s, b, cast(t as char), n from "+table+"_types", &i, &u, &d, &f, &str, &b, &t, &n)
	expect([]any{i, u, d, f, str, b, t, n.Valid},
		[]any{-42, uint64(18446744073709551615), number, 0.1, text, binary, moment, false})
}

func (s *scenario) everyType() {
	s.execute("create table " + table + "_every (" + os.Getenv("DB_COLUMNS") + ")")
	s.execute("insert into " + table + "_every values " + os.Getenv("DB_VALUES"))
	choose := "select * from " + table + "_every order by id"
	rows, err := s.connection.QueryContext(background, choose)
	check(err)
	printRows(rows)
	statement, err := s.connection.PrepareContext(background, choose)
	check(err)
	rows, err = statement.Query()
	check(err)
	printRows(rows)
	check(statement.Close())
}

func printRows(rows *sql.Rows) {
	columns, err := rows.Columns()
	check(err)
	values, pointers := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		check(rows.Scan(pointers...))
		fmt.Printf("row %x\n", values)
	}
	check(rows.Err())
	check(rows.Close())
}

func (s *scenario) session() {
	var name, compression, version string
	s.scan("show session status like 'compression'", &name, &compression)
	s.scan("show session status like 'ssl_version'", &name, &version)
	fmt.Println("session", compression, version)
}

func (s *scenario) large(length int) {
	data := blob(length)
	s.execute("create table if not exists " + table + "_blobs (id int primary key, v longblob)")
	s.execute("insert into "+table+"_blobs values (?, ?)", length, data)
	var hash string
	var found []byte
	s.scan(fmt.Sprintf("select sha2(v, 256), v from %s_blobs where id = %d", table, length), &hash, &found)
	sum := sha256.Sum256(data)
	expect(hash, hex.EncodeToString(sum[:]))
	expect(bytes.Equal(found, data), true)
}

func (s *scenario) prepared() {
	s.execute("create table " + table + "_prepared (id int primary key, v varchar(50))")
	insert, err := s.connection.PrepareContext(background, "insert into "+table+"_prepared values (?, ?)")
	check(err)
	for i := range 200 {
		_, err := insert.Exec(i, fmt.Sprintf("value %d", i))
		check(err)
	}
	check(insert.Close())
	choose, err := s.connection.PrepareContext(background, "select id, v from "+table+"_prepared where id >= ? order by id")
	check(err)
	for _, low := range []int{0, 100} {
		rows, err := choose.Query(low)
		check(err)
		next := low
		for ; rows.Next(); next++ {
			var id int
			var v string
			check(rows.Scan(&id, &v))
			expect([]any{id, v}, []any{next, fmt.Sprintf("value %d", next)})
		}
		check(rows.Err())
		expect(next, 200)
	}
	check(choose.Close())
}

func (s *scenario) transaction() {
	s.execute("create table " + table + "_transaction (id int) engine=innodb")
	var count int
	for wanted, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
		transaction, err := s.connection.BeginTx(background, nil)
		check(err)
		_, err = transaction.Exec("insert into " + table + "_transaction values (1)")
		check(err)
		check(end(transaction))
		s.scan("select count(*) from "+table+"_transaction", &count)
		expect(count, wanted)
	}
}

func (s *scenario) error() {
	_, err := s.connection.ExecContext(background, "select * from "+table+"_nowhere")
	var fault *mysql.MySQLError
	expect(errors.As(err, &fault), true)
	expect(fault.Number, uint16(1146))
	var one int
	s.scan("select 1", &one)
	expect(one, 1)
}

func (s *scenario) rows600() {
	s.execute("create table " + table + "_rows (id int primary key, v char(100))")
	values := make([]string, 600)
	for i := range values {
		values[i] = fmt.Sprintf("(%d, '%0100d')", i, i)
	}
	s.execute("insert into " + table + "_rows values " + strings.Join(values, ","))
	rows, err := s.connection.QueryContext(background, "select id, v from "+table+"_rows order by id")
	check(err)
	next := 0
	for ; rows.Next(); next++ {
		var id int
		var v string
		check(rows.Scan(&id, &v))
		expect([]any{id, v}, []any{next, fmt.Sprintf("%0100d", next)})
	}
	check(rows.Err())
	expect(next, 600)
}

func (s *scenario) stream() {
	rows, err := s.connection.QueryContext(background, "select a.id * 1000 + b.id, a.v from "+table+"_rows a join "+table+"_rows b where b.id < 100")
	check(err)
	count, ids, values := 0, 0, 0
	for ; rows.Next(); count++ {
		var id int
		var v string
		check(rows.Scan(&id, &v))
		expect(len(v), 100)
		value, err := strconv.Atoi(v)
		check(err)
		ids, values = ids+id, values+value
	}
	check(rows.Err())
	expect([]int{count, ids, values}, []int{60000, 17972970000, 17970000})
}

func (s *scenario) multi() {
	rows, err := s.connection.QueryContext(background, "select 1; select repeat('x', 100000); select 3")
	check(err)
	var results []string
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			var value string
			check(rows.Scan(&value))
			results = append(results, value)
		}
	}
	check(rows.Err())
	check(rows.Close())
	expect(results, []string{"1", strings.Repeat("x", 100000), "3"})
}

func (s *scenario) id() (id int) {
	s.scan("select connection_id()", &id)
	return id
}

func step(name string, body func()) {
	body()
	fmt.Println("ok", name)
}

func main() {
	s := &scenario{connect(os.Getenv("DB_USER"))}
	s.session()
	step("types", s.types)
	step("every_type", s.everyType)
	step("blob_3_mib", func() { s.large(3 << 20) })
	step("blob_20_mb", func() { s.large(20_000_000) })
	step("prepared", s.prepared)
	step("transaction", s.transaction)
	step("error", s.error)
	step("rows_600", s.rows600)
	step("stream", s.stream)
	step("multi", s.multi)
	step("full_authentication", func() {
		fresh := &scenario{connect(os.Getenv("DB_FRESH_USER"))}
		var who string
		fresh.scan("select substring_index(current_user(), '@', 1)", &who)
		expect(who, os.Getenv("DB_FRESH_USER"))
		check(fresh.connection.Close())
	})
	fmt.Println("no change_user")
	step("reconnect", func() {
		first := s.id()
		check(s.connection.Close())
		s.connection = connect(os.Getenv("DB_USER"))
		expect(s.id() > first, true)
		check(s.connection.Close())
	})
}
