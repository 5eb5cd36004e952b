//! The binary: arguments to one of the crates, nothing else.
//!
//! Exit codes: 0 fine, 1 failed, 64 bad arguments or config.
//! Not here: any behaviour; each subcommand has a file of its own.

mod admin_client;
mod advise_args;
mod advise_command;
mod args;
mod bench_args;
mod bench_command;
mod child;
mod config_file;
mod demo_command;
mod ending_signals;
mod flood;
mod generate;
mod log;
mod memory;
mod pack_args;
mod pack_command;
mod peer_tls;
mod progress;
mod proxy_command;
mod send_args;
mod send_command;
mod settings;
mod sink;
mod standard_streams;
mod status_command;
mod top;
mod words;
mod zstd_syntax;

use std::io::Write;
use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

fn main() -> ExitCode {
    memory::give_back_large_blocks();
    let args = match Args::try_parse_from(zstd_syntax::with_levels_named(std::env::args_os())) {
        Ok(args) => args,
        Err(error) => {
            let code = if error.use_stderr() { EXIT_USAGE } else { 0 };
            // A closed pipe (`wirepress --help | head`) is no failure.
            drop(error.print());
            return ExitCode::from(code);
        }
    };
    let done = match args.command {
        Command::Demo(demo) => demo_command::run(demo),
        Command::Advise(advise) => advise_command::run(*advise),
        Command::Bench(bench) => bench_command::run(bench.what),
        Command::CheckConfig(check) => proxy_command::check(&check),
        Command::Status(status) => status_command::run(&status),
        Command::Top(top) => top::run(&top),
        Command::Pack(pack) => pack_command::pack(&pack),
        Command::Unpack(unpack) => pack_command::unpack(&unpack),
        Command::Send(send) => send_command::send(&send),
        Command::Receive(receive) => send_command::receive(&receive),
        Command::Proxy(proxy) => proxy_command::run(*proxy),
        Command::Generate(generate) => generate::run(&generate),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The exit code tells it too, where standard error takes nothing.
            drop(writeln!(std::io::stderr(), "wirepress: {error:#}"));
            if is_usage(&error) { ExitCode::from(EXIT_USAGE) } else { ExitCode::FAILURE }
        }
    }
}

/// Whether arguments or a config file are at fault.
fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<bench::server_url::ServerUrlFault>()
        || error.is::<bench::advise::TapServerFault>()
        || error.is::<advise_command::BadTap>()
        || error.is::<peer_tls::TlsForNobody>()
        || error.is::<proxy_command::BadConfig>()
        || matches!(
            error.downcast_ref(),
            Some(
                admin::Fault::NoPassword { .. }
                    | admin::Fault::NoTls { .. }
                    | admin::Fault::Tls(_)
                    | admin::Fault::Password { .. }
            )
        )
        || error.is::<standard_streams::NoStream>()
        || error.is::<top::NoTerminal>()
        || error.is::<send_command::BadSecurity>()
        || error.is::<proxy::TlsError>()
        || error.is::<proxy::FileError>()
        || matches!(error.downcast_ref(), Some(proxy::StartError::File(_)))
}

/// EX_USAGE of sysexits.h.
const EXIT_USAGE: u8 = 64;
