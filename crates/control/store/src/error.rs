//! Errors of opening and committing: the fault, the expected state, and a remedy.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

mod holder;

pub use holder::Holder;

/// Reason that a store does not open or does not commit.
///
/// Paths are those of the database (`path`) and of its seal (`seal`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Another process has it open.
    Locked {
        /// The locked file.
        path: PathBuf,
        /// The process that has the ledger open, where the system reports it.
        holder: Option<Holder>,
    },
    /// There is none, and none was to be created.
    Missing {
        /// Expected path.
        path: PathBuf,
    },
    /// The directory that should hold it does not exist.
    DirectoryMissing {
        /// That directory.
        directory: PathBuf,
    },
    /// The system does not let this user do it.
    Permission {
        /// The file or directory.
        path: PathBuf,
        /// Failed action.
        doing: &'static str,
    },
    /// Other users may read or write it.
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file or its file system can only be read.
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full, or a quota is used up.
    NoSpace {
        /// The file that should have grown.
        path: PathBuf,
    },
    /// The system could not read or write.
    Io {
        /// The file.
        path: PathBuf,
        /// Failed action.
        doing: &'static str,
        /// Message of the system.
        message: String,
    },
    /// The file is something else.
    NotALedger {
        /// The file.
        path: PathBuf,
        /// Kind of the file found.
        found: String,
    },
    /// A later version of Wayleave wrote it.
    Future {
        /// The database.
        path: PathBuf,
        /// The version of its format.
        found: u32,
        /// The version that this program writes.
        known: u32,
    },
    /// The structure of the file is damaged.
    Structure {
        /// The database.
        path: PathBuf,
        /// Description of the damage, mostly from SQLite.
        found: String,
    },
    /// The row that holds the state of the ledger is missing or damaged.
    State {
        /// The database.
        path: PathBuf,
    },
    /// A record does not fit its checksum.
    Record {
        /// The database.
        path: PathBuf,
        /// The kind of the record, as far as it can be read.
        kind: String,
        /// The key of the record, as far as it can be read.
        key: String,
    },
    /// Records are missing, or there are more than there should be.
    Count {
        /// The database.
        path: PathBuf,
        /// Number of records present.
        found: u64,
        /// Records that should be there.
        expected: u64,
    },
    /// Each record is whole, but these are not the records of the last commit.
    Digest {
        /// The database.
        path: PathBuf,
    },
    /// The seal lacks commits that the database has.
    Ahead {
        /// The database.
        path: PathBuf,
        /// The seal.
        seal: PathBuf,
        /// The last commit of the database.
        found: u64,
        /// The last commit of the seal.
        sealed: u64,
    },
    /// The database lacks commits that were acknowledged.
    Behind {
        /// The database.
        path: PathBuf,
        /// The last commit of the database.
        found: u64,
        /// The last commit that was acknowledged.
        sealed: u64,
    },
    /// Database and seal name the same commit, with different records.
    Differs {
        /// The database.
        path: PathBuf,
        /// The seal.
        seal: PathBuf,
        /// The commit of both.
        sequence: u64,
    },
    /// The seal belongs to another ledger.
    SealForeign {
        /// The database.
        path: PathBuf,
        /// The seal.
        seal: PathBuf,
    },
    /// The seal cannot be read, or is contradictory.
    SealDamaged {
        /// The database.
        path: PathBuf,
        /// The seal.
        seal: PathBuf,
        /// Description of the damage.
        found: String,
    },
    /// The log beside the database is of another one: without it, the ledger is whole.
    LogForeign {
        /// The database.
        path: PathBuf,
        /// The log.
        log: PathBuf,
        /// The last commit of the database without it, which is that of the seal.
        sequence: u64,
    },
    /// There is a database without its seal.
    SealMissing {
        /// The database.
        path: PathBuf,
        /// Expected path of the seal.
        seal: PathBuf,
    },
    /// There is a seal without its database.
    DatabaseMissing {
        /// Expected path of the database.
        path: PathBuf,
        /// The last commit that was acknowledged.
        sealed: u64,
    },
    /// An earlier commit failed; the store has to be opened again.
    Broken {
        /// The database.
        path: PathBuf,
    },
    /// A ledger that is not on this machine, in its own words.
    Elsewhere {
        /// Location of the store.
        place: String,
        /// Description of the error.
        message: String,
    },
}

