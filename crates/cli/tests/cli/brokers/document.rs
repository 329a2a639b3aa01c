//! The commands and lines of docs/theory/sharing.md, as they are printed there.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Stdio};

use serde_json::Value;

use wayleave_repo_checks::KilledChild;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The blocks of a section in a language, in their order.
fn blocks(section: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("{ROOT}/docs/theory/sharing.md")).unwrap();
    let section = text.split(&format!("\n## {section}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let mut parts = section.split("```");
    let mut found = Vec::new();
    while let (Some(_), Some(block)) = (parts.next(), parts.next()) {
        if let Some(inside) = block.strip_prefix(language).and_then(|rest| rest.strip_prefix('\n')) {
            found.push(inside.trim_end().to_owned());
        }
    }
    found
}

/// A command of the document, at ports that are free.
fn command(line: &str, ports: &[(&str, u16)]) -> Command {
    let line = ports.iter().fold(line.to_owned(), |line, (printed, port)| line.replace(printed, &format!(":{port}")));
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("wayleave"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    command.args(words).args(["--log-level", "error"]).current_dir(ROOT);
    command
}

#[test]
fn brokers_in_the_document_answer_its_lines() {
    let commands = blocks("Running brokers", "sh").remove(0).replace("\\\n", "");
    let [fabric, rack] = commands.lines().collect::<Vec<_>>()[..] else { panic!("{commands}") };
    let [lines, answer] = &blocks("Running brokers", "json")[..] else { panic!("two blocks of JSON are expected") };
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let udp =
        [(); 3].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap()).map(|socket| socket.local_addr().unwrap().port());
    let ports = [(":7411", tcp), (":7401", udp[0]), (":7402", udp[1]), (":7403", udp[2])];
    let _fabric = KilledChild(command(fabric, &ports).stdin(Stdio::null()).spawn().unwrap());
    let mut rack = command(rack, &ports);
    let mut rack = KilledChild(rack.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut stdin = rack.0.stdin.take().unwrap();
    writeln!(stdin, "{lines}").unwrap();
    let mut messages = String::new();
    BufReader::new(rack.0.stdout.take().unwrap()).read_line(&mut messages).unwrap();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(read(&messages), read(answer));
    // The end of its lines ends it.
    drop(stdin);
    assert_eq!(rack.0.wait().unwrap().code(), Some(0));
}
