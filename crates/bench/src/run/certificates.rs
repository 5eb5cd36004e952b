//! Certificates for the servers and proxies of a run, under the names that their clients expect.
//!
//! ```text
//!  tls/ca.pem, cacert.pem     an authority of this run alone (sysbench looks for the second name)
//!  tls/server-cert.pem …      signed by it, for localhost and loopback
//!  tls/client-cert.pem …      signed by it
//!  tls/pair-key               what the two halves of a pair know
//! ```
//! Invariants: every path of a run shows the same certificate, so that TLS costs each of them the same; private keys
//! are gone with the run's folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::client::ClientTls;

/// The folder with the files.
#[derive(Debug)]
pub(crate) struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Makes them in `folder`.
    pub(crate) fn make(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.join("tls");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let certificates = Self { folder };
        certificates.write().context("cannot make certificates for the run")?;
        Ok(certificates)
    }

    /// For our own client: who shows these is whom it looks for.
    pub(crate) fn client_tls(&self) -> anyhow::Result<ClientTls> {
        let cannot = || "cannot read the certificates of the run";
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.path("ca.pem")).with_context(cannot)?)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .with_context(cannot)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").with_context(cannot)?;
        Ok(ClientTls { config: Arc::new(config), name, is_required: true })
    }

    fn write(&self) -> anyhow::Result<()> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, "wirepress bench CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&key)?;
        let issuer = Issuer::new(params, key);
        for name in ["ca.pem", "cacert.pem"] {
            fs::write(self.path(name), authority.pem())?;
        }
        for (who, names) in [("server", &["localhost", "127.0.0.1"][..]), ("client", &[])] {
            let key = KeyPair::generate()?;
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let mut params = CertificateParams::new(names)?;
            params.distinguished_name.push(DnType::CommonName, format!("wirepress bench {who}"));
            let certificate = params.signed_by(&key, &issuer)?;
            fs::write(self.path(&format!("{who}-cert.pem")), certificate.pem())?;
            fs::write(self.path(&format!("{who}-key.pem")), key.serialize_pem())?;
        }
        let mut secret = [0; 32];
        SystemRandom::new().fill(&mut secret).context("the system gives no random bytes")?;
        let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(self.path("pair-key"), secret)?;
        fs::set_permissions(self.path("pair-key"), fs::Permissions::from_mode(0o600))?;
        Ok(())
    }

    /// The folder, in which sysbench looks for them.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// One of them.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A server's options, as both MySQL and MariaDB spell them.
    pub(crate) fn server_arguments(&self) -> [String; 3] {
        [("ca", "ca.pem"), ("cert", "server-cert.pem"), ("key", "server-key.pem")]
            .map(|(option, name)| format!("--ssl-{option}={}", self.path(name).display()))
    }
}
