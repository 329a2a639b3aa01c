//! Files: what is written reads back, and nothing else is taken for a trace.

use std::fs;
use std::io::{self, Cursor, Write};
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use wayleave_repo_checks::TempFolder;

use super::file::WholeFile;
use super::*;

fn any_record() -> impl Strategy<Value = TraceRecord> {
    let words = any::<[u32; 5]>();
    let codes: Vec<u8> = (0..=u8::MAX).filter(|&code| PacketEvent::from_code(code).is_some()).collect();
    (any::<u64>(), words, prop::sample::select(codes), any::<[u8; 3]>()).prop_map(|(time_ps, words, code, bytes)| {
        let [link, flow, sequence, expected, size] = words;
        let [queue, flags, tags] = bytes;
        let (event, flags) = (PacketEvent::from_code(code).unwrap(), Flags::from_bits(flags));
        TraceRecord { time_ps, link, flow, sequence, expected, size, event, queue, flags, tags }
    })
}

fn any_header() -> impl Strategy<Value = Header> {
    let name = || any::<String>();
    let nodes = vec(name().prop_map(|name| NodeEntry { name }), 0..4);
    let link = (name(), any::<[u32; 2]>()).prop_map(|(name, [from, to])| LinkEntry { name, from, to });
    let flow = (name(), any::<[u32; 3]>()).prop_map(|(name, [from, to, segment_bytes])| TraceFlow {
        name,
        from,
        to,
        segment_bytes,
    });
    (name(), any::<[u64; 2]>(), nodes, vec(link, 0..4), vec(flow, 0..4)).prop_map(
        |(program, [seed, input_hash], nodes, links, flows)| Header { program, seed, input_hash, nodes, links, flows },
    )
}

fn ring(most: usize, records: &[TraceRecord]) -> Ring {
    let mut ring = Ring::new(most);
    records.iter().for_each(|&record| ring.push(record));
    ring
}

fn bytes(header: &Header, ring: &Ring) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(&mut bytes, header, ring).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<(Header, Vec<TraceRecord>), ReadError> {
    let reader = Reader::new(Cursor::new(bytes))?;
    let header = reader.header().clone();
    let kept = reader.kept();
    let records: Vec<TraceRecord> = reader.collect::<Result<_, _>>()?;
    assert_eq!(records.len() as u64, kept);
    Ok((header, records))
}

/// A trace with a bit of everything.
fn sample() -> Vec<u8> {
    let header = Header {
        program: "0.1.0".into(),
        seed: 42,
        input_hash: fnv1a(b"scenario"),
        nodes: vec![NodeEntry { name: "h1".into() }, NodeEntry { name: "h2".into() }],
        links: vec![LinkEntry { name: "h1->h2".into(), from: 0, to: 1 }],
        flows: vec![TraceFlow { name: "flöw".into(), from: 0, to: 1, segment_bytes: 1_460 }],
    };
    let record = TraceRecord { time_ps: 77, size: 1_538, event: PacketEvent::Delivered, ..TraceRecord::default() };
    bytes(&header, &ring(3, &[record; 4]))
}

proptest! {
    #[test]
    fn written_traces_are_read_back(
        header in any_header(),
        records in vec(any_record(), 0..50),
        most in 1..60usize,
    ) {
        let ring = ring(most, &records);
        let kept = &records[records.len().saturating_sub(most)..];
        let (read_header, read_records) = read(&bytes(&header, &ring)).unwrap();
        prop_assert_eq!(read_header, header);
        prop_assert_eq!(read_records, kept);
    }

    #[test]
    fn noise_after_the_magic_number_is_refused_without_a_panic(noise in vec(any::<u8>(), 0..200)) {
        let file = [&sample()[..12], &noise[..]].concat();
        prop_assert!(read(&file).is_err());
    }
}

#[test]
fn every_truncation_is_reported_as_one() {
    let whole = sample();
    assert!(read(&whole).is_ok());
    for length in 0..whole.len() {
        match read(&whole[..length]) {
            Err(ReadError::Truncated { bytes }) => assert_eq!(bytes, length as u64),
            other => panic!("{length} of {} bytes: {other:?}", whole.len()),
        }
    }
}

