//! Header that explains the records of a trace: names, and the origin of the trace.

/// Everything in a trace file beside its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The version of the program that made it.
    pub program: String,
    /// The seed of the run.
    pub seed: u64,
    /// A hash of the scenario that was run, such as [`fnv1a`](super::fnv1a) of its file.
    pub input_hash: u64,
    /// Hosts and switches, by their index.
    pub nodes: Vec<NodeEntry>,
    /// Directed links, by their index.
    pub links: Vec<LinkEntry>,
    /// Flows, by their index.
    pub flows: Vec<TraceFlow>,
}

/// A host or a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeEntry {
    /// Its name in the scenario.
    pub name: String,
}

/// A directed link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkEntry {
    /// Its name in the scenario.
    pub name: String,
    /// The index of the node that sends on it.
    pub from: u32,
    /// The index of the node that it leads to.
    pub to: u32,
}

/// A flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFlow {
    /// Its name in the scenario.
    pub name: String,
    /// The index of the node that sends it.
    pub from: u32,
    /// The index of the node that receives it.
    pub to: u32,
    /// Payload bytes of all its segments but the last, for TCP's numbers in a capture; 0 where it has no segments.
    pub segment_bytes: u32,
}
