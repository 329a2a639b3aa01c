//! `wayleave ledger`: inspects and accepts the controller's ledger on disk while no controller has it open.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use wayleave_controller::{Controller, ControllerConfig, EnforcedBy, EventKind, Timeouts, UnfitPolicy};
use wayleave_explain::human::count;
use wayleave_server::cluster::{self, CopyOf};
use wayleave_store::{IfAbsent, Inspection, Options, SqliteStore, StoreError};
use wayleave_units::WallTime;

use super::serve::{parse_cluster, parse_member};
use crate::etcd_args::EtcdArgs;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::NetworkArgs;
use crate::model_args::ModelArgs;
use crate::output::out;
use crate::progress::Progress;
use crate::recheck;
use crate::scheme_args::SchemeArgs;
use crate::session::SessionArgs;
use crate::setup::{Owners, load, setup};

/// Check, copy, accept or convert a ledger file that no controller has open
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum LedgerCommand {
    Check(Box<CheckArgs>),
    Reseal(ResealArgs),
    Backup(BackupArgs),
    Join(JoinArgs),
    Leave(LeaveArgs),
}

const CHECK_EXAMPLE: &str = "\
Examples:
  wayleave ledger check wayleave.db
  wayleave ledger check wayleave.db -t fat-tree:k=4
  wayleave ledger check wayleave.db -t new.yaml --decide-again";

/// Check a ledger file, and with a topology every contract in it
#[derive(Args, Clone, Debug)]
#[command(after_help = CHECK_EXAMPLE, after_long_help = exit::after(CHECK_EXAMPLE))]
pub(crate) struct CheckArgs {
    /// Ledger file
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
    /// Check a temporary copy, for ledgers on read-only media
    #[arg(long)]
    copy: bool,
    /// Topology of the ledger, to recompute every bound independently
    #[arg(short, long, value_name = "FILE|BUILDER")]
    topology: Option<String>,
    /// Show the effect of `serve --decide-again` with this other topology; changes nothing
    #[arg(long, requires = "topology")]
    decide_again: bool,
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    model: ModelArgs,
}

const RESEAL_EXAMPLE: &str = "\
Example:
  wayleave ledger reseal wayleave.db

Use it after a ledger was restored from a copy, or when its seal is lost. Lost commits stay lost: contracts that were admitted later are unknown, and their hosts may still send.";

/// Accept a ledger whose seal does not match, and seal it again
#[derive(Args, Clone, Debug)]
#[command(after_help = RESEAL_EXAMPLE, after_long_help = exit::after(RESEAL_EXAMPLE))]
pub(crate) struct ResealArgs {
    /// Ledger file
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
}

const JOIN_EXAMPLE: &str = "\
Example:
  wayleave ledger join wayleave.db --etcd http://10.0.0.1:2379,http://10.0.0.2:2379,http://10.0.0.3:2379
  wayleave serve -t network.yaml --ledger wayleave.db --etcd http://10.0.0.1:2379,http://10.0.0.2:2379,http://10.0.0.3:2379

Start the other controllers of the cluster with a --ledger path that does not exist yet.";

/// Copy the ledger of a single controller into a new cluster
#[derive(Args, Clone, Debug)]
#[command(after_help = JOIN_EXAMPLE, after_long_help = exit::after(JOIN_EXAMPLE))]
pub(crate) struct JoinArgs {
    /// Ledger file
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
    /// The members of the etcd, separated by commas
    #[arg(long, value_name = "URL,URL", value_delimiter = ',', required = true, value_parser = parse_member)]
    etcd: Vec<String>,
    /// Name of the cluster, equal on all controllers
    #[arg(long, value_name = "NAME", default_value = "wayleave", value_parser = parse_cluster)]
    cluster: String,
    #[command(flatten)]
    access: EtcdArgs,
}

const LEAVE_EXAMPLE: &str = "\
Example:
  wayleave ledger leave wayleave.db
  wayleave serve -t network.yaml --ledger wayleave.db

Use it when all controllers of the cluster have stopped, with the most recent copy: `wayleave ledger check` shows the position of each.";

/// Turn a cluster member's copy into the ledger of a single controller
#[derive(Args, Clone, Debug)]
#[command(after_help = LEAVE_EXAMPLE, after_long_help = exit::after(LEAVE_EXAMPLE))]
pub(crate) struct LeaveArgs {
    /// The copy
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
}

const BACKUP_EXAMPLE: &str = "\
Example:
  wayleave ledger backup wayleave.db wayleave-2026-11-21.db";

/// Copy a ledger, with a new seal
#[derive(Args, Clone, Debug)]
#[command(after_help = BACKUP_EXAMPLE, after_long_help = exit::after(BACKUP_EXAMPLE))]
pub(crate) struct BackupArgs {
    /// Ledger file
    #[arg(value_name = "LEDGER")]
    ledger: PathBuf,
    /// Copy; it must not exist
    #[arg(value_name = "COPY")]
    copy: PathBuf,
}

/// Runs the command.
pub(crate) fn run(command: &LedgerCommand) -> Result<Exit, Failure> {
    match command {
        LedgerCommand::Check(args) => check(args),
        LedgerCommand::Reseal(args) => reseal(args),
        LedgerCommand::Backup(args) => backup(args),
        LedgerCommand::Join(args) => join(args),
        LedgerCommand::Leave(args) => leave(args),
    }
}

fn join(args: &JoinArgs) -> Result<Exit, Failure> {
    let count =
        cluster::join(args.access.access(args.etcd.clone()), &args.cluster, &args.ledger).map_err(Failure::Usage)?;
    let records = wayleave_explain::human::count(count, "record");
    writeln!(out(), "cluster {} starts with {records}; {} is the first copy", args.cluster, args.ledger.display())?;
    Ok(Exit::Fine)
}

