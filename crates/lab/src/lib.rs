//! wirepress-lab.
