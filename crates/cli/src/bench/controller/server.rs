//! A controller in a separate process, and clients with minimal overhead.

use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::network::TOPOLOGY;

/// Maximum time until the server is ready.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the runtime of clients: one thread.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("no clients can be run: {error}"))
}

/// A controller in a process of its own.
pub(super) struct Server {
    child: Child,
    address: SocketAddr,
    token: String,
    log: std::path::PathBuf,
}

impl Server {
    /// Over the ledger of a directory.
    pub(super) fn start(program: &Path, directory: &Path) -> Result<Self, String> {
        Self::start_with(program, directory, &[])
    }

    /// The same with other options besides.
    pub(super) fn start_with(program: &Path, directory: &Path, options: &[String]) -> Result<Self, String> {
        let wrong = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
        // The port was free a moment ago, and is unlikely to be taken since then.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
        let address = address.map_err(|error| wrong("no port is free", &error))?;
        let (token_file, log) = (directory.join("token"), directory.join("log"));
        let token = format!("wl_{:064x}", std::process::id());
        std::fs::write(&token_file, &token).map_err(|error| wrong("the token cannot be written", &error))?;
        private(&token_file).map_err(|error| wrong("the token cannot be kept private", &error))?;
        let stderr = std::fs::File::create(&log).map_err(|error| wrong("the log cannot be written", &error))?;
        let child = Command::new(program)
            .args(["serve", "--topology", TOPOLOGY, "--listen", &address.to_string(), "--log-level", "warn"])
            .args(["--requests-per-second", "1000000"])
            .arg("--ledger")
            .arg(directory.join("ledger.db"))
            .arg("--operator-token-file")
            .arg(&token_file)
            .args(options)
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn();
        let child = child.map_err(|error| wrong("the server cannot be started", &error))?;
        Ok(Self { child, address, token, log })
    }

    /// Returns once it answers.
    pub(super) async fn ready(&self) -> std::io::Result<()> {
        let started = Instant::now();
        loop {
            if let Ok(mut client) = Client::connect(self).await
                && matches!(client.ask("GET", "/readyz", "").await, Ok(200))
            {
                return Ok(());
            }
            if started.elapsed() > TIMEOUT {
                return Err(Error::new(ErrorKind::TimedOut, "the server does not get ready"));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns a memory figure of the process from the system, such as `VmRSS`, in bytes.
    pub(super) fn memory_bytes(&self, what: &str) -> std::io::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':'));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or_else(|| Error::other(format!("the system does not say {what}")))
    }

    /// Returns the processor time of the thread with this name.
    pub(super) fn cpu_of_thread(&self, name: &str) -> std::io::Result<Duration> {
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let thread = thread?.path();
            if std::fs::read_to_string(thread.join("comm"))?.trim() == name {
                // The first number of proc(5), /proc/pid/schedstat: nanoseconds on a processor.
                let schedule = std::fs::read_to_string(thread.join("schedstat"))?;
                let nanos = schedule.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
                return nanos.map(Duration::from_nanos).ok_or_else(|| Error::other("malformed schedstat"));
            }
        }
        Err(Error::other(format!("the server has no thread {name}")))
    }

    /// Returns the last log lines before a failure.
    pub(super) fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(3).collect();
        last.into_iter().rev().fold(String::new(), |words, line| words + "\n  " + line)
    }
}

#[cfg(unix)]
fn private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn private(_: &Path) -> std::io::Result<()> {
    Ok(())
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that is kept. It reads no more of an answer than it needs to find its end: the server is measured, not a client.
pub(super) struct Client {
    stream: TcpStream,
    token: String,
    buffer: Vec<u8>,
}

impl Client {
    pub(super) async fn connect(server: &Server) -> std::io::Result<Self> {
        Self::connect_as(server, &server.token).await
    }

    /// With another token than the first operator's.
    pub(super) async fn connect_as(server: &Server, token: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(server.address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, token: token.to_owned(), buffer: Vec::with_capacity(8192) })
    }

    /// The status of the answer, and its body.
    pub(super) async fn ask_for(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
        let status = self.ask(method, path, body).await?;
        let end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |end| end + 4);
        Ok((status, String::from_utf8_lossy(&self.buffer[end..]).into_owned()))
    }

    /// The status of the answer.
    pub(super) async fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<u16> {
        let (token, length) = (&self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "the server closed the connection"));
            }
            let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&self.buffer[..end]);
            let body = length_of(&head).ok_or_else(|| Error::other("an answer without Content-Length"))?;
            if self.buffer.len() >= end + 4 + body {
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
                return status.ok_or_else(|| Error::other("an answer without a status"));
            }
        }
    }
}

/// Returns the length of an answer according to its head; a length is not needed without a body.
fn length_of(head: &str) -> Option<usize> {
    let has_none = head.split(' ').nth(1).is_some_and(|status| status == "204" || status == "304");
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    length.or(has_none.then_some(0))
}
