//! Certificates of clients in place of tokens, over real TLS.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::{Value, json};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use wayleave_agent::controller_client::{ControllerClient, ControllerReply};
use wayleave_client::{Address, OwnCertificate};
use wayleave_controller::EnforcedBy;
use wayleave_server::TlsFiles;
use wayleave_server::disk::Memory;

use crate::common::{World, options};
use wayleave_repo_checks::TempFolder;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate with its key, both PEM.
#[derive(Clone)]
struct Own {
    chain: String,
    key: String,
}

/// A client's certificate with these names, until the end of this year; the serial number is for lists of revoked ones.
fn signed(by: &Authority, names: &[SanType], serial: u64, until: i32) -> Own {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.subject_alt_names = names.to_vec();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.serial_number = Some(SerialNumber::from(serial));
    (params.not_before, params.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(until, 1, 1));
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, by).unwrap();
    Own { chain: certificate.pem(), key: key.serialize_pem() }
}

fn uri(name: &str) -> SanType {
    SanType::URI(name.try_into().unwrap())
}

fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

struct Tls {
    world: World,
    authority: Authority,
    server: String,
    files: TlsFiles,
}

impl Tls {
    fn new(with_crl: bool) -> Self {
        let scratch = Arc::new(TempFolder::new("server"));
        let authority = authority("clients");
        let path = |name: &str| scratch.join(name);
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        std::fs::write(path("server.pem"), own.pem()).unwrap();
        private(&path("server.key"), &key.serialize_pem());
        std::fs::write(path("clients.pem"), authority.pem()).unwrap();
        if with_crl {
            std::fs::write(path("revoked.pem"), revoked(&authority, &[])).unwrap();
        }
        let files = TlsFiles {
            certificates: path("server.pem"),
            key: path("server.key"),
            client_ca: Some(path("clients.pem")),
            client_crl: with_crl.then(|| path("revoked.pem")),
        };
        let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Nobody);
        options.tls = Some(files.clone());
        Self { world: World::of(options, scratch.clone()), authority, server: own.pem(), files }
    }

    fn connect(&self, own: Option<&Own>) -> Connection {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.server.as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match own {
            None => config.with_no_client_auth(),
            Some(own) => {
                let chain = CertificateDer::pem_slice_iter(own.chain.as_bytes()).map(Result::unwrap).collect();
                config.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap()).unwrap()
            }
        };
        let name = ServerName::try_from("localhost").unwrap();
        let client = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(self.world.client.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        Connection(BufReader::new(StreamOwned::new(client, stream)))
    }

    fn secret(&self) -> String {
        format!("authorization: Bearer {}\r\n", self.world.client.secret.as_ref().unwrap())
    }

    /// As the operator, with the token.
    fn operator(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.connect(None).ask(method, path, &self.secret(), Some(body)).unwrap()
    }

    /// A token for a name of a certificate; what it is called.
    fn token(&self, role: &Value, certificate: &str) -> String {
        let mut body = role.clone();
        body["certificate"] = json!(certificate);
        let (status, made) = self.operator("POST", "/v1/tokens", &body);
        assert_eq!((status, made.get("secret")), (201, None), "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    /// Returns the status and the answer of a request with this certificate.
    fn whoami(&self, own: Option<&Own>) -> (u16, Value) {
        self.connect(own).ask("GET", "/v1", "", None).unwrap()
    }

    fn reload(&self) -> Result<(), String> {
        self.world.server.as_ref().unwrap().reload()
    }
}

fn private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn revoked(authority: &Authority, serials: &[u64]) -> String {
    let one = |&serial: &u64| RevokedCertParams {
        serial_number: SerialNumber::from(serial),
        revocation_time: date_time_ymd(2020, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(2020, 1, 1),
        next_update: date_time_ymd(2200, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: serials.iter().map(one).collect(),
        key_identifier_method: rcgen::KeyIdMethod::Sha256,
    };
    list.signed_by(authority).unwrap().pem().unwrap()
}

struct Connection(BufReader<StreamOwned<ClientConnection, TcpStream>>);

impl Connection {
    /// Status and body; an error if the connection was refused.
    fn ask(&mut self, method: &str, path: &str, headers: &str, body: Option<&Value>) -> std::io::Result<(u16, Value)> {
        let status = self.begin(method, path, headers, body)?;
        let mut length = 0;
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }

    /// Sends a request, and reads the first line of the answer.
    fn begin(&mut self, method: &str, path: &str, headers: &str, body: Option<&Value>) -> std::io::Result<u16> {
        let body = body.map_or_else(String::new, Value::to_string);
        let length = body.len();
        let stream = self.0.get_mut();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
        )?;
        stream.flush()?;
        let first = self.line()?;
        Ok(first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default())
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

#[test]
fn a_certificate_acts_as_the_token_created_for_one_of_its_names() {
    let tls = Tls::new(false);
    let own = signed(&tls.authority, &[uri("spiffe://example/acme")], 1, 2200);
    let (status, problem) = tls.whoami(Some(&own));
    assert_eq!((status, &problem["code"]), (401, &json!("UNAUTHORIZED")));
    assert!(problem["detail"].as_str().unwrap().contains("URI:spiffe://example/acme"), "{problem}");

    tls.operator("PUT", "/v1/tenants/acme", &json!({}));
    let id = tls.token(&json!({"role": "tenant", "tenant": "acme"}), "URI:spiffe://example/acme");
    let (status, about) = tls.whoami(Some(&own));
    assert_eq!((status, &about["role"], &about["tenant"]), (200, &json!("tenant"), &json!("acme")), "{about}");
    let mut connection = tls.connect(Some(&own));
    assert_eq!(connection.ask("GET", "/v1/tokens", "", None).unwrap().0, 403, "it has the rights of its token only");
    let put = connection.ask("PUT", "/v1/vms/a", "", Some(&json!({"placement": {"host": "h1"}}))).unwrap();
    assert_eq!(put.0, 201, "{}", put.1);

    // The audit names the client, and the token is shown with the name and without a secret.
    let (_, audit) = tls.operator("GET", "/v1/audit?limit=1", &Value::Null);
    assert_eq!(audit["items"][0]["who"], json!(id), "{audit}");
    let (_, shown) = tls.operator("GET", "/v1/tokens", &Value::Null);
    assert!(shown.to_string().contains("URI:spiffe://example/acme"), "{shown}");

    // Deleted, it opens nothing, also on connections that are open.
    assert_eq!(tls.operator("DELETE", &format!("/v1/tokens/{id}"), &Value::Null).0, 204);
    assert_eq!(connection.ask("GET", "/v1", "", None).unwrap().0, 401);
}

#[test]
fn names_are_case_sensitive_except_host_names() {
    let tls = Tls::new(false);
    tls.token(&json!({"role": "reader"}), "DNS:Dash.Example");
    tls.token(&json!({"role": "operator"}), "URI:https://ops/Root");
    let status = |names: &[SanType]| tls.whoami(Some(&signed(&tls.authority, names, 1, 2200))).0;
    assert_eq!(status(&[dns("dash.example")]), 200);
    assert_eq!(status(&[dns("DASH.example")]), 200);
    assert_eq!(status(&[uri("https://ops/Root")]), 200);
    let others = [dns("x.dash.example"), dns("dash.example.com"), uri("https://ops/root"), uri("DNS:dash.example")];
    for other in others.chunks(1) {
        assert_eq!(status(other), 401, "{other:?}");
    }
    // A certificate for two tokens is ambiguous.
    assert_eq!(status(&[dns("dash.example"), uri("https://ops/Root")]), 401);
    assert_eq!(status(&[]), 401);
    // No second token may have the name, so that deleting one certainly ends it.
    let (again, problem) =
        tls.operator("POST", "/v1/tokens", &json!({"role": "reader", "certificate": "DNS:dash.example"}));
    assert_eq!((again, &problem["code"]), (409, &json!("CONFLICT")), "{problem}");
    let never = [
        "DNS:*.example",
        "DNS:*.dash.example",
        "DNS:*",
        "DNS:a*.example",
        "DNS:a..example",
        "DNS:-a.example",
        "DNS:a/b",
    ];
    for wrong in ["dash.example", "URI:", "DNS:a b", "CN:x", "DNS:\u{e4}"].into_iter().chain(never) {
        let (status, problem) = tls.operator("POST", "/v1/tokens", &json!({"role": "reader", "certificate": wrong}));
        assert_eq!((status, &problem["errors"][0]["field"]), (400, &json!("certificate")), "{wrong}: {problem}");
        let names_wildcard = problem["detail"].as_str().unwrap().contains("wildcard");
        assert_eq!(names_wildcard, wrong.contains('*'), "{wrong}: {problem}");
    }
}

#[test]
fn unsigned_or_expired_certificates_do_not_connect() {
    let tls = Tls::new(false);
    tls.token(&json!({"role": "operator"}), "URI:a:b");
    let outsider = authority("clients");
    for own in [signed(&outsider, &[uri("a:b")], 1, 2200), signed(&tls.authority, &[uri("a:b")], 1, 2020)] {
        assert!(tls.connect(Some(&own)).ask("GET", "/v1", "", None).is_err());
    }
    // Without one a token is enough, and nothing is open without both.
    assert_eq!(tls.whoami(None).0, 401);
    assert_eq!(tls.connect(None).ask("GET", "/v1", &tls.secret(), None).unwrap().0, 200);
    // The text form of a name cannot be sent in place of a secret.
    for guess in ["URI:a:b", "certificate URI:a:b", "\\0certificate\\0URI:a:b"] {
        let headers = format!("authorization: Bearer {guess}\r\n");
        assert_eq!(tls.connect(None).ask("GET", "/v1", &headers, None).unwrap().0, 401, "{guess}");
    }
}

#[test]
fn a_token_overrides_the_certificate_and_pages_of_others_cannot_use_it() {
    let tls = Tls::new(false);
    tls.token(&json!({"role": "reader"}), "URI:a:b");
    let own = signed(&tls.authority, &[uri("a:b")], 1, 2200);
    let mut connection = tls.connect(Some(&own));
    let (_, about) = connection.ask("GET", "/v1", &tls.secret(), None).unwrap();
    assert_eq!(about["role"], json!("operator"));
    assert_eq!(connection.ask("GET", "/v1", "authorization: Bearer wl_0\r\n", None).unwrap().0, 401);
    for (origin, status) in [("https://localhost", 200), ("https://evil.example", 403), ("null", 403)] {
        let headers = format!("origin: {origin}\r\n");
        assert_eq!(connection.ask("GET", "/v1", &headers, None).unwrap().0, status, "{origin}");
    }
}

/// The body of a stream of events, up to its end or to a line that is asked for.
fn reads_until(connection: &mut Connection, wanted: &str) -> bool {
    while let Ok(line) = connection.line() {
        if line.contains(wanted) {
            return true;
        }
        // The last piece of a body in pieces.
        if line == "0" {
            return false;
        }
    }
    false
}

#[test]
fn revocation_lists_and_authorities_are_reloaded_and_end_streams() {
    let tls = Tls::new(true);
    tls.token(&json!({"role": "reader"}), "URI:a:b");
    let (good, bad) = (signed(&tls.authority, &[uri("a:b")], 7, 2200), signed(&tls.authority, &[uri("a:b")], 8, 2200));
    let stream = |own: &Own| {
        let mut connection = tls.connect(Some(own));
        let status = connection.begin("GET", "/v1/events", "accept: text/event-stream\r\n", None).unwrap();
        assert!(status == 200 && reads_until(&mut connection, "events of wayleave"));
        connection
    };
    let (mut of_good, mut of_bad) = (stream(&good), stream(&bad));
    let mut asks = tls.connect(Some(&bad));
    assert_eq!(asks.ask("GET", "/v1", "", None).unwrap().0, 200);

    std::fs::write(tls.files.client_crl.as_ref().unwrap(), revoked(&tls.authority, &[8])).unwrap();
    tls.reload().unwrap();
    let (status, problem) = asks.ask("GET", "/v1", "", None).unwrap();
    assert!(status == 401 && problem["detail"].as_str().unwrap().contains("Revoked"), "{problem}");
    assert!(tls.connect(Some(&bad)).ask("GET", "/v1", "", None).is_err());
    tls.operator("PUT", "/v1/tenants/acme", &json!({}));
    assert!(reads_until(&mut of_good, "acme"), "the other certificate is as good as before");
    assert!(!reads_until(&mut of_bad, "acme"), "nothing that comes after the end of its credential is told");

    // An unreadable file leaves the state unchanged; another authority invalidates all certificates of the previous
    // one.
    std::fs::write(tls.files.client_ca.as_ref().unwrap(), "nothing").unwrap();
    assert!(tls.reload().unwrap_err().contains("clients.pem"));
    assert_eq!(tls.whoami(Some(&good)).0, 200);
    let other = authority("others");
    std::fs::write(tls.files.client_ca.as_ref().unwrap(), other.pem()).unwrap();
    std::fs::write(tls.files.client_crl.as_ref().unwrap(), revoked(&other, &[])).unwrap();
    let mut before = tls.connect(Some(&good));
    assert_eq!(before.ask("GET", "/v1", "", None).unwrap().0, 200);
    tls.reload().unwrap();
    assert_eq!(before.ask("GET", "/v1", "", None).unwrap().0, 401);
    assert_eq!(tls.whoami(Some(&signed(&other, &[uri("a:b")], 1, 2200))).0, 200);
}

#[test]
fn an_agent_authenticates_with_its_certificate_and_the_renewed_one() {
    let tls = Tls::new(true);
    tls.token(&json!({"role": "agent", "node": "h1"}), "URI:spiffe://example/h1");
    let folder = tls.files.key.parent().unwrap();
    let (chain, key) = (folder.join("h1.pem"), folder.join("h1.key"));
    let names = [uri("spiffe://example/h1")];
    let write = |own: &Own| {
        private(&key, &own.key);
        std::fs::write(&chain, &own.chain).unwrap();
    };
    // Their lengths differ: files are distinguished by their modification times as well, which a coarse clock may not
    // show.
    write(&signed(&tls.authority, &names, 1, 2200));
    let address = Address {
        url: format!("https://localhost:{}", tls.world.client.address.port()),
        ca: Some(tls.files.certificates.clone()),
        certificate: Some(OwnCertificate { chain: chain.clone(), key: key.clone() }),
        ..Address::default()
    };
    let agent_client = ControllerClient::new(address.clone(), "h1").unwrap();
    let Ok(ControllerReply::Done(session)) = agent_client.begin(0, Vec::new()) else { panic!("no session") };
    let of_another_node = ControllerClient::new(address, "h2").unwrap().begin(0, Vec::new()).unwrap_err().to_string();
    assert!(of_another_node.contains("--certificate NAME"), "{of_another_node}");

    std::fs::write(tls.files.client_crl.as_ref().unwrap(), revoked(&tls.authority, &[1])).unwrap();
    tls.reload().unwrap();
    assert!(agent_client.see(session.epoch, Vec::new()).is_err());
    let longer = [names[0].clone(), uri("spiffe://example/another-name-of-h1")];
    write(&signed(&tls.authority, &longer, 2, 2200));
    assert_eq!(agent_client.see(session.epoch, Vec::new()).unwrap(), ControllerReply::Done(()));
    // Files that cannot be used leave the certificate of before in use.
    std::fs::write(&chain, "nothing").unwrap();
    assert_eq!(agent_client.see(session.epoch, Vec::new()).unwrap(), ControllerReply::Done(()));
}

#[test]
fn unusable_files_are_named() {
    let scratch = TempFolder::new("server");
    let path = |name: &str| -> PathBuf { scratch.join(name) };
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    std::fs::write(path("server.pem"), own.pem()).unwrap();
    private(&path("server.key"), &key.serialize_pem());
    std::fs::write(path("empty.pem"), "").unwrap();
    for (client_ca, client_crl, named) in [
        (Some("none.pem"), None, "none.pem"),
        (Some("empty.pem"), None, "empty.pem: expected a certificate"),
        (Some("server.pem"), Some("empty.pem"), "empty.pem: expected a certificate revocation list"),
    ] {
        let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Nobody);
        let (certificates, key) = (path("server.pem"), path("server.key"));
        let (client_ca, client_crl) = (client_ca.map(path), client_crl.map(path));
        options.tls = Some(TlsFiles { certificates, key, client_ca, client_crl });
        let error = crate::common::refused(options);
        assert!(error.contains(named), "{error}");
    }
}
