//! `wirepress status`: a running proxy on one screen, or as JSON, asked at its admin port.
//!
//! Not here: the client (`admin_client`), what the tables mean (crate `admin`).

use std::fmt::Write as _;
use std::io::Write as _;

use bench::client::Row;
use serde_json::{Map, Value};

use crate::args::StatusArgs;

/// A part of the screen: its name, its statement, its columns, and whether each is a number.
struct Part {
    name: &'static str,
    sql: &'static str,
    columns: &'static [(&'static str, bool)],
}

const PARTS: [Part; 4] = [
    Part {
        name: "listeners",
        sql: "select address, servers, permitted, tls, connections from listeners order by address",
        columns: &[
            ("address", false),
            ("servers", false),
            ("permitted", false),
            ("tls", false),
            ("connections", true),
        ],
    },
    Part {
        name: "servers",
        sql: "select listener, address, state, sessions, reason from servers order by listener, address",
        columns: &[
            ("listener", false),
            ("address", false),
            ("state", false),
            ("sessions", true),
            ("reason", false),
        ],
    },
    Part {
        name: "last_day",
        sql: "select listener, side, direction, algorithm, sum(plain_bytes), sum(packed_bytes), \
              round(sum(plain_bytes) / nullif(sum(packed_bytes), 0), 3), round(sum(cpu_ns) / 1e9, 3), \
              sum(frames_packed), sum(frames_stored), round(sum(saved), 6) \
              from totals group by listener, side, direction, algorithm order by listener, side, direction, algorithm",
        columns: &[
            ("listener", false),
            ("side", false),
            ("direction", false),
            ("algorithm", false),
            ("plain_bytes", true),
            ("packed_bytes", true),
            ("ratio", true),
            ("cpu_seconds", true),
            ("frames_packed", true),
            ("frames_stored", true),
            ("saved", true),
        ],
    },
    Part {
        name: "faults",
        sql: "select side, phase, cause, count from faults order by count desc, side, phase, cause",
        columns: &[("side", false), ("phase", false), ("cause", false), ("count", true)],
    },
];

/// Asks and prints.
pub(crate) fn run(args: &StatusArgs) -> anyhow::Result<()> {
    let mut client = args.port.connect()?;
    let answers = PARTS.iter().map(|part| client.query_texts(part.sql)).collect::<Result<Vec<_>, _>>()?;
    client.quit();
    let text = if args.json { json(&answers) } else { screen(&answers) };
    // Who doesn't read it may close it.
    drop(std::io::stdout().write_all(text.as_bytes()));
    Ok(())
}

fn json(answers: &[Vec<Row>]) -> String {
    let value = |is_number: bool, value: &Option<String>| match value {
        None => Value::Null,
        Some(text) if is_number => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        Some(text) => text.as_str().into(),
    };
    let mut whole = Map::new();
    for (part, rows) in PARTS.iter().zip(answers) {
        let object = |row: &Row| {
            let pairs = part.columns.iter().zip(row);
            let pairs = pairs.map(|((name, is_number), text)| ((*name).to_owned(), value(*is_number, text)));
            Value::Object(pairs.collect())
        };
        whole.insert(part.name.to_owned(), rows.iter().map(object).collect());
    }
    format!("{:#}\n", Value::Object(whole))
}

fn screen(answers: &[Vec<Row>]) -> String {
    let mut text = String::new();
    for (part, rows) in PARTS.iter().zip(answers) {
        // Columns that say nothing are left out: no reason, no price.
        let shown: Vec<usize> = (0..part.columns.len())
            .filter(|&at| rows.iter().any(|row| row.get(at).is_some_and(Option::is_some)))
            .collect();
        writeln!(text, "{}{}", part.name.replace('_', " "), if rows.is_empty() { ": none" } else { "" })
            .unwrap_or_default();
        let heading: Vec<String> = part.columns.iter().map(|(name, _)| name.replace('_', " ")).collect();
        let cells: Vec<Vec<String>> = std::iter::once(heading)
            .chain(rows.iter().map(|row| row.iter().map(|cell| cell.clone().unwrap_or_default()).collect()))
            .filter(|_| !rows.is_empty())
            .collect();
        let width = |at: usize| cells.iter().filter_map(|row| row.get(at)).map(|it| it.chars().count()).max();
        for row in &cells {
            let mut line = String::from(" ");
            for &at in &shown {
                let (cell, width) = (row.get(at).map_or("", String::as_str), width(at).unwrap_or(0));
                let is_number = part.columns.get(at).is_some_and(|(_, is_number)| *is_number);
                // Numbers end below each other.
                let cell = if is_number { format!(" {cell:>width$}") } else { format!(" {cell:<width$}") };
                line.push_str(&cell);
            }
            writeln!(text, "{}", line.trim_end()).unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> Vec<Vec<Row>> {
        let row = |cells: &[&str]| cells.iter().map(|it| (*it != "-").then(|| (*it).to_owned())).collect();
        vec![
            vec![row(&["a:1", "b:2", "zstd", "off", "12"])],
            vec![row(&["a:1", "b:2", "up", "7", "-"])],
            Vec::new(),
            vec![row(&["client", "login", "timed_out", "3"])],
        ]
    }

    #[test]
    fn the_screen_leaves_out_what_says_nothing() {
        let expected = "listeners\n  address servers permitted tls connections\n  a:1     b:2     zstd      off          12\n\
             servers\n  listener address state sessions\n  a:1      b:2     up           7\n\
             last day: none\n\
             faults\n  side   phase cause     count\n  client login timed_out     3\n";
        assert_eq!(screen(&answers()), expected);
    }

    #[test]
    fn json_has_numbers_as_numbers() {
        let json: Value = serde_json::from_str(&json(&answers())).unwrap();
        assert_eq!(json["listeners"][0]["connections"], 12);
        assert!(json["servers"][0]["reason"].is_null());
        assert_eq!(json["last_day"], Value::Array(Vec::new()));
        assert_eq!(json["faults"][0]["cause"], "timed_out");
    }
}
