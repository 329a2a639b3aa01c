//! Options for opening a ledger file: those of `plan`, most of them in the long help only.

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::failure::Failure;
use crate::inputs::{NetworkArgs, NetworkDetails};
use crate::model_args::ModelArgs;
use crate::scheme_args::SchemeArgs;
use crate::session::SessionArgs;

/// Network, scheme and model, where they are needed.
#[derive(Clone, Debug)]
pub(crate) struct SetupArgs {
    options: SetupOptions,
}

#[derive(Args, Clone, Debug)]
struct SetupOptions {
    /// Topology of --ledger or -f: a file, or a builder such as fat-tree:k=4
    #[arg(short, long, value_name = "FILE|BUILDER", help_heading = "Network")]
    topology: Option<String>,
    #[command(flatten)]
    details: NetworkDetails,
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    model: ModelArgs,
}

impl SetupArgs {
    /// Returns all session arguments; `why` explains why a topology is needed.
    pub(crate) fn session(&self, why: &str) -> Result<SessionArgs, Failure> {
        let SetupOptions { topology, details, scheme, model } = &self.options;
        let Some(topology) = topology.clone() else {
            return Err(Failure::Usage(format!(
                "{why} requires a topology: -t FILE, or a builder such as -t fat-tree:k=4"
            )));
        };
        let network = NetworkArgs { topology, details: details.clone() };
        Ok(SessionArgs { network, scheme: scheme.clone(), model: model.clone() })
    }

    /// The topology, if one is named.
    pub(crate) fn topology(&self) -> Option<&str> {
        self.options.topology.as_deref()
    }
}

impl FromArgMatches for SetupArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { options: SetupOptions::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.options.update_from_arg_matches(matches)
    }
}

impl Args for SetupArgs {
    fn augment_args(command: Command) -> Command {
        let known: Vec<clap::Id> = command.get_arguments().map(|argument| argument.get_id().clone()).collect();
        // Most who ask a server never need these: `-h` is for them.
        SetupOptions::augment_args(command).mut_args(|argument| {
            let hides = !known.contains(argument.get_id()) && argument.get_id() != "topology";
            if hides { argument.hide_short_help(true) } else { argument }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        SetupOptions::augment_args_for_update(command)
    }
}
