//! Rows and blobs from a seed.
//!
//! Each generator is a function of (seed, id) alone, so any row can be made again without the ones before
//! it, by several threads, in any order.
//!
//! Invariants: the bytes for a (kind, seed, id) never change; a test pins a hash of each kind. Whoever has to
//! change them invalidates every recorded figure and says so in the changelog.
//!
//! Not here: SQL. A row is its values; `bench` writes the statements.

mod blob;
mod sequence;
mod sysbench;
mod text;
mod wide;

pub use blob::blob;
pub use sequence::Sequence;
pub use sysbench::{SysbenchRow, sysbench_row};
pub use text::text_row;
pub use wide::{WIDE_ROW_BYTES, wide_row};

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use sha2::{Digest, Sha256};

    use super::*;

    fn sha256_hex(parts: impl Iterator<Item = Vec<u8>>) -> String {
        let mut hash = Sha256::new();
        parts.for_each(|part| hash.update(part));
        hash.finalize().iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_for_ever() {
        let sysbench = |id| {
            let row = sysbench_row(7, id, 1000);
            format!("{}|{}|{}|{}\n", row.id, row.k, row.c, row.pad).into_bytes()
        };
        assert_eq!(
            sha256_hex((1..=1000).map(sysbench)),
            "8553a2bb996312a90a32014476f5e396122f4cd07b301ae8b6b180784e208403"
        );
        assert_eq!(
            sha256_hex((1..=10).map(|id| wide_row(7, id).into_bytes())),
            "27811688f1be2e384323c640077eb13c52bbef3724b3799aa9fe2b639e7d89cd"
        );
        assert_eq!(
            sha256_hex((1..=100).map(|id| text_row(7, id, 500).into_bytes())),
            "ba2bfa84e44f19ce7895951c8fb69e2b3256cf0d955a34d6c8254c625884da3b"
        );
        assert_eq!(
            sha256_hex((1..=10).map(|id| blob(7, id, 10_001))),
            "bc1f488d739d09fce6b5ca802174a6e4628a5239de83285787fe6ece9ccf4488"
        );
    }

    #[test]
    fn another_seed_or_another_id_gives_other_bytes() {
        assert_ne!(sysbench_row(1, 1, 1000), sysbench_row(2, 1, 1000));
        assert_ne!(wide_row(1, 1), wide_row(1, 2));
        assert_ne!(text_row(1, 1, 100), text_row(2, 1, 100));
        assert_ne!(blob(1, 1, 100), blob(1, 2, 100));
    }
}
