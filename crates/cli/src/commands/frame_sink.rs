//! Frames of a capture: which are wanted, and their output as lines or as a file of packets.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use wayleave::Cancel;
use wayleave_dataplane::frames::{pcap_head, pcap_record};
use wayleave_dataplane::net::{Capture, Captured};
use wayleave_explain::human::count;
use wayleave_units::Time;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;

/// Interval between checks for Ctrl-C while no frame passes.
const LOOK: Duration = Duration::from_millis(100);

/// Options of commands that capture frames.
#[derive(Args, Clone, Debug)]
pub(crate) struct Frames {
    /// Only frames of this interface
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Option<String>,
    /// Stop after this number of frames
    #[arg(long, value_name = "COUNT")]
    count: Option<usize>,
    /// Stop after this time
    #[arg(long, value_name = "TIME")]
    lasts: Option<Time>,
    /// Write the frames to this pcap file (nanoseconds), instead of printing them
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

impl Frames {
    /// Returns `true` if frames of the interface are wanted.
    pub(crate) fn are_wanted(&self, interface: &str) -> bool {
        self.interface.as_ref().is_none_or(|only| only == interface)
    }

    /// Captures frames until there are enough, or until Ctrl-C. `put` puts those that are wanted into the sink.
    pub(crate) fn capture(
        &self,
        mut capture: Capture,
        cancel: &Cancel,
        mut put: impl FnMut(&mut FrameSink, &Captured) -> Result<(), Failure>,
    ) -> Result<Exit, Failure> {
        let mut sink = FrameSink::open(self.write.as_deref())?;
        let begin = Instant::now();
        let lasts = self.lasts.map(|lasts| Duration::from_nanos(lasts.as_nanos()));
        while !cancel.is_cancelled()
            && self.count.is_none_or(|most| sink.frames < most)
            && lasts.is_none_or(|most| begin.elapsed() < most)
        {
            if let Some(frame) = capture.next(LOOK).map_err(|error| Failure::Internal(error.to_string()))? {
                put(&mut sink, &frame)?;
            }
        }
        sink.finish()?;
        Ok(Exit::Fine)
    }
}

/// An output of captured frames.
pub(crate) struct FrameSink {
    to: To,
    frames: usize,
}

enum To {
    File(PathBuf, BufWriter<File>),
    Lines(Box<dyn Write>),
}

impl FrameSink {
    /// Opens this file (pcap, times in nanoseconds), or writes lines.
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self { to: To::Lines(Box::new(out())), frames: 0 }) };
        let failed = |error: std::io::Error| Failure::Internal(format!("{}: {error}", path.display()));
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        file.write_all(&pcap_head()).map_err(failed)?;
        Ok(Self { to: To::File(path.to_owned(), file), frames: 0 })
    }

    /// Writes a frame that was captured at a place; `words` describes it as text.
    pub(crate) fn put(&mut self, place: &str, seen: &Captured, words: impl FnOnce() -> String) -> Result<(), Failure> {
        self.frames += 1;
        match &mut self.to {
            To::File(_, file) => Ok(file.write_all(&pcap_record(seen.at_ns, &seen.frame))?),
            To::Lines(out) => {
                let second = seen.at_ns / 1_000_000_000;
                let clock =
                    [second / 3600 % 24, second / 60 % 60, second % 60].map(|part| format!("{part:02}")).join(":");
                let (micros, direction) =
                    (seen.at_ns / 1_000 % 1_000_000, if seen.is_outgoing { "out" } else { "in " });
                writeln!(out, "{clock}.{micros:06} {place} {direction} {}", words())?;
                Ok(out.flush()?)
            }
        }
    }

    /// Completes the output.
    fn finish(self) -> Result<(), Failure> {
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
