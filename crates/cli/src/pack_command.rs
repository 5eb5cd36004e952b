//! `wirepress pack` and `wirepress unpack`: standard streams to crate `transfer`.
//!
//! Not here: the stream itself, and what is told meanwhile (`progress`).

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use transfer::{Fault, Meter, PackOptions, Rule, Summary, UnpackOptions};

use crate::pack_args::{PackArgs, ReportArgs, UnpackArgs};
use crate::progress::{Progress, Sized, json, megabytes, per_second};
use crate::standard_streams::{self, NoStream};

/// Packs standard input to standard output.
pub(crate) fn pack(PackArgs { packing: args }: &PackArgs) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        return Err(NoStream::Output.into());
    }
    let (input, output) = (standard_streams::input()?, standard_streams::output()?);
    let rule = match args.level.fixed() {
        Some(setting) => Rule::Fixed(setting),
        None if standard_streams::is_regular(&output) => Rule::FastestSmall,
        None => Rule::Fastest,
    };
    let threads = args.threads.count();
    let options = PackOptions { rule, threads };
    let summary = told("wirepress pack", &args.report, Sized::Plain(args.size), |meter| {
        let summary = transfer::pack(input, &output, &options, meter)?;
        standard_streams::keep(&output).map_err(Fault::Write)?;
        Ok(summary)
    })?;
    if let Some((summary, took)) = summary {
        let how = match rule {
            Rule::Fixed(setting) => setting.to_string(),
            Rule::Fastest | Rule::FastestSmall => shares(&summary),
        };
        close("wirepress pack", "->", &summary, took, &how, threads.get(), options.memory_len_max());
    }
    Ok(())
}

/// Unpacks standard input to standard output.
pub(crate) fn unpack(args: &UnpackArgs) -> anyhow::Result<()> {
    let input = standard_streams::input()?;
    let output = (!args.test).then(standard_streams::output).transpose()?;
    let threads = args.threads.count();
    let mut options = UnpackOptions { foreign: args.foreign, ..UnpackOptions::new(threads) };
    if let Some(memory_len) = args.memory {
        options.memory_len = memory_len;
    }
    let summary = told("wirepress unpack", &args.report, Sized::Packed(args.size), |meter| {
        let Some(mut output) = output else {
            return transfer::unpack(input, io::sink(), &options, meter);
        };
        let summary = transfer::unpack(input, &mut output, &options, meter)?;
        standard_streams::keep(&output).map_err(Fault::Write)?;
        Ok(summary)
    })?;
    if let Some((summary, took)) = summary {
        let how = match (args.foreign, args.test) {
            (true, _) => "foreign zstd, whose end can't be verified",
            (false, true) => "verified, nothing written",
            (false, false) => "verified",
        };
        let threads = if args.foreign { 1 } else { threads.get() };
        close("wirepress unpack", "<-", &summary, took, how, threads, options.memory_len);
    }
    Ok(())
}

/// Runs with what is to be told meanwhile; summary and time, unless nothing is to be told in the end.
pub(crate) fn told(
    name: &'static str,
    report: &ReportArgs,
    size: Sized,
    run: impl FnOnce(&Arc<Meter>) -> Result<Summary, Fault>,
) -> anyhow::Result<Option<(Summary, Duration)>> {
    let meter = Arc::<Meter>::default();
    let is_shown = report.progress || report.json;
    let progress = is_shown.then(|| Progress::start(name, &meter, size, report.json)).transpose()?;
    let began = Instant::now();
    let summary = run(&meter);
    drop(progress);
    if report.json {
        let event = if summary.is_ok() { "done" } else { "failed" };
        drop(writeln!(io::stderr(), "{}", json(name, event, meter.read(), began.elapsed())));
    }
    let summary = summary?;
    let is_told = !report.quiet && !report.json;
    Ok(is_told.then(|| (summary, began.elapsed())))
}

/// The closing line.
pub(crate) fn close(
    name: &str,
    arrow: &str,
    summary: &Summary,
    took: Duration,
    how: &str,
    threads: usize,
    memory_len_max: u64,
) {
    let (plain, packed) = (megabytes(summary.plain_len), megabytes(summary.packed_len));
    let rate = megabytes(per_second(summary.plain_len, took));
    // The exit code tells the rest, where standard error takes nothing.
    drop(writeln!(
        io::stderr(),
        "{name}: {plain} {arrow} {packed}, ratio {:.2}, {:.2} s, {rate}/s; {how}; threads {threads}, memory at most {} MiB",
        summary.ratio(),
        took.as_secs_f64(),
        memory_len_max.div_ceil(1 << 20),
    ));
}

/// What the controller used, the most first.
pub(crate) fn shares(summary: &Summary) -> String {
    let mut settings: Vec<_> = summary.settings.iter().collect();
    settings.sort_by_key(|&(_, len)| std::cmp::Reverse(*len));
    let total = summary.plain_len.max(1);
    let parts: Vec<String> =
        settings.iter().map(|&(setting, len)| format!("{setting} {} %", len * 100 / total)).collect();
    if parts.is_empty() { "auto".to_owned() } else { format!("auto: {}", parts.join(", ")) }
}
