//! Everything that is checked before a ledger is served, and the two tools of an operator: `verify` and `reseal`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::database::{APPLICATION, Database, DatabaseState, VERSION};
use super::files::{self, seal_path, with_suffix};
use crate::digest::Mark;
use crate::seal::{Seal, Sealed};
use crate::{Kind, StoreError, StoredRecord};

/// Result of a full check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Faults, the most informative first. Empty: the ledger would be served.
    pub faults: Vec<StoreError>,
    /// The last commit of the database, if its state can be read.
    pub sequence: Option<u64>,
    /// The last commit of the seal, if it can be read.
    pub sealed: Option<u64>,
    /// Records that fit their checksums, by kind.
    pub records: BTreeMap<Kind, u64>,
    /// Bytes of the database, its log and its seal.
    pub bytes: u64,
}

impl Inspection {
    /// Returns `true` if the ledger would be served.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// A ledger that is locked and read, with all that is wrong with it.
pub(super) struct Examined {
    pub(super) database: Database,
    pub(super) seal: Option<Seal>,
    pub(super) sealed: Option<Sealed>,
    pub(super) found: DatabaseState,
    /// Faults, the most informative first.
    pub(super) faults: Vec<StoreError>,
}

/// Locks a ledger and reads it completely without changing anything; `None` if there is none.
///
/// # Errors
///
/// Only where the ledger cannot be examined: it is in use, or of another owner, or no ledger, or its structure is
/// damaged so badly that its records cannot be read.
pub(super) fn examine(path: &Path) -> Result<Option<Examined>, StoreError> {
    files::check_directory(path)?;
    let seal_at = seal_path(path);
    let (seal, sealed) = Seal::open(&seal_at).map_err(|error| of(path, error))?.unzip();
    let file = files::metadata(path)?.filter(|file| file.len() > 0 || !file.is_file());
    let Some(file) = file else {
        return match sealed.and_then(|sealed| sealed.mark()) {
            Some(mark) => Err(StoreError::DatabaseMissing { path: path.to_owned(), sealed: mark.sequence }),
            None if sealed.is_some_and(|sealed| !sealed.is_blank()) => Err(unreadable(path, seal_at)),
            None => Ok(None),
        };
    };
    identify(path)?;
    files::check_mode(path, &file)?;
    if let Some(file) = files::metadata(&seal_at)? {
        files::check_mode(&seal_at, &file)?;
    }
    let examined = read(path, (seal, sealed), &seal_at);
    let is_damaged = match &examined {
        Ok(examined) => !examined.faults.is_empty(),
        Err(error) => error.is_damage() || matches!(error, StoreError::NotALedger { .. }),
    };
    let whole = if is_damaged { whole_without_log(path, sealed, &seal_at)? } else { None };
    match whole {
        Some(error) => Err(error),
        None => examined.map(Some),
    }
}

/// Reads an existing ledger completely.
fn read(path: &Path, (seal, sealed): (Option<Seal>, Option<Sealed>), seal_at: &Path) -> Result<Examined, StoreError> {
    let mut database = Database::open(path)?;
    match database.identity()? {
        (APPLICATION, 1..=VERSION) => {}
        (APPLICATION, found) => return Err(StoreError::Future { path: path.to_owned(), found, known: VERSION }),
        (other, _) => return Err(foreign(path, other)),
    }
    let mut faults = Vec::new();
    faults.extend(database.structure().err());
    let found = match database.read(&mut faults) {
        Ok(found) => found,
        // If the structure is damaged, that error is more informative.
        Err(error) => return Err(faults.into_iter().next().unwrap_or(error)),
    };
    let judged = match (sealed, found.mark) {
        (Some(sealed), Some(mark)) => sealed.judge(mark, path, seal_at),
        (None, _) => Err(StoreError::SealMissing { path: path.to_owned(), seal: seal_at.to_owned() }),
        (Some(_), None) => Ok(()),
    };
    faults.extend(judged.err());
    Ok(Examined { database, seal, sealed, found, faults })
}

/// Returns the error for a ledger that is whole without the log beside it: a backup that replaced a ledger whose log
/// was not removed. The seal shows that no commit is in the log alone.
fn whole_without_log(path: &Path, sealed: Option<Sealed>, seal_at: &Path) -> Result<Option<StoreError>, StoreError> {
    let log = with_suffix(path, "-wal");
    let (Some(sealed), Some(_)) = (sealed, files::metadata(&log)?.filter(|file| file.len() > 0)) else {
        return Ok(None);
    };
    let mut faults = Vec::new();
    let found = Database::open_without_log(path).and_then(|mut database| {
        database.structure()?;
        database.read(&mut faults)
    });
    let mark = found.ok().and_then(|found| found.mark).filter(|_| faults.is_empty());
    let mark = mark.filter(|&mark| sealed.judge(mark, path, seal_at).is_ok());
    Ok(mark.map(|mark| StoreError::LogForeign { path: path.to_owned(), log, sequence: mark.sequence }))
}

/// The seal carries the lock, but it is the ledger that is in use.
fn of(path: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Locked { holder, .. } => StoreError::Locked { path: path.to_owned(), holder },
        other => other,
    }
}

