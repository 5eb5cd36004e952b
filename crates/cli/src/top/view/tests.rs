//! Tests of `view`.
//!
//! Not here: keys and drawing, beside their own files.

use std::time::Duration;

use super::*;

fn counts(plain_len: u64, packed_len: u64, cpu_ns: u64) -> Counts {
    Counts { plain_len, packed_len, cpu_ns }
}

fn session(id: u64, user: &str, to_client: Counts) -> Session {
    let flows = [Counts::default(), to_client, Counts::default(), Counts::default()];
    Session { id, user: user.to_owned(), command: "Query".to_owned(), flows, ..Session::default() }
}

fn sample(seconds: u64, sessions: Vec<Session>, minutes: &[(&str, u64)]) -> Sample {
    let minutes =
        minutes.iter().map(|(name, plain_len)| ((*name).to_owned(), [counts(*plain_len, 1, 0); 4])).collect();
    Sample { at: Duration::from_secs(seconds), sessions, minutes }
}

fn ids(view: &View) -> Vec<u64> {
    view.shown().iter().map(|line| line.session.id).collect()
}

#[test]
fn rates_are_what_came_between_two_samples() {
    let mut view = View::new();
    view.accept(sample(10, vec![session(1, "a", counts(1000, 500, 0))], &[]));
    assert_eq!(view.shown()[0].rates, None);
    let sessions =
        vec![session(1, "a", counts(5000, 1500, 1_000_000_000)), session(2, "b", counts(800, 400, 0))];
    view.accept(sample(12, sessions, &[]));
    let found: Vec<_> = view.shown().iter().map(|line| line.legs().unwrap()[0]).collect();
    let first = Rates { plain: 2000.0, packed: 500.0, cpu: 0.5 };
    // The second one began since.
    assert_eq!(found, [first, Rates { plain: 400.0, packed: 200.0, cpu: 0.0 }]);
    assert_eq!(view.shown()[0].ratios()[0], Some(5000.0 / 1500.0));
    assert_eq!(view.count(), (2, 2));
}

#[test]
fn totals_go_on_across_minutes() {
    let mut view = View::new();
    let plain = |view: &View| view.history.front().map(|rates| rates[0].plain);
    for (seconds, minutes, expected) in [
        (1, &[("10:00", 100), ("09:59", 70)][..], None),
        (2, &[("10:00", 150), ("09:59", 70)], Some(50.0)),
        // The minute's rest, and what the new one began with.
        (3, &[("10:01", 30), ("10:00", 160)], Some(40.0)),
        // Nothing was carried in 10:02, and 10:00 is counted no more.
        (5, &[("10:03", 8), ("10:01", 30)], Some(4.0)),
    ] {
        view.accept(sample(seconds, Vec::new(), minutes));
        assert_eq!(plain(&view), expected, "{seconds}");
    }
}

#[test]
fn the_counters_of_another_process_are_no_rates() {
    let mut view = View::new();
    view.accept(sample(1, vec![session(1, "a", counts(10, 10, 0))], &[("10:00", 10)]));
    view.lose("gone".to_owned());
    assert!(view.lost.is_some() && ids(&view) == [1], "what was seen stays");
    view.forget();
    view.accept(sample(2, vec![session(1, "z", counts(9000, 10, 0))], &[("10:00", 9000)]));
    assert!(view.lost.is_none() && view.history.is_empty());
    assert_eq!(view.shown()[0].rates, None);
}

#[test]
fn a_pause_keeps_what_is_shown_and_the_next_rates_are_of_all_of_it() {
    let mut view = View::new();
    view.accept(sample(1, vec![session(1, "a", counts(0, 0, 0))], &[]));
    view.is_paused = true;
    view.accept(sample(2, Vec::new(), &[]));
    assert_eq!(ids(&view), [1]);
    view.is_paused = false;
    view.accept(sample(5, vec![session(1, "a", counts(400, 40, 0))], &[]));
    assert_eq!(view.shown()[0].legs().unwrap()[0].plain, 100.0);
}

#[test]
fn lines_are_filtered_and_sorted() {
    let mut view = View::new();
    let all = |at| {
        let sessions = [(1, "Ada", 10), (2, "bob", 30), (3, "adam", 20)];
        let session = |(id, user, len): (u64, &str, u64)| session(id, user, counts(len * at, 1, 0));
        sample(at, sessions.map(session).into(), &[])
    };
    view.accept(all(1));
    view.accept(all(2));
    assert_eq!(ids(&view), [2, 3, 1]);
    view.sort_by(Column::Plain);
    assert_eq!(ids(&view), [1, 3, 2]);
    view.sort_by(Column::User);
    assert_eq!(ids(&view), [1, 3, 2]);
    view.filter = "ADA".to_owned();
    assert_eq!(ids(&view), [1, 3]);
}

#[test]
fn the_selection_follows_its_connection_and_stays_near_when_that_ends() {
    let mut view = View::new();
    let all = |seconds, lens: &[(u64, u64)]| {
        let session = |(id, len): &(u64, u64)| session(*id, "a", counts(*len, 1, 0));
        sample(seconds, lens.iter().map(session).collect(), &[])
    };
    let selected = |view: &View| {
        let shown = view.shown();
        view.place(&shown).map(|place| shown[place].session.id)
    };
    assert_eq!(selected(&view), None);
    view.go(1);
    view.accept(all(1, &[(1, 0), (2, 0), (3, 0)]));
    view.accept(all(2, &[(1, 30), (2, 20), (3, 10)]));
    view.go(1);
    assert_eq!(selected(&view), Some(2));
    view.accept(all(3, &[(1, 31), (2, 90), (3, 11)]));
    assert_eq!((ids(&view), selected(&view)), (vec![2, 1, 3], Some(2)));
    view.ask_to_kill();
    view.accept(all(4, &[(1, 50), (3, 12)]));
    assert_eq!(selected(&view), Some(3));
    // The question is still about the same one.
    assert_eq!(view.mode, Mode::Kill { id: 2, whose: "a@".to_owned() });
    // The top is the top, whoever is there.
    view.go(isize::MIN);
    view.accept(all(5, &[(1, 51), (3, 99)]));
    assert_eq!(selected(&view), Some(3));
}
