//! A session from accept to close: connect, relay, close, one log line.
//!
//! Not here: any step's detail (`connect`, `relay`).

use std::time::Instant;

use crate::connect::{Authenticated, Handshake};
use crate::leg::Leg;
use crate::relay::Relay;
use crate::worker::{Accepted, Worker};
use crate::{Cause, Phase, SessionError, Traffic};

/// Serves one client.
pub(crate) async fn serve(accepted: Accepted, worker: &Worker) {
    let begun = Instant::now();
    let counters = &worker.shared.counters;
    counters.session_opened();
    let (traffic, ended) = match client_leg(accepted) {
        Ok(client) => converse(client, worker).await,
        Err(error) => ([Traffic::default(); 2], Err(lost(error))),
    };
    counters.session_closed(traffic);
    let seconds = begun.elapsed().as_secs_f64();
    let [to_server, to_client] = traffic;
    let client_leg_len = to_server.client_leg_len + to_client.client_leg_len;
    let server_leg_len = to_server.server_leg_len + to_client.server_leg_len;
    let plain_len = to_server.plain_len + to_client.plain_len;
    match ended {
        Ok(()) => tracing::info!(plain_len, client_leg_len, server_leg_len, seconds, "session ended"),
        Err(error) => {
            counters.fault(&error);
            tracing::warn!(plain_len, client_leg_len, server_leg_len, seconds, "session ended: {error}");
        }
    }
}

async fn converse(client: Leg, worker: &Worker) -> ([Traffic; 2], Result<(), SessionError>) {
    let none = [Traffic::default(); 2];
    match connect(client, worker).await {
        Ok(legs) => {
            tracing::debug!(
                connection_id = legs.thread_id,
                client_algorithm = %legs.client.algorithm,
                server_algorithm = %legs.server.algorithm,
                "logged in"
            );
            let mut relay = Relay::new(legs, worker);
            let mut ended =
                worker.shared.stop.unless_asked(relay.run()).await.unwrap_or_else(|| Err(stopped()));
            if let Err(error) = &ended
                && let Some(told) = error.for_client(&worker.shared.config.server)
                && let Err(untold) = relay.tell_client(&told).await
            {
                tracing::debug!(%untold, "the client could not be told");
            }
            if matches!(&ended, Err(SessionError { cause: Cause::Stopping, .. })) {
                ended = Ok(());
            }
            let traffic = relay.traffic();
            relay.close().await;
            (traffic, ended)
        }
        Err(error) => (none, Err(error)),
    }
}

/// The connection phase; when it fails the client is told and the server's handshake is ended.
async fn connect(client: Leg, worker: &Worker) -> Result<Authenticated, SessionError> {
    let shared = &worker.shared;
    let mut handshake = Handshake::new(client, &shared.config);
    let result = shared.stop.unless_asked(handshake.run(shared)).await.unwrap_or_else(|| Err(stopped()));
    let error = match result {
        Ok(agreement) => match handshake.into_authenticated(agreement) {
            Some(legs) => return Ok(legs),
            None => return Err(stopped()),
        },
        Err(error) => error,
    };
    let mut told = error.for_client(&shared.config.server);
    if error.phase <= Phase::Greeting
        && let Some(told) = &mut told
    {
        // The form before a greeting: the client's capabilities are unknown.
        told.sqlstate = None;
    }
    handshake.refuse(told, error.phase == Phase::Authentication).await;
    Err(error)
}

fn client_leg(accepted: Accepted) -> std::io::Result<Leg> {
    Ok(match accepted {
        // Socket options come from the listening socket.
        Accepted::Tcp(stream) => Leg::tcp(tokio::net::TcpStream::from_std(stream)?),
        Accepted::Unix(stream) => Leg::unix(tokio::net::UnixStream::from_std(stream)?),
    })
}

const fn stopped() -> SessionError {
    SessionError { side: wire::Side::Client, phase: Phase::Command, cause: Cause::Stopping }
}

fn lost(error: std::io::Error) -> SessionError {
    SessionError { side: wire::Side::Client, phase: Phase::Dial, cause: error.into() }
}
