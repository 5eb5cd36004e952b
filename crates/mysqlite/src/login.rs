//! The connection phase, from the greeting to the OK; and COM_CHANGE_USER, which repeats its second half.
//!
//! ```text
//! greeting ─▶            ◀─ login            [auth switch ─▶  ◀─ proof]  [01 03 ─▶]  OK ─▶
//! ```
//! Invariants: nothing is compressed before the OK; where TLS is offered, nobody from another host goes on without.
//!
//! Not here: hashes (`account`), the layouts of COM_CHANGE_USER (`change_user`) and of greeting and login (`wire::connect`).

use std::fs::File;
use std::io::{self, Read};

use codec::Algorithm;
use wire::Capabilities;
use wire::connect::negotiate::{self, ClientLeg};
use wire::connect::{ClientHello, Greeting, Login};
use wire::response::{OkPacket, status};

use crate::account::{Account, Method};
use crate::change_user::Proof;
use crate::fault::{Fault, SqlFault};
use crate::reply::send_fault;
use crate::server::Options;
use crate::stream::Connection;

/// What the greeting says: a version that drivers and mysqldump take for MySQL 8.4.
pub const SERVER_VERSION: &str = "8.4.0-wirepress";

/// 255 is utf8mb4_0900_ai_ci, MySQL 8's default.
const CHARSET: u8 = 255;

/// A client that proved who it is.
pub(crate) struct LoggedIn {
    pub(crate) capabilities: Capabilities,
    pub(crate) user: String,
    pub(crate) database: Option<String>,
    pub(crate) nonce: Vec<u8>,
    pub(crate) leg: ClientLeg,
}

/// Greets and authenticates; the final OK is the caller's, after it has opened the database.
/// Shape: `None` when the login failed (the client has been told) or the client left.
pub(crate) fn login(
    connection: &mut Connection,
    options: &Options,
    id: u32,
    host: &str,
    is_local: bool,
) -> Result<Option<LoggedIn>, Fault> {
    let nonce = nonce()?;
    let greeting = Greeting {
        server_version: SERVER_VERSION.as_bytes().to_vec(),
        thread_id: id,
        nonce: nonce.clone(),
        capabilities: negotiate::offered(offered(), options.algorithms, options.tls.is_some()),
        charset: CHARSET,
        status: status::AUTOCOMMIT,
        auth_plugin: options.method.name().as_bytes().to_vec(),
    };
    connection.send(&greeting.build())?;
    connection.flush()?;
    let Some(mut packet) = connection.first_packet()? else { return Ok(None) };
    let mut is_secure = is_local;
    if let ClientHello::SslRequest(_) = ClientHello::parse(&packet)? {
        let Some(tls) = &options.tls else {
            send_fault(connection, &SqlFault::NotSupported("TLS".to_owned()))?;
            return Ok(None);
        };
        connection.start_tls((tls.config)())?;
        is_secure = true;
        let Some(login) = connection.packet()? else { return Ok(None) };
        packet = login;
    }
    let ClientHello::Login(login) = ClientHello::parse(&packet)? else {
        return Err(SqlFault::MalformedPacket("a second request for TLS").into());
    };
    if options.tls.is_some() && !is_secure {
        send_fault(connection, &SqlFault::InsecureTransport)?;
        return Ok(None);
    }
    let leg = match negotiate::client_leg(&login, options.algorithms) {
        Ok(leg) => leg,
        Err(refusal) => {
            connection.send(&refusal.build())?;
            connection.flush()?;
            return Ok(None);
        }
    };
    let Login { capabilities, user, auth_response, database, auth_plugin, .. } = login;
    let user = String::from_utf8_lossy(&user).into_owned();
    let proof = Proof { plugin: auth_plugin, response: auth_response.to_vec() };
    if let Err(fault) = authenticate(connection, options, &user, host, proof, &nonce)? {
        send_fault(connection, &fault)?;
        return Ok(None);
    }
    let database =
        database.map(|name| String::from_utf8_lossy(&name).into_owned()).filter(|name| !name.is_empty());
    Ok(Some(LoggedIn { capabilities: capabilities & offered(), user, database, nonce, leg }))
}

/// MySQL's own zlib level towards its clients.
pub(crate) const ZLIB_LEVEL: u8 = 6;

/// The OK that ends the login; from here on frames are packed.
pub(crate) fn welcome(connection: &mut Connection, algorithm: Algorithm, level: u8) -> Result<(), Fault> {
    let ok = OkPacket { status: status::AUTOCOMMIT, ..OkPacket::default() };
    connection.send(&ok.build(0))?;
    connection.flush()?;
    connection.endpoint.start_compression(algorithm, level);
    Ok(())
}

/// Checks a proof; asks for another one when its method is not known here.
pub(crate) fn authenticate(
    connection: &mut Connection,
    options: &Options,
    user: &str,
    host: &str,
    proof: Proof,
    nonce: &[u8],
) -> Result<Result<(), SqlFault>, Fault> {
    let Proof { plugin, mut response } = proof;
    let plugin = plugin.unwrap_or_else(|| Method::Native.name().as_bytes().to_vec());
    let method = match Method::of(&plugin) {
        Some(method) => method,
        None => {
            let mut switch = vec![0xfe];
            switch.extend(options.method.name().as_bytes());
            switch.push(0);
            switch.extend(nonce);
            switch.push(0);
            connection.send(&switch)?;
            connection.flush()?;
            response = connection.need_packet()?;
            options.method
        }
    };
    let account = options.accounts.iter().find(|account| account.user == user);
    if !account.is_some_and(|account| account.accepts(method, &response, nonce)) {
        let password = if response.is_empty() { "NO" } else { "YES" };
        return Ok(Err(SqlFault::AccessDenied { user: user.to_owned(), host: host.to_owned(), password }));
    }
    if method == Method::CachingSha2 && account.is_some_and(Account::has_password) {
        // "Fast authentication succeeded": the hash is always in our "cache".
        connection.send(&[0x01, 0x03])?;
    }
    Ok(Ok(()))
}

/// What this server can do; compression is added by what the options permit.
fn offered() -> Capabilities {
    Capabilities::LONG_PASSWORD
        | Capabilities::FOUND_ROWS
        | Capabilities::LONG_FLAG
        | Capabilities::CONNECT_WITH_DB
        | Capabilities::COMPRESS
        | Capabilities::LOCAL_FILES
        | Capabilities::IGNORE_SPACE
        | Capabilities::PROTOCOL_41
        | Capabilities::INTERACTIVE
        | Capabilities::TRANSACTIONS
        | Capabilities::SECURE_CONNECTION
        | Capabilities::MULTI_STATEMENTS
        | Capabilities::MULTI_RESULTS
        | Capabilities::PS_MULTI_RESULTS
        | Capabilities::PLUGIN_AUTH
        | Capabilities::CONNECT_ATTRS
        | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA
        | Capabilities::DEPRECATE_EOF
        | Capabilities::ZSTD_COMPRESSION_ALGORITHM
}

/// Twenty random bytes without NUL, which ends the nonce in the greeting.
fn nonce() -> io::Result<Vec<u8>> {
    let mut bytes = [0; 20];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    // Printable, as MySQL's own are.
    Ok(bytes.iter().map(|byte| b'!' + byte % 93).collect())
}
