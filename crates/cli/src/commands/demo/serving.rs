//! `demo --serve`: a controller with the four tenants of the demo and its requests, until Ctrl-C. The tenants send the
//! traffic of a simulation ([`super::live`]).

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::client::specs::Document;
use clap::Parser;
use wayleave_client::Method;
use wayleave_contracts::{Contract, LatencyContract, RequestMix};
use wayleave_controller::EnforcedBy;
use wayleave_formats::{Source, write_contracts, write_contracts_of_all_kinds, write_topology};
use wayleave_protocol::decision::{ApplyReport, Outcome};
use wayleave_protocol::tenant::{Tenant, TenantSpec};
use wayleave_server::LogFormat;
use wayleave_server::disk::File;

use crate::client::Service;
use crate::client::local::{Local, options};
use crate::demo::{DemoOptions, FourTenants, four_tenants};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::SessionArgs;

use super::live::Agents;

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
    let tenants = four_tenants()?;
    let topology = temporary.0.join("network.yaml");
    std::fs::write(&topology, write_topology(&tenants.network, "demo"))
        .map_err(|error| Failure::Internal(format!("cannot write {}: {error}", topology.display())))?;
    let topology = topology.to_string_lossy();
    let arguments = ["-t", &topology, "--scheme", "fabric"].into_iter().chain(tenants.scheme_options);
    let session = Options::parse_from(arguments).session;
    let report = fill(demo, &tenants, &ledger, &session)?;
    let admitted = report.items.iter().find(|item| item.outcome != Outcome::Refused);
    let example = admitted.map_or("NAME", |item| item.id.as_str());
    let mut token = ledger.clone().into_os_string();
    token.push("-operator");
    let token = PathBuf::from(token);
    let mut options = wayleave_server::Options {
        operator_file: token.clone(),
        load_clock: wayleave_server::LoadClock::Wall,
        ..options(Box::new(File(ledger)), &session, wayleave_server::ServerLimits::default())?
    };
    options.setup.enforced_by = EnforcedBy::Hosts;
    let hosts = tenants.network.hosts().map(|host| tenants.network.node(host).name.clone()).collect();
    let mut agents = Agents::default();
    wayleave_server::log(LogFormat::Text, "warn").map_err(Failure::Internal)?;
    let ready = |address: SocketAddr| {
        let secret = std::fs::read_to_string(&token).unwrap_or_default().trim().to_owned();
        crate::output::tell!(
            "demo controller: http://{address} (four tenants, and {} of {} contracts; Ctrl-C stops it)\n\
             dashboard (with an operator token after the #, which browsers do not send):\n  \
             http://{address}/ui/{}\n\
             try in another terminal:\n  \
             export WAYLEAVE_SERVER=http://{address} WAYLEAVE_TOKEN_FILE={}\n  \
             wayleave status\n  wayleave explain {example}\n  wayleave what-if --fail pod1-agg1",
            report.done,
            report.items.len(),
            fragment(&secret),
            token.display()
        );
        if !secret.is_empty() {
            agents.start(format!("http://{address}"), secret, hosts);
        }
    };
    let served = wayleave_server::run(options, (Ipv4Addr::LOCALHOST, 0).into(), None, ready);
    agents.stop();
    served.map_err(Failure::Internal)?;
    Ok(Exit::Fine)
}

/// Returns the URL fragment with the dashboard's token; empty if it cannot be read, as behind a ledger that has other
/// operators.
fn fragment(secret: &str) -> String {
    if secret.is_empty() { String::new() } else { format!("#token={secret}") }
}

/// Creates the tenants with their contracts, then applies the requests; what a ledger has already stays as it is.
fn fill(
    demo: &DemoOptions,
    tenants: &FourTenants,
    ledger: &Path,
    session: &SessionArgs,
) -> Result<ApplyReport, Failure> {
    let network = &tenants.network;
    let service = Service::new(Box::new(Local::open(Some(ledger), session)?), None);
    for tenant in tenants.contracts.iter().filter_map(Contract::tenant).collect::<BTreeSet<_>>() {
        let spec = TenantSpec { name: Some(tenant.to_owned()), ..TenantSpec::default() };
        let (_, _): (_, Tenant) = service.send(Method::Put, &format!("/v1/tenants/{tenant}"), &spec)?;
    }
    let own = write_contracts_of_all_kinds(&tenants.contracts, network, "tenants");
    let report = apply(&service, "tenants", own)?;
    if let Some(refused) = report.items.iter().find(|item| item.outcome == Outcome::Refused) {
        return Err(Failure::Internal(format!("the demo's own contract {} does not fit", refused.id)));
    }
    let mix = RequestMix::new(network, usize::from(demo.scenario), demo.seed);
    let requests: Vec<LatencyContract> = mix.take(demo.count as usize).collect();
    apply(&service, "demo", write_contracts(&requests, network, "demo"))
}

fn apply(service: &Service, name: &str, contracts: String) -> Result<ApplyReport, Failure> {
    let document = Document::of(&Source::new(name, contracts))?;
    let sent = service.send_text(Method::Post, "/v1/apply", document.text());
    let (_, report) = sent.map_err(|error| document.locate(error))?;
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
