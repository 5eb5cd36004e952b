//! What a finished stream was.
//!
//! Not here: the line that tells it (crate `cli`).

use std::collections::BTreeMap;

use crate::Setting;

/// A stream that was packed or unpacked to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Bytes before compression.
    pub plain_len: u64,
    /// Bytes of the stream, records included.
    pub packed_len: u64,
    /// Plain bytes by the setting that they were packed with. Empty after unpacking.
    pub settings: BTreeMap<Setting, u64>,
}

impl Summary {
    /// Plain by packed bytes; larger is better.
    pub fn ratio(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a ratio is for people")]
        let ratio = self.plain_len as f64 / self.packed_len.max(1) as f64;
        ratio
    }
}
