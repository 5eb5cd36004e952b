//! One look at a server: does it greet, and, with a monitor account, does it say that it is of use?
//!
//! Invariants: a handshake that began is ended, so that checks never count towards `max_connect_errors`; where servers
//! are sent PROXY headers a check sends one too, LOCAL, and a server that takes it for a login is named.
//! Not here: what follows from it (`health`).

use tokio::time::timeout;
use wire::connect::greeting::{FirstPacket, Greeting};
use wire::proxy_protocol::Header;

use super::{Seen, monitor};
use crate::connect::{self, Channel};
use crate::lookups::Lookups;
use crate::route::Route;
use crate::{Address, Cause};

/// Looks at the server at `address`, as a session of `route` would.
pub(super) async fn check(route: &Route, address: &Address, lookups: &Lookups) -> Seen {
    let limit = route.config.health_check.timeout;
    let mut server = None;
    let seen = match timeout(limit, look(&mut server, route, address, lookups)).await {
        Ok(Ok(seen)) => seen,
        Ok(Err(Cause::Refused(error))) if error.code == CON_COUNT_ERROR => {
            Seen::Fine { notice: String::new() }
        }
        Ok(Err(cause)) => Seen::Silent(cause.to_string()),
        Err(_) => Seen::Silent(format!("no answer within {} s", limit.as_secs())),
    };
    if let Some(server) = server {
        drop(connect::end_handshake(server).await);
    }
    seen
}

/// Leaves a handshake that isn't finished in `slot`.
async fn look(
    slot: &mut Option<Channel>,
    route: &Route,
    address: &Address,
    lookups: &Lookups,
) -> Result<Seen, Cause> {
    let opened = connect::open(slot, &route.config, address, &Header::LOCAL, lookups).await;
    let greeting = match opened.map_err(|error| error.cause)?.0 {
        FirstPacket::Greeting(greeting) => greeting,
        FirstPacket::Refusal(error) => {
            *slot = None;
            return Err(Cause::Refused(error));
        }
    };
    let outcome = match &route.monitor {
        None => {
            let Some(server) = slot.take() else { return Err(Cause::ClosedEarly) };
            match connect::end_handshake(server).await {
                Ok(Some(error)) if connect::is_no_login(error.code) => Err(Cause::Refused(error)),
                Ok(_) => Ok(Seen::Fine { notice: String::new() }),
                Err(cause) => Err(cause),
            }
        }
        Some(account) => {
            let Some(server) = slot.as_mut() else { return Err(Cause::ClosedEarly) };
            let asked = monitor::ask(server, &greeting, route, address, account).await;
            *slot = None;
            asked
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
