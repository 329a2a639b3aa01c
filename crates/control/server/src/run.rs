//! A server in the foreground of a process, from its start to the signal that ends it.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::LevelFilter;

use crate::logger::{Lines, plain_fields};
use crate::notify::Notify;
use crate::{Options, Server, ServerLimits};

/// Time that a server which is ended during its start waits for its engine.
const END_OF_START: Duration = Duration::from_secs(2);

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one object a line.
    Json,
}

/// Writes log records to the standard error, each as one line in which text from outside cannot control a terminal. A
/// thread that logs does not wait for the reader; [`crate::flush_log`] does, at the end of a process.
///
/// # Errors
/// If the level is unknown, or a log is installed already.
pub fn log(format: LogFormat, level: &str) -> Result<(), String> {
    let level: LevelFilter = level.parse().map_err(|_| "expected off, error, warn, info, debug or trace".to_owned())?;
    let lines = Lines::to_stderr().map_err(|error| format!("cannot start the log thread: {error}"))?;
    let log = tracing_subscriber::fmt().with_max_level(level).with_target(false);
    let is_plain = !std::io::stderr().is_terminal() || std::env::var_os("NO_COLOR").is_some();
    let set = match format {
        // Colours are control characters as well, so here fields are escaped one by one, and there whole lines.
        LogFormat::Text => log.with_writer(lines).with_ansi(!is_plain).fmt_fields(plain_fields()).try_init(),
        LogFormat::Json => log.with_writer(lines.escaped()).json().flatten_event(true).try_init(),
    };
    set.map_err(|error| error.to_string())
}

/// Serves until SIGTERM or SIGINT; `ready` receives the address once the server answers requests.
///
/// # Errors
/// The reason that it cannot start, or does not end cleanly.
pub fn run(
    options: Options,
    listen: SocketAddr,
    watching: Option<SocketAddr>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    raise_file_limit(&options.limits);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the server threads: {error}"))?;
    runtime.block_on(async {
        let bind = async |address| TcpListener::bind(address).await.map_err(|error| format!("{address}: {error}"));
        let listener = bind(listen).await?;
        let watching = match watching {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let (term, int) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
        let (mut term, mut int) = (term.map_err(|error| error.to_string())?, int.map_err(|error| error.to_string())?);
        let mut hup = signal(SignalKind::hangup()).map_err(|error| error.to_string())?;
        let ending = options.disk.ending();
        let mut start = std::pin::pin!(Server::start_with(options, listener, watching));
        let started = tokio::select! {
            started = &mut start => Some(started),
            _ = term.recv() => None,
            _ = int.recv() => None,
        };
        let Some(server) = started.transpose()? else { return end_start(start, ending).await };
        ready(server.address());
        let notify = Notify::from_environment();
        notify.send("READY=1");
        let mut watchdog = tokio::time::interval(Notify::watchdog().unwrap_or(Duration::from_secs(3600)));
        let mut last = 0;
        loop {
            tokio::select! {
                _ = term.recv() => break,
                _ = int.recv() => break,
                _ = hup.recv() => match server.reload() {
                    Ok(()) => tracing::info!("certificates reloaded"),
                    Err(error) => tracing::error!(error, "cannot use the new certificates: the old ones stay in use"),
                },
                _ = watchdog.tick() => {
                    // The server is alive while the engine makes progress, independently of the load.
                    let progress = server.count_progress();
                    if progress != last {
                        notify.send("WATCHDOG=1");
                    }
                    last = progress;
                }
            }
        }
        notify.send("STOPPING=1");
        tracing::info!("shutting down: finishing requests in progress");
        server.end().await
    })
}

/// Ends a server that has not started: it has acknowledged nothing. The pending request to etcd is waited for, with a
/// timeout.
async fn end_start(
    start: impl Future<Output = Result<Server, String>>,
    ending: Option<Arc<AtomicBool>>,
) -> Result<(), String> {
    tracing::info!("shutting down before startup was complete");
    ending.into_iter().for_each(|ending| ending.store(true, Ordering::Relaxed));
    match tokio::time::timeout(END_OF_START, start).await {
        Ok(Ok(server)) => server.end().await,
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

/// Every connection needs a file: the soft limit is raised as far as the system allows and the limits need.
fn raise_file_limit(limits: &ServerLimits) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    // Files besides connections: the ledger, its log, its seal, and files of the system.
    let needed = (limits.connections + limits.connections_waiting + 256) as u64;
    let mut files = getrlimit(Resource::Nofile);
    let Some(now) = files.current.filter(|&now| now < needed) else { return };
    let raised = files.maximum.map_or(needed, |most| most.min(needed)).max(now);
    files.current = Some(raised);
    if setrlimit(Resource::Nofile, files).is_err() || raised < needed {
        tracing::warn!(
            limit = raised,
            needed,
            "the limit of open files is below the number of connections (ulimit -n, LimitNOFILE)"
        );
    }
}
