//! Networks: from files, from builders such as `fat-tree:k=4`, or made by a program.

use std::path::Path;
use std::sync::Arc;

use wayleave_explain::human::count;
use wayleave_formats::{ImportOptions, Imported, Remark, Source, Topology, parse_builder, read_network};
use wayleave_topology::{Classes, NetworkError, NodeKind};
use wayleave_units::Bytes;

use crate::error::Error;

/// A network and its name. Cheap to clone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Network {
    /// Name of the network.
    pub name: String,
    /// Its nodes and links.
    pub graph: Arc<wayleave_topology::Network>,
}

/// A builder, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Builder {
    /// Name before the colon.
    pub name: &'static str,
    /// Keys of this builder, with their defaults.
    pub keys: &'static str,
    /// Description of the network that it builds.
    pub what: &'static str,
}

/// Builders that [`Network::build`] accepts; testbeds of the publications are `testbed:NAME`.
pub const BUILDERS: &[Builder] = &[
    Builder {
        name: "fat-tree",
        keys: "k=4, hosts=k/2 (under each edge switch), aggregationRate, coreRate",
        what: "k pods of edge and aggregation switches, and (k/2)^2 cores",
    },
    Builder {
        name: "leaf-spine",
        keys: "leaves=4, spines=2, hosts=4 (under each leaf), parallel=1, uplinkRate",
        what: "every leaf joined to every spine",
    },
    Builder { name: "line", keys: "switches=4, hosts=1 (under each switch)", what: "switches in a line" },
    Builder { name: "ring", keys: "switches=4, hosts=1 (under each switch)", what: "switches in a ring" },
    Builder { name: "star", keys: "hosts", what: "hosts around one switch" },
];

/// Keys that every builder except a testbed accepts too.
pub const COMMON_KEYS: &str = "rate, delay, mtu, queues, buffer, budgets, hostQueues, hostBuffer, hostBudgets";

/// Kind of a text that names a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkName {
    /// A file, or the standard input (`-`).
    File,
    /// A builder.
    Builder,
}

impl NetworkName {
    /// A file if there is one of that name, otherwise a builder.
    ///
    /// # Errors
    /// If it is neither.
    pub fn of(text: &str) -> Result<Self, Error> {
        if text == "-" || Path::new(text).exists() {
            return Ok(Self::File);
        }
        if text.contains(':') || BUILDERS.iter().any(|builder| builder.name == text) {
            return Ok(Self::Builder);
        }
        let missing = Source::read(text).err().map(|errors| errors.to_string());
        let missing = missing.unwrap_or_else(|| format!("{text}: no such file"));
        let hint = "  hint: a builder has a colon, such as fat-tree:k=4,queues=8 (`wayleave topology list` names them)";
        Err(Error::Located(format!("{missing}; it is not a builder either\n{hint}")))
    }
}

impl Network {
    /// A network that a program has made.
    pub fn new(name: &str, graph: wayleave_topology::Network) -> Self {
        Self { name: name.to_owned(), graph: Arc::new(graph) }
    }

    /// Opens a file or calls a builder: `network.yaml`, `fat-tree:k=4,queues=8`, `testbed:chameleon-testbed`.
    ///
    /// # Errors
    /// If there is no such file or builder, or it is malformed.
    ///
    /// ```
    /// let network = wayleave::Network::open("fat-tree:k=4")?;
    /// assert_eq!(network.summary(), "fat-tree: 16 hosts, 20 switches, 96 directed links");
    /// # Ok::<(), wayleave::Error>(())
    /// ```
    pub fn open(text: &str) -> Result<Self, Error> {
        match NetworkName::of(text)? {
            NetworkName::File => Self::parse(&Source::read(text)?),
            NetworkName::Builder => Self::build(text),
        }
    }

    /// Parses a text: a topology of Wayleave, or a complete file of another tool.
    ///
    /// # Errors
    /// If the text is malformed or incomplete; [`Network::import`] adds values that files of other tools lack.
    pub fn parse(source: &Source) -> Result<Self, Error> {
        Ok(Self::import(source, &ImportOptions::default())?.0)
    }

    /// Imports a text with values that files of other tools lack; also returns the assumptions.
    ///
    /// # Errors
    /// If the text is malformed.
    pub fn import(source: &Source, options: &ImportOptions) -> Result<(Self, ImportOrigin), Error> {
        let Imported { topology, is_foreign, remarks } = read_network(source, options)?;
        Ok((topology.into(), ImportOrigin { is_foreign, remarks }))
    }

    /// Calls a builder.
    ///
    /// # Errors
    /// If there is no such builder, or a key or a value is wrong.
    pub fn build(text: &str) -> Result<Self, Error> {
        let topology = parse_builder(text).map_err(|errors| {
            let where_from = format!("there is no file \"{text}\", so it was read as a builder");
            Error::Located(format!("{errors}\n  hint: {where_from}; `wayleave topology list` names them"))
        })?;
        Ok(topology.into())
    }

    /// The same network with its queues divided among the usual classes, unless they are divided already.
    ///
    /// # Errors
    /// If a switch has too few queues.
    pub fn with_classes(&self) -> Result<Self, Error> {
        Ok(Self { name: self.name.clone(), graph: divided(&self.graph)? })
    }

    /// The same network with other buffers at the ports of switches or of hosts.
    ///
    /// # Errors
    /// If it cannot be rebuilt, which would be a mistake here.
    pub fn with_buffers(self, switch: Option<Bytes>, host: Option<Bytes>) -> Result<Self, Error> {
        if switch.is_none() && host.is_none() {
            return Ok(self);
        }
        let rebuilt = with_buffers(&self.graph, switch, host);
        let rebuilt = rebuilt.map_err(|error| Error::Internal(format!("the network cannot be rebuilt: {error}")))?;
        Ok(Self { name: self.name, graph: Arc::new(rebuilt) })
    }

    /// `fat-tree: 16 hosts, 20 switches, 96 directed links`.
    pub fn summary(&self) -> String {
        let hosts = count(self.graph.hosts().count(), "host");
        let switches = count(self.graph.switches().count(), "switch");
        format!("{}: {hosts}, {switches}, {}", self.name, count(self.graph.links().len(), "directed link"))
    }
}

/// Origin of an imported network.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportOrigin {
    /// `true` if the file is from another tool, so that [`ImportOptions`] matter.
    pub is_foreign: bool,
    /// Assumptions made during the import.
    pub remarks: Vec<Remark>,
}

impl From<Topology> for Network {
    fn from(Topology { name, network }: Topology) -> Self {
        Self { name, graph: Arc::new(network) }
    }
}

/// The same network with other buffers at the ports of switches or hosts.
fn with_buffers(
    network: &wayleave_topology::Network,
    switch: Option<Bytes>,
    host: Option<Bytes>,
) -> Result<wayleave_topology::Network, NetworkError> {
    network.with_ports(|kind, _, port| {
        let buffer = match kind {
            NodeKind::Switch => switch,
            NodeKind::Host => host,
        };
        if let Some(buffer) = buffer {
            port.queues.iter_mut().for_each(|queue| queue.buffer = buffer);
        }
    })
}

/// A network with its queues divided among the usual classes, unless they are divided already.
pub(crate) fn divided(graph: &Arc<wayleave_topology::Network>) -> Result<Arc<wayleave_topology::Network>, Error> {
    if graph.classes().is_some() {
        return Ok(graph.clone());
    }
    let divided = (**graph).clone().with_classes(Classes::default());
    divided.map(Arc::new).map_err(|error| Error::Usage(format!("contracts of several kinds need classes: {error}")))
}
