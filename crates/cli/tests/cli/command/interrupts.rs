//! Runs of the program that Ctrl-C ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::run::Run;

/// Moment at which a command is interrupted.
pub(crate) enum Moment {
    /// As soon as it handles Ctrl-C.
    Start,
    /// As soon as its standard error has this text.
    Text(&'static str),
}

/// Runs `wayleave`, sends Ctrl-C at a moment, and waits for its end.
#[track_caller]
pub(crate) fn interrupted(arguments: &str, moment: &Moment) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wayleave"))
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut lines, mut stderr) = (BufReader::new(child.stderr.take().unwrap()), String::new());
    // Read meanwhile: a pipe takes 64 KiB, and a program whose output is not read waits.
    let mut stdout = child.stdout.take().unwrap();
    let stdout = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    match moment {
        Moment::Text(text) => {
            while !stderr.contains(text) {
                assert!(lines.read_line(&mut stderr).unwrap() > 0, "{arguments}: no {text:?} in {stderr}");
            }
        }
        Moment::Start => {
            while !handles_interrupts(child.id()) {
                assert!(child.try_wait().unwrap().is_none(), "{arguments}: ended before it handled Ctrl-C");
                std::thread::yield_now();
            }
        }
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    lines.read_to_string(&mut stderr).unwrap();
    Run { code: child.wait().unwrap().code(), stdout: stdout.join().unwrap().unwrap(), stderr }
}

/// Returns `true` if a process catches SIGINT (proc(5), `SigCgt`).
fn handles_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (Signal::SIGINT as u32 - 1)) != 0
}
