//! A server as a whole: from its options to its end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use wayleave_controller::{Command, ControllerConfig, Principal};
use wayleave_replica::Lease;
use wayleave_units::WallTime;

use crate::alert_watch;
use crate::alerts::AlertState;
use crate::audit::PendingEntries;
use crate::clock::boottime;
use crate::disk::Disk;
use crate::engine::{Engine, FigureSchedule, First};
use crate::http::dispatch::{self, router};
use crate::http::health_listener::HealthListener;
use crate::http::listen::{self, ServingThreads};
use crate::http::openapi;
use crate::http::tls::{Tls, TlsFiles};
use crate::limits::ServerLimits;
use crate::liveness;
use crate::load::{Load, LoadTimer};
use crate::metrics::Metrics;
use crate::pulse::EngineHeartbeat;
use crate::queue::{Message, Queue};
use crate::read_view::View;
use crate::reads::Reads;
use crate::secret::{Secret, token_name};
use crate::state::Shared;
use crate::tiers::Layers;

/// Maximum number of connections at the address for monitoring.
const WATCHING: usize = 64;
/// Questions (what-if, dry runs) of all accounts that are asked at once, and one of operators besides: each has a controller of its own.
const QUESTIONS: usize = 1;

/// Configuration of a server.
pub struct Options {
    /// Configuration of the controller.
    pub setup: ControllerConfig,
    /// Name of the topology.
    pub name: String,
    /// The document that describes it.
    pub document: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Storage of its records.
    pub disk: Box<dyn Disk>,
    /// The file with the secret of an operator: read if it is there; else one is made if there is no operator.
    pub operator_file: PathBuf,
    /// `true` if the secret in that file is an operator's, also if there are other operators: the file was named
    /// explicitly.
    pub operator_file_counts: bool,
    /// Maximum values for requests and connections.
    pub limits: ServerLimits,
    /// The files of TLS, if it is spoken.
    pub tls: Option<TlsFiles>,
    /// File of the histories of measured load, and of the minutes of contracts; without it they are in memory.
    pub load_file: Option<PathBuf>,
    /// Time at which the measured load is recorded.
    pub load_clock: LoadClock,
}

/// Time at which the measured load is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadClock {
    /// Every ten seconds of the calendar.
    Wall,
    /// Only by [`Server::record_load`], from a time on; without one, reports arrive by the clock of this machine until a
    /// time is set.
    Caller(Option<WallTime>),
}

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    /// The certificates that are in use.
    tls: Option<Tls>,
    end: watch::Sender<bool>,
    jobs: Arc<Queue>,
    pulse: Arc<EngineHeartbeat>,
    /// Flag that cancels requests of a follower, and the lease of a leader.
    shared: Option<(Arc<AtomicBool>, Lease)>,
    engine: Option<JoinHandle<()>>,
    serving: JoinHandle<std::io::Result<()>>,
    state: Arc<Shared>,
    load: Option<LoadTimer>,
}

impl Server {
    /// Reads the ledger, and serves on this listener. Messages go to the log; nothing is printed.
    ///
    /// # Errors
    /// The reason that it cannot start.
    pub async fn start(options: Options, listener: TcpListener) -> Result<Self, String> {
        Self::start_with(options, listener, None).await
    }

