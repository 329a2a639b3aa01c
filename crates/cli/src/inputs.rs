//! Reading what the command line names: a network, and lists of contracts or events.

use std::collections::HashMap;
use std::sync::Arc;

use clap::Args;
use wayleave_contracts::Contract;
use wayleave_formats::{ContractList, EventList, Problem, Source, Topology, read_contracts, read_events};
use wayleave_topology::{Network, NetworkError, NodeKind};
use wayleave_units::Bytes;

use crate::failure::Failure;
use crate::import_args::ImportArgs;

/// The network that contracts live on.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkArgs {
    /// A file, or a builder such as fat-tree:k=4,queues=8 (`wayleave topology list` names them all); - is stdin. Files
    /// of other tools are read as well: containerlab, NetworkX node-link JSON, GML, GraphML
    #[arg(short, long, value_name = "FILE|BUILDER")]
    pub(crate) topology: String,
    #[command(flatten)]
    pub(crate) details: NetworkDetails,
}

/// What is said about a network beside its topology.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkDetails {
    /// The buffer of every switch queue, whatever the topology says
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<Bytes>,
    /// The buffer of every host queue, whatever the topology says
    #[arg(long, value_name = "SIZE")]
    pub(crate) host_buffer: Option<Bytes>,
    #[command(flatten)]
    pub(crate) import: ImportArgs,
}

impl NetworkArgs {
    /// The network that they describe.
    pub(crate) fn read(&self) -> Result<(String, Arc<Network>), Failure> {
        let NetworkDetails { buffer, host_buffer, import } = &self.details;
        let Topology { name, network } = import.topology(&self.topology)?;
        if buffer.is_none() && host_buffer.is_none() {
            return Ok((name, Arc::new(network)));
        }
        let rebuilt = with_buffers(&network, *buffer, *host_buffer);
        let rebuilt = rebuilt.map_err(|error| Failure::Internal(format!("the network cannot be rebuilt: {error}")))?;
        Ok((name, Arc::new(rebuilt)))
    }
}

/// The same network with other buffers at the ports of switches or hosts.
fn with_buffers(network: &Network, switch: Option<Bytes>, host: Option<Bytes>) -> Result<Network, NetworkError> {
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

/// Contracts from several files, in order, with no name twice.
pub(crate) struct Lists {
    lists: Vec<ContractList>,
}

/// Which contract of [`Lists`]: the list, and the index in it.
pub(crate) type Place = (usize, usize);

/// As many findings as a person reads.
pub(crate) const MAX_FINDINGS: usize = 20;

impl Lists {
    /// Reads the files.
    pub(crate) fn read(files: &[String], network: &Network) -> Result<Self, Failure> {
        let mut lists = Vec::with_capacity(files.len());
        for file in files {
            lists.push(read_contracts(&Source::read(file)?, network)?);
        }
        let lists = Self { lists };
        lists.check_names()?;
        Ok(lists)
    }

    /// One file's own duplicates are found when it is read; these are those of different files.
    fn check_names(&self) -> Result<(), Failure> {
        let mut seen: HashMap<&str, Place> = HashMap::new();
        let mut problems = Vec::new();
        for (place, contract) in self.iter().filter(|_| self.lists.len() > 1) {
            let Some(&(list, index)) = seen.get(contract.name.as_str()) else {
                seen.insert(&contract.name, place);
                continue;
            };
            if problems.len() < MAX_FINDINGS {
                let first = &self.lists[list];
                let at = format!("{}:{}", first.source().name(), first.locate(index, "name").line);
                problems.push(self.finding(place, "name", &format!("the name is taken: the first stands at {at}")));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::Problems(problems)) }
    }

    /// Every contract with its place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, &Contract)> {
        self.lists.iter().enumerate().flat_map(|(list, contracts)| {
            contracts.contracts().iter().enumerate().map(move |(index, contract)| ((list, index), contract))
        })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lists.iter().map(|list| list.contracts().len()).sum()
    }

    /// Something that was found out about a contract after it was read.
    pub(crate) fn finding(&self, (list, index): Place, field: &str, message: &str) -> Problem {
        self.lists[list].finding(index, field, message)
    }
}

/// Reads a file of events.
pub(crate) fn events(file: &str, network: &Network) -> Result<EventList, Failure> {
    Ok(read_events(&Source::read(file)?, network)?)
}

/// Two inputs cannot both be the standard input.
pub(crate) fn check_stdin<'a>(inputs: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    if inputs.into_iter().filter(|input| *input == "-").count() > 1 {
        return Err(Failure::Usage("only one input can come from the standard input (-)".into()));
    }
    Ok(())
}