fn unreadable(path: &Path, seal: PathBuf) -> StoreError {
    StoreError::SealDamaged { path: path.to_owned(), seal, found: "neither of its two slots is readable".to_owned() }
}

fn foreign(path: &Path, application: u32) -> StoreError {
    let found = format!("it is a SQLite database of another program (application_id {application:#010x})");
    StoreError::NotALedger { path: path.to_owned(), found }
}

/// Checks that a file begins like a ledger. SQLite is called later: it may not touch the files of other programs.
fn identify(path: &Path) -> Result<(), StoreError> {
    let not = |found: &str| Err(StoreError::NotALedger { path: path.to_owned(), found: found.to_owned() });
    let mut header = Vec::with_capacity(100);
    let opened = File::open(path).map_err(|error| StoreError::io(path, "opening", &error))?;
    match opened.metadata() {
        Ok(metadata) if !metadata.is_file() => return not("it is not a file"),
        _ => {}
    }
    opened.take(100).read_to_end(&mut header).map_err(|error| StoreError::io(path, "reading", &error))?;
    if !header.starts_with(b"SQLite format 3\0") || header.len() < 100 {
        return not("it is not a SQLite database, or its header is overwritten");
    }
    // The header of a ledger is complete before the file gets its name, and no log changes these fields.
    match header[68..72].try_into().map(u32::from_be_bytes) {
        Ok(APPLICATION) | Err(_) => Ok(()),
        Ok(other) => Err(foreign(path, other)),
    }
}

/// Checks everything, and changes nothing.
///
/// # Errors
///
/// If the ledger cannot be examined. Faults of a ledger are in the inspection.
pub fn verify(path: impl AsRef<Path>) -> Result<Inspection, StoreError> {
    inspect(path).map(|(report, _)| report)
}

/// Checks everything, changes nothing, and gives the records that fit their checksums, by kind and key.
///
/// # Errors
///
/// As for [`verify`].
pub fn inspect(path: impl AsRef<Path>) -> Result<(Inspection, Vec<StoredRecord>), StoreError> {
    let path = path.as_ref();
    let mut examined = examine(path)?.ok_or_else(|| StoreError::Missing { path: path.to_owned() })?;
    let report = report(path, &examined)?;
    examined.found.records.sort_unstable();
    Ok((report, examined.found.records))
}

fn report(path: &Path, examined: &Examined) -> Result<Inspection, StoreError> {
    let mut records = BTreeMap::<Kind, u64>::new();
    for record in &examined.found.records {
        match records.get_mut(&record.kind) {
            Some(count) => *count += 1,
            None => drop(records.insert(record.kind.clone(), 1)),
        }
    }
    let mut bytes = 0;
    for suffix in ["", "-wal", "-seal"] {
        bytes += files::metadata(&with_suffix(path, suffix))?.map_or(0, |file| file.len());
    }
    Ok(Inspection {
        faults: examined.faults.clone(),
        sequence: examined.found.mark.map(|mark| mark.sequence),
        sealed: examined.sealed.and_then(|sealed| sealed.mark()).map(|mark| mark.sequence),
        records,
        bytes,
    })
}

/// Accepts a database as it is: gives it a new state and a new seal, and returns the earlier faults.
///
/// Lost commits stay lost. A database whose structure or whose records are damaged is not accepted.
///
/// # Errors
///
/// As for [`verify`], where structure or records are damaged, and where it cannot be written.
pub fn reseal(path: impl AsRef<Path>) -> Result<Inspection, StoreError> {
    let path = path.as_ref();
    let mut examined = examine(path)?.ok_or_else(|| StoreError::Missing { path: path.to_owned() })?;
    let report = report(path, &examined)?;
    let fatal = |fault: &&StoreError| matches!(fault, StoreError::Structure { .. } | StoreError::Record { .. });
    if let Some(fault) = report.faults.iter().find(fatal) {
        return Err(fault.clone());
    }
    let sealed = examined.sealed.and_then(|sealed| sealed.mark());
    let ledger = match examined.found.mark.or(sealed) {
        Some(mark) => mark.ledger,
        None => examined.database.random()?,
    };
    // Later than anything that was acknowledged, so that no number is used twice.
    let last = report.sequence.max(report.sealed).unwrap_or(0);
    let mark = Mark { ledger, sequence: last + 1, digest: examined.found.digest };
    let mut seal = match examined.seal {
        Some(seal) => seal,
        None => Seal::create(&seal_path(path))?.0,
    };
    examined.database.set_state(mark)?;
    seal.begin(mark)?;
    files::sync_directory(path)?;
    examined.database.close()?;
    Ok(report)
}
