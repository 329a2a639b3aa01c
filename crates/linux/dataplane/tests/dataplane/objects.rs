//! The compiled programs are those of the sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// In the order of `bpf/compile`.
const SOURCES: [&str; 15] = [
    "kernel.h",
    "maps.h",
    "parse.h",
    "carry.h",
    "filter.h",
    "delay.h",
    "samples.h",
    "follow.h",
    "charge.h",
    "host.c",
    "switch.c",
    "pass.c",
    "service.c",
    "bench.c",
    "ufab.c",
];
const OBJECTS: [&str; 6] = ["host.o", "switch.o", "pass.o", "service.o", "bench.o", "ufab.o"];
/// Status of `bpf/compile` where clang, llvm-strip or the headers of the kernel are missing.
const MISSING: i32 = 127;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf")
}

/// Compilers differ in the instructions that they choose, so objects are the same byte for byte only from the same tools: compiler,
/// llvm-strip and header, as `bpf/compile` notes them. Of others only what they have no choice about is compared.
pub(crate) fn the_sources_compile_to_the_shipped_objects() {
    let shipped = folder().join("objects");
    let compiled = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("objects-{}", std::process::id()));
    fs::create_dir_all(&compiled).unwrap();
    let output = Command::new(folder().join("compile")).arg(&compiled).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(MISSING) {
        fs::remove_dir_all(&compiled).unwrap();
        wayleave_repo_checks::leave_out(
            "clang",
            format_args!("it compiles the eBPF programs again: {}", printed.trim()),
        );
    }
    assert!(output.status.success(), "{printed}");

    let tools = |folder: &Path| fs::read_to_string(folder.join("tools")).unwrap().trim().replace('\n', ", ");
    let (then, now) = (tools(&shipped), tools(&compiled));
    for name in OBJECTS {
        let (old, new) = (fs::read(shipped.join(name)).unwrap(), fs::read(compiled.join(name)).unwrap());
        assert_eq!(Interface::of(&old), Interface::of(&new), "{name} is not of these sources: run `make bpf`");
        if old == new {
            continue;
        }
        assert_ne!(then, now, "{name} is not what these tools make of these sources: run `make bpf`");
        wayleave_repo_checks::left_out(
            "clang",
            format_args!("the instructions of {name} are not compared: they were made with {then}, and here is {now}"),
        );
    }
    fs::remove_dir_all(&compiled).unwrap();
}

/// Properties that every compiler produces identically from one source.
#[derive(Debug, PartialEq, Eq)]
struct Interface {
    license: String,
    /// Section by name.
    programs: BTreeMap<String, String>,
    /// Type, size of a key and of a value, entries, flags and pinning by name.
    maps: BTreeMap<String, (u32, u32, u32, u32, u32, u32)>,
}

impl Interface {
    fn of(object: &[u8]) -> Self {
        let object = aya_obj::Object::parse(object).unwrap();
        let programs = object.programs.iter().map(|(name, program)| (name.clone(), format!("{:?}", program.section)));
        let maps = object.maps.iter().map(|(name, map)| {
            let sizes = (map.map_type(), map.key_size(), map.value_size());
            (name.clone(), (sizes.0, sizes.1, sizes.2, map.max_entries(), map.map_flags(), map.pinning() as u32))
        });
        Self {
            license: object.license.to_str().unwrap().to_owned(),
            programs: programs.collect(),
            maps: maps.collect(),
        }
    }
}

/// Without a compiler only the hash shows that objects are of other sources; the folder of pins carries this hash.
pub(crate) fn the_hash_of_the_sources_is_that_of_the_shipped_objects() {
    let mut hash = Sha256::new();
    for source in SOURCES {
        hash.update(fs::read(folder().join(source)).unwrap());
    }
    let now: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let then = fs::read_to_string(folder().join("objects/sources.sha256")).unwrap();
    assert_eq!(then.trim(), now, "the eBPF programs have changed since they were compiled: run `make bpf`");
}

pub(crate) fn every_source_and_every_object_is_listed() {
    let listed = |folder: PathBuf, endings: &[&str]| {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = files.filter(|name| endings.iter().any(|ending| name.ends_with(ending))).collect();
        files.sort();
        files
    };
    let sorted = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(listed(folder(), &[".c", ".h"]), sorted(&SOURCES));
    assert_eq!(listed(folder().join("objects"), &[".o"]), sorted(&OBJECTS));
}
