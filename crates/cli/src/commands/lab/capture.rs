//! `wayleave lab capture`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use wayleave_dataplane::net::{Capture, Namespace};
use wayleave_lab::{CapturePoint, LabName, Labs};
use wayleave_units::Time;

use super::exec::{namespace, unknown};
use super::name::{USUAL, parse_name};
use crate::commands::frame_sink::FrameSink;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab capture s1 --count 20
  sudo wayleave lab capture --node h1 --interface up1
  sudo wayleave lab capture acme:web --write web.pcap --lasts 10s

A line shows when and where a frame was seen, which links and queues its tags still name, and what it carries. Ctrl-C ends it.";

/// How long an ending goes unnoticed while nothing passes.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Capture frames on a switch, a host's data plane or an endpoint, and decode their tags
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct CaptureArgs {
    /// Name of the lab
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
    /// Namespace in which the host forwards, not that of its own programs
    #[arg(long)]
    node: bool,
    /// Host, switch, or VM as TENANT:NAME
    #[arg(value_name = "WHERE")]
    place: String,
    /// Only frames of this interface
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Stop after this number of frames
    #[arg(long, value_name = "COUNT")]
    count: Option<u64>,
    /// Stop after this time
    #[arg(long, value_name = "TIME")]
    lasts: Option<Time>,
    /// Write the frames to this pcap file (nanoseconds), instead of printing them
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &CaptureArgs) -> Result<Exit, Failure> {
    let cancel = interrupt::listen()?;
    let lab = Labs::default().open(&args.name)?;
    let name = namespace(&lab, &args.place, args.node).ok_or_else(|| unknown(&args.name, &args.place))?;
    let internal = |error: &dyn std::fmt::Display| Failure::Internal(error.to_string());
    let space = Namespace::open(&name).map_err(|error| internal(&error))?;
    let mut capture = Capture::open(&space).map_err(|error| internal(&error))?;
    let mut sink = FrameSink::open(args.write.as_deref())?;
    let (begin, mut seen) = (Instant::now(), 0);
    let lasts = args.lasts.map(|lasts| Duration::from_nanos(lasts.as_nanos()));
    while !cancel.is_cancelled()
        && args.count.is_none_or(|most| seen < most)
        && lasts.is_none_or(|most| begin.elapsed() < most)
    {
        let Some(frame) = capture.next(POLL_INTERVAL).map_err(|error| internal(&error))? else { continue };
        let Some(place) = CapturePoint::of(lab.plan(), lab.network(), frame.ifindex, frame.is_outgoing) else {
            continue;
        };
        if args.interface.as_ref().is_some_and(|only| place.interface() != only) {
            continue;
        }
        sink.put(&place.name, &frame, || place.describe(lab.network(), &frame.frame))?;
        seen += 1;
    }
    sink.finish()?;
    Ok(Exit::Fine)
}
