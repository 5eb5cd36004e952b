//! Ends a handshake whose client left or was refused before its login, so that the server doesn't count it.
//!
//! A connection that closes between greeting and login counts towards `max_connect_errors`, and after 100 of
//! them the server blocks the proxy's address for everybody. A login that is merely denied does not count. So
//! the handshake is completed with an account that cannot exist, as MySQL Router does.
//!
//! Source: measured with 1,000 probes on MySQL 9.7 and MariaDB 10.11 (`tests/it/live/probes.rs`); MySQL Router
//! `classic_greeting_forwarder.cc`. Not here: what the client is told (`super`).

use std::time::Duration;

use tokio::time::timeout;
use wire::Capabilities;
use wire::connect::Login;
use wire::response::{ErrPacket, err, ok};

use super::Channel;
use crate::Cause;

/// Completes a handshake whose login is due as nobody, and closes. The error with which the server refuses it, mostly.
pub(crate) async fn end_handshake(server: Channel) -> Result<Option<ErrPacket>, Cause> {
    within_time(log_in_as_nobody(server)).await
}

/// Ends an authentication exchange in which it is the client's turn, with wrong answers, and closes.
pub(crate) async fn end_exchange(server: Channel) -> Result<Option<ErrPacket>, Cause> {
    within_time(answer_wrongly(server)).await
}

async fn within_time(
    farewell: impl Future<Output = Result<Option<ErrPacket>, Cause>>,
) -> Result<Option<ErrPacket>, Cause> {
    let ended = timeout(FAREWELL_TIMEOUT, farewell).await;
    ended.unwrap_or(Err(Cause::TimedOut(FAREWELL_TIMEOUT.as_secs())))
}

async fn log_in_as_nobody(mut server: Channel) -> Result<Option<ErrPacket>, Cause> {
    let login = Login {
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::LONG_PASSWORD
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH,
        max_packet_len: 1 << 24,
        charset: UTF8MB4_GENERAL_CI,
        user: NOBODY.to_vec(),
        auth_plugin: Some(b"mysql_native_password".to_vec()),
        ..Login::default()
    };
    server.write(&login.build()).await?;
    let said = server.read().await?;
    match said.first() {
        Some(&err::HEADER) => Ok(Some(ErrPacket::parse(&said)?)),
        Some(&ok::HEADER) | None => Ok(None),
        // A switch, or more data.
        Some(_) => answer_wrongly(server).await,
    }
}

async fn answer_wrongly(mut server: Channel) -> Result<Option<ErrPacket>, Cause> {
    for _ in 0..ROUNDS_MAX {
        server.write(&WRONG_ANSWER).await?;
        let said = server.read().await?;
        match said.first() {
            Some(&err::HEADER) => return Ok(Some(ErrPacket::parse(&said)?)),
            Some(&ok::HEADER) | None => break,
            Some(_) => {}
        }
    }
    Ok(None)
}

/// An account name that says in the server's log what happened.
const NOBODY: &[u8] = b"wirepress_probe";
/// As long as mysql_native_password's scramble: MariaDB counts any other length as a broken handshake, and MySQL
/// counts an empty answer. caching_sha2_password takes it for a password that can't be decrypted.
const WRONG_ANSWER: [u8; 20] = [0; 20];
/// Known to every version of both servers.
const UTF8MB4_GENERAL_CI: u8 = 45;
/// A denied login takes one or two.
const ROUNDS_MAX: usize = 4;
/// The server answers at once or not at all.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(2);
