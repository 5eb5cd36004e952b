//! A wire between two peers that keeps every byte it carries.
//!
//! Not here: what is looked for in them (`passwords`).

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use proxy::Address;

/// Both directions.
type Kept = Arc<Mutex<[Vec<u8>; 2]>>;

/// Relays TCP connections to one address until the process ends.
pub(super) struct Recorder {
    address: Address,
    bytes: Kept,
}

impl Recorder {
    /// A wire to `target`.
    pub(super) fn before(target: &Address) -> Self {
        let Address::Tcp { host, port } = target.clone() else { panic!("only TCP is recorded") };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().into();
        let bytes = Kept::default();
        let kept = Arc::clone(&bytes);
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect((host.as_str(), port)) else { return };
                for (direction, [from, to]) in [[&near, &far], [&far, &near]].into_iter().enumerate() {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let kept = Arc::clone(&kept);
                    thread::spawn(move || carry(from, to, &kept, direction));
                }
            }
        });
        Self { address, bytes }
    }

    /// Where it is connected to.
    pub(super) fn address(&self) -> Address {
        self.address.clone()
    }

    /// How many bytes went over it in either direction, and whether `needle` is among them.
    pub(super) fn carried(&self, needle: &[u8]) -> (usize, bool) {
        let bytes = self.bytes.lock().unwrap();
        let has = |bytes: &Vec<u8>| bytes.windows(needle.len()).any(|window| window == needle);
        (bytes.iter().map(Vec::len).sum(), bytes.iter().any(has))
    }
}

/// Bytes are kept before they go on: what a peer has got is in the record.
fn carry(mut from: TcpStream, mut to: TcpStream, kept: &Kept, direction: usize) {
    let mut room = vec![0; 64 << 10];
    while let Ok(len @ 1..) = from.read(&mut room) {
        kept.lock().unwrap()[direction].extend_from_slice(&room[..len]);
        if to.write_all(&room[..len]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Write));
}
