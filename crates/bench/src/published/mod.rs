//! The figures of the published measurements that the experiments repeat.
//!
//! Source: `figures.toml`, beside this file; each section names the document it comes from. Units are in the
//! names of the keys.
//!
//! Invariants: the file is read as it is; nothing is computed, rounded or guessed.
//!
//! Not here: our own measurements.

use serde::Deserialize;

/// Everything that was published and that an experiment here repeats.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Published {
    /// Where they are from.
    #[serde(rename = "publication")]
    publications: Vec<Publication>,
    /// `select *` from 20,000,000 sysbench rows.
    pub rds_scan: ZstdScan,
    /// `select *` from 32,768 wide repetitive rows.
    pub rds_wide: ZstdScan,
    /// sysbench's oltp_read_only by threads, link, compression and TLS.
    pub oltp_read_only: OltpReadOnly,
    /// 600 MB of text, read over 100 Mbit/s with 1.4 ms round trip.
    pub sphinx_index: SphinxIndex,
    /// State transfers of a Galera node.
    pub sst: Sst,
}

/// Where figures are from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Publication {
    /// The document that sections name as their source.
    pub source: String,
    /// Who published it, when, and its heading, as far as the document says so.
    pub title: String,
    /// The plans that lay its figures beside their own.
    pub plans: Vec<String>,
}

/// A full scan at several zstd levels. The lists run side by side.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ZstdScan {
    /// Rows of the table.
    pub rows: u32,
    /// 0 is uncompressed.
    zstd_level: Vec<u8>,
    network_peak_mb_per_s: Vec<f64>,
    time_s: Vec<f64>,
}

/// One published row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedScan {
    /// Time of the query.
    pub time_s: f64,
    /// The largest network rate seen, both ways together.
    pub network_peak_mb_per_s: f64,
}

/// Transactions per second of oltp_read_only. The lists run side by side.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct OltpReadOnly {
    /// sysbench's threads.
    pub threads: Vec<u32>,
    /// 1 Gbit/s, neither compression nor TLS.
    pub plain_1gb_tps: Vec<f64>,
    /// 10 Gbit/s, neither compression nor TLS.
    pub plain_10gb_tps: Vec<f64>,
    /// 1 Gbit/s, zlib.
    pub zlib_1gb_tps: Vec<f64>,
    /// 10 Gbit/s, zlib.
    pub zlib_10gb_tps: Vec<f64>,
    /// 1 Gbit/s, TLS.
    pub tls_1gb_tps: Vec<f64>,
    /// 10 Gbit/s, TLS.
    pub tls_10gb_tps: Vec<f64>,
}

/// Indexing over a slow link, with and without compression.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SphinxIndex {
    /// What was read.
    pub text_mb: f64,
    /// The link's rate.
    pub link_mbit_per_s: f64,
    /// The link's round trip.
    pub rtt_ms: f64,
    /// Without compression.
    pub plain_s: f64,
    /// With zlib.
    pub zlib_s: f64,
    /// With zlib on 1 Gbit/s it took so many times longer than without.
    pub gigabit_slowdown_with_compression: f64,
}

/// State transfers by compressor and threads. The lists run side by side.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Sst {
    /// The compressor's threads.
    pub threads: Vec<u32>,
    /// Nothing packs.
    pub none_s: Vec<f64>,
    /// xtrabackup's own, file by file.
    pub qpress_builtin_s: Vec<f64>,
    /// qpress in the stream.
    pub qpress_s: Vec<f64>,
    /// pigz in the stream.
    pub pigz_s: Vec<f64>,
    /// zstd at level 1 in the stream.
    pub zstd1_s: Vec<f64>,
    /// What the joiner received.
    pub received_mb: SstMegabytes,
    /// What the joiner wrote.
    pub joiner_written_mb: SstMegabytes,
}

/// Megabytes of a transfer, which don't depend on threads.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SstMegabytes {
    /// Nothing packs.
    pub none: f64,
    /// xtrabackup's own, file by file.
    pub qpress_builtin: f64,
    /// qpress in the stream.
    pub qpress: f64,
    /// pigz in the stream.
    pub pigz: f64,
    /// zstd at level 1 in the stream.
    pub zstd1: f64,
}

impl Published {
    /// The figures that are built in.
    ///
    /// # Errors
    /// The built-in file is not what this version reads; a test makes sure that it is.
    pub fn built_in() -> Result<Self, toml::de::Error> {
        toml::from_str(FIGURES)
    }

    /// Where the figures are from that a plan lays beside its own; none where it has none.
    #[must_use]
    pub fn publication(&self, plan: &str) -> Option<&Publication> {
        self.publications.iter().find(|publication| publication.plans.iter().any(|name| name == plan))
    }
}

impl ZstdScan {
    /// The levels that were published, 0 for uncompressed.
    #[must_use]
    pub fn zstd_levels(&self) -> &[u8] {
        &self.zstd_level
    }

    /// The row of a zstd level; 0 is uncompressed. `None` where nothing was published.
    #[must_use]
    pub fn at_zstd_level(&self, level: u8) -> Option<PublishedScan> {
        let i = self.zstd_level.iter().position(|published| *published == level)?;
        Some(PublishedScan {
            time_s: *self.time_s.get(i)?,
            network_peak_mb_per_s: *self.network_peak_mb_per_s.get(i)?,
        })
    }
}

const FIGURES: &str = include_str!("figures.toml");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan;

    #[test]
    fn the_built_in_figures_are_those_of_the_documents() {
        let published = Published::built_in().unwrap();
        let scan = |time_s, network_peak_mb_per_s| Some(PublishedScan { time_s, network_peak_mb_per_s });
        assert_eq!((published.rds_scan.rows, published.rds_wide.rows), (20_000_000, 32_768));
        assert_eq!(published.rds_scan.at_zstd_level(0), scan(17.25, 231.0));
        assert_eq!(published.rds_scan.at_zstd_level(10), scan(182.45, 11.0));
        assert_eq!(published.rds_wide.at_zstd_level(3), scan(11.01, 1.7));
        assert_eq!((published.sst.pigz_s[0], published.sst.received_mb.zstd1), (976.0, 4148.0));
        assert_eq!((published.sphinx_index.plain_s, published.sphinx_index.zlib_s), (127.0, 87.0));
    }

    #[test]
    fn nothing_is_given_where_nothing_was_published() {
        let published = Published::built_in().unwrap();
        assert_eq!(published.rds_scan.at_zstd_level(1), None);
        assert_eq!(published.rds_wide.at_zstd_level(22), None);
    }

    #[test]
    fn whose_the_published_figures_are_is_known_of_every_plan_that_has_any() {
        let published = Published::built_in().unwrap();
        for plan in plan::ALL {
            let has_figures = !plan.published(&published).is_empty();
            let publication = published.publication(plan.name());
            assert_eq!(publication.is_some(), has_figures, "{}", plan.name());
            assert!(publication.is_none_or(|publication| !publication.title.is_empty()));
        }
    }

    #[test]
    fn every_section_is_from_a_publication_with_a_title() {
        let figures: toml::Table = toml::from_str(FIGURES).unwrap();
        let sections = figures.values().filter_map(toml::Value::as_table);
        let sources: BTreeSet<&str> = sections.map(|section| section["source"].as_str().unwrap()).collect();
        let published = Published::built_in().unwrap();
        let publications: BTreeSet<&str> =
            published.publications.iter().map(|publication| publication.source.as_str()).collect();
        assert_eq!(sources, publications);
    }
}
