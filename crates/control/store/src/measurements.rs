//! Measurements beside a ledger: chunks of histories, and the minutes in which contracts were kept or broken.
//!
//! They are no part of the ledger: the controller decides without them, and a file that is damaged is put aside. A
//! transaction may be lost with the power; a half of one is never there.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use damaged::put_aside;
pub use observed::Observed;

/// `application_id` in the header of the file: "WLme".
const APPLICATION: u32 = 0x574c_6d65;
/// `user_version` in the header of the file. Version 1 has no intervals of unknown minutes; it would take them for kept ones.
const VERSION: u32 = 2;
/// Maximum size of the chunks in the file, in bytes: the oldest are deleted first.
const MAX_CHUNK_BYTES: u64 = 256 << 20;
/// Retention of chunks, in minutes.
const CHUNK_RETENTION: u64 = 7 * 24 * 60;
/// Retention of intervals, in minutes: 13 months.
const INTERVAL_RETENTION: u64 = 400 * 24 * 60;
/// Maximum number of intervals, each of about 30 B: the oldest are deleted first.
const MAX_INTERVALS: u64 = 10_000_000;
/// Maximum number of state changes, each of about 200 B.
const MAX_CHANGES: u64 = 1_000_000;
/// Maximum number of gaps, and of those that are read of a period: the latest.
const MAX_GAPS: i64 = 10_000;
const MAX_READ_GAPS: i64 = 1_000;
/// Maximum number of state changes that are read of a contract, and of all contracts of a tenant.
const CHANGES_OF_CONTRACT: usize = 100;
const MAX_READ_CHANGES: i64 = 100_000;

const TABLES: &str = "
CREATE TABLE series (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE chunk (
  start INTEGER NOT NULL, series INTEGER NOT NULL, points BLOB NOT NULL, PRIMARY KEY (start, series)
) WITHOUT ROWID;
CREATE TABLE contract (
  serial INTEGER PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL, begun INTEGER NOT NULL, ended INTEGER
);
CREATE INDEX contract_of_tenant ON contract (tenant);
CREATE TABLE interval (
  serial INTEGER NOT NULL, begun INTEGER NOT NULL, ended INTEGER, kept INTEGER NOT NULL, PRIMARY KEY (serial, begun)
) WITHOUT ROWID;
CREATE INDEX interval_end ON interval (ended);
CREATE TABLE change (
  id INTEGER PRIMARY KEY, serial INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX change_of_contract ON change (serial, at);
CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), until INTEGER NOT NULL);
INSERT INTO clock VALUES (1, 0);
";
/// Begin of the record: `created` in seconds since 1970, 0 for a file of a version without this table, and `began`, the
/// first minute whose observation is in the file. Gaps of the record are in seconds since 1970; the one before its begin
/// begins with 0.
const RECORD: &str = "
CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY CHECK (id = 1), created INTEGER NOT NULL, began INTEGER);
CREATE TABLE IF NOT EXISTS gap (begun INTEGER PRIMARY KEY, ended INTEGER NOT NULL);
";

/// Points of a history from a minute on, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Name of the history.
    pub series: String,
    /// First minute since 1970.
    pub start: u64,
    /// Points of equal size.
    pub points: Vec<u8>,
}

/// Change that is written with a minute. Times are minutes since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MinuteChange {
    /// A contract exists from a minute on.
    Contract {
        /// Serial number.
        serial: u64,
        /// Its tenant.
        tenant: String,
        /// Its name.
        name: String,
        /// First whole minute.
        begun: u64,
    },
    /// A tenant was deleted: nothing is kept of its contracts.
    ForgetTenant {
        /// Its name.
        tenant: String,
    },
    /// A contract does not exist from a minute on.
    End {
        /// Serial number.
        serial: u64,
        /// First minute without it.
        ended: u64,
    },
    /// An interval begins.
    Begin {
        /// Serial number.
        serial: u64,
        /// Its first minute.
        minute: u64,
        /// Observation of its minutes.
        observed: Observed,
    },
    /// The open interval of a contract is over.
    Close {
        /// Serial number.
        serial: u64,
        /// First minute after it.
        minute: u64,
    },
    /// A contract changes its state.
    State {
        /// Serial number.
        serial: u64,
        /// Time in ns since 1970.
        at: u64,
        /// The new state.
        kind: String,
        /// Reason.
        text: String,
    },
}

