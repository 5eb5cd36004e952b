//! `wirepress advise`: arguments to the advisor of crate `bench`.
//!
//! Not here: the advisor. The URL is read here and not by the argument parser, which would repeat it, password and
//! all, in its error.

use std::time::Duration;

use bench::advise::{self, Options, Prices};
use bench::server_url::ServerUrl;

use crate::advise_args::AdviseArgs;

/// Measures and tells.
pub(crate) fn run(args: AdviseArgs) -> anyhow::Result<()> {
    let server = args.server.parse::<ServerUrl>()?;
    let prices = Prices {
        gb_per_month: args.gb_per_month,
        per_gb: args.price_per_gb,
        per_core_hour: args.price_per_core_hour,
    };
    let AdviseArgs { query_file, allow_writes, assume_link, seconds, out, json, seed, .. } = args;
    let time = Duration::from_secs(seconds);
    let options = Options { server, query_file, allow_writes, assume_link, time, seed, prices, out, json };
    advise::run(&options, &mut std::io::stdout())
}
