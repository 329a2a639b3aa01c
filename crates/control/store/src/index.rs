//! The row of each record in its table, and its checksum: in memory, so that a commit writes no index.
//!
//! New records go behind the last one, or into rows that deletions left. So 64 new contracts change about 14 pages and
//! not 64, and neither the log nor its copying into the database is spread over the whole file.

use std::collections::HashMap;

use crate::Kind;

/// A record's row and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) row: i64,
    pub(crate) sum: u128,
}

/// The rows of all records.
#[derive(Debug, Default)]
pub(crate) struct Index {
    kinds: HashMap<Kind, HashMap<String, Location>>,
    /// Rows that hold nothing, below `end`.
    free: Vec<i64>,
    /// The row behind the last one.
    end: i64,
}

impl Index {
    /// Returns the location of a record, if it exists.
    pub(crate) fn get(&self, kind: &str, key: &str) -> Option<Location> {
        self.kinds.get(kind)?.get(key).copied()
    }

    /// Takes in a record that was read; rows come in ascending order. False if there is such a record already.
    pub(crate) fn load(&mut self, kind: &Kind, key: &str, location: Location) -> bool {
        self.free.extend(self.end..location.row);
        self.end = location.row + 1;
        self.put(kind, key, location).is_none()
    }

    /// Remembers a record, and gives the location that it had before.
    pub(crate) fn put(&mut self, kind: &Kind, key: &str, location: Location) -> Option<Location> {
        if let Some(old) = self.kinds.get_mut(kind).and_then(|keys| keys.get_mut(key)) {
            return Some(std::mem::replace(old, location));
        }
        self.kinds.entry(kind.clone()).or_default().insert(key.to_owned(), location);
        None
    }

    /// Forgets a record. Its row is used again.
    pub(crate) fn remove(&mut self, kind: &str, key: &str) -> Option<Location> {
        let location = self.kinds.get_mut(kind)?.remove(key)?;
        self.free.push(location.row);
        Some(location)
    }

    /// A row for a new record.
    pub(crate) fn take_row(&mut self) -> i64 {
        self.free.pop().unwrap_or_else(|| {
            self.end += 1;
            self.end - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(row: i64) -> Location {
        Location { row, sum: row.unsigned_abs().into() }
    }

    #[test]
    fn rows_freed_by_deletions_are_used_before_new_ones() {
        let mut index = Index::default();
        let kind = Kind::Borrowed("kind");
        assert!(index.load(&kind, "a", at(1)) && index.load(&kind, "b", at(4)));
        assert!(!index.load(&kind, "a", at(5)), "twice the same record");
        assert_eq!(index.remove("kind", "b"), Some(at(4)));
        assert_eq!(index.remove("kind", "b"), None);
        let mut rows: Vec<i64> = (0..6).map(|_| index.take_row()).collect();
        rows.sort_unstable();
        assert_eq!(rows, [0, 2, 3, 4, 6, 7]);
    }
}
