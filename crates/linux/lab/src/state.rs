//! State of a lab on disk: a folder with a file that is written before anything is made, so that the remains after a
//! crash can be found and removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, Flock, FlockArg, fcntl};
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::names::LabName;
use crate::plan::EndpointSpec;

/// Time for which the tools of a killed `up` may continue: they end after the lines that they have.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Progress of a lab's construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// It is being made, or was left half made.
    Building,
    /// Its network is there; its controller and agents are being started, or were left half started.
    Starting,
    /// Everything is there.
    Up,
}

/// The file `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    pub(crate) stage: Stage,
    /// Name of the topology.
    pub(crate) topology: String,
    pub(crate) endpoints: Vec<EndpointSpec>,
    /// Switches that Open vSwitch forwards for.
    #[serde(default)]
    pub(crate) ovs: BTreeSet<String>,
    /// Switches whose ports share a service: its rate in bit/s, and its buffer in bytes.
    #[serde(default)]
    pub(crate) services: BTreeMap<String, (u64, u64)>,
    /// Every namespace that there is or was to be.
    pub(crate) namespaces: Vec<String>,
    /// The process that makes it, as long as it is not up.
    #[serde(default)]
    pub(crate) maker: i32,
    /// The programs that were started for it.
    #[serde(default)]
    pub(crate) programs: BTreeSet<String>,
    /// A link whose cable a run has cut, and not joined again.
    #[serde(default)]
    pub(crate) cut: Option<String>,
}

/// The folder of one lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(base: &Path, name: &LabName) -> Self {
        Self(base.join(name.as_str()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Claims it for a new lab; only one process can.
    pub(crate) fn create(&self, name: &LabName) -> Result<(), LabError> {
        if let Some(base) = self.0.parent() {
            fs::create_dir_all(base)
                .map_err(|error| LabError::io(format!("cannot create {}", base.display()), error))?;
        }
        fs::create_dir(&self.0).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => LabError::Exists {
                name: name.to_string(),
                is_whole: self.read().is_ok_and(|state| state.stage == Stage::Up),
            },
            _ => LabError::io(format!("cannot create {}", self.0.display()), error),
        })
    }

    pub(crate) fn exists(&self) -> bool {
        self.0.exists()
    }

    /// Returns the folder in which eBPF programs and maps are pinned.
    pub(crate) fn pins(&self) -> PathBuf {
        self.0.join("bpf")
    }

    /// The topology at the rates of the lab.
    pub(crate) fn topology(&self) -> PathBuf {
        self.0.join("topology.yaml")
    }

    pub(crate) fn log(&self, program: &str) -> PathBuf {
        self.0.join(format!("{program}.log"))
    }

    fn state(&self) -> PathBuf {
        self.0.join("state.json")
    }

    /// Replaces the file as a whole.
    pub(crate) fn write(&self, state: &State) -> Result<(), LabError> {
        let (file, draft) = (self.state(), self.0.join("state.json.new"));
        let text = serde_json::to_string_pretty(state)
            .map_err(|error| LabError::State { file: file.clone(), why: error.to_string() })?;
        let write = || {
            fs::write(&draft, text)?;
            fs::rename(&draft, &file)
        };
        write().map_err(|error| LabError::io(format!("cannot write {}", file.display()), error))
    }

    pub(crate) fn read(&self) -> Result<State, LabError> {
        let file = self.state();
        let wrong = |why: String| LabError::State { file: file.clone(), why };
        let text = fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
    }

    /// Changes what is remembered.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) -> Result<(), LabError> {
        let mut state = self.read()?;
        let before = state.clone();
        change(&mut state);
        if state == before { Ok(()) } else { self.write(&state) }
    }

    /// Takes the lock of the lab. Its holder makes or removes the lab.
    pub(crate) fn lock(&self, name: &LabName) -> Result<Lock, LabError> {
        let path = self.0.join("lock");
        let open = || {
            let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
            opened.map_err(|error| LabError::io(format!("cannot open {}", path.display()), error))
        };
        let mut file = open()?;
        let start = Instant::now();
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) if is_at(&lock, &path) => return Ok(Lock(lock)),
                // The file of a lab that was taken away: the name may have a new one.
                Ok(_) => file = open()?,
                Err((back, Errno::EWOULDBLOCK)) if start.elapsed() < TIMEOUT => {
                    file = back;
                    sleep(Duration::from_millis(10));
                }
                Err((_, Errno::EWOULDBLOCK)) => return Err(LabError::Busy(name.to_string())),
                Err((_, error)) => return Err(LabError::io(format!("cannot lock {}", path.display()), error)),
            }
        }
    }
}

/// Returns `true` if a path still leads to this file.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    file.metadata().map(place).ok() == fs::metadata(path).map(place).ok()
}

/// The lock of a lab. Tools that are started while it is shared hold it too: when their parent is killed, who takes the lab away waits for
/// them, and finds everything that they have made.
pub(crate) struct Lock(Flock<File>);

impl Lock {
    /// Sets whether programs that are started from now on also hold the lock.
    pub(crate) fn share(&self, with_children: bool) -> Result<(), LabError> {
        let flag = if with_children { FdFlag::empty() } else { FdFlag::FD_CLOEXEC };
        fcntl(self.0.as_fd(), FcntlArg::F_SETFD(flag))
            .map(drop)
            .map_err(|error| LabError::io("cannot share the lock of the lab", error))
    }
}

/// Returns `true` if a file system is mounted at a path.
pub(crate) fn is_mounted(path: &Path) -> io::Result<bool> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let path = path.to_string_lossy();
    Ok(mounts.lines().any(|line| line.split(' ').nth(4) == Some(&path)))
}
