//! What can be wrong with packed bytes, by name.
//!
//! Not here: faults of the framing around them (`wire::Fault`).

/// Why bytes could not be packed or unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The body is not a complete stream of the algorithm: garbage, truncated, or a wrong checksum.
    #[error("the body is not a valid {0} stream")]
    BodyCorrupt(crate::Algorithm),
    /// The body inflates to more bytes than its header declared: a lie or a bomb.
    #[error("the body inflates past the {declared_len} bytes that its header declares")]
    BodyLongerThanDeclared {
        /// Length before compression that the header declared, bytes.
        declared_len: usize,
    },
    /// The body ends with fewer bytes than its header declared.
    #[error("the body inflates to {actual_len} bytes, its header declares {declared_len}")]
    BodyShorterThanDeclared {
        /// Length before compression that the header declared, bytes.
        declared_len: usize,
        /// Length that the body really had, bytes.
        actual_len: usize,
    },
    /// The compression library refused to work, in practice for want of memory.
    #[error("the {0} library failed")]
    LibraryFailed(crate::Algorithm),
}
