//! `wayleave agent init`: the input that it refuses, and the files that it writes.

use std::process::Command;

use serde_json::Value;
use wayleave_repo_checks::TempFolder;

use super::file;

const NETWORK: &str = "\
apiVersion: wayleave/v1
kind: Topology
metadata: { name: two }
spec:
  nodes:
    - { name: h1, kind: host }
    - { name: h2, kind: host }
    - { name: s1, kind: switch }
  links:
    - { between: [h1, s1], rate: 10Gbit, interfaces: [eth1, swp1] }
    - { between: [h2, s1], rate: 10Gbit }
    - { from: s1, to: h1, rate: 1Gbit }
";

/// A folder with a token.
struct Folder(TempFolder);

impl Folder {
    fn new(name: &str) -> Self {
        let path = TempFolder::new(name);
        std::fs::write(path.join("token"), "a-secret-token-of-an-agent-0123456789\n").unwrap();
        Self(path)
    }

    /// Runs the command in the folder; the code, what it wrote to the standard error, and the agent's file.
    fn init(&self, node: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
        command.current_dir(&self.0).args([
            "agent",
            "init",
            "--server",
            "https://c.example:7480",
            "--force",
            "--no-mount",
        ]);
        command.args(["--directory", "etc", "--unit", "unit", "--token-file", "token", "--node", node]).args(arguments);
        let output = command.output().unwrap();
        let text = std::fs::read_to_string(self.0.join("etc/agent.yaml")).unwrap_or_default();
        (output.status.code(), String::from_utf8(output.stderr).unwrap(), text)
    }
}

fn interfaces(text: &str) -> Value {
    let agent = wayleave_formats::read_agent(&wayleave_formats::Source::new("agent", text)).unwrap();
    serde_json::to_value(&agent.nodes[0].interfaces).unwrap()
}

#[test]
fn a_unit_and_a_file_have_absolute_paths() {
    let folder = Folder::new("init-paths");
    let (code, printed, text) = folder.init("h1", &["--interface", "h1->s1=eth1", "--ca", "ca.pem"]);
    assert_eq!(code, Some(0), "{printed}");
    let place = folder.0.display();
    let unit = std::fs::read_to_string(folder.0.join("unit")).unwrap();
    assert!(unit.contains(&format!(" agent --config {place}/etc/agent.yaml\n")), "{unit}");
    for path in ["etc/h1.token", "ca.pem"] {
        assert!(text.contains(&format!("\"{place}/{path}\"")), "{text}");
    }
}

#[test]
fn links_of_other_nodes_are_refused() {
    let folder = Folder::new("init-links");
    let network = file("two.yaml", NETWORK);
    for (interface, with_file, expected) in [
        ("h2->s1=eth1", false, "h2->s1: not an outgoing link of h1; expected a link 'h1->...'"),
        ("s1->h1=eth1", false, "s1->h1: not an outgoing link of h1"),
        ("h2->s1=eth1", true, "h2->s1, which is not a port of h1; its ports: h1->s1, s1->h1#2"),
        ("s1->h1=eth1", true, "s1->h1, which is not a port of h1"),
    ] {
        let mut arguments = vec!["--interface", interface];
        if with_file {
            arguments.extend(["--topology", &network]);
        }
        let (code, printed, text) = folder.init("h1", &arguments);
        assert!(code == Some(2) && printed.contains(expected) && text.is_empty(), "{interface}: {printed}");
    }
}

#[test]
fn interfaces_are_those_of_the_topology() {
    let folder = Folder::new("init-topology");
    let network = file("two.yaml", NETWORK);
    let init = |node: &str, more: &[&str]| folder.init(node, &[&["--topology", network.as_str()], more].concat());
    // The simplex link to h1 has no interface at h1 that the file could name.
    let (code, printed, _) = init("h1", &[]);
    assert!(code == Some(2) && printed.contains("names no interface for s1->h1#2: pass --interface"), "{printed}");
    let (code, printed, text) = init("h1", &["--interface", "s1->h1#2=eth2"]);
    assert_eq!(
        (code, interfaces(&text)),
        (Some(0), serde_json::json!({ "h1->s1": "eth1", "s1->h1#2": "eth2" })),
        "{printed}"
    );
    // An option counts before the file.
    let (code, printed, text) = init("h1", &["--interface", "h1->s1=ens3", "--interface", "s1->h1#2=eth2"]);
    assert_eq!((code, &interfaces(&text)["h1->s1"]), (Some(0), &Value::from("ens3")), "{printed}");
    let (code, printed, _) = init("h2", &[]);
    assert!(code == Some(2) && printed.contains("names no interface for h2->s1"), "{printed}");
    let (code, printed, _) = init("h9", &[]);
    assert!(code == Some(2) && printed.contains("--node h9"), "{printed}");
}

#[test]
fn an_endpoint_with_an_unknown_interface_or_vm_is_added_with_a_warning() {
    let folder = Folder::new("endpoint-warnings");
    let text = "apiVersion: wayleave/v1\nkind: Agent\nspec:\n  server: \"http://127.0.0.1:1\"\n  state: state\n  tokenFile: token\n  \
                nodes:\n    - { node: h1, interfaces: { \"h1->s1\": eth9 } }\n";
    std::fs::write(folder.0.join("agent.yaml"), text).unwrap();
    let add = |endpoint: &str, interface: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
        command.current_dir(&folder.0).args(["agent", "--config", "agent.yaml", "endpoint", "add", "h1"]);
        let output = command.args([endpoint, interface]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "an interface may come later");
        String::from_utf8(output.stderr).unwrap()
    };
    let warnings = add("acme:web", "none-such0");
    assert!(warnings.contains("warning: interface none-such0 does not exist now"), "{warnings}");
    assert!(warnings.contains("cannot check VM acme:web at the controller"), "{warnings}");
    assert_eq!(add("host:h1", "lo"), "");
}
