//! The real binary over a directory, and requests to it.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use wayleave_faults::{Shim, WriteFault};
use wayleave_repo_checks::{KilledChild, TempFolder};

/// The network of all these tests: small, so that a start takes milliseconds.
pub(crate) const TOPOLOGY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/crash/star-classes.yaml");

/// A folder with a ledger.
pub(crate) struct LedgerDir(pub(crate) TempFolder);

impl LedgerDir {
    pub(crate) fn new() -> Self {
        Self(TempFolder::within(env!("CARGO_TARGET_TMPDIR"), "crash"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path("ledger.db")
    }

    /// A copy as the files are now.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::new();
        for entry in fs::read_dir(&self.0).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.starts_with("ledger.db") {
                fs::copy(&path, copy.path(name)).unwrap();
            }
        }
        copy
    }
}

pub(crate) fn shim() -> Shim {
    Shim::build(env!("CARGO_TARGET_TMPDIR")).unwrap_or_else(|error| panic!("{error}"))
}

/// `wayleave` with arguments separated by spaces.
pub(crate) fn wayleave(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    command.args(arguments.split(' ')).stdin(Stdio::null()).current_dir(env!("CARGO_TARGET_TMPDIR"));
    // Settings come from there too, and those of these tests are called so.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("WAYLEAVE_")) {
        command.env_remove(name);
    }
    command
}

/// Longest time of anything that a server does in milliseconds: a server that hangs fails its test, and does not stop
/// all of them.
const LIMIT: Duration = Duration::from_secs(120);

/// Kills a process that is still watched after [`LIMIT`].
struct Watch {
    _over: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Watch {
    fn of(child: &Child) -> Self {
        let (over, wait) = mpsc::channel();
        let id = child.id().to_string();
        let thread = std::thread::spawn(move || {
            let hangs = wait.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout);
            if hangs {
                let _ = Command::new("kill").args(["-KILL", &id]).status();
            }
            hangs
        });
        Self { _over: over, thread }
    }

    /// The end of the watch; an error if the process had to be killed.
    #[track_caller]
    fn end(self, output: &str) {
        let Self { _over: over, thread } = self;
        drop(over);
        assert!(!thread.join().unwrap(), "it hangs; it said: {output}");
    }
}

/// Result of a start.
pub(crate) enum Start {
    Serves(Server),
    /// It ended before it served: its status, and its output.
    Ended(ExitStatus, String),
}

impl Start {
    #[track_caller]
    pub(crate) fn serves(self) -> Server {
        match self {
            Self::Serves(server) => server,
            Self::Ended(status, output) => panic!("it does not serve: {status}: {output}"),
        }
    }

    /// Asserts that it has printed the reason for which it does not serve, and ended with this code.
    #[track_caller]
    pub(crate) fn refuses(self, code: i32) -> String {
        match self {
            Self::Ended(status, output) => {
                assert_eq!(status.code(), Some(code), "{output}");
                assert!(!output.contains("panicked"), "{output}");
                output
            }
            Self::Serves(server) => panic!("it serves: {}", server.kill()),
        }
    }
}

/// A server that serves. It is killed when it is dropped.
pub(crate) struct Server {
    child: KilledChild,
    pub(crate) address: SocketAddr,
    pub(crate) secret: String,
    output: Option<JoinHandle<String>>,
}

/// Starts a server on the ledger of a place; with more arguments, and a command that is armed.
pub(crate) fn start(place: &LedgerDir, more: &str, arm: impl FnOnce(&mut Command)) -> Start {
    let ledger = place.ledger();
    let mut command = wayleave("serve --listen 127.0.0.1:0 --log-level warn");
    command.arg("--ledger").arg(&ledger).args(more.split_whitespace());
    if !more.contains("-t ") {
        command.args(["-t", TOPOLOGY]);
    }
    arm(&mut command);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let (mut output, watch) = (String::new(), Watch::of(&child));
    while let Some(line) = line(&mut lines) {
        // Another process may kill it in the middle of this line.
        let whole = line.strip_prefix("wayleave serves on http://").filter(|rest| rest.ends_with('\n'));
        let address = whole.and_then(|rest| rest.split(' ').next());
        if let Some(address) = address.map(|text| text.trim().parse().unwrap()) {
            watch.end(&output);
            let secret = fs::read_to_string(place.path("ledger.db-operator")).unwrap().trim().to_owned();
            let output = Some(std::thread::spawn(move || rest(lines, output)));
            return Start::Serves(Server { child: KilledChild(child), address, secret, output });
        }
        output += &line;
    }
    let status = child.wait().unwrap();
    watch.end(&output);
    Start::Ended(status, output)
}

