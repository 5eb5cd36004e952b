//! Tests of `screen`, on a terminal in memory.
//!
//! Not here: a real terminal (the integration tests).

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::sample::{Counts, Sample, Session};
use super::*;

fn view(sessions: u64) -> View {
    let mut view = View::new();
    for second in 1..=5_u64 {
        let counts = |id: u64| Counts {
            plain_len: 300_000 * id * second,
            packed_len: 500_000 * second,
            cpu_ns: second,
        };
        let session = |id| Session {
            id,
            user: format!("app{id}"),
            host: "10.1.2.3:40000".to_owned(),
            command: "Query".to_owned(),
            seconds: 75,
            legs: ["zstd 3".to_owned(), String::new()],
            flows: [Counts::default(), counts(id), Counts::default(), counts(id)],
            ..Session::default()
        };
        let flows = [Counts::default(), counts(9), Counts::default(), counts(9)];
        view.accept(Sample {
            at: Duration::from_secs(second),
            sessions: (1..=sessions).map(session).collect(),
            minutes: vec![("2026-11-22 14:05:00".to_owned(), flows)],
        });
    }
    view
}

fn drawn(view: &View, (width, height): (u16, u16), silent: Option<Duration>) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| _ = draw(frame, view, "unix:/run/admin.sock", silent)).unwrap();
    let cells: Vec<_> =
        terminal.backend().buffer().content().iter().map(ratatui::buffer::Cell::symbol).collect();
    cells.chunks(usize::from(width)).map(|line| line.concat().trim_end().to_owned()).collect()
}

#[test]
fn eighty_by_twenty_four_has_rates_bars_connections_and_keys() {
    let lines = drawn(&view(30), (80, 24), None);
    assert_eq!(lines[0], "wirepress top  connections: 30, active: 30  unix:/run/admin.sock");
    assert!(lines[3].starts_with("client to_client     2.70 MB   500 kB   5.40x   0.0 "), "{}", lines[3]);
    assert!(lines[3].contains("████") && lines[3].ends_with("▁▁▁▁"), "{}", lines[3]);
    let heading = "    ID USER      COMMAND   TIME C-LEG   S-LEG    PLAIN/s  C-LEG/s  S-LEG/s  CPU%";
    assert_eq!(lines[6], heading);
    assert_eq!(lines[7], "    30 app30     Query    1m15s zstd 3  -        9.00 MB   500 kB   500 kB   0.0");
    assert!(lines[22].starts_with("    15 "), "{}", lines[22]);
    assert_eq!(lines[23], "F1Help F4Filter F6Sort F9Kill pPause F10Quit  by PLAIN/s, descending");
}

#[test]
fn every_size_can_be_drawn() {
    let mut all = [view(0), view(3), view(200), view(3), view(3)];
    all[1].mode = Mode::Help;
    all[2].go(isize::MAX);
    all[3].lose("gone".to_owned());
    all[4].ask_to_kill();
    for view in &all {
        for width in [1, 2, 7, 20, 39, 53, 79, 80, 81, 132, 300] {
            for height in [1, 2, 3, 6, 9, 10, 24, 100] {
                drawn(view, (width, height), Some(Duration::from_secs(9)));
            }
        }
    }
}

#[test]
fn the_selected_connection_is_always_seen() {
    let mut view = view(200);
    view.go(isize::MAX);
    for height in [4, 9, 10, 24] {
        let lines = drawn(&view, (80, height), None);
        assert!(lines.iter().any(|line| line.starts_with("     1 app1 ")), "{height}: {lines:?}");
    }
}

#[test]
fn a_lost_connection_is_told_of_and_so_is_silence() {
    let mut view = view(1);
    let silent = drawn(&view, (80, 24), Some(Duration::from_secs(7))).join("\n");
    assert!(silent.contains("NO ANSWER from unix:/run/admin.sock for 7 s"), "{silent}");
    view.lose("the admin port at unix:/run/admin.sock: Connection refused (os error 111)".to_owned());
    let lost = drawn(&view, (80, 24), None).join("\n");
    assert!(lost.contains("NO CONNECTION to unix:/run/admin.sock, trying again"), "{lost}");
    assert!(lost.contains("Connection refused") && lost.contains(" app1 "), "{lost}");
}

#[test]
fn what_clients_are_called_does_not_steer_the_terminal() {
    let mut view = View::new();
    let session = Session { user: "\x1b[2J\nü\x07".to_owned(), ..Session::default() };
    view.accept(Sample { sessions: vec![session], ..Sample::default() });
    view.ask_to_kill();
    let text = drawn(&view, (80, 24), None).concat();
    assert!(text.contains('ü') && !text.contains(char::is_control), "{text:?}");
}

#[test]
fn questions_filters_and_the_pause_are_shown() {
    let mut view = view(3);
    view.filter = "app2".to_owned();
    view.is_paused = true;
    let lines = drawn(&view, (80, 24), None);
    assert!(
        lines[0].contains("connections: 1 of 3, with 'app2'") && lines[0].ends_with("PAUSED"),
        "{}",
        lines[0]
    );
    view.ask_to_kill();
    assert!(drawn(&view, (80, 24), None)[23].starts_with("Kill connection 2 of app2@10.1.2.3:40000? y: yes"));
    view.mode = Mode::Help;
    let help = drawn(&view, (80, 24), None).join("\n");
    for (keys, what) in HELP {
        assert!(help.contains(keys) && help.contains(what), "{help}");
    }
}
