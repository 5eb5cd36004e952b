//! A certificate pair for those who have none, as MySQL makes one at its first start.
//!
//! It keeps listeners out, not impostors: clients that verify refuse it (`docs/tls.md` lists them).
//! Not here: its use (`listener`).

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use super::TlsError;

/// The files `wirepress-cert.pem` and `wirepress-key.pem` in `folder`, made if neither is there.
///
/// Errors: one of them alone is there, or they can't be written.
pub fn make_self_signed(folder: &Path) -> Result<(PathBuf, PathBuf), TlsError> {
    const WHAT: &str = "--tls-self-signed";
    let (cert, key) = (folder.join("wirepress-cert.pem"), folder.join("wirepress-key.pem"));
    match (cert.exists(), key.exists()) {
        (true, true) => return Ok((cert, key)),
        (false, false) => {}
        (true, false) => return Err(TlsError::file(WHAT, &key, "it is missing beside its certificate")),
        (false, true) => return Err(TlsError::file(WHAT, &cert, "it is missing beside its key")),
    }
    let failed = |error: rcgen::Error| TlsError::Setup(format!("no certificate can be made: {error}"));
    let pair = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).map_err(failed)?;
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "wirepress_auto_generated_certificate");
    params.distinguished_name = name;
    let signed = params.self_signed(&pair).map_err(failed)?;
    for (path, text, mode) in [(&key, pair.serialize_pem(), 0o600), (&cert, signed.pem(), 0o644)] {
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| TlsError::file(WHAT, path, error))?;
    }
    tracing::info!(cert = %cert.display(), "a self-signed certificate was made");
    Ok((cert, key))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::tls::{ListenerTls, TlsMode};

    #[test]
    fn a_pair_is_made_once_kept_private_and_usable() {
        let folder = tempfile::tempdir().unwrap();
        let (cert, key) = make_self_signed(folder.path()).unwrap();
        let made = std::fs::read(&cert).unwrap();
        assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        make_self_signed(folder.path()).unwrap();
        assert_eq!(std::fs::read(&cert).unwrap(), made);
        let tls = ListenerTls { mode: TlsMode::Preferred, cert, key: key.clone(), client_ca: None };
        assert!(tls.load().is_ok());
        std::fs::remove_file(key).unwrap();
        assert!(make_self_signed(folder.path()).unwrap_err().to_string().contains("missing"));
    }
}
