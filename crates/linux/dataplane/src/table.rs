//! A hash map of the kernel with its intended contents: changes by other programs can be reported and undone.

use std::collections::BTreeMap;

use aya::Pod;
use aya::maps::{HashMap, MapData, MapError};

use crate::error::Error;
use crate::programs::{Pins, is_there};

/// A hash map of the kernel that only this process writes, except for counters of its programs.
pub(crate) struct Table<K: Pod, V: Pod> {
    map: HashMap<MapData, K, V>,
    wanted: BTreeMap<K, V>,
}

impl<K: Pod + Ord, V: Pod> Table<K, V> {
    /// Opens a pinned map, with its current contents.
    pub(crate) fn open(pins: &Pins, name: &str) -> Result<Self, Error> {
        let map = pins.hash(name)?;
        let wanted = map.iter().collect::<Result<_, _>>();
        let wanted = wanted.map_err(|error| Error::at("reading the map", &pins.path(name), error))?;
        Ok(Self { map, wanted })
    }

    /// Returns the value that was written for a key.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.wanted.get(key)
    }

    /// Everything that was written.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.wanted.iter()
    }

    pub(crate) fn insert(&mut self, key: K, value: V) -> Result<(), MapError> {
        self.map.insert(key, value, 0)?;
        self.wanted.insert(key, value);
        Ok(())
    }

    /// That it is not there is no error.
    pub(crate) fn remove(&mut self, key: &K) -> Result<(), MapError> {
        is_there(self.map.remove(key))?;
        self.wanted.remove(key);
        Ok(())
    }

    /// Returns the differences to the written contents: entries to restore, and keys that this process did not write.
    pub(crate) fn differences(&self, is_same: impl Fn(&V, &V) -> bool) -> Result<Differences<K, V>, MapError> {
        let mut there = self.map.iter().collect::<Result<BTreeMap<K, V>, _>>()?;
        let mut missing = Vec::new();
        for (key, value) in &self.wanted {
            if !there.remove(key).is_some_and(|found| is_same(&found, value)) {
                missing.push((*key, *value));
            }
        }
        Ok(Differences { missing, foreign: there.into_keys().collect() })
    }

    /// Undoes differences. No program may read removed entries any more, as before every change.
    pub(crate) fn undo(&mut self, differences: &Differences<K, V>) -> Result<(), MapError> {
        for (key, value) in &differences.missing {
            self.map.insert(key, value, 0)?;
        }
        differences.foreign.iter().try_for_each(|key| is_there(self.map.remove(key)).map(drop))
    }
}

/// Differences between a map and the contents that were written into it.
pub(crate) struct Differences<K, V> {
    missing: Vec<(K, V)>,
    foreign: Vec<K>,
}

impl<K, V> Differences<K, V> {
    /// Returns the number of differences.
    pub(crate) const fn count(&self) -> usize {
        self.missing.len() + self.foreign.len()
    }
}
