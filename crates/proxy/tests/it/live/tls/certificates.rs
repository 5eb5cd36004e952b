//! Certificates for a test: an authority of its own, and what it signs.
//!
//! Not here: the self-signed pair that the proxy makes (`proxy::make_self_signed`).

use std::path::{Path, PathBuf};

use lab::real::RealServer;
use proxy::{Fingerprint, ListenerTls, TlsMode};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    KeyUsagePurpose,
};
use tempfile::TempDir;

/// An authority; its files are gone when it is dropped.
pub(in crate::live) struct Authority {
    directory: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// PEM files.
#[derive(Clone, Debug)]
pub(in crate::live) struct Pair {
    pub(in crate::live) cert: PathBuf,
    pub(in crate::live) key: PathBuf,
}

impl Authority {
    pub(in crate::live) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("wirepress-tls-").tempdir().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name = named("the test's authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { directory, issuer }
    }

    /// Its own certificate.
    pub(in crate::live) fn ca(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// A place for files that shall go with it.
    pub(in crate::live) fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// A new certificate in files called after `name`, which is its common name too, with these alternative names.
    pub(in crate::live) fn sign(&self, name: &str, alternative_names: &[&str]) -> Pair {
        let names = alternative_names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = named(name);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let pair =
            Pair { cert: self.path(&format!("{name}-cert.pem")), key: self.path(&format!("{name}-key.pem")) };
        std::fs::write(&pair.cert, cert.pem()).unwrap();
        std::fs::write(&pair.key, key.serialize_pem()).unwrap();
        pair
    }

    /// A certificate of X.509 version 1, as MySQL's manual makes them with openssl.
    pub(in crate::live) fn sign_version_1(&self, name: &str) -> Pair {
        let pair = self.sign(name, &[]);
        let (request, ca_key) = (self.path("request"), self.path("ca-key.pem"));
        std::fs::write(&ca_key, self.issuer.key().serialize_pem()).unwrap();
        let openssl = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
            let output = std::process::Command::new("openssl").args(words).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        openssl(&[&"req", &"-new", &"-key", &pair.key, &"-subj", &format!("/CN={name}"), &"-out", &request]);
        openssl(&[
            &"x509",
            &"-req",
            &"-in",
            &request,
            &"-days",
            &"30",
            &"-CA",
            &self.ca(),
            &"-CAkey",
            &ca_key,
            &"-set_serial",
            &"01",
            &"-out",
            &pair.cert,
        ]);
        pair
    }
}

impl Pair {
    /// What MySQL made for itself at its first start: a common name, and no alternative names.
    pub(in crate::live) fn of_mysql(server: &RealServer) -> Self {
        let data = data_directory(server);
        Self { cert: data.join("server-cert.pem"), key: data.join("server-key.pem") }
    }

    /// A listener that presents it.
    pub(in crate::live) fn listener(&self, mode: TlsMode) -> Option<ListenerTls> {
        Some(ListenerTls { mode, cert: self.cert.clone(), key: self.key.clone(), client_ca: None })
    }

    /// As openssl counts it.
    pub(in crate::live) fn fingerprint(&self) -> Fingerprint {
        let openssl = std::process::Command::new("openssl")
            .args(["x509", "-noout", "-fingerprint", "-sha256", "-in"])
            .arg(&self.cert)
            .output()
            .unwrap();
        let printed = String::from_utf8(openssl.stdout).unwrap();
        printed.trim().rsplit('=').next().unwrap().parse().unwrap()
    }
}

/// The authority that MySQL made at its first start.
pub(in crate::live) fn mysqls_ca(server: &RealServer) -> PathBuf {
    data_directory(server).join("ca.pem")
}

fn data_directory(server: &RealServer) -> PathBuf {
    Path::new(&server.sql("select @@datadir").unwrap()).to_path_buf()
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}
