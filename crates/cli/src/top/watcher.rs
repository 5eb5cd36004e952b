//! The thread that asks the admin port: samples, kills, and connecting anew.
//!
//! Not here: what is asked (`sample`), what is shown (`view`).

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use bench::client::{Client, ClientFault};

use super::Event;
use super::sample::Sample;
use crate::admin_client::AdminPort;

/// Asks until nobody gives orders any more. `orders` are ids to kill.
pub(super) fn watch(
    port: &AdminPort,
    client: Client,
    delay: Duration,
    orders: &Receiver<u64>,
    events: &Sender<Event>,
) {
    let begun = Instant::now();
    let mut client = Some(client);
    loop {
        let due = Instant::now() + delay;
        let event = match ask(port, &mut client, begun, events) {
            Ok(sample) => Event::Sample(sample),
            Err(error) => {
                client = None;
                Event::Lost(format!("{error:#}"))
            }
        };
        if events.send(event).is_err() {
            return;
        }
        match orders.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                if let Some(client) = client {
                    client.quit();
                }
                return;
            }
            Ok(id) => {
                let notice = kill(&mut client, id);
                if events.send(Event::Notice(notice)).is_err() {
                    return;
                }
            }
        }
    }
}

fn ask(
    port: &AdminPort,
    client: &mut Option<Client>,
    begun: Instant,
    events: &Sender<Event>,
) -> anyhow::Result<Sample> {
    let client = match client {
        Some(client) => client,
        None => {
            let new = client.insert(port.connect()?);
            // Whoever shows it may have left; that is noticed by the next who sends.
            drop(events.send(Event::Connected));
            new
        }
    };
    Sample::ask(client, begun.elapsed())
}

/// What came of it.
fn kill(client: &mut Option<Client>, id: u64) -> String {
    let Some(asked) = client else { return format!("{id} was not killed: no connection to the admin port") };
    match asked.query(&format!("kill {id}")) {
        Ok(_) => format!("{id} was killed"),
        Err(error) => {
            if !matches!(error, ClientFault::Refused(_)) {
                *client = None;
            }
            format!("{id} was not killed: {error}")
        }
    }
}