fn leave(args: &LeaveArgs) -> Result<Exit, Failure> {
    cluster::leave(&args.ledger).map_err(Failure::Usage)?;
    writeln!(out(), "{} is now the ledger of a standalone controller", args.ledger.display())?;
    Ok(Exit::Fine)
}

fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    if !args.copy {
        return check_at(args, &args.ledger);
    }
    let folder = std::env::temp_dir().join(format!("wayleave-check-{}", std::process::id()));
    let checked = copy_to(&args.ledger, &folder).and_then(|copy| check_at(args, &copy));
    let removed = std::fs::remove_dir_all(&folder);
    let exit = checked?;
    removed.map_err(|error| Failure::Internal(format!("cannot remove {}: {error}", folder.display())))?;
    Ok(exit)
}

/// The files of a ledger in a directory of their own, writable for their owner alone.
fn copy_to(ledger: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |path: &Path, error: std::io::Error| Failure::Internal(format!("{}: {error}", path.display()));
    std::fs::DirBuilder::new().mode(0o700).create(folder).map_err(|error| failed(folder, error))?;
    for end in ["", "-seal", "-wal"] {
        let name = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let (from, to) = (name(ledger), name(&folder.join("ledger.db")));
        let copied = std::fs::copy(&from, &to)
            .and_then(|_| std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o600)));
        match copied {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            copied => copied.map_err(|error| failed(&from, error))?,
        }
    }
    Ok(folder.join("ledger.db"))
}

fn check_at(args: &CheckArgs, ledger: &Path) -> Result<Exit, Failure> {
    let (report, mut records) = wayleave_store::inspect(ledger).map_err(internal)?;
    // A copy of a cluster's ledger has one more record, which contains its position.
    let of = CopyOf::take(&mut records).map_err(Failure::Internal)?;
    print(&mut out(), &report, of.as_ref())?;
    if !report.is_sound() {
        return Ok(Exit::Unsound);
    }
    let Some(topology) = &args.topology else { return Ok(Exit::Fine) };
    let network = NetworkArgs { topology: topology.clone(), ..NetworkArgs::default() };
    let session = SessionArgs { network, scheme: args.scheme.clone(), model: args.model.clone() };
    let setup = setup(&session, EnforcedBy::Nobody, Timeouts::default())?;
    let setup = ControllerConfig {
        unfit: if args.decide_again { UnfitPolicy::DecideAgain } else { UnfitPolicy::Refuse },
        ..setup
    };
    let mut controller = load(&setup, WallTime::from_nanos(0), &records)?;
    if args.decide_again {
        changes(&mut out(), &mut controller)?;
    }
    match recheck::recheck(&Owners(&controller).context(), &mut Progress::new(false)) {
        recheck::BoundSource::Sound => Ok(Exit::Fine),
        recheck::BoundSource::Unsound => Ok(Exit::Unsound),
    }
}

/// Prints the contracts that were decided again.
fn changes(out: &mut impl Write, controller: &mut Controller) -> std::io::Result<()> {
    let events = controller.take_output().events;
    let changes: Vec<_> =
        events.iter().filter(|event| matches!(event.kind, EventKind::Rerouted | EventKind::Degraded)).collect();
    for event in &changes {
        writeln!(out, "{} {}: {}", event.object, event.kind.name(), event.detail)?;
    }
    if changes.is_empty() {
        writeln!(out, "every contract would keep its reservation")?;
    }
    Ok(())
}

fn reseal(args: &ResealArgs) -> Result<Exit, Failure> {
    let before = wayleave_store::reseal(&args.ledger).map_err(internal)?;
    let mut out = out();
    print(&mut out, &before, None)?;
    writeln!(out, "accepted in its present state")?;
    out.flush()?;
    Ok(Exit::Fine)
}

fn backup(args: &BackupArgs) -> Result<Exit, Failure> {
    let opened = SqliteStore::open(&args.ledger, &Options { absent: IfAbsent::Refuse });
    let (mut store, records) = opened.map_err(|error| match error {
        StoreError::Locked { .. } => {
            Failure::Internal(format!("{error}; `wayleave backup NAME` lets the running server create a copy"))
        }
        other => internal(other),
    })?;
    store.backup(&args.copy).map_err(internal)?;
    store.close().map_err(internal)?;
    let mut out = out();
    writeln!(out, "{} copied to {}", count(records.len(), "record"), args.copy.display())?;
    out.flush()?;
    Ok(Exit::Fine)
}

fn print(out: &mut impl Write, report: &Inspection, of: Option<&CopyOf>) -> std::io::Result<()> {
    for fault in &report.faults {
        writeln!(out, "fault: {fault}")?;
    }
    let number = |number: Option<u64>| number.map_or_else(|| "unreadable".to_owned(), |number| number.to_string());
    writeln!(out, "commits: {} in the database, {} sealed", number(report.sequence), number(report.sealed))?;
    for (kind, records) in &report.records {
        writeln!(out, "{kind}: {}", count(*records, "record"))?;
    }
    writeln!(out, "on disk: {} bytes", report.bytes)?;
    if let Some(CopyOf { cluster, batch }) = of {
        writeln!(out, "a copy of the ledger of cluster {cluster}, up to batch {batch}")?;
    }
    match of {
        _ if !report.is_sound() => {}
        None => writeln!(out, "sound: a controller can start with it")?,
        Some(_) => writeln!(
            out,
            "sound: a controller of the cluster can start with it (serve --etcd), and a standalone one after `wayleave ledger leave`"
        )?,
    }
    out.flush()
}

fn internal(error: wayleave_store::StoreError) -> Failure {
    Failure::Internal(error.to_string())
}
