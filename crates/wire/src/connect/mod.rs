//! The connection phase: everything before the OK that ends the login.
//!
//! ```text
//! server                         client
//!   greeting (or ERR)      ->
//!                          <-      [SSLRequest, then TLS]  login
//!   auth switch, more data ->
//!                          <-      answers ...
//!   OK or ERR              ->      compression starts behind the OK
//! ```
//!
//! Not here: who relays it (crate `proxy`, `connect`).

pub mod auth;
pub mod change_user;
pub mod client_auth;
pub mod greeting;
pub mod login;
pub mod negotiate;
pub mod scramble;

pub use greeting::Greeting;
pub use login::{ClientHello, Login};
