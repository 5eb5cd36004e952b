//! What a key does, as in htop.
//!
//! Not here: reading keys (`mod`), what the screen says of them (`screen`).

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::column::Column;
use super::view::{Mode, View};

/// What is to be done outside of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Quit,
    Kill(u64),
    /// Draw everything anew: something else has written on the terminal.
    Redraw,
}

/// Takes a key; `page` is how many connections are shown at once.
pub(super) fn press(view: &mut View, key: KeyEvent, page: usize) -> Option<Wish> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    view.notice = None;
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Wish::Quit),
            KeyCode::Char('l') => Some(Wish::Redraw),
            _ => None,
        };
    }
    if key.code == KeyCode::F(10) {
        return Some(Wish::Quit);
    }
    match view.mode.clone() {
        Mode::List => in_list(view, key.code, page),
        Mode::Filter => {
            in_filter(view, key.code, page);
            None
        }
        Mode::Kill { id, .. } => {
            view.mode = Mode::List;
            matches!(key.code, KeyCode::Char('y' | 'Y')).then_some(Wish::Kill(id))
        }
        Mode::Help => {
            view.mode = Mode::List;
            None
        }
    }
}

fn in_list(view: &mut View, key: KeyCode, page: usize) -> Option<Wish> {
    match key {
        KeyCode::Char('q') => return Some(Wish::Quit),
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => view.mode = Mode::Help,
        KeyCode::Char('/') | KeyCode::F(4) => view.mode = Mode::Filter,
        KeyCode::Char('k') | KeyCode::F(9) => view.ask_to_kill(),
        KeyCode::Char('p') => view.is_paused = !view.is_paused,
        KeyCode::Char('>') | KeyCode::F(6) => view.sort_by(view.sort.beside(true)),
        KeyCode::Char('<') => view.sort_by(view.sort.beside(false)),
        KeyCode::Char('I') => view.descending = !view.descending,
        KeyCode::Char('N') => view.sort_by(Column::Id),
        KeyCode::Char('U') => view.sort_by(Column::User),
        KeyCode::Char('T') => view.sort_by(Column::Time),
        KeyCode::Char('P') => view.sort_by(Column::Cpu),
        KeyCode::Char('B') => view.sort_by(Column::Plain),
        KeyCode::Char('R') => view.sort_by(Column::ClientRatio),
        KeyCode::Esc => view.filter.clear(),
        _ => travel(view, key, page),
    }
    None
}

fn in_filter(view: &mut View, key: KeyCode, page: usize) {
    match key {
        KeyCode::Enter | KeyCode::F(4) => view.mode = Mode::List,
        KeyCode::Esc => {
            view.filter.clear();
            view.mode = Mode::List;
        }
        KeyCode::Backspace => {
            view.filter.pop();
        }
        KeyCode::Char(letter) if view.filter.len() < FILTER_LEN_MAX => view.filter.push(letter),
        _ => travel(view, key, page),
    }
}

fn travel(view: &mut View, key: KeyCode, page: usize) {
    let page = isize::try_from(page.max(1)).unwrap_or(isize::MAX);
    match key {
        KeyCode::Up => view.go(-1),
        KeyCode::Down => view.go(1),
        KeyCode::PageUp => view.go(-page),
        KeyCode::PageDown => view.go(page),
        KeyCode::Home => view.go(isize::MIN),
        KeyCode::End => view.go(isize::MAX),
        _ => {}
    }
}

/// The help's lines: keys, and what they do.
pub(super) const HELP: [(&str, &str); 12] = [
    ("arrows PgUp PgDn Home End", "select a connection"),
    ("F6 > <", "sort by the next column, by the one before"),
    ("B P R", "sort by bytes, CPU, ratio of the client leg"),
    ("T N U", "sort by time, id, user"),
    ("I", "turn the order round"),
    ("F4 /", "show only what contains a text"),
    ("Esc", "show all again"),
    ("F9 k", "kill the selected connection, after a question"),
    ("p", "pause, and go on"),
    ("Ctrl-L", "draw the screen anew"),
    ("F1 ?", "this help"),
    ("F10 q", "quit"),
];

