//! Measurements on disk: histories in minutes, and the observed minutes of contracts.
//!
//! The controller does not depend on them. If the file cannot be used, older histories and statements are unknown, and a
//! problem is listed; the file is opened again every minute.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wayleave_store::{Chunk, Measurements, MinuteChange, OpenedMeasurements, RecordedContract};
use wayleave_topology::Network;
use wayleave_units::WallTime;

use super::point::Point;
use super::series::{Histories, MINUTE_S, SLOTS_OF_MINUTE, SeriesKey};

/// Minutes of a chunk: a crash loses at most as many.
pub(crate) const CHUNK_MINUTES: u64 = 10;
/// Minutes between deletions of old intervals.
const PRUNE_EVERY: u64 = 60;

/// Maximum number of problems about damaged files.
const MAX_PUT_ASIDE: usize = 3;
/// Problem of a file that is not open yet.
const OPENING: &str = "the file is being opened and checked";

/// State of the file.
#[derive(Debug)]
enum File {
    Open(Measurements),
    /// It is being opened by a thread that does not hold the lock.
    Opening,
    Closed,
}

/// The file of this process, or its memory.
#[derive(Debug)]
pub(crate) struct LoadDisk {
    path: Option<PathBuf>,
    file: File,
    /// Problem of the last access.
    problem: Option<String>,
    /// Earlier files that could not be used.
    put_aside: Vec<String>,
    /// The first minute that is in no chunk.
    next: Option<u64>,
    /// The first minute of this process: the chunk of it may have minutes of an earlier one.
    first: Option<u64>,
    pruned: u64,
}

/// Contracts of a tenant in a period, and the minutes that are recorded.
#[derive(Debug, Default)]
pub(crate) struct RecordedPeriod {
    pub(crate) contracts: Vec<RecordedContract>,
    /// The first recorded minute; `None` before it is written.
    pub(crate) began: Option<u64>,
    /// The first minute after the last recorded one.
    pub(crate) until: u64,
    /// Intervals within the period that are not recorded, in seconds since 1970. The first one begins with 0 if the
    /// record began in the period.
    pub(crate) gaps: Vec<(u64, u64)>,
}

/// Chunks that are to be written.
#[derive(Debug, Default)]
pub(crate) struct DueChunks {
    /// The first minute after them.
    limit: u64,
    /// The first minute of this process.
    first: u64,
    /// Name of the history, first minute, and points.
    chunks: Vec<(String, u64, Vec<Point>)>,
}

/// Returns the name of a history on disk. Links have their names, since a changed topology numbers them anew. No tenant
/// reads the history of an earlier one with its name, which expires.
fn name(network: &Network, key: &SeriesKey) -> String {
    match key {
        SeriesKey::Link(link) => format!("link {}", network.link(*link).name),
        SeriesKey::Tenant(tenant, created_after) => format!("tenant {tenant} after {created_after}"),
        SeriesKey::Contract(serial) => format!("contract {serial}"),
    }
}

