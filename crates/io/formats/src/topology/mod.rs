//! Topologies: `kind: Topology` with nodes and links or with a builder, and builders in one line.

mod builder;
mod classes;
mod explicit;
mod named;
mod port;

#[cfg(test)]
pub(crate) use builder::BUILDERS;
#[cfg(test)]
pub(crate) use classes::CLASSES;
pub(crate) use classes::written as written_classes;
pub(crate) use explicit::{DEFAULTS, read_cabling};
#[cfg(test)]
pub(crate) use explicit::{LINK, NODE};
#[cfg(test)]
pub(crate) use port::QUEUE;

pub use named::Topology;

use wayleave_topology::Network;

use crate::document::{self, DocumentKind};
use crate::fields::{Fields, Shape};
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;

pub(crate) const TOPOLOGY_SPEC: Shape =
    Shape { what: "the spec of a Topology", keys: &["builder", "defaults", "nodes", "links", "classes"] };

/// Reads a topology in YAML or JSON.
///
/// ```
/// use wayleave_formats::{Source, read_topology};
/// let text = "
/// apiVersion: wayleave/v1
/// kind: Topology
/// metadata: { name: pair }
/// spec:
///   nodes: [ { name: s1, kind: switch }, { name: h1, kind: host }, { name: h2, kind: host } ]
///   links: [ { between: [h1, s1] }, { between: [h2, s1], rate: 10Gbit } ]
/// ";
/// let topology = read_topology(&Source::new("pair.yaml", text))?;
/// assert_eq!((topology.name.as_str(), topology.network.links().len()), ("pair", 4));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_topology(source: &Source) -> Result<Topology, InputErrors> {
    let mut problems = Problems::new(source);
    let topology = read_document(source, &mut problems);
    problems.finish(topology)
}

fn read_document(source: &Source, problems: &mut Problems<'_>) -> Option<Topology> {
    let document = document::read(source.text(), DocumentKind::Topology, problems, |_, _| {})?;
    let spec = Fields::read(&document.spec, &TOPOLOGY_SPEC, problems)?;
    Some(Topology { name: document.name, network: read_spec(&spec, problems)? })
}

/// The network that a `spec` describes, here or inside of a scenario.
pub(crate) fn read_spec(spec: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Network> {
    let network = match spec.get("builder") {
        None => explicit::read(spec, problems),
        Some(builder) => {
            for key in ["defaults", "nodes", "links"].into_iter().filter(|key| spec.get(key).is_some()) {
                problems.report(ProblemKind::WrongType, spec.key_span(key), || {
                    let message = format!("a builder makes all nodes and links: it cannot be combined with {key}");
                    (message, "give either a builder, or nodes and links")
                });
            }
            builder::read(builder, problems)
        }
    };
    classes::divide(network?, spec, problems)
}

/// Builds a topology from one line: `KIND:KEY=VALUE,...` with the keys of a builder in YAML; `hosts` means the
/// hosts under each edge switch, leaf or switch, and `budgets` are joined by `+`. `testbed:NAME` is a testbed.
///
/// ```
/// use wayleave_formats::parse_builder;
/// let topology = parse_builder("fat-tree:k=4,hosts=2,rate=10Gbit,budgets=100us+1ms")?;
/// assert_eq!(topology.network.hosts().count(), 16);
/// let error = parse_builder("fat-tree:k=4,host=2").unwrap_err().to_string();
/// assert!(error.contains("did you mean \"hosts\"?"), "{error}");
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the line, in order of place.
pub fn parse_builder(text: &str) -> Result<Topology, InputErrors> {
    let source = Source::new("builder", text);
    let mut problems = Problems::new(&source);
    let topology = builder::parse(source.text(), &mut problems);
    problems.finish(topology)
}