/// A contract with its intervals within a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedContract {
    /// Its name.
    pub name: String,
    /// First whole minute of its existence.
    pub begun: u64,
    /// First minute without it; `None` if it exists.
    pub ended: Option<u64>,
    /// Intervals (from, to, observation), in order; minutes between them were not observed.
    pub intervals: Vec<(u64, u64, Observed)>,
    /// Changes of its state (ns since 1970, kind, text), in order.
    pub changes: Vec<(u64, String, String)>,
}

/// Measurements in a file, or in memory.
#[derive(Debug)]
pub struct Measurements {
    connection: Connection,
}

/// Result of opening a file.
#[derive(Debug)]
pub struct OpenedMeasurements {
    /// The measurements.
    pub measurements: Measurements,
    /// Reason for which an earlier file was put aside, and where it is.
    pub put_aside: Option<String>,
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or(0)
}

impl Measurements {
    /// Opens the file, or creates it; without a file, measurements are in memory. A file that is damaged, or that
    /// another version has written, is renamed: the latest three of them are kept. Open intervals end with the
    /// last recorded minute. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// If the file can be neither opened nor created.
    pub fn open(path: Option<&Path>, now: u64) -> Result<OpenedMeasurements, String> {
        let Some(path) = path else {
            let failed = |error: rusqlite::Error| format!("measurements in memory: {error}");
            let measurements = Self { connection: Connection::open_in_memory().map_err(failed)? };
            measurements.create(now).map_err(failed)?;
            return Ok(OpenedMeasurements { measurements, put_aside: None });
        };
        match Self::open_file(path, now) {
            Ok(measurements) => Ok(OpenedMeasurements { measurements, put_aside: None }),
            Err(Unusable { why, is_damaged: false }) => Err(format!("{}: {why}", path.display())),
            Err(Unusable { why, is_damaged: true }) => {
                let aside = put_aside(path).map_err(|error| format!("{}: {why}, and {error}", path.display()))?;
                let measurements =
                    Self::open_file(path, now).map_err(|unusable| format!("{}: {}", path.display(), unusable.why))?;
                let put_aside = format!(
                    "{}: {why}: histories and statements begin anew; the old file is {}",
                    path.display(),
                    aside.display()
                );
                Ok(OpenedMeasurements { measurements, put_aside: Some(put_aside) })
            }
        }
    }

    fn open_file(path: &Path, now: u64) -> Result<Self, Unusable> {
        // Names of tenants and contracts are in it, as in the ledger.
        let created = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        created.map_err(|error| Unusable { why: error.to_string(), is_damaged: false })?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(std::time::Duration::ZERO)?;
        connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let measurements = Self { connection };
        let pragma = |name: &str| measurements.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        match (pragma("application_id")?, pragma("user_version")?) {
            (0, 0) => measurements.create(now)?,
            (application, version)
                if application != i64::from(APPLICATION) || !(1..=i64::from(VERSION)).contains(&version) =>
            {
                return Err(Unusable { why: "it is no measurement file of this version".to_owned(), is_damaged: true });
            }
            _ => {
                let found =
                    measurements.connection.pragma_query_value(None, "quick_check", |row| row.get::<_, String>(0))?;
                if found != "ok" {
                    return Err(Unusable { why: format!("it is damaged ({found})"), is_damaged: true });
                }
                measurements.connection.execute_batch(&format!("{RECORD} PRAGMA user_version = {VERSION};"))?;
                let began = "INSERT OR IGNORE INTO record SELECT 1, 0, min(begun) FROM interval";
                measurements.connection.execute(began, [])?;
            }
        }
        measurements.close_intervals(&measurements.connection)?;
        Ok(measurements)
    }

