//! What a user may choose about the demo, and its defaults.
//!
//! Invariants: whatever is here has been checked; a wrong option is found before anything is started.
//!
//! Not here: reading arguments (crate `cli`).

use lab::link::{Link, LinkFault};

use crate::server_url::ServerUrl;

/// The demo's options.
#[derive(Debug, Clone)]
pub struct Options {
    /// A real server instead of the embedded database.
    pub server: Option<ServerUrl>,
    /// The proxy's options that speak to it in the same way, where everything to it has to be inside TLS.
    pub server_leg_tls: Vec<String>,
    /// The links to measure over, one after the other.
    pub links: Vec<Link>,
    /// Rows of the sysbench-shaped table, at least 1.
    pub rows: u32,
    /// Rows of the wide repetitive table, at least 1.
    pub wide_rows: u32,
    /// Seed of all data.
    pub seed: u64,
}

impl Options {
    /// Rows of the sysbench-shaped table unless said otherwise: about 60 MB, 5 s at 100 Mbit/s uncompressed.
    pub const ROWS: u32 = 300_000;
    /// Rows of the wide table unless said otherwise: 38 MB, 3 s at 100 Mbit/s uncompressed.
    pub const WIDE_ROWS: u32 = 600;
    /// Seed unless said otherwise; any would do.
    pub const SEED: u64 = 1;
    /// Links unless said otherwise: what this machine can, and the slow one of the published experiment.
    pub const LINKS: [&str; 2] = ["unlimited", "100mbit,1.4ms"];

    /// [`Options::LINKS`], read.
    ///
    /// # Errors
    /// None: a test makes sure that they are links.
    pub fn default_links() -> Result<Vec<Link>, LinkFault> {
        Self::LINKS.iter().map(|text| Link::parse(text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_links_are_links() {
        let links = Options::default_links().unwrap();
        assert_eq!(links.len(), 2);
        assert!(links[0].is_unlimited());
        assert_eq!(links[1].rate_bytes_per_s, Some(12_500_000));
    }
}
