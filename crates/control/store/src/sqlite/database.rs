//! The database: its tables, its transactions, and the meaning of SQLite's errors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi, params};

use crate::digest::{Digest, Mark, sum};
use crate::index::{Index, Location};
use crate::{CommitStep, Holder, Kind, StoreError, StoredRecord};

/// `application_id` in the header of the file: "WLwl".
pub(super) const APPLICATION: u32 = 0x574c_776c;
/// `user_version` in the header of the file: the latest version of its content.
pub(super) const VERSION: u32 = 5;
/// Version of a ledger without a record of a later kind. Its tables are equal to those of later versions, and
/// programs that support no other version can open it.
const FIRST_VERSION: u32 = 1;
/// The kinds of records that came later, and with which version. A program that does not know a kind would leave its records out, and promise
/// what they hold to others: so the first commit with one makes the ledger one of that version, which older programs refuse.
const SINCE: [(&str, u32); 4] = [("shared", 2), ("history", 3), ("policy", 4), ("admitted", 5)];

/// The tables. There is no index by kind and key: [`Index`] is in memory, made of the rows.
const TABLES: &str = "
CREATE TABLE records (
  row INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, sum BLOB NOT NULL
);
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1), ledger BLOB NOT NULL, sequence INTEGER NOT NULL, records INTEGER NOT NULL,
  digest BLOB NOT NULL, sum BLOB NOT NULL
);
";

/// An open connection that owns its file.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    index: Index,
    /// The version of the file, once something was written: records of later kinds are not in it yet.
    version: Option<u32>,
    /// Memory in which checksums are computed.
    scratch: Vec<u8>,
}

/// Content of a database, checked for consistency.
#[derive(Debug, Default)]
pub(super) struct DatabaseState {
    pub(super) records: Vec<StoredRecord>,
    /// State recorded in the database, if it can be read.
    pub(super) mark: Option<Mark>,
    /// Digest of the records present.
    pub(super) digest: Digest,
}

impl Database {
    /// Makes an empty file a database without records.
    pub(super) fn create(path: &Path) -> Result<(), StoreError> {
        let mut database = Self::connect(path)?;
        database.try_create().map_err(|error| sqlite(path, "creating", &error))?;
        database.log_ahead()?;
        database.close()
    }

