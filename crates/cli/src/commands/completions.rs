//! `wayleave completions`: what a shell needs to complete the command line.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::raw_out;

const EXAMPLE: &str = "\
Example:
  wayleave completions bash > ~/.local/share/bash-completion/completions/wayleave";

/// Print shell completions
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

/// Runs the command; `whole` is the command line.
pub(crate) fn run(args: &CompletionsArgs, mut whole: Command) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut whole, "wayleave", &mut script);
    let mut out = raw_out();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Fine)
}
