//! `wayleave serve` and `wayleave config`, as a person would start them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// A directory of this test alone, empty.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("serve-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn wayleave(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    command.args(arguments).current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a server; where it listens. `end` waits for it.
#[allow(clippy::zombie_processes, reason = "whoever starts it ends it")]
fn start(directory: &Path) -> (Child, BufReader<ChildStderr>, String) {
    let arguments = ["serve", "-t", "star:hosts=3", "--listen", "127.0.0.1:0", "--log-format", "json"];
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
fn a_server_is_started_asked_ended_and_goes_on() {
    let directory = directory("life");
    let (child, stderr, address) = start(&directory);
    let body = r#"{"from": "h1", "to": "h2", "rate": "10Mbit", "burst": "3000B", "deadline": "5ms"}"#;
    let answer = ask(&address, &directory, "PUT /v1/contracts/ptp", body);
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert_eq!(end(child, stderr), Some(0));
    let (child, stderr, address) = start(&directory);
    let answer = ask(&address, &directory, "GET /v1/contracts/ptp", "");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"rate\":\"10Mbit\""), "{answer}");
    assert_eq!(end(child, stderr), Some(0));
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_cannot_be_served_is_refused_in_words() {
    let directory = directory("refused");
    for (arguments, words) in [
        (
            &["serve", "-t", "star:hosts=2", "--listen", "0.0.0.0:0"][..],
            "give --tls-cert and --tls-key, or --insecure-http",
        ),
        (&["serve", "-t", "star:hosts=2", "--scheme", "qjump"], "reserves no queues"),
        (&["serve", "-t", "star:hosts=2", "--reroute", "--reroute-moves", "kept"], "leave it out"),
        (&["serve", "-t", "star:hosts=2", "--log-level", "loud"], "off, error, warn, info, debug or trace is expected"),
        (&["serve", "-t", "star:hosts=2", "--tls-cert", "none.pem", "--tls-key", "none.pem"], "none.pem"),
    ] {
        let run = wayleave(&directory, arguments).output().unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        assert!(!run.status.success() && stderr.contains(words), "{arguments:?}: {stderr}");
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_flag_goes_before_the_environment_and_that_before_the_file() {
    let directory = directory("layers");
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
    assert!(stderr.contains("wayleave.toml:3: there is no setting conections; did you mean connections?"), "{stderr}");
    std::fs::remove_dir_all(directory).unwrap();
}
