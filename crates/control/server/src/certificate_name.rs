//! Names of certificates for which a token can be made.

use rustls_pki_types::DnsName;

/// Reason for which no certificate has this name of a token; `None` if one can. Earlier versions accepted such tokens, so ledgers have them.
pub(crate) fn unmatched(name: &str) -> Option<&'static str> {
    let host = name.strip_prefix("DNS:")?;
    if host.contains('*') {
        return Some(
            "expected the name of one host: a wildcard matches no host certificate; create one token for each host",
        );
    }
    // Certificates with other names are not read (`Peer::of`).
    let expected = "expected DNS: and a host name: labels of 1 to 63 of [A-Za-z0-9_-] with dots between them";
    DnsName::try_from(host).err().map(|_| expected)
}
