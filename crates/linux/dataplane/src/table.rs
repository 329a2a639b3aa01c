//! A hash map of the kernel, and what it has to hold: what somebody else has changed in it can be told and undone.

use std::collections::BTreeMap;

use aya::Pod;
use aya::maps::{HashMap, MapData, MapError};

use crate::error::Error;
use crate::programs::{Pins, is_there};

/// A hash map of the kernel that only this process writes, but for what its programs count in it.
pub(crate) struct Table<K: Pod, V: Pod> {
    map: HashMap<MapData, K, V>,
    wanted: BTreeMap<K, V>,
}

impl<K: Pod + Ord, V: Pod> Table<K, V> {
    /// A pinned map, with what it holds now.
    pub(crate) fn open(pins: &Pins, name: &str) -> Result<Self, Error> {
        let map = pins.hash(name)?;
        let wanted = map.iter().collect::<Result<_, _>>();
        let wanted = wanted.map_err(|error| Error::at("reading the map", &pins.path(name), error))?;
        Ok(Self { map, wanted })
    }

    /// What was written for a key.
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

    /// What is not as it was written: entries to be written again, and keys that nobody wrote.
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

/// How a map differs from what was written into it.
pub(crate) struct Differences<K, V> {
    missing: Vec<(K, V)>,
    foreign: Vec<K>,
}

impl<K, V> Differences<K, V> {
    /// How many entries are others.
    pub(crate) const fn count(&self) -> usize {
        self.missing.len() + self.foreign.len()
    }
}
