//! A server as a whole: from its options to its end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio_rustls::TlsAcceptor;
use wayleave_controller::{Command, Role, Setup};

use crate::answer::Answer;
use crate::disk::Disk;
use crate::engine::{Engine, First, Job, Looks, Message};
use crate::http::dispatch::router;
use crate::http::{listen, openapi};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::secret::{Secret, token_name};
use crate::shared::Shared;
use crate::view::View;

/// How many jobs may wait for the engine; who comes then is told to come again.
const WAITING: usize = 4096;
/// How many questions (what-if, dry runs) are asked at once: each has a controller of its own.
const QUESTIONS: usize = 2;

/// How a server is set up.
pub struct Options {
    /// What it decides with.
    pub setup: Setup,
    /// What the topology is called.
    pub name: String,
    /// The document that describes it.
    pub document: String,
    /// What the scheme is called.
    pub scheme: String,
    /// Where its records are.
    pub disk: Box<dyn Disk>,
    /// The file with the secret of an operator: read if it is there; else one is made if there is no operator.
    pub operator_file: PathBuf,
    /// Whether the secret in that file is an operator's, also if there are other operators: somebody has named the file.
    pub operator_file_counts: bool,
    /// What is accepted at most.
    pub limits: Limits,
    /// Certificate chain and key, both PEM files.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    end: watch::Sender<bool>,
    jobs: std::sync::mpsc::SyncSender<Message>,
    engine: Option<JoinHandle<()>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Reads the ledger, and serves on this listener. The log says what it does; nothing is printed.
    ///
    /// # Errors
    /// A message that says why it cannot begin.
    pub async fn start(options: Options, listener: TcpListener) -> Result<Self, String> {
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let tls = tls(options.tls.as_ref())?;
        let limits = options.limits.clone();
        let first = operator(options.operator_file.clone(), options.operator_file_counts);
        let (end, ending) = watch::channel(false);
        let (shared, engine) = open(options, first, Looks::Ahead, ending.clone()).await?;
        let jobs = shared.jobs.clone();
        let router = router(&shared);
        let serving = tokio::spawn(async move { listen::serve(listener, tls, router, &limits, ending).await });
        Ok(Self { address, end, jobs, engine: Some(engine), serving })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the engine still does what it is asked, if only to say that it cannot write.
    pub(crate) async fn is_alive(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let job = Job { work: Box::new(|_| Ok(Answer::nothing())), repeat: None, reply };
        // A full queue is no sign of life, and none of death: the next beat tells.
        self.jobs.try_send(Message::Job(job)).is_ok() && answer.await.is_ok()
    }

    /// Accepts nothing more, finishes what was taken, puts the ledger in order, and ends.
    ///
    /// # Errors
    /// If a part of it has failed.
    pub async fn end(mut self) -> Result<(), String> {
        let _ = self.end.send(true);
        let served = self.serving.await.map_err(|error| error.to_string());
        // After the last connection, so that every job that was taken is before this in the queue.
        let (jobs, engine) = (self.jobs, self.engine.take());
        let joined = tokio::task::spawn_blocking(move || {
            let _ = jobs.send(Message::End);
            engine.map_or(Ok(()), |engine| engine.join().map_err(|_| "the engine has failed".to_owned()))
        });
        joined.await.map_err(|error| error.to_string())??;
        served
    }
}

fn tls(files: Option<&(PathBuf, PathBuf)>) -> Result<Option<TlsAcceptor>, String> {
    files.map(|(certificates, key)| crate::http::tls::acceptor(certificates, key)).transpose()
}

/// Reads the ledger, and begins to work on it.
pub(crate) async fn open(
    options: Options,
    first: First,
    looks: Looks,
    ending: watch::Receiver<bool>,
) -> Result<(Arc<Shared>, JoinHandle<()>), String> {
    let (view, metrics) = (Arc::new(View::new()), Metrics::new());
    let (jobs, waiting) = sync_channel(WAITING);
    let ledger = options.disk.name();
    let engine = Engine {
        setup: options.setup.clone(),
        disk: options.disk,
        view: view.clone(),
        metrics: metrics.clone(),
        jobs: waiting,
        first,
        looks,
    };
    let (opened, is_open) = oneshot::channel();
    let engine = std::thread::Builder::new().name("engine".to_owned()).spawn(move || engine.run(opened));
    let engine = engine.map_err(|error| format!("the engine's thread cannot be started: {error}"))?;
    is_open.await.map_err(|_| "the engine has ended".to_owned())??;
    let shared = Arc::new(Shared {
        setup: options.setup,
        name: options.name,
        document: options.document,
        ledger,
        scheme: options.scheme,
        view,
        metrics,
        jobs,
        counted: Arc::default(),
        questions: Semaphore::new(QUESTIONS),
        watchers: Semaphore::new(options.limits.watchers),
        limits: options.limits,
        ending,
        openapi: openapi::document().into(),
    });
    Ok((shared, engine))
}

/// Sees to it that somebody can use the controller.
fn operator(file: PathBuf, counts: bool) -> First {
    Box::new(move |controller, now| {
        let in_file = |error: std::io::Error| format!("{}: {error}", file.display());
        let has_operator = controller.tokens().any(|token| token.role == Role::Operator);
        let known = if counts || !has_operator { Secret::read(&file).map_err(in_file)? } else { None };
        let secret = match known {
            Some(secret) => secret,
            None if has_operator => return Ok(()),
            None => {
                let random = |_| "the system gives no random numbers".to_owned();
                let secret = Secret::new().map_err(random)?;
                // Before the ledger: a secret without use does less harm than a ledger without an operator.
                secret.write(&file).map_err(in_file)?;
                tracing::info!(file = %file.display(), "the secret of the first operator was written");
                secret
            }
        };
        let hash = secret.hash_text();
        if controller.tokens().any(|token| token.hash == hash && token.role == Role::Operator) {
            return Ok(());
        }
        let id = token_name().map_err(|_| "the system gives no random numbers".to_owned())?;
        let label = "first operator".to_owned();
        let put = Command::PutToken { id, hash, role: Role::Operator, label };
        controller.handle(now, put).map(|_| ()).map_err(|fault| format!("{fault:?}"))
    })
}