impl StoreError {
    /// Returns the error for an error of the system.
    pub(crate) fn io(path: &Path, doing: &'static str, error: &io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path, doing },
            _ => Self::Io { path, doing, message: error.to_string() },
        }
    }

    /// Returns `true` if the ledger itself may be damaged, rather than the access to it.
    pub fn is_damage(&self) -> bool {
        use StoreError::*;
        match self {
            Structure { .. } | State { .. } | Record { .. } | Count { .. } | Digest { .. } | Ahead { .. } => true,
            Behind { .. } | Differs { .. } | SealForeign { .. } | SealDamaged { .. } | SealMissing { .. } => true,
            DatabaseMissing { .. } | LogForeign { .. } => true,
            Locked { .. } | Missing { .. } | DirectoryMissing { .. } | Permission { .. } | Exposed { .. } => false,
            ReadOnly { .. } | NoSpace { .. } | Io { .. } | NotALedger { .. } | Future { .. } | Broken { .. } => false,
            Elsewhere { .. } => false,
        }
    }
}

const RESTORE: &str = "Restore a backup";
const RESEAL: &str = "or accept the database as it is: wayleave ledger reseal";

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { .. }
            | Self::Missing { .. }
            | Self::DirectoryMissing { .. }
            | Self::Permission { .. }
            | Self::Exposed { .. }
            | Self::ReadOnly { .. }
            | Self::NoSpace { .. }
            | Self::Io { .. }
            | Self::Broken { .. } => self.fmt_access(f),
            Self::Elsewhere { place, message } => write!(f, "{place}: {message}"),
            Self::NotALedger { .. } | Self::Future { .. } => self.fmt_foreign(f),
            Self::Structure { .. }
            | Self::State { .. }
            | Self::Record { .. }
            | Self::Count { .. }
            | Self::Digest { .. } => self.fmt_damage(f),
            _ => self.fmt_seal(f),
        }
    }
}

