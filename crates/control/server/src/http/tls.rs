//! TLS by rustls: the server's own certificate, and the trust in certificates of clients.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// Permissions that a key file must not have: any for others, and write for the group. The group may read: a group
/// for keys is usual.
const OTHERS: u32 = 0o027;

/// The files that TLS needs, all of them PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The chain of the server's own certificate.
    pub certificates: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Authorities whose client certificates are trusted; without it clients are not asked for certificates.
    pub client_ca: Option<PathBuf>,
    /// Revocation lists. If given, each authority that signs certificates of clients needs a list in it.
    pub client_crl: Option<PathBuf>,
}

/// Content of the files.
#[derive(Clone)]
pub(crate) struct InUse {
    pub(crate) acceptor: TlsAcceptor,
    /// Judges certificates of clients, if any are asked for.
    pub(crate) clients: Option<Arc<dyn ClientCertVerifier>>,
    /// Number of times that the files were read.
    pub(crate) generation: u64,
}

/// The configuration in use; it may be replaced while the server runs.
#[derive(Clone)]
pub(crate) struct Tls {
    files: TlsFiles,
    in_use: Arc<RwLock<InUse>>,
}

impl Tls {
    /// From files.
    ///
    /// # Errors
    /// If they cannot be read, or do not belong together.
    pub(crate) fn read(files: TlsFiles) -> Result<Self, String> {
        let in_use = Arc::new(RwLock::new(files.read(0)?));
        Ok(Self { files, in_use })
    }

    pub(crate) fn in_use(&self) -> InUse {
        self.in_use.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the files again. Open connections stay, but their clients' certificates are verified with the new files.
    ///
    /// # Errors
    /// The reason that the files cannot be used; the previous content stays in use.
    pub(crate) fn reload(&self) -> Result<(), String> {
        let generation = self.in_use().generation + 1;
        let new = self.files.read(generation)?;
        *self.in_use.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}

impl TlsFiles {
    fn read(&self, generation: u64) -> Result<InUse, String> {
        let Self { certificates, key, .. } = self;
        check_private(key)?;
        let chain = certificates_in(certificates)?;
        let key_der = PrivateKeyDer::from_pem_slice(&bytes(key)?);
        let key_der = key_der.map_err(|_| format!("{}: expected a private key in PEM", key.display()))?;
        let clients = self.client_ca.as_deref().map(|ca| self.verifier(ca)).transpose()?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = match &clients {
            Some(clients) => config.with_client_cert_verifier(clients.clone()),
            None => config.with_no_client_auth(),
        };
        let config = config
            .with_single_cert(chain, key_der)
            .map_err(|error| format!("{} and {}: {error}", certificates.display(), key.display()))?;
        Ok(InUse { acceptor: TlsAcceptor::from(Arc::new(config)), clients, generation })
    }

    /// Trusts certificates that these authorities have signed and not revoked. A client may also show no certificate,
    /// and send a token.
    fn verifier(&self, ca: &Path) -> Result<Arc<dyn ClientCertVerifier>, String> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates_in(ca)? {
            roots.add(certificate).map_err(|error| format!("{}: {error}", ca.display()))?;
        }
        let provider = Arc::new(default_provider());
        let mut builder =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).allow_unauthenticated();
        if let Some(path) = &self.client_crl {
            let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let lists: Result<Vec<CertificateRevocationListDer<'static>>, _> =
                CertificateRevocationListDer::pem_slice_iter(&bytes(path)?).collect();
            let lists = lists.map_err(|error| wrong(&error))?;
            if lists.is_empty() {
                return Err(wrong(&"expected a certificate revocation list in PEM"));
            }
            // An outdated list would admit certificates that were revoked later.
            builder = builder.with_crls(lists).only_check_end_entity_revocation().enforce_revocation_expiration();
        }
        builder.build().map_err(|error| format!("{}: {error}", ca.display()))
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn certificates_in(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(&bytes(path)?).collect();
    let chain = chain.map_err(|error| format!("{}: {error}", path.display()))?;
    if chain.is_empty() {
        return Err(format!("{}: expected a certificate in PEM", path.display()));
    }
    Ok(chain)
}

/// Checks that the key file is private: any reader of the key can impersonate the server.
fn check_private(key: &Path) -> Result<(), String> {
    let mode = fs::metadata(key).map_err(|error| format!("{}: {error}", key.display()))?.permissions().mode();
    if mode & OTHERS != 0 {
        return Err(format!(
            "{}: the private key is readable by other users: run chmod 640 or chmod 600",
            key.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_readable_by_others_is_refused() {
        let path = std::env::temp_dir().join(format!("wayleave-key-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        for (mode, is_private) in [(0o600, true), (0o640, true), (0o644, false), (0o660, false), (0o602, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_private(&path).is_ok(), is_private, "{mode:o}");
        }
        fs::remove_file(&path).unwrap();
    }
}
