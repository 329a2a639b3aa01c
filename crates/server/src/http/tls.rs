//! TLS by rustls.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;

/// Everybody else's rights, and the group's to write. The group may read: a group for keys is usual.
const OTHERS: u32 = 0o027;

/// From a chain of certificates and a key, both PEM.
///
/// # Errors
/// If they cannot be read, or do not belong together.
pub(crate) fn acceptor(certificates: &Path, key: &Path) -> Result<TlsAcceptor, String> {
    check_private(key)?;
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(&read(certificates)?).collect();
    let chain = chain.map_err(|error| format!("{}: {error}", certificates.display()))?;
    if chain.is_empty() {
        return Err(format!("{}: a certificate in PEM is expected in it", certificates.display()));
    }
    let key_der = PrivateKeyDer::from_pem_slice(&read(key)?);
    let key_der = key_der.map_err(|_| format!("{}: a private key in PEM is expected in it", key.display()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .map_err(|error| format!("{} and {}: {error}", certificates.display(), key.display()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Whoever can read the key can speak for the server.
fn check_private(key: &Path) -> Result<(), String> {
    let mode = fs::metadata(key).map_err(|error| format!("{}: {error}", key.display()))?.permissions().mode();
    if mode & OTHERS != 0 {
        return Err(format!("{}: others may read the private key: chmod 640 it, or 600", key.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let path = std::env::temp_dir().join(format!("wayleave-key-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        for (mode, is_private) in [(0o600, true), (0o640, true), (0o644, false), (0o660, false), (0o602, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_private(&path).is_ok(), is_private, "{mode:o}");
        }
        fs::remove_file(&path).unwrap();
    }
}
