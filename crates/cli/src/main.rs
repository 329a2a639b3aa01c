//! The command `wayleave`: reads the command line, calls the library `wayleave`, prints the results.
//!
//! Data goes to the standard output, everything else to the standard error. The exit code is the result of a command
//! ([`exit`]). Commands share these modules: [`import_args`] and [`inputs`] name networks, [`session`] adds scheme
//! and model, [`client`] finds the controller, [`output`] and [`progress`] handle the terminal, [`interrupt`] handles
//! Ctrl-C.

mod args;
mod basis;
mod bench;
mod broker_args;
mod client;
mod commands;
mod demo;
mod etcd_args;
mod exit;
mod failure;
mod groups;
mod import_args;
mod inputs;
mod interrupt;
mod key_warnings;
mod model_args;
mod output;
mod program;
mod progress;
mod recheck;
mod scheme_args;
mod session;
mod settings;
mod setup;
mod short_help;

use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Cli, Command, command_line};
use exit::Exit;
use failure::Failure;

fn main() -> ExitCode {
    let exit = run().unwrap_or_else(|failure| {
        let message = failure.to_string();
        if !message.is_empty() {
            crate::output::tell!("{message}");
        }
        failure.exit()
    });
    wayleave_server::flush_log();
    exit.into()
}

fn run() -> Result<Exit, Failure> {
    key_warnings::install();
    let line = settings::layered(std::env::args_os().collect(), command_line)?;
    let matches = command_line().get_matches_from(line);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command_line()).exit());
    match &cli.command {
        Command::Demo(args) => commands::demo::run(args),
        Command::Plan(args) => commands::plan::run(args),
        Command::Explain(args) => commands::explain::run(args),
        Command::WhatIf(args) => commands::what_if::run(args),
        Command::Verify(args) => commands::verify::run(args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Topology(command) => commands::topology::run(command),
        Command::Policy(command) => commands::policy::run(command),
        Command::Size(args) => commands::size::run(args),
        Command::Tune(args) => commands::tune::run(args),
        Command::CharacterizeSwitch(args) => commands::characterize_switch::run(args),
        Command::ExportConfig(args) => commands::export_config::run(args),
        Command::Generate(command) => commands::generate::run(command),
        Command::Serve(args) => commands::serve::run(args),
        Command::Agent(args) => commands::agent::run(args),
        Command::Login(args) => commands::login::run(args),
        Command::Apply(args) => commands::apply::run(args),
        Command::Get(args) => commands::get::run(args),
        Command::Describe(args) => commands::describe::run(args),
        Command::Delete(args) => commands::delete::run(args),
        Command::Status(args) => commands::status::run(args),
        Command::Top(args) => commands::top::run(args),
        Command::Events(args) => commands::events::run(args),
        Command::Audit(args) => commands::audit::run(args),
        Command::Link(command) => commands::element::link(command),
        Command::Node(command) => commands::element::node(command),
        Command::Probe(args) => commands::probe::run(args),
        Command::Rollback(args) => commands::rollback::run(args),
        Command::Token(command) => commands::token::run(command),
        Command::Backup(args) => commands::backup::run(args),
        Command::Ledger(command) => commands::ledger::run(command),
        Command::Broker(command) => commands::broker::run(command),
        Command::Config(command) => commands::config::run(command, command_line),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Lab(command) => commands::lab::run(command),
        Command::Capture(args) => commands::capture::run(args),
        Command::Sim(args) => commands::sim::run(args),
        Command::Reproduce(args) => commands::reproduce::run(args),
        Command::Analyze(args) => commands::analyze::run(args),
        Command::Bench(command) => commands::bench::run(command),
        Command::Schemes(args) => commands::schemes::run(args),
        Command::Trace(command) => commands::trace::run(command),
        Command::Schema(args) => commands::schema::run(args),
        Command::Completions(args) => commands::completions::run(args, command_line()),
        Command::Man(args) => commands::man::run(args, command_line()),
        Command::Help(args) => commands::help::run(args, command_line()),
        Command::Requests(args) => commands::generate::contracts(args),
        Command::Down(args) => commands::element::old_fail(args),
        Command::Up(args) => commands::element::old_restore(args),
    }
}
