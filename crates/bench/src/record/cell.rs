//! A cell: one combination of everything that a plan varies.
//!
//! Invariants: two samples belong together if and only if their cells are equal.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Setting;

/// One combination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The link as it was asked for: `unlimited`, `100mbit,1.4ms`; a kernel link begins with [`KERNEL`].
    pub link: String,
    /// What is done: `scan sbtest1`, `oltp_read_only`, `index`.
    pub workload: String,
    /// Client threads or connections.
    pub threads: u32,
    /// Who stands between client and server.
    pub path: Path,
    /// Whether what crosses the link is inside TLS.
    pub tls: bool,
    /// Compression of what crosses the link.
    pub setting: Setting,
}

impl Cell {
    /// This cell with another way and setting: what a cell is compared with.
    #[must_use]
    pub fn with(&self, path: Path, setting: Setting, tls: bool) -> Self {
        Self { path, setting, tls, ..self.clone() }
    }

    /// Whether its workload contains the text, or is it with the threads behind a comma (`point select, 8`).
    #[must_use]
    pub fn does(&self, text: &str) -> bool {
        self.workload.contains(text) || format!("{}, {}", self.workload, self.threads) == text
    }

    /// What the row of a table is called: path, setting and TLS, as far as they are worth a word.
    #[must_use]
    pub fn label(&self) -> String {
        let tls = if self.tls { ", TLS" } else { "" };
        match (self.path, self.setting) {
            (Path::Direct, Setting::Stream(compressor)) => format!("{compressor}{tls}"),
            (Path::Haproxy | Path::Router, Setting::None) => format!("{}{tls}", self.path),
            (path, setting) => format!("{path}, {setting}{tls}"),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {}, {}", self.workload, self.link, self.label())?;
        if self.threads > 1 {
            write!(f, ", {} threads", self.threads)?;
        }
        Ok(())
    }
}

/// Who stands between client and server, and on which side of the link.
///
/// ```text
///  direct                  client ═ link ═ server             the server packs
///  wirepress               client ═ link ═ wirepress ─ server
///  wirepress beside app    client ─ wirepress ═ link ═ server
///  wirepress pair          client ─ wirepress ═ link ═ wirepress ─ server
///  haproxy, router         client ═ link ═ HAProxy or MySQL Router ─ server
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Path {
    /// Nobody.
    #[serde(rename = "direct")]
    Direct,
    /// HAProxy in TCP mode.
    #[serde(rename = "HAProxy")]
    Haproxy,
    /// MySQL Router.
    #[serde(rename = "MySQL Router")]
    Router,
    /// wirepress beside the server.
    #[serde(rename = "wirepress")]
    Wirepress,
    /// wirepress beside the application.
    #[serde(rename = "wirepress beside app")]
    WirepressBesideApp,
    /// One beside each, with a stream of their own between them.
    #[serde(rename = "wirepress pair")]
    WirepressPair,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Direct => "direct",
            Self::Haproxy => "HAProxy",
            Self::Router => "MySQL Router",
            Self::Wirepress => "wirepress",
            Self::WirepressBesideApp => "wirepress beside app",
            Self::WirepressPair => "wirepress pair",
        })
    }
}

/// How the name of a kernel link begins.
pub const KERNEL: &str = "kernel ";
