//! What can be wrong with a link.
//!
//! Not here: connections that break while the link runs; they are closed, as a network would.

use std::io;

/// Why a link could not be read or started.
#[derive(Debug, thiserror::Error)]
pub enum LinkFault {
    /// No loopback port, or no thread.
    #[error("the emulated link cannot listen on 127.0.0.1: {0}")]
    Listen(#[source] io::Error),
    /// The text is no link.
    #[error(
        "link '{text}': {cause}; write RATE or RATE,ROUND_TRIP, for example 'unlimited', '1gbit' or '100mbit,1.4ms'"
    )]
    Text {
        /// What the user wrote.
        text: String,
        /// What is wrong with which part.
        cause: LinkTextCause,
    },
}

/// What is wrong with the text of a link. `part` is the piece of text it is about.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkTextCause {
    /// Nothing there.
    #[error("it is empty")]
    Empty,
    /// Not a number before the unit.
    #[error("'{part}' does not begin with a number above 0")]
    NoNumber { part: String },
    /// The rate's unit is unknown.
    #[error("the rate '{part}' does not end in kbit, mbit or gbit (bits per second, powers of ten)")]
    RateUnit { part: String },
    /// More than can be counted or less than a byte per second.
    #[error("the rate '{part}' is not between 1kbit and 1000gbit")]
    RateRange { part: String },
    /// The round trip's unit is unknown.
    #[error("the round trip '{part}' does not end in us, ms or s")]
    RoundTripUnit { part: String },
    /// Too long.
    #[error("the round trip '{part}' is above 60s")]
    RoundTripRange { part: String },
    /// A second comma.
    #[error("'{part}' is left over after the round trip")]
    TooManyParts { part: String },
}
