//! Bytes to a stream.
//!
//! ```text
//! input -> chunks -> workers: controller says how, compressor does it -> in order -> start, frames, end
//! ```
//! Invariants: the end record is written only after all of the input was; an input that fails leaves a stream without end.
//!
//! Not here: the records (`record`), what a chunk becomes (`compressor`), which threads (`pipeline`).

use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::auto::Controller;
use crate::compressor::Compressor;
use crate::record::Totals;
use crate::{Fault, FrameRecord, Meter, Setting, StartRecord, Summary, memory, pipeline, reader};

/// How chunks are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// All of them so.
    Fixed(Setting),
    /// As the controller finds, for the shortest time.
    Fastest,
    /// As the controller finds, but nothing is stored that shrinks: for files, whose length is what counts.
    FastestSmall,
}

/// How a stream is made.
#[derive(Debug, Clone, Copy)]
pub struct PackOptions {
    /// How chunks are packed.
    pub rule: Rule,
    /// Workers.
    pub threads: NonZeroUsize,
}

/// A part of the stream, in order.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// Its bytes: the start record, a frame with its record, or the end record.
    pub bytes: &'a [u8],
    /// What it holds, bytes.
    pub plain_len: usize,
    /// Nothing follows it.
    pub is_last: bool,
}

impl PackOptions {
    /// What packing takes at most, bytes.
    pub fn memory_len_max(&self) -> u64 {
        memory::pack_len_max(self.fixed(), self.threads)
    }

    const fn fixed(&self) -> Option<Setting> {
        match self.rule {
            Rule::Fixed(setting) => Some(setting),
            Rule::Fastest | Rule::FastestSmall => None,
        }
    }
}

/// Reads `input` to its end and writes the stream.
pub fn pack(
    input: impl Read + Send + 'static,
    mut output: impl Write,
    options: &PackOptions,
    meter: &Meter,
) -> Result<Summary, Fault> {
    let summary =
        pack_pieces(input, options, meter, |piece| output.write_all(piece.bytes).map_err(Fault::Write))?;
    output.flush().map_err(Fault::Write)?;
    Ok(summary)
}

/// Reads `input` to its end and gives the stream to `sink`, piece by piece.
pub fn pack_pieces(
    mut input: impl Read + Send + 'static,
    options: &PackOptions,
    meter: &Meter,
    mut sink: impl FnMut(Piece<'_>) -> Result<(), Fault>,
) -> Result<Summary, Fault> {
    let chunk_len = memory::chunk_len(options.fixed());
    let start = StartRecord { chunk_len: u32::try_from(chunk_len).unwrap_or(u32::MAX) };
    let mut summary = Summary::default();
    let mut send = |summary: &mut Summary, bytes: &[u8], plain_len: usize, is_last: bool| {
        sink(Piece { bytes, plain_len, is_last })?;
        meter.add(plain_len, bytes.len());
        summary.plain_len += plain_len as u64;
        summary.packed_len += bytes.len() as u64;
        Ok::<_, Fault>(())
    };
    send(&mut summary, &start.to_bytes(), 0, false)?;
    let mut totals = Totals::new(start);
    let pace = Arc::new(Pace::new(options));
    let reading = Arc::clone(&pace);
    let slots = (0..memory::slots(options.threads)).map(|_| Slot::default()).collect();
    let mut number = 0;
    pipeline::run(
        slots,
        options.threads.get(),
        move |slot| {
            let began = Instant::now();
            if slot.plain.capacity() == 0 {
                // The kernel gives zeros for nothing.
                slot.plain = vec![0; chunk_len];
            }
            slot.plain.resize(reading.chunk_len(chunk_len), 0);
            let len = reader::fill(&mut input, &mut slot.plain)?;
            slot.plain.truncate(len);
            slot.number = number;
            number += 1;
            reading.observe(|controller, now| controller.read(now, len, began.elapsed()));
            Ok(len > 0)
        },
        || worker(Arc::clone(&pace)),
        |slot| {
            // A worker always leaves it.
            let Some(record) = slot.record.take() else { return Err(Fault::Panicked) };
            totals.add(&record);
            let began = Instant::now();
            send(&mut summary, &slot.packed, slot.plain.len(), false)?;
            let (plain_len, packed_len) = (slot.plain.len(), slot.packed.len());
            pace.observe(|controller, now| controller.written(now, plain_len, packed_len, began.elapsed()));
            *summary.settings.entry(slot.setting).or_default() += slot.plain.len() as u64;
            Ok(())
        },
    )?;
    send(&mut summary, &totals.end().to_bytes(), 0, true)?;
    Ok(summary)
}

/// A chunk on its way.
struct Slot {
    number: u64,
    plain: Vec<u8>,
    setting: Setting,
    record: Option<FrameRecord>,
    /// Record and frame.
    packed: Vec<u8>,
}

impl Default for Slot {
    fn default() -> Self {
        Self { number: 0, plain: Vec::new(), setting: Setting::Stored, record: None, packed: Vec::new() }
    }
}

fn worker(pace: Arc<Pace>) -> impl FnMut(&mut Slot) -> Result<(), Fault> + Send + 'static {
    let mut compressor = Compressor::new();
    move |slot| {
        let (setting, trial) = pace.choose();
        if let Some(trial) = trial {
            pace.hold_trial(&mut compressor, trial, &slot.plain)?;
        }
        let began = Instant::now();
        slot.record = Some(compressor.pack(setting, slot.number, &slot.plain, &mut slot.packed)?);
        slot.setting = setting;
        let (plain_len, packed_len) = (slot.plain.len(), slot.packed.len());
        pace.observe(|controller, now| {
            controller.packed(now, setting, plain_len, packed_len, began.elapsed())
        });
        Ok(())
    }
}

