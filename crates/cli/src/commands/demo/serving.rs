//! `demo --serve`: a controller with the contracts of the demo, until Ctrl-C.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::client::specs::Document;
use clap::Parser;
use wayleave_client::Method;
use wayleave_contracts::{LatencyContract, RequestMix};
use wayleave_formats::{Source, parse_builder, write_contracts};
use wayleave_protocol::decision::{ApplyReport, Outcome};
use wayleave_server::LogFormat;
use wayleave_server::disk::File;

use crate::client::Service;
use crate::client::local::{Local, options};
use crate::demo::{DemoOptions, TOPOLOGY};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::SessionArgs;

/// The options of a session, read as they would be from the command line.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Options {
    #[command(flatten)]
    session: SessionArgs,
}

/// Fills a ledger and serves it; without a file, a temporary one is used.
pub(super) fn run(demo: &DemoOptions, ledger: Option<&Path>) -> Result<Exit, Failure> {
    let temporary = Temporary::new()?;
    let ledger = ledger.map_or_else(|| temporary.0.join("demo.db"), Path::to_owned);
    let session = Options::parse_from(["-t", TOPOLOGY]).session;
    let report = fill(demo, &ledger, &session)?;
    let admitted = report.items.iter().find(|item| item.outcome != Outcome::Refused);
    let example = admitted.map_or("NAME", |item| item.id.as_str());
    let mut token = ledger.clone().into_os_string();
    token.push("-operator");
    let token = PathBuf::from(token);
    let options = wayleave_server::Options {
        operator_file: token.clone(),
        load_clock: wayleave_server::LoadClock::Wall,
        ..options(Box::new(File(ledger)), &session, wayleave_server::ServerLimits::default())?
    };
    wayleave_server::log(LogFormat::Text, "warn").map_err(Failure::Internal)?;
    let ready = |address: SocketAddr| {
        crate::output::tell!(
            "demo controller: http://{address} ({} of {} contracts; Ctrl-C stops it)\n\
             dashboard (with an operator token after the #, which browsers do not send):\n  \
             http://{address}/ui/{}\n\
             try in another terminal:\n  \
             export WAYLEAVE_SERVER=http://{address} WAYLEAVE_TOKEN_FILE={}\n  \
             wayleave status\n  wayleave explain {example}\n  wayleave what-if --fail pod1-agg1",
            report.done,
            report.items.len(),
            fragment(&token),
            token.display()
        );
    };
    wayleave_server::run(options, (Ipv4Addr::LOCALHOST, 0).into(), None, ready).map_err(Failure::Internal)?;
    Ok(Exit::Fine)
}

/// Returns the URL fragment with the dashboard's token; empty if it cannot be read, as behind a ledger that has other
/// operators.
fn fragment(token: &Path) -> String {
    let secret = std::fs::read_to_string(token).unwrap_or_default();
    let secret = secret.trim();
    if secret.is_empty() { String::new() } else { format!("#token={secret}") }
}

/// Applies the requests; those that a ledger has already stay as they are.
fn fill(demo: &DemoOptions, ledger: &Path, session: &SessionArgs) -> Result<ApplyReport, Failure> {
    let network = parse_builder(TOPOLOGY)?.network;
    let mix = RequestMix::new(&network, usize::from(demo.scenario), demo.seed);
    let requests: Vec<LatencyContract> = mix.take(demo.count as usize).collect();
    let document = Document::of(&Source::new("demo", write_contracts(&requests, &network, "demo")))?;
    let service = Service::new(Box::new(Local::open(Some(ledger), session)?), None);
    let (_, report) =
        service.send_text(Method::Post, "/v1/apply", document.text()).map_err(|error| document.locate(error))?;
    Ok(report)
}

/// A directory that is removed in the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("wayleave-demo-{}", std::process::id()));
        let made = std::fs::create_dir(&path);
        made.map_err(|error| Failure::Internal(format!("cannot create {}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Remaining files are left to the system's cleanup.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
