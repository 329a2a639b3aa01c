//! `wayleave serve` and `wayleave config`, as a person would start them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use wayleave_repo_checks::TempFolder;

fn wayleave(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    command.args(arguments).current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a server; where it listens. `end` waits for it.
fn start(directory: &Path) -> (Child, BufReader<ChildStderr>, String) {
    start_with(directory, &["-t", "star:hosts=3"])
}

#[allow(clippy::zombie_processes, reason = "whoever starts it ends it")]
fn start_with(directory: &Path, options: &[&str]) -> (Child, BufReader<ChildStderr>, String) {
    let arguments = [&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"], options].concat();
    let mut child = wayleave(directory, &arguments).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it has ended");
        if let Some(rest) = line.split("http://").nth(1) {
            return (child, stderr, rest.split(' ').next().unwrap().to_owned());
        }
    }
}

fn ask(address: &str, directory: &Path, request: &str, body: &str) -> String {
    let secret = std::fs::read_to_string(directory.join("wayleave.db-operator")).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\nauthorization: Bearer \
         {}\r\ncontent-length: {}\r\n\r\n{body}",
        secret.trim(),
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Ends it as an operator does; the code of its end.
fn end(mut child: Child, mut stderr: BufReader<ChildStderr>) -> Option<i32> {
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    child.wait().unwrap().code()
}

#[test]
fn a_server_is_started_queried_stopped_and_restarted() {
    let directory = TempFolder::new("serve-life");
    let (child, stderr, address) = start(&directory);
    let body = r#"{"from": "h1", "to": "h2", "rate": "10Mbit", "burst": "3000B", "deadline": "5ms"}"#;
    let answer = ask(&address, &directory, "PUT /v1/contracts/ptp", body);
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert_eq!(end(child, stderr), Some(0));
    let (child, stderr, address) = start(&directory);
    let answer = ask(&address, &directory, "GET /v1/contracts/ptp", "");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"rate\":\"10Mbit\""), "{answer}");
    assert_eq!(end(child, stderr), Some(0));
}

