//! wirepress-bench.