fn line(lines: &mut BufReader<ChildStderr>) -> Option<String> {
    let mut line = Vec::new();
    let length = lines.read_until(b'\n', &mut line).ok()?;
    (length > 0).then(|| String::from_utf8_lossy(&line).into_owned())
}

fn rest(mut lines: BufReader<ChildStderr>, mut output: String) -> String {
    let mut bytes = Vec::new();
    let _ = lines.read_to_end(&mut bytes);
    output += &String::from_utf8_lossy(&bytes);
    output
}

/// Starts it with a fault, whose calls are traced too.
pub(crate) fn start_with(place: &LedgerDir, shim: &Shim, fault: &WriteFault, trace: Option<&Path>) -> Start {
    start_gated(place, shim, fault, trace, None)
}

/// Starts it with a fault; calls count only while a file is there.
pub(crate) fn start_gated(
    place: &LedgerDir,
    shim: &Shim,
    fault: &WriteFault,
    trace: Option<&Path>,
    gate: Option<&Path>,
) -> Start {
    start(place, "", |command| {
        if let Some(gate) = gate {
            shim.only_while(command, gate);
        }
        if let Some(trace) = trace {
            shim.preload(command, "ledger.db", &WriteFault::Trace(trace.to_owned()));
        }
        shim.preload(command, "ledger.db", fault);
        // A thread of its own opens the file of measurements at any time of a start.
        shim.except(command, "ledger.db-load");
    })
}

impl Server {
    /// Kills it at once and returns its output.
    pub(crate) fn kill(mut self) -> String {
        let _ = self.child.kill();
        self.wait().1
    }

    /// Asks it to end, and waits.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        self.ask_to_end();
        self.wait()
    }

    pub(crate) fn ask_to_end(&self) {
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).stderr(Stdio::null()).status();
    }

    pub(crate) fn wait(&mut self) -> (ExitStatus, String) {
        let watch = Watch::of(&self.child);
        let status = self.child.wait().unwrap();
        let output = self.output.take().map_or_else(String::new, |output| output.join().unwrap());
        watch.end(&output);
        (status, output)
    }

    pub(crate) fn access(&self) -> ServerAccess {
        ServerAccess { address: self.address, secret: self.secret.clone() }
    }

    pub(crate) fn process(&mut self) -> &mut Child {
        &mut self.child
    }
}

/// Address and identity for requests.
#[derive(Clone)]
pub(crate) struct ServerAccess {
    address: SocketAddr,
    secret: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    pub(crate) body: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, String::from_utf8_lossy(&self.body)))
    }
}

impl ServerAccess {
    pub(crate) fn get(&self, path: &str) -> io::Result<Answer> {
        self.ask(&Request { method: "GET", path: path.to_owned(), key: None, body: String::new() })
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> io::Result<Answer> {
        self.ask(&Request { method: "PUT", path: path.to_owned(), key: None, body: body.to_string() })
    }

    /// Sends a request and reads its whole answer. After an error its outcome is unknown.
    pub(crate) fn ask(&self, request: &Request) -> io::Result<Answer> {
        read(self.send(request)?)
    }

    /// Sends a request, and does not wait.
    pub(crate) fn send(&self, request: &Request) -> io::Result<TcpStream> {
        let Request { method, path, key, body } = request;
        let mut stream = TcpStream::connect(self.address)?;
        let key = key.as_ref().map_or_else(String::new, |key| format!("idempotency-key: {key}\r\n"));
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer {}\r\n{key}content-type: \
             application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.secret,
            body.len()
        );
        stream.write_all(text.as_bytes())?;
        Ok(stream)
    }
}

pub(crate) fn read(mut stream: TcpStream) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(cut)?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).ok_or_else(cut)?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    let body = bytes.split_off(end + 4);
    if body.len() == length { Ok(Answer { status, body }) } else { Err(cut()) }
}
