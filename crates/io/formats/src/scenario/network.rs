//! The network of a scenario: a builder in one line, a file, or written here.

use std::sync::Arc;

use wayleave_topology::builders::Cabling;
use wayleave_topology::{Network, NodeId};

use super::files::Files;
use super::scalars::{exactly_one, refuse_beside};
use crate::fields::{Fields, Shape};
use crate::hpcc::read_hpcc_topology;
use crate::htsim::read_htsim_topology;
use crate::location::Span;
use crate::problem::{InputErrors, Problems};
use crate::topology::{DEFAULTS, TOPOLOGY_SPEC, parse_builder, read_cabling, read_spec, read_topology};
use crate::tree::{Node, Value};

pub(crate) const TOPOLOGY: Shape =
    Shape { what: "a topology", keys: &["file", "hpcc", "htsim", "builder", "defaults", "nodes", "links", "classes"] };

/// Endings of files; other text is a builder.
const ENDINGS: [&str; 3] = [".yaml", ".yml", ".json"];

const FILE_HINT: &str = "a file whose name does not end in .yaml, .yml or .json is written `{ file: NAME }`";

/// A network, and the meaning of node numbers in lists of flows.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    pub(super) network: Arc<Network>,
    numbering: Numbering,
}

/// Meaning of a number.
#[derive(Clone, Copy, Debug)]
enum Numbering {
    /// The node with this index: the network is one of HPCC's.
    Nodes,
    /// The host with this index among the hosts.
    Hosts,
}

impl Numbered {
    /// The nodes of the numbers 0, 1, ... in a list of flows.
    pub(super) fn numbers(&self) -> Vec<NodeId> {
        match self.numbering {
            Numbering::Nodes => self.network.nodes().map(|(id, _)| id).collect(),
            Numbering::Hosts => self.network.hosts().collect(),
        }
    }
}

/// Reads a topology.
pub(super) fn read(node: &Node<'_>, files: &mut Files<'_>, problems: &mut Problems<'_>) -> Option<Numbered> {
    let by_hosts = |network: Network| Numbered { network: Arc::new(network), numbering: Numbering::Hosts };
    if let Value::Mapping(_) = node.value {
        let fields = Fields::read(node, &TOPOLOGY, problems)?;
        let sources = ["file", "hpcc", "htsim", "builder", "nodes"];
        return match exactly_one(&fields, "a topology", &sources, problems)? {
            ("file", file) => {
                refuse_beside(&fields, &["defaults", "links", "classes"], "file", problems);
                files.read(file, problems, read_topology).map(|topology| by_hosts(topology.network))
            }
            (key @ ("hpcc" | "htsim"), file) => {
                refuse_beside(&fields, &["links", "classes"], key, problems);
                let cabling = fields.get("defaults").map_or(Some(Cabling::default()), |node| {
                    read_cabling(&Fields::read(node, &DEFAULTS, problems)?, problems)
                })?;
                let network = files.read(file, problems, |source| match key {
                    "hpcc" => read_hpcc_topology(source, &cabling),
                    _ => read_htsim_topology(source, &cabling),
                })?;
                let numbering = if key == "hpcc" { Numbering::Nodes } else { Numbering::Hosts };
                Some(Numbered { network: Arc::new(network.network), numbering })
            }
            _ => {
                let spec = Fields::read(node, &TOPOLOGY_SPEC, problems)?;
                read_spec(&spec, problems).map(by_hosts)
            }
        };
    }
    let text = node.expect_text(problems)?;
    if ENDINGS.iter().any(|ending| text.ends_with(ending)) {
        return files.read(node, problems, read_topology).map(|topology| by_hosts(topology.network));
    }
    match parse_builder(text) {
        Ok(topology) => Some(by_hosts(topology.network)),
        Err(errors) => {
            report_builder(&errors, text, node.span, problems);
            None
        }
    }
}

/// Reports errors of a builder's line at its position in the file.
fn report_builder(errors: &InputErrors, text: &str, span: Span, problems: &mut Problems<'_>) {
    // Quotation marks and escapes move characters.
    let is_plain = problems.source().text().get(span.range()) == Some(text);
    for problem in errors.problems() {
        let part = problem.location().filter(|_| is_plain).map_or(span, |place| span.part(place.bytes.clone()));
        let message = problem.message().to_owned();
        let is_file = !text.contains(':') && text.contains('.');
        let hint = if is_file { Some(FILE_HINT) } else { problem.hint() };
        match hint {
            Some(hint) => problems.report(problem.kind(), part, || (message, hint)),
            None => problems.report(problem.kind(), part, || message),
        }
    }
}
