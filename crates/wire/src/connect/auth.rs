//! Authentication translation; in the making.
