//! Claim of a lab by a command that sends traffic through it, such as `lab run`: two at once would use the same ports
//! and disturb each other's measurements.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::LabError;
use crate::names::LabName;
use crate::state::{Folder, is_at};

/// Time for which a claim is retried: `lab status` takes the lock for an instant.
const TIMEOUT: Duration = Duration::from_millis(200);

/// A claimed lab, until it is dropped. The kernel ends the claim of a killed process.
#[derive(Debug)]
pub struct RunClaim {
    _lock: Flock<File>,
}

/// A run that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveRun {
    /// Process of the run; `None` if it has not written its number yet.
    pub pid: Option<i32>,
}

impl RunClaim {
    /// Takes the claim of the lab in a folder, and writes the number of this process to it.
    pub(crate) fn take(folder: &Folder, name: &LabName) -> Result<Self, LabError> {
        let path = path(folder);
        let failed = |error: std::io::Error| LabError::io(format!("cannot lock {}", path.display()), error);
        let open = || OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed);
        let (mut file, start) = (open()?, Instant::now());
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(mut lock) if is_at(&lock, &path) => {
                    let pid = std::process::id().to_string();
                    let written =
                        lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| lock.write_all(pid.as_bytes()));
                    return written.map_err(failed).map(|()| Self { _lock: lock });
                }
                // The lab was removed: its name may have a new folder.
                Ok(_) => file = open()?,
                Err((back, Errno::EWOULDBLOCK)) if start.elapsed() < TIMEOUT => {
                    file = back;
                    sleep(Duration::from_millis(10));
                }
                Err((_, Errno::EWOULDBLOCK)) => {
                    return Err(LabError::Running { name: name.to_string(), pid: pid(folder) });
                }
                Err((_, error)) => return Err(failed(error.into())),
            }
        }
    }
}

impl ActiveRun {
    /// Returns the run of the lab in a folder; `None` if no run is in progress.
    pub(crate) fn of(folder: &Folder) -> Option<Self> {
        let file = File::open(path(folder)).ok()?;
        match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Err((_, Errno::EWOULDBLOCK)) => Some(Self { pid: pid(folder) }),
            _ => None,
        }
    }
}

fn path(folder: &Folder) -> PathBuf {
    folder.path().join("run.lock")
}

fn pid(folder: &Folder) -> Option<i32> {
    fs::read_to_string(path(folder)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_is_claimed_by_one_run_which_is_named() {
        let base = std::env::temp_dir().join(format!("wayleave-claim-{}", std::process::id()));
        let name = LabName::new("claimed").unwrap();
        let folder = Folder::new(&base, &name);
        folder.create(&name).unwrap();
        assert_eq!(ActiveRun::of(&folder), None);
        let claim = RunClaim::take(&folder, &name).unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        assert_eq!(ActiveRun::of(&folder), Some(ActiveRun { pid: Some(me) }));
        let refused = RunClaim::take(&folder, &name).unwrap_err();
        assert!(matches!(&refused, LabError::Running { pid, .. } if *pid == Some(me)), "{refused}");
        assert!(refused.to_string().contains(&format!("pid {me}")), "{refused}");
        drop(claim);
        assert_eq!(ActiveRun::of(&folder), None);
        drop(RunClaim::take(&folder, &name).unwrap());
        fs::remove_dir_all(base).unwrap();
    }
}
