//! A session from accept to close: connect, relay, close, one log line.
//!
//! Not here: any step's detail (`connect`, `relay`).

use std::time::Instant;

use crate::client_address::ClientAddress;
use crate::connect::Handshake;
use crate::leg::Leg;
use crate::relay::{End, Relay};
use crate::route::Route;
use crate::worker::{Accepted, AcceptedSocket, Worker};
use crate::{Cause, Phase, SessionError, Traffic, pair};

/// Serves one client.
pub(crate) async fn serve(accepted: Accepted, worker: &Worker) {
    let Accepted { socket, route, permit: _permit } = accepted;
    let counters = &worker.shared.counters;
    let mut client = client_leg(socket);
    if let Some(pair) = route.pair.as_ref().filter(|_| route.config.is_pair)
        && let Ok((leg, address)) = client
    {
        client = match pair::accept(leg, address, pair, &worker.shared.ending).await {
            Ok(Some(begun)) => Ok(begun),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(peer = %address, cause = error.cause.name(), "no pair: {error}");
                return counters.fault(&error);
            }
        };
    }
    let begun = Instant::now();
    let open = counters.session_opened();
    let mut session = Session::default();
    let ended = match client {
        Ok((leg, address)) => session.converse(leg, address, &route, worker).await,
        Err(error) => Err(lost(error)),
    };
    open.carried(session.traffic);
    if session.was_a_look {
        tracing::debug!(client = session.client, "somebody looked whether we listen");
        return;
    }
    session.log(begun.elapsed().as_secs_f64(), ended.as_ref().err());
    if let Err(error) = ended {
        counters.fault(&error);
    }
}

/// What is told of a session when it ends.
#[derive(Default)]
struct Session {
    /// The client's address.
    client: String,
    /// The server's address; all of them before one was found.
    server: String,
    /// The server's id of the connection.
    connection_id: u32,
    client_algorithm: &'static str,
    server_algorithm: &'static str,
    /// TLS versions, empty without TLS.
    client_tls: &'static str,
    server_tls: &'static str,
    /// The client only looked whether somebody listens.
    was_a_look: bool,
    /// To the server, to the client.
    traffic: [Traffic; 2],
}

impl Session {
    async fn converse(
        &mut self,
        client: Leg,
        address: ClientAddress,
        route: &Route,
        worker: &Worker,
    ) -> Result<(), SessionError> {
        let ending = &worker.shared.ending;
        self.client = address.to_string();
        let mut handshake = Handshake::new(client, address, &route.config);
        let connected = ending.unless_stopped(handshake.run(route, worker)).await;
        self.client = handshake.client_address.to_string();
        let _address_permit = handshake.address_permit.take();
        let chosen = handshake.chosen.take();
        self.server = match &chosen {
            Some(chosen) => chosen.address().to_string(),
            None => route.servers.to_string(),
        };
        let legs = match connected {
            Some(Ok(agreement)) => handshake.into_authenticated(agreement),
            Some(Err(error)) => {
                self.was_a_look = handshake.is_a_look(&error);
                handshake.refuse(error.for_client(&self.server), error.side).await;
                return Err(error);
            }
            None => {
                let told = stopped(handshake.phase).for_client(&self.server);
                handshake.refuse(told, wire::Side::Client).await;
                return Ok(());
            }
        };
        let Some(legs) = legs else { return Ok(()) };
        self.connection_id = legs.thread_id;
        self.client_algorithm = legs.client.leg.pair_codec().unwrap_or_else(|| legs.client.algorithm.name());
        self.server_algorithm = legs.server.leg.pair_codec().unwrap_or_else(|| legs.server.algorithm.name());
        self.client_tls = legs.client.leg.tls_version();
        self.server_tls = legs.server.leg.tls_version();
        let mut relay = Relay::new(legs, route, worker);
        let ended = ending.unless_stopped(relay.run()).await;
        let error = match &ended {
            Some(Ok(End::Closed)) => None,
            Some(Err(error)) => error.for_client(&self.server),
            Some(Ok(End::Drained)) | None => stopped(Phase::Command).for_client(&self.server),
        };
        if let Some(error) = error
            && let Err(untold) = relay.tell_client(&error).await
        {
            tracing::debug!(%untold, "the client could not be told");
        }
        self.traffic = relay.traffic();
        relay.close().await;
        ended.map_or(Ok(()), |ended| ended.map(drop))
    }

    fn log(&self, seconds: f64, error: Option<&SessionError>) {
        let [to_server, to_client] = self.traffic;
        let sum = |len: fn(Traffic) -> u64| len(to_server) + len(to_client);
        macro_rules! line {
            ($level:ident, $($more:tt)*) => {
                tracing::$level!(
                    client = self.client,
                    server = self.server,
                    connection_id = self.connection_id,
                    client_algorithm = self.client_algorithm,
                    server_algorithm = self.server_algorithm,
                    client_tls = self.client_tls,
                    server_tls = self.server_tls,
                    plain_len = sum(|traffic| traffic.plain_len),
                    client_leg_len = sum(|traffic| traffic.client_leg_len),
                    server_leg_len = sum(|traffic| traffic.server_leg_len),
                    frames_packed = sum(|traffic| traffic.frames_packed),
                    frames_stored = sum(|traffic| traffic.frames_stored),
                    frames_forwarded = sum(|traffic| traffic.frames_forwarded),
                    seconds,
                    $($more)*
                )
            };
        }
        match error {
            None => line!(info, "session ended"),
            Some(error) => line!(
                warn,
                side = error.side.name(),
                phase = error.phase.name(),
                cause = error.cause.name(),
                "session ended: {error}"
            ),
        }
    }
}

fn client_leg(socket: AcceptedSocket) -> std::io::Result<(Leg, ClientAddress)> {
    Ok(match socket {
        // Socket options come from the listening socket.
        AcceptedSocket::Tcp(stream, source) => {
            let address = ClientAddress::tcp(source, stream.local_addr()?);
            (Leg::tcp(tokio::net::TcpStream::from_std(stream)?), address)
        }
        AcceptedSocket::Unix(stream) => {
            (Leg::unix(tokio::net::UnixStream::from_std(stream)?), ClientAddress::UNIX)
        }
    })
}

const fn stopped(phase: Phase) -> SessionError {
    SessionError { side: wire::Side::Client, phase, cause: Cause::Stopping }
}

fn lost(error: std::io::Error) -> SessionError {
    SessionError { side: wire::Side::Client, phase: Phase::Dial, cause: error.into() }
}