/// What this thread has worked: a sample is so short that a wait for the processor would make a level ten times as slow.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

/// The rule and, where it needs one, the controller with its clock.
struct Pace {
    fixed: Option<Setting>,
    controller: Mutex<Controller>,
    began: Instant,
}

impl Pace {
    fn new(options: &PackOptions) -> Self {
        let is_small = options.rule == Rule::FastestSmall;
        let controller = Controller::new(options.threads.get(), is_small);
        Self { fixed: options.fixed(), controller: Mutex::new(controller), began: Instant::now() }
    }

    /// How long the next chunk may be.
    fn chunk_len(&self, chunk_len_max: usize) -> usize {
        if self.fixed.is_some() { chunk_len_max } else { self.lock().chunk_len(chunk_len_max) }
    }

    /// How the next chunk is packed, and what is tried on it beside.
    fn choose(&self) -> (Setting, Option<Setting>) {
        match self.fixed {
            Some(setting) => (setting, None),
            None => self.lock().choose(self.began.elapsed()),
        }
    }

    /// Packs a sample of a chunk in the way that is tried and in the one that it is compared with.
    fn hold_trial(&self, compressor: &mut Compressor, setting: Setting, plain: &[u8]) -> Result<(), Fault> {
        let middle = plain.len() / 2;
        let sample_len = Controller::SAMPLE_LEN.min(plain.len() - middle);
        let sample = plain.get(middle..middle + sample_len).unwrap_or_default();
        if sample.is_empty() {
            return Ok(());
        }
        let mut held = |setting| {
            let began = cpu_time();
            let packed_len = compressor.trial_len(setting, sample)?;
            Ok::<_, Fault>((packed_len, cpu_time().saturating_sub(began)))
        };
        let reference = held(Controller::REFERENCE)?;
        let tried = held(setting)?;
        self.observe(|controller, now| controller.tried(now, setting, sample_len, tried, reference));
        Ok(())
    }

    fn observe(&self, tell: impl FnOnce(&mut Controller, Duration)) {
        if self.fixed.is_none() {
            tell(&mut self.lock(), self.began.elapsed());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Controller> {
        // A worker that panicked ends the run; what the controller knows is no worse for it.
        self.controller.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
