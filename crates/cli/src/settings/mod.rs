//! Settings of the proxy: each is an option of the command line and, by the same name, a key of the config file.
//!
//! ```text
//! defaults (`proxy::ListenerConfig`) <- config file <- command line
//! ```
//! Option names are MySQL's own where it has one. Not here: reading the file (`config_file`).

mod listener;
mod process;
mod values;

pub(crate) use self::listener::ListenerSettings;
pub(crate) use self::process::ProcessSettings;
pub(crate) use self::values::SslWish;
