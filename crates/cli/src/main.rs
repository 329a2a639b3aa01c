//! The command `wayleave`: reads the command line, calls the library `wayleave`, prints what it says.
//!
//! Data goes to the standard output, everything else to the standard error; how a command ended is its exit code
//! ([`exit`]). What commands share: [`import_args`] and [`inputs`] name networks, [`session`] adds scheme and model,
//! [`client`] says where a controller is, [`output`] and [`progress`] know the terminal, [`interrupt`] listens to Ctrl-C.

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
mod import_args;
mod inputs;
mod interrupt;
mod model_args;
mod output;
mod program;
mod progress;
mod recheck;
mod scheme_args;
mod session;
mod settings;
mod setup;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Command};
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
    let cli = Cli::parse_from(settings::layered(std::env::args_os().collect(), Cli::command)?);
    match &cli.command {
        Command::Demo(args) => commands::demo::run(args),
        Command::Plan(args) => commands::plan::run(args),
        Command::Explain(args) => commands::explain::run(args),
        Command::WhatIf(args) => commands::what_if::run(args),
        Command::Login(args) => commands::login::run(args),
        Command::Apply(args) => commands::apply::run(args),
        Command::Get(args) => commands::get::run(args),
        Command::Describe(args) => commands::describe::run(args),
        Command::Delete(args) => commands::delete::run(args),
        Command::Rollback(args) => commands::rollback::run(args),
        Command::Down(args) => commands::element::down(args),
        Command::Up(args) => commands::element::up(args),
        Command::Events(args) => commands::events::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Capture(args) => commands::capture::run(args),
        Command::Audit(args) => commands::audit::run(args),
        Command::Backup(args) => commands::backup::run(args),
        Command::Status(args) => commands::status::run(args),
        Command::Top(args) => commands::top::run(args),
        Command::Token(command) => commands::token::run(command),
        Command::Analyze(args) => commands::analyze::run(args),
        Command::Topology(command) => commands::topology::run(command),
        Command::Policy(command) => commands::policy::run(command),
        Command::Provision(args) => commands::provision::run(args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Agent(args) => commands::agent::run(args),
        Command::Broker(command) => commands::broker::run(command),
        Command::Config(command) => commands::config::run(command, Cli::command),
        Command::Ledger(command) => commands::ledger::run(command),
        Command::Requests(args) => commands::requests::run(args),
        Command::Tune(args) => commands::tune::run(args),
        Command::Benchmark(args) => commands::benchmark::run(args),
        Command::Render(args) => commands::render::run(args),
        Command::Verify(args) => commands::verify::run(args),
        Command::Bench(command) => commands::bench::run(command),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Lab(command) => commands::lab::run(command),
        Command::Schemes(args) => commands::schemes::run(args),
        Command::Schema(args) => commands::schema::run(args),
        Command::Reproduce(args) => commands::reproduce::run(args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Sim(args) => commands::sim::run(args),
        Command::Trace(command) => commands::trace::run(command),
        Command::Completions(args) => commands::completions::run(args, Cli::command()),
        Command::Man(args) => commands::man::run(args, Cli::command()),
    }
}