    fn create(&self, now: u64) -> rusqlite::Result<()> {
        let record = format!("{RECORD} INSERT INTO record VALUES (1, {}, NULL);", integer(now));
        self.connection.execute_batch(&format!(
            "BEGIN; {TABLES} {record} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
        ))
    }

    fn close_intervals(&self, connection: &Connection) -> rusqlite::Result<()> {
        // An interval that began after the last recorded minute was never recorded.
        connection.execute("DELETE FROM interval WHERE ended IS NULL AND begun >= (SELECT until FROM clock)", [])?;
        connection.execute("UPDATE interval SET ended = (SELECT until FROM clock) WHERE ended IS NULL", [])?;
        // Contracts that still exist are written again, which removes their end.
        connection.execute("UPDATE contract SET ended = (SELECT until FROM clock) WHERE ended IS NULL", [])?;
        Ok(())
    }

    /// Writes chunks, and deletes chunks that are too old or too many. `now` is in minutes since 1970.
    ///
    /// # Errors
    /// If they cannot be written: then none is.
    pub fn put_chunks(&mut self, now: u64, chunks: &[Chunk]) -> Result<(), String> {
        let work = |transaction: &Transaction<'_>| {
            {
                let mut id = transaction.prepare_cached("SELECT id FROM series WHERE name = ?1")?;
                let mut name = transaction.prepare_cached("INSERT INTO series (name) VALUES (?1)")?;
                let mut put = transaction.prepare_cached("INSERT OR REPLACE INTO chunk VALUES (?1, ?2, ?3)")?;
                for Chunk { series, start, points } in chunks {
                    let known = id.query_row([series], |row| row.get::<_, i64>(0)).optional()?;
                    let id = match known {
                        Some(id) => id,
                        None => name.insert([series])?,
                    };
                    put.execute(params![integer(*start), id, points])?;
                }
            }
            transaction
                .execute("DELETE FROM chunk WHERE start < ?1", [integer(now.saturating_sub(CHUNK_RETENTION))])?;
            loop {
                let bytes: i64 =
                    transaction
                        .query_row("SELECT ifnull(sum(length(points) + 16), 0) FROM chunk", [], |row| row.get(0))?;
                let oldest: Option<i64> =
                    transaction.query_row("SELECT min(start) FROM chunk", [], |row| row.get(0))?;
                let Some(oldest) = oldest.filter(|_| number(bytes) > MAX_CHUNK_BYTES) else { break };
                transaction.execute("DELETE FROM chunk WHERE start = ?1", [oldest])?;
            }
            Ok(())
        };
        self.transact("histories", work)
    }

    /// Returns the points of a history at these starts of chunks, in their order.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn chunks(&self, series: &str, starts: impl Iterator<Item = u64>) -> Result<Vec<(u64, Vec<u8>)>, String> {
        let read = || {
            let id = "SELECT id FROM series WHERE name = ?1";
            let id = self.connection.query_row(id, [series], |row| row.get::<_, i64>(0)).optional()?;
            let Some(id) = id else { return Ok(Vec::new()) };
            let text = "SELECT points FROM chunk WHERE start = ?1 AND series = ?2";
            let mut statement = self.connection.prepare_cached(text)?;
            let mut chunks = Vec::new();
            for start in starts {
                let points = statement.query_row([integer(start), id], |row| row.get(0)).optional()?;
                chunks.extend(points.map(|points| (start, points)));
            }
            Ok(chunks)
        };
        read().map_err(|error: rusqlite::Error| format!("measurements cannot be read: {error}"))
    }

    /// Returns the oldest chunk of a history.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn oldest_chunk(&self, series: &str) -> Result<Option<(u64, Vec<u8>)>, String> {
        // The key of a chunk begins with its start: all starts are tried, at most 1,008 in the retention.
        let next = |after: i64| {
            let text = "SELECT min(start) FROM chunk WHERE start > ?1";
            let row = |row: &Row<'_>| row.get::<_, Option<i64>>(0);
            self.connection.prepare_cached(text)?.query_row([after], row)
        };
        let mut after = -1;
        loop {
            let start = next(after).map_err(|error| format!("measurements cannot be read: {error}"))?;
            let Some(start) = start else { return Ok(None) };
            if let Some(chunk) = self.chunks(series, std::iter::once(number(start)))?.pop() {
                return Ok(Some(chunk));
            }
            after = start;
        }
    }

    /// Returns the time at which the file was created, in seconds since 1970; 0 if it is unknown.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn created(&self) -> Result<u64, String> {
        let created = self.connection.query_row("SELECT created FROM record", [], |row| row.get(0));
        created.map(number).map_err(|error| format!("measurements cannot be read: {error}"))
    }

    /// Returns the first minute whose observation is in the file; `None` before it is written.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn began(&self) -> Result<Option<u64>, String> {
        let began = self.connection.query_row("SELECT began FROM record", [], |row| row.get::<_, Option<i64>>(0));
        began.map(|began| began.map(number)).map_err(|error| format!("measurements cannot be read: {error}"))
    }

    /// Returns the gaps of the record in a period, in seconds since 1970, in order; at most the latest 1,000.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn gaps(&self, from: u64, to: u64) -> Result<Vec<(u64, u64)>, String> {
        let read = || {
            let text = "SELECT begun, ended FROM gap WHERE begun < ?2 AND ended > ?1 ORDER BY begun DESC LIMIT ?3";
            let mut statement = self.connection.prepare_cached(text)?;
            let row = |row: &Row<'_>| Ok((number(row.get(0)?), number(row.get(1)?)));
            let rows = statement.query_map([integer(from), integer(to), MAX_READ_GAPS], row)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut gaps = read().map_err(|error| format!("measurements cannot be read: {error}"))?;
        gaps.reverse();
        Ok(gaps)
    }

    /// Ends all open intervals with the last recorded minute: what came after is unknown.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn close_all(&mut self) -> Result<(), String> {
        let closed = self.close_intervals(&self.connection);
        closed.map_err(|error| format!("minutes of contracts cannot be written: {error}"))
    }

    /// Writes the changes of a minute. `until` is the first minute that is not recorded. With `covered_from`, nothing was
    /// observed between the last recorded minute and that time, in seconds since 1970.
    ///
    /// # Errors
    /// If they cannot be written, or this minute was recorded before: then none is written, and the caller has to begin
    /// all intervals anew.
    pub fn put_minute(
        &mut self,
        until: u64,
        covered_from: Option<u64>,
        changes: &[MinuteChange],
    ) -> Result<(), String> {
        let recorded = self.until()?;
        if until <= recorded {
            return Err(format!("the minute before {until} is recorded up to {recorded}"));
        }
        let work = |transaction: &Transaction<'_>| {
            for change in changes {
                put_change(transaction, change)?;
            }
            transaction.execute("UPDATE clock SET until = ?1", [integer(until)])?;
            let began = integer(until.saturating_sub(1));
            // The file of an earlier version has a begin without a gap.
            let is_first = transaction.execute("UPDATE record SET began = ?1 WHERE began IS NULL", [began])? > 0;
            let begun = if is_first { 0 } else { recorded.saturating_mul(60) };
            if let Some(ended) = covered_from.filter(|&ended| ended > begun) {
                transaction.execute("INSERT OR REPLACE INTO gap VALUES (?1, ?2)", [integer(begun), integer(ended)])?;
            }
            Ok(())
        };
        self.transact("minutes of contracts", work)
    }

    /// Deletes intervals and changes that are too old or too many. `now` is in minutes since 1970.
    ///
    /// # Errors
    /// If they cannot be deleted.
    pub fn prune(&mut self, now: u64) -> Result<(), String> {
        let first = integer(now.saturating_sub(INTERVAL_RETENTION));
        self.transact("minutes of contracts", |transaction| {
            let count = |table: &str| {
                let text = format!("SELECT count(*) FROM {table}");
                transaction.query_row(&text, [], |row| row.get::<_, i64>(0)).map(number)
            };
            transaction.execute("DELETE FROM interval WHERE ended < ?1", [first])?;
            let begin = "UPDATE record SET began = max(began, ?1)";
            transaction.execute(begin, [first])?;
            let more = count("interval")?.saturating_sub(MAX_INTERVALS);
            if more > 0 {
                let last = "SELECT ended FROM interval WHERE ended NOT NULL ORDER BY ended LIMIT 1 OFFSET ?1";
                let last: Option<i64> = transaction.query_row(last, [integer(more)], |row| row.get(0)).optional()?;
                if let Some(last) = last {
                    transaction.execute("DELETE FROM interval WHERE ended <= ?1", [last])?;
                    // Minutes of the deleted intervals are unknown from now on.
                    transaction.execute(begin, [last])?;
                }
            }
            transaction.execute("DELETE FROM change WHERE at < ?1", [first.saturating_mul(60_000_000_000)])?;
            let more = count("change")?.saturating_sub(MAX_CHANGES);
            let oldest = "DELETE FROM change WHERE id IN (SELECT id FROM change ORDER BY id LIMIT ?1)";
            transaction.execute(oldest, [integer(more)])?;
            transaction.execute("DELETE FROM contract WHERE ended < ?1", [first])?;
            let more = "DELETE FROM gap WHERE ended < ?1
                OR begun <= (SELECT begun FROM gap ORDER BY begun DESC LIMIT 1 OFFSET ?2)";
            transaction.execute(more, [first.saturating_mul(60), MAX_GAPS])?;
            Ok(())
        })
    }

    /// Returns the first minute that is not recorded.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn until(&self) -> Result<u64, String> {
        let until = self.connection.query_row("SELECT until FROM clock", [], |row| row.get(0));
        until.map(number).map_err(|error| format!("measurements cannot be read: {error}"))
    }

    /// Returns the contracts of a tenant that existed in a period of minutes, with their intervals within it, by name.
    /// Contracts up to the serial number `after` are of an earlier tenant with its name.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn contracts(&self, tenant: &str, after: u64, from: u64, to: u64) -> Result<Vec<RecordedContract>, String> {
        let until = self.until()?;
        self.read_contracts((tenant, after), (from, to), until)
            .map_err(|error| format!("measurements cannot be read: {error}"))
    }

    fn read_contracts(
        &self,
        (tenant, after): (&str, u64),
        (from, to): (u64, u64),
        until: u64,
    ) -> rusqlite::Result<Vec<RecordedContract>> {
        let text = "SELECT serial, name, begun, ended FROM contract
            WHERE tenant = ?1 AND serial > ?4 AND begun < ?3 AND ifnull(ended, ?3) > ?2 ORDER BY name, serial";
        let mut contracts = self.connection.prepare_cached(text)?;
        let row = |row: &Row<'_>| {
            let ended: Option<i64> = row.get(3)?;
            let contract = RecordedContract {
                name: row.get(1)?,
                begun: number(row.get(2)?),
                ended: ended.map(number),
                ..RecordedContract::default()
            };
            Ok((row.get::<_, i64>(0)?, contract))
        };
        let rows = contracts.query_map(params![tenant, integer(from), integer(to), integer(after)], row)?;
        let (mut all, mut places) = (Vec::<RecordedContract>::new(), HashMap::<i64, usize>::new());
        for row in rows {
            let (serial, contract) = row?;
            places.insert(serial, all.len());
            all.push(contract);
        }
        let text = "SELECT i.serial, i.begun, ifnull(i.ended, ?4), i.kept
            FROM contract c JOIN interval i ON i.serial = c.serial
            WHERE c.tenant = ?1 AND i.begun < ?3 AND ifnull(i.ended, ?4) > ?2 ORDER BY i.serial, i.begun";
        let mut statement = self.connection.prepare_cached(text)?;
        let mut rows = statement.query(params![tenant, integer(from), integer(to), integer(until)])?;
        while let Some(row) = rows.next()? {
            let found = places.get(&row.get(0)?).and_then(|&place| all.get_mut(place));
            if let Some(contract) = found {
                let observed = Observed::of_column(row.get(3)?);
                contract.intervals.push((number(row.get(1)?), number(row.get(2)?), observed));
            }
        }
        let nanos = |minute: u64| integer(minute).saturating_mul(60_000_000_000);
        let text = "SELECT h.serial, h.at, h.kind, h.text FROM contract c JOIN change h ON h.serial = c.serial
            WHERE c.tenant = ?1 AND h.at >= ?2 AND h.at < ?3 ORDER BY h.serial, h.at, h.id LIMIT ?4";
        let mut statement = self.connection.prepare_cached(text)?;
        let mut rows = statement.query(params![tenant, nanos(from), nanos(to), MAX_READ_CHANGES])?;
        while let Some(row) = rows.next()? {
            let found = places.get(&row.get(0)?).and_then(|&place| all.get_mut(place));
            if let Some(contract) = found.filter(|contract| contract.changes.len() < CHANGES_OF_CONTRACT) {
                contract.changes.push((number(row.get(1)?), row.get(2)?, row.get(3)?));
            }
        }
        Ok(all)
    }

    fn transact(
        &mut self,
        what: &str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), String> {
        let run = || {
            let transaction = self.connection.transaction()?;
            work(&transaction)?;
            transaction.commit()
        };
        run().map_err(|error: rusqlite::Error| format!("{what} cannot be written: {error}"))
    }
}

