//! Which connections are listed, and how: `sort=plain&order=desc&filter=user:app zstd&offset=0&limit=50`.
//!
//! Each word of the filter must be in one of a connection's texts, or in the named one.
//! Not here: what a line has (`line`).

use std::cmp::Ordering;

use super::line::Line;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    sort: &'static str,
    descending: bool,
    /// In lower case.
    words: Vec<String>,
    pub(super) offset: usize,
    limit: usize,
}

/// What can't be asked for.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadOrder {
    #[error("can't sort by '{0}': there is {all}", all = SORTS.join(", "))]
    Sort(String),
    #[error("'{0}' must be a number, at most {1}")]
    Number(&'static str, usize),
    #[error("'order' must be asc or desc")]
    Direction,
    #[error("there is no '{0}': there is sort, order, filter, offset and limit")]
    Name(String),
}

impl Order {
    /// Reads a query.
    pub(crate) fn parse(query: &str) -> Result<Self, BadOrder> {
        let mut order =
            Self { sort: "plain", descending: true, words: Vec::new(), offset: 0, limit: LIMIT_MAX };
        let number = |name, value: &str, max| {
            value.parse().ok().filter(|number| *number <= max).ok_or(BadOrder::Number(name, max))
        };
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = decoded(value);
            match name {
                "sort" => {
                    let known = SORTS.into_iter().find(|known| *known == value);
                    order.sort = known.ok_or(BadOrder::Sort(value))?;
                }
                "order" => order.descending = is_descending(&value)?,
                "filter" => {
                    order.words = value.to_lowercase().split_whitespace().map(str::to_owned).collect()
                }
                "offset" => order.offset = number("offset", &value, OFFSET_MAX)?,
                "limit" => order.limit = number("limit", &value, LIMIT_MAX)?,
                _ => return Err(BadOrder::Name(name.to_owned())),
            }
        }
        Ok(order)
    }

    /// How many pass the filter, and those that are asked for.
    pub(super) fn apply<'a>(&self, lines: &'a [Line]) -> (usize, Vec<&'a Line>) {
        let mut matching: Vec<(&Line, Key)> =
            lines.iter().filter(|line| self.matches(line)).map(|line| (line, key(line, self.sort))).collect();
        matching.sort_by(|(a, a_key), (b, b_key)| {
            let order = a_key.compare(b_key);
            let order = if self.descending { order.reverse() } else { order };
            order.then(a.id().cmp(&b.id()))
        });
        let count = matching.len();
        (count, matching.into_iter().map(|(line, _)| line).skip(self.offset).take(self.limit).collect())
    }

    fn matches(&self, line: &Line) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let texts = FILTERS.map(|name| (name, text(line, name).to_lowercase()));
        self.words.iter().all(|word| {
            let named = word.split_once(':').filter(|(name, _)| FILTERS.contains(name));
            texts.iter().any(|(name, text)| match named {
                Some((wanted, rest)) => wanted == *name && text.contains(rest),
                None => text.contains(word.as_str()),
            })
        })
    }
}

fn is_descending(value: &str) -> Result<bool, BadOrder> {
    match value {
        "asc" => Ok(false),
        "desc" => Ok(true),
        _ => Err(BadOrder::Direction),
    }
}

enum Key {
    Number(f64),
    Text(String),
}

impl Key {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        }
    }
}

/// What is unknown is less than every number.
fn key(line: &Line, sort: &str) -> Key {
    let [client_ratio, server_ratio] = line.ratios();
    let now = line.now;
    let number = |number: Option<f64>| Key::Number(number.unwrap_or(f64::NEG_INFINITY));
    match sort {
        "id" => number(Some(line.id() as f64)),
        "time" => number(Some(line.connection.command_age.as_secs_f64())),
        "plain" => number(now.map(|now| now.plain as f64)),
        "client_packed" => number(now.map(|now| now.client_packed as f64)),
        "server_packed" => number(now.map(|now| now.server_packed as f64)),
        "cpu" => number(now.map(|now| now.cpu as f64)),
        "client_ratio" => number(client_ratio),
        "server_ratio" => number(server_ratio),
        "saved" => number(Some(line.saved_len() as f64)),
        name => Key::Text(text(line, name).to_lowercase()),
    }
}

