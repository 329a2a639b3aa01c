//! Short help: options that only the long help of a command shows.
//!
//! `-h` shows what most people need. Options for tuning, for one scheme or for files of other tools are in `--help`, by heading.

use clap::{Arg, Command};
use wayleave_schemes::hosts::HOSTS;
use wayleave_schemes::registry::ADMISSION;

/// Headings whose options only the long help shows; those of schemes are added.
const LONG_ONLY: [&str; 6] = ["Files of other tools", "Network model", "Access to etcd", "Limits", "Timing", "Logging"];

/// Options of several commands that only the long help shows.
const RARE: [&str; 3] = ["buffer", "host_buffer", "progress"];

/// Hides rare options of a command and of its subcommands from their short help.
pub(crate) fn shorten(command: Command) -> Command {
    command.mut_args(|arg| if is_rare(&arg) { arg.hide_short_help(true) } else { arg }).mut_subcommands(shorten)
}

fn is_rare(arg: &Arg) -> bool {
    let is_long_only = |heading: &str| {
        let schemes = ADMISSION.iter().map(|entry| entry.descriptor).chain(HOSTS.iter().copied());
        LONG_ONLY.contains(&heading) || schemes.map(|scheme| scheme.title).any(|title| title == heading)
    };
    RARE.contains(&arg.get_id().as_str()) || arg.get_help_heading().is_some_and(is_long_only)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::LONG_ONLY;
    use crate::args::command_line;

    fn short_help(command: &str) -> String {
        let mut whole = command_line();
        whole.build();
        whole.find_subcommand_mut(command).unwrap().render_help().to_string()
    }

    #[test]
    fn the_short_help_of_plan_and_serve_fits_on_a_screen() {
        for (command, most) in [("plan", 40), ("serve", 60)] {
            let help = short_help(command);
            let lines = help.lines().count();
            assert!((15..=most).contains(&lines), "{command}: {lines} lines:\n{help}");
        }
    }

    /// A list of all commands, each with its path.
    fn all(command: &clap::Command, path: &str, into: &mut Vec<(String, clap::Command)>) {
        for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let path = format!("{path} {}", one.get_name());
            all(one, &path, into);
            into.push((path, one.clone()));
        }
    }

    /// A field after a flattened group would get its heading, and be missing in the short help.
    #[test]
    fn a_heading_has_the_same_options_in_every_command() {
        let mut commands = Vec::new();
        all(&command_line(), "wayleave", &mut commands);
        let mut known: BTreeMap<&str, (&str, BTreeSet<&str>)> = BTreeMap::new();
        for (path, command) in &commands {
            for heading in LONG_ONLY {
                let of_heading = command.get_arguments().filter(|arg| arg.get_help_heading() == Some(heading));
                let options: BTreeSet<&str> = of_heading.map(|arg| arg.get_id().as_str()).collect();
                if options.is_empty() {
                    continue;
                }
                let (first, expected) = known.entry(heading).or_insert_with(|| (path, options.clone()));
                assert_eq!(options, *expected, "{heading} of {path} and of {first}");
            }
        }
        assert_eq!(known.len(), LONG_ONLY.len(), "{known:?}");
    }

    #[test]
    fn every_command_and_every_option_has_help() {
        let mut commands = Vec::new();
        all(&command_line(), "wayleave", &mut commands);
        assert!(commands.len() > 60, "{}", commands.len());
        for (path, command) in commands {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((10..=90).contains(&about.chars().count()), "{path}: {about:?}");
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                assert!(arg.get_help().is_some(), "{path} {arg}");
            }
        }
    }
}