    fn try_create(&mut self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "synchronous", "EXTRA")?;
        let transaction = self.connection.transaction()?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", FIRST_VERSION)?;
        transaction.execute_batch(TABLES)?;
        let ledger: [u8; 16] = transaction.query_row("SELECT randomblob(16)", [], |row| row.get(0))?;
        let mark = Mark { ledger: u128::from_le_bytes(ledger), sequence: 0, digest: Digest::default() };
        put_state(&transaction, mark)?;
        transaction.commit()
    }

    /// Writes a copy into an empty file.
    pub(super) fn copy(&self, to: &Path) -> Result<(), StoreError> {
        let name = to.to_str().ok_or_else(|| StoreError::Io {
            path: to.to_owned(),
            doing: "creating",
            message: "SQLite needs a path in UTF-8".to_owned(),
        })?;
        let copied = self.connection.execute("VACUUM INTO ?1", [name]);
        copied.map_err(|error| sqlite(to, "writing", &error))?;
        let copy = Self::connect(to)?;
        copy.log_ahead()?;
        copy.close()
    }

    /// Opens an existing ledger and takes it for this process alone. Nothing is written, also when it is closed.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let database = Self::connect(path)?;
        database.configure().map_err(|error| sqlite(path, "opening", &error))?;
        Ok(database)
    }

    /// Opens the file of a database as it is, without the log beside it, to be read alone.
    pub(super) fn open_without_log(path: &Path) -> Result<Self, StoreError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
        let name = path
            .as_os_str()
            .as_encoded_bytes()
            .iter()
            .map(|&byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
        let uri = format!("file:{}?immutable=1", name.collect::<String>());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(uri, flags).map_err(|error| sqlite(path, "opening", &error))?;
        let (index, scratch) = (Index::default(), Vec::new());
        Ok(Self { connection, path: path.to_owned(), index, version: None, scratch })
    }

    fn connect(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(Duration::ZERO)?;
            // No shared memory, and the lock stays until the end. Before the first access, or it has no effect.
            connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
            Ok(connection)
        };
        let connection = open().map_err(|error| sqlite(path, "opening", &error))?;
        let (index, scratch) = (Index::default(), Vec::new());
        Ok(Self { connection, path: path.to_owned(), index, version: None, scratch })
    }

    fn configure(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        // Closing would copy the log into the database and delete it, also one that is damaged.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.set_prepared_statement_cache_capacity(16);
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // KiB: the pages of 100,000 contracts are not all needed.
        connection.pragma_update(None, "cache_size", -65_536)?;
        Ok(())
    }

    /// The application and the version of the file, as the last commit left them.
    pub(super) fn identity(&self) -> Result<(u32, u32), StoreError> {
        let number = |name| self.connection.pragma_query_value(None, name, |row| row.get(0));
        let both = || Ok((number("application_id")?, number("user_version")?));
        both().map_err(|error| sqlite(&self.path, "reading", &error))
    }

    /// Checks the structure of the file with SQLite.
    pub(super) fn structure(&self) -> Result<(), StoreError> {
        let check = || self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        let answer = check().map_err(|error| sqlite(&self.path, "checking", &error))?;
        if answer == "ok" {
            return Ok(());
        }
        let found = answer.lines().map(str::trim).collect::<Vec<_>>().join(", ");
        Err(StoreError::Structure { path: self.path.clone(), found })
    }

    /// Turns the write-ahead log on, where it is not: SQLite's own copies of a database come without.
    pub(super) fn log_ahead(&self) -> Result<(), StoreError> {
        let switch = || {
            self.connection.execute_batch("PRAGMA journal_mode = WAL")?;
            // A switch leaves a read transaction open, in which no log can be copied; the end of any other ends it too.
            self.connection.query_row("SELECT count(*) FROM state", [], |_| Ok(()))?;
            self.connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0))
        };
        let mode = switch().map_err(|error| sqlite(&self.path, "writing", &error))?;
        let message = format!("the journal mode stays {mode}");
        let failed = || StoreError::Io { path: self.path.clone(), doing: "turning on the write-ahead log of", message };
        if mode == "wal" { Ok(()) } else { Err(failed()) }
    }

    /// Reads everything. A record that does not match its checksum is a fault and is left out.
    pub(super) fn read(&mut self, faults: &mut Vec<StoreError>) -> Result<DatabaseState, StoreError> {
        let mut found = DatabaseState::default();
        let result = self.try_read(&mut found, faults);
        result.map_err(|error| sqlite(&self.path, "reading", &error))?;
        let Some(mark) = found.mark else {
            faults.push(StoreError::State { path: self.path.clone() });
            return Ok(found);
        };
        let (there, expected) = (found.digest.records, mark.digest.records);
        if there != expected {
            faults.push(StoreError::Count { path: self.path.clone(), found: there, expected });
        } else if found.digest != mark.digest {
            faults.push(StoreError::Digest { path: self.path.clone() });
        }
        Ok(found)
    }

    fn try_read(&mut self, found: &mut DatabaseState, faults: &mut Vec<StoreError>) -> rusqlite::Result<()> {
        let Self { connection, path, index, scratch, .. } = self;
        found.mark = state(connection)?;
        found.records.reserve(found.mark.map_or(0, |mark| mark.digest.records.min(1 << 20) as usize));
        let mut statement = connection.prepare("SELECT kind, key, body, sum, row FROM records ORDER BY row")?;
        let mut rows = statement.query([])?;
        // Neighbours are often of one kind, and share its text.
        let mut kind = Kind::Borrowed("");
        while let Some(row) = rows.next()? {
            let parts = [row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?];
            let [Ok(this), Ok(key), Ok(body)] = parts.map(|part| part.as_str()) else {
                faults.push(damaged(path, parts));
                continue;
            };
            let stored = row.get_ref(3)?.as_blob().ok();
            let sum = sum(this, key, body, scratch);
            if stored != Some(&sum.to_le_bytes()[..]) {
                faults.push(damaged(path, parts));
                continue;
            }
            if kind != this {
                kind = Kind::Owned(this.to_owned());
            }
            if !index.load(&kind, key, Location { row: row.get(4)?, sum }) {
                let found = format!("the record {kind} {key:?} exists twice");
                faults.push(StoreError::Structure { path: path.clone(), found });
                continue;
            }
            found.digest.add(sum);
            found.records.push(StoredRecord::new(kind.clone(), key, body));
        }
        Ok(())
    }

    /// One transaction: all the changes and the new state, on disk when this returns.
    pub(super) fn commit(&mut self, mark: Mark, changes: &[CommitStep]) -> Result<Mark, StoreError> {
        let result = self.try_commit(mark, changes);
        result.map_err(|error| sqlite(&self.path, "writing", &error))
    }

    fn try_commit(&mut self, before: Mark, changes: &[CommitStep]) -> rusqlite::Result<Mark> {
        let Self { connection, index, scratch, version, .. } = self;
        let transaction = connection.transaction()?;
        let before_version = match *version {
            Some(version) => version,
            None => transaction.pragma_query_value(None, "user_version", |row| row.get(0))?,
        };
        let needed = changes.iter().map(since).max().map_or(before_version, |needed| needed.max(before_version));
        if needed > before_version {
            transaction.pragma_update(None, "user_version", needed)?;
        }
        let mut mark = Mark { sequence: before.sequence + 1, ..before };
        for change in changes {
            apply(&transaction, change, index, &mut mark.digest, scratch)?;
        }
        put_state(&transaction, mark)?;
        transaction.commit()?;
        *version = Some(needed);
        Ok(mark)
    }

    /// Sets the state of the ledger, independently of the recorded one.
    pub(super) fn set_state(&mut self, mark: Mark) -> Result<(), StoreError> {
        let set = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            transaction.execute("DELETE FROM state", [])?;
            put_state(&transaction, mark)?;
            transaction.commit()
        };
        set(&mut self.connection).map_err(|error| sqlite(&self.path, "writing", &error))
    }

    /// A new name for a ledger.
    pub(super) fn random(&self) -> Result<u128, StoreError> {
        let bytes = self.connection.query_row("SELECT randomblob(16)", [], |row| row.get(0));
        bytes.map(u128::from_le_bytes).map_err(|error| sqlite(&self.path, "reading", &error))
    }

    /// Copies the log into the database and syncs it. The log is used from its beginning again, or (`empty`) cut to nothing.
    pub(super) fn checkpoint(&mut self, empty: bool) -> Result<(), StoreError> {
        let statement = if empty { "PRAGMA wal_checkpoint(TRUNCATE)" } else { "PRAGMA wal_checkpoint(PASSIVE)" };
        let busy: i64 = (self.connection.query_row(statement, [], |row| row.get(0)))
            .map_err(|error| sqlite(&self.path, "writing", &error))?;
        if busy == 0 { Ok(()) } else { Err(locked(&self.path)) }
    }

    /// Copies the log into the database and deletes it.
    pub(super) fn close(mut self) -> Result<(), StoreError> {
        self.checkpoint(true)?;
        let Self { connection, path, .. } = self;
        let config = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        config.map_err(|error| sqlite(&path, "closing", &error))?;
        connection.close().map_err(|(_, error)| sqlite(&path, "closing", &error))
    }
}