impl StoreError {
    fn fmt_access(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path, holder } => {
                write!(f, "{} is in use by ", path.display())?;
                match holder {
                    Some(holder) => write!(f, "{holder}")?,
                    None => f.write_str("another process")?,
                }
                f.write_str(". A ledger has one owner at a time: use that process, or stop it first")
            }
            Self::Missing { path } => {
                write!(f, "there is no ledger at {}. Check the path; `wayleave serve` creates one", path.display())
            }
            Self::DirectoryMissing { directory } => write!(
                f,
                "the directory {0} does not exist. Create it for the user that runs Wayleave: mkdir -p -m 700 {0}",
                directory.display()
            ),
            Self::Permission { path, doing } => write!(
                f,
                "{doing} {} is not permitted to this user. Run as the user that owns it, or give it to this user (chown)",
                path.display()
            ),
            Self::Exposed { path, mode } => write!(
                f,
                "{0} can be read or changed by other users (mode {mode:04o}, at most 0640 is accepted). \
                 Run: chmod 600 {0}",
                path.display()
            ),
            Self::ReadOnly { path } => write!(
                f,
                "{} cannot be written: its file or file system is read-only. A ledger is written to at every commit: \
                 make it writable, or move the ledger with its seal",
                path.display()
            ),
            Self::NoSpace { path } => write!(
                f,
                "no space is left for {}. Nothing that was acknowledged is lost: free some space, then start again",
                path.display()
            ),
            Self::Io { path, doing, message } => write!(
                f,
                "{doing} {} failed: {message}. Nothing that was acknowledged is lost. Check the disk (df, dmesg), then start again",
                path.display()
            ),
            Self::Broken { path } => write!(
                f,
                "an earlier commit to {} failed, so it is closed for writing. Open it again; nothing that was acknowledged is lost",
                path.display()
            ),
            _ => Ok(()),
        }
    }

    fn fmt_foreign(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotALedger { path, found } => {
                write!(f, "{} is not a Wayleave ledger: {found}. Check the path; nothing was changed", path.display())
            }
            Self::Future { path, found, known } => write!(
                f,
                "{} has format {found}, and this version of Wayleave knows {known}. Use the version that wrote it, or a \
                 later one",
                path.display()
            ),
            _ => Ok(()),
        }
    }

    fn fmt_damage(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structure { path, found } => {
                write!(f, "{} is damaged: {found}. {RESTORE}", path.display())
            }
            Self::State { path } => write!(
                f,
                "the state of the ledger in {} is missing or does not match its checksum. {RESTORE}, {RESEAL} {0}",
                path.display()
            ),
            Self::Record { path, kind, key } => write!(
                f,
                "the record {kind} {key:?} in {} does not match its checksum. {RESTORE}, or discard this record: delete it with sqlite3, then run: wayleave ledger reseal {0}",
                path.display()
            ),
            Self::Count { path, found, expected } => {
                write!(
                    f,
                    "{} has {found} records, but {expected} are expected. {RESTORE}, {RESEAL} {0}",
                    path.display()
                )
            }
            Self::Digest { path } => write!(
                f,
                "each record in {} is intact, but the set does not match the last commit: a record is old, or from another ledger. {RESTORE}, {RESEAL} {0}",
                path.display()
            ),
            _ => Ok(()),
        }
    }

    fn fmt_seal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ahead { path, seal, found, sealed } => write!(
                f,
                "{} ends with commit {found}, but its seal {} with {sealed}: the seal is old. Restore the matching seal, {RESEAL} {0}",
                path.display(),
                seal.display()
            ),
            Self::Behind { path, found, sealed } => write!(
                f,
                "{} ends with commit {found}, but commit {sealed} was acknowledged: {} lost. The file ends in an old \
                 state, or its log ({}-wal) is damaged or gone. {RESTORE}, {RESEAL} {0} (what is lost stays lost)",
                path.display(),
                commits(sealed - found),
                path.display()
            ),
            Self::Differs { path, seal, sequence } => write!(
                f,
                "{} and its seal {} both end with commit {sequence}, but with different records: one of them is from another ledger. {RESTORE}, {RESEAL} {0}",
                path.display(),
                seal.display()
            ),
            Self::SealForeign { path, seal } => write!(
                f,
                "{} is not the seal of {}: it belongs to another ledger. Restore the matching seal, {RESEAL} {1}",
                seal.display(),
                path.display()
            ),
            Self::SealDamaged { path, seal, found } => write!(
                f,
                "the seal {} is damaged: {found}. The database can therefore not be checked for missing commits. {RESTORE}, {RESEAL} {}",
                seal.display(),
                path.display()
            ),
            Self::LogForeign { path, log, sequence } => write!(
                f,
                "{log} is not the log of {}: it belongs to another database. Without it, this ledger is intact and ends with the last acknowledged commit, {sequence}. Remove it: rm {log}",
                path.display(),
                log = log.display()
            ),
            Self::SealMissing { path, seal } => write!(
                f,
                "{} has no seal: {} does not exist. The database can therefore not be checked for missing commits. Restore the seal, {RESEAL} {0}",
                path.display(),
                seal.display()
            ),
            Self::DatabaseMissing { path, sealed } => write!(
                f,
                "{} is missing or empty, but commit {sealed} was acknowledged. {RESTORE}. For a new ledger, choose \
                 another path, or remove the seal ({}-seal) too",
                path.display(),
                path.display()
            ),
            _ => Ok(()),
        }
    }
}

fn commits(number: u64) -> String {
    if number == 1 { "one commit is".to_owned() } else { format!("{number} commits are") }
}

impl std::error::Error for StoreError {}