/// Nobody looks for more.
const FILTER_LEN_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::sample::{Sample, Session};
    use super::*;

    fn view() -> View {
        let mut view = View::new();
        let session = |id| Session { id, user: format!("user{id}"), ..Session::default() };
        let sessions = (1..=50).map(session).collect();
        view.accept(Sample { at: Duration::from_secs(1), sessions, ..Sample::default() });
        view
    }

    fn press_all(view: &mut View, keys: &[KeyCode]) -> Vec<Wish> {
        keys.iter().filter_map(|key| press(view, KeyEvent::from(*key), 10)).collect()
    }

    fn place(view: &View) -> Option<usize> {
        view.place(&view.shown())
    }

    #[test]
    fn arrows_and_pages_move_within_the_list() {
        let mut view = view();
        for (key, expected) in [
            (KeyCode::Up, 0),
            (KeyCode::Down, 1),
            (KeyCode::PageDown, 11),
            (KeyCode::PageUp, 1),
            (KeyCode::End, 49),
            (KeyCode::Down, 49),
            (KeyCode::Home, 0),
        ] {
            press_all(&mut view, &[key]);
            assert_eq!(place(&view), Some(expected), "{key:?}");
        }
    }

    #[test]
    fn a_connection_is_killed_only_after_a_yes() {
        use KeyCode::{Char, Down, Enter, F};
        let mut view = view();
        assert_eq!(press_all(&mut view, &[Down, Char('k'), Char('n')]), []);
        assert_eq!(press_all(&mut view, &[F(9), Enter, Char('y')]), []);
        assert_eq!(press_all(&mut view, &[F(9)]), []);
        assert_eq!(view.mode, Mode::Kill { id: 2, whose: "user2@".to_owned() });
        assert_eq!(press_all(&mut view, &[Char('y')]), [Wish::Kill(2)]);
        assert_eq!(view.mode, Mode::List);
        // Nobody there, nobody to kill.
        press_all(&mut view, &[Char('/'), Char('!'), Enter, Char('k'), Down]);
        assert_eq!((&view.mode, place(&view)), (&Mode::List, None));
    }

    #[test]
    fn letters_belong_to_the_filter_while_it_is_written() {
        use KeyCode::{Backspace, Char, Enter, Esc, F};
        let mut view = view();
        assert_eq!(press_all(&mut view, &[Char('/'), Char('R'), Char('4'), Char('q'), Backspace]), []);
        assert_eq!((view.filter.as_str(), view.shown().len()), ("R4", 11));
        press_all(&mut view, &[Enter, Char('p')]);
        assert!(view.is_paused && view.filter == "R4");
        press_all(&mut view, &[Esc]);
        assert_eq!(view.shown().len(), 50);
        assert_eq!(press_all(&mut view, &[F(4), F(10)]), [Wish::Quit]);
    }

    #[test]
    fn every_way_out_leads_out() {
        let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        let mut view = view();
        assert_eq!(press_all(&mut view, &[KeyCode::Char('?'), KeyCode::Char('q')]), []);
        assert_eq!(press_all(&mut view, &[KeyCode::Char('q')]), [Wish::Quit]);
        assert_eq!(press(&mut view, control('c'), 1), Some(Wish::Quit));
        assert_eq!(press(&mut view, control('l'), 1), Some(Wish::Redraw));
    }

    #[test]
    fn letters_and_arrows_choose_the_order() {
        let mut view = view();
        for (key, sort, descending) in [
            (KeyCode::Char('P'), Column::Cpu, true),
            (KeyCode::Char('P'), Column::Cpu, false),
            (KeyCode::F(6), Column::Id, true),
            (KeyCode::Char('>'), Column::User, false),
            (KeyCode::Char('I'), Column::User, true),
            (KeyCode::Char('<'), Column::Id, true),
        ] {
            press_all(&mut view, &[key]);
            assert_eq!((view.sort, view.descending), (sort, descending), "{key:?}");
        }
    }
}
