//! The programs: loaded, pinned so that they outlive their loader, and found again.
//!
//! Pins lie in a folder that carries the version of the sources (`v-...`), so an agent never takes maps of another
//! layout for its own. The folder is made under another name and renamed when everything is in it: an existing folder
//! is complete.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use aya::maps::{Array, HashMap, Map, MapData, MapError, PerCpuHashMap, RingBuf};
use aya::programs::{Program, ProgramError, SchedClassifier};
use aya::{Ebpf, EbpfLoader, VerifierLogLevel};
use wayleave_packet_format::Tag;

use crate::error::Error;
use crate::layout;
use crate::net::Hook;
use crate::samples::{self, PacketSample};

/// The host's programs, compiled.
pub(crate) static HOST: &[u8] = aya::include_bytes_aligned!("../bpf/objects/host.o");
/// The switch's program, compiled.
static SWITCH: &[u8] = aya::include_bytes_aligned!("../bpf/objects/switch.o");
/// The host's program once more, in a form that can be repeated on one frame; for measurements only.
pub(crate) static BENCH: &[u8] = aya::include_bytes_aligned!("../bpf/objects/bench.o");
/// The registers of uFAB-C, compiled.
pub(crate) static UFAB: &[u8] = aya::include_bytes_aligned!("../bpf/objects/ufab.o");
/// A hash of the sources that the objects were compiled of.
const SOURCES: &str = include_str!("../bpf/objects/sources.sha256");

/// Names of all programs; every other pin is a map.
pub(crate) const PROGRAMS: [&str; 10] =
    ["endpoint", "uplink", "held", "port", "leave", "enter", "serve", "ufab", "again", "nothing"];

/// Maximum number of retries of loading a program after a disturbance in the kernel.
const MORE_ATTEMPTS: usize = 9;

/// The folder of this version's pins.
pub fn version() -> String {
    format!("v-{}", SOURCES.get(..12).unwrap_or(SOURCES))
}

/// Pins of one object: `folder/v-.../<map or program>`.
pub(crate) struct Pins {
    folder: PathBuf,
    /// Pinned objects, held open: they can be pinned again if the files are removed.
    held: BTreeMap<String, Held>,
}

/// Kind of a pinned object.
enum Held {
    Map(MapData),
    Program(SchedClassifier),
}

impl Pins {
    /// Opens the pins in a folder of a bpf file system, or loads an object and pins all its maps and programs.
    pub(crate) fn open(folder: &Path, object: &[u8], prepare: impl FnOnce(&mut Loader)) -> Result<Self, Error> {
        let (pins, unfinished) = (folder.join(version()), folder.join("unfinished"));
        if pins.is_dir() {
            return Self::held(pins);
        }
        let make = |path: &Path| fs::create_dir_all(path).map_err(|error| Error::at("making", path, error));
        make(folder)?;
        remove(&unfinished)?;
        make(&unfinished)?;
        load(object, &unfinished, prepare)?;
        fs::rename(&unfinished, &pins).map_err(|error| Error::at("renaming", &unfinished, error))?;
        Self::held(pins)
    }

