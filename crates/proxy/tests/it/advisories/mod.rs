//! Public advisories of other proxies, servers and drivers, their bytes replayed: what crashed, fooled or filled them
//! ends one session here, or nothing at all.
//!
//! Each test names its advisory. `docs/threat-model.md` lists all of them, those included that tests elsewhere cover.
//!
//! * `login`: before anybody is logged in; `commands`: behind the login; `proxy_header`: whose connection it is
//! * `starttls`: bytes before TLS
//!
//! Not here: what no advisory names (`bad_input`), passwords on the wire of real clients (`live::tls::passwords`).

mod commands;
mod login;
mod proxy_header;
mod starttls;
