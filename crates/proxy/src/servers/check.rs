//! One look at a server: does it greet, and, with a monitor account, does it say that it is of use?
//!
//! Invariants: a handshake that began is ended, so that checks never count towards `max_connect_errors`; where servers
//! are sent PROXY headers a check sends one too, LOCAL, and a server that takes it for a login is named.
//! Not here: what follows from it (`health`).

use tokio::time::timeout;
use wire::Fault;
use wire::connect::greeting::{FirstPacket, Greeting};
use wire::proxy_protocol::Header;

use super::{Seen, monitor};
use crate::connect;
use crate::lookups::Lookups;
use crate::route::Route;
use crate::{Address, Cause};

/// Looks at the server at `address`, as a session of `route` would; `None` if nothing could be found out.
pub(super) async fn check(route: &Route, address: &Address, lookups: &Lookups) -> Option<Seen> {
    match look(route, address, lookups).await {
        Ok(seen) => Some(seen),
        Err(Cause::Refused(error)) if error.code == CON_COUNT_ERROR => {
            Some(Seen::Fine { notice: String::new() })
        }
        Err(cause) => Seen::failed(&cause),
    }
}

async fn look(route: &Route, address: &Address, lookups: &Lookups) -> Result<Seen, Cause> {
    let limit = route.config.health_check.timeout;
    let mut slot = None;
    let opened = connect::open(&mut slot, route, address, &Header::LOCAL, lookups, None);
    let opened = timeout(limit, opened).await;
    let opened =
        opened.map_or(Err(Cause::TimedOut(limit.as_secs())), |opened| opened.map_err(|error| error.cause));
    let (greeting, mut server) = match (opened, slot) {
        (Ok((FirstPacket::Greeting(greeting), _)), Some(server)) => (greeting, server),
        // It has closed.
        (Ok((FirstPacket::Refusal(error), _)), _) => return Err(Cause::Refused(error)),
        (Err(cause), unfinished) => {
            if let Some(server) = unfinished {
                connect::leave(server).await;
            }
            return Err(cause);
        }
        (Ok(_), None) => return Err(Cause::ClosedEarly),
    };
    let outcome = match &route.monitor {
        None => match connect::end_handshake(server).await {
            Ok(Some(error)) if connect::is_no_login(error.code) => Err(Cause::Refused(error)),
            Ok(_) => Ok(Seen::Fine { notice: String::new() }),
            Err(cause) => Err(cause),
        },
        Some(account) => {
            let asked = monitor::ask(&mut server, &greeting, route, address, account);
            match timeout(limit, asked).await {
                Ok(Err(Cause::Protocol(Fault::AuthPluginUnknown(plugin)))) => {
                    drop(connect::end_exchange(server, connect::wrong_answer(plugin.as_bytes())).await);
                    Ok(monitor::can_not_log_in(&Fault::AuthPluginUnknown(plugin)))
                }
                Ok(asked) => asked,
                Err(_) => {
                    drop(connect::end_exchange(server, connect::WRONG_ANSWER).await);
                    Err(Cause::TimedOut(limit.as_secs()))
                }
            }
        }
    };
    outcome.map_err(|cause| match cause {
        cause if took_header_for_login(route, &greeting, &cause) => {
            Cause::ProxyProtocolUnknown(String::from_utf8_lossy(&greeting.server_version).into_owned())
        }
        cause => cause,
    })
}

/// Whether it looks as if the server knew no PROXY protocol.
fn took_header_for_login(route: &Route, greeting: &Greeting, cause: &Cause) -> bool {
    let looks_so = match cause {
        Cause::ClosedEarly | Cause::Io(_) | Cause::Tls(_) => true,
        Cause::Refused(error) => connect::is_no_login(error.code),
        _ => false,
    };
    looks_so && route.config.send_proxy.is_some() && !greeting.is_mariadb()
}

/// ER_CON_COUNT_ERROR: it is full, but it is there.
const CON_COUNT_ERROR: u16 = 1040;
