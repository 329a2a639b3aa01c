//! Certificate of a client: verified when the client connects, and again while the connection lasts.
//!
//! A certificate acts as the token that was made for one of its names (`URI:...` or `DNS:...`, from its subject
//! alternative names): with that token's role, limits and entries in the audit. When the token is deleted or expires,
//! the certificate gives no access any more.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls_pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::ServerConnection;
use wayleave_protocol::problem::{Code, Problem};
use webpki::EndEntityCert;

use crate::answer::problem;
use crate::http::tls::Tls;
use crate::secret;

/// Validity of a verification; after it, the certificate is verified again: it expires, and revocation lists change.
/// A verification takes some tenths of a millisecond, mostly for signatures.
const JUDGED_FOR: Duration = Duration::from_secs(1);

/// The certificate that a client has shown on a connection.
pub(crate) struct Peer {
    tls: Tls,
    /// Its own first, then those between it and the authority.
    chain: Vec<CertificateDer<'static>>,
    names: Vec<String>,
    /// Time of the last successful verification, with the generation of the files.
    good: Mutex<Option<(Instant, u64)>>,
}

impl Peer {
    /// Of a connection, if its client has shown one.
    pub(crate) fn of(tls: &Tls, connection: &ServerConnection) -> Option<Self> {
        let chain: Vec<CertificateDer<'static>> =
            connection.peer_certificates()?.iter().map(|one| one.clone().into_owned()).collect();
        let names = EndEntityCert::try_from(chain.first()?).map(|certificate| {
            let uris = certificate.valid_uri_names().map(|name| format!("URI:{name}"));
            let dns = certificate.valid_dns_names().map(|name| format!("DNS:{name}"));
            uris.chain(dns).map(|name| canonical(&name)).collect()
        });
        Some(Self { tls: tls.clone(), names: names.ok()?, chain, good: Mutex::new(None) })
    }

    /// Its names, if it is good at this time.
    pub(crate) fn names(&self) -> Result<&[String], Box<Problem>> {
        self.judge().map_err(|why| problem(Code::Unauthorized, format!("the certificate is not trusted: {why}")))?;
        Ok(&self.names)
    }

    /// Returns `true` if it is valid at this time.
    pub(crate) fn is_good(&self) -> bool {
        self.judge().is_ok()
    }

    fn judge(&self) -> Result<(), String> {
        let in_use = self.tls.in_use();
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if good.is_some_and(|(at, generation)| generation == in_use.generation && at.elapsed() < JUDGED_FOR) {
            return Ok(());
        }
        *good = None;
        let clients = in_use.clients.ok_or("none is asked for any more")?;
        let (own, between) = self.chain.split_first().ok_or("none found")?;
        clients.verify_client_cert(own, between, UnixTime::now()).map_err(|error| error.to_string())?;
        *good = Some((Instant::now(), in_use.generation));
        Ok(())
    }
}

/// Names of hosts are the same in any case; addresses (URI) are compared letter by letter.
pub(crate) fn canonical(name: &str) -> String {
    match name.strip_prefix("DNS:") {
        Some(host) => format!("DNS:{}", host.to_ascii_lowercase()),
        None => name.to_owned(),
    }
}

/// Returns the hash that a certificate of this name has in place of the hash of a secret. No header can carry the
/// hashed text, so no client can send it as a secret.
pub(crate) fn hash(name: &str) -> [u8; 32] {
    secret::hash(&format!("\0certificate\0{name}"))
}
