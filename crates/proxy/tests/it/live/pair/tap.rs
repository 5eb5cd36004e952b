//! The wire between two halves: counts connections and bytes of each direction, and can be cut, or stand still.
//!
//! Not here: what the bytes mean.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use proxy::Address;

/// A running tap. Its threads end with the connections, or with the test's process.
pub(super) struct Tap {
    address: Address,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    connections: AtomicU64,
    /// Connections whose dialer has said its last word.
    ended: AtomicU64,
    to_listener_len: AtomicU64,
    to_dialer_len: AtomicU64,
    /// What the dialers of so many first connections send stays where it is.
    held: AtomicU64,
    /// The bit of the next bytes to the dialer that is flipped.
    flips: AtomicBool,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Tap {
    pub(super) fn before(listener: &Address) -> Self {
        let Address::Tcp { host, port } = listener.clone() else { panic!("{listener} is no TCP address") };
        let inbound = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = inbound.local_addr().unwrap().into();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for dialer in inbound.incoming() {
                let (Ok(dialer), Ok(listener)) = (dialer, TcpStream::connect((host.as_str(), port))) else {
                    continue;
                };
                let number = shared.connections.fetch_add(1, Ordering::SeqCst);
                for stream in [&dialer, &listener] {
                    stream.set_nodelay(true).unwrap();
                    shared.sockets.lock().unwrap().push(stream.try_clone().unwrap());
                }
                let ways = [
                    (dialer.try_clone().unwrap(), listener.try_clone().unwrap(), true),
                    (listener, dialer, false),
                ];
                for (from, to, to_listener) in ways {
                    let state = Arc::clone(&shared);
                    thread::spawn(move || state.copy(from, to, to_listener.then_some(number)));
                }
            }
        });
        Self { address, state }
    }

    pub(super) fn address(&self) -> Address {
        self.address.clone()
    }

    pub(super) fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Those that no dialer ended.
    pub(super) fn open_connections(&self) -> u64 {
        self.connections() - self.state.ended.load(Ordering::SeqCst)
    }

    /// To the listener, to the dialer.
    pub(super) fn lens(&self) -> [u64; 2] {
        [&self.state.to_listener_len, &self.state.to_dialer_len].map(|len| len.load(Ordering::SeqCst))
    }

    /// From now on nothing is taken from the dialers of the connections that there are.
    pub(super) fn hold_dialers(&self) {
        self.state.held.store(self.connections(), Ordering::SeqCst);
    }

    /// Cuts every connection.
    pub(super) fn cut(&self) {
        for socket in self.state.sockets.lock().unwrap().drain(..) {
            // It may be closed already.
            drop(socket.shutdown(Shutdown::Both));
        }
    }

    /// Flips one bit of what next goes to the dialer.
    pub(super) fn flip_a_bit(&self) {
        self.state.flips.store(true, Ordering::SeqCst);
    }
}

impl State {
    /// `of`: which connection's dialer sends, where one does.
    fn copy(&self, mut from: TcpStream, mut to: TcpStream, of: Option<u64>) {
        let to_listener = of.is_some();
        let mut buffer = vec![0; 64 << 10];
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            if of.is_some_and(|number| number < self.held.load(Ordering::SeqCst)) {
                // Until the test's process ends.
                loop {
                    thread::park();
                }
            }
            if !to_listener && self.flips.swap(false, Ordering::SeqCst) {
                buffer[len / 2] ^= 0x10;
            }
            // Before they are sent on: whoever has a reply finds its bytes counted.
            let count = if to_listener { &self.to_listener_len } else { &self.to_dialer_len };
            count.fetch_add(len as u64, Ordering::SeqCst);
            if to.write_all(&buffer[..len]).is_err() {
                break;
            }
        }
        // It may be closed already.
        drop(to.shutdown(Shutdown::Write));
        self.ended.fetch_add(u64::from(to_listener), Ordering::SeqCst);
    }
}
