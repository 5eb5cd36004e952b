//! The tap as the admin port switches it: off by default, one at a time, over by itself, numbers only.
//!
//! Not here: what the advisor makes of it (crate `cli`, `advise_running`).

use lab::real::Kind;

use crate::stage::Stage;

/// In every row, and nowhere else.
const MARKER: &str = "marker-5b7e";

fn rows_sql() -> String {
    format!(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 900) \
         select i, sha2(i, 512), '{MARKER} is what the link carries' from n;"
    )
}

fn read(stage: &Stage, more: &[&str], statements: usize) -> Vec<u8> {
    let mut client = stage.client("mysql");
    let output =
        client.args(more).arg(format!("--execute={}", rows_sql().repeat(statements))).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

const NUMBERS: &str = "select exchanges, sessions, sessions_server_packs from tap";

#[test]
fn while_the_tap_is_on_exchanges_are_timed_replies_are_packed_and_only_numbers_are_told() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    let before = read(&stage, &[], 10);
    let tables = ["tap", "tap_codecs", "tap_exchanges"];
    // Nothing is looked at that nobody has asked for.
    assert!(tables.iter().all(|table| stage.ask(&format!("select * from {table}")).is_empty()));
    assert_eq!(stage.ask("select @@tap")[1], "0");

    stage.ask("set global tap = 60");
    assert!(read(&stage, &[], 10) == before, "what passes is as it was");
    assert!(read(&stage, &["--compression-algorithms=zstd"], 10) == before);
    let told = stage.ask_until(NUMBERS, |lines| lines[1].starts_with("2"));
    let [exchanges, sessions, packed] = [0, 1, 2].map(|place| told[1].split('\t').nth(place).unwrap());
    assert!(exchanges.parse::<u32>().unwrap() >= 20, "{told:?}");
    assert_eq!([sessions, packed], ["2", "2"]);
    let sane = "select count(*), min(ratio) > 1.5, min(plain_bytes) >= 65536, min(pack_cpu_ns) > 0, \
         min(unpack_cpu_ns) > 0, count(distinct frame_bytes_max) from tap_codecs";
    stage.ask_until(sane, |lines| lines[1] == "10\t1\t1\t1\t1\t2");
    let large = "select count(*) >= 20, min(request_bytes) > 100, max(time_ns >= first_ns), max(time_ns) < 60e9 \
         from tap_exchanges where reply_bytes between 150000 and 200000";
    assert_eq!(stage.ask(large)[1], "1\t1\t1\t1");
    let all: String = tables.iter().flat_map(|table| stage.ask(&format!("select * from {table}"))).collect();
    assert!(!all.contains("marker") && !all.contains("carries"), "{all}");

    // One at a time, and whoever asks is told for how long.
    let error = stage.error("set global tap = 5");
    assert!(error.contains("ERROR 1231 (42000)") && error.contains("another tap is on, for "), "{error}");
    stage.ask("set global tap = 0");
    assert_eq!(stage.ask("select seconds_left is null, @@tap from tap")[1], "1\t0");
    let last = stage.ask(NUMBERS);
    read(&stage, &[], 1);
    assert_eq!(stage.ask(NUMBERS), last, "it looks no more");
}

#[test]
fn a_tap_ends_by_itself_and_the_next_begins_anew() {
    let Some(stage) = Stage::new(Kind::MariaDb) else { return };
    stage.ask("set global tap = 1");
    stage.ask_until("select number from tap where seconds_left is null", |lines| lines.len() == 2);
    stage.ask("set global tap = 60");
    assert_eq!(stage.ask("select number, exchanges, cpu_ns < 60000000000 from tap")[1], "2\t0\t1");
    assert!(stage.ask("select * from tap_exchanges").is_empty());
}

#[test]
fn a_wrong_time_is_refused_with_what_is_wanted() {
    let Some(stage) = Stage::new(Kind::MySql) else { return };
    for value in ["601", "-1", "1.5", "'soon'", "null", "''"] {
        let error = stage.error(&format!("set global tap = {value}"));
        assert!(
            error.contains("ERROR 1231 (42000)") && error.contains("seconds are wanted, 0 to 600"),
            "{error}"
        );
    }
    assert!(stage.ask("select * from tap").is_empty());
}
