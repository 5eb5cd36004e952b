//! A session from accept to close: connect, relay, close, one log line.
//!
//! Not here: any step's detail (`connect`, `relay`).

use std::pin::pin;
use std::time::Instant;

use crate::client_address::ClientAddress;
use codec::Algorithm;
use wire::session_status::ZLIB_LEVEL;

use crate::connect::{Authenticated, FramedLeg, Handshake};
use crate::ending::GivenUp;
use crate::leg::Leg;
use crate::meter::{LegTerms, LoggedIn, Meter};
use crate::relay::{End, Relay};
use crate::route::Route;
use crate::worker::{Accepted, AcceptedSocket, Worker};
use crate::{Cause, Phase, SessionError, Traffic, pair};

/// Serves one client.
pub(crate) async fn serve(accepted: Accepted, worker: &Worker) {
    let Accepted { socket, listener, route, permit: _permit } = accepted;
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
    let registered = worker.shared.registry.register(listener);
    let mut session = Session::default();
    let ended = match client {
        Ok((leg, address)) => session.converse(leg, address, &route, worker, &registered.meter).await,
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
        meter: &Meter,
    ) -> Result<(), SessionError> {
        let ending = &worker.shared.ending;
        self.client = address.to_string();
        let mut handshake = Handshake::new(client, address, &route.config);
        let connected = {
            let connecting = pin!(handshake.run(route, worker));
            ending.unless_over(&meter.kill, connecting).await
        };
        self.client = handshake.client_address.to_string();
        let _address_permit = handshake.address_permit.take();
        let chosen = handshake.chosen.take();
        self.server = match &chosen {
            Some(chosen) => chosen.address().to_string(),
            None => route.servers.to_string(),
        };
        let legs = match connected {
            Ok(Ok(agreement)) => {
                if let Some(chosen) = &chosen {
                    chosen.let_in();
                }
                handshake.into_authenticated(agreement)
            }
            Ok(Err(error)) => {
                self.was_a_look = handshake.is_a_look(&error);
                handshake.refuse(error.for_client(&self.server), error.side).await;
                return Err(error);
            }
            Err(given_up) => {
                let why = over(given_up, handshake.phase);
                handshake.refuse(why.for_client(&self.server), wire::Side::Client).await;
                return if given_up == GivenUp::Killed { Err(why) } else { Ok(()) };
            }
        };
        let Some(legs) = legs else { return Ok(()) };
        self.connection_id = legs.thread_id;
        self.client_algorithm = legs.client.leg.pair_codec().unwrap_or_else(|| legs.client.algorithm.name());
        self.server_algorithm = legs.server.leg.pair_codec().unwrap_or_else(|| legs.server.algorithm.name());
        self.client_tls = legs.client.leg.tls_version();
        self.server_tls = legs.server.leg.tls_version();
        meter.log_in(self.facts(&legs));
        let mut relay = Relay::new(legs, route, worker, meter);
        let ended = {
            let relaying = pin!(relay.run());
            ending.unless_over(&meter.kill, relaying).await
        };
        let error = match &ended {
            Ok(Ok(End::Closed)) => None,
            Ok(Err(error)) => error.for_client(&self.server),
            Ok(Ok(End::Drained)) => over(GivenUp::Stopped, Phase::Command).for_client(&self.server),
            Err(given_up) => over(*given_up, Phase::Command).for_client(&self.server),
        };
        if let Some(error) = error
            && let Err(untold) = relay.tell_client(&error).await
        {
            tracing::debug!(%untold, "the client could not be told");
        }
        self.traffic = relay.traffic();
        relay.close().await;
        match ended {
            Ok(ended) => ended.map(drop),
            Err(GivenUp::Stopped) => Ok(()),
            Err(GivenUp::Killed) => Err(over(GivenUp::Killed, Phase::Command)),
        }
    }

    fn facts(&self, legs: &Authenticated) -> LoggedIn {
        let terms = |leg: &FramedLeg, zstd_level| LegTerms {
            algorithm: leg.algorithm,
            level_negotiated: match leg.algorithm {
                Algorithm::Uncompressed => 0,
                Algorithm::Zlib => ZLIB_LEVEL,
                Algorithm::Zstd => zstd_level,
            },
            level: if leg.algorithm.is_framed() { leg.level } else { 0 },
            tls: leg.leg.tls_version(),
        };
        LoggedIn {
            client: self.client.clone(),
            server: self.server.clone(),
            connection_id: legs.thread_id,
            user: legs.user.clone(),
            database: legs.database.clone(),
            client_leg: terms(&legs.client, legs.asked_zstd_level),
            server_leg_reason: legs.server_choice.chosen.reason.words(),
            server_leg: terms(&legs.server, legs.server.level),
        }
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
                    codec_seconds = sum(|traffic| traffic.pack_ns + traffic.unpack_ns) as f64 / 1e9,
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

const fn over(given_up: GivenUp, phase: Phase) -> SessionError {
    let cause = match given_up {
        GivenUp::Stopped => Cause::Stopping,
        GivenUp::Killed => Cause::Killed,
    };
    SessionError { side: wire::Side::Client, phase, cause }
}

fn lost(error: std::io::Error) -> SessionError {
    SessionError { side: wire::Side::Client, phase: Phase::Dial, cause: error.into() }
}
