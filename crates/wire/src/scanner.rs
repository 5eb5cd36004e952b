//! Scanner; in the making.