fn text(line: &Line, name: &str) -> String {
    let facts = line.connection.logged_in.as_ref();
    let fact = |of: fn(&proxy::LoggedIn) -> Option<&str>| facts.and_then(of).unwrap_or_default().to_owned();
    match name {
        "user" => fact(|facts| Some(&facts.user)),
        "host" => fact(|facts| Some(&facts.client)),
        "database" => fact(|facts| facts.database.as_deref()),
        "server" => fact(|facts| Some(&facts.server)),
        "command" => line.connection.command_name().to_owned(),
        "listener" => line.connection.listener.to_string(),
        "client_leg" => line.leg(|facts| facts.client_leg),
        "server_leg" => line.leg(|facts| facts.server_leg),
        _ => String::new(),
    }
}

/// `%41` and `+`, as forms write them. What is not UTF-8 is replaced.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = match after {
            [a, b, ..] if *first == b'%' => {
                std::str::from_utf8(&[*a, *b]).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok())
            }
            _ => None,
        };
        rest = if hex.is_some() { after.get(2..).unwrap_or_default() } else { after };
        bytes.push(hex.unwrap_or(if *first == b'+' { b' ' } else { *first }));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What the list is sorted by.
const SORTS: [&str; 17] = [
    "id",
    "user",
    "host",
    "database",
    "server",
    "command",
    "time",
    "client_leg",
    "server_leg",
    "plain",
    "client_packed",
    "server_packed",
    "client_ratio",
    "server_ratio",
    "cpu",
    "listener",
    "saved",
];
/// What is filtered by.
const FILTERS: [&str; 8] =
    ["user", "host", "database", "server", "command", "listener", "client_leg", "server_leg"];
/// More than a screen has.
const LIMIT_MAX: usize = 200;
/// More connections than a process can have.
const OFFSET_MAX: usize = 10_000_000;

#[cfg(test)]
mod tests {
    use super::super::line::tests::line;
    use super::*;

    fn listed(query: &str, lines: &[Line]) -> (usize, Vec<u64>) {
        let (matching, shown) = Order::parse(query).unwrap().apply(lines);
        (matching, shown.iter().map(|line| line.id()).collect())
    }

    #[test]
    fn connections_are_filtered_sorted_and_cut() {
        let users = ["app", "Report", "app", "etl"];
        let lines: Vec<_> = users.iter().zip(1..).map(|(user, id)| line(id, user)).collect();
        assert_eq!(listed("", &lines), (4, vec![1, 2, 3, 4]));
        assert_eq!(listed("sort=id&order=desc&limit=2&offset=1", &lines), (4, vec![3, 2]));
        assert_eq!(listed("sort=user&order=asc", &lines), (4, vec![1, 3, 4, 2]));
        assert_eq!(listed("filter=APP", &lines), (2, vec![1, 3]));
        assert_eq!(listed("filter=app+10.0.0.3", &lines), (1, vec![3]));
        assert_eq!(listed("filter=user%3Areport", &lines), (1, vec![2]));
        assert_eq!(listed("filter=host%3Areport", &lines), (0, vec![]));
        assert_eq!(listed("filter=client_leg:zstd%20server_leg:-", &lines).0, 4);
    }

    #[test]
    fn what_can_not_be_asked_is_named() {
        let told = |query| Order::parse(query).unwrap_err().to_string();
        assert!(told("sort=password").contains("can't sort by 'password': there is id, user"));
        assert!(told("limit=201").contains("at most 200") && told("offset=-1").contains("number"));
        assert!(told("order=up").contains("asc or desc") && told("color=red").contains("no 'color'"));
    }

    #[test]
    fn a_query_is_decoded_whatever_it_holds() {
        for (text, plain) in
            [("a%20b+c", "a b c"), ("%zz%4", "%zz%4"), ("%C3%A4", "ä"), ("%ff", "\u{fffd}"), ("é%", "é%")]
        {
            assert_eq!(decoded(text), plain);
        }
    }
}
