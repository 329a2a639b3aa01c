//! `wayleave lab`: a whole network on this machine.

mod calibrate;
mod capture;
mod down;
mod exec;
mod name;
mod planned;
mod probe;
mod run;
mod status;
mod up;

use clap::Subcommand;

use crate::exit::Exit;
use crate::failure::Failure;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave doctor
  sudo wayleave lab up -f fat-tree:k=4
  sudo wayleave lab run -f contracts.yaml --reroutes 4
  sudo wayleave lab status
  sudo wayleave lab exec h1 -- ping -c 3 10.0.0.2
  sudo wayleave lab probe h1 h9
  sudo wayleave lab capture pod1-edge1 --count 20
  sudo wayleave lab down";

/// Run a network in network namespaces of this machine, with real packets
///
/// Every host, switch and endpoint is a network namespace; switches and hosts run the data plane of Wayleave. It
/// needs root, and the features that `wayleave doctor` checks.
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) enum LabCommand {
    Up(Box<up::UpArgs>),
    Run(Box<run::RunArgs>),
    Status(status::StatusArgs),
    Exec(exec::ExecArgs),
    Capture(capture::CaptureArgs),
    Calibrate(calibrate::CalibrateArgs),
    #[command(alias = "check")]
    Probe(probe::ProbeArgs),
    Down(down::DownArgs),
}

/// Runs the command.
pub(crate) fn run(command: &LabCommand) -> Result<Exit, Failure> {
    match command {
        LabCommand::Up(args) => up::run(args),
        LabCommand::Run(args) => run::run(args),
        LabCommand::Status(args) => status::run(args),
        LabCommand::Exec(args) => exec::run(args),
        LabCommand::Capture(args) => capture::run(args),
        LabCommand::Calibrate(args) => calibrate::run(args),
        LabCommand::Probe(args) => probe::run(args),
        LabCommand::Down(args) => down::run(args),
    }
}
