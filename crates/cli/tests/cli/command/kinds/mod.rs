//! Every command with one contract of each kind: no answer is empty, and none knows latency contracts only.

mod table;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use super::Run;
use super::client::Server;
use table::Of::{Has, Nothing};
use table::{ABOUT_CONTRACTS, At, NO_PROMISE, OTHERS, Question, at_server};
use wayleave_repo_checks::TempFolder;

const TOPOLOGY: &str = "
apiVersion: wayleave/v1
kind: Topology
metadata: { name: two-racks }
spec:
  builder: { kind: leaf-spine, leaves: 2, spines: 2, hosts: 4, rate: 10Gbit, delay: 1us, queues: 8 }
  classes: { latency: 5, guaranteed: 6, objective: 3, bestEffort: 1 }
";

const TENANTS: &str = "
apiVersion: wayleave/v1
kind: Tenants
spec: { tenants: [ { name: shop } ] }
";

/// The contracts, as a file has them. Numbers differ, so that each is recognised wherever it is shown.
const CONTRACTS: &str = "
apiVersion: wayleave/v1
kind: Contracts
spec:
  contracts:
    - { name: lat, tenant: shop, from: h1, to: h8, rate: 21Mbit, burst: 3kB, deadline: 1ms }
    - { name: pair, tenant: shop, bandwidth: { from: h3, to: h7, min: 1100Mbit, within: 9ms } }
    - { name: hose, tenant: shop, bandwidth: { hose: [h1, h4, h6, h8], min: 1200Mbit } }
    - { name: obj, tenant: shop, objective: { deadline: 23ms, members: [h2, h3, h5, h8], weight: 610Mbit } }
    - { name: best, tenant: shop, bestEffort: { members: [h1, h3, h5] } }
";

/// Their names: latency, a pair, a hose, an objective, best effort.
const NAMES: [&str; 5] = ["lat", "pair", "hose", "obj", "best"];

/// A directory with the files, and a server for that directory.
struct World {
    directory: TempFolder,
    server: Server,
}

/// Starts a server with the network `t.yaml` and an empty ledger `l.db`.
pub(super) fn serve(directory: &Path) -> Server {
    Server::run(
        directory,
        &"serve -t t.yaml --ledger l.db --listen 127.0.0.1:0 --log-level warn".split(' ').collect::<Vec<_>>(),
    )
}

impl World {
    fn new(name: &str) -> Self {
        let directory = TempFolder::new(name);
        let changes = [
            ("21Mbit", "22Mbit"),
            ("1100Mbit", "1150Mbit"),
            ("1200Mbit", "1250Mbit"),
            ("23ms", "24ms"),
            ("[h1, h3, h5]", "[h1, h3]"),
        ];
        let other = changes.iter().fold(CONTRACTS.to_owned(), |text, (old, new)| text.replace(old, new));
        for (name, text) in
            [("t.yaml", TOPOLOGY), ("tenants.yaml", TENANTS), ("c.yaml", CONTRACTS), ("other.yaml", &other)]
        {
            std::fs::write(directory.join(name), text).unwrap();
        }
        for (plan, contracts) in [("before.json", "c.yaml"), ("after.json", "other.yaml")] {
            let line = format!("plan -t t.yaml -f {contracts} -o json --no-recheck");
            std::fs::write(directory.join(plan), run(&directory, &line).ends_with(0).stdout).unwrap();
        }
        let server = serve(&directory);
        Self { directory, server }
    }

    /// An answer, together with the text written to the standard error.
    fn ask(&self, question: &Question, line: &str) -> String {
        let at = match question.at {
            At::Server => format!("{line} --server {} --token-file l.db-operator", self.server.url),
            At::Files => line.to_owned(),
        };
        let run = run(&self.directory, &at).ends_with(question.code);
        run.stdout + &run.stderr
    }

