//! The subject of an analysis: an output-port network.

use wayleave_calculus::Rational;
use wayleave_calculus::network::{Options, PortNetwork};
use wayleave_explain::sentences;
use wayleave_formats::{Remark, Source, read_port_network};

use crate::error::Error;

/// Separator between the name of a contract and the number of its route, from the second route on.
pub(super) const ROUTE: &str = " (route ";

/// Delays of an admitted contract beside the analysed ones, in ns.
pub(super) struct AddedDelays {
    /// The budgets of its queues: what admission counts with.
    pub(super) budgets: Rational,
    /// Propagation and constant processing: the same for every analysis.
    pub(super) constants: Rational,
}

/// An output-port network, with assumptions about its servers.
pub struct AnalysisSubject {
    pub(super) name: String,
    pub(super) network: PortNetwork,
    pub(super) options: Options,
    /// Of admitted contracts, by flow; `None` for a file.
    pub(super) extras: Option<Vec<AddedDelays>>,
    pub(super) remarks: Vec<Remark>,
}

impl AnalysisSubject {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns servers with service curves, and flows with arrival curves and paths.
    pub fn network(&self) -> &PortNetwork {
        &self.network
    }

    /// Returns the assumptions about servers.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the assumptions about servers, to change them.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    /// Returns a remark for each key of the file that is not used.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// An output-port network in Saihu's JSON, or a physical one in its XML.
    ///
    /// # Errors
    /// If something is wrong with the text, or there are no flows in it. `file` begins the message about the latter.
    pub fn parse(source: &Source, file: &str) -> Result<Self, Error> {
        let read = read_port_network(source)?;
        if read.network.flows().is_empty() {
            return Err(Error::Located(format!("{file}: no flows in the file: nothing to analyse")));
        }
        Ok(Self { name: read.name, network: read.network, options: read.options, extras: None, remarks: read.remarks })
    }

    /// The flows of these names, or all of them if none is named; a protected contract has one for each route.
    ///
    /// # Errors
    /// If there is no flow of a name; the nearest one is in the message.
    pub fn flows(&self, names: &[String]) -> Result<Vec<usize>, Error> {
        let flows = self.network.flows();
        if names.is_empty() {
            return Ok((0..flows.len()).collect());
        }
        let is_named = |flow: &str, name: &str| {
            flow.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(ROUTE))
        };
        let mut chosen = Vec::new();
        for name in names {
            let before = chosen.len();
            chosen.extend((0..flows.len()).filter(|&flow| is_named(&flows[flow].name, name)));
            if chosen.len() == before {
                let near = sentences::nearest(name, flows.iter().map(|flow| flow.name.as_str()));
                let near = near.map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
                let count = wayleave_explain::human::count(flows.len(), "flow");
                let message = format!("there is no flow \"{name}\" among the {count} that are analysed{near}");
                return Err(Error::Usage(message));
            }
        }
        Ok(chosen)
    }
}
