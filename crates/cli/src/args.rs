//! The command line: all commands.

use clap::{Parser, Subcommand};

use crate::commands::{
    agent, analyze, apply, audit, backup, bench, benchmark, broker, capture, check, completions, config, delete, demo,
    describe, diff, doctor, element, events, explain, get, lab, ledger, login, man, plan, policy, provision, render,
    reproduce, requests, rollback, schema, schemes, serve, sim, status, token, top, topology, trace, tune, verify,
    what_if,
};
use crate::exit;

const START: &str = "\
To begin with:
  wayleave demo
  wayleave requests -t fat-tree:k=4 --count 500 > contracts.yaml
  wayleave plan -t fat-tree:k=4 -f contracts.yaml";

/// Contracts of latency, bandwidth and objectives on a shared network: admitted by proof, explained, kept, verified
#[derive(Parser, Debug)]
#[command(name = "wayleave", version, max_term_width = 100, after_help = exit::after(START))]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be asked.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Demo(demo::DemoArgs),
    Plan(Box<plan::PlanArgs>),
    Explain(Box<explain::ExplainArgs>),
    WhatIf(Box<what_if::WhatIfArgs>),
    Login(login::LoginArgs),
    Apply(Box<apply::ApplyArgs>),
    Get(Box<get::GetArgs>),
    Describe(Box<describe::DescribeArgs>),
    Delete(Box<delete::DeleteArgs>),
    Rollback(Box<rollback::RollbackArgs>),
    Down(Box<element::DownArgs>),
    Up(Box<element::UpArgs>),
    Events(Box<events::EventsArgs>),
    Check(Box<check::CheckArgs>),
    Capture(capture::CaptureArgs),
    Audit(Box<audit::AuditArgs>),
    Backup(Box<backup::BackupArgs>),
    Status(Box<status::StatusArgs>),
    Top(Box<top::TopArgs>),
    #[command(subcommand)]
    Token(Box<token::TokenCommand>),
    Render(Box<render::RenderArgs>),
    Verify(Box<verify::VerifyArgs>),
    Analyze(Box<analyze::AnalyzeArgs>),
    #[command(subcommand)]
    Topology(topology::TopologyCommand),
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    Provision(Box<provision::ProvisionArgs>),
    Serve(Box<serve::ServeArgs>),
    Agent(Box<agent::AgentArgs>),
    #[command(subcommand)]
    Broker(broker::BrokerCommand),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    #[command(subcommand)]
    Ledger(ledger::LedgerCommand),
    Requests(requests::RequestsArgs),
    Tune(Box<tune::TuneArgs>),
    Benchmark(benchmark::BenchmarkArgs),
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    Sim(Box<sim::SimArgs>),
    Diff(diff::DiffArgs),
    Reproduce(reproduce::ReproduceArgs),
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    Doctor(doctor::DoctorArgs),
    #[command(subcommand)]
    Lab(lab::LabCommand),
    Schemes(schemes::SchemesArgs),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    /// What `clap` asserts of a command line when it is first used in a debug build: no two options of one name in any command, among
    /// others.
    #[test]
    fn no_two_options_have_one_name() {
        Cli::command().debug_assert();
    }
}
