//! The seal: a second file that remembers the last commit.
//!
//! A flipped bit in SQLite's write-ahead log ends its recovery early, without an error: acknowledged commits would be
//! lost unnoticed. The seal holds the number and the digest of the last commit, so that the loss is detected. It has
//! two slots of one disk sector each, written in turn: a write that is torn leaves the other.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::digest::Mark;
use crate::{Holder, StoreError};

/// One sector: what a disk writes as a whole.
const SLOT: usize = 512;
const MAGIC: &[u8; 16] = b"wayleave seal 1\n";
/// Offset of the checksum in a slot; between the mark and the checksum are zeros.
const SUM: usize = SLOT - 16;

/// Content of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Never written: zeros, or behind the end of the file.
    Blank,
    Written(Mark),
    Damaged,
}

impl Slot {
    fn read(bytes: &[u8]) -> Self {
        if bytes.iter().all(|byte| *byte == 0) {
            return Self::Blank;
        }
        let (Some(mark), Some(sum)) = (bytes.get(16..64), bytes.get(SUM..SLOT)) else { return Self::Damaged };
        match <&[u8; 48]>::try_from(mark) {
            Ok(mark) if bytes.starts_with(MAGIC) && xxh3_128(&bytes[..SUM]).to_le_bytes() == sum => {
                Self::Written(Mark::from_bytes(mark))
            }
            _ => Self::Damaged,
        }
    }

    fn bytes(mark: Mark) -> [u8; SLOT] {
        let mut bytes = [0; SLOT];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..64].copy_from_slice(&mark.to_bytes());
        let sum = xxh3_128(&bytes[..SUM]);
        bytes[SUM..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

/// Content of both slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    slots: [Slot; 2],
    /// Bytes behind the slots, which no store wrote.
    longer: bool,
}

impl Sealed {
    fn read(bytes: &[u8]) -> Self {
        let part = |from: usize| &bytes[from.min(bytes.len())..(from + SLOT).min(bytes.len())];
        Self { slots: [Slot::read(part(0)), Slot::read(part(SLOT))], longer: bytes.len() > 2 * SLOT }
    }

    /// Returns `true` if no slot was ever written: the ledger was being created.
    pub(crate) fn is_blank(&self) -> bool {
        self.slots == [Slot::Blank; 2] && !self.longer
    }

    /// The slot with the later commit, and its mark.
    fn newest(&self) -> Option<(usize, Mark)> {
        let marks = self.slots.iter().enumerate().filter_map(|(slot, content)| match content {
            Slot::Written(mark) => Some((slot, *mark)),
            _ => None,
        });
        marks.max_by_key(|(_, mark)| mark.sequence)
    }

    /// The last commit that it knows.
    pub(crate) fn mark(&self) -> Option<Mark> {
        self.newest().map(|(_, mark)| mark)
    }

    /// Checks that a database in this state holds every acknowledged commit.
    pub(crate) fn judge(&self, database: Mark, path: &Path, seal: &Path) -> Result<(), StoreError> {
        let (path, seal) = (path.to_owned(), seal.to_owned());
        let damaged =
            |found: &str| StoreError::SealDamaged { path: path.clone(), seal: seal.clone(), found: found.to_owned() };
        let fresh = database.sequence == 0 && database.digest.records == 0;
        if self.longer {
            return Err(damaged("it is longer than 1024 B"));
        }
        let Some((slot, newest)) = self.newest() else {
            // A ledger gets its first seal last: blank slots beside an empty database are an interrupted creation.
            return if self.is_blank() && fresh {
                Ok(())
            } else {
                Err(damaged("neither of its two slots is readable"))
            };
        };
        let other = self.slots[1 - slot];
        if newest.ledger != database.ledger {
            return Err(StoreError::SealForeign { path, seal });
        }
        if let Slot::Written(older) = other
            && (older.ledger != newest.ledger
                || newest.sequence - older.sequence > 1
                || (newest.sequence == older.sequence && newest != older))
        {
            return Err(damaged("its two slots do not follow one another"));
        }
        let (found, sealed) = (database.sequence, newest.sequence);
        if found < sealed {
            return Err(StoreError::Behind { path, found, sealed });
        }
        if found > sealed.saturating_add(1) {
            return Err(StoreError::Ahead { path, seal, found, sealed });
        }
        if found > sealed {
            // A crash between the two writes of a commit: complete, and never acknowledged.
            return Ok(());
        }
        if newest != database {
            return Err(StoreError::Differs { path, seal, sequence: sealed });
        }
        match other {
            Slot::Written(_) => Ok(()),
            Slot::Blank if fresh => Ok(()),
            // It may have held a later commit than the database has.
            _ => Err(damaged("one of its two slots is unreadable, and it may have been the later one")),
        }
    }
}

/// The open seal. It also carries the lock: the process that has it owns the ledger.
#[derive(Debug)]
pub(crate) struct Seal {
    file: File,
    path: PathBuf,
    /// The slot that the next mark goes to.
    next: usize,
    newest: Option<Mark>,
}

impl Seal {
    /// Opens and locks it, if it exists.
    pub(crate) fn open(path: &Path) -> Result<Option<(Self, Sealed)>, StoreError> {
        match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => Self::lock(file, path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(path, "opening", &error)),
        }
    }

