//! The commands that ask a controller: the same words against a server and against a ledger file.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use wayleave_repo_checks::{KilledChild, TempFolder};

use crate::command::Run;

const TOPOLOGY: &str = "fat-tree:k=4";

const TENANTS: &str = "
apiVersion: wayleave/v1
kind: Tenants
spec:
  tenants: [ { name: acme, quota: { rate: 1Gbit, contracts: 3 } } ]
  vms:
    - { name: web-1, tenant: acme, host: h1, mac: '02:00:5e:10:00:01' }
    - { name: db-1, tenant: acme, host: h9, mac: '02:00:5e:10:00:02' }
";

const CONTRACTS: &str = "
apiVersion: wayleave/v1
kind: Contracts
spec:
  contracts:
    - { name: web-db, tenant: acme, from: web-1, to: db-1, rate: 10Mbit, burst: 3000B, deadline: 5ms }
    - { name: big, tenant: acme, from: web-1, to: db-1, rate: 2Gbit, burst: 3000B, deadline: 5ms }
    - { name: fast, from: h1, to: h9, rate: 10Mbit, burst: 3000B, deadline: 5us }
    - { name: ptp, from: h2, to: h10, rate: 1Mbit, burst: 300B, deadline: 2ms, priority: 80 }
";

/// A folder with tenants and contracts.
pub(super) struct Directory(pub(super) TempFolder);

impl Directory {
    pub(super) fn new(name: &str) -> Self {
        let path = TempFolder::new(name);
        std::fs::write(path.join("tenants.yaml"), TENANTS).unwrap();
        std::fs::write(path.join("contracts.yaml"), CONTRACTS).unwrap();
        Self(path)
    }

