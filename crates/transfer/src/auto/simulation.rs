//! Streams in which time is computed: a source, workers and a link of given speeds, and what the controller makes of them.
//!
//! Not here: real threads (`pack`), real links (`wirepress bench sst`).

use std::time::Duration;

use super::*;

/// Speed (bytes a second and thread) and ratio of each candidate on some kind of page.
type Pages = fn(Setting) -> (f64, f64);

/// Random digits: only level 1 and what is like it codes them well.
fn digits(setting: Setting) -> (f64, f64) {
    match setting {
        Setting::Stored => (3e9, 1.0),
        Setting::Level(-4) => (500e6, 1.16),
        Setting::Level(-1) => (316e6, 1.18),
        Setting::Level(1) => (188e6, 2.29),
        Setting::Level(3) => (85e6, 2.10),
        Setting::Level(_) => (35e6, 2.19),
    }
}

/// Log lines and JSON: higher levels do gain, at a price.
fn logs(setting: Setting) -> (f64, f64) {
    match setting {
        Setting::Stored => (3e9, 1.0),
        Setting::Level(-4) => (545e6, 5.79),
        Setting::Level(-1) => (600e6, 7.36),
        Setting::Level(1) => (429e6, 8.81),
        Setting::Level(3) => (261e6, 8.19),
        Setting::Level(_) => (77e6, 9.20),
    }
}

fn noise(setting: Setting) -> (f64, f64) {
    if setting == Setting::Stored { (3e9, 1.0) } else { (2e9, 1.0) }
}

/// Bytes a second of input and output at a time.
struct World {
    pages: fn(u64) -> Pages,
    input: f64,
    output: fn(f64) -> f64,
    /// What sockets, queues and windows take at the speed of a copy before the output's own rate is felt, bytes.
    buffer: f64,
    chunks: u64,
}

enum Event {
    Read(usize, Duration),
    Packed(Setting, usize, usize, Duration),
    Tried(Setting, (usize, Duration), (usize, Duration)),
    Written(usize, usize, Duration),
}

/// Seconds that the stream takes, and the plain length by setting.
fn run(world: &World, mut controller: Option<Controller>, fixed: Setting) -> (f64, Vec<(Setting, u64)>) {
    const THREADS: usize = 2;
    const SLOTS: usize = 6;
    const CHUNK: usize = crate::memory::chunk_len(None);
    let secs = Duration::from_secs_f64;
    let (mut read_until, mut written_until, mut out_until) = (0.0_f64, 0.0_f64, 0.0_f64);
    let mut free_at = [0.0_f64; THREADS];
    let mut slot_free_at = [0.0_f64; SLOTS];
    let mut events: Vec<(f64, Event)> = Vec::new();
    let mut used: Vec<(Setting, u64)> = Vec::new();
    let mut left = world.chunks as usize * CHUNK;
    for chunk in 0.. {
        if left == 0 {
            break;
        }
        let pages = (world.pages)(world.chunks - left.div_ceil(CHUNK) as u64);
        let begun = read_until.max(slot_free_at[chunk % SLOTS]);
        tell(&mut controller, &mut events, begun);
        let plain_len = controller.as_ref().map_or(CHUNK, |controller| controller.chunk_len(CHUNK));
        let plain_len = plain_len.min(left);
        left -= plain_len;
        let plain_len = plain_len as f64;
        read_until = begun + plain_len / world.input;
        events.push((read_until, Event::Read(plain_len as usize, secs(plain_len / world.input))));
        let worker = (0..THREADS).min_by(|&a, &b| free_at[a].total_cmp(&free_at[b])).unwrap();
        let mut at = read_until.max(free_at[worker]);
        let mut setting = fixed;
        tell(&mut controller, &mut events, at);
        if let Some(controller) = &mut controller {
            let (chosen, trial) = controller.choose(secs(at));
            setting = chosen;
            if let Some(trial) = trial {
                let sample = Controller::SAMPLE_LEN as f64;
                let held = |setting| {
                    let (speed, ratio) = pages(setting);
                    ((sample / ratio) as usize, secs(sample / speed))
                };
                let (tried, reference) = (held(trial), held(Controller::REFERENCE));
                at += (tried.1 + reference.1).as_secs_f64();
                events.push((at, Event::Tried(trial, tried, reference)));
            }
        }
        let (speed, ratio) = pages(setting);
        let packed = plain_len / ratio;
        free_at[worker] = at + plain_len / speed;
        events.push((
            free_at[worker],
            Event::Packed(setting, plain_len as usize, packed as usize, secs(plain_len / speed)),
        ));
        let begun = written_until.max(free_at[worker]);
        let rate = (world.output)(begun);
        out_until = out_until.max(begun) + packed / rate;
        written_until = (begun + packed / COPY).max(out_until - world.buffer / rate);
        let took = secs(written_until - begun);
        events.push((written_until, Event::Written(plain_len as usize, packed as usize, took)));
        slot_free_at[chunk % SLOTS] = written_until;
        match used.iter_mut().find(|(it, _)| *it == setting) {
            Some((_, count)) => *count += 1,
            None => used.push((setting, 1)),
        }
    }
    (out_until, used)
}