impl LoadDisk {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        let (problem, put_aside) = (Some(OPENING.to_owned()), Vec::new());
        Self { path, file: File::Closed, problem, put_aside, next: None, first: None, pruned: 0 }
    }

    /// Returns present problems, one sentence each.
    pub(crate) fn problems(&self) -> Vec<String> {
        let unknown = |why: &String| format!("measured load: {why}: older histories and statements are unknown");
        let aside = |why: &String| format!("measured load: {why}");
        self.problem.iter().map(unknown).chain(self.put_aside.iter().map(aside)).collect()
    }

    /// Begins to open the file, if it is closed, and returns its path.
    pub(crate) fn begin_open(&mut self) -> Option<Option<PathBuf>> {
        if !matches!(self.file, File::Closed) {
            return None;
        }
        self.file = File::Opening;
        Some(self.path.clone())
    }

    /// Opens and checks a file.
    pub(crate) fn open(path: Option<&Path>, now: WallTime) -> Result<OpenedMeasurements, String> {
        Measurements::open(path, now.as_nanos().div_ceil(1_000_000_000))
    }

    /// Takes the file that was opened.
    pub(crate) fn end_open(&mut self, opened: Result<OpenedMeasurements, String>) {
        match opened {
            Ok(OpenedMeasurements { measurements, put_aside }) => {
                if let Some(why) = put_aside {
                    tracing::warn!("{why}");
                    self.put_aside.push(why);
                    self.put_aside.drain(..self.put_aside.len().saturating_sub(MAX_PUT_ASIDE));
                }
                (self.file, self.problem) = (File::Open(measurements), None);
            }
            Err(why) => self.fail(why),
        }
    }

    fn warn(&self, why: &str) {
        if self.problem.as_deref() != Some(why) {
            tracing::warn!("measured load: {why}");
        }
    }

    fn fail(&mut self, why: String) {
        self.warn(&why);
        (self.file, self.problem) = (File::Closed, Some(why));
    }

    /// Accesses the file, if it is open. After an error it is closed, and is opened again every minute.
    fn access<T>(&mut self, run: impl FnOnce(&mut Measurements) -> Result<T, String>) -> Result<T, String> {
        let File::Open(measurements) = &mut self.file else {
            return Err(self.problem.clone().unwrap_or_else(|| OPENING.to_owned()));
        };
        let result = run(measurements);
        if let Err(why) = &result {
            self.fail(why.clone());
        }
        result
    }

    /// Returns the chunks that are over and not written yet, and with `all` also the present one.
    pub(crate) fn due_chunks(&mut self, network: &Network, histories: &Histories, all: bool) -> DueChunks {
        let Some(slot) = histories.last() else { return DueChunks::default() };
        let end = (slot + 1) / SLOTS_OF_MINUTE;
        let first = *self.first.get_or_insert(slot / SLOTS_OF_MINUTE);
        let next = *self.next.get_or_insert(first);
        let limit = if all { end } else { end / CHUNK_MINUTES * CHUNK_MINUTES };
        if limit <= next {
            return DueChunks::default();
        }
        // Older minutes are not in memory.
        let oldest = end.saturating_sub(super::series::SLOTS as u64 / SLOTS_OF_MINUTE).max(next);
        let mut chunks = Vec::new();
        for start in (oldest / CHUNK_MINUTES..limit.div_ceil(CHUNK_MINUTES)).map(|chunk| chunk * CHUNK_MINUTES) {
            for key in histories.keys() {
                let minutes = (start..start + CHUNK_MINUTES).map(|minute| histories.minute(key, minute));
                let points: Vec<Point> = minutes.collect();
                if points.iter().any(|point| point.mean().is_some()) {
                    chunks.push((name(network, key), start, points));
                }
            }
        }
        self.next = Some(limit);
        DueChunks { limit, first, chunks }
    }

    /// Writes chunks. Minutes that an earlier process has written stay where this one knows nothing.
    pub(crate) fn put_chunks(&mut self, due: DueChunks) {
        let DueChunks { limit, first, chunks } = due;
        if chunks.is_empty() {
            return;
        }
        let _ = self.access(|measurements| {
            let mut merged = Vec::with_capacity(chunks.len());
            for (series, start, mut points) in chunks {
                if start < first {
                    let earlier = measurements.chunks(&series, std::iter::once(start))?;
                    let earlier = earlier.first().map(|(_, bytes)| parse(bytes)).unwrap_or_default();
                    for (point, earlier) in points.iter_mut().zip(earlier) {
                        if point.mean().is_none() {
                            *point = earlier;
                        }
                    }
                }
                let points = points.into_iter().flat_map(Point::to_bytes).collect();
                merged.push(Chunk { series, start, points });
            }
            measurements.put_chunks(limit, &merged)
        });
    }

    /// Returns the points of a history on disk by minute, between two minutes.
    pub(crate) fn minutes(&mut self, network: &Network, key: &SeriesKey, from: u64, to: u64) -> BTreeMap<u64, Point> {
        let starts = (from / CHUNK_MINUTES..to.div_ceil(CHUNK_MINUTES)).map(|chunk| chunk * CHUNK_MINUTES);
        let chunks = self.access(|measurements| measurements.chunks(&name(network, key), starts)).unwrap_or_default();
        chunks.into_iter().flat_map(|(start, bytes)| (start..).zip(parse(&bytes))).collect()
    }

    /// Returns the begin of the first known minute of a history, in seconds since 1970, but not before the file was
    /// created.
    pub(crate) fn since(&mut self, network: &Network, key: &SeriesKey) -> Option<u64> {
        let series = name(network, key);
        let read = |measurements: &mut Measurements| Ok((measurements.oldest_chunk(&series)?, measurements.created()?));
        let (oldest, created) = self.access(read).ok()?;
        let (start, bytes) = oldest?;
        let known = parse(&bytes).iter().position(|point| point.mean().is_some())?;
        Some(((start + known as u64) * MINUTE_S).max(created))
    }

    /// Writes the changes of a minute; with `begins_anew`, after all open intervals are closed.
    /// Nothing was observed before `covered_from` since the last recorded minute, if it is given.
    pub(crate) fn put_minute(
        &mut self,
        begins_anew: bool,
        until: u64,
        covered_from: Option<WallTime>,
        changes: &[MinuteChange],
    ) -> Result<(), String> {
        let recorded = self.access(|measurements| measurements.until())?;
        if until <= recorded {
            // The file stays open: what it has can be read.
            let why = format!(
                "the clock is {} min behind the last recorded minute of contracts: correct the clock, or stop the server and remove the file",
                recorded - until + 1
            );
            self.warn(&why);
            self.problem = Some(why.clone());
            return Err(why);
        }
        let is_due = until >= self.pruned + PRUNE_EVERY;
        self.access(|measurements| {
            if begins_anew {
                measurements.close_all()?;
            }
            let covered_from = covered_from.map(|time| time.as_nanos().div_ceil(1_000_000_000));
            measurements.put_minute(until, covered_from, changes)?;
            if is_due { measurements.prune(until) } else { Ok(()) }
        })?;
        self.problem = None;
        if is_due {
            self.pruned = until;
        }
        Ok(())
    }

    /// Returns the contracts of a tenant in a period of minutes, without those up to the serial number `after`, and the
    /// minutes that are recorded.
    pub(crate) fn contracts(&mut self, tenant: &str, after: u64, from: u64, to: u64) -> Result<RecordedPeriod, String> {
        self.access(|measurements| {
            let contracts = measurements.contracts(tenant, after, from, to)?;
            let (began, until) = (measurements.began()?, measurements.until()?);
            Ok(RecordedPeriod { contracts, began, until, gaps: measurements.gaps(from * MINUTE_S, to * MINUTE_S)? })
        })
    }
}

/// Returns the points of a chunk; without a rest that is no point.
fn parse(bytes: &[u8]) -> Vec<Point> {
    bytes.as_chunks::<{ Point::BYTES }>().0.iter().map(|bytes| Point::from_bytes(*bytes)).collect()
}
