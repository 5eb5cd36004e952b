//! Tests; in the making.
