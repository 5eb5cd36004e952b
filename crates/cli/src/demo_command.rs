//! `wirepress demo`: options to the demo of crate `bench`.
//!
//! Not here: the demo. The URL is read here and not by the argument parser, which would repeat it, password and
//! all, in its error.

use bench::demo::Options;
use bench::server_url::ServerUrl;

use crate::args::DemoArgs;

/// Runs the demo.
pub(crate) fn run(args: DemoArgs) -> anyhow::Result<()> {
    let server = args.server.as_deref().map(str::parse::<ServerUrl>).transpose()?;
    let links = if args.link.is_empty() { Options::default_links()? } else { args.link };
    let DemoArgs { rows, wide_rows, seed, .. } = args;
    bench::demo::run(&Options { server, links, rows, wide_rows, seed })
}