#[test]
fn an_unusable_configuration_is_refused_with_advice() {
    let directory = TempFolder::new("serve-refused");
    for (arguments, words) in [
        (
            &["serve", "-t", "star:hosts=2", "--listen", "0.0.0.0:0"][..],
            "add --tls-cert and --tls-key, or --insecure-http",
        ),
        (&["serve", "-t", "star:hosts=2", "--scheme", "qjump"], "reserves no queues"),
        (&["serve", "-t", "star:hosts=2", "--reroute", "--reroute-moves", "kept"], "omit it"),
        (&["serve", "-t", "star:hosts=2", "--log-level", "loud"], "expected off, error, warn, info, debug or trace"),
        (&["serve", "-t", "star:hosts=2", "--tls-cert", "none.pem", "--tls-key", "none.pem"], "none.pem"),
    ] {
        let run = wayleave(&directory, arguments).output().unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        assert!(!run.status.success() && stderr.contains(words), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_flag_overrides_the_environment_which_overrides_the_file() {
    let directory = TempFolder::new("serve-layers");
    let file = "topology = \"star:hosts=2\"\nconnections = 7\nwatchers = 8\nbody-limit = \"2MiB\"\ninsecure-http = true\nbudgets = [\"100us\", \"1ms\"]\n";
    std::fs::write(directory.join("wayleave.toml"), file).unwrap();
    let arguments = ["config", "show", "--origin", "--", "--connections", "9"];
    let run = wayleave(&directory, &arguments)
        .env("WAYLEAVE_CONNECTIONS", "5")
        .env("WAYLEAVE_WATCHERS", "6")
        .output()
        .unwrap();
    let shown = String::from_utf8(run.stdout).unwrap();
    let line = |name: &str| {
        shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {shown}")).to_owned()
    };
    for (name, value, origin) in [
        ("connections ", "= 9", "flag --connections"),
        ("watchers ", "= 6", "environment WAYLEAVE_WATCHERS"),
        ("body-limit ", "= \"2MiB\"", "file wayleave.toml"),
        ("insecure-http ", "= true", "file wayleave.toml"),
        ("budgets ", "= \"100us,1ms\"", "file wayleave.toml"),
        ("listen ", "= \"127.0.0.1:7480\"", "default"),
        ("# tls-cert ", "=", "not set"),
    ] {
        let line = line(name);
        assert!(line.contains(value) && line.contains(origin), "{line}");
    }
    std::fs::write(directory.join("wayleave.toml"), "topology = \"star:hosts=2\"\n\nconections = 7\n").unwrap();
    let run = wayleave(&directory, &["config", "show"]).output().unwrap();
    let stderr = String::from_utf8(run.stderr).unwrap();
    assert!(stderr.contains("wayleave.toml:3: unknown setting conections; did you mean connections?"), "{stderr}");
}

#[test]
fn a_server_continues_if_its_log_is_not_read() {
    let directory = TempFolder::new("serve-log");
    let (child, stderr, address) = start(&directory);
    // Each request is a line of some 200 B: a full pipe (64 KiB) and the lines that may wait behind it (1 MiB) are
    // not enough for all.
    let mut stream = BufReader::new(TcpStream::connect(&address).unwrap());
    // If the server hangs, the test fails and does not.
    stream.get_ref().set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    for _ in 0..100 {
        stream.get_mut().write_all("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".repeat(100).as_bytes()).unwrap();
        for _ in 0..100 {
            let (mut line, mut status) = (String::new(), String::new());
            stream.read_line(&mut status).unwrap();
            assert!(status.starts_with("HTTP/1.1 200"), "{status}");
            while line != "\r\n" {
                line.clear();
                stream.read_line(&mut line).unwrap();
            }
            stream.read_line(&mut line).unwrap();
        }
    }
    let metrics = ask(&address, &directory, "GET /metrics", "");
    let dropped = metrics.lines().find_map(|line| line.strip_prefix("wayleave_log_lines_dropped_total "));
    assert!(dropped.is_some_and(|count| count != "0"), "{metrics}");
    assert_eq!(end(child, stderr), Some(0));
}

#[test]
fn a_misspelt_variable_is_named() {
    let directory = TempFolder::new("serve-variables");
    let run = |variable: &str, arguments: &[&str]| {
        let run = wayleave(&directory, arguments).env(variable, "x").output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    for (variable, meant) in [
        ("WAYLEAVE_SERVR", "WAYLEAVE_SERVER"),
        ("WAYLEAVE_TOKENFILE", "WAYLEAVE_TOKEN_FILE"),
        ("WAYLEAVE_TLS_CERTS", "WAYLEAVE_TLS_CERT"),
    ] {
        let (code, words) = run(variable, &["get", "vms"]);
        let expected = format!("unknown variable {variable}; did you mean {meant}?");
        assert!(code == Some(2) && words.contains(&expected), "{code:?}: {words}");
    }
    // Variables that are not ours to judge: those that Kubernetes sets for a service of this name.
    for variable in ["WAYLEAVE_SERVICE_HOST", "WAYLEAVE_PORT", "WAYLEAVE_PORT_7480_TCP", "WAYLEAVE_ANYTHING_ELSE"] {
        assert_eq!(run(variable, &["schemes"]).0, Some(0), "{variable}");
    }
}

/// Runs a command with an output that is not read.
fn unread(directory: &Path, arguments: &[&str]) -> std::process::Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    wayleave(directory, arguments).stdout(writer).output().unwrap()
}

#[test]
fn no_command_panics_if_its_output_is_not_read() {
    let directory = TempFolder::new("serve-unread");
    let (child, stderr, _) = start(&directory);
    assert_eq!(end(child, stderr), Some(0));
    for arguments in
        [&["ledger", "check", "wayleave.db"][..], &["ledger", "backup", "wayleave.db", "copy.db"], &["schemes"]]
    {
        let run = unread(&directory, arguments);
        let words = String::from_utf8(run.stderr).unwrap();
        assert!(!words.contains("panicked") && run.status.code() != Some(101), "{arguments:?}: {words}");
    }
    // Nor if the error message is not read.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let run = wayleave(&directory, &["ledger", "check", "none.db"]).stderr(writer).output().unwrap();
    assert_eq!(run.status.code(), Some(1));
}

/// Without etcd there is one controller, with any other options of a cluster.
#[test]
fn cluster_options_require_etcd() {
    for output in ["--cluster plant", "--lease 4s", "--advertise http://h1:7480", "--force-config f1"] {
        let run =
            crate::command::wayleave(&format!("serve -t star:hosts=3 --ledger none.db --listen 127.0.0.1:0 {output}"))
                .ends_with(2);
        assert!(run.stderr.contains("--etcd <URL,URL>"), "{output}: {}", run.stderr);
    }
}

/// A switch is taken out: drained, then left out of the file, as docs/operate/ledger.md describes.
#[test]
fn a_switch_used_by_contracts_can_be_removed() {
    let directory = TempFolder::new("serve-removed");
    for (name, spines) in [("two.yaml", 2), ("one.yaml", 1)] {
        let builder = format!(
            "{{ kind: leaf-spine, leaves: 2, spines: {spines}, hosts: 4, rate: 10Gbit, delay: 1us, queues: 8 }}"
        );
        let classes = "{ latency: 5, guaranteed: 6, objective: 3, bestEffort: 1 }";
        let text =
            format!("apiVersion: wayleave/v1\nkind: Topology\nspec:\n  builder: {builder}\n  classes: {classes}\n");
        std::fs::write(directory.join(name), text).unwrap();
    }
    let run = |arguments: &[&str]| {
        let done = wayleave(&directory, arguments).output().unwrap();
        let output = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        (done.status.code(), output)
    };
    let (child, stderr, address) = start_with(&directory, &["-t", "two.yaml"]);
    for number in 1..=4 {
        let (from, to) = (format!("h{number}"), format!("h{}", number + 4));
        let body = format!(r#"{{"from":"{from}","to":"{to}","rate":"10Mbit","burst":"3000B","deadline":"5ms"}}"#);
        let answer = ask(&address, &directory, &format!("PUT /v1/contracts/l{number}"), &body);
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        let body = format!(r#"{{"bandwidth":{{"from":"{from}","to":"{to}","min":"1Gbit"}}}}"#);
        let answer = ask(&address, &directory, &format!("PUT /v1/contracts/p{number}"), &body);
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    }
    let answer = ask(&address, &directory, "PUT /v1/nodes/h8/state", r#"{"state":"down"}"#);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(end(child, stderr), Some(0));

    // A contract that its host's failure has degraded is promised nothing: the ledger is sound.
    let (code, output) = run(&["ledger", "check", "wayleave.db", "-t", "two.yaml"]);
    assert!(code == Some(0) && output.contains("sound, all guarantees hold"), "{output}");
    let (code, output) = run(&["serve", "-t", "one.yaml", "--listen", "127.0.0.1:0"]);
    assert!(code == Some(1) && output.contains("spine2") && output.contains("--decide-again"), "{output}");
    let (code, output) = run(&["ledger", "check", "wayleave.db", "-t", "one.yaml", "--decide-again"]);
    assert!(code == Some(0) && output.contains("rerouted: decided again at the start"), "{output}");
    let (_, before) = run(&["ledger", "check", "wayleave.db", "-t", "two.yaml"]);
    assert!(before.contains("sound, all guarantees hold"), "a look changes nothing: {before}");

    let (child, stderr, address) = start_with(&directory, &["-t", "one.yaml", "--decide-again"]);
    let all = ask(&address, &directory, "GET /v1/contracts", "");
    assert!(!all.contains("spine2") && all.matches("spine1").count() >= 2 * 6, "{all}");
    assert_eq!(all.matches(r#""state":"degraded""#).count(), 2, "those of h8: {all}");
    assert_eq!(end(child, stderr), Some(0));
    let (code, output) = run(&["ledger", "check", "wayleave.db", "-t", "one.yaml"]);
    assert!(code == Some(0) && output.contains("sound, all guarantees hold"), "{output}");
}
