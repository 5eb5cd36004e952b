//! wirepress-wire.