    /// Runs a command here, with nothing of the person who tests.
    pub(super) fn run(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
        for name in ["WAYLEAVE_SERVER", "WAYLEAVE_CONTEXT", "WAYLEAVE_TOKEN_FILE", "WAYLEAVE_CA", "COLUMNS"] {
            command.env_remove(name);
        }
        let output = command.args(arguments).env("XDG_CONFIG_HOME", &*self.0).current_dir(&self.0).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A server on a port that is free.
pub(super) struct Server {
    child: KilledChild,
    pub(super) url: String,
}

impl Server {
    fn start(directory: &Directory) -> Self {
        let more = ["--ledger", "l.db", "--listen", "127.0.0.1:0", "--log-level", "warn"];
        Self::run(&directory.0, &[&["serve", "-t", TOPOLOGY][..], &more].concat())
    }

    pub(super) fn run(directory: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_wayleave"))
            .args(arguments)
            .current_dir(directory)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains("serves on ")).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http")).unwrap().to_owned();
        // Later output does not matter here, and must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child: KilledChild(child), url }
    }
}

/// Commands whose answers hold no times: what they print has to be the same wherever the controller is.
const SCRIPT: &[(&str, i32)] = &[
    ("apply -f tenants.yaml -f contracts.yaml", 3),
    ("apply -f tenants.yaml -f contracts.yaml", 3),
    ("apply -f contracts.yaml --dry-run", 3),
    ("apply -f contracts.yaml --atomic", 2),
    ("get contracts", 0),
    ("get contract web-db --tenant acme", 0),
    ("get contracts --tenant acme -o json --state pending", 0),
    ("get tenants", 0),
    ("get vms", 0),
    ("get hosts --limit 2", 0),
    ("get links --limit 3", 0),
    ("get queues --link h1->pod1-edge1", 0),
    ("get nodes", 0),
    ("get topology", 0),
    ("explain acme:web-db", 0),
    ("explain acme:web-db -o json", 0),
    ("what-if --fail pod1-agg1 --drain h1", 0),
    ("what-if --fail link:h1->pod1-edge1", 3),
    ("link fail h1->pod1-edge1 --reason cut", 0),
    ("get contracts --state degraded", 0),
    ("link restore h1->pod1-edge1", 0),
    ("get contract acme:web-dc", 2),
    ("get vm acme:web-2", 2),
    ("delete contract acme:web-dc", 2),
    ("delete contract acme:web-dc --if-there", 0),
    ("delete vm acme:web-1", 2),
    ("delete tenant acme", 2),
    ("node fail pod9", 2),
];

#[test]
fn a_server_and_a_ledger_file_print_the_same_answers() {
    let (remote, local) = (Directory::new("remote"), Directory::new("local"));
    let server = Server::start(&remote);
    let login = remote.run(&["login", "--server", &server.url, "--token-file", "l.db-operator"]).ends_with(0);
    assert!(login.stdout.contains("role: operator"), "{}", login.stdout);
    for &(line, code) in SCRIPT {
        let words: Vec<&str> = line.split(' ').collect();
        let asked = remote.run(&words).ends_with(code);
        let here = [&words[..], &["--ledger", "l.db", "-t", TOPOLOGY]].concat();
        let opened = local.run(&here).ends_with(code);
        assert_eq!((asked.stdout, asked.stderr), (opened.stdout, opened.stderr), "{line}");
    }
}

#[test]
fn forbidden_commands_of_a_tenant_are_refused_and_file_errors_located() {
    let directory = Directory::new("tenant");
    let server = Server::start(&directory);
    directory.run(&["login", "--server", &server.url, "--token-file", "l.db-operator"]).ends_with(0);
    directory.run(&["apply", "-f", "tenants.yaml"]).ends_with(0);
    directory.run(&["token", "create", "--role", "tenant", "--of", "acme", "--to-file", "acme.token"]).ends_with(0);
    let links = directory.run(&["get", "links", "--token-file", "acme.token"]).ends_with(2);
    assert!(links.stderr.contains("this token has the role tenant"), "{}", links.stderr);
    std::fs::write(directory.0.join("wrong.yaml"), CONTRACTS.replace("10Mbit", "10mbps")).unwrap();
    let wrong = directory.run(&["apply", "-f", "wrong.yaml"]).ends_with(2);
    assert!(wrong.stderr.starts_with("wrong.yaml:6:"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("^"), "{}", wrong.stderr);
    std::fs::write(directory.0.join("bad.token"), "wl_no").unwrap();
    let unknown = directory.run(&["status", "--token-file", "bad.token"]).ends_with(2);
    assert!(unknown.stderr.contains("wayleave login"), "{}", unknown.stderr);
    let explained = directory.run(&["apply", "-f", "contracts.yaml"]).ends_with(3);
    assert!(explained.stdout.contains("LATENCY"), "{}", explained.stdout);
    let refused = directory.run(&["explain", "fast"]).ends_with(3);
    assert!(refused.stdout.contains("Nearest request that would fit"), "{}", refused.stdout);
    let events = directory.run(&["events", "-o", "json"]).ends_with(0);
    let first: serde_json::Value = serde_json::from_str(events.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["number"], 1);
}

/// A certificate for this machine and its signer, as an operator of a laboratory makes them.
fn certificates(directory: &Directory) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = authority.self_signed(&authority_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let own = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    for (name, text) in [("ca.pem", certificate.pem()), ("own.pem", own.pem()), ("key.pem", key.serialize_pem())] {
        std::fs::write(directory.0.join(name), text).unwrap();
    }
    std::fs::set_permissions(directory.0.join("key.pem"), std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_tls_server_is_trusted_if_a_trusted_authority_signed_its_certificate() {
    let directory = Directory::new("tls");
    certificates(&directory);
    let tls = ["--ledger", "l.db", "--listen", "127.0.0.1:0", "--tls-cert", "own.pem", "--tls-key", "key.pem"];
    let server = Server::run(&directory.0, &[&["serve", "-t", TOPOLOGY][..], &tls].concat());
    assert!(server.url.starts_with("https://"), "{}", server.url);
    let login = ["login", "--server", &server.url, "--token-file", "l.db-operator"];
    let strange = directory.run(&login).ends_with(1);
    assert!(strange.stderr.contains("--ca"), "{}", strange.stderr);
    directory.run(&[&login[..], &["--ca", "ca.pem"]].concat()).ends_with(0);
    directory.run(&["apply", "-f", "tenants.yaml", "-f", "contracts.yaml"]).ends_with(3);
    let status = directory.run(&["status"]).ends_with(0);
    assert!(status.stdout.contains("contracts"), "{}", status.stdout);
    // Other certificates, while it runs. It reads them soon after the signal.
    certificates(&directory);
    let again = [&login[..], &["--ca", "ca.pem"]].concat();
    directory.run(&again).ends_with(1);
    assert!(Command::new("kill").args(["-HUP", &server.child.id().to_string()]).status().unwrap().success());
    assert!((0..100).any(|_| directory.run(&again).code == Some(0)), "the new certificates are not used");
    let plain = server.url.replace("https://", "http://");
    let plain = directory.run(&["get", "vms", "--server", &plain, "--token-file", "l.db-operator"]);
    assert_ne!(plain.code, Some(0), "{}", plain.stdout);
}

/// Another certificate that the same authority has signed, for a client of this name.
fn client_certificate(directory: &Directory, name: &str) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let own = params.signed_by(&key, &issuer).unwrap();
    for (name, text) in [("clients.pem", certificate.pem()), ("me.pem", own.pem()), ("me.key", key.serialize_pem())] {
        std::fs::write(directory.0.join(name), text).unwrap();
    }
}

#[test]
fn a_certificate_authenticates_like_a_token() {
    let directory = Directory::new("certified");
    certificates(&directory);
    client_certificate(&directory, "ci.acme.example");
    let tls = ["--ledger", "l.db", "--listen", "127.0.0.1:0", "--tls-cert", "own.pem", "--tls-key", "key.pem"];
    let server =
        Server::run(&directory.0, &[&["serve", "-t", TOPOLOGY, "--client-ca", "clients.pem"][..], &tls].concat());
    let trusted = ["--server", &server.url, "--ca", "ca.pem"];
    let operator = [&trusted[..], &["--token-file", "l.db-operator"]].concat();
    directory.run(&[&["apply", "-f", "tenants.yaml"][..], &operator].concat()).ends_with(0);
    let mine = [&trusted[..], &["--cert", "me.pem", "--cert-key", "me.key"]].concat();
    let unknown = directory.run(&[&["get", "vms"][..], &mine].concat()).ends_with(2);
    assert!(unknown.stderr.contains("DNS:ci.acme.example"), "{}", unknown.stderr);
    let create = ["token", "create", "--role", "tenant", "--of", "acme", "--certificate", "DNS:ci.acme.example"];
    let made = directory.run(&[&create[..], &operator].concat()).ends_with(0);
    assert!(made.stdout.is_empty() && made.stderr.contains("use it"), "{}{}", made.stdout, made.stderr);
    let vms = directory.run(&[&["get", "vms"][..], &mine].concat()).ends_with(0);
    assert!(vms.stdout.contains("web-1"), "{}", vms.stdout);
    // Saved, it needs not be given again; and it goes before a token that was saved.
    let login = directory.run(&[&["login"][..], &mine].concat()).ends_with(0);
    assert!(login.stdout.contains("tenant of acme"), "{}", login.stdout);
    directory.run(&["get", "vms"]).ends_with(0);
    directory.run(&[&["login"][..], &operator].concat()).ends_with(0);
    directory.run(&["get", "tokens"]).ends_with(0);
    directory.run(&["get", "tokens", "--cert", "me.pem", "--cert-key", "me.key"]).ends_with(2);
    let half = directory.run(&["get", "vms", "--cert", "me.pem"]).ends_with(2);
    assert!(half.stderr.contains("--cert requires --cert-key"), "{}", half.stderr);
}

/// The commands of people who look: their answers hold times, so only their parts are compared.
#[test]
fn objects_can_be_described_followed_and_deleted() {
    let directory = Directory::new("looks");
    let server = Server::start(&directory);
    directory.run(&["login", "--server", &server.url, "--token-file", "l.db-operator"]).ends_with(0);
    directory.run(&["apply", "-f", "tenants.yaml", "-f", "contracts.yaml"]).ends_with(3);
    let described = directory.run(&["describe", "contract", "acme:web-db"]).ends_with(0);
    for part in ["acme:web-db", "10 Mbit/s", "5 ms"] {
        assert!(described.stdout.contains(part), "{part}: {}", described.stdout);
    }
    // A cable has a link for each direction, each with its own load.
    for (link, reserved) in [("h1->pod1-edge1", "10 Mbit/s"), ("pod1-edge1->h1", "0 bit/s")] {
        let described = directory.run(&["describe", "link", link]).ends_with(0);
        assert!(described.stdout.contains(link) && described.stdout.contains(reserved), "{}", described.stdout);
    }
    let made = directory.run(&["token", "create", "--role", "reader", "--to-file", "r.token"]).ends_with(0);
    let id = made.stderr.split_whitespace().find(|word| word.starts_with("t-")).unwrap().trim_end_matches(':');
    directory.run(&["get", "vms", "--token-file", "r.token"]).ends_with(0);
    directory.run(&["token", "delete", id]).ends_with(0);
    directory.run(&["get", "vms", "--token-file", "r.token"]).ends_with(2);
    let mut follow = Command::new(env!("CARGO_BIN_EXE_wayleave"))
        .args(["events", "--follow", "-o", "json"])
        .env("XDG_CONFIG_HOME", &*directory.0)
        .current_dir(&directory.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // If what is waited for never comes, it is ended, and the test fails.
    let (over, wait) = mpsc::channel::<()>();
    let id = follow.id().to_string();
    std::thread::spawn(move || {
        if wait.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").arg(id).status();
        }
    });
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    let mut until =
        |kind: &str, id: &str| lines.by_ref().map(Result::unwrap).any(|line| line.contains(kind) && line.contains(id));
    // Events from before it asked, then those that come while it waits.
    assert!(until("\"admitted\"", "acme:web-db"));
    directory.run(&["delete", "contract", "ptp"]).ends_with(0);
    assert!(until("\"released\"", "default:ptp"));
    drop(over);
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn the_demo_leaves_a_controller_with_its_contracts() {
    let directory = Directory::new("demo");
    let mut child = Command::new(env!("CARGO_BIN_EXE_wayleave"))
        .args(["demo", "--serve", "--ledger", "demo.db", "--count", "20"])
        .env("XDG_CONFIG_HOME", &*directory.0)
        .current_dir(&directory.0)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut printed = Vec::new();
    // The commands that it proposes to people, up to the last line of the proposal.
    printed.extend(lines.by_ref().take_while(|line| !line.contains("what-if")));
    let url = printed.iter().flat_map(|line| line.split_whitespace()).find(|word| word.starts_with("http://")).unwrap();
    let explain = printed.iter().find_map(|line| line.trim().strip_prefix("wayleave explain ")).unwrap();
    let asked =
        |words: &[&str]| directory.run(&[words, &["--server", url, "--token-file", "demo.db-operator"]].concat());
    assert!(asked(&["explain", explain]).ends_with(0).stdout.contains("End-to-end delay bound"));
    assert!(asked(&["get", "contracts"]).ends_with(0).stdout.contains(explain.split(':').next_back().unwrap()));
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_if_needs_no_controller_if_the_contracts_are_in_a_file() {
    let directory = Directory::new("imagined");
    let asked = ["what-if", "-f", "plain.yaml", "-t", TOPOLOGY, "--fail", "h2->pod1-edge1"];
    let plain: Vec<&str> = CONTRACTS.lines().filter(|line| !line.contains("acme")).collect();
    std::fs::write(directory.0.join("plain.yaml"), plain.join("\n")).unwrap();
    let run = directory.run(&asked).ends_with(3);
    assert!(run.stdout.starts_with("would lose their guarantee (1)\n"), "{}", run.stdout);
    assert!(run.stderr.contains("1 of 2 contracts in plain.yaml refused from the start"), "{}", run.stderr);
}

/// A ledger file with the contracts of the example, of every kind.
pub(super) struct Kinds {
    directory: Directory,
    examples: String,
}

impl Kinds {
    pub(super) fn new(name: &str) -> Self {
        let directory = Directory::new(name);
        let examples = format!("{}/../../docs/examples", env!("CARGO_MANIFEST_DIR"));
        let tenants = "apiVersion: wayleave/v1\nkind: Tenants\nspec: { tenants: [ { name: plant }, { name: shop }, { name: web } ] }\n";
        std::fs::write(directory.0.join("all-tenants.yaml"), tenants).unwrap();
        let all = Self { directory, examples };
        all.run(&format!("apply -f all-tenants.yaml -f {}/contracts-fabric.yaml", all.examples)).ends_with(0);
        all
    }

    pub(super) fn run(&self, command: &str) -> Run {
        let on = format!("{command} --ledger kinds.db -t {}/network-fabric.yaml", self.examples);
        self.directory.run(&on.split_whitespace().collect::<Vec<_>>())
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.0.join(name), text).unwrap();
    }
}

/// The holdings of a controller can be given to it again, in every format that has all of them.
#[test]
fn contracts_of_every_kind_are_written_as_a_file_that_changes_nothing() {
    let kinds = Kinds::new("written");
    for format in ["yaml", "json"] {
        let written = kinds.run(&format!("get contracts -o {format}")).ends_with(0).stdout;
        if format == "yaml" {
            assert!(
                written.contains(
                    "    - { name: db, tenant: shop, bandwidth: { hose: [h1, h4, h6, h8], min: 1.5Gbit } }\n"
                ),
                "{written}"
            );
        }
        let file = format!("written.{format}");
        kinds.write(&file, &written);
        let again = kinds.run(&format!("apply -f {file}")).ends_with(0).stdout;
        assert!(again.ends_with("\n7 unchanged\n"), "{again}");
        kinds.write("one", &kinds.run(&format!("get contract shop:db -o {format}")).ends_with(0).stdout);
        let one = kinds.run("apply -f one").ends_with(0).stdout;
        assert!(one.ends_with("\n1 unchanged\n"), "{one}");
    }
    let status = kinds.run("status").ends_with(0).stdout;
    assert!(status.contains("two-racks: "), "the network is called as its file says: {status}");
    let one = kinds.run("get contract shop:db -o yaml").ends_with(0).stdout;
    assert_eq!(one.lines().count(), 5, "{one}");
}

#[test]
fn a_listing_is_applied_without_released_contracts_and_its_errors_are_located() {
    let kinds = Kinds::new("listing");
    let listed = kinds.run("get contracts -o json").ends_with(0).stdout;
    // The share of a deleted contract is held until its last packets have left, and its status shows this until then.
    let released = listed.replacen(r#""state": "admitted""#, r#""state": "released""#, 1);
    kinds.write("released.json", &released);
    let applied = kinds.run("apply -f released.json").ends_with(0);
    assert!(applied.stdout.ends_with("\n6 unchanged\n"), "{}", applied.stdout);
    assert_eq!(applied.stderr, "note: default:bulk is skipped: its state is released\n");
    kinds.write("wrong.json", &listed.replace("1.5Gbit", "1.5Gbot"));
    let wrong = kinds.run("apply -f wrong.json").ends_with(2).stderr;
    let line = 1 + listed.lines().position(|line| line.contains(r#""id": "shop:db""#)).unwrap();
    assert!(wrong.starts_with(&format!("wrong.json:{line}:13: \"1.5Gbot\" has an unknown unit")), "{wrong}");
    kinds.write("none.json", r#"{ "items": [] }"#);
    assert!(kinds.run("apply -f none.json").ends_with(0).stdout.contains("nothing to do"));
}

/// A dry run is a diff: every kind of contract, tenants and VMs, with old and new values in units that people read.
#[test]
fn a_dry_run_shows_which_fields_would_change() {
    let kinds = Kinds::new("diff");
    let file = std::fs::read_to_string(format!("{}/contracts-fabric.yaml", kinds.examples)).unwrap();
    let changed = [
        ("rate: 20Mbit, burst: 3kB", "rate: 0.03Gbit, burst: 3000B"),
        ("burst: 30kB, deadline: 2ms", "burst: 30kB, deadline: 2us"),
        ("hose: [h1, h4, h6, h8], min: 1500Mbit", "hose: [h1, h4, h6, h8], min: 1.5Gbit"),
        ("min: 1Gbit }", "min: 1Gbit, max: 2Gbit, within: 5ms }"),
        ("deadline: 20ms", "deadline: 10ms"),
        ("name: index", "name: index-2"),
        ("[h1, h3, h5, h7, h8]", "[h1, h3]"),
    ];
    let changed = changed.iter().fold(file, |file, (old, new)| {
        assert!(file.contains(old), "{old}");
        file.replace(old, new)
    });
    kinds.write("changed.yaml", &changed);
    let tenants = "apiVersion: wayleave/v1\nkind: Tenants\nspec: { tenants: [ { name: plant, quota: { contracts: 9 } }, { name: shop } ], vms: [ { name: v, tenant: shop, host: h1, mac: \"02:00:5e:10:00:01\" } ] }\n";
    kinds.write("tenants.yaml", tenants);
    let before = kinds.run("get contracts -o json").stdout;
    let run = |more: &str| kinds.run(&format!("apply -f tenants.yaml -f changed.yaml --dry-run{more}")).ends_with(3);
    let json = run(" -o json").json();
    let lines: Vec<String> = json["items"].as_array().unwrap().iter().flat_map(lines).collect();
    assert_eq!(
        lines,
        [
            "plant changed quota.contracts: null -> \"9\"",
            "shop unchanged",
            "shop:v created host: null -> \"h1\"",
            "shop:v created mac: null -> \"02:00:5e:10:00:01\"",
            "plant:robot changed rate: \"20Mbit\" -> \"30Mbit\"",
            "plant:camera refused deadline: \"2ms\" -> \"2us\"",
            "shop:db unchanged",
            "shop:copy changed bandwidth.max: null -> \"2Gbit\"",
            "shop:copy changed bandwidth.within: null -> \"5ms\"",
            "web:search changed objective.deadline: \"20ms\" -> \"10ms\"",
            "web:index-2 created objective.goal: null -> \"completion\"",
            "web:index-2 created objective.members: null -> \"[h2, h3, h5, h8]\"",
            "web:index-2 created objective.weight: null -> \"300Mbit\"",
            "default:bulk changed bestEffort.members: \"[h1, h3, h5, h7, h8]\" -> \"[h1, h3]\"",
        ]
    );
    let table = run("").stdout;
    for part in
        ["rate: 20Mbit -> 30Mbit", "can never be met", "deadline: 2ms -> 2us", "bandwidth.max: not set -> 2Gbit"]
    {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(table.ends_with("nothing was changed; planned: 2 created, 5 changed, 2 unchanged, 1 refused\n"), "{table}");
    assert_eq!(kinds.run("get contracts -o json").stdout, before, "a dry run changes nothing");
}

/// Of many contracts that change, the documents are fetched as a list.
#[test]
fn a_dry_run_of_many_contracts_shows_the_changes_of_each() {
    let kinds = Kinds::new("many");
    let write = |name: &str, last: &str| {
        let line = |number: usize| format!("    - {{ name: c{number}, bestEffort: {{ members: [h1, {last}] }} }}\n");
        let lines: String = (0..30).map(line).collect();
        kinds.write(name, &format!("apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n{lines}"));
    };
    write("many.yaml", "h2");
    kinds.run("apply -f many.yaml").ends_with(0);
    write("many-changed.yaml", "h3");
    let report = kinds.run("apply -f many-changed.yaml --dry-run -o json").ends_with(0).json();
    let found: Vec<String> = report["items"].as_array().unwrap().iter().flat_map(lines).collect();
    let line = |number: usize| format!("default:c{number} changed bestEffort.members: \"[h1, h2]\" -> \"[h1, h3]\"");
    assert_eq!(found, (0..30).map(line).collect::<Vec<_>>());
}

/// An item of a dry run, with a line for each field that would change.
fn lines(item: &serde_json::Value) -> Vec<String> {
    let head = format!("{} {}", item["id"].as_str().unwrap(), item["outcome"].as_str().unwrap());
    let Some(changes) = item["changes"].as_array() else { return vec![head] };
    let line = |change: &serde_json::Value| {
        format!("{head} {}: {} -> {}", change["field"].as_str().unwrap(), change["before"], change["after"])
    };
    changes.iter().map(line).collect()
}