/// Makes one change and keeps index and digest in step.
fn apply(
    connection: &Connection,
    change: &CommitStep,
    index: &mut Index,
    digest: &mut Digest,
    scratch: &mut Vec<u8>,
) -> rusqlite::Result<()> {
    match change {
        CommitStep::Put(StoredRecord { kind, key, body }) => {
            let sum = sum(kind, key, body, scratch);
            let before = index.get(kind, key);
            if let Some(before) = before {
                digest.remove(before.sum);
                let mut update = connection.prepare_cached("UPDATE records SET body = ?2, sum = ?3 WHERE row = ?1")?;
                one(update.execute(params![before.row, &**body, sum.to_le_bytes()])?)?;
            }
            let row = before.map_or_else(|| index.take_row(), |before| before.row);
            if before.is_none() {
                let mut insert = connection
                    .prepare_cached("INSERT INTO records (row, kind, key, body, sum) VALUES (?1, ?2, ?3, ?4, ?5)")?;
                insert.execute(params![row, kind, key, &**body, sum.to_le_bytes()])?;
            }
            digest.add(sum);
            index.put(kind, key, Location { row, sum });
        }
        CommitStep::Delete { kind, key } => {
            if let Some(before) = index.remove(kind, key) {
                digest.remove(before.sum);
                let mut delete = connection.prepare_cached("DELETE FROM records WHERE row = ?1")?;
                one(delete.execute([before.row])?)?;
            }
        }
    }
    Ok(())
}

