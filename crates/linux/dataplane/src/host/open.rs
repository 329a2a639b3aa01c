//! Opening: pins made or found again, and one owner.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use aya::maps::{Array, Map, MapError, PerCpuArray, RingBuf};

use super::{Host, Settings, Unmatched};
use crate::error::Error;
use crate::layout::{self, Class};
use crate::programs::{BENCH, HOST, Pins};
use crate::samples;
use crate::table::Table;

impl Settings {
    fn encode(&self) -> layout::Settings {
        layout::Settings {
            now: self.now.map_or(0, |now| now.as_nanos().max(1)),
            reset_ns: self.reset.as_nanos(),
            window: u32::from(self.window.clamp(2, 1 << 15)),
            unmatched: u32::from(self.unmatched == Unmatched::Dropped),
            measure: u32::from(self.measure.is_some()),
            splitter: 0,
            sample: samples::setting(self.sample),
        }
    }
}

impl Host {
    /// Opens a host's data plane in a folder of a bpf file system (created if it does not exist), or creates one.
    /// Everything installed stays installed; the settings are replaced.
    ///
    /// Pins of other versions are left alone: their programs stay attached, with their rules, until others replace them. Only
    /// [`Host::tear_down`] removes them.
    ///
    /// # Errors
    /// If another process owns it, or the kernel refuses.
    pub fn open(folder: &Path, settings: &Settings) -> Result<Self, Error> {
        Self::open_with(folder, settings, HOST)
    }

    /// Opens a host with default settings and the program that can be repeated on one frame.
    pub(crate) fn open_measured(folder: &Path) -> Result<Self, Error> {
        Self::open_with(folder, &Settings::default(), BENCH)
    }

    fn open_with(folder: &Path, settings: &Settings, object: &[u8]) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|error| Error::at("making", folder, error))?;
        let owner = own(folder)?;
        let shared = settings.measure.as_deref().unwrap_or(folder);
        fs::create_dir_all(shared).map_err(|error| Error::at("making", shared, error))?;
        let pins = Pins::open(folder, object, |loader| {
            loader.default_map_pin_directory(shared);
            for map in ["rules", "buckets"] {
                loader.map_max_entries(map, settings.contracts.max(1));
            }
        })?;
        let mut host = Self::over(folder.to_owned(), pins, owner)?;
        host.set(settings)?;
        host.remember()?;
        Ok(host)
    }

    /// From now on these settings hold; the number of contracts and where delays are measured only when pins are made.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set(&mut self, settings: &Settings) -> Result<(), Error> {
        self.set = settings.encode();
        self.write_settings()
    }

    pub(super) fn write_settings(&mut self) -> Result<(), Error> {
        let settings = self.settings_now();
        self.settings.set(0, settings.bytes(), 0).map_err(|error| Error::failed("writing the settings", error))
    }

    pub(super) fn settings_now(&self) -> layout::Settings {
        let splitter = self.holder.as_ref().map_or(0, |holder| holder.splitter);
        layout::Settings { splitter, ..self.set }
    }

    fn over(folder: PathBuf, pins: Pins, owner: File) -> Result<Self, Error> {
        let opening = |error: MapError| Error::failed("opening the maps of a host", error);
        let array = |name| pins.map(name).map(Map::Array);
        Ok(Self {
            endpoints: Table::open(&pins, "endpoints")?,
            local: Table::open(&pins, "local")?,
            groups: Table::open(&pins, "groups")?,
            spoofed: pins.hash("strangers")?,
            classes: Table::open(&pins, "classes")?,
            classes6: Table::open(&pins, "classes6")?,
            rules: Array::try_from(array("rules")?).map_err(opening)?,
            buckets: Array::try_from(array("buckets")?).map_err(opening)?,
            best_effort: Table::open(&pins, "best_effort")?,
            settings: Array::try_from(array("settings")?).map_err(opening)?,
            counters: PerCpuArray::try_from(Map::PerCpuArray(pins.map("counters")?)).map_err(opening)?,
            measured: pins.hash("measured")?,
            samples: RingBuf::try_from(Map::RingBuf(pins.map("samples")?)).map_err(opening)?,
            slots: BTreeMap::new(),
            written: BTreeMap::new(),
            known: BTreeMap::new(),
            // The process that had it before may have removed something a moment ago.
            is_stale: true,
            set: layout::Settings::default(),
            holder: None,
            folder,
            pins,
            owner,
        })
    }

    /// Reads back what is installed. A process that died while it was installing may have left classes without a rule: they go.
    fn remember(&mut self) -> Result<(), Error> {
        let reading = |error: MapError| Error::failed("reading what is installed", error);
        for slot in 0..self.rules.len() {
            let rule = self.rules.get(&slot, 0).map_err(reading)?;
            let (serial, version) = layout::rule_name(&rule);
            if serial != 0 {
                self.slots.insert(serial, (slot, version));
                self.written.insert(slot, rule);
            }
        }
        let short = self.classes.iter().map(|(key, value)| (Class::Short(*key), value));
        let long = self.classes6.iter().map(|(key, value)| (Class::Long(*key), value));
        self.known = short.chain(long).map(|(class, contracts)| (class, layout::contracts_of(contracts))).collect();
        let all = self.known.values().flatten().map(|&(serial, _)| serial);
        let orphans: std::collections::BTreeSet<u64> = all.filter(|serial| !self.slots.contains_key(serial)).collect();
        for serial in orphans {
            self.remove_classes(serial, &self.classes_of(serial))?;
        }
        for (ifindex, _) in self.endpoints() {
            if let Some((mac, vlan)) = self.endpoint_at(ifindex) {
                self.write_endpoint(ifindex, mac, vlan)?;
            }
        }
        Ok(())
    }
}

/// Number of attempts to get a lock, and the interval between them: a process that was just started by the last owner
/// still holds it until it has become another program.
const TIMEOUT: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// The folder, locked: one process at a time.
pub(super) fn own(folder: &Path) -> Result<File, Error> {
    let file = File::open(folder).map_err(|error| Error::at("opening", folder, error))?;
    let mut timeout = TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if timeout > 0 => {
                timeout -= 1;
                thread::sleep(PAUSE);
            }
            Err(TryLockError::WouldBlock) => return Err(Error::Busy(folder.to_owned())),
            Err(TryLockError::Error(error)) => return Err(Error::at("locking", folder, error)),
        }
    }
}
