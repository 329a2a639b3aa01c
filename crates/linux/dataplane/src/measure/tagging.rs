//! Cost of a packet: the whole program of an endpoint, with classification, bucket and tags.

use aya::programs::SchedClassifier;
use wayleave_units::{Bytes, Rate};

use super::{LOOPBACK, apart, frame, mac, rule, selector};
use crate::error::Error;
use crate::host::{Host, Sender};
use crate::test_run::{REDIRECTED, TestPacket, run};

/// Offered traffic: a row of Table 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagging {
    /// Bytes of a packet, from its destination address on.
    pub packet: usize,
    /// Packets in a row.
    pub batch: u32,
    /// Flows of the endpoint, each with its own contract.
    pub flows: u16,
    /// Tags of each route.
    pub tags: u16,
}

/// Space before a frame that the kernel gives to a run (`NET_SKB_PAD`): tags that do not fit there cost another buffer, which no
/// packet on an interface needs.
const ROOM: u32 = 64;

/// Returns the nanoseconds per packet. Of `trials` runs the fastest counts: other work of the machine makes runs
/// longer, and never shorter. The kernel's time to run an empty program is not counted.
///
/// # Errors
/// If the kernel refuses, or a packet was not sent.
pub fn tag(what: Tagging, trials: u32) -> Result<f64, Error> {
    apart(|apart| {
        let mut host = Host::open_measured(&apart.pins().join("host"))?;
        host.add_endpoint(LOOPBACK, mac(1))?;
        for flow in 0..what.flows {
            let sender = Sender { ifindex: LOOPBACK, selector: selector(1, flow) };
            // The rate is large enough for every packet.
            let rule = rule(sender, Rate::from_gbit(1_000), Bytes::new(1_000_000_000), what.tags)?;
            host.install(1 + u64::from(flow), 1, &rule)?;
        }
        let frames: Vec<_> = (0..what.flows).map(|flow| frame(1, flow, what.packet)).collect();
        let repeat = what.batch.min(ROOM / (4 * u32::from(what.tags)).max(1)).max(1);
        let (program, nothing) = (host.measured_program("again")?, host.measured_program("nothing")?);
        let mut fastest = [u32::MAX; 2];
        for trial in 0..trials {
            let frame = &frames[trial as usize % frames.len()];
            host.write_head(frame)?;
            fastest[0] = fastest[0].min(once(&program, frame, repeat, REDIRECTED)?);
            fastest[1] = fastest[1].min(once(&nothing, frame, repeat, crate::test_run::TO_STACK)?);
        }
        Ok(f64::from(fastest[0].saturating_sub(fastest[1])))
    })
}

fn once(program: &SchedClassifier, frame: &[u8], repeat: u32, expected: u32) -> Result<u32, Error> {
    let out = run(program, TestPacket { ifindex: LOOPBACK, frame, gso_size: 0 }, repeat)?;
    if out.verdict != expected {
        let why = format!("a packet was not sent: verdict {}, expected {expected}", out.verdict);
        return Err(Error::Failed { doing: "measuring".to_owned(), why });
    }
    Ok(out.nanos)
}