    /// Starts with a second address that serves only `/healthz`, `/readyz`, `/metrics` and `/v1/status`, and has
    /// connections of its own.
    ///
    /// # Errors
    /// The reason that it cannot start.
    pub async fn start_with(
        options: Options,
        listener: TcpListener,
        watching: Option<TcpListener>,
    ) -> Result<Self, String> {
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let tls = options.tls.clone().map(Tls::read).transpose()?;
        let limits = options.limits.clone();
        let first = operator(options.operator_file.clone(), options.operator_file_counts);
        let (end, ending) = watch::channel(false);
        let cluster = options.disk.ending().zip(options.disk.lease());
        let load_clock = options.load_clock;
        let (shared, engine) = open(options, first, FigureSchedule::Ahead, ending.clone()).await?;
        let state = shared.clone();
        let (jobs, pulse) = (shared.jobs.clone(), shared.pulse.clone());
        let (router, watched) = (router(&shared), dispatch::watching(&shared));
        let (other, also_ending) = (tls.clone(), ending.clone());
        let certificates = tls.clone();
        let (of_engine, most) = ((jobs.clone(), pulse.clone()), limits.silent_within);
        // By the threads that carry requests out: it waits for the lock of the view.
        shared.requests.spawn(alert_watch::watch_loop(shared.clone(), ending.clone()));
        let looks =
            liveness::watch_loop(shared.alive.clone(), of_engine, shared.requests.clone(), most, ending.clone());
        let error = |error: std::io::Error| format!("{address}: {error}");
        // Each runtime waits for its own sockets.
        let listener = listener.into_std().map_err(error)?;
        let watching = watching.map(TcpListener::into_std).transpose().map_err(error)?;
        let (health, requests) = (HealthListener(shared.clone()), shared.requests.clone());
        let health = Some(health).filter(|_| tls.is_none());
        let serving = serve_health(async move {
            let few = ServerLimits { connections: WATCHING, connections_of_address: WATCHING, ..limits.clone() };
            let watched = async {
                match watching {
                    // All by this thread: few connections, of which no request takes long here.
                    Some(listener) => {
                        let by = ServingThreads { health: None, runtime: Handle::current() };
                        listen::serve(listener, other, watched, by, &few, also_ending).await
                    }
                    None => Ok(()),
                }
            };
            let by = ServingThreads { health, runtime: requests };
            let served = tokio::join!(listen::serve(listener, tls, router, by, &limits, ending), watched, looks);
            served.0.and(served.1)
        })?;
        let load = match load_clock {
            LoadClock::Wall => Some(LoadTimer::start(state.clone()).map_err(error)?),
            LoadClock::Caller(_) => {
                state.load.open();
                None
            }
        };
        let (shared, engine) = (cluster, Some(engine));
        Ok(Self { address, tls: certificates, end, jobs, pulse, shared, engine, serving, state, load })
    }

    /// Records the measured load as of a time, as the server itself does every ten seconds of [`LoadClock::Wall`].
    /// Only with [`LoadClock::Caller`].
    pub fn record_load(&self, now: WallTime) {
        self.set_load_time(now);
        self.state.record_load(now);
    }

