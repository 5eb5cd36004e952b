//! Every pair of {none, zlib, zstd} legs carries every payload unharmed, in frames that every receiver takes.
//!
//! * `dialogue`: says a command and a reply, cut and framed as told, and checks what came out
//! * `rules`: the frame rules, as the receiver sees them
//! * `cuts`: streams cut at every place; `sizes`: payloads at every border; `random`: dialogues from a seed
//! * `late_readers`: what follows a reply that its client has not taken
//! * `passwords`: what MariaDB's own caching_sha2_password asks for
//! * `flows`: pipelining, local files, change of user, replication, errors in the middle
//!
//! Not here: bytes that break the protocol (`bad_input`), real peers (`live`).

mod cuts;
mod dialogue;
mod flows;
mod late_readers;
mod passwords;
mod random;
pub(crate) mod rules;
mod sizes;
