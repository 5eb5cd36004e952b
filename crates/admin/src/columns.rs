//! The live tables and their columns.
//!
//! A leg's direction has columns named `<side>_<direction>_<what>`, such as `client_to_server_plain_bytes`; bytes are
//! counted from the login on.
//! Not here: their rows (`tables`, `tap`).

use mysqlite::LiveTable;

pub(crate) const CONNECTIONS: LiveTable = LiveTable {
    name: "connections",
    columns: &[
        ("id", "BIGINT UNSIGNED NOT NULL"),
        ("connection_id", "INT UNSIGNED"),
        ("listener", "VARCHAR(255) NOT NULL"),
        ("server", "VARCHAR(255)"),
        ("user", "VARCHAR(255)"),
        ("host", "VARCHAR(255)"),
        ("database", "VARCHAR(255)"),
        ("command", "VARCHAR(32) NOT NULL"),
        ("time", "BIGINT UNSIGNED NOT NULL"),
        ("state", "VARCHAR(64)"),
        ("info", "LONGTEXT"),
        ("age", "BIGINT UNSIGNED NOT NULL"),
        ("commands", "BIGINT UNSIGNED NOT NULL"),
        ("compression", "VARCHAR(3)"),
        ("client_algorithm", "VARCHAR(16)"),
        ("client_level_negotiated", "INT UNSIGNED"),
        ("client_level", "INT UNSIGNED"),
        ("client_tls", "VARCHAR(16)"),
        ("server_algorithm", "VARCHAR(16)"),
        ("server_level_negotiated", "INT UNSIGNED"),
        ("server_level", "INT UNSIGNED"),
        ("server_tls", "VARCHAR(16)"),
        ("server_reason", "VARCHAR(255)"),
        ("client_to_server_plain_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("client_to_server_packed_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("client_to_server_ratio", "DOUBLE"),
        ("client_to_server_cpu_ns", "BIGINT UNSIGNED NOT NULL"),
        ("client_to_server_frames_packed", "BIGINT UNSIGNED NOT NULL"),
        ("client_to_server_frames_stored", "BIGINT UNSIGNED NOT NULL"),
        ("client_to_client_plain_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("client_to_client_packed_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("client_to_client_ratio", "DOUBLE"),
        ("client_to_client_cpu_ns", "BIGINT UNSIGNED NOT NULL"),
        ("client_to_client_frames_packed", "BIGINT UNSIGNED NOT NULL"),
        ("client_to_client_frames_stored", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_server_plain_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_server_packed_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_server_ratio", "DOUBLE"),
        ("server_to_server_cpu_ns", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_server_frames_packed", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_server_frames_stored", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_client_plain_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_client_packed_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_client_ratio", "DOUBLE"),
        ("server_to_client_cpu_ns", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_client_frames_packed", "BIGINT UNSIGNED NOT NULL"),
        ("server_to_client_frames_stored", "BIGINT UNSIGNED NOT NULL"),
        ("client_tls_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("server_tls_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("client_saved", "DOUBLE"),
        ("server_saved", "DOUBLE"),
        ("to_server_decision", "VARCHAR(64)"),
        ("to_server_reason", "VARCHAR(255)"),
        ("to_client_decision", "VARCHAR(64)"),
        ("to_client_reason", "VARCHAR(255)"),
    ],
};

pub(crate) const LINKS: LiveTable = LiveTable {
    name: "links",
    columns: &[
        ("peer", "VARCHAR(45) NOT NULL"),
        ("side", "VARCHAR(8) NOT NULL"),
        ("port", "INT UNSIGNED"),
        ("bytes_per_second", "DOUBLE"),
        ("seen_seconds_ago", "BIGINT UNSIGNED"),
        ("reply_p99_us", "BIGINT UNSIGNED"),
        ("reader_gains", "VARCHAR(3)"),
        ("stored_replies_bytes_per_second", "DOUBLE"),
        ("packed_replies_bytes_per_second", "DOUBLE"),
        ("server_leg", "VARCHAR(16)"),
        ("server_leg_reason", "VARCHAR(255)"),
        ("sessions", "BIGINT UNSIGNED NOT NULL"),
    ],
};

pub(crate) const LISTENERS: LiveTable = LiveTable {
    name: "listeners",
    columns: &[
        ("address", "VARCHAR(255) NOT NULL"),
        ("servers", "TEXT NOT NULL"),
        ("permitted", "VARCHAR(64) NOT NULL"),
        ("tls", "VARCHAR(16) NOT NULL"),
        ("connections", "BIGINT UNSIGNED NOT NULL"),
    ],
};

pub(crate) const SERVERS: LiveTable = LiveTable {
    name: "servers",
    columns: &[
        ("listener", "VARCHAR(255) NOT NULL"),
        ("address", "VARCHAR(255) NOT NULL"),
        ("state", "VARCHAR(8) NOT NULL"),
        ("reason", "TEXT"),
        ("sessions", "BIGINT UNSIGNED NOT NULL"),
    ],
};

pub(crate) const TOTALS: LiveTable = LiveTable {
    name: "totals",
    columns: &[
        ("minute", "DATETIME NOT NULL"),
        ("listener", "VARCHAR(255) NOT NULL"),
        ("side", "VARCHAR(8) NOT NULL"),
        ("direction", "VARCHAR(16) NOT NULL"),
        ("algorithm", "VARCHAR(16) NOT NULL"),
        ("sessions", "BIGINT UNSIGNED NOT NULL"),
        ("plain_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("packed_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("ratio", "DOUBLE"),
        ("cpu_ns", "BIGINT UNSIGNED NOT NULL"),
        ("frames_packed", "BIGINT UNSIGNED NOT NULL"),
        ("frames_stored", "BIGINT UNSIGNED NOT NULL"),
        ("saved", "DOUBLE"),
    ],
};

pub(crate) const FAULTS: LiveTable = LiveTable {
    name: "faults",
    columns: &[
        ("side", "VARCHAR(8) NOT NULL"),
        ("phase", "VARCHAR(16) NOT NULL"),
        ("cause", "VARCHAR(64) NOT NULL"),
        ("count", "BIGINT UNSIGNED NOT NULL"),
    ],
};

pub(crate) const SETTINGS: LiveTable = LiveTable {
    name: "settings",
    columns: &[
        ("listener", "VARCHAR(255) NOT NULL"),
        ("name", "VARCHAR(64) NOT NULL"),
        ("value", "TEXT"),
        ("dynamic", "VARCHAR(3) NOT NULL"),
    ],
};

pub(crate) const TAP: LiveTable = LiveTable {
    name: "tap",
    columns: &[
        ("number", "BIGINT UNSIGNED NOT NULL"),
        ("seconds_left", "DOUBLE"),
        ("seconds", "DOUBLE NOT NULL"),
        ("cpu_ns", "BIGINT UNSIGNED NOT NULL"),
        ("sessions", "BIGINT UNSIGNED NOT NULL"),
        ("sessions_at_once", "BIGINT UNSIGNED NOT NULL"),
        ("sessions_server_packs", "BIGINT UNSIGNED NOT NULL"),
        ("commands", "BIGINT UNSIGNED NOT NULL"),
        ("exchanges", "BIGINT UNSIGNED NOT NULL"),
        ("dialogues", "BIGINT UNSIGNED NOT NULL"),
        ("pipelined", "BIGINT UNSIGNED NOT NULL"),
        ("server", "VARCHAR(255)"),
        ("server_offers_zlib", "VARCHAR(3)"),
        ("server_offers_zstd", "VARCHAR(3)"),
        ("client_round_trip_us", "BIGINT UNSIGNED"),
        ("client_bytes_per_second", "DOUBLE NOT NULL"),
        ("client_is_local", "VARCHAR(3) NOT NULL"),
        ("server_round_trip_us", "BIGINT UNSIGNED"),
        ("server_bytes_per_second", "DOUBLE NOT NULL"),
        ("server_is_local", "VARCHAR(3) NOT NULL"),
    ],
};

pub(crate) const TAP_CODECS: LiveTable = LiveTable {
    name: "tap_codecs",
    columns: &[
        ("frame_bytes_max", "BIGINT UNSIGNED NOT NULL"),
        ("algorithm", "VARCHAR(16) NOT NULL"),
        ("level", "INT UNSIGNED NOT NULL"),
        ("frames", "BIGINT UNSIGNED NOT NULL"),
        ("plain_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("packed_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("ratio", "DOUBLE"),
        ("pack_cpu_ns", "BIGINT UNSIGNED NOT NULL"),
        ("unpack_cpu_ns", "BIGINT UNSIGNED NOT NULL"),
    ],
};

pub(crate) const TAP_EXCHANGES: LiveTable = LiveTable {
    name: "tap_exchanges",
    columns: &[
        ("request_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("reply_bytes", "BIGINT UNSIGNED NOT NULL"),
        ("first_ns", "BIGINT UNSIGNED NOT NULL"),
        ("time_ns", "BIGINT UNSIGNED NOT NULL"),
        ("server_algorithm", "VARCHAR(16) NOT NULL"),
        ("server_level", "INT UNSIGNED NOT NULL"),
    ],
};
