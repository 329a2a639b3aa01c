//! An etcd that wants to know who asks, over TLS in both directions.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use serde_json::{Value, json};
use wayleave_client::{Address, OwnCertificate};
use wayleave_replica::{Etcd as _, EtcdAccess, Gateway, User};
use wayleave_repo_checks::wait_for;

use super::clients::{get, put};
use super::moving::{end, serve_with, wayleave};
use super::processes::{self, Etcd, folder};
use super::{alone, text};

/// An authority, a certificate of etcd for this machine, and one of its clients.
fn make_certificates(folder: &Path) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "an authority");
    write(folder, "ca.pem", &authority.self_signed(&authority_key).unwrap().pem());
    let issuer = Issuer::new(authority, authority_key);
    for (name, of) in [("etcd", "127.0.0.1"), ("client", "controller")] {
        let (key, mut params) = (KeyPair::generate().unwrap(), CertificateParams::new([of.to_owned()]).unwrap());
        // The gateway of etcd is a client of its own member. Where it shows a common name, etcd takes no passwords through it.
        params.distinguished_name = DistinguishedName::new();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        write(folder, &format!("{name}.pem"), &params.signed_by(&key, &issuer).unwrap().pem());
        write(folder, &format!("{name}.key"), &key.serialize_pem());
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
    std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Requests of an administrator to etcd.
struct Admin {
    agent: ureq::Agent,
    url: String,
    token: Option<String>,
}

impl Admin {
    fn ask(&self, path: &str, body: &Value) -> Option<Value> {
        let mut request = self.agent.post(format!("{}/v3/auth/{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("authorization", token);
        }
        let mut answer = request.send(body.to_string()).ok()?;
        let output = answer.body_mut().read_to_string().ok()?;
        assert!(answer.status() == 200 || self.token.is_none(), "{path}: {output}");
        serde_json::from_str(&output).ok().filter(|_| answer.status() == 200)
    }

    /// A user `root`, and one `wayleave` that may use the keys of clusters and no others.
    fn want_users(&mut self, password: &str) {
        let key = |text: &str| STANDARD.encode(text);
        wait_for("etcd answers", || self.ask("user/add", &json!({ "name": "root", "password": "toor" })));
        let permission = json!({ "permType": "READWRITE", "key": key("/wayleave/"), "range_end": key("/wayleave0") });
        for (path, body) in [
            ("user/grant", json!({ "user": "root", "role": "root" })),
            ("role/add", json!({ "name": "clusters" })),
            ("role/grant", json!({ "name": "clusters", "perm": permission })),
            ("user/add", json!({ "name": "wayleave", "password": password })),
            ("user/grant", json!({ "user": "wayleave", "role": "clusters" })),
            ("enable", json!({})),
        ] {
            self.ask(path, &body).unwrap_or_else(|| panic!("{path}"));
        }
        let token = self.ask("authenticate", &json!({ "name": "root", "password": "toor" })).unwrap();
        self.token = Some(token["token"].as_str().unwrap().to_owned());
    }
}

pub(crate) fn an_etcd_with_password_and_certificate_is_accessed_with_them() {
    let _alone = alone();
    let folder = folder("access");
    make_certificates(&folder);
    let file = |name: &str| folder.join(name).display().to_string();
    let tls = [
        ("cert-file", file("etcd.pem")),
        ("key-file", file("etcd.key")),
        ("trusted-ca-file", file("ca.pem")),
        ("client-cert-auth", "true".to_owned()),
    ];
    let etcd = Etcd::start_with(&folder, 1, "https", &tls);
    let url = format!("https://127.0.0.1:{}", etcd.ports[0]);
    let own = OwnCertificate { chain: folder.join("client.pem"), key: folder.join("client.key") };
    let (ca, certificate) = (Some(folder.join("ca.pem")), Some(own));
    let address = Address { ca: ca.clone(), certificate: certificate.clone(), ..Address::default() };
    let mut admin = Admin { agent: address.connections().unwrap().build().into(), url: url.clone(), token: None };
    admin.want_users("open sesame");
    write(&folder, "password", "open sesame\n");

    let user = |name: &str| Some(User { name: name.to_owned(), password_file: folder.join("password") });
    let access = EtcdAccess { members: vec![url.clone()], ca, certificate, user: user("wayleave") };
    let ask = |access: &EtcdAccess| Gateway::new(access.clone()).range("/wayleave/a", "/wayleave/b", 1);
    ask(&access).unwrap();
    write(&folder, "wrong", "close sesame");
    write(&folder, "open", "open sesame");
    std::fs::set_permissions(folder.join("open"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let with_password = |name: &str| {
        let user = Some(User { name: "wayleave".to_owned(), password_file: folder.join(name) });
        EtcdAccess { user, ..access.clone() }
    };
    for (access, why) in [
        (EtcdAccess { ca: None, ..access.clone() }, "certificate"),
        // Members end the connection, sooner or later.
        (EtcdAccess { certificate: None, ..access.clone() }, "https://"),
        (EtcdAccess { ca: Some(folder.join("absent")), ..access.clone() }, "cannot read certificates from"),
        (EtcdAccess { user: None, ..access.clone() }, "user name is empty"),
        (with_password("wrong"), "authentication failed"),
        (with_password("open"), "chmod 600"),
        (with_password("absent"), "absent"),
    ] {
        let error = ask(&access).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains("sesame"), "{why}: {error}");
    }
    let elsewhere = Gateway::new(access.clone()).range("/other", "/others", 1).unwrap_err().to_string();
    assert!(elsewhere.contains("permission denied"), "{elsewhere}");

    let options = [
        format!("--etcd={url}"),
        format!("--etcd-ca={}", file("ca.pem")),
        format!("--etcd-cert={}", file("client.pem")),
        format!("--etcd-key={}", file("client.key")),
        "--etcd-user=wayleave".to_owned(),
        format!("--etcd-password-file={}", file("password")),
    ];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let joining = serve_with(&folder, &folder.join("first.db"), &["-t", "fat-tree:k=4"]);
    let token = processes::token(&folder);
    assert_eq!(put(&joining.1, "before", &token), 201);
    end(joining);
    let joined = wayleave(&[&["ledger", "join", &file("first.db")][..], &options].concat());
    assert!(joined.status.success(), "{}", text(&joined.stderr));
    let leader = serve_with(&folder, &folder.join("first.db"), &[&["-t", "fat-tree:k=4"][..], &options].concat());
    let about = |path: &str| get(&leader.1, path, &token);
    wait_for("a leader", || (about("/v1/status")?.0 == "leader").then_some(()));
    assert_eq!(put(&leader.1, "first", &token), 201);
    let generation = about("/v1").unwrap().1["generation"].clone();

    // With another password the earlier tokens are no longer good, and the controller continues to lead with new
    // ones.
    write(&folder, "password", "open barley");
    admin.ask("user/changepw", &json!({ "name": "wayleave", "password": "open barley" })).unwrap();
    assert_eq!(put(&leader.1, "second", &token), 201);
    assert_eq!(about("/v1").unwrap().1["generation"], generation);
    end(leader);
    for log in ["log", "etcd.log"] {
        let log = std::fs::read_to_string(folder.join(log)).unwrap();
        assert!(!log.contains("sesame") && !log.contains("barley"), "a password is in a log: {log}");
    }
    drop(etcd);
}
