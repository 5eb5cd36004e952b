//! What a server says of itself to the monitor account: a Galera node's state, a replica's threads.
//!
//! ```text
//! login (TLS as sessions have it) ─▶ wsrep_on? ─▶ wsrep_ready, wsrep_local_state_comment ─▶ SHOW REPLICA STATUS ─▶ quit
//! ```
//! An account that may not log in, by whatever method, or may not ask takes no server out of service: the operator gets a notice.
//!
//! Invariants: the password is wiped, never printed, and crosses no plain leg in clear.
//! Source: MariaDB "Galera Cluster status variables"; MySQL "SHOW REPLICA STATUS".
//! Not here: the check around it (`check`).

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use wire::connect::client_auth::{ClientExchange, Plugin, Step};
use wire::connect::{Greeting, Login, login};
use wire::response::{ErrPacket, eof, err, ok, text_result};
use wire::{Capabilities, Reader, command};
use zeroize::Zeroizing;

use super::Seen;
use crate::connect::{Channel, rsa};
use crate::route::Route;
use crate::{Address, Cause};

/// The monitor account.
pub(crate) struct Account {
    user: String,
    password: Zeroizing<String>,
}

impl Account {
    /// Reads the password: the file's first line.
    pub(crate) fn read(user: &str, password_file: &Path) -> io::Result<Self> {
        let text = Zeroizing::new(fs::read_to_string(password_file)?);
        let password = Zeroizing::new(text.lines().next().unwrap_or_default().to_owned());
        Ok(Self { user: user.to_owned(), password })
    }
}

/// Logs in and asks.
pub(super) async fn ask(
    server: &mut Channel,
    greeting: &Greeting,
    route: &Route,
    address: &Address,
    account: &Account,
) -> Result<Seen, Cause> {
    match log_in(server, greeting, route, address, account).await {
        Ok(()) => {}
        Err(Cause::Refused(error)) if CAN_NOT_LOG_IN.contains(&error.code) => {
            return Ok(can_not_log_in(&error));
        }
        Err(cause) => return Err(cause),
    }
    let seen = state(server).await?;
    server.begin_command();
    server.write(&[command::COM_QUIT]).await?;
    Ok(seen)
}

/// The server is there, and the operator has an account to look after.
pub(super) fn can_not_log_in(why: &impl fmt::Display) -> Seen {
    Seen::Fine { notice: format!("the monitor account can't log in: {why}") }
}

async fn log_in(
    server: &mut Channel,
    greeting: &Greeting,
    route: &Route,
    address: &Address,
    account: &Account,
) -> Result<(), Cause> {
    let plugin = Plugin::named(&greeting.auth_plugin).unwrap_or(Plugin::Native);
    let password = account.password.as_bytes();
    let tls = route.server_tls(address, greeting.capabilities)?;
    let capabilities = CAPABILITIES.with(Capabilities::SSL, tls.is_some());
    let login = Login {
        capabilities,
        max_packet_len: 1 << 24,
        charset: UTF8MB4_GENERAL_CI,
        user: account.user.clone().into_bytes(),
        auth_response: plugin.answer(password, &greeting.nonce).into(),
        auth_plugin: Some(plugin.name().to_vec()),
        ..Login::default()
    };
    let login = Zeroizing::new(login.build());
    if let Some(tls) = tls {
        server.write(&login::ssl_request(&login, capabilities)).await?;
        server.connect_tls(tls, route.server_name(address)?).await?;
    }
    server.write(&login).await?;
    let mut exchange = ClientExchange::new(plugin, password, greeting.nonce.clone(), server.leg.security());
    loop {
        let payload = server.read().await?;
        match payload.first() {
            Some(&ok::HEADER) => return Ok(()),
            Some(&err::HEADER) => return Err(Cause::Refused(ErrPacket::parse(&payload)?)),
            _ => match exchange.step(&payload)? {
                Step::Wait => {}
                Step::Send(answer) => server.write(&answer).await?,
                Step::Encrypt { server_key_pem, masked_password } => {
                    server.write(&rsa::encrypt(&server_key_pem, &masked_password)?).await?;
                }
            },
        }
    }
}

async fn state(server: &mut Channel) -> Result<Seen, Cause> {
    if let Ok(rows) = query(server, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'").await?
        && value(&rows, "wsrep_on").is_some_and(|on| on.eq_ignore_ascii_case("ON") || on == "1")
        && let Ok(rows) = query(server, GALERA).await?
        && let Some(reason) = galera_is_unfit(&rows)
    {
        return Ok(Seen::Unfit(reason));
    }
    let mut status = query(server, "SHOW REPLICA STATUS").await?;
    if status.as_ref().is_err_and(|error| error.code == PARSE_ERROR) {
        status = query(server, "SHOW SLAVE STATUS").await?;
    }
    Ok(match status {
        Ok(channels) => match channels.iter().find_map(replica_is_unfit) {
            Some(reason) => Seen::Unfit(reason),
            None => Seen::Fine { notice: String::new() },
        },
        Err(error) => {
            Seen::Fine { notice: format!("the monitor account can't see the replication's state: {error}") }
        }
    })
}

/// Column names and values of one row.
type Row = Vec<(String, String)>;

fn field<'a>(row: &'a Row, names: [&str; 2]) -> Option<&'a str> {
    row.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.as_str())
}

/// The value of a variable, in rows of a name and a value.
fn value<'a>(rows: &'a [Row], variable: &str) -> Option<&'a str> {
    rows.iter().find_map(|row| match row.as_slice() {
        [(_, name), (_, value)] if name.eq_ignore_ascii_case(variable) => Some(value.as_str()),
        _ => None,
    })
}

