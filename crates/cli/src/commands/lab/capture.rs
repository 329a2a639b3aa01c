//! `wayleave lab capture`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use wayleave_dataplane::net::{Capture, Captured, Namespace};
use wayleave_explain::human::count;
use wayleave_lab::{Lab, LabName, Labs, Place, pcap_head, pcap_record};
use wayleave_units::Time;

use super::exec::{namespace, unknown};
use super::name::{USUAL, parse_name};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::out;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab capture s1 --count 20
  sudo wayleave lab capture --node h1 --interface up1
  sudo wayleave lab capture acme:web --write web.pcap --lasts 10s

A line shows when and where a frame was seen, which links and queues its tags still name, and what it carries. Ctrl-C ends it.";

/// How long an ending goes unnoticed while nothing passes.
const LOOK: Duration = Duration::from_millis(100);

/// Show the frames that pass through a switch, a host's data plane or an endpoint of a lab, with their tags
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct CaptureArgs {
    /// Which lab
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
    /// Where the host forwards packets, instead of where its own programs are
    #[arg(long)]
    node: bool,
    /// A host, a switch, or a VM as TENANT:NAME
    #[arg(value_name = "WHERE")]
    place: String,
    /// Only this interface
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// End after so many frames
    #[arg(long, value_name = "COUNT")]
    count: Option<u64>,
    /// End after so long
    #[arg(long, value_name = "TIME")]
    lasts: Option<Time>,
    /// Write the frames into this file (pcap, times in nanoseconds) instead of showing them
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// Where frames go.
enum Sink {
    File(BufWriter<File>),
    Lines(Box<dyn Write>),
}

/// Runs the command.
pub(crate) fn run(args: &CaptureArgs) -> Result<Exit, Failure> {
    let cancel = interrupt::listen()?;
    let lab = Labs::default().open(&args.name)?;
    let name = namespace(&lab, &args.place, args.node).ok_or_else(|| unknown(&args.name, &args.place))?;
    let internal = |error: &dyn std::fmt::Display| Failure::Internal(error.to_string());
    let space = Namespace::open(&name).map_err(|error| internal(&error))?;
    let mut capture = Capture::open(&space).map_err(|error| internal(&error))?;
    let mut sink = Sink::open(args)?;
    let (begin, mut seen) = (Instant::now(), 0);
    let lasts = args.lasts.map(|lasts| Duration::from_nanos(lasts.as_nanos()));
    while !cancel.is_cancelled()
        && args.count.is_none_or(|most| seen < most)
        && lasts.is_none_or(|most| begin.elapsed() < most)
    {
        let Some(frame) = capture.next(LOOK).map_err(|error| internal(&error))? else { continue };
        let Some(place) = Place::of(lab.plan(), lab.network(), frame.ifindex, frame.is_outgoing) else { continue };
        if args.interface.as_ref().is_some_and(|only| place.interface() != only) {
            continue;
        }
        sink.put(&lab, &place, &frame)?;
        seen += 1;
    }
    if let (Sink::File(_), Some(file)) = (&sink, &args.write) {
        crate::output::tell!("{} in {}", count(usize::try_from(seen).unwrap_or(usize::MAX), "frame"), file.display());
    }
    sink.finish()?;
    Ok(Exit::Fine)
}

impl Sink {
    fn open(args: &CaptureArgs) -> Result<Self, Failure> {
        let Some(path) = &args.write else { return Ok(Self::Lines(Box::new(out()))) };
        let failed = |error: std::io::Error| Failure::Internal(format!("{}: {error}", path.display()));
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        file.write_all(&pcap_head()).map_err(failed)?;
        Ok(Self::File(file))
    }

    fn put(&mut self, lab: &Lab, place: &Place, seen: &Captured) -> Result<(), Failure> {
        match self {
            Self::File(file) => Ok(file.write_all(&pcap_record(seen.at_ns, &seen.frame))?),
            Self::Lines(out) => {
                let second = seen.at_ns / 1_000_000_000;
                let clock =
                    [second / 3600 % 24, second / 60 % 60, second % 60].map(|part| format!("{part:02}")).join(":");
                let (micros, way) = (seen.at_ns / 1_000 % 1_000_000, if seen.is_outgoing { "out" } else { "in " });
                let what = place.describe(lab.network(), &seen.frame);
                writeln!(out, "{clock}.{micros:06} {} {way} {what}", place.name)?;
                Ok(out.flush()?)
            }
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::File(mut file) => Ok(file.flush()?),
            Self::Lines(mut out) => Ok(out.flush()?),
        }
    }
}