    fn held(folder: PathBuf) -> Result<Self, Error> {
        let mut pins = Self { folder, held: BTreeMap::new() };
        let entries = fs::read_dir(&pins.folder).map_err(|error| Error::at("reading", &pins.folder, error))?;
        for name in entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())) {
            let is_program = PROGRAMS.contains(&name.as_str());
            let held = if is_program { Held::Program(pins.program(&name)?) } else { Held::Map(pins.map(&name)?) };
            pins.held.insert(name, held);
        }
        Ok(pins)
    }

    /// Restores missing pins; returns their number.
    pub(crate) fn mend(&mut self) -> Result<usize, Error> {
        let mut count = 0;
        for (name, held) in &mut self.held {
            let path = self.folder.join(name);
            if path.exists() {
                continue;
            }
            fs::create_dir_all(&self.folder).map_err(|error| Error::at("making", &self.folder, error))?;
            match held {
                Held::Map(map) => map.pin(&path),
                Held::Program(program) => program.pin(&path),
            }
            .map_err(|error| Error::at("pinning again", &path, error))?;
            count += 1;
        }
        Ok(count)
    }

    /// Opens the pins of another process.
    pub(crate) fn of(folder: &Path) -> Self {
        Self { folder: folder.join(version()), held: BTreeMap::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn map(&self, name: &str) -> Result<MapData, Error> {
        let path = self.path(name);
        MapData::from_pin(&path).map_err(|error| Error::at("opening the map", &path, error))
    }

    pub(crate) fn hash<K: aya::Pod, V: aya::Pod>(&self, name: &str) -> Result<HashMap<MapData, K, V>, Error> {
        let map = Map::HashMap(self.map(name)?);
        HashMap::try_from(map).map_err(|error| Error::at("opening the map", &self.path(name), error))
    }

    pub(crate) fn program(&self, name: &str) -> Result<SchedClassifier, Error> {
        let path = self.path(name);
        SchedClassifier::from_pin(&path).map_err(|error| Error::at("opening the program", &path, error))
    }
}

/// The kernel's number of a program.
pub(crate) fn id(program: &SchedClassifier) -> Result<u32, Error> {
    Ok(program.info().map_err(|error| Error::failed("reading a program", error))?.id())
}

/// Loader that makes maps and prepares programs.
type Loader = EbpfLoader<'static>;

/// One for the whole process: to make a loader is to read the types of the whole kernel, which takes 50 ms, and these programs need none
/// of them.
static LOADER: LazyLock<Mutex<Loader>> = LazyLock::new(|| {
    let mut loader = EbpfLoader::new();
    // A program that does not load at once is loaded again with a log: errors and a summary. With every step of the verifier in it that
    // takes twenty times as long.
    loader.btf(None).verifier_log_level(VerifierLogLevel::STATS);
    Mutex::new(loader)
});

/// The maps and programs of an object; the programs are not loaded yet.
pub(crate) fn parsed(object: &[u8], prepare: impl FnOnce(&mut Loader)) -> Result<Ebpf, Error> {
    let mut loader = LOADER.lock().unwrap_or_else(PoisonError::into_inner);
    prepare(&mut loader);
    loader.load(object).map_err(|error| Error::failed("loading the eBPF maps", error))
}

fn load(object: &[u8], folder: &Path, prepare: impl FnOnce(&mut Loader)) -> Result<(), Error> {
    let mut loaded = parsed(object, prepare)?;
    for (name, program) in loaded.programs_mut() {
        let path = folder.join(name);
        let Program::SchedClassifier(program) = program else { continue };
        patiently(|| program.load())
            .map_err(|error| Error::failed(format!("loading the eBPF program {name}"), error))?;
        program.pin(&path).map_err(|error| Error::at("pinning the program", &path, error))?;
    }
    let names: Vec<String> = loaded.maps().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        let path = folder.join(&name);
        let Some(map) = loaded.take_map(&name) else { continue };
        map.pin(&path).map_err(|error| Error::at("pinning the map", &path, error))?;
    }
    Ok(())
}

/// Loads a program. The kernel gives up checking it when anything wants the thread's attention (EAGAIN); libbpf tries five times, too.
pub(crate) fn patiently(mut load: impl FnMut() -> Result<(), ProgramError>) -> Result<(), ProgramError> {
    let is_disturbed = |result: &Result<(), ProgramError>| match result {
        Err(ProgramError::LoadError { io_error, .. }) => io_error.raw_os_error() == Some(libc::EAGAIN),
        _ => false,
    };
    let mut result = load();
    for _ in 0..MORE_ATTEMPTS {
        if is_disturbed(&result) {
            result = load();
        }
    }
    result
}

/// Removes a folder of pins, if it is there.
pub(crate) fn remove(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::at("removing", folder, error)),
        _ => Ok(()),
    }
}

/// Returns `None` if the element does not exist.
pub(crate) fn is_there<T>(result: Result<T, MapError>) -> Result<Option<T>, MapError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(MapError::KeyNotFound | MapError::ElementNotFound) => Ok(None),
        Err(MapError::SyscallError(error)) if error.io_error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Output of a switch for packets with a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaggedPort {
    /// The outgoing interface.
    pub ifindex: u32,
    /// New value of `skb->priority`: [`crate::class::priority`].
    pub priority: u32,
}

/// Counters of packets at a switch's port, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounts {
    /// Sent on by their tag.
    pub forwarded: u64,
    /// Dropped: they had no tag.
    pub untagged: u64,
    /// Dropped: no port has their tag.
    pub unknown: u64,
}

/// The forwarding program of switches, and its table. One can serve all switches of a machine: interfaces have different numbers.
pub struct SwitchProgram {
    pins: Pins,
    folder: PathBuf,
    tags: HashMap<MapData, [u8; layout::TAG], [u8; layout::PORT]>,
    counters: PerCpuHashMap<MapData, u32, [u64; 3]>,
    watch: Array<MapData, [u8; layout::WATCH]>,
    seen: RingBuf<MapData>,
}

