//! LOAD DATA LOCAL: the client sends a file in the middle of a command.
//!
//! libmysqlclient sends 8 KiB packets, so a file of 10 MB has 1,280 of them and ids wrap five times. A trigger
//! makes the server fail in the middle; it says so only after the file's end.
//!
//! Not here: drivers' own ways to send files (`drivers`).

use std::fmt::Write;
use std::path::Path;

use lab::generate::text_row;
use lab::real::Kind;
use tempfile::NamedTempFile;

use crate::live::route::{Legs, Route, complaint, printed, run};

struct Files {
    small: NamedTempFile,
    large: NamedTempFile,
}

impl Files {
    fn make() -> Self {
        let file = |row_count: u32, len| {
            let rows = (1..=row_count).fold(String::new(), |mut rows, id| {
                writeln!(rows, "{id}\t{}", text_row(1, id, len).replace(['\t', '\n', '\\'], " ")).unwrap();
                rows
            });
            let file = NamedTempFile::new().unwrap();
            std::fs::write(file.path(), rows).unwrap();
            file
        };
        Self { small: file(3, 20), large: file(400, 25_000) }
    }
}

/// Every way a load can go, each followed by something that shows that the connection goes on.
fn script(files: &Files) -> String {
    let load =
        |path: &Path, table| format!("load data local infile '{}' into table {table};", path.display());
    let (small, large) = (load(files.small.path(), "loaded"), load(files.large.path(), "loaded"));
    let missing_file = load(Path::new("/nonexistent/rows"), "loaded");
    let missing_table = load(files.large.path(), "no_such_table");
    let sum = "select count(*), sum(length(v)), sum(crc32(v)) from loaded;";
    format!(
        "use flows; truncate table loaded;
         {small} {sum} truncate table loaded;
         {large} {sum} truncate table loaded;
         {missing_file} {sum}
         set @fails = 1; {large} {sum} set @fails = 0;
         {missing_table} {sum}
         {small} {large} {sum}"
    )
}

fn files_arrive_whole_and_failures_are_told(kind: Kind) {
    let Some(server) = super::server(kind) else { return };
    let files = Files::make();
    server
        .sql(
            "create table flows.loaded (id int primary key, v longtext);
             delimiter $$
             create trigger flows.stop_in_the_middle before insert on flows.loaded for each row begin
                 if @fails = 1 and new.id = 200 then signal sqlstate '45000' set message_text = 'stop here'; end if;
             end$$",
        )
        .unwrap();
    let statements = script(&files);
    let load = |route: &Route<'_>| {
        let output = run(route.cli().arg("--force"), &statements);
        assert!(output.status.success(), "{}", complaint(&output));
        (printed(&output), complaint(&output))
    };
    let (rows, errors) = load(&Route::direct(server));
    assert!(rows.starts_with("3\t60\t"), "{rows}");
    assert!(rows.contains("\n400\t10000000\t"), "{rows}");
    for error in ["/nonexistent/rows", "stop here", "no_such_table"] {
        assert!(errors.contains(error), "{errors}");
    }
    for legs in Legs::all(kind) {
        let route = Route::through(server, legs);
        let (found_rows, found_errors) = load(&route);
        assert_eq!(found_rows, rows, "{legs}; {}", route.faults());
        assert_eq!(codes(&found_errors), codes(&errors), "{legs}; {}", route.faults());
    }
}

/// The error numbers: the vendors' clients word a missing file differently.
fn codes(errors: &str) -> Vec<&str> {
    errors.lines().filter_map(|line| line.strip_prefix("ERROR ")?.split(" at line").next()).collect()
}

#[test]
fn files_arrive_whole_and_failures_are_told_on_every_pair_of_legs_to_mysql() {
    files_arrive_whole_and_failures_are_told(Kind::MySql);
}

#[test]
fn files_arrive_whole_and_failures_are_told_on_every_pair_of_legs_to_mariadb() {
    files_arrive_whole_and_failures_are_told(Kind::MariaDb);
}
