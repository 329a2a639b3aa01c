//! `wayleave lab capture`.

use clap::Args;
use wayleave_dataplane::net::{Capture, Namespace};
use wayleave_lab::{CapturePoint, LabName, Labs};

use super::exec::{namespace, unknown};
use super::name::{USUAL, parse_name};
use crate::commands::frame_sink::Frames;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab capture s1 --count 20
  sudo wayleave lab capture --node h1 --interface up1
  sudo wayleave lab capture acme:web --write web.pcap --lasts 10s

A line shows when and where a frame was seen, which links and queues its tags still name, and what it carries. Ctrl-C ends it.";

/// Capture frames on a switch, a host's data plane or an endpoint, and decode their tags
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct CaptureArgs {
    /// Name of the lab
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
    /// Use the namespace in which the host forwards, not that of its own programs
    #[arg(long)]
    node: bool,
    /// Host, switch, or VM as TENANT:NAME
    #[arg(value_name = "WHERE")]
    place: String,
    #[command(flatten)]
    frames: Frames,
}

/// Runs the command.
pub(crate) fn run(args: &CaptureArgs) -> Result<Exit, Failure> {
    let cancel = interrupt::listen()?;
    let lab = Labs::default().open(&args.name)?;
    let name = namespace(&lab, &args.place, args.node).ok_or_else(|| unknown(&args.name, &args.place))?;
    let internal = |error: &dyn std::fmt::Display| Failure::Internal(error.to_string());
    let space = Namespace::open(&name).map_err(|error| internal(&error))?;
    let capture = Capture::open(&space).map_err(|error| internal(&error))?;
    args.frames.capture(capture, &cancel, |sink, frame| {
        let place = CapturePoint::of(lab.plan(), lab.network(), frame.ifindex, frame.is_outgoing);
        let Some(place) = place.filter(|place| args.frames.are_wanted(place.interface())) else { return Ok(()) };
        sink.put(&place.name, frame, || place.describe(lab.network(), &frame.frame))
    })
}