#[test]
fn every_changed_bit_is_found() {
    let whole = sample();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            assert!(read(&damaged).is_err(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn a_file_that_is_no_trace_is_refused_with_the_reason() {
    let whole = sample();
    assert!(matches!(read(b"hello, world"), Err(ReadError::NotATrace)));
    assert!(matches!(read(&[&whole[..], b"x"].concat()), Err(ReadError::TooLong)));
    let newer = [&whole[..8], &9_u32.to_le_bytes(), &whole[12..]].concat();
    assert!(matches!(read(&newer), Err(ReadError::Version { found: 9 })));
    // A file that went through a conversion of line ends.
    let converted: Vec<u8> = whole.iter().copied().filter(|&byte| byte != b'\r').collect();
    assert!(matches!(read(&converted), Err(ReadError::NotATrace)));
}

#[test]
fn an_event_of_a_later_program_is_named() {
    let mut file = sample();
    // The event of the second of three records, before checksum and end mark.
    let at = file.len() - 16 - 2 * 32 + 28;
    file[at] = 99;
    let end = file.len() - 16;
    let checksum = fnv1a(&file[..end]);
    file[end..end + 8].copy_from_slice(&checksum.to_le_bytes());
    assert!(matches!(read(&file), Err(ReadError::UnknownEvent { record: 1, code: 99 })));
}

/// Returns the names of the files in a folder, in order.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_trace_replaces_a_file_when_it_is_complete() {
    let directory = TempFolder::new("replaces");
    let path = directory.join("run.trace");
    fs::write(&path, "old").unwrap();
    write(&path, &Header::default(), &ring(5, &[TraceRecord::default()])).unwrap();
    assert_eq!(Reader::open(&path).unwrap().kept(), 1);
    assert_eq!(names(&directory), ["run.trace"]);
}

#[test]
fn an_unfinished_file_leaves_everything_unchanged() {
    let directory = TempFolder::new("unfinished");
    let path = directory.join("run.trace");
    fs::write(&path, "old").unwrap();
    let mut file = WholeFile::create(&path).unwrap();
    file.write_all(b"half").unwrap();
    assert_eq!(names(&directory).len(), 2);
    let error = file.error(io::Error::from(io::ErrorKind::StorageFull));
    assert!(error.to_string().contains("run.trace: "), "{error}");
    drop(file);
    assert_eq!(names(&directory), ["run.trace"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn an_old_temporary_file_is_not_touched() {
    let directory = TempFolder::new("leftover");
    let leftover = format!("run.trace.{}-0.partial", std::process::id());
    fs::write(directory.join(&leftover), "other").unwrap();
    write(&directory.join("run.trace"), &Header::default(), &Ring::new(1)).unwrap();
    assert_eq!(names(&directory), ["run.trace".to_owned(), leftover.clone()]);
    assert_eq!(fs::read_to_string(directory.join(leftover)).unwrap(), "other");
}

#[test]
fn an_unwritable_path_is_named() {
    let directory = TempFolder::new("unwritable");
    for path in [directory.join("missing/run.trace"), directory.to_path_buf()] {
        let error = write(&path, &Header::default(), &Ring::new(1)).unwrap_err();
        assert_eq!(error.path, path);
        assert!(error.to_string().starts_with(&format!("cannot write {}: ", path.display())), "{error}");
    }
    assert_eq!(names(&directory), [""; 0]);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_kept_and_its_target_replaced() {
    let directory = TempFolder::new("link");
    let (target, link) = (directory.join("target"), directory.join("link"));
    fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    write(&link, &Header::default(), &Ring::new(1)).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(Reader::open(&target).is_ok());
}

#[cfg(unix)]
#[test]
fn a_file_that_is_not_regular_is_not_replaced() {
    let directory = TempFolder::new("socket");
    let path = directory.join("s");
    // A socket of its own represents devices. Never a real device: if this test failed as root, the machine would lose
    // it.
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let error = write(&path, &Header::default(), &Ring::new(1)).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
    assert!(!fs::symlink_metadata(&path).unwrap().is_file());
    assert_eq!(names(&directory), ["s"]);
}
