//! Measures what the emulated links really do: rate, delay, and the CPU they cost.
//!
//! ```text
//! cargo run --release -p wirepress-lab --example link_speed
//! ```
//! An argument N takes an Nth of the time, to see that it runs.
//!
//! Not here: judging; the table is for the eye and for `docs/`.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use lab::link::{Address, Link};

fn main() {
    let part = std::env::args().nth(1).map_or(NonZeroU32::MIN, |part| part.parse().unwrap());
    println!("link            to client      of the rate   round trip (median, 99%)     CPU of the link");
    for text in ["unlimited", "10gbit", "1gbit", "1gbit,1ms", "100mbit", "100mbit,1.4ms", "10mbit,40ms"] {
        let link = Link::parse(text).unwrap();
        let (mb_per_s, cpu_per_s) = rate(link, BULK / part.get());
        let (median, late) = delay(link, (PINGS / part).max(1) as usize);
        let share = link.rate_bytes_per_s.map_or_else(
            || "-".to_owned(),
            |rate| {
                format!(
                    "{:.2} %",
                    100.0 * mb_per_s * 1e6 / f64::from(u32::try_from(rate).unwrap_or(u32::MAX))
                )
            },
        );
        println!(
            "{text:15} {mb_per_s:8.2} MB/s {share:>12}   {median:>9.1?} {late:>9.1?}        {:.1} %",
            cpu_per_s * 100.0
        );
    }
}

/// MB/s that arrive at the client for so long, and CPU seconds of the link per second.
fn rate(link: Link, time: Duration) -> (f64, f64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let running = link.open(Address::from(listener.local_addr().unwrap())).unwrap();
    let mut client = TcpStream::connect(running.address()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    std::thread::spawn(move || while server.write_all(&[7; 256 * 1024]).is_ok() {});
    let mut buffer = vec![0; 256 * 1024];
    let mut read_for = |time: Duration| {
        let start = Instant::now();
        let mut bytes: u64 = 0;
        while start.elapsed() < time {
            bytes += client.read(&mut buffer).unwrap() as u64;
        }
        f64::from(u32::try_from(bytes / 1000).unwrap_or(u32::MAX)) / 1e3 / start.elapsed().as_secs_f64()
    };
    // Socket buffers fill first, and the window opens.
    read_for(time / 6);
    let (start, cpu) = (Instant::now(), running.cpu());
    let mb_per_s = read_for(time);
    let cpu = running.cpu() - cpu;
    (mb_per_s, cpu.as_secs_f64() / start.elapsed().as_secs_f64())
}

/// Round trip of one byte: median and 99th percentile of so many.
fn delay(link: Link, pings: usize) -> (Duration, Duration) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let running = link.open(Address::from(listener.local_addr().unwrap())).unwrap();
    let mut client = TcpStream::connect(running.address()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    for socket in [&client, &server] {
        socket.set_nodelay(true).unwrap();
    }
    std::thread::spawn(move || {
        let mut byte = [0];
        while server.read_exact(&mut byte).is_ok() && server.write_all(&byte).is_ok() {}
    });
    let mut times: Vec<Duration> = (0..pings)
        .map(|_| {
            let start = Instant::now();
            client.write_all(b"x").unwrap();
            client.read_exact(&mut [0]).unwrap();
            start.elapsed()
        })
        .collect();
    times.sort();
    (times[pings / 2], times[pings * 99 / 100])
}

const BULK: Duration = Duration::from_secs(3);
const PINGS: u32 = 300;
