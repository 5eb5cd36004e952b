//! How long a user's replies are, each: what packing costs for every reply, however short, is nothing to a dump and a third of a
//! point select.
//!
//! Sessions of one user are mostly of one kind, and the next one is taken to be of the kind that most of the last were.
//!
//! Invariants: bounded memory; what was told long ago says nothing.
//!
//! Not here: what follows from it (`super`).

use std::time::Duration;

/// By user.
#[derive(Debug, Default)]
pub(super) struct ReplyLens {
    users: Vec<User>,
}

#[derive(Debug)]
struct User {
    key: u64,
    /// Of the last sessions, or long parts of them: bytes for each reply.
    lens: [f64; LAST],
    told: usize,
    at: Duration,
}

impl ReplyLens {
    /// A session of the user `key` got so many replies, of so many plain bytes together.
    pub(super) fn told(&mut self, now: Duration, key: u64, replies: u64, plain_len: u64) {
        if replies == 0 {
            return;
        }
        let len = plain_len as f64 / replies as f64;
        let at = self.users.iter().position(|user| user.key == key);
        let user = match at.and_then(|at| self.users.get_mut(at)) {
            Some(user) => user,
            None => {
                if self.users.len() >= USERS_MAX
                    && let Some((oldest, _)) = self.users.iter().enumerate().min_by_key(|(_, user)| user.at)
                {
                    self.users.swap_remove(oldest);
                }
                self.users.push(User { key, lens: [0.0; LAST], told: 0, at: now });
                let Some(user) = self.users.last_mut() else { return };
                user
            }
        };
        if now.saturating_sub(user.at) >= super::TRUE_FOR {
            user.told = 0;
        }
        if let Some(oldest) = user.lens.get_mut(user.told % LAST) {
            *oldest = len;
        }
        (user.told, user.at) = (user.told + 1, now);
    }

    /// Bytes of such a user's reply, mostly; the longer where there were two kinds.
    pub(super) fn of(&self, now: Duration, key: u64) -> Option<f64> {
        let user = self.users.iter().find(|user| user.key == key)?;
        if now.saturating_sub(user.at) >= super::TRUE_FOR {
            return None;
        }
        let mut lens = user.lens;
        let lens = lens.get_mut(..user.told.min(LAST))?;
        lens.sort_by(f64::total_cmp);
        lens.get(lens.len() / 2).copied()
    }
}

/// Sessions that count.
const LAST: usize = 3;
const USERS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn s(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn a_user_is_of_the_kind_that_most_of_the_last_sessions_were() {
        let mut lens = ReplyLens::default();
        assert_eq!(lens.of(s(0), 1), None);
        lens.told(s(1), 1, 10, 0);
        lens.told(s(1), 1, 0, 0);
        lens.told(s(1), 1, 1, 1 << 20);
        assert_eq!(lens.of(s(2), 1), Some(1_048_576.0));
        lens.told(s(3), 1, 10, 2_000);
        assert_eq!((lens.of(s(4), 1), lens.of(s(4), 2)), (Some(200.0), None));
        // Four sessions were told of since the first.
        lens.told(s(5), 1, 1, 1 << 20);
        lens.told(s(6), 1, 1, 1 << 20);
        assert_eq!(lens.of(s(7), 1), Some(1_048_576.0));
        assert_eq!(lens.of(s(606), 1), None);
        lens.told(s(607), 1, 1, 100);
        assert_eq!(lens.of(s(608), 1), Some(100.0));
    }

    #[test]
    fn many_users_are_not_all_remembered() {
        let mut lens = ReplyLens::default();
        for key in 0..200 {
            lens.told(s(key), key, 1, 100);
        }
        assert_eq!(lens.users.len(), USERS_MAX);
        assert_eq!((lens.of(s(200), 0), lens.of(s(200), 199)), (None, Some(100.0)));
    }
}
