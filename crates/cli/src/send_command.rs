//! `wirepress send` and `wirepress receive`: streams or commands to crate `transfer`'s network.
//!
//! Not here: the transfer itself, and what is told meanwhile (`progress`).

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use transfer::net::{
    Certificates, Patience, ReceiveOptions, Receiver, Security, SendOptions, SharedKey, send as send_stream,
};
use transfer::{Fault, PackOptions, Rule, UnpackOptions, memory};

use crate::child::Source;
use crate::pack_command::{close, shares, told};
use crate::progress::Sized;
use crate::send_args::{PatienceArgs, ReceiveArgs, SecurityArgs, SendArgs};
use crate::sink::Sink;
use crate::standard_streams;

/// A key or certificate that can't be used: the command line is at fault.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub(crate) struct BadSecurity(anyhow::Error);

/// Sends standard input or a command's output.
pub(crate) fn send(args: &SendArgs) -> anyhow::Result<()> {
    let rule = args.packing.level.fixed().map_or(Rule::Fastest, Rule::Fixed);
    let threads = args.packing.threads.count();
    let pack_options = PackOptions { rule, threads };
    let options = SendOptions {
        to: args.to.clone(),
        connections: args.connections,
        security: security(&args.security)?,
        rate_limit: args.rate_limit,
        patience: patience(&args.patience),
        window_len: WINDOW_LEN,
    };
    let source = Source::start(&args.command)?;
    // To the end of this function, however that ends.
    let _guard = source.as_ref().map(Source::guard);
    let input: Box<dyn Read + Send> = match source {
        Some(source) => Box::new(source),
        None => Box::new(standard_streams::input()?),
    };
    let name = "wirepress send";
    let summary = told(name, &args.packing.report, Sized::Plain(args.packing.size), |meter| {
        let meter = Arc::clone(meter);
        send_stream(&options, move |sink| transfer::pack_pieces(input, &pack_options, &meter, sink))
    })?;
    if let Some((summary, took)) = summary {
        let memory_len = pack_options.memory_len_max() + WINDOW_LEN as u64;
        let how = args.packing.level.fixed().map_or_else(|| shares(&summary), |setting| setting.to_string());
        close(name, "->", &summary, took, &how, threads.get(), memory_len);
    }
    Ok(())
}

/// Receives to standard output or to a command's input.
pub(crate) fn receive(args: &ReceiveArgs) -> anyhow::Result<()> {
    let threads = args.threads.count();
    let options = ReceiveOptions {
        security: security(&args.security)?,
        patience: patience(&args.patience),
        // A piece may be on its way when another end's window is full.
        window_len: WINDOW_LEN + WINDOW_LEN / 4,
    };
    if args.command.is_empty() {
        // Before anybody comes.
        standard_streams::output()?;
    }
    let receiver = Receiver::bind(&args.listen, options)?;
    let name = "wirepress receive";
    if !args.report.quiet {
        drop(writeln!(io::stderr(), "{name}: listening on {}", receiver.address()?));
    }
    let mut sink = Sink::start(&args.command)?;
    let unpack_options = UnpackOptions::new(threads);
    let summary = told(name, &args.report, Sized::Plain(None), |meter| {
        receiver.run(sink.watch(), |stream| {
            let unpacked = transfer::unpack(stream, &mut sink, &unpack_options, meter);
            // Only then the sender is told.
            let ended = sink.end(unpacked.is_ok()).map_err(Fault::Write);
            unpacked.and_then(|summary| ended.map(|()| summary))
        })
    })?;
    if let Some((summary, took)) = summary {
        let memory_len = memory::permitted_len(threads) + WINDOW_LEN as u64;
        close(name, "<-", &summary, took, "verified", threads.get(), memory_len);
    }
    Ok(())
}

fn security(args: &SecurityArgs) -> Result<Security, BadSecurity> {
    let security = if let Some(file) = &args.key_file {
        let text =
            std::fs::read(file).with_context(|| format!("cannot read --key-file '{}'", file.display()));
        let key = text.and_then(|text| Ok(SharedKey::new(&text)?));
        Security::Shared(key.map_err(BadSecurity)?)
    } else if let (Some(cert), Some(key), Some(ca)) = (&args.tls_cert, &args.tls_key, &args.tls_ca) {
        let (cert, key, ca) = (cert.clone(), key.clone(), ca.clone());
        Security::Certificates(Certificates { cert, key, ca, name: args.tls_name.clone() })
    } else {
        Security::Clear
    };
    security.check().map_err(|fault| BadSecurity(fault.into()))?;
    Ok(security)
}

fn patience(args: &PatienceArgs) -> Patience {
    let [start, reconnect, silence] =
        [args.start_timeout, args.reconnect_timeout, args.idle_timeout].map(Duration::from_secs);
    Patience { start, reconnect, silence }
}

/// Under way, or kept to be sent again: twice what 1 Gbit and 80 ms round trip have on the line, and then some chunks.
const WINDOW_LEN: usize = 32 << 20;
