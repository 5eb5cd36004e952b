//! What packs a backup's stream on its way to the joiner, by the name it has in tables and files.
//!
//! Invariants: names are told apart from those of connections' settings (`zstd -1` is a program, `zstd 1` the protocol's).
//!
//! Not here: their commands (`job::commands`).

use std::fmt;

/// A program between backup and network, and its counterpart. `Ord` is the order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compressor {
    /// mariadb-backup's own quicklz, file by file; what arrives stays packed.
    Backup,
    /// qpress between backup and network; published only.
    Qpress,
    /// xtrabackup's own qpress, file by file, unpacked after arrival; published only.
    QpressBuiltIn,
    /// pigz.
    Pigz,
    /// zstd at level 1.
    Zstd,
    /// lz4 at level 1; it has one thread.
    Lz4,
    /// pzstd at level 1.
    Pzstd,
    /// Ours at level 1.
    Pack,
    /// Ours, which chooses.
    PackAuto,
}

impl Compressor {
    /// Those that can be run here.
    pub const MEASURED: [Self; 7] =
        [Self::Backup, Self::Pigz, Self::Zstd, Self::Lz4, Self::Pzstd, Self::Pack, Self::PackAuto];

    /// The compressor of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let others = [Self::Qpress, Self::QpressBuiltIn];
        Self::MEASURED.into_iter().chain(others).find(|compressor| compressor.name() == name)
    }

    /// The program of others that packs.
    #[must_use]
    pub const fn program(self) -> Option<&'static str> {
        match self {
            Self::Pigz => Some("pigz"),
            Self::Zstd => Some("zstd"),
            Self::Lz4 => Some("lz4"),
            Self::Pzstd => Some("pzstd"),
            Self::Qpress | Self::QpressBuiltIn => Some("qpress"),
            Self::Backup | Self::Pack | Self::PackAuto => None,
        }
    }

    /// The name in tables and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backup => "mariadb-backup --compress",
            Self::Qpress => "qpress",
            Self::QpressBuiltIn => "qpress, built in",
            Self::Pigz => "pigz",
            Self::Zstd => "zstd -1",
            Self::Lz4 => "lz4 -1",
            Self::Pzstd => "pzstd -1",
            Self::Pack => "wirepress pack -1",
            Self::PackAuto => "wirepress pack --auto",
        }
    }
}

impl fmt::Display for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
