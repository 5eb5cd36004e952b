//! What is known of a server's health, without I/O or clock.
//!
//! ```text
//! up ── FALL times silent in a row, nobody let in between, or once unfit ──▶ down ── RISE times fine in a row ──▶ up
//! ```
//! Not here: who looks (`check`), what a session makes of it (`Servers`).

/// The outcome of a look at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// It answers. The notice tells an operator what the look could not find out.
    Fine {
        /// Empty for none.
        notice: String,
    },
    /// It can't be reached or does not answer as a server: maybe just now.
    Silent(String),
    /// It says itself that it should not be used.
    Unfit(String),
}

/// What a look changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Sessions may come.
    Up,
    /// No more sessions.
    Down(String),
    /// Something new for the operator.
    Notice(String),
}

/// A server's health. A new server is up, so that a start waits for nobody.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Why it is down.
    down: Option<String>,
    /// Looks in a row that spoke for the other state.
    streak: u8,
    notice: String,
}

impl Health {
    pub(super) const fn is_up(&self) -> bool {
        self.down.is_none()
    }

    /// Why it is down; empty if it isn't.
    pub(super) fn reason(&self) -> &str {
        self.down.as_deref().unwrap_or_default()
    }

    /// Takes note of a look.
    pub(super) fn see(&mut self, seen: Seen) -> Option<Change> {
        match seen {
            Seen::Fine { notice } if self.is_up() => {
                self.streak = 0;
                let is_new = notice != self.notice;
                self.notice = notice;
                (is_new && !self.notice.is_empty()).then(|| Change::Notice(self.notice.clone()))
            }
            Seen::Fine { .. } => {
                self.streak += 1;
                if self.streak < RISE {
                    return None;
                }
                *self = Self::default();
                Some(Change::Up)
            }
            Seen::Silent(reason) if self.is_up() => {
                self.streak += 1;
                (self.streak >= FALL).then(|| self.fall(reason))
            }
            Seen::Unfit(reason) if self.is_up() => Some(self.fall(reason)),
            Seen::Silent(reason) | Seen::Unfit(reason) => {
                self.fall(reason);
                None
            }
        }
    }

    /// A session was let in: what spoke for the other state is of the past. Only looks bring a server up again.
    pub(super) const fn let_in(&mut self) {
        if self.is_up() {
            self.streak = 0;
        }
    }

    fn fall(&mut self, reason: String) -> Change {
        self.streak = 0;
        self.down = Some(reason.clone());
        Change::Down(reason)
    }
}

/// One lost packet, or a server at its limit for a second, is no reason; as HAProxy's `fall`.
const FALL: u8 = 3;
/// A server that starts may greet before it is of use; as HAProxy's `rise`.
const RISE: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> Seen {
        Seen::Fine { notice: String::new() }
    }

    #[test]
    fn silence_must_last_and_so_must_recovery() {
        let mut health = Health::default();
        let silent = || Seen::Silent("connection refused".to_owned());
        assert_eq!([health.see(silent()), health.see(silent())], [None, None]);
        assert_eq!(health.see(fine()), None);
        assert_eq!([health.see(silent()), health.see(silent())], [None, None]);
        assert_eq!(health.see(silent()), Some(Change::Down("connection refused".to_owned())));
        assert_eq!((health.is_up(), health.reason()), (false, "connection refused"));
        assert_eq!([health.see(fine()), health.see(silent()), health.see(fine())], [None, None, None]);
        assert_eq!(health.see(fine()), Some(Change::Up));
        assert!(health.is_up());
    }

    #[test]
    fn a_session_that_is_let_in_ends_a_row_of_failures_and_brings_no_server_up() {
        let mut health = Health::default();
        let silent = || Seen::Silent("no answer".to_owned());
        for _ in 0..4 {
            assert_eq!(health.see(silent()), None);
            assert_eq!(health.see(silent()), None);
            health.let_in();
        }
        assert_eq!(health.see(Seen::Unfit("Donor".to_owned())), Some(Change::Down("Donor".to_owned())));
        health.see(fine());
        health.let_in();
        assert!(!health.is_up());
        assert_eq!(health.see(fine()), Some(Change::Up));
    }

    #[test]
    fn a_servers_own_word_counts_at_once() {
        let mut health = Health::default();
        assert_eq!(health.see(Seen::Unfit("Donor".to_owned())), Some(Change::Down("Donor".to_owned())));
        assert_eq!(health.see(Seen::Unfit("Joining".to_owned())), None);
        assert_eq!(health.reason(), "Joining");
    }

    #[test]
    fn a_notice_is_told_when_it_is_new() {
        let mut health = Health::default();
        let denied = || Seen::Fine { notice: "access denied".to_owned() };
        assert_eq!(health.see(denied()), Some(Change::Notice("access denied".to_owned())));
        assert_eq!([health.see(denied()), health.see(fine())], [None, None]);
        assert!(health.see(denied()).is_some());
    }
}
