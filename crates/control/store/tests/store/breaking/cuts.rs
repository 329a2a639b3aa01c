//! Power cuts: synced data is on disk, and of all other data any sectors may be.
//!
//! Runs of the writer are traced; most are killed once and continue, so that a run also begins with data that another
//! has left in the memory of the system. Each cut takes a prefix of a trace and builds the files that could be left:
//! names in the order in which they were created (file systems keep it), contents in sectors of 512 B in any
//! selection.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use wayleave_faults::{Shim, TraceStep, TracedCall, WriteFault, read};
use wayleave_repo_checks::Random;

use super::writer::{batch_of, command};
use super::{factor, seed};
use crate::common::{Scratch, open};

const SECTOR: usize = 512;
const CUTS: usize = 250;

#[test]
fn a_power_cut_at_any_moment_loses_no_acknowledged_commit() {
    let traces = traces();
    let first = seed(1);
    // An explicit seed selects one cut.
    let cuts =
        if std::env::var_os("WAYLEAVE_SEED").is_some() { 1 } else { CUTS.saturating_mul(factor()).min(1_000_000) };
    let mut unsynced = 0;
    for seed in first..first + cuts as u64 {
        let again = format!("WAYLEAVE_SEED={seed} cargo test -p wayleave-store --test store breaking::cuts");
        let mut random = Random::new(seed);
        let steps = &traces[seed as usize % traces.len()];
        let (done, rest) = steps.split_at(random.index(steps.len() + 1));
        let mut disk = Disk::default();
        done.iter().for_each(|step| disk.apply(step));
        unsynced += usize::from(!disk.is_synced());
        let after = Scratch::new();
        disk.cut(&mut random, &after);
        let acknowledged = disk.acknowledged();
        let opened = std::panic::catch_unwind(|| batch_of(&open(&after.ledger()).1));
        let found = opened.unwrap_or_else(|_| panic!("cut before {:?}; again: {again}", rest.first().map(short)));
        assert!(
            found == acknowledged || found == acknowledged + 1,
            "batch {acknowledged} was acknowledged and {found} is there; again: {again}"
        );
    }
    println!("{cuts} cuts of {} runs, {unsynced} with something unsynced", traces.len());
    assert!(cuts == 1 || unsynced > cuts / 4, "hardly a cut hit anything that was not synced");
}

/// Returns the trace of an undisturbed run, and some of runs that are killed before a sync and then continue.
fn traces() -> Vec<Vec<TraceStep>> {
    let shim = Shim::build(env!("CARGO_TARGET_TMPDIR")).unwrap_or_else(|error| panic!("{error}"));
    let whole = trace(&shim, None);
    let syncs = (1..).zip(&whole).filter(|(_, step)| step.call == TracedCall::Sync).map(|(at, _)| at);
    let kills: Vec<u64> = syncs.collect();
    [whole].into_iter().chain(kills.into_iter().map(|at| trace(&shim, Some(at)))).collect()
}

