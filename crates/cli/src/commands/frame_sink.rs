//! Where captured frames go: lines for people, or a file of packets.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use wayleave_dataplane::frames::{pcap_head, pcap_record};
use wayleave_dataplane::net::Captured;
use wayleave_explain::human::count;

use crate::failure::Failure;
use crate::output::out;

/// Takes frames.
pub(crate) struct FrameSink {
    to: To,
    frames: usize,
}

enum To {
    File(PathBuf, BufWriter<File>),
    Lines(Box<dyn Write>),
}

impl FrameSink {
    /// Into this file (pcap, times in nanoseconds), or as lines.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self { to: To::Lines(Box::new(out())), frames: 0 }) };
        let failed = |error: std::io::Error| Failure::Internal(format!("{}: {error}", path.display()));
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        file.write_all(&pcap_head()).map_err(failed)?;
        Ok(Self { to: To::File(path.to_owned(), file), frames: 0 })
    }

    /// A frame that was seen at a place; `words` is what it is, for people.
    pub(crate) fn put(&mut self, place: &str, seen: &Captured, words: impl FnOnce() -> String) -> Result<(), Failure> {
        self.frames += 1;
        match &mut self.to {
            To::File(_, file) => Ok(file.write_all(&pcap_record(seen.at_ns, &seen.frame))?),
            To::Lines(out) => {
                let second = seen.at_ns / 1_000_000_000;
                let clock =
                    [second / 3600 % 24, second / 60 % 60, second % 60].map(|part| format!("{part:02}")).join(":");
                let (micros, way) = (seen.at_ns / 1_000 % 1_000_000, if seen.is_outgoing { "out" } else { "in " });
                writeln!(out, "{clock}.{micros:06} {place} {way} {}", words())?;
                Ok(out.flush()?)
            }
        }
    }

    /// Nothing more comes.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.to {
            To::File(path, mut file) => {
                file.flush()?;
                crate::output::tell!("{} in {}", count(self.frames, "frame"), path.display());
                Ok(())
            }
            To::Lines(mut out) => Ok(out.flush()?),
        }
    }
}
