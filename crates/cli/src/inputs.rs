//! The options that name a network.

use clap::Args;
use wayleave::Network;
use wayleave_units::Bytes;

use crate::failure::Failure;
use crate::import_args::ImportArgs;

/// The network that contracts live on.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkArgs {
    /// Topology file, or a builder such as fat-tree:k=4 (run `wayleave topology list`)
    #[arg(short, long, value_name = "FILE|BUILDER")]
    pub(crate) topology: String,
    #[command(flatten)]
    pub(crate) details: NetworkDetails,
}

/// Properties of a network beside its topology.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkDetails {
    /// Buffer of every switch queue; overrides the topology
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<Bytes>,
    /// Buffer of every host queue; overrides the topology
    #[arg(long, value_name = "SIZE")]
    pub(crate) host_buffer: Option<Bytes>,
    #[command(flatten)]
    pub(crate) import: ImportArgs,
    /// `true` if the queues of a network are divided among the default classes when its topology defines none:
    /// contracts of several kinds are requested.
    #[arg(skip)]
    pub(crate) has_kinds: bool,
}

impl NetworkArgs {
    /// The network that they describe.
    pub(crate) fn read(&self) -> Result<Network, Failure> {
        let NetworkDetails { buffer, host_buffer, import, has_kinds } = &self.details;
        let network = import.network(&self.topology)?.with_buffers(*buffer, *host_buffer)?;
        Ok(if *has_kinds { network.with_classes()? } else { network })
    }
}

/// Two inputs cannot both be the standard input.
pub(crate) fn check_stdin<'a>(inputs: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    if inputs.into_iter().filter(|input| *input == "-").count() > 1 {
        return Err(Failure::Usage("only one file can be - (standard input)".into()));
    }
    Ok(())
}
