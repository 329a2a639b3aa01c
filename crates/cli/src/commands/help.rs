//! `wayleave help`: help of a command, and the list of all commands.

use std::io::Write;

use clap::{Args, Command};

use super::man::find;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::groups;
use crate::output::{is_colourful, out};

const EXAMPLES: &str = "\
Examples:
  wayleave help --all
  wayleave help lab run";

/// Print the help of a command, or list all commands
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HelpArgs {
    /// List all commands by group
    #[arg(long, conflicts_with = "path")]
    all: bool,
    /// Command whose help is printed: `plan`, or `lab run` [default: `wayleave` itself]
    #[arg(value_name = "COMMAND")]
    path: Vec<String>,
}

/// Runs the command; `whole` is the command line.
pub(crate) fn run(args: &HelpArgs, mut whole: Command) -> Result<Exit, Failure> {
    whole.build();
    let text = match (args.all, args.path.is_empty()) {
        (true, _) => groups::all(&whole),
        (false, true) => whole.render_help(),
        (false, false) => find(&whole, &args.path)?.clone().render_long_help(),
    };
    let text = if is_colourful() { text.ansi().to_string() } else { text.to_string() };
    let mut out = out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Exit::Fine)
}
