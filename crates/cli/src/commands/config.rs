//! `wayleave config`: which settings of `serve` count, and where they come from.

use clap::{Args, Command, Subcommand};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;
use crate::settings;

/// Show the settings of `wayleave serve`
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum ConfigCommand {
    Show(ShowArgs),
}

const EXAMPLE: &str = "\
Examples:
  wayleave config show --origin
  wayleave config show --origin -- --listen 127.0.0.1:8000 > wayleave.toml";

/// Print all settings as a file that `serve` reads
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct ShowArgs {
    /// Show the origin of each setting
    #[arg(long)]
    origin: bool,
    /// Flags of `serve`
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// Runs the command; `whole` is the command line.
pub(crate) fn run(command: &ConfigCommand, whole: fn() -> Command) -> Result<Exit, Failure> {
    let ConfigCommand::Show(args) = command;
    let line = ["wayleave", "serve"].into_iter().map(str::to_owned).chain(args.flags.iter().cloned());
    let settings = settings::all(line.map(Into::into).collect(), whole)?;
    let mut out = out();
    for setting in settings {
        setting.write(&mut out, args.origin)?;
    }
    Ok(Exit::Fine)
}
