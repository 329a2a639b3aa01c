//! `wayleave ledger`: the controller's ledger on disk, looked at and accepted while no controller has it open.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wayleave_controller::{Southbound, Timing};
use wayleave_explain::human::count;
use wayleave_store::{Absent, Inspection, Options, SqliteStore};
use wayleave_units::WallTime;

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::NetworkArgs;
use crate::model_args::ModelArgs;
use crate::progress::Progress;
use crate::recheck;
use crate::scheme_args::SchemeArgs;
use crate::session::SessionArgs;
use crate::setup::{Owners, load, setup};

/// Look at a controller's ledger on disk, or accept it, while no controller has it open
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum LedgerCommand {
    Check(Box<CheckArgs>),
    Reseal(ResealArgs),
    Backup(BackupArgs),
}

const CHECK_EXAMPLE: &str = "\
Examples:
  wayleave ledger check wayleave.db
  wayleave ledger check wayleave.db -t fat-tree:k=4";

/// Check the files, and with a topology every promise in them
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(CHECK_EXAMPLE))]
pub(crate) struct CheckArgs {
    /// The ledger
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
    /// The network that it was written for: then every promise is derived again with an independent calculator
    #[arg(short, long, value_name = "FILE|BUILDER")]
    topology: Option<String>,
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    model: ModelArgs,
}

const RESEAL_EXAMPLE: &str = "\
Example:
  wayleave ledger reseal wayleave.db

Use it after a ledger was restored from a copy, or when its seal is lost. What is lost stays lost: contracts that were
admitted later are not known any more, and their hosts may still send.";

/// Accept a ledger as it is on disk, although its seal says otherwise
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(RESEAL_EXAMPLE))]
pub(crate) struct ResealArgs {
    /// The ledger
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
}

const BACKUP_EXAMPLE: &str = "\
Example:
  wayleave ledger backup wayleave.db wayleave-2026-11-21.db";

/// Copy a ledger, with a seal of its own
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(BACKUP_EXAMPLE))]
pub(crate) struct BackupArgs {
    /// The ledger
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
    /// The copy; there must be no such file yet
    #[arg(value_name = "COPY")]
    copy: PathBuf,
}

/// Runs the command.
pub(crate) fn run(command: &LedgerCommand) -> Result<Exit, Failure> {
    match command {
        LedgerCommand::Check(args) => check(args),
        LedgerCommand::Reseal(args) => reseal(args),
        LedgerCommand::Backup(args) => backup(args),
    }
}

fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let report = wayleave_store::verify(&args.ledger).map_err(internal)?;
    print(&report);
    if !report.is_sound() {
        return Ok(Exit::Unsound);
    }
    let Some(topology) = &args.topology else { return Ok(Exit::Fine) };
    let network = NetworkArgs { topology: topology.clone(), ..NetworkArgs::default() };
    let session = SessionArgs { network, scheme: args.scheme.clone(), model: args.model.clone() };
    let setup = setup(&session, Southbound::Assumed, Timing::default())?;
    let (store, records) = SqliteStore::open(&args.ledger, &Options { absent: Absent::Refuse }).map_err(internal)?;
    let controller = load(&setup, WallTime::from_nanos(0), &records)?;
    store.close().map_err(internal)?;
    match recheck::recheck(&Owners(&controller).context(), &mut Progress::new(false)) {
        recheck::Verdict::Sound => Ok(Exit::Fine),
        recheck::Verdict::Unsound => Ok(Exit::Unsound),
    }
}

fn reseal(args: &ResealArgs) -> Result<Exit, Failure> {
    let before = wayleave_store::reseal(&args.ledger).map_err(internal)?;
    print(&before);
    println!("accepted as it is");
    Ok(Exit::Fine)
}

fn backup(args: &BackupArgs) -> Result<Exit, Failure> {
    let (mut store, records) =
        SqliteStore::open(&args.ledger, &Options { absent: Absent::Refuse }).map_err(internal)?;
    store.backup(&args.copy).map_err(internal)?;
    store.close().map_err(internal)?;
    println!("{} copied to {}", count(records.len(), "record"), args.copy.display());
    Ok(Exit::Fine)
}

fn print(report: &Inspection) {
    for fault in &report.faults {
        println!("fault: {fault}");
    }
    let number = |number: Option<u64>| number.map_or_else(|| "unreadable".to_owned(), |number| number.to_string());
    println!("commits: {} in the database, {} sealed", number(report.sequence), number(report.sealed));
    for (kind, records) in &report.records {
        println!("{kind}: {}", count(usize::try_from(*records).unwrap_or(usize::MAX), "record"));
    }
    println!("on disk: {} bytes", report.bytes);
    if report.is_sound() {
        println!("sound: a controller would begin with it");
    }
}

fn internal(error: wayleave_store::StoreError) -> Failure {
    Failure::Internal(error.to_string())
}
