//! `wirepress generate`: man pages and shell completions from the argument definitions.
//!
//! Not here: the definitions (`args`).

use std::io;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Args, GenerateArgs, Generated};

/// Writes what was asked for.
pub(crate) fn run(args: &GenerateArgs) -> anyhow::Result<()> {
    let command = Args::command();
    match &args.what {
        Generated::Man { folder } => clap_mangen::generate_to(command, folder)
            .with_context(|| format!("can't write man pages into {}", folder.display())),
        Generated::Completions { shell } => {
            let mut command = command;
            clap_complete::generate(*shell, &mut command, "wirepress", &mut io::stdout());
            Ok(())
        }
    }
}
