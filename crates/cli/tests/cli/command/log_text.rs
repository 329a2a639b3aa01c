//! Text from outside in the log of `serve` and `agent`: one line for each record, and nothing that acts on a terminal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use wayleave_repo_checks::{KilledChild, TempFolder};
use wayleave_units::is_plain;

/// A title, a bell, a line that looks like one of the log, a C1 control, reversed and invisible text.
const HOSTILE: &str = "owned\u{1b}]0;owned\u{7}\n2026-11-28T00:00:00Z ERROR forged\u{9b}2J\u{202e}\u{200b}";
/// The same as it is shown.
const SHOWN: &str = "owned\\u001b]0;owned\\u0007\\u000a2026-11-28T00:00:00Z ERROR forged\\u009b2J\\u202e\\u200b";

/// Runs the command until a line of its log is found; all lines until then.
fn lines_until(directory: &Path, arguments: &[&str], is_last: impl Fn(&str) -> bool) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    command.args(arguments).current_dir(directory).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = KilledChild(command.spawn().unwrap());
    let mut stderr = BufReader::new(running.stderr.take().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        assert_ne!(stderr.read_until(b'\n', &mut line).unwrap(), 0, "it has ended: {lines:#?}");
        let line = String::from_utf8(line).unwrap();
        let is_found = is_last(&line);
        lines.push(line);
        if is_found {
            return lines;
        }
    }
}

fn assert_plain(lines: &[String]) {
    for line in lines {
        let line = line.strip_suffix('\n').unwrap();
        assert!(is_plain(line), "{line:?}");
        assert!(!line.starts_with("2026-11-28T00:00:00Z ERROR forged"), "{line:?}");
    }
}

/// The text is there: as it was in JSON, and escaped in a line for people.
fn assert_shown(line: &str, format: &str, field: &str) {
    if format == "text" {
        return assert!(line.contains(SHOWN), "{line}");
    }
    let record: Value = serde_json::from_str(line).unwrap();
    assert!(record[field].as_str().unwrap().contains(HOSTILE), "{record}");
}

/// A controller that answers every request with a refusal in these words.
fn refuses(detail: &str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let problem = json!({ "type": "urn:wayleave:problem:invalid", "title": "t", "status": 400, "code": "INVALID", "detail": detail });
    let (body, listener) = (problem.to_string(), listener);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while head.read_line(&mut line).is_ok_and(|count| count > 2) {
                line.clear();
            }
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            let _ = head.read(&mut [0]);
        }
    });
    port
}

#[test]
fn answers_of_a_controller_cannot_control_the_terminal_of_an_agent() {
    let directory = TempFolder::new("log-agent");
    let port = refuses(HOSTILE);
    std::fs::write(directory.join("token"), format!("wl_{}\n", "0".repeat(64))).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(directory.join("token"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let file = json!({ "apiVersion": "wayleave/v1", "kind": "Agent", "spec": {
        "server": format!("http://127.0.0.1:{port}"), "tokenFile": "token", "state": "state",
        "nodes": [{ "node": "h1", "interfaces": {}, "endpoints": [] }],
    } });
    std::fs::write(directory.join("agent.yaml"), file.to_string()).unwrap();
    for format in ["text", "json"] {
        let arguments = ["agent", "--config", "agent.yaml", "--log-format", format];
        let lines = lines_until(&directory, &arguments, |line| line.contains("owned"));
        assert_plain(&lines);
        assert_shown(lines.last().unwrap(), format, "message");
    }
}

#[test]
fn input_of_a_server_cannot_control_its_terminal() {
    for format in ["text", "json"] {
        let directory = TempFolder::new(&format!("log-{format}"));
        let arguments = ["serve", "-t", "star:hosts=3", "--listen", "127.0.0.1:0", "--log-format", format];
        // A name that the file system takes, and that the log shows.
        let file = HOSTILE.replace('/', "");
        let arguments = [&arguments[..], &["--operator-token-file", &file]].concat();
        let lines = lines_until(&directory, &arguments, |line| line.contains("wrote the first operator's token"));
        assert_plain(&lines);
        assert_shown(lines.last().unwrap(), format, "file");
    }
}