fn put_change(transaction: &Transaction<'_>, change: &MinuteChange) -> rusqlite::Result<()> {
    let run = |text: &str, values: &[&dyn rusqlite::ToSql]| transaction.prepare_cached(text)?.execute(values).map(drop);
    match change {
        MinuteChange::Contract { serial, tenant, name, begun } => run(
            "INSERT INTO contract (serial, tenant, name, begun) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (serial) DO UPDATE SET ended = NULL",
            &[&integer(*serial), tenant, name, &integer(*begun)],
        ),
        MinuteChange::ForgetTenant { tenant } => {
            let own = "serial IN (SELECT serial FROM contract WHERE tenant = ?1)";
            for table in ["interval", "change", "contract"] {
                run(&format!("DELETE FROM {table} WHERE {own}"), &[tenant])?;
            }
            Ok(())
        }
        MinuteChange::End { serial, ended } => {
            run("UPDATE contract SET ended = ?2 WHERE serial = ?1", &[&integer(*serial), &integer(*ended)])
        }
        MinuteChange::Begin { serial, minute, observed } => run(
            "INSERT OR REPLACE INTO interval VALUES (?1, ?2, NULL, ?3)",
            &[&integer(*serial), &integer(*minute), &observed.to_column()],
        ),
        MinuteChange::Close { serial, minute } => run(
            "UPDATE interval SET ended = ?2 WHERE serial = ?1 AND ended IS NULL",
            &[&integer(*serial), &integer(*minute)],
        ),
        MinuteChange::State { serial, at, kind, text } => run(
            "INSERT INTO change (serial, at, kind, text) VALUES (?1, ?2, ?3, ?4)",
            &[&integer(*serial), &integer(*at), kind, text],
        ),
    }
}

/// Reason for which a file cannot be used.
struct Unusable {
    why: String,
    is_damaged: bool,
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let is_damaged = matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase));
        Self { why: error.to_string(), is_damaged }
    }
}

mod damaged;
mod observed;
#[cfg(test)]
mod tests;
