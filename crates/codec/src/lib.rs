//! wirepress-codec.