/// Everything that the writer does in its directory. The directory is new, so this is all there is.
fn trace(shim: &Shim, kill: Option<u64>) -> Vec<TraceStep> {
    let scratch = Scratch::new();
    let directory = scratch.path("writer");
    fs::create_dir(&directory).unwrap();
    let (watch, file) = (directory.to_str().unwrap(), scratch.path("trace"));
    let run = |kill: Option<u64>| {
        let mut command = command(&directory, 9);
        shim.preload(&mut command, watch, &WriteFault::Trace(file.clone()));
        if let Some(at) = kill {
            shim.preload(&mut command, watch, &WriteFault::KillBefore(at));
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.success(), kill.is_none(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    if kill.is_some() {
        run(kill);
    }
    run(None);
    read(&file).unwrap()
}

fn short(step: &TraceStep) -> (String, &'static str) {
    let call = match step.call {
        TracedCall::Create => "create",
        TracedCall::Write(..) => "write",
        TracedCall::Sync => "sync",
        TracedCall::Truncate(_) => "truncate",
        TracedCall::Unlink => "unlink",
        TracedCall::Rename(_) => "rename",
    };
    (step.path.file_name().unwrap_or_default().to_string_lossy().into_owned(), call)
}

/// Files as the program sees them, with the part of each that is certainly on disk.
#[derive(Default)]
struct Disk {
    files: Vec<File>,
    names: BTreeMap<PathBuf, usize>,
    /// The names that are on disk, and after each change of a name that may be.
    names_on_disk: Vec<BTreeMap<PathBuf, usize>>,
}

#[derive(Default)]
struct File {
    content: Vec<u8>,
    on_disk: Vec<u8>,
    unsynced: Vec<TracedCall>,
}

impl Disk {
    fn apply(&mut self, TraceStep { path, call }: &TraceStep) {
        if self.names_on_disk.is_empty() {
            self.names_on_disk.push(BTreeMap::new());
        }
        match call {
            TracedCall::Create => {
                self.files.push(File::default());
                self.names.insert(path.clone(), self.files.len() - 1);
                self.names_on_disk.push(self.names.clone());
            }
            TracedCall::Unlink => {
                if self.names.remove(path).is_some() {
                    self.names_on_disk.push(self.names.clone());
                }
            }
            TracedCall::Rename(to) => {
                let file = self.names.remove(path).expect("it is there");
                self.names.insert(to.clone(), file);
                self.names_on_disk.push(self.names.clone());
            }
            TracedCall::Sync => match self.names.get(path) {
                Some(file) => self.files[*file].sync(),
                None => drop(self.names_on_disk.drain(..self.names_on_disk.len() - 1)),
            },
            TracedCall::Write(..) | TracedCall::Truncate(_) => {
                let file = &mut self.files[self.names[path]];
                perform(&mut file.content, call, |_| true);
                file.unsynced.push(call.clone());
            }
        }
    }

    fn is_synced(&self) -> bool {
        let ours = |(path, _): &(&PathBuf, &usize)| !path.ends_with("acknowledged");
        self.names.iter().filter(ours).all(|(_, file)| self.files[*file].unsynced.is_empty())
            && self.names_on_disk.len() <= 1
    }

    /// Returns the last number acknowledged to the writer. (It has read the number; its own file needs no disk.)
    fn acknowledged(&self) -> u64 {
        let file = self.names.iter().find(|(path, _)| path.ends_with("acknowledged"));
        let text = file.map_or("", |(_, file)| std::str::from_utf8(&self.files[*file].content).unwrap());
        text.lines().last().map_or(0, |line| line.parse().unwrap())
    }

    /// Writes the files that are left into a directory.
    fn cut(&self, random: &mut Random, to: &Scratch) {
        let Some(last) = self.names_on_disk.len().checked_sub(1) else { return };
        let names = &self.names_on_disk[random.index(last + 1)];
        // Of some cuts hardly anything gets to the disk, of some nearly all.
        let share = [0, 10, 50, 90, 100][random.index(5)];
        for (path, file) in names {
            let File { on_disk, unsynced, .. } = &self.files[*file];
            let mut content = on_disk.clone();
            for call in unsynced {
                perform(&mut content, call, |_| random.index(100) < share);
            }
            to.write(path.file_name().unwrap().to_str().unwrap(), &content);
        }
    }
}

impl File {
    fn sync(&mut self) {
        self.on_disk.clone_from(&self.content);
        self.unsynced.clear();
    }
}

/// Performs a call, or the chosen sectors of a call.
fn perform(content: &mut Vec<u8>, call: &TracedCall, mut chosen: impl FnMut(usize) -> bool) {
    match call {
        TracedCall::Truncate(length) if chosen(0) => content.resize(*length as usize, 0),
        TracedCall::Write(offset, bytes) => {
            let mut at = *offset as usize;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (sector, after) = rest.split_at((SECTOR - at % SECTOR).min(rest.len()));
                if chosen(at / SECTOR) {
                    content.resize(content.len().max(at + sector.len()), 0);
                    content[at..at + sector.len()].copy_from_slice(sector);
                }
                (at, rest) = (at + sector.len(), after);
            }
        }
        _ => {}
    }
}
