//! `wirepress.toml`: settings of the process under `[proxy]`, and a `[[listener]]` for each listener.
//!
//! ```toml
//! [proxy]
//! workers = 2
//!
//! [[listener]]
//! listen = "0.0.0.0:3307"
//! server = "db:3306"
//! ```
//! Invariants: an unknown key or a wrong value is an error with file, line and what is allowed.
//! Not here: what the settings mean (`settings`).

use std::path::Path;

use anyhow::{Context, anyhow};
use serde::Deserialize;

use crate::settings::{ListenerSettings, ProcessSettings};

/// A whole file.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigFile {
    /// The whole process.
    #[serde(default)]
    pub(crate) proxy: ProcessSettings,
    /// Each listener.
    #[serde(default, rename = "listener")]
    pub(crate) listeners: Vec<ListenerSettings>,
}

impl ConfigFile {
    /// Reads a file.
    ///
    /// Errors: it can't be read, or the toml parser's, with file, line and column.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("can't read the config file '{}'", path.display()))?;
        Self::parse(&text).map_err(|fault| anyhow!("config file '{}': {fault}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let told = error.to_string();
            let told = told.trim_end();
            nearest_key(error.message())
                .map_or_else(|| told.to_owned(), |key| format!("{told}\ndid you mean '{key}'?"))
        })
    }
}

/// The known key that is nearest to the one that the parser complains of.
fn nearest_key(message: &str) -> Option<String> {
    let mut quoted = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    let (key, similarity) =
        quoted.map(|key| (key, strsim::jaro_winkler(unknown, key))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (similarity > SIMILAR).then(|| key.to_owned())
}

/// As the argument parser's own suggestions.
const SIMILAR: f64 = 0.7;

#[cfg(test)]
mod tests {
    use clap::Args;
    use proxy::{Config, ListenerConfig, Policy};

    use super::*;

    /// `# key = value` is a default, `## key = value` an example of what has none.
    #[test]
    fn the_example_shows_every_key_and_the_defaults_are_true() {
        let example = include_str!("../../../docs/example.toml");
        let command = ListenerSettings::augment_args(ProcessSettings::augment_args(clap::Command::new("")));
        for key in command.get_arguments().filter_map(clap::Arg::get_long) {
            let shown = |line: &str| line.trim_start_matches(['#', ' ']).starts_with(&format!("{key} = "));
            assert!(example.lines().any(shown), "{key} is missing");
        }
        let is_default = |line: &&str| line.starts_with("# ") && line.split(' ').nth(2) == Some("=");
        let uncommented: Vec<_> =
            example.lines().map(|line| if is_default(&line) { &line[2..] } else { line }).collect();
        let defaults = ListenerConfig {
            // The program's default, where the library's is to do as it is told.
            policy: Policy::OF_THE_PROGRAM,
            ..ListenerConfig::new("127.0.0.1:3307".parse().unwrap(), "127.0.0.1:3306".parse().unwrap())
        };
        let expected = Config { listeners: vec![defaults], ..Config::default() };
        for text in [example, &uncommented.join("\n")] {
            let ConfigFile { proxy, listeners } = ConfigFile::parse(text).unwrap();
            let listeners = listeners.into_iter().map(|listener| listener.config().unwrap()).collect();
            assert_eq!(proxy.config(listeners), expected);
        }
    }

    #[test]
    fn mistakes_are_told_with_their_line_and_a_suggestion() {
        for (text, expected) in [
            ("[proxy]\nworker = 2", &["line 2", "unknown field", "did you mean 'workers'?"][..]),
            ("[[listener]]\nlisten = \"nowhere\"", &["line 2", "host:port"]),
            ("[[listener]]\nzstd-compression-level = 23", &["line 2", "1 to 22"]),
            ("[[listener]]\nssl-mode = \"maybe\"", &["line 2", "verify_identity"]),
            ("[[listener]]\ncompression-algorithms = \"lz4\"", &["line 2", "zstd, zlib or uncompressed"]),
            ("[[listener]]\npolicy = \"cheap\"", &["line 2", "`fixed`, `latency`, `cost`"]),
            ("[proxy]\ncost-cpu-percent = 1000000", &["line 2", "0 to 102400"]),
            ("[[listener]]\n\ncost-p99-percent = 1000000", &["line 3", "a whole number of per cent"]),
            ("[listeners]", &["unknown field", "did you mean 'listener'?"]),
        ] {
            let told = ConfigFile::parse(text).unwrap_err();
            for part in expected {
                assert!(told.contains(part), "{part}: {told}");
            }
        }
    }
}
