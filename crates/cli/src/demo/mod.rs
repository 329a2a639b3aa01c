//! One list of requests, offered to Wayleave and to Silo side by side; text, a picture and a page.
//!
//! The setting is that of Chameleon's evaluation (CoNEXT 2020, section 5.1) in the default model: a k = 4 fat tree,
//! the flow types of Table 1, the mixes of Table 2. A contender is a set of options of `wayleave plan`, so all
//! results can be reproduced with the other commands. `trial` offers the list, `survey` inspects the resulting
//! reservations, `verification` tests them packet by packet, and `report` generates text and pictures.

mod fabric;
mod replay;
mod survey;
#[cfg(test)]
mod tests;
mod trial;
mod verification;

use std::path::Path;

use wayleave_contracts::{LatencyContract, RequestMix};

use trial::{DemoScheme, Trial};
use wayleave::Error;
use wayleave::Network;
use wayleave::{Progress, ProgressStep};
use wayleave_report::findings::{Contender, DecisionRow, Findings, ReportSetting};
use wayleave_report::page::TenantReport;
use wayleave_report::svg::{self, FigureBackground};
use wayleave_report::{network_figure, page, terminal};

pub(crate) use fabric::{FabricDemo, FourTenants, fabric_demo, four_tenants};
pub(crate) use replay::{Replay, simulate};
pub(crate) use trial::USUAL_LIMIT;
pub(crate) use wayleave_report::terminal::Paint;

/// 16 hosts and eight queues a port, as in Chameleon, section 5.1.
pub(crate) const TOPOLOGY: &str = "fat-tree:k=4,queues=8";
/// Number of decisions on the page.
const DECISIONS: usize = 30;

/// Options of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DemoOptions {
    /// The mix of the requests: Table 2 of Chameleon, 1 to 8.
    pub(crate) scenario: u8,
    /// The same seed gives the same requests.
    pub(crate) seed: u64,
    /// Number of requests.
    pub(crate) count: u32,
    /// Maximum number of admitted flows that Wayleave tries to move to make room for a request.
    pub(crate) reroute: u32,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self { scenario: 8, seed: 1, count: 2500, reroute: USUAL_LIMIT }
    }
}

/// Result of the demo.
pub(crate) struct Demo {
    findings: Findings,
    /// Shown first on the page.
    tenants: Option<TenantReport>,
}

/// Offers the list to every contender, derives every bound again, and verifies the first contender's promises.
///
/// # Errors
/// If there is no such scenario; other errors would be mistakes here.
pub(crate) fn demo(options: &DemoOptions, progress: &mut dyn Progress) -> Result<Demo, Error> {
    if !(1..=8).contains(&options.scenario) {
        return Err(Error::Usage(format!("no scenario {}: expected 1 to 8", options.scenario)));
    }
    let named = Network::build(TOPOLOGY)?;
    let network = &*named.graph;
    let entrants = DemoScheme::all(options.reroute)?;
    let requests: Vec<LatencyContract> =
        RequestMix::new(network, usize::from(options.scenario), options.seed).take(options.count as usize).collect();
    let (mut done, total) = (0, (entrants.len() * requests.len()) as u64);
    let trials = entrants.into_iter().map(|entrant| {
        Trial::run(entrant, &named, &requests, || {
            done += 1;
            progress.step(ProgressStep::Items { done, total });
        })
    });
    let trials = trials.collect::<Result<Vec<_>, _>>()?;
    let nodes = survey::nodes(network)?;
    let links = survey::links(network, &nodes)?;
    let contenders: Vec<Contender> = trials.iter().map(Trial::contender).collect();
    let proof = trials.first().and_then(|trial| survey::proof(&trial.session, &requests, &trial.flows, &nodes));
    let decisions = decisions(&requests, &contenders, &trials);
    let setting = setting(options, requests.len(), &trials);
    let verified = trials.first().map(|trial| verification::run(&trial.session)).transpose()?.unwrap_or_default();
    let findings = Findings { setting, nodes, links, contenders, decisions, proof, verified };
    Ok(Demo { findings, tenants: None })
}

impl Demo {
    /// The same with tenants on its page.
    pub(crate) fn with_tenants(self, tenants: TenantReport) -> Self {
        Self { tenants: Some(tenants), ..self }
    }

    /// The page: HTML with everything in it.
    pub(crate) fn page(&self) -> String {
        page::render(&self.findings, self.tenants.as_ref())
    }

    /// Returns the picture of the reservations, as an SVG file.
    pub(crate) fn picture(&self) -> String {
        svg::file(&network_figure::draw(&self.findings, FigureBackground::File))
    }

    /// Text of at most 100 columns; `report` and `picture` are where these files are.
    pub(crate) fn text(&self, report: &str, picture: &str, paint: Paint) -> String {
        terminal::render(&self.findings, report, picture, paint)
    }

    /// Returns `true` if no broken bound was found.
    pub(crate) fn is_sound(&self) -> bool {
        self.findings.violations().next().is_none()
    }

    /// Writes the page and the picture into a folder, and returns their paths.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write(&self, folder: &Path) -> Result<[String; 2], Error> {
        Ok([write(folder, "report.html", &self.page())?, write(folder, "reservations.svg", &self.picture())?])
    }
}

/// Writes a file and returns its path.
fn write(directory: &Path, name: &str, text: &str) -> Result<String, Error> {
    let path = directory.join(name);
    let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| Error::Internal(format!("{} could not be written: {error}", path.display())))?;
    Ok(path.display().to_string())
}

fn setting(options: &DemoOptions, requests: usize, trials: &[Trial]) -> ReportSetting {
    let &DemoOptions { scenario, seed, count, reroute } = options;
    let parameters = trials.first().map_or_else(Vec::new, |trial| survey::parameters(&trial.session, reroute));
    ReportSetting {
        version: env!("CARGO_PKG_VERSION"),
        command: format!("wayleave demo --scenario {scenario} --seed {seed} --count {count} --reroute {reroute}"),
        topology: TOPOLOGY.to_owned(),
        scenario,
        seed,
        requests,
        parameters,
    }
}

/// The first requests, then those that were a contender's first refusal.
fn decisions(requests: &[LatencyContract], contenders: &[Contender], trials: &[Trial]) -> Vec<DecisionRow> {
    let refused = contenders.iter().filter_map(|contender| contender.first_refusal.as_ref());
    let mut shown: Vec<usize> = (0..requests.len().min(DECISIONS)).collect();
    let mut others: Vec<usize> = refused.map(|refusal| refusal.ask.number - 1).collect();
    others.sort_unstable();
    shown.extend(others.into_iter().filter(|&index| index >= DECISIONS));
    shown.dedup();
    let row = |index: usize| {
        let answers = trials.iter().filter_map(|trial| trial.answers.get(index).cloned()).collect();
        let network = trials.first().map(|trial| trial.session.network())?;
        Some(DecisionRow { ask: survey::ask(network, index, &requests[index]), answers })
    };
    shown.into_iter().filter_map(row).collect()
}
