# The scenario of ../README.md with Ruby's mysql2.
require "digest"
require "mysql2"

$stdout.sync = true
Table = ENV["DB_TABLE"]

def connect(user = ENV["DB_USER"])
  flags = ENV["DB_COMPRESS"] == "1" ? ["COMPRESS", "MULTI_STATEMENTS"] : ["MULTI_STATEMENTS"]
  Mysql2::Client.new(
    host: ENV["DB_HOST"], port: ENV["DB_PORT"].to_i, username: user, password: ENV["DB_PASSWORD"],
    database: ENV["DB_NAME"], encoding: "utf8mb4", flags: flags,
    # With MariaDB's library it has no ssl_mode; any of these turns TLS on.
    **(ENV["DB_TLS"] == "1" ? { sslcipher: "DEFAULT", sslverify: false } : {})
  )
end

def execute(statement, **options)
  result = $connection.query(statement, as: :array, **options)
  result&.to_a
end

def value(statement)
  execute(statement)[0][0]
end

def prepare(statement)
  $connection.prepare(statement)
end

def expect(actual, wanted)
  raise "got #{actual.inspect[0, 300]} instead of #{wanted.inspect[0, 300]}" unless actual == wanted
end

def blob(length)
  half = length / 2
  data = (0..half / 32).map { |i| Digest::SHA256.digest(i.to_s) }.join.byteslice(0, half)
  data + ("wirepress " * (length / 20 + 2)).b.byteslice(0, length - half)
end

def types
  execute("create table #{Table}_types (i int, u bigint unsigned, d decimal(20,6), f double,
    s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int)")
  binary = (156..255).to_a.pack("C*")
  row = [-42, "18446744073709551615", "12345678901234.567891", 0.1, "héllo 密码 🔑", binary, "2026-11-21 12:34:56.789012", nil]
  prepare("insert into #{Table}_types values (?, ?, ?, ?, ?, ?, ?, ?)").execute(*row)
  choose = "select i, cast(u as char), cast(d as char), f, s, b, cast(t as char), n from #{Table}_types"
  expect(prepare(choose).execute(as: :array).to_a, [row])
end

def every_type
  execute("create table #{Table}_every (#{ENV["DB_COLUMNS"]})")
  execute("insert into #{Table}_every values #{ENV["DB_VALUES"]}")
  choose = "select * from #{Table}_every order by id"
  (execute(choose) + prepare(choose).execute(as: :array).to_a).each { |row| puts "row #{row.inspect.inspect}" }
end

def large(length)
  data = blob(length)
  execute("create table if not exists #{Table}_blobs (id int primary key, v longblob)")
  prepare("insert into #{Table}_blobs values (?, ?)").execute(length, data)
  expect(value("select sha2(v, 256) from #{Table}_blobs where id = #{length}"), Digest::SHA256.hexdigest(data))
  expect(value("select v from #{Table}_blobs where id = #{length}") == data, true)
end

def prepared
  execute("create table #{Table}_prepared (id int primary key, v varchar(50))")
  wanted = (0...200).map { |i| [i, "value #{i}"] }
  insert = prepare("insert into #{Table}_prepared values (?, ?)")
  wanted.each { |row| insert.execute(*row) }
  choose = prepare("select id, v from #{Table}_prepared where id >= ? order by id")
  [0, 100].each { |low| expect(choose.execute(low, as: :array).to_a, wanted.drop(low)) }
end

def transaction
  execute("create table #{Table}_transaction (id int) engine=innodb")
  %w[rollback commit].each_with_index do |ending, wanted|
    execute("start transaction")
    execute("insert into #{Table}_transaction values (1)")
    execute(ending)
    expect(value("select count(*) from #{Table}_transaction"), wanted)
  end
end

def error
  execute("select * from #{Table}_nowhere")
  raise "no error"
rescue Mysql2::Error => fault
  expect(fault.error_number, 1146)
  expect(value("select 1"), 1)
end

def rows_600
  execute("create table #{Table}_rows (id int primary key, v char(100))")
  wanted = (0...600).map { |i| [i, i.to_s.rjust(100, "0")] }
  execute("insert into #{Table}_rows values " + wanted.map { |id, v| "(#{id}, '#{v}')" }.join(","))
  expect(execute("select id, v from #{Table}_rows order by id"), wanted)
end

def stream
  count = ids = values = 0
  choose = "select a.id * 1000 + b.id, a.v from #{Table}_rows a join #{Table}_rows b where b.id < 100"
  $connection.query(choose, as: :array, stream: true, cache_rows: false).each do |id, v|
    expect(v.length, 100)
    count += 1
    ids += id
    values += v.to_i
  end
  expect([count, ids, values], [60_000, 17_972_970_000, 17_970_000])
end

def multi
  results = [value("select 1; select repeat('x', 100000); select 3")]
  results << $connection.store_result.to_a[0][0] while $connection.next_result
  expect(results, [1, "x" * 100_000, 3])
end

def step(name, *arguments)
  yield(*arguments)
  puts "ok #{name}"
end

begin
  $connection = connect
  puts "session #{%w[compression ssl_version].map { |name| execute("show session status like '#{name}'")[0][1] }.join(" ")}"
  step("types") { types }
  step("every_type") { every_type }
  step("blob_3_mib") { large(3 << 20) }
  step("blob_20_mb") { large(20_000_000) }
  step("prepared") { prepared }
  step("transaction") { transaction }
  step("error") { error }
  step("rows_600") { rows_600 }
  step("stream") { stream }
  step("multi") { multi }
  keeper = $connection
  begin
    $connection = connect(ENV["DB_FRESH_USER"])
    expect(value("select substring_index(current_user(), '@', 1)"), ENV["DB_FRESH_USER"])
    $connection.close
    puts "ok full_authentication"
  rescue Mysql2::Error => fault
    puts "no full_authentication #{fault.message}"
  end
  $connection = keeper
  puts "no change_user"
  first = value("select connection_id()")
  $connection.close
  $connection = connect
  expect(value("select connection_id()") > first, true)
  $connection.close
  puts "ok reconnect"
rescue => fault
  warn "ruby-mysql2: #{fault.full_message(highlight: false)}"
  exit 1
end
