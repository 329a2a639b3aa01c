//! Common result of reading both formats.

use std::collections::HashMap;

use wayleave_calculus::network::{CurveServer, Options, PortNetwork, ServerFlow, ServerNetworkError};

use crate::graph::Remark;
use crate::location::Span;
use crate::problem::{ProblemKind, Problems};

/// A network, and the analysis options of its file.
#[derive(Clone, Debug)]
pub struct PortNetworkFile {
    /// `network.name`, or the name of the file.
    pub name: String,
    /// Servers and flows.
    pub network: PortNetwork,
    /// `packetizer` and `multiplexing`; shaping is on unless `analysis_option` is given without `IS`.
    pub options: Options,
    /// Keys of the file that are not used.
    pub remarks: Vec<Remark>,
}

/// Servers and flows with their places.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) servers: Vec<(CurveServer, Span)>,
    pub(super) index: HashMap<String, usize>,
    pub(super) flows: Vec<(ServerFlow, Span)>,
}

impl Parts {
    /// A server, and its place.
    pub(super) fn add_server(&mut self, server: CurveServer, at: Span) -> usize {
        self.servers.push((server, at));
        self.servers.len() - 1
    }

    pub(super) fn add_flow(&mut self, flow: ServerFlow, at: Span) {
        self.flows.push((flow, at));
    }

    /// Builds the network; a problem of several parts together is reported at one of them.
    pub(super) fn build(self, problems: &mut Problems<'_>) -> Option<PortNetwork> {
        let servers = self.servers.iter().map(|(server, _)| server.clone()).collect();
        let flows = self.flows.iter().map(|(flow, _)| flow.clone()).collect();
        let error = match PortNetwork::new(servers, flows) {
            Ok(network) => return Some(network),
            Err(error) => error,
        };
        let of_server = |name: &String| self.servers.iter().rfind(|(server, _)| server.name == *name).map(|of| of.1);
        let of_flow = |name: &String| self.flows.iter().rfind(|(flow, _)| flow.name == *name).map(|of| of.1);
        let span = match &error {
            ServerNetworkError::DuplicateServer { server } | ServerNetworkError::NoService { server } => {
                of_server(server)
            }
            ServerNetworkError::DuplicateFlow { flow }
            | ServerNetworkError::NoPath { flow }
            | ServerNetworkError::EmptyPath { flow, .. }
            | ServerNetworkError::UnknownServer { flow, .. }
            | ServerNetworkError::RepeatedServer { flow, .. }
            | ServerNetworkError::RepeatedPath { flow, .. }
            | ServerNetworkError::NoTree { flow, .. } => of_flow(flow),
        };
        problems.report(ProblemKind::Impossible, span.unwrap_or_default(), || error.to_string());
        None
    }
}