    /// Metrics for Prometheus.
    fn metrics(&self) -> String {
        let address = self.server.url.trim_start_matches("http://").trim_end_matches('/');
        let token = std::fs::read_to_string(self.directory.join("l.db-operator")).unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = "GET /metrics HTTP/1.1\r\nhost: wayleave\r\nconnection: close\r\nauthorization: Bearer";
        write!(stream, "{head} {}\r\n\r\n", token.trim()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

pub(super) fn command(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    for name in ["WAYLEAVE_SERVER", "WAYLEAVE_CONTEXT", "WAYLEAVE_TOKEN_FILE", "WAYLEAVE_CA"] {
        command.env_remove(name);
    }
    // Wide enough that no row of a table is broken.
    command.args(line.split(' ')).env("XDG_CONFIG_HOME", directory).env("COLUMNS", "500").current_dir(directory);
    command
}

pub(super) fn run(directory: &Path, line: &str) -> Run {
    let output = command(directory, line).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn every_command_supports_contracts_of_every_kind() {
    let world = World::new("commands");
    let mut wrong = Vec::new();
    for question in ABOUT_CONTRACTS.iter().flat_map(|(_, questions)| *questions) {
        let is_single = question.line.contains("NAME");
        let all = if is_single { String::new() } else { world.ask(question, question.line) };
        for (name, shows) in NAMES.iter().zip(&question.shows) {
            let Has(words) = shows else { continue };
            // With files names have no tenant.
            let full = if question.at == At::Server { format!("shop:{name}") } else { (*name).to_owned() };
            let line = question.line.replace("NAME", &full);
            let has = |text: &str| words.iter().all(|word| text.contains(word));
            let (is_there, text) = if is_single {
                let text = world.ask(question, &line);
                (has(&text), text)
            } else {
                (all.lines().any(has), all.clone())
            };
            if !is_there {
                let text: String = text.chars().take(3_000).collect();
                wrong.push(format!("{line}: {words:?} of {name} are not there:\n{text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Counted by kind, and on links by the amount that each kind has there.
#[test]
fn metrics_include_contracts_of_every_kind() {
    let world = World::new("metrics");
    let kinds = ["latency\"} 1", "bandwidth\"} 2", "objective\"} 1", "best-effort\"} 1"];
    let apply =
        at_server("apply -f tenants.yaml -f c.yaml", 0, [NO_PROMISE, NO_PROMISE, NO_PROMISE, NO_PROMISE, NO_PROMISE]);
    world.ask(&apply, apply.line);
    // Figures of links follow when the engine is idle.
    let sums = [
        "links_reserved_bits_per_second{class=\"host-up\"} 21000000",
        "links_minima_bits_per_second{class=\"host-up\"} 5900000000",
        "links_weights_bits_per_second{class=\"host-up\"} 2440000000",
        "links_free_bits_per_second{class=\"host-up\"} 71639000000",
    ];
    let expected = kinds.map(|kind| format!("wayleave_contract_kinds{{kind=\"{kind}\n"));
    let expected: Vec<String> = expected.into_iter().chain(sums.map(|sum| format!("wayleave_{sum}"))).collect();
    let mut text = world.metrics();
    for _ in 0..10_000 {
        if expected.iter().all(|line| text.contains(line)) {
            return;
        }
        text = world.metrics();
    }
    let missing: Vec<&String> = expected.iter().filter(|line| !text.contains(*line)).collect();
    panic!("{missing:?}\n{text}");
}

/// A new command is in one of both tables, and no table has a command that no longer exists.
#[test]
fn every_command_is_listed_in_one_table() {
    let help = super::wayleave("help --all").ends_with(0).stdout;
    let commands = help.lines().filter(|line| line.starts_with("  "));
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    let listed = ABOUT_CONTRACTS.iter().map(|(name, _)| *name).chain(OTHERS.iter().map(|(name, _)| *name));
    let listed: Vec<&str> = listed.collect();
    let unique: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(unique.len(), listed.len(), "a command is listed twice");
    assert_eq!(commands.iter().copied().collect::<BTreeSet<_>>(), unique);
    for (name, questions) in ABOUT_CONTRACTS {
        assert!(questions.iter().all(|question| question.line.split(' ').next() == Some(name)), "{name}");
    }
    let reasons = OTHERS.iter().map(|(_, reason)| *reason).chain(
        ABOUT_CONTRACTS.iter().flat_map(|(_, questions)| *questions).flat_map(|question| &question.shows).filter_map(
            |shows| match shows {
                Nothing(reason) => Some(*reason),
                Has(words) => words.is_empty().then_some(""),
            },
        ),
    );
    assert!(reasons.into_iter().all(|reason| !reason.is_empty()), "a reason is missing");
}
