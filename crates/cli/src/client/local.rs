//! A ledger file, or memory that is forgotten, behind the routes of the server in this process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::http;
use wayleave_client::{ClientRequest, ClientResponse, Error, OnEvent, Wire};
use wayleave_controller::{ControllerConfig, EnforcedBy, RecordChange, Timeouts};
use wayleave_formats::write_topology;
use wayleave_server::disk::{Disk, File, Memory};
use wayleave_server::{LoadClock, Options, ServerLimits};

use crate::failure::Failure;
use crate::session::SessionArgs;
use crate::setup::{Prepared, prepare, setup};

/// A controller of this process.
pub(crate) struct Local {
    controller: wayleave_server::Local,
    place: String,
}

impl Local {
    /// Of a ledger file; without one, of memory that is forgotten.
    pub(crate) fn open(ledger: Option<&Path>, session: &SessionArgs) -> Result<Self, Failure> {
        let disk: Box<dyn Disk> = match ledger {
            Some(path) => Box::new(File(path.to_owned())),
            None => Box::new(Memory::default()),
        };
        // There are no other clients, so no limit is needed.
        let limits = ServerLimits {
            list_bytes: 1 << 30,
            body_bytes: 1 << 30,
            requests_per_second: 1e9,
            ..ServerLimits::default()
        };
        let place = disk.name();
        let options = options(disk, session, limits)?;
        let controller = wayleave_server::Local::open(options).map_err(Failure::Internal)?;
        Ok(Self { controller, place })
    }
}

/// Returns the options of a controller on a disk, without agents to notify.
pub(crate) fn options(disk: Box<dyn Disk>, session: &SessionArgs, limits: ServerLimits) -> Result<Options, Failure> {
    let Prepared { setup, name, .. } = prepare(session, EnforcedBy::Nobody, Timeouts::default())?;
    Ok(Options {
        document: write_topology(&setup.network, &name),
        scheme: setup.scheme.for_new_ledger().name().to_owned(),
        setup,
        name,
        disk,
        operator_file: PathBuf::new(),
        operator_file_counts: false,
        limits,
        tls: None,
        load_file: None,
        load_clock: LoadClock::Caller(None),
    })
}

impl Wire for Local {
    fn ask(&self, ask: &ClientRequest) -> Result<ClientResponse, Error> {
        let mut request =
            http::Request::builder().method(ask.method.name()).uri(&ask.path).header("accept", ask.accept);
        if let Some(body) = &ask.body {
            request = request.header("content-type", body.media);
        }
        let body = ask.body.as_ref().map(|body| body.text.clone().into_bytes()).unwrap_or_default();
        let request = request.body(body);
        let request = request.map_err(|error| Error::Failed(format!("{} is not a valid path: {error}", ask.path)))?;
        let response = self.controller.ask(request);
        let seconds = |value: &http::HeaderValue| value.to_str().ok()?.parse().ok().map(Duration::from_secs);
        let retry_after = response.headers().get("retry-after").and_then(seconds);
        Ok(ClientResponse { status: response.status().as_u16(), body: response.into_body().to_vec(), retry_after })
    }

    fn watch(&self, _after: Option<u64>, _on_event: &mut OnEvent<'_>) -> Result<(), Error> {
        Err(Error::Usage("a ledger file that is not being served has no event stream".to_owned()))
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn is_local(&self) -> bool {
        true
    }
}

/// A controller that is made of records for each question, and forgotten.
pub(crate) struct Planned {
    setup: ControllerConfig,
    records: Vec<RecordChange>,
}

impl Planned {
    /// Of these records.
    pub(crate) fn new(session: &SessionArgs, records: Vec<RecordChange>) -> Result<Self, Failure> {
        Ok(Self { setup: setup(session, EnforcedBy::Nobody, Timeouts::default())?, records })
    }
}

impl Wire for Planned {
    fn ask(&self, ask: &ClientRequest) -> Result<ClientResponse, Error> {
        if ask.path != "/v1/what-if" {
            return Err(Error::Usage(format!("a plan supports what-if, but not {}", ask.path)));
        }
        let question = ask.body.as_ref().map_or("", |body| &body.text);
        let (status, body) = wayleave_server::what_if(&self.setup, &self.records, question);
        Ok(ClientResponse { status, body, retry_after: None })
    }

    fn watch(&self, _after: Option<u64>, _on_event: &mut OnEvent<'_>) -> Result<(), Error> {
        Err(Error::Usage("a plan has no event stream".to_owned()))
    }

    fn place(&self) -> String {
        "the plan".to_owned()
    }

    fn is_local(&self) -> bool {
        true
    }
}
