//! `wirepress demo`: options to the demo of crate `bench`.
//!
//! Not here: the demo. The URL is read here and not by the argument parser, which would repeat it, password and
//! all, in its error.

use bench::demo::Options;

use crate::args::DemoArgs;

/// Runs the demo.
pub(crate) fn run(args: DemoArgs) -> anyhow::Result<()> {
    let server = args.tls.server_or_started(args.server.as_deref())?;
    let server_leg_tls = args.tls.server_leg();
    let links = if args.link.is_empty() { Options::default_links()? } else { args.link };
    let DemoArgs { rows, wide_rows, seed, .. } = args;
    bench::demo::run(&Options { server, server_leg_tls, links, rows, wide_rows, seed })
}
