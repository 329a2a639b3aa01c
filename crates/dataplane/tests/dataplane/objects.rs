//! The compiled programs are those of the sources.

use std::path::Path;

use sha2::{Digest, Sha256};

/// In the order of `bpf/compile`.
const SOURCES: [&str; 9] =
    ["kernel.h", "maps.h", "parse.h", "filter.h", "delay.h", "host.c", "switch.c", "pass.c", "bench.c"];

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf")
}

#[test]
fn the_shipped_objects_are_compiled_of_these_sources() {
    let mut hash = Sha256::new();
    for source in SOURCES {
        hash.update(std::fs::read(folder().join(source)).unwrap());
    }
    let now: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let then = std::fs::read_to_string(folder().join("objects/sources.sha256")).unwrap();
    assert_eq!(then.trim(), now, "the eBPF programs have changed since they were compiled: run `make bpf`");
}

#[test]
fn every_source_is_among_them() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.filter(|name| name.ends_with(".c") || name.ends_with(".h")).collect();
    let mut sources = SOURCES.map(str::to_owned).to_vec();
    files.sort();
    sources.sort();
    assert_eq!(files, sources);
}
