//! Whatever a client sends as COM_CHANGE_USER is refused or rewritten into one that says what it shall: the same
//! user, our attributes, and the plugin or none of its own.
//!
//! Not here: the exchange behind it (`auth`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::connect::auth::NO_PLUGIN;
use wire::connect::change_user::{auth_plugin, for_server_leg};
use wire::{Capabilities, Reader};

fuzz_target!(|input: (bool, bool, &[u8])| {
    let (has_plugin, has_attributes, payload) = input;
    let client = Capabilities::NONE
        .with(Capabilities::PLUGIN_AUTH, has_plugin)
        .with(Capabilities::CONNECT_ATTRS, has_attributes);
    let named = auth_plugin(payload, client);
    assert_eq!(for_server_leg(payload, client, false, &[]).as_deref(), Ok(payload));

    let ours = [(&b"_client_ip"[..], &b"192.0.2.1"[..])];
    if let Ok(rewritten) = for_server_leg(payload, client, false, &ours) {
        assert_eq!(user(&rewritten), user(payload));
        assert_eq!(auth_plugin(&rewritten, client).ok(), named.as_ref().ok().copied());
        let mut attributes = behind_plugin(&rewritten, has_plugin);
        let mut attributes = Reader::new(attributes.lenenc_bytes().expect("ours are there"));
        assert_eq!(attributes.lenenc_bytes(), Ok(&b"_client_ip"[..]));
        assert_eq!(attributes.lenenc_bytes(), Ok(&b"192.0.2.1"[..]));
        while let (Ok(name), Ok(_)) = (attributes.lenenc_bytes(), attributes.lenenc_bytes()) {
            assert_ne!(name, b"_client_ip", "the client's own word for it");
        }
    }
    if let Ok(asking) = for_server_leg(payload, client, true, &ours) {
        assert_eq!(user(&asking), user(payload));
        let mut reader = Reader::new(&asking);
        reader.bytes(1 + user(&asking).map_or(0, <[u8]>::len) + 1).expect("command and user");
        assert_eq!(reader.u8(), Ok(0), "no response");
        if has_plugin {
            assert_eq!(auth_plugin(&asking, client), Ok(NO_PLUGIN));
        }
    }
});

fn user(payload: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(payload);
    reader.u8().ok()?;
    reader.nul_terminated().ok()
}

fn behind_plugin(payload: &[u8], has_plugin: bool) -> Reader<'_> {
    let mut reader = Reader::new(payload);
    let mut skip = || {
        reader.u8()?;
        reader.nul_terminated()?;
        let len = usize::from(reader.u8()?);
        reader.bytes(len)?;
        reader.nul_terminated()?;
        reader.u16()?;
        if has_plugin {
            reader.nul_terminated()?;
        }
        Ok::<_, wire::Fault>(())
    };
    skip().expect("a whole command");
    reader
}
