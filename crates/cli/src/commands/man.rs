//! `wayleave man`: manual pages, from the same text as `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::raw_out;

const EXAMPLES: &str = "\
Examples:
  wayleave man | man -l -
  wayleave man lab run | man -l -
  wayleave man --out /usr/local/share/man/man1";

/// Print a manual page, or write all of them
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// Command: `plan`, or `lab run` [default: `wayleave` itself]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    path: Vec<String>,

    /// Write the pages of all commands to this directory: wayleave.1, wayleave-plan.1, ...
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

/// Runs the command; `whole` is the command line.
pub(crate) fn run(args: &ManArgs, whole: Command) -> Result<Exit, Failure> {
    // The name, and not how the program was called; and names of pages, such as wayleave-lab-run.
    let mut whole = whole.name("wayleave").bin_name("wayleave").disable_help_subcommand(true);
    whole.build();
    match &args.out {
        Some(directory) => write_all(&whole, directory)?,
        None => {
            let mut out = raw_out();
            out.write_all(&page(find(&whole, &args.path)?)?)?;
            out.flush()?;
        }
    }
    Ok(Exit::Fine)
}

pub(super) fn find<'a>(whole: &'a Command, path: &[String]) -> Result<&'a Command, Failure> {
    path.iter().try_fold(whole, |command, name| {
        command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<&str> = visible(command).map(Command::get_name).collect();
            let of = command.get_bin_name().unwrap_or("wayleave");
            Failure::Usage(match known.is_empty() {
                true => format!("{of} has no subcommands, so {name} is unknown"),
                false => format!("{of} has no command {name}; it has {}", known.join(", ")),
            })
        })
    })
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    // The page only lists the commands with their purpose; each command has a page of its own.
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}

fn write_all(command: &Command, directory: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, error: io::Error| Failure::Located(format!("{}: {error}", path.display()));
    fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    let path = directory.join(format!("{}.1", command.get_display_name().unwrap_or("wayleave")));
    page(command).and_then(|page| fs::write(&path, page)).map_err(|error| failed(&path, error))?;
    visible(command).try_for_each(|command| write_all(command, directory))
}
