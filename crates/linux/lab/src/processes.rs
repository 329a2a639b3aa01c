//! The programs of a lab: controller, agents, and all others that it starts.
//!
//! Each carries the lab's folder in its environment, and so do its children. So they are found without files of
//! process numbers, which a crash leaves unwritten, and which name other processes later.

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::LabError;
use crate::state::Folder;

/// The variable with the folder of the lab.
const LAB: &str = "WAYLEAVE_LAB_FOLDER";
/// The variable with the name of the program in the lab.
const PROGRAM: &str = "WAYLEAVE_LAB_PROGRAM";
/// Number of lines of a program's log that an error shows.
const LAST_LINES: usize = 5;
/// Time for which programs may take to end before they are killed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSpec {
    /// Name in the lab, such as `controller` or `agent-h1`; its log is named like it.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables of its environment besides those of the lab.
    pub environment: Vec<(String, String)>,
}

/// A program that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Name in the lab.
    pub name: String,
    /// Its number.
    pub pid: i32,
}

/// Starts a program that outlives this one. Its output goes to its log.
pub(crate) fn start(folder: &Folder, program: &ProcessSpec) -> Result<Process, LabError> {
    let log = folder.log(&program.name);
    let open = || -> std::io::Result<(File, File)> {
        let file = OpenOptions::new().create(true).append(true).open(&log)?;
        Ok((file.try_clone()?, file))
    };
    let (out, err) = open().map_err(|error| LabError::io(format!("cannot write {}", log.display()), error))?;
    let mut command = Command::new(&program.file);
    command.args(&program.arguments).envs(program.environment.iter().map(|(name, value)| (name, value)));
    command.env(LAB, folder.path()).env(PROGRAM, &program.name);
    // A group of its own: Ctrl-C in the terminal that started it is not for it.
    command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
    let child = command
        .spawn()
        .map_err(|error| LabError::io(format!("cannot start {} ({})", program.name, program.file.display()), error))?;
    let pid = child.id() as i32;
    // The kernel answers the call before the new program's environment is in place, by which it is found: for an instant it has none.
    while is_alive(pid) && environment(pid).is_some_and(|bytes| bytes.is_empty()) {
        sleep(Duration::from_millis(1));
    }
    Ok(Process { name: program.name.clone(), pid })
}

/// The environment of a process as the kernel shows it; empty until its program is loaded, and after its end.
fn environment(pid: i32) -> Option<Vec<u8>> {
    fs::read(Path::new("/proc").join(pid.to_string()).join("environ")).ok()
}

/// The programs of a lab that run.
pub(crate) fn running(folder: &Folder) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let of_lab = |pid: i32| {
        let environment = environment(pid)?;
        let folder = folder.path().to_string_lossy();
        let value = |name: &str| {
            let mut variables = environment.split(|&byte| byte == 0).map(String::from_utf8_lossy);
            variables.find_map(|one| Some(one.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
        };
        let name = value(PROGRAM).unwrap_or_else(|| "a program".to_owned());
        (value(LAB)? == folder).then_some(Process { name, pid })
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut processes: Vec<Process> = pids.filter_map(of_lab).collect();
    processes.sort_by(|a, b| (&a.name, a.pid).cmp(&(&b.name, b.pid)));
    processes
}

/// Returns `true` if a signal has stopped a process: it exists, and does nothing until it is resumed.
pub(crate) fn is_stopped(pid: i32) -> bool {
    process_state(pid).is_some_and(|state| matches!(state, 'T' | 't'))
}

/// Returns the last output of a program.
pub(crate) fn last_lines(log: &Path) -> String {
    let output = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// Returns `true` if a process runs; one that has ended and is not yet waited for does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    process_state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Returns the state letter of a process; `None` if there is no such process.
fn process_state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
}

/// Ends all programs of a lab: agents first are asked, then all are killed. Returns how many there were.
pub(crate) fn stop(folder: &Folder) -> usize {
    let me = std::process::id() as i32;
    let others = || -> Vec<Process> { running(folder).into_iter().filter(|process| process.pid != me).collect() };
    let first = others();
    let send = |processes: &[Process], signal| {
        for process in processes {
            // A process that has already ended is no error.
            let _ = kill(Pid::from_raw(process.pid), signal);
        }
    };
    send(&first, Signal::SIGTERM);
    let start = Instant::now();
    loop {
        let left = others();
        if left.is_empty() {
            return first.len();
        }
        if start.elapsed() > TIMEOUT {
            send(&left, Signal::SIGKILL);
        }
        sleep(Duration::from_millis(20));
    }
}