    /// Sets the time at which reports arrive from now on. Only with [`LoadClock::Caller`].
    pub fn set_load_time(&self, now: WallTime) {
        self.state.load.set_time(now);
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reads the certificates again. Open connections keep theirs; their clients' certificates are verified with the
    /// new files.
    ///
    /// # Errors
    /// The reason that the files cannot be used; the previous content stays in use.
    pub fn reload(&self) -> Result<(), String> {
        self.tls.as_ref().map_or(Ok(()), Tls::reload)
    }

    /// Returns the number of iterations of the engine's loop; the loop makes another one soon after this call,
    /// independently of its load.
    pub(crate) fn count_progress(&self) -> u64 {
        self.jobs.send(Message::Progress);
        self.pulse.count_progress()
    }

    /// Stops accepting connections, completes accepted requests, compacts the ledger, and ends.
    ///
    /// # Errors
    /// If one of these steps has failed.
    pub async fn end(mut self) -> Result<(), String> {
        let _ = self.end.send(true);
        // Open requests are answered from the known state; a leader has still to write their changes, and may need
        // etcd for that.
        if let Some((ending, _)) = self.shared.as_ref().filter(|(_, lease)| !lease.is_good(boottime())) {
            ending.store(true, Ordering::Relaxed);
        }
        let (serving, jobs, engine) = (self.serving, self.jobs, self.engine.take());
        let (load, state) = (self.load, self.state);
        let joined = tokio::task::spawn_blocking(move || {
            let failed = "the acceptor thread has failed";
            let served = serving.join().map_err(|_| failed.to_owned());
            let served = served.and_then(|served| served.map_err(|error| format!("{failed}: {error}")));
            // After the last connection, so that every job that was taken is before this in the queue.
            jobs.end();
            engine.map_or(Ok(()), |engine| engine.join().map_err(|_| "the engine has failed".to_owned()))?;
            load.map_or(Ok(()), LoadTimer::end)?;
            state.record_chunks(true);
            served
        });
        joined.await.map_err(|error| error.to_string())?
    }
}

/// Runs this on a thread of its own, which accepts connections and answers `/healthz`.
fn serve_health(
    serve: impl Future<Output = std::io::Result<()>> + Send + 'static,
) -> Result<JoinHandle<std::io::Result<()>>, String> {
    let failed = |error: std::io::Error| format!("cannot start the acceptor thread: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    std::thread::Builder::new().name("door".to_owned()).spawn(move || runtime.block_on(serve)).map_err(failed)
}

/// Reads the ledger, and begins to work on it.
pub(crate) async fn open(
    options: Options,
    first: First,
    looks: FigureSchedule,
    ending: watch::Receiver<bool>,
) -> Result<(Arc<Shared>, JoinHandle<()>), String> {
    let cluster = options.disk.metrics();
    let (view, metrics) = (Arc::new(View::new()), Metrics::new(cluster.as_deref(), options.limits.metric_series));
    metrics.expect_agents(&options.setup);
    let (jobs, pulse) = (Arc::new(Queue::default()), Arc::new(EngineHeartbeat::default()));
    let (ledger, lease) = (options.disk.name(), options.disk.lease());
    let refusals = PendingEntries::default();
    let load = Arc::new(Load::new(options.load_file));
    if let LoadClock::Caller(Some(start)) = options.load_clock {
        load.set_time(start);
    }
    let agents_secret = Secret::new().map_err(|error| format!("cannot create a secret for agents: {error}"))?;
    let engine = Engine {
        setup: options.setup.clone(),
        disk: options.disk,
        view: view.clone(),
        metrics: metrics.clone(),
        jobs: jobs.clone(),
        pulse: pulse.clone(),
        first,
        looks,
        refusals: refusals.clone(),
        history_bytes: options.limits.history_bytes,
        load: load.clone(),
    };
    let (opened, is_open) = oneshot::channel();
    let engine = std::thread::Builder::new().name("engine".to_owned()).spawn(move || engine.run(opened));
    let engine = engine.map_err(|error| format!("cannot start the engine thread: {error}"))?;
    is_open.await.map_err(|_| "the engine has stopped".to_owned())??;
    let no_thread = |error| format!("cannot start the reader threads: {error}");
    let shared = Arc::new(Shared {
        name: options.name,
        document: options.document,
        ledger,
        lease,
        cluster,
        scheme: options.scheme,
        view,
        metrics,
        jobs,
        refusals,
        pulse,
        open_bytes: Arc::default(),
        checks: Arc::default(),
        counted: Arc::default(),
        alerts: AlertState::default(),
        load,
        agents_secret,
        requests: Handle::current(),
        alive: Arc::default(),
        reads: Reads::start("reads", readers()).map_err(no_thread)?,
        questions: Reads::start("questions", QUESTIONS).map_err(no_thread)?,
        layers: Layers::of(&options.setup.network),
        watching_operators: Arc::default(),
        watchers: Arc::default(),
        waiting_agents: Arc::default(),
        limits: options.limits,
        ending,
        openapi: openapi::document().into(),
        setup: options.setup,
    });
    Ok((shared, engine))
}

/// Threads that read for all accounts: the engine finds a processor beside them.
fn readers() -> usize {
    std::thread::available_parallelism().map_or(1, |all| all.get() - 1).max(1)
}

/// Makes sure that the controller has an operator.
fn operator(file: PathBuf, counts: bool) -> First {
    Box::new(move |controller, now| {
        let in_file = |error: std::io::Error| format!("{}: {error}", file.display());
        let has_operator = controller.tokens().any(|token| token.role == Principal::Operator);
        let known = if counts || !has_operator { Secret::read(&file).map_err(in_file)? } else { None };
        let secret = match known {
            Some(secret) => secret,
            None if has_operator => return Ok(None),
            None => {
                let random = |_| "no random numbers from the operating system".to_owned();
                let secret = Secret::new().map_err(random)?;
                // Before the ledger: a secret without use does less harm than a ledger without an operator.
                secret.write(&file).map_err(in_file)?;
                tracing::info!(file = %file.display(), "wrote the first operator's token");
                secret
            }
        };
        let hash = secret.hash_text();
        if controller.tokens().any(|token| token.hash == hash && token.role == Principal::Operator) {
            return Ok(None);
        }
        if controller.is_revoked(&hash) {
            tracing::warn!(file = %file.display(), "the token in this file was revoked and is no longer valid");
            return Ok(None);
        }
        let id = token_name().map_err(|_| "no random numbers from the operating system".to_owned())?;
        let label = "first operator".to_owned();
        let put = Command::PutToken {
            id: id.clone(),
            hash,
            role: Principal::Operator,
            label,
            expires: None,
            certificate: None,
        };
        controller.handle(now, put).map(|_| Some(id)).map_err(|fault| format!("{fault:?}"))
    })
}
