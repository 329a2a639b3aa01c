//! Functions of a host for measurements.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use aya::maps::{Array, Map, MapData};
use aya::programs::SchedClassifier;
use wayleave_units::Bytes;

use super::Host;
use crate::error::Error;
use crate::layout::u64_at;
use crate::programs;

/// Counters of a bucket, and the time when it was last filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub(crate) last: u64,
    pub(crate) packets: u64,
    pub(crate) shaped: u64,
}

impl Host {
    /// Returns the kernel memory of maps and programs, as reported by the kernel.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn memory(&self) -> Result<Bytes, Error> {
        let mut sum = 0;
        let folder = self.pins.path("");
        let entries = fs::read_dir(&folder).map_err(|error| Error::at("reading", &folder, error))?;
        for name in entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())) {
            sum += match name.as_str() {
                program if programs::PROGRAMS.contains(&program) => {
                    let program = self.pins.program(&name)?;
                    locked(program.fd().map_err(|error| Error::failed("reading a program", error))?.as_fd())?
                }
                _ => locked(self.pins.map(&name)?.fd().as_fd())?,
            };
        }
        Ok(Bytes::new(sum))
    }

    /// The bucket of a contract, as it is now.
    pub(crate) fn bucket(&self, serial: u64) -> Result<Bucket, Error> {
        let slot = self.slots.get(&serial).map_or(0, |&(slot, _)| slot);
        let bytes = self.buckets.get(&slot, 0).map_err(|error| Error::failed("reading a bucket", error))?;
        let [last, packets, shaped] = [8, 16, 32].map(|at| u64_at(&bytes, at));
        Ok(Bucket { last, packets, shaped })
    }

    /// A program that only measurements have.
    pub(crate) fn measured_program(&self, name: &str) -> Result<SchedClassifier, Error> {
        self.pins.program(name)
    }

    /// Writes the first bytes of a frame, which are restored each time it is repeated.
    pub(crate) fn write_head(&self, frame: &[u8]) -> Result<(), Error> {
        let failed = |error| Error::failed("writing the head of a frame", error);
        let mut head = [0_u8; 48];
        head.iter_mut().zip(frame).for_each(|(to, from)| *to = *from);
        let map = Array::<MapData, [u8; 48]>::try_from(Map::Array(self.pins.map("head")?));
        map.map_err(failed)?.set(0, head, 0).map_err(failed)
    }
}

/// Returns `memlock` of the object behind a file descriptor.
fn locked(fd: BorrowedFd<'_>) -> Result<u64, Error> {
    let path = format!("/proc/self/fdinfo/{}", fd.as_raw_fd());
    let text = fs::read_to_string(&path).map_err(|error| Error::failed(format!("reading {path}"), error))?;
    let value = text.lines().find_map(|line| line.strip_prefix("memlock:")?.trim().parse().ok());
    value.ok_or_else(|| Error::Failed { doing: format!("reading {path}"), why: "no memlock found".to_owned() })
}