/// What has happened by now, in turn.
fn tell(controller: &mut Option<Controller>, events: &mut Vec<(f64, Event)>, until: f64) {
    let Some(controller) = controller else { return };
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let past = events.partition_point(|event| event.0 <= until);
    for (when, event) in events.drain(..past) {
        let now = Duration::from_secs_f64(when);
        match event {
            Event::Read(len, took) => controller.read(now, len, took),
            Event::Packed(setting, plain_len, len, took) => {
                controller.packed(now, setting, plain_len, len, took);
            }
            Event::Tried(setting, tried, reference) => {
                controller.tried(now, setting, Controller::SAMPLE_LEN, tried, reference);
            }
            Event::Written(plain_len, len, took) => controller.written(now, plain_len, len, took),
        }
    }
}

/// The controller's time by that of the best fixed setting.
fn against_best(world: &World) -> (f64, Vec<(Setting, u64)>) {
    let fixed = CANDIDATES.map(|setting| run(world, None, setting).0);
    let best = fixed.iter().copied().fold(f64::INFINITY, f64::min);
    let (time, used) = run(world, Some(Controller::new(2, false)), Setting::Stored);
    (time / best, used)
}

/// Bytes a second into a buffer.
const COPY: f64 = 4e9;
const MBIT: f64 = 125_000.0;

#[test]
fn it_is_within_3_per_cent_of_the_best_fixed_setting_on_every_link_and_kind_of_page() {
    let pages: [fn(u64) -> Pages; 4] =
        [|_| digits, |_| logs, |_| noise, |chunk| if chunk / 40 % 2 == 0 { digits } else { logs }];
    let links: [fn(f64) -> f64; 6] = [
        |_| 10.0 * MBIT,
        |_| 100.0 * MBIT,
        |_| 500.0 * MBIT,
        |_| 1000.0 * MBIT,
        |_| 2500.0 * MBIT,
        |_| 40_000.0 * MBIT,
    ];
    for (kind, pages) in pages.into_iter().enumerate() {
        for output in links {
            for input in [150e6, 600e6, 2500e6] {
                // What is taken at once is some of what a line carries in 50 ms, or of a socket's 4 MB.
                for share in [0.0, 0.5, 1.0] {
                    let buffer = share * (output(0.0) * 0.05).min(4e6);
                    // 556 MB, or on fast lines as much as takes a second.
                    let chunks = if output(0.0) > 200e6 && input > 1e9 { 1600 } else { 353 };
                    let world = World { pages, input, output, buffer, chunks };
                    let (ratio, used) = against_best(&world);
                    let link = output(0.0) / MBIT;
                    // Behind a buffer the rate is known late, and here two settings are nearly as good, or they change;
                    // the fastest line is full before it is known.
                    let is_hard = buffer > 0.0 && matches!(kind, 1 | 3) || link > 10_000.0;
                    let limit = if is_hard { 1.18 } else { 1.03 };
                    assert!(
                        ratio < limit,
                        "pages {kind}, {link} Mbit, buffer {buffer}, input {input}: {ratio:.3}, {used:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_mix_beats_every_fixed_setting_where_cpu_and_link_cross() {
    // 2.5 Gbit: stored 312 MB/s, level 1 with two threads 376 MB/s of digits, which is 164 MB/s on the link.
    let world =
        World { pages: |_| digits, input: 2.5e9, output: |_| 2500.0 * MBIT, buffer: 1e6, chunks: 400 };
    let (ratio, used) = against_best(&world);
    assert!(ratio < 0.95, "{ratio:.3} {used:?}");
    assert!(used.len() >= 2, "{used:?}");
}

#[test]
fn a_link_that_changes_is_followed() {
    // From 10 Gbit to 100 Mbit after half a second.
    let output: fn(f64) -> f64 = |now| if now < 0.5 { 10_000.0 * MBIT } else { 100.0 * MBIT };
    let world = World { pages: |_| digits, input: 1e9, output, buffer: 1e6, chunks: 500 };
    let (ratio, used) = against_best(&world);
    assert!(ratio < 1.03, "{ratio:.3} {used:?}");
}

#[test]
fn a_fast_input_into_a_fast_output_is_stored_and_a_file_never_is() {
    let world =
        World { pages: |_| digits, input: 2.5e9, output: |_| 40_000.0 * MBIT, buffer: 1e6, chunks: 400 };
    let (_, used) = run(&world, Some(Controller::new(2, false)), Setting::Stored);
    let stored = used.iter().find(|(setting, _)| *setting == Setting::Stored).map_or(0, |(_, count)| *count);
    assert!(stored > 370, "{used:?}");
    let (_, used) = run(&world, Some(Controller::new(2, true)), Setting::Stored);
    assert!(used.iter().all(|(setting, _)| matches!(setting, Setting::Level(1..))), "{used:?}");
}

#[test]
fn a_source_that_begins_late_is_not_held_for_slow() {
    let (ms, mut controller) = (Duration::from_millis, Controller::new(2, false));
    // A backup that takes a quarter of a second to begin, then gives 1 GB/s.
    controller.read(ms(250), Controller::SAMPLE_LEN, ms(250));
    for at in 1..=20 {
        controller.read(ms(250 + at), 1_000_000, ms(1));
    }
    assert!(controller.input.waited() < 1.1e-9, "{:?}", controller.input);
}

#[test]
fn the_same_observations_give_the_same_choices() {
    let world = World { pages: |_| logs, input: 600e6, output: |_| 100.0 * MBIT, buffer: 1e6, chunks: 300 };
    let one = run(&world, Some(Controller::new(2, false)), Setting::Stored);
    assert_eq!(one, run(&world, Some(Controller::new(2, false)), Setting::Stored));
}