fn galera_is_unfit(rows: &[Row]) -> Option<String> {
    let state = value(rows, "wsrep_local_state_comment").unwrap_or("unknown");
    let is_ready = value(rows, "wsrep_ready").is_some_and(|ready| ready.eq_ignore_ascii_case("ON"));
    match (state, is_ready) {
        ("Synced", true) => None,
        ("Synced", false) => Some("the Galera node is not ready (wsrep_ready is OFF)".to_owned()),
        (state, _) => Some(format!("the Galera node is not Synced, but {state}")),
    }
}

fn replica_is_unfit(channel: &Row) -> Option<String> {
    let thread = |names| field(channel, names);
    let error = |names| match field(channel, names) {
        Some("") | None => String::new(),
        Some(error) => format!(": {error}"),
    };
    // "Connecting" is its source's trouble: without the source no replica would be left to read from.
    if thread(["Replica_IO_Running", "Slave_IO_Running"]) == Some("No") {
        let why = error(["Last_IO_Error", "Last_IO_Error"]);
        return Some(format!("the replica's receiver thread is stopped{why}"));
    }
    if thread(["Replica_SQL_Running", "Slave_SQL_Running"]) == Some("No") {
        let why = error(["Last_SQL_Error", "Last_SQL_Error"]);
        return Some(format!("the replica's applier thread is stopped{why}"));
    }
    None
}

/// The rows, or the server's error.
async fn query(server: &mut Channel, sql: &str) -> Result<Result<Vec<Row>, ErrPacket>, Cause> {
    server.begin_command();
    server.write(&[&[command::COM_QUERY], sql.as_bytes()].concat()).await?;
    let first = server.read().await?;
    match first.first() {
        Some(&err::HEADER) => return Ok(Err(ErrPacket::parse(&first)?)),
        Some(&ok::HEADER) => return Ok(Ok(Vec::new())),
        _ => {}
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut names = Vec::new();
    for _ in 0..Reader::new(&first).lenenc_int()? {
        names.push(text(text_result::column_name(&server.read().await?)?));
    }
    server.read().await?; // EOF behind the columns.
    let mut rows = Vec::new();
    loop {
        let payload = server.read().await?;
        if err::ends_reply(&payload) {
            return Ok(Err(ErrPacket::parse(&payload)?));
        }
        if eof::ends_rows(&payload, payload.len(), false) {
            return Ok(Ok(rows));
        }
        let values = text_result::row(&payload)?;
        let values = values.into_iter().map(|value| value.map(text).unwrap_or_default());
        rows.push(names.iter().cloned().zip(values).collect());
    }
}

const GALERA: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state_comment')";
/// Without CLIENT_DEPRECATE_EOF an EOF stands behind the columns and behind the rows, on every server.
const CAPABILITIES: Capabilities = Capabilities::LONG_PASSWORD
    .with(Capabilities::PROTOCOL_41, true)
    .with(Capabilities::TRANSACTIONS, true)
    .with(Capabilities::SECURE_CONNECTION, true)
    .with(Capabilities::PLUGIN_AUTH, true);
/// ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_NOT_SUPPORTED_AUTH_MODE, ER_SERVER_IS_IN_SECURE_AUTH_MODE;
/// ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED; ER_PLUGIN_IS_NOT_LOADED; ER_MUST_CHANGE_PASSWORD,
/// ER_MUST_CHANGE_PASSWORD_LOGIN; ER_ACCOUNT_HAS_BEEN_LOCKED, ER_SECURE_TRANSPORT_REQUIRED,
/// ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK; MariaDB's ER_USER_IS_BLOCKED, ER_ACCOUNT_HAS_BEEN_LOCKED.
const CAN_NOT_LOG_IN: [u16; 14] =
    [1045, 1698, 1251, 1275, 1203, 1226, 1524, 1820, 1862, 3118, 3159, 3955, 4150, 4151];
/// ER_PARSE_ERROR: a server of before MySQL 8.0.22 or MariaDB 10.5.
const PARSE_ERROR: u16 = 1064;
/// Known to every version of both servers.
const UTF8MB4_GENERAL_CI: u8 = 45;

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<Row> {
        let row = |(name, value): &(&str, &str)| {
            vec![("Variable_name".to_owned(), (*name).to_owned()), ("Value".to_owned(), (*value).to_owned())]
        };
        pairs.iter().map(row).collect()
    }

    #[test]
    fn a_galera_node_must_be_synced_and_ready() {
        let rows = |state, ready| variables(&[("wsrep_local_state_comment", state), ("wsrep_ready", ready)]);
        assert_eq!(galera_is_unfit(&rows("Synced", "ON")), None);
        assert!(galera_is_unfit(&rows("Synced", "OFF")).unwrap().contains("wsrep_ready"));
        assert!(galera_is_unfit(&rows("Donor/Desynced", "ON")).unwrap().contains("Donor/Desynced"));
        assert!(galera_is_unfit(&[]).unwrap().contains("unknown"));
    }

    #[test]
    fn a_replica_must_have_both_threads_and_may_look_for_its_source() {
        let channel = |io: &str, sql: &str| -> Row {
            [("Replica_IO_Running", io), ("Replica_SQL_Running", sql), ("Last_SQL_Error", "Duplicate entry")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec()
        };
        assert_eq!(replica_is_unfit(&channel("Yes", "Yes")), None);
        assert_eq!(replica_is_unfit(&channel("Connecting", "Yes")), None);
        assert!(replica_is_unfit(&channel("No", "Yes")).unwrap().contains("receiver"));
        assert!(replica_is_unfit(&channel("Yes", "No")).unwrap().contains("Duplicate entry"));
    }
}
