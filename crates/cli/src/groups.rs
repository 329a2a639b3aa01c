//! Groups of commands: the list that `wayleave --help` and `wayleave help --all` print.
//!
//! clap has no headings for commands, so both lists are written from one table; descriptions are those of the commands.

use std::fmt::Write;

use clap::Command;
use clap::builder::StyledStr;

/// Commands that people use for one purpose.
pub(crate) struct Group {
    heading: &'static str,
    /// Commands that `wayleave --help` lists.
    pub(crate) usual: &'static [&'static str],
    /// Commands that only `wayleave help --all` lists.
    pub(crate) others: &'static [&'static str],
}

/// All groups. Every command is in exactly one of them.
pub(crate) const GROUPS: [Group; 5] = [
    Group {
        heading: "Planning",
        usual: &["plan", "explain", "what-if", "verify", "diff", "topology"],
        others: &["policy", "size", "tune", "characterize-switch", "export-config", "generate"],
    },
    Group {
        heading: "Operating",
        usual: &["serve", "agent", "login", "apply", "get", "describe", "delete", "status", "top", "events"],
        others: &["audit", "link", "node", "probe", "rollback", "token", "backup", "ledger", "broker", "config"],
    },
    Group { heading: "Laboratory", usual: &["doctor", "lab"], others: &["capture"] },
    Group {
        heading: "Research",
        usual: &["sim", "reproduce"],
        others: &["demo", "analyze", "bench", "schemes", "trace"],
    },
    Group { heading: "Command line", usual: &[], others: &["help", "completions", "man", "schema"] },
];

const MORE: &str = "All other commands: wayleave help --all. Options of a command: wayleave COMMAND -h";

/// Returns the command line with a help that lists the usual commands by group.
pub(crate) fn with_groups(command: Command) -> Command {
    let list = list(&command, |group| group.usual.to_vec());
    let options = heading(&command, "Options");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{MORE}\n\n{options}\n{{options}}{{after-help}}"
    ))
}

/// Returns the list of all commands by group.
pub(crate) fn all(command: &Command) -> StyledStr {
    list(command, |group| [group.usual, group.others].concat()).into()
}

/// A heading as clap writes its own.
fn heading(command: &Command, text: &str) -> String {
    let style = command.get_styles().get_header();
    format!("{style}{text}:{style:#}")
}

fn list(command: &Command, of: impl Fn(&Group) -> Vec<&'static str>) -> String {
    let width = GROUPS.iter().flat_map(&of).map(str::len).max().unwrap_or(0);
    let style = command.get_styles().get_literal();
    let mut text = String::new();
    for group in GROUPS.iter().filter(|group| !of(group).is_empty()) {
        let _ = writeln!(text, "{}", heading(command, group.heading));
        for name in of(group) {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {style}{name:width$}{style:#}  {about}");
        }
        text.push('\n');
    }
    text
}
