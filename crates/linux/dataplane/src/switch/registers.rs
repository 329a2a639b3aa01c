//! The registers of uFAB-C (SIGCOMM 2022, sections 3.6 and 4.2) in an eBPF program: the state of a port's queue about
//! the pairs that are active on it. `wayleave_schemes::switch::ufab_core` is the model; a test compares both, probe by probe.
//!
//! This is the arithmetic of a port. A probe's request comes as bytes behind an Ethernet header, and
//! the answer follows them; the format of probes on the wire (`wayleave_packet_format::probe`) is not parsed here
//! yet, and no agent attaches the program.

use std::path::Path;

use aya::maps::{Array, Map, MapData};
use aya::programs::SchedClassifier;
use wayleave_units::{Bytes, Rate, Time};

use crate::error::Error;
use crate::programs::{Pins, UFAB};
use crate::test_run::{TO_STACK, TestPacket, run};

/// Bytes of `struct output` and of `struct told` in bpf/ufab.c.
const REQUEST: usize = 64;
const ANSWER: usize = 32;
const HEADER: usize = 14;
/// The loopback: frames are only given to the program.
const LOOPBACK: u32 = 1;
/// `NONE` of bpf/ufab.c.
const NONE: u8 = 2;

/// Lifetimes of the state, as in the parameters of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterSettings {
    /// Minimum time for which the filter remembers a change.
    pub dedup_window: Time,
    /// Time without a probe after which a pair no longer counts.
    pub pair_expiry: Time,
    /// In which the rate of a queue is measured, at least.
    pub measurement_interval: Time,
}

/// Purpose of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeFor {
    /// It only asks.
    Candidate,
    /// Its pair is active.
    Active,
    /// Its pair ends.
    Finish,
}

/// Request of a probe to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRequest {
    /// The queue, below 64.
    pub queue: u32,
    /// The pair.
    pub pair: u64,
    /// Purpose of the probe.
    pub kind: ProbeFor,
    /// Tokens of the pair, and its window.
    pub wanted: (u64, Bytes),
    /// Tokens and window that the queue counts for the pair, as far as its sender knows.
    pub counted: (u64, Bytes),
    /// The period in which it does; `None`: it counts nothing.
    pub period: Option<bool>,
    /// The number of the change.
    pub change: u16,
    /// `true` if the probe may be a retransmission.
    pub is_repeated: bool,
    /// Bytes that the queue has sent.
    pub sent: u64,
}

/// Answer of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueReply {
    /// Phi.
    pub tokens: u64,
    /// W.
    pub windows: Bytes,
    /// tx.
    pub rate: Rate,
    /// The period in which the pair is counted.
    pub period: bool,
}

/// The program and its registers.
pub struct Registers {
    program: SchedClassifier,
    settings: Array<MapData, [u8; 32]>,
    set: RegisterSettings,
}

impl Registers {
    /// Loads the program, with registers that count nothing, into a folder of a bpf file system; or finds it there.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn open(folder: &Path, set: RegisterSettings) -> Result<Self, Error> {
        let pins = Pins::open(folder, UFAB, |_| ())?;
        let settings = Array::try_from(Map::Array(pins.map("ufab_settings")?));
        let settings = settings.map_err(|error| Error::failed("opening the register settings", error))?;
        Ok(Self { program: pins.program("ufab")?, settings, set })
    }

    /// Gives a probe to the program, at a time after 0.
    ///
    /// # Errors
    /// If the kernel does not run it, or there is no such queue.
    pub fn probe(&mut self, now: Time, output: &ProbeRequest) -> Result<QueueReply, Error> {
        let RegisterSettings { dedup_window, pair_expiry, measurement_interval } = self.set;
        let times = [now, dedup_window, pair_expiry, measurement_interval].map(|time| time.as_nanos().to_ne_bytes());
        let mut value = [0; 32];
        value.iter_mut().zip(times.iter().flatten()).for_each(|(to, from)| *to = *from);
        self.settings.set(0, value, 0).map_err(|error| Error::failed("writing the register settings", error))?;
        let mut frame = vec![0; HEADER];
        frame.extend(output.bytes());
        frame.resize(HEADER + REQUEST + ANSWER, 0);
        let out = run(&self.program, TestPacket { ifindex: LOOPBACK, frame: &frame, gso_size: 0 }, 1)?;
        if out.verdict != TO_STACK {
            return Err(Error::Refused(format!("queue {} has no registers", output.queue)));
        }
        let number = |at: usize| out.frame.get(HEADER + REQUEST + 8 * at..HEADER + REQUEST + 8 * (at + 1));
        let number = |at: usize| number(at).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes);
        let rate = Rate::from_bits_per_second(number(2));
        Ok(QueueReply { tokens: number(0), windows: Bytes::new(number(1)), rate, period: number(3) != 0 })
    }
}

impl ProbeRequest {
    /// `struct output` of bpf/ufab.c.
    fn bytes(&self) -> Vec<u8> {
        let Self { queue, pair, kind, wanted, counted, period, change, is_repeated, sent } = *self;
        let numbers = [pair, wanted.0, counted.0, wanted.1.get(), counted.1.get(), sent];
        let mut bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.extend(queue.to_ne_bytes());
        bytes.extend(change.to_ne_bytes());
        bytes.extend([kind as u8, u8::from(is_repeated), period.map_or(NONE, u8::from)]);
        bytes.resize(REQUEST, 0);
        bytes
    }
}
