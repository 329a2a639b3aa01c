//! The command line: all commands.

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    agent, analyze, apply, audit, backup, bench, broker, capture, characterize_switch, completions, config, delete,
    demo, describe, diff, doctor, element, events, explain, export_config, generate, get, help, lab, ledger, login,
    man, plan, policy, probe, reproduce, rollback, schema, schemes, serve, sim, size, status, token, top, topology,
    trace, tune, verify, what_if,
};
use crate::exit;
use crate::groups::with_groups;
use crate::short_help::shorten;

const START: &str = "\
First steps:
  wayleave demo
  wayleave generate contracts -t fat-tree:k=4 --count 500 > contracts.yaml
  wayleave plan -t fat-tree:k=4 -f contracts.yaml";

/// Admission control for network guarantees: delay bounds, minimum bandwidth and flow-completion goals
#[derive(Parser, Debug)]
#[command(name = "wayleave", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = START, after_long_help = exit::after(START))]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// All commands; [`crate::groups`] has the order in which help lists them.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Demo(demo::DemoArgs),
    Plan(Box<plan::PlanArgs>),
    Explain(Box<explain::ExplainArgs>),
    WhatIf(Box<what_if::WhatIfArgs>),
    Verify(Box<verify::VerifyArgs>),
    Diff(diff::DiffArgs),
    #[command(subcommand)]
    Topology(topology::TopologyCommand),
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    #[command(alias = "provision")]
    Size(Box<size::SizeArgs>),
    Tune(Box<tune::TuneArgs>),
    #[command(alias = "benchmark")]
    CharacterizeSwitch(characterize_switch::CharacterizeSwitchArgs),
    #[command(alias = "render")]
    ExportConfig(Box<export_config::ExportConfigArgs>),
    #[command(subcommand)]
    Generate(generate::GenerateCommand),
    Serve(Box<serve::ServeArgs>),
    Agent(Box<agent::AgentArgs>),
    Login(login::LoginArgs),
    Apply(Box<apply::ApplyArgs>),
    Get(Box<get::GetArgs>),
    Describe(Box<describe::DescribeArgs>),
    Delete(Box<delete::DeleteArgs>),
    Status(Box<status::StatusArgs>),
    Top(Box<top::TopArgs>),
    Events(Box<events::EventsArgs>),
    Audit(Box<audit::AuditArgs>),
    /// Mark links as failed, or as restored
    #[command(subcommand)]
    Link(Box<element::LinkCommand>),
    /// Mark hosts and switches as failed, or as restored
    #[command(subcommand)]
    Node(Box<element::NodeCommand>),
    #[command(alias = "check")]
    Probe(Box<probe::ProbeArgs>),
    Rollback(Box<rollback::RollbackArgs>),
    #[command(subcommand)]
    Token(Box<token::TokenCommand>),
    Backup(Box<backup::BackupArgs>),
    #[command(subcommand)]
    Ledger(ledger::LedgerCommand),
    #[command(subcommand)]
    Broker(broker::BrokerCommand),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    Doctor(doctor::DoctorArgs),
    #[command(subcommand)]
    Lab(lab::LabCommand),
    Capture(capture::CaptureArgs),
    Sim(Box<sim::SimArgs>),
    Reproduce(reproduce::ReproduceArgs),
    Analyze(Box<analyze::AnalyzeArgs>),
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    Schemes(schemes::SchemesArgs),
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Help(help::HelpArgs),

    // Names of version 0.2, for one release.
    #[command(hide = true)]
    Requests(generate::ContractsArgs),
    #[command(hide = true)]
    Down(Box<element::OldFailArgs>),
    #[command(hide = true)]
    Up(Box<element::OldRestoreArgs>),
}

/// Returns the command line as clap parses it.
pub(crate) fn command_line() -> clap::Command {
    with_groups(shorten(Cli::command()))
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::command_line;
    use crate::groups;

    /// `clap` checks a command line when it is first used in a debug build: among others, no two options of a command
    /// have one name.
    #[test]
    fn no_two_options_have_one_name() {
        command_line().debug_assert();
    }

    /// The most commands that a person reads at once.
    const MAX_USUAL: usize = 20;

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let command = command_line();
        let mut grouped: Vec<&str> =
            groups::GROUPS.iter().flat_map(|group| [group.usual, group.others].concat()).collect();
        let mut known: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn help_lists_at_most_twenty_commands_one_a_line() {
        let mut command = command_line();
        let help = command.render_help().to_string();
        let is_command = |line: &&str| {
            line.strip_prefix("  ")
                .and_then(|line| line.split(' ').next())
                .is_some_and(|word| command_line().get_subcommands().any(|one| one.get_name() == word))
        };
        let listed = help.lines().filter(is_command).count();
        assert_eq!(listed, groups::GROUPS.iter().map(|group| group.usual.len()).sum::<usize>(), "{help}");
        assert!((10..=MAX_USUAL).contains(&listed), "{listed} commands:\n{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}
