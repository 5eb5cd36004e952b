// The scenario of ../README.md with MySQL's Connector/J and MariaDB's Connector/J.

import java.math.BigDecimal;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

public class Scenario {
    static final String TABLE = System.getenv("DB_TABLE");
    static final String DRIVER = System.getenv("DRIVER");
    static final boolean MYSQL = DRIVER.equals("connector-j");
    static Connection connection;

    interface Body {
        void run() throws Exception;
    }

    static Connection connect(String user) throws SQLException {
        // Server-side statements are what MariaDB's driver pipelines: prepare, execute and close at once.
        String common = "?allowPublicKeyRetrieval=true&allowMultiQueries=true&useServerPrepStmts=true"
            + "&useCompression=" + System.getenv("DB_COMPRESS").equals("1");
        boolean tls = System.getenv("DB_TLS").equals("1");
        String own = switch (DRIVER) {
            case "connector-j" -> "&sslMode=" + (tls ? "REQUIRED" : "DISABLED");
            case "mariadb-connector-j" -> "&maxAllowedPacket=268435456&sslMode=" + (tls ? "trust" : "disable");
            // 2.7: the server's variable is asked for instead.
            default -> "&useSsl=" + tls + "&trustServerCertificate=true";
        };
        String url = (MYSQL ? "jdbc:mysql://" : "jdbc:mariadb://") + System.getenv("DB_HOST") + ":"
            + System.getenv("DB_PORT") + "/" + System.getenv("DB_NAME") + common + own;
        return DriverManager.getConnection(url, user, System.getenv("DB_PASSWORD"));
    }

    static void expect(Object actual, Object wanted) {
        if (!wanted.equals(actual)) {
            throw new AssertionError("got " + shorten(actual) + " instead of " + shorten(wanted));
        }
    }

    static String shorten(Object value) {
        String text = String.valueOf(value);
        return text.substring(0, Math.min(text.length(), 300));
    }

    static void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    static String value(String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    static byte[] blob(int length) throws Exception {
        byte[] data = new byte[length];
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        int half = length / 2;
        for (int i = 0, at = 0; at < half; i++, at += 32) {
            byte[] hash = sha256.digest(Integer.toString(i).getBytes());
            System.arraycopy(hash, 0, data, at, Math.min(32, half - at));
        }
        byte[] word = "wirepress ".getBytes();
        for (int at = half; at < length; at++) {
            data[at] = word[(at - half) % word.length];
        }
        return data;
    }

    static void types() throws Exception {
        execute("create table " + TABLE + "_types (i int, u bigint unsigned, d decimal(20,6), f double,"
            + " s varchar(100) character set utf8mb4, b varbinary(100), t datetime(6), n int)");
        byte[] binary = new byte[100];
        for (int i = 0; i < 100; i++) {
            binary[i] = (byte) (156 + i);
        }
        BigInteger unsigned = new BigInteger("18446744073709551615");
        BigDecimal number = new BigDecimal("12345678901234.567891");
        String text = "héllo 密码 🔑";
        String moment = "2026-11-21 12:34:56.789012";
        String sql = "insert into " + TABLE + "_types values (?, ?, ?, ?, ?, ?, ?, ?)";
        try (PreparedStatement insert = connection.prepareStatement(sql)) {
            insert.setInt(1, -42);
            // As text: Connector/J sends the number as a signed one, which MariaDB refuses.
            insert.setString(2, unsigned.toString());
            insert.setBigDecimal(3, number);
            insert.setDouble(4, 0.1);
            insert.setString(5, text);
            insert.setBytes(6, binary);
            insert.setString(7, moment);
            insert.setNull(8, java.sql.Types.INTEGER);
            insert.executeUpdate();
        }
        sql = "select i, u, d, f, s, b, cast(t as char), n from " + TABLE + "_types";
        try (PreparedStatement choose = connection.prepareStatement(sql); ResultSet row = choose.executeQuery()) {
            row.next();
            expect(row.getInt(1), -42);
            expect(row.getObject(2).toString(), unsigned.toString());
            expect(row.getBigDecimal(3), number);
            expect(row.getDouble(4), 0.1);
            expect(row.getString(5), text);
            expect(Arrays.equals(row.getBytes(6), binary), true);
            expect(row.getString(7), moment);
            row.getInt(8);
            expect(row.wasNull(), true);
        }
    }

    static void everyType() throws Exception {
        execute("create table " + TABLE + "_every (" + System.getenv("DB_COLUMNS") + ")");
        execute("insert into " + TABLE + "_every values " + System.getenv("DB_VALUES"));
        String sql = "select * from " + TABLE + "_every order by id";
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            print(rows);
        }
        try (PreparedStatement statement = connection.prepareStatement(sql); ResultSet rows = statement.executeQuery()) {
            print(rows);
        }
    }

