//! `wirepress advise`: arguments to the advisor of crate `bench`.
//!
//! Not here: the advisor. The URL is read here and not by the argument parser, which would repeat it, password and
//! all, in its error.

use std::time::Duration;

use anyhow::Context;
use bench::advise::{self, Options, Prices, StatementSource, TrialOptions, Workload};
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
    let wirepress =
        std::env::current_exe().context("cannot find this program's own file, to start the proxy")?;
    let workload = Workload::Trial(TrialOptions {
        server,
        statements: StatementSource::QueryFile(query_file),
        allow_writes,
        time: Duration::from_secs(seconds),
        wirepress,
    });
    let options = Options { workload, assume_link, seed, prices, out, json };
    advise::run(&options, &mut std::io::stdout())
}
