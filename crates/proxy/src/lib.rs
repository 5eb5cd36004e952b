//! wirepress-proxy.
