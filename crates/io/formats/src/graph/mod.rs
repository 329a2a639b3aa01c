//! Networks that other tools describe as graphs: NetworkX node-link JSON, lists of links in JSON, GML, GraphML,
//! containerlab, MiniEdit, the P4 tutorials and SNDlib; and lists of cables in CSV.
//!
//! Each reader (`nodelink`, `gml`, `graphml`, `containerlab`, `mininet`, `sndlib`, `links_csv`) makes a [`Graph`] of its file:
//! nodes and edges with their attributes, each with its position. The rest is decided here once ([`build`]): the
//! meaning of attributes ([`attributes`]), the roles of nodes, their names ([`names`]), and the defaults of links
//! without data. All assumptions and omissions are returned as [`Remark`]s: nothing is dropped silently.

mod attributes;
mod build;
mod coordinates;
mod lines;
mod model;
mod names;
mod number;
mod remark;
mod remarks;
mod unused;
mod write;

pub(crate) use attributes::kind_of_word;
pub(crate) use model::{Attribute, Graph, GraphEdge, GraphEnd, GraphNode};
pub use model::{HostSelector, ImportOptions, MAX_HOSTS_PER_NODE};
pub use number::{DelayUnit, RateUnit};
pub use remark::Remark;
pub(crate) use unused::Unused;
pub use write::{GraphFormat, write_graph};

use crate::containerlab;
use crate::foreign::Foreign;
use crate::gml;
use crate::graphml;
use crate::links_csv;
use crate::location::Span;
use crate::mininet;
use crate::nodelink;
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::sndlib;
use crate::source::Source;
use crate::topology::{Topology, read_topology};
use crate::tree::{Loader, Value};

/// A network, and the assumptions made for it.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The network and its name.
    pub topology: Topology,
    /// `true` if the file is from another tool: only then [`ImportOptions`] have a meaning.
    pub is_foreign: bool,
    /// Assumptions and omissions.
    pub remarks: Vec<Remark>,
}

/// Reads a network from a file of any known format: a topology document, node-link JSON, a list of links in JSON, GML,
/// GraphML, containerlab, MiniEdit, the P4 tutorials or SNDlib's native form. Files of other tools that are known and not read
/// are refused by name. The ending of the name decides (`.gml`, `.graphml`, `.clab.yml`), otherwise the content.
///
/// ```
/// use wayleave_formats::{ImportOptions, Source, read_network};
/// let text = r#"graph [ node [ id 0 label "Kiel" ] node [ id 1 label "Ulm" ] edge [ source 0 target 1 ] ]"#;
/// let options = ImportOptions::default().with_default_rate("10Gbit".parse::<wayleave_units::Rate>().ok());
/// let network = read_network(&Source::new("two.gml", text), &options)?.topology.network;
/// assert!(network.find_link("Kiel->Ulm").is_some());
/// assert_eq!(network.hosts().count(), 2); // Kiel-h1 and Ulm-h1: the file names no hosts
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place; links without a rate if no default is given.
pub fn read_network(source: &Source, options: &ImportOptions) -> Result<Imported, InputErrors> {
    let read = match recognise(source) {
        Format::Wayleave => {
            let topology = read_topology(source)?;
            return Ok(Imported { topology, is_foreign: false, remarks: Vec::new() });
        }
        Format::NodeLink => nodelink::read,
        Format::Gml => gml::read,
        Format::GraphMl => graphml::read,
        Format::Containerlab => containerlab::read,
        Format::MiniEdit => mininet::read_miniedit,
        Format::P4 => mininet::read_p4,
        Format::SndLib => sndlib::read,
        Format::Links => links_csv::read,
        Format::Foreign(foreign) => {
            let mut problems = Problems::new(source);
            let all = Span::new(0..source.text().len());
            problems.report(ProblemKind::WrongKind, all, || foreign.refusal());
            return problems.finish(None);
        }
    };
    let mut problems = Problems::new(source);
    let imported = read(source.text(), options, &mut problems).and_then(|graph| {
        // Errors of nodes would cause false errors of edges.
        if problems.mark() > 0 {
            return None;
        }
        let name = graph.name.as_deref().map_or_else(|| names::of_file(source.stem()), str::to_owned);
        let (network, remarks) = build::build(graph, options, &mut problems)?;
        Some(Imported { topology: Topology { name, network }, is_foreign: true, remarks })
    });
    problems.finish(imported)
}

/// Format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Wayleave,
    NodeLink,
    Gml,
    GraphMl,
    Containerlab,
    MiniEdit,
    P4,
    SndLib,
    Links,
    Foreign(Foreign),
}

fn recognise(source: &Source) -> Format {
    let text = source.text().trim_start();
    if source.ends_in("gml") {
        return Format::Gml;
    }
    if text.starts_with(sndlib::HEADER) {
        return Format::SndLib;
    }
    if let Some(foreign) = Foreign::of_text(text) {
        return Format::Foreign(foreign);
    }
    if source.ends_in("csv") {
        return Format::Links;
    }
    if source.ends_in("graphml") || text.starts_with('<') {
        return Format::GraphMl;
    }
    if source.name().ends_with(".clab.yml") || source.name().ends_with(".clab.yaml") {
        return Format::Containerlab;
    }
    if text.contains("apiVersion") {
        return Format::Wayleave;
    }
    if gml::is_likely(text) {
        return Format::Gml;
    }
    let Ok(Some(root)) = Loader::new(source.text(), ["", ""], &mut |_| {}).load() else { return Format::Wayleave };
    if let Some(foreign) = Foreign::of_mapping(&root) {
        return Format::Foreign(foreign);
    }
    match root.value {
        Value::Mapping(_) if mininet::is_p4(&root) => Format::P4,
        Value::Mapping(_) if mininet::is_miniedit(&root) => Format::MiniEdit,
        Value::Mapping(_) if root.field("topology").is_some_and(|at| at.field("nodes").is_some()) => {
            Format::Containerlab
        }
        Value::Mapping(_) if nodelink::is_likely(&root) => Format::NodeLink,
        _ => Format::Wayleave,
    }
}
