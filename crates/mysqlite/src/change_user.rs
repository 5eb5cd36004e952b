//! COM_CHANGE_USER's payload.
//!
//! ```text
//! user 00 | 1 length, proof | database 00 | 2 charset | plugin 00 | attributes
//! ```
//! Not here: whether the proof is one (`login`).

use wire::Reader;

/// What a client sent as its proof, and by which method.
pub(crate) struct Proof {
    pub(crate) plugin: Option<Vec<u8>>,
    pub(crate) response: Vec<u8>,
}

/// COM_CHANGE_USER: who it wants to be.
pub(crate) struct ChangeUser {
    pub(crate) user: String,
    pub(crate) proof: Proof,
    pub(crate) database: Option<String>,
}

impl ChangeUser {
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, wire::Fault> {
        let mut reader = Reader::new(payload);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let user = text(reader.nul_terminated()?);
        let len = usize::from(reader.u8()?);
        let response = reader.bytes(len)?.to_vec();
        let database = Some(text(reader.nul_terminated_or_rest())).filter(|name| !name.is_empty());
        let plugin = if reader.is_empty() {
            None
        } else {
            reader.u16()?;
            (!reader.is_empty()).then(|| reader.nul_terminated_or_rest().to_vec())
        };
        Ok(Self { user, proof: Proof { plugin, response }, database })
    }
}