    /// Creates an empty seal, or opens the existing one, and locks it.
    pub(crate) fn create(path: &Path) -> Result<(Self, Sealed), StoreError> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        Self::lock(file.map_err(|error| StoreError::io(path, "creating", &error))?, path)
    }

    fn lock(mut file: File, path: &Path) -> Result<(Self, Sealed), StoreError> {
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(StoreError::Locked { path: path.to_owned(), holder: Holder::of(path) });
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(StoreError::io(path, "locking", &error)),
        }
        let mut bytes = Vec::with_capacity(2 * SLOT + 1);
        let read = (&mut file).take(2 * SLOT as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| StoreError::io(path, "reading", &error))?;
        let sealed = Sealed::read(&bytes);
        let next = sealed.newest().map_or(0, |(slot, _)| 1 - slot);
        Ok((Self { file, path: path.to_owned(), next, newest: sealed.mark() }, sealed))
    }

    /// Remembers a commit. It is on disk when this returns.
    pub(crate) fn write(&mut self, mark: Mark) -> Result<(), StoreError> {
        self.put(&Slot::bytes(mark), (self.next * SLOT) as u64)?;
        (self.next, self.newest) = (1 - self.next, Some(mark));
        Ok(())
    }

    /// Catches up with a database that is one commit ahead, or writes the same mark once more: it may have been read from
    /// the memory of the system, where a process has left it that was killed before its sync.
    pub(crate) fn heal(&mut self, mark: Mark) -> Result<(), StoreError> {
        if self.newest == Some(mark) {
            self.next = 1 - self.next;
        }
        self.write(mark)
    }

    /// Fills both slots: a new beginning.
    pub(crate) fn begin(&mut self, mark: Mark) -> Result<(), StoreError> {
        let slot = Slot::bytes(mark);
        self.put(&[slot, slot].concat(), 0)?;
        self.file.set_len(2 * SLOT as u64).map_err(|error| StoreError::io(&self.path, "cutting", &error))?;
        (self.next, self.newest) = (0, Some(mark));
        Ok(())
    }

    fn put(&self, bytes: &[u8], at: u64) -> Result<(), StoreError> {
        self.file.write_all_at(bytes, at).map_err(|error| StoreError::io(&self.path, "writing", &error))?;
        self.file.sync_data().map_err(|error| StoreError::io(&self.path, "syncing", &error))
    }
}

impl Drop for Seal {
    /// Closing would not be enough while a child that another thread has just started still has a copy of the file.
    fn drop(&mut self) {
        drop(self.file.unlock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    fn mark(sequence: u64) -> Mark {
        Mark { ledger: 9, sequence, digest: Digest { records: sequence, total: u128::from(sequence) } }
    }

    fn seal(slots: [Slot; 2]) -> Sealed {
        Sealed { slots, longer: false }
    }

    fn judged(slots: [Slot; 2], database: Mark) -> &'static str {
        match seal(slots).judge(database, Path::new("l"), Path::new("l-seal")) {
            Ok(()) => "served",
            Err(StoreError::Behind { .. }) => "behind",
            Err(StoreError::Ahead { .. }) => "ahead",
            Err(StoreError::Differs { .. }) => "differs",
            Err(StoreError::SealDamaged { .. }) => "damaged",
            Err(StoreError::SealForeign { .. }) => "foreign",
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_database_is_served_at_its_seal_or_one_ahead_of_it() {
        use Slot::{Blank, Damaged, Written};
        let w = |sequence| Written(mark(sequence));
        let other = |sequence| Written(Mark { ledger: 8, ..mark(sequence) });
        let changed = Mark { digest: Digest::default(), ..mark(5) };
        for (slots, database, expected) in [
            ([w(4), w(5)], mark(5), "served"),
            ([w(5), w(4)], mark(5), "served"),
            ([w(5), w(5)], mark(5), "served"),
            ([w(4), w(5)], mark(6), "served"),
            ([w(4), w(5)], mark(7), "ahead"),
            ([w(4), w(5)], mark(4), "behind"),
            ([w(4), w(5)], mark(0), "behind"),
            ([w(4), w(5)], changed, "differs"),
            // A torn write of 5: the database has it.
            ([w(4), Damaged], mark(5), "served"),
            ([w(4), Blank], mark(5), "served"),
            // 5 was written, rotted, and is lost from the database too.
            ([w(4), Damaged], mark(4), "damaged"),
            ([w(4), Blank], mark(4), "damaged"),
            ([Damaged, Damaged], mark(4), "damaged"),
            ([Blank, Blank], mark(4), "damaged"),
            ([Blank, Blank], mark(0), "served"),
            ([w(0), Blank], mark(0), "served"),
            ([w(0), Damaged], mark(0), "damaged"),
            ([w(3), w(5)], mark(5), "damaged"),
            ([Written(changed), w(5)], mark(5), "damaged"),
            ([other(4), w(5)], mark(5), "damaged"),
            ([other(4), other(5)], mark(5), "foreign"),
        ] {
            assert_eq!(judged(slots, database), expected, "{slots:?} beside {database:?}");
        }
    }

    #[test]
    fn every_flipped_bit_of_a_slot_is_detected() {
        let slot = Slot::bytes(mark(7));
        assert_eq!(Slot::read(&slot), Slot::Written(mark(7)));
        for bit in 0..SLOT * 8 {
            let mut flipped = slot;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Slot::read(&flipped), Slot::Damaged, "bit {bit}");
        }
    }

    #[test]
    fn a_short_file_is_damaged_unless_nothing_was_ever_written() {
        let both = [Slot::bytes(mark(4)), Slot::bytes(mark(5))].concat();
        assert!(Sealed::read(&[]).is_blank());
        assert!(Sealed::read(&[0; 700]).is_blank());
        assert_eq!(Sealed::read(&both[..1000]).slots, [Slot::Written(mark(4)), Slot::Damaged]);
        assert!(Sealed::read(&[&both[..], &[0]].concat()).longer);
    }
}
