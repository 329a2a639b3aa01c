//! A controller in this process, without sockets.
//!
//! A process that can open a ledger file can change it at will, so requests here are an operator's, and no token is
//! needed. The routes, the engine and the answers are those of the server.

use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use tower::ServiceExt;
use wayleave_controller::{EnforcedBy, Principal, RecordKind};
use wayleave_topology::{Network, NodeKind};

use crate::disk::{Disk, Opened};
use crate::engine::FigureSchedule;
use crate::http::dispatch::{InternalRequest, router};
use crate::queue::Message;
use crate::read_view::Holder;
use crate::server::{Options, open};
use crate::state::Shared;

/// A controller of this process, until it is dropped.
pub struct Local {
    runtime: Runtime,
    router: Router,
    shared: Arc<Shared>,
    insider: InternalRequest,
    engine: Option<JoinHandle<()>>,
    /// Kept, since the server ends with it.
    _ending: watch::Sender<bool>,
}

impl Local {
    /// Opens the ledger. The settings of operators and TLS in `options` are ignored. The ledger determines if
    /// confirmations are waited for: from nodes whose agents have once begun a session.
    ///
    /// # Errors
    /// If it cannot be read, or another process has it open.
    pub fn open(mut options: Options) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start the runtime: {error}"))?;
        let opened = options.disk.open().map_err(|error| error.to_string())?;
        // In this process no other client waits.
        options.limits.together = usize::MAX;
        options.setup.enforced_by = enforced_by(&options.setup.network, &opened);
        options.disk = Box::new(Ready { opened: Some(opened), disk: options.disk });
        let (end, ending) = watch::channel(false);
        let (shared, engine) =
            runtime.block_on(open(options, Box::new(|_, _| Ok(None)), FigureSchedule::WhenAsked, ending))?;
        let insider = InternalRequest(Arc::new(Holder::insider(Principal::Operator)));
        let router = router(&shared);
        Ok(Self { runtime, router, shared, insider, engine: Some(engine), _ending: end })
    }

    /// Asks as an operator.
    pub fn ask(&self, request: http::Request<Vec<u8>>) -> http::Response<Bytes> {
        let path = request.uri().path();
        let shows_figures = ["/v1/links", "/v1/queues"].iter().any(|list| path.starts_with(list));
        let mut request = request.map(Body::from);
        request.extensions_mut().insert(self.insider.clone());
        self.runtime.block_on(async {
            if shows_figures {
                self.settle().await;
            }
            let response = match self.router.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            let (parts, body) = response.into_parts();
            // The body is in memory already.
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            http::Response::from_parts(parts, body)
        })
    }

    /// Lets the engine compute all links first: in this process no other request waits.
    async fn settle(&self) {
        let (done, looked) = oneshot::channel();
        self.shared.jobs.send(Message::Look(done));
        let _ = looked.await;
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.shared.jobs.end();
        if let Some(engine) = self.engine.take() {
            // Every answered change is on disk, independently of the state of the thread.
            let _ = engine.join();
        }
    }
}

/// Returns the nodes with agents: agents that once had a session may still enforce their rules.
fn enforced_by(network: &Network, opened: &Opened) -> EnforcedBy {
    let nodes = opened.records.iter().filter(|record| RecordKind::of(&record.kind) == Some(RecordKind::Node));
    let kinds = nodes.filter_map(|record| Some(network.node(network.find_node(&record.key)?).kind));
    kinds.fold(EnforcedBy::Nobody, |known, kind| match (known, kind) {
        (EnforcedBy::HostsAndSwitches, _) | (_, NodeKind::Switch) => EnforcedBy::HostsAndSwitches,
        (_, NodeKind::Host) => EnforcedBy::Hosts,
    })
}

/// A disk that was opened already.
struct Ready {
    opened: Option<Opened>,
    disk: Box<dyn Disk>,
}

impl Disk for Ready {
    fn open(&mut self) -> Result<Opened, wayleave_store::StoreError> {
        self.opened.take().map_or_else(|| self.disk.open(), Ok)
    }

    fn name(&self) -> String {
        self.disk.name()
    }
}
