//! Ends a handshake whose client left or was refused before its login, so that the server doesn't count it.
//!
//! A connection that closes between greeting and login counts towards `max_connect_errors`, and after 100 of
//! them the server blocks the proxy's address for everybody. A login that is merely denied does not count. So
//! the handshake is completed with an account that cannot exist, as MySQL Router does. A login that comes before the
//! server's greeting would be a broken one, so a greeting that is late is waited for, by nobody.
//!
//! Source: measured with 1,000 probes on MySQL 9.7 and MariaDB 10.11 (`tests/it/live/probes.rs`); MySQL Router
//! `classic_greeting_forwarder.cc`. Not here: what the client is told (`super`).

use std::time::Duration;

use tokio::time::timeout;
use wire::Capabilities;
use wire::connect::Login;
use wire::connect::greeting::FirstPacket;
use wire::response::{ErrPacket, err, ok};

use super::Channel;
use crate::Cause;

/// Leaves a connection whose login is due, or whose greeting has not come yet; that is waited for in the background.
pub(crate) async fn leave(server: Channel) {
    let is_greeting_due = server.is_first_due();
    let leaving = async move {
        // Nobody can help it.
        if let Err(cause) = end_handshake(server).await {
            tracing::debug!(%cause, "the handshake with the server could not be ended");
        }
    };
    if is_greeting_due {
        tokio::task::spawn_local(leaving);
    } else {
        leaving.await;
    }
}

/// Completes a handshake whose login is due as nobody, and closes. The error with which the server refuses it, mostly.
pub(crate) async fn end_handshake(mut server: Channel) -> Result<Option<ErrPacket>, Cause> {
    if server.is_first_due() {
        let greeting = timeout(GREETING_TIMEOUT, server.read()).await;
        let greeting = greeting.map_err(|_| Cause::TimedOut(GREETING_TIMEOUT.as_secs()))??;
        if let FirstPacket::Refusal(error) = FirstPacket::parse(&greeting)? {
            return Ok(Some(error));
        }
    }
    within_time(log_in_as_nobody(server)).await
}

/// Ends an authentication exchange in which it is the client's turn, with wrong answers, this one first, and closes.
pub(crate) async fn end_exchange(server: Channel, answer: &'static [u8]) -> Result<Option<ErrPacket>, Cause> {
    within_time(answer_wrongly(server, answer)).await
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
        Some(_) => answer_wrongly(server, wrong_answer_to(&said).unwrap_or(WRONG_ANSWER)).await,
    }
}

async fn answer_wrongly(mut server: Channel, mut answer: &'static [u8]) -> Result<Option<ErrPacket>, Cause> {
    for _ in 0..ROUNDS_MAX {
        server.write(answer).await?;
        let said = server.read().await?;
        match said.first() {
            Some(&err::HEADER) => return Ok(Some(ErrPacket::parse(&said)?)),
            Some(&ok::HEADER) | None => break,
            Some(_) => answer = wrong_answer_to(&said).unwrap_or(answer),
        }
    }
    Ok(None)
}

/// Where the packet switches to another plugin, which servers do for accounts that don't exist, too.
pub(super) fn wrong_answer_to(said: &[u8]) -> Option<&'static [u8]> {
    let (&first, named) = said.split_first()?;
    (first == AUTH_SWITCH).then(|| wrong_answer(named.split(|byte| *byte == 0).next().unwrap_or_default()))
}

/// Of the length that the plugin wants: MariaDB counts any other as a broken handshake, and MySQL counts an empty answer.
pub(crate) fn wrong_answer(plugin: &[u8]) -> &'static [u8] {
    if plugin == ED25519 { &WRONG_SIGNATURE } else { WRONG_ANSWER }
}

/// An account name that says in the server's log what happened.
const NOBODY: &[u8] = b"wirepress_probe";
/// As long as mysql_native_password's scramble. caching_sha2_password takes it for a password that can't be decrypted.
pub(crate) const WRONG_ANSWER: &[u8] = &[0; 20];
/// As long as a signature.
const WRONG_SIGNATURE: [u8; 64] = [0; 64];
/// MariaDB's name of what a client needs for it.
const ED25519: &[u8] = b"client_ed25519";
const AUTH_SWITCH: u8 = 0xfe;
/// Known to every version of both servers.
const UTF8MB4_GENERAL_CI: u8 = 45;
/// A denied login takes one or two.
const ROUNDS_MAX: usize = 4;
/// As long as servers wait for a login by default (`connect_timeout`), which they begin to count behind their greeting at
/// the earliest. What makes a greeting late is mostly the name of the proxy's address, which the server looks up.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
/// The server answers at once or not at all.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(2);