/// The version with which programs came to know what a change puts.
fn since(change: &CommitStep) -> u32 {
    let CommitStep::Put(record) = change else { return FIRST_VERSION };
    SINCE.iter().find(|(kind, _)| *kind == record.kind).map_or(FIRST_VERSION, |&(_, version)| version)
}

/// A record that the index knows is there; anything else is damage that came while the file was open.
fn one(rows: usize) -> rusqlite::Result<()> {
    if rows == 1 { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(rows)) }
}

/// SQLite's integers are signed: the 64 bits are stored unchanged.
fn put_state(connection: &Connection, mark: Mark) -> rusqlite::Result<()> {
    let mut put = connection.prepare_cached(
        "INSERT OR REPLACE INTO state (id, ledger, sequence, records, digest, sum) VALUES (1, ?1, ?2, ?3, ?4, ?5)",
    )?;
    let Mark { ledger, sequence, digest } = mark;
    put.execute(params![
        ledger.to_le_bytes(),
        sequence.cast_signed(),
        digest.records.cast_signed(),
        digest.total.to_le_bytes(),
        mark.sum().to_le_bytes()
    ])?;
    Ok(())
}

/// The state of the ledger; `None` if it is missing or does not fit its checksum.
fn state(connection: &Connection) -> rusqlite::Result<Option<Mark>> {
    let mut statement = connection.prepare("SELECT ledger, sequence, records, digest, sum FROM state WHERE id = 1")?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let blob = |index| row.get::<_, [u8; 16]>(index).map(u128::from_le_bytes);
    let number = |index| row.get::<_, i64>(index).map(i64::cast_unsigned);
    let (Ok(ledger), Ok(sequence), Ok(records), Ok(total), Ok(sum)) = (blob(0), number(1), number(2), blob(3), blob(4))
    else {
        return Ok(None);
    };
    let mark = Mark { ledger, sequence, digest: Digest { records, total } };
    Ok((mark.sum() == sum).then_some(mark))
}

fn damaged(path: &Path, [kind, key, _]: [rusqlite::types::ValueRef<'_>; 3]) -> StoreError {
    let text = |part: rusqlite::types::ValueRef<'_>| {
        part.as_bytes().map_or_else(|_| "?".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    StoreError::Record { path: path.to_owned(), kind: text(kind), key: text(key) }
}

pub(super) fn locked(path: &Path) -> StoreError {
    StoreError::Locked { path: path.to_owned(), holder: Holder::of(path) }
}

/// Returns the store's error for an error of SQLite.
pub(super) fn sqlite(path: &Path, doing: &'static str, error: &rusqlite::Error) -> StoreError {
    let owned = path.to_owned();
    let rusqlite::Error::SqliteFailure(ffi::Error { code, extended_code }, _) = error else {
        // A value of another type than the tables have.
        return StoreError::Structure { path: owned, found: error.to_string() };
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => locked(path),
        ErrorCode::DiskFull => StoreError::NoSpace { path: owned },
        ErrorCode::ReadOnly => StoreError::ReadOnly { path: owned },
        ErrorCode::PermissionDenied => StoreError::Permission { path: owned, doing },
        ErrorCode::NotADatabase => {
            StoreError::NotALedger { path: owned, found: "it is not a SQLite database".to_owned() }
        }
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::OutOfMemory => StoreError::Io {
            path: owned,
            doing: call(*extended_code).unwrap_or(doing),
            message: format!("{error} (SQLite code {extended_code})"),
        },
        _ => StoreError::Structure { path: owned, found: error.to_string() },
    }
}

/// Returns the failed call of the system, where SQLite reports it.
fn call(extended_code: i32) -> Option<&'static str> {
    match extended_code {
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ => Some("reading"),
        ffi::SQLITE_IOERR_WRITE => Some("writing"),
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => Some("syncing"),
        ffi::SQLITE_IOERR_TRUNCATE => Some("cutting"),
        ffi::SQLITE_IOERR_DELETE => Some("removing"),
        _ => None,
    }
}
