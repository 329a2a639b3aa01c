//! Address of a server, and a connection to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::http;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

use super::error::Error;

/// Timeout of connecting.
pub const CONNECT: Duration = Duration::from_secs(10);

/// Address of a server, with its credentials.
#[derive(Clone, Default)]
pub struct Address {
    /// With scheme, without a slash at the end; several controllers of one cluster are separated by commas. See [`url`].
    pub url: String,
    /// The secret of a token, if there is one.
    pub token: Option<String>,
    /// Certificates to trust in place of those of the web, as PEM.
    pub ca: Option<PathBuf>,
    /// Certificate for a server that requests one.
    pub certificate: Option<OwnCertificate>,
    /// Index of the controller in use; copies share it.
    pub at: Arc<AtomicUsize>,
}

/// The client's own certificate, which can act in place of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCertificate {
    /// The certificate, and those between it and the authority, as PEM.
    pub chain: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

/// Identity of the certificate files of an [`Address`], as far as the file system shows: modification time and length
/// of each file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateStamp([Option<(SystemTime, u64)>; 3]);

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let token = self.token.as_ref().map(|_| "not shown");
        f.debug_struct("Address").field("url", &self.url).field("token", &token).field("ca", &self.ca).finish()
    }
}

impl Address {
    /// Returns the common configuration of all connections: statuses are answers, redirects are not followed, these
    /// certificates are trusted. Timeouts other than that of connecting are the caller's.
    ///
    /// # Errors
    /// If the certificates cannot be read.
    pub fn connections(&self) -> Result<ConfigBuilder<AgentScope>, Error> {
        let user = concat!("wayleave/", env!("CARGO_PKG_VERSION"));
        let config = Agent::config_builder().http_status_as_error(false).max_redirects(0).user_agent(user);
        Ok(config.timeout_connect(Some(CONNECT)).tls_config(self.tls()?))
    }

    /// Another one than before if the files of certificates have changed: then [`Address::connections`] reads other ones.
    pub fn stamp(&self) -> CertificateStamp {
        let certificate = self.certificate.as_ref();
        let files = [self.ca.as_ref(), certificate.map(|own| &own.chain), certificate.map(|own| &own.key)];
        CertificateStamp(files.map(|file| {
            let about = std::fs::metadata(file?).ok()?;
            Some((about.modified().ok()?, about.len()))
        }))
    }

    /// The controller that is asked.
    pub fn current(&self) -> &str {
        self.of(self.at.load(Ordering::Relaxed))
    }

    fn of(&self, at: usize) -> &str {
        self.url.split(',').nth(at % self.count().max(1)).unwrap_or_default()
    }

    /// Returns a copy that stays with the present controller, independently of other copies: for one request.
    #[must_use]
    pub fn pinned(&self) -> Self {
        Self { at: Arc::new(AtomicUsize::new(self.at.load(Ordering::Relaxed))), ..self.clone() }
    }

    /// Returns the number of configured controllers.
    pub fn count(&self) -> usize {
        self.url.split(',').count()
    }