impl SwitchProgram {
    /// Finds the program that is pinned in this folder of a bpf file system, with its table; or loads it, with an empty one.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let pins = Pins::open(folder, SWITCH, |_| ())?;
        let tags = pins.hash("tags")?;
        let counters = Map::PerCpuHashMap(pins.map("switch_counters")?);
        let counters =
            PerCpuHashMap::try_from(counters).map_err(|error| Error::failed("opening the counters", error))?;
        let opening = |error| Error::failed("opening the trace of a switch", error);
        let watch = Array::try_from(Map::Array(pins.map("watch")?)).map_err(opening)?;
        let seen = RingBuf::try_from(Map::RingBuf(pins.map("seen")?)).map_err(opening)?;
        Ok(Self { pins, folder: folder.to_owned(), tags, counters, watch, seen })
    }

    /// Returns the path at which the program of a hook is pinned. Attach it there at every port (`tc filter add ...
    /// bpf da object-pinned ...`). At the ingress it forwards; at the egress it only chooses the queue, for ports
    /// with another forwarder.
    pub fn pinned(&self, hook: Hook) -> PathBuf {
        self.pins.path(Self::name(hook))
    }

    /// The program of a hook, to run it on frames.
    ///
    /// # Errors
    /// If it is not pinned any more.
    pub fn program(&self, hook: Hook) -> Result<SchedClassifier, Error> {
        self.pins.program(Self::name(hook))
    }

    const fn name(hook: Hook) -> &'static str {
        match hook {
            Hook::Ingress => "port",
            Hook::Egress => "leave",
        }
    }

    /// Restores missing pins; returns their number.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn mend(&mut self) -> Result<usize, Error> {
        self.pins.mend()
    }

    /// From now on packets that come at this interface with this tag as the outermost one leave by that port.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set(&mut self, ingress: u32, tag: Tag, out: TaggedPort) -> Result<(), Error> {
        let value = layout::port(out.ifindex, out.priority);
        let set = self.tags.insert(layout::tag(ingress, tag), value, 0);
        set.map_err(|error| Error::failed("setting a tag of a switch", error))
    }

    /// From now on packets that come at this interface are dropped; its counters begin again.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn forget(&mut self, ingress: u32) -> Result<(), Error> {
        let failed = |error| Error::failed("removing the tags of a port", error);
        let keys = self.tags.keys().collect::<Result<Vec<_>, _>>().map_err(failed)?;
        for key in keys.into_iter().filter(|key| layout::tag_of(key).0 == ingress) {
            is_there(self.tags.remove(&key)).map_err(failed)?;
        }
        is_there(self.counters.remove(&ingress)).map_err(failed).map(drop)
    }

    /// Everything that is set: interface, tag as it is written, port.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn table(&self) -> Result<Vec<(u32, u16, TaggedPort)>, Error> {
        let entries = self.tags.iter().map(|entry| {
            let (key, port) = entry.map_err(|error| Error::failed("reading the tags of a switch", error))?;
            let (ingress, tci) = layout::tag_of(&key);
            let port = TaggedPort { ifindex: layout::u32_at(&port, 0), priority: layout::u32_at(&port, 4) };
            Ok((ingress, tci, port))
        });
        entries.collect()
    }

    /// Returns the counters, by the interface at which packets arrived.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn counters(&self) -> Result<BTreeMap<u32, SwitchCounts>, Error> {
        let entries = self.counters.iter().map(|entry| {
            let (ifindex, values) = entry.map_err(|error| Error::failed("reading the counters of a switch", error))?;
            let sum = |at: usize| values.iter().map(|counts| counts[at]).sum();
            Ok((ifindex, SwitchCounts { forwarded: sum(0), untagged: sum(1), unknown: sum(2) }))
        });
        entries.collect()
    }

    /// Sets the number of bits by which forwarded packets are chosen to be noted; with `None` none are.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn sample(&mut self, level: Option<u32>) -> Result<(), Error> {
        let failed = |error| Error::failed("configuring the trace of a switch", error);
        let before = self.watch.get(&0, 0).map_err(failed)?;
        let value = layout::watch(samples::setting(level), layout::u64_at(&before, 8));
        self.watch.set(0, value, 0).map_err(failed)
    }

    /// Returns the number of bits by which packets are chosen to be noted; `None` if none are.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn level(&self) -> Result<Option<u32>, Error> {
        let watch = self.watch.get(&0, 0).map_err(|error| Error::failed("reading the trace of a switch", error))?;
        Ok(layout::u32_at(&watch, 0).checked_sub(1))
    }

    /// Returns the samples since the last call, and the number of packets that could not be noted since the pins were
    /// made.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn samples(&mut self) -> Result<(Vec<PacketSample>, u64), Error> {
        let noted = samples::read(&mut self.seen);
        let watch = self.watch.get(&0, 0).map_err(|error| Error::failed("reading the trace of a switch", error))?;
        Ok((noted, layout::u64_at(&watch, 8)))
    }

    /// Removes the pins. The program runs on where it is attached.
    ///
    /// # Errors
    /// If they cannot be removed.
    pub fn tear_down(self) -> Result<(), Error> {
        remove(&self.folder)
    }
}