    static void print(ResultSet rows) throws SQLException {
        while (rows.next()) {
            StringBuilder line = new StringBuilder("row");
            for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                line.append(' ').append(text(rows, i));
            }
            System.out.println(line);
        }
    }

    static String text(ResultSet row, int column) {
        try {
            Object value = row.getObject(column);
            return value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : String.valueOf(value);
        } catch (Exception fault) {
            return fault.getClass().getSimpleName();
        }
    }

    static String status(String name) throws SQLException {
        try (Statement statement = connection.createStatement();
            ResultSet rows = statement.executeQuery("show session status like '" + name + "'")) {
            rows.next();
            return rows.getString(2);
        }
    }

    static void large(int length) throws Exception {
        byte[] data = blob(length);
        execute("create table if not exists " + TABLE + "_blobs (id int primary key, v longblob)");
        String sql = "insert into " + TABLE + "_blobs values (?, ?)";
        try (PreparedStatement insert = connection.prepareStatement(sql)) {
            insert.setInt(1, length);
            insert.setBytes(2, data);
            insert.executeUpdate();
        }
        String hash = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
        expect(value("select sha2(v, 256) from " + TABLE + "_blobs where id = " + length), hash);
        try (Statement statement = connection.createStatement();
            ResultSet rows = statement.executeQuery("select v from " + TABLE + "_blobs where id = " + length)) {
            rows.next();
            expect(Arrays.equals(rows.getBytes(1), data), true);
        }
    }

    static void prepared() throws Exception {
        execute("create table " + TABLE + "_prepared (id int primary key, v varchar(50))");
        String sql = "insert into " + TABLE + "_prepared values (?, ?)";
        try (PreparedStatement insert = connection.prepareStatement(sql)) {
            for (int i = 0; i < 200; i++) {
                insert.setInt(1, i);
                insert.setString(2, "value " + i);
                insert.addBatch();
            }
            insert.executeBatch();
        }
        sql = "select id, v from " + TABLE + "_prepared where id >= ? order by id";
        for (int low = 0; low <= 100; low += 100) {
            try (PreparedStatement choose = connection.prepareStatement(sql)) {
                choose.setInt(1, low);
                ResultSet rows = choose.executeQuery();
                int next = low;
                for (; rows.next(); next++) {
                    expect(rows.getInt(1), next);
                    expect(rows.getString(2), "value " + next);
                }
                expect(next, 200);
            }
        }
    }

    static void transaction() throws Exception {
        execute("create table " + TABLE + "_transaction (id int) engine=innodb");
        connection.setAutoCommit(false);
        execute("insert into " + TABLE + "_transaction values (1)");
        connection.rollback();
        expect(value("select count(*) from " + TABLE + "_transaction"), "0");
        execute("insert into " + TABLE + "_transaction values (1)");
        connection.commit();
        connection.setAutoCommit(true);
        expect(value("select count(*) from " + TABLE + "_transaction"), "1");
    }

    static void error() throws Exception {
        try {
            value("select * from " + TABLE + "_nowhere");
            throw new AssertionError("no error");
        } catch (SQLException fault) {
            expect(fault.getErrorCode(), 1146);
        }
        expect(value("select 1"), "1");
    }

    static void rows600() throws Exception {
        execute("create table " + TABLE + "_rows (id int primary key, v char(100))");
        List<String> values = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            values.add("(" + i + ", '" + String.format("%0100d", i) + "')");
        }
        execute("insert into " + TABLE + "_rows values " + String.join(",", values));
        try (Statement statement = connection.createStatement();
            ResultSet rows = statement.executeQuery("select id, v from " + TABLE + "_rows order by id")) {
            int next = 0;
            for (; rows.next(); next++) {
                expect(rows.getInt(1), next);
                expect(rows.getString(2), String.format("%0100d", next));
            }
            expect(next, 600);
        }
    }

    static void stream() throws Exception {
        String sql = "select a.id * 1000 + b.id, a.v from " + TABLE + "_rows a join " + TABLE + "_rows b where b.id < 100";
        try (Statement statement = connection.createStatement()) {
            // Row by row.
            statement.setFetchSize(MYSQL ? Integer.MIN_VALUE : 1000);
            long count = 0, ids = 0, values = 0;
            try (ResultSet rows = statement.executeQuery(sql)) {
                for (; rows.next(); count++) {
                    String value = rows.getString(2);
                    expect(value.length(), 100);
                    ids += rows.getLong(1);
                    values += Long.parseLong(value);
                }
            }
            expect(List.of(count, ids, values), List.of(60_000L, 17_972_970_000L, 17_970_000L));
        }
    }

    static void multi() throws Exception {
        List<String> results = new ArrayList<>();
        try (Statement statement = connection.createStatement()) {
            boolean more = statement.execute("select 1; select repeat('x', 100000); select 3");
            while (more) {
                ResultSet rows = statement.getResultSet();
                rows.next();
                results.add(rows.getString(1));
                more = statement.getMoreResults();
            }
        }
        expect(results, List.of("1", "x".repeat(100000), "3"));
    }

    static void who(String wanted) throws SQLException {
        expect(value("select substring_index(current_user(), '@', 1)"), wanted);
    }

    static void step(String name, Body body) throws Exception {
        body.run();
        System.out.println("ok " + name);
    }

    public static void main(String[] arguments) throws Exception {
        connection = connect(System.getenv("DB_USER"));
        System.out.println("session " + status("compression") + " " + status("ssl_version"));
        step("types", Scenario::types);
        step("every_type", Scenario::everyType);
        step("blob_3_mib", () -> large(3 << 20));
        step("blob_20_mb", () -> large(20_000_000));
        step("prepared", Scenario::prepared);
        step("transaction", Scenario::transaction);
        step("error", Scenario::error);
        step("rows_600", Scenario::rows600);
        step("stream", Scenario::stream);
        step("multi", Scenario::multi);
        step("full_authentication", () -> {
            Connection keeper = connection;
            connection = connect(System.getenv("DB_FRESH_USER"));
            who(System.getenv("DB_FRESH_USER"));
            connection.close();
            connection = keeper;
        });
        long first = Long.parseLong(value("select connection_id()"));
        if (MYSQL) {
            step("change_user", () -> {
                var own = (com.mysql.cj.jdbc.JdbcConnection) connection;
                own.changeUser(System.getenv("DB_SECOND_USER"), System.getenv("DB_PASSWORD"));
                who(System.getenv("DB_SECOND_USER"));
            });
        } else {
            System.out.println("no change_user");
        }
        step("reconnect", () -> {
            connection.close();
            connection = connect(System.getenv("DB_USER"));
            expect(Long.parseLong(value("select connection_id()")) > first, true);
            connection.close();
        });
    }
}