    /// Switches from the controller `asked` to the reported leader, if that is one of the configured controllers, or
    /// else to the next one. A token is sent nowhere else. If another copy has switched already, nothing changes:
    /// otherwise two failing requests would switch back to the first controller.
    pub fn move_on(&self, asked: &str, leader: Option<&str>) {
        let at = self.at.load(Ordering::Relaxed);
        if self.of(at) != asked {
            return;
        }
        let leads = leader.and_then(|leader| self.url.split(',').position(|url| url == leader.trim_end_matches('/')));
        let next = leads.unwrap_or_else(|| (at + 1) % self.count().max(1));
        let _ = self.at.compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// A request with the token; `path` with its query.
    pub fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let request = http::Request::builder().method(method).uri(format!("{}{path}", self.current()));
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// That there can be no such request.
    pub fn no_address(&self, error: &http::Error) -> Error {
        Error::Usage(format!("{} is not a valid URL: {error}", self.url))
    }

    fn tls(&self) -> Result<TlsConfig, Error> {
        let mut config = TlsConfig::builder();
        if let Some(path) = &self.ca {
            config = config.root_certs(RootCerts::new_with_certs(&certificates_in(path)?));
        }
        if let Some(OwnCertificate { chain, key }) = &self.certificate {
            let own = ClientCert::new_with_certs(&certificates_in(chain)?, key_in(key)?);
            config = config.client_cert(Some(own));
        }
        Ok(config.build())
    }
}

fn certificates_in(path: &Path) -> Result<Vec<Certificate<'static>>, Error> {
    let pem = std::fs::read(path)
        .map_err(|error| Error::Usage(format!("cannot read certificates from {}: {error}", path.display())))?;
    let certificate = |item| if let Ok(PemItem::Certificate(certificate)) = item { Some(certificate) } else { None };
    let certificates: Vec<Certificate<'static>> = ureq::tls::parse_pem(&pem).filter_map(certificate).collect();
    if certificates.is_empty() {
        return Err(Error::Usage(format!("no certificate in {}: expected PEM", path.display())));
    }
    Ok(certificates)
}

fn key_in(path: &Path) -> Result<PrivateKey<'static>, Error> {
    let pem = std::fs::read(path)
        .map_err(|error| Error::Usage(format!("cannot read the private key in {}: {error}", path.display())))?;
    let key = PrivateKey::from_pem(&pem);
    key.map_err(|_| Error::Usage(format!("no private key in {}: expected PEM", path.display())))
}

/// Addresses without what would be doubled when paths are put behind them: one, or those of all controllers of a cluster, separated by commas.
///
/// # Errors
/// If one has no scheme or host, or hides a secret.
pub fn url(text: &str) -> Result<String, Error> {
    let urls = text.split(',').map(one_url).collect::<Result<Vec<_>, _>>()?;
    Ok(urls.join(","))
}

fn one_url(text: &str) -> Result<String, Error> {
    let url = text.trim().trim_end_matches('/');
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.contains(['?', '#', '@']) => Ok(url.to_owned()),
        _ => Err(Error::Usage(format!(
            "{text} is not a server URL: expected http:// or https:// and a host, such as http://127.0.0.1:7480"
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_a_host_and_nothing_that_hides_a_secret() {
        assert_eq!(url("http://127.0.0.1:7480/").unwrap(), "http://127.0.0.1:7480");
        for wrong in ["127.0.0.1:7480", "ftp://h", "http://", "http://user:secret@h", "https://h?x"] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_client_connects_only_to_its_configured_controllers() {
        let address = Address { url: url("http://a, http://b/,http://c").unwrap(), ..Address::default() };
        let copy = address.clone();
        let asked = |leader: Option<&str>| {
            address.move_on(address.current(), leader);
            copy.current().to_owned()
        };
        assert_eq!(copy.current(), "http://a");
        assert_eq!(asked(None), "http://b");
        assert_eq!(asked(Some("http://a/")), "http://a");
        assert_eq!(asked(Some("http://thief")), "http://b");
        assert_eq!((asked(None), asked(None)), ("http://c".to_owned(), "http://a".to_owned()));
        assert!(url("http://a,b").is_err());
    }

    #[test]
    fn two_clients_that_fail_on_the_same_controller_move_on_once() {
        let address = Address { url: url("http://a,http://b").unwrap(), ..Address::default() };
        let (one, other) = (address.pinned(), address.clone().pinned());
        address.move_on(one.current(), None);
        assert_eq!((one.current(), address.current()), ("http://a", "http://b"));
        address.move_on(other.current(), None);
        assert_eq!(address.current(), "http://b");
    }

    #[test]
    fn a_token_is_not_printed() {
        let address = Address { url: "http://h".into(), token: Some("wl_secret".into()), ..Address::default() };
        assert!(!format!("{address:?}").contains("wl_secret"));
    }
}
