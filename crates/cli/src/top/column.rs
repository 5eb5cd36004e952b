//! The columns of the list of connections: their cells, their order, and which of them a width has room for.
//!
//! Not here: drawing (`screen`).

use std::cmp::Ordering;

use super::figures;
use super::view::Line;

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Id,
    User,
    Host,
    Database,
    Server,
    Command,
    Time,
    ClientLeg,
    ServerLeg,
    Plain,
    ClientPacked,
    ServerPacked,
    ClientRatio,
    ServerRatio,
    Cpu,
}

impl Column {
    /// From left to right.
    pub(super) const ALL: [Self; 15] = [
        Self::Id,
        Self::User,
        Self::Host,
        Self::Database,
        Self::Server,
        Self::Command,
        Self::Time,
        Self::ClientLeg,
        Self::ServerLeg,
        Self::Plain,
        Self::ClientPacked,
        Self::ServerPacked,
        Self::ClientRatio,
        Self::ServerRatio,
        Self::Cpu,
    ];

    /// What is given up last comes first. 80 columns have room for ten.
    const BY_NEED: [Self; 15] = [
        Self::Id,
        Self::Plain,
        Self::ClientPacked,
        Self::ServerPacked,
        Self::User,
        Self::Cpu,
        Self::ClientLeg,
        Self::ServerLeg,
        Self::Command,
        Self::Time,
        Self::ClientRatio,
        Self::ServerRatio,
        Self::Host,
        Self::Database,
        Self::Server,
    ];

    /// Those that fit, from left to right; at least the first.
    pub(super) fn fitting(width: u16) -> Vec<Self> {
        let mut left = width.saturating_add(1);
        let fits = |column: &&Self| {
            let rest = left.checked_sub(column.width() + 1);
            left = rest.unwrap_or(left);
            rest.is_some() || **column == Self::Id
        };
        let fitting: Vec<Self> = Self::BY_NEED.iter().take_while(fits).copied().collect();
        Self::ALL.into_iter().filter(|column| fitting.contains(column)).collect()
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Id => "ID",
            Self::User => "USER",
            Self::Host => "HOST",
            Self::Database => "DATABASE",
            Self::Server => "SERVER",
            Self::Command => "COMMAND",
            Self::Time => "TIME",
            Self::ClientLeg => "C-LEG",
            Self::ServerLeg => "S-LEG",
            Self::Plain => "PLAIN/s",
            Self::ClientPacked => "C-LEG/s",
            Self::ServerPacked => "S-LEG/s",
            Self::ClientRatio => "C-RATIO",
            Self::ServerRatio => "S-RATIO",
            Self::Cpu => "CPU%",
        }
    }

    pub(super) const fn width(self) -> u16 {
        match self {
            Self::Cpu => 5,
            Self::Id | Self::Time => 6,
            Self::ClientLeg | Self::ServerLeg | Self::ClientRatio | Self::ServerRatio | Self::Command => 7,
            Self::Plain | Self::ClientPacked | Self::ServerPacked => 8,
            Self::User => 9,
            Self::Database => 12,
            Self::Host | Self::Server => 20,
        }
    }

    /// Numbers stand at the right, and the largest of them first.
    pub(super) const fn is_number(self) -> bool {
        !matches!(
            self,
            Self::User
                | Self::Host
                | Self::Database
                | Self::Server
                | Self::Command
                | Self::ClientLeg
                | Self::ServerLeg
        )
    }

    /// The next one to the right, or to the left.
    pub(super) fn beside(self, to_the_right: bool) -> Self {
        let mut all: Vec<Self> = Self::ALL.into();
        if !to_the_right {
            all.reverse();
        }
        all.iter().copied().cycle().skip_while(|column| *column != self).nth(1).unwrap_or(self)
    }

    pub(super) fn cell(self, line: &Line) -> String {
        let session = &line.session;
        let [client_leg, server_leg] = &session.legs;
        let text = |text: &String| if text.is_empty() { "-".to_owned() } else { text.clone() };
        match self {
            Self::Id => session.id.to_string(),
            Self::User => text(&session.user),
            Self::Host => text(&session.host),
            Self::Database => text(&session.database),
            Self::Server => text(&session.server),
            Self::Command => text(&session.command),
            Self::Time => figures::seconds(session.seconds),
            Self::ClientLeg => text(client_leg),
            Self::ServerLeg => text(server_leg),
            Self::ClientRatio | Self::ServerRatio => figures::ratio(self.number(line)),
            Self::Cpu => figures::percent(self.number(line)),
            Self::Plain | Self::ClientPacked | Self::ServerPacked => figures::bytes(self.number(line)),
        }
    }

    /// `None` is less than every number.
    pub(super) fn compare(self, a: &Line, b: &Line) -> Ordering {
        if self.is_number() {
            let key = |line| self.number(line).unwrap_or(f64::NEG_INFINITY);
            return key(a).total_cmp(&key(b));
        }
        self.cell(a).cmp(&self.cell(b))
    }

    fn number(self, line: &Line) -> Option<f64> {
        let [client_ratio, server_ratio] = line.ratios();
        match self {
            Self::Id => Some(line.session.id as f64),
            Self::Time => Some(line.session.seconds as f64),
            Self::ClientRatio => client_ratio,
            Self::ServerRatio => server_ratio,
            Self::Plain => line.legs().map(|[client, _]| client.plain),
            Self::ClientPacked => line.legs().map(|[client, _]| client.packed),
            Self::ServerPacked => line.legs().map(|[_, server]| server.packed),
            Self::Cpu => line.legs().map(|[client, server]| client.cpu + server.cpu),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_columns_have_room_for_what_is_needed_and_one_for_the_id() {
        for width in 0..300 {
            let fitting = Column::fitting(width);
            let used: u16 = fitting.iter().map(|column| column.width() + 1).sum();
            assert!(used <= width + 1 || fitting == [Column::Id], "{width}: {fitting:?}");
        }
        assert_eq!(Column::fitting(80).len(), 10);
        assert_eq!(Column::fitting(200), Column::ALL);
        assert_eq!(Column::fitting(24), [Column::Id, Column::Plain, Column::ClientPacked]);
    }

    #[test]
    fn the_columns_go_round() {
        assert_eq!(Column::Plain.beside(true), Column::ClientPacked);
        assert_eq!((Column::Cpu.beside(true), Column::Id.beside(false)), (Column::Id, Column::Cpu));
    }
}
