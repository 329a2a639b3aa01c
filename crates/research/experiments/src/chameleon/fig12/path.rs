//! The whole path of a packet, from the sender's socket to the receiver's: two hosts at one switch, in a network of namespaces.

use std::time::Duration;

use wayleave_contracts::LatencyContract;
use wayleave_lab::run::{OfferedContract, RunOptions};
use wayleave_topology::builders::{Cabling, build};
use wayleave_units::{Bytes, Rate, Time};

use super::super::testbed::order;
use crate::data::Table;
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::percentile;

/// Table 3.
pub(super) const PACKETS: [usize; 3] = [64, 776, 1478];
/// Of every link: a full frame takes 125 us, and the kernel's timers can keep that.
const LINE: Rate = Rate::from_mbit(100);
/// Rate of a sender: a tenth, so that packets do not wait for each other.
const RATE: Rate = Rate::from_mbit(10);
/// The largest packet of a lab has 1514 B; on the wire tags and frame overhead are added.
const AROUND: u64 = 48;

/// The smallest packet that has room for its send time: 44 B behind the headers of Ethernet, IP and UDP.
const SMALLEST: u64 = 86;

/// Measurements of packets of one size.
#[derive(Clone, Debug)]
pub(super) struct Path {
    packet: u64,
    received: u64,
    pub(super) lost: u64,
    shaped: u64,
    /// Socket to socket, us: median and 99 %.
    delays_us: [f64; 2],
}

pub(super) const NOTE: &str = "The whole path goes from the sender's socket over its host's program, two links of 100 Mbit/s and one switch to the receiver's socket, one \
                               packet at a time. The time of a frame on both links is part of it. What is left is that of sockets, programs, timers and the wake-up of the \
                               receiver on this machine. The smallest packets are of 86 B, not 64 B: they carry when they were sent. An idle port of a lab sends a frame at once, so it can be less than the time on the links.";

/// Nothing where networks cannot be set up.
pub(super) fn measure(run: &Run) -> Result<Option<Vec<Path>>, Failed> {
    match all(run) {
        Ok(paths) => Ok(Some(paths)),
        Err(Failed::LeftOut(_)) => Ok(None),
        Err(failed) => Err(failed),
    }
}

fn all(run: &Run) -> Result<Vec<Path>, Failed> {
    let plain = build::star(2, Cabling { rate: LINE, ..Cabling::default() }).map_err(Failed::broken)?;
    let network = wayleave_lab::scaled(&plain, LINE).map_err(Failed::broken)?;
    let mut testbed = run.laboratory()?.up("fig12", &network, &[])?;
    let hosts: Vec<_> = network.hosts().collect();
    let mut paths = Vec::new();
    for (packet, index) in PACKETS.into_iter().zip(0..) {
        let packet = (packet as u64).max(SMALLEST);
        let frame = Bytes::new(packet + AROUND);
        let contract = LatencyContract {
            max_frame: Some(frame),
            ..LatencyContract::new(format!("packets-{packet}"), hosts[0], hosts[1], RATE, frame, Time::from_millis(100))
        };
        let order = order(&network, contract, index)?;
        if !testbed.offer(&order)? {
            return Err(Failed::broken("the contract of a path was refused"));
        }
        let promised = OfferedContract::of(testbed.lab().plan(), &order)
            .ok_or_else(|| Failed::broken("a request without a port"))?;
        let lasts = run.choose(Duration::from_secs(5), Duration::from_secs(2));
        let seen = testbed.run(&[promised], &RunOptions::lasting(lasts))?;
        let silent = || Failed::broken(format!("packets of {packet} B were not sent"));
        let one = seen.contracts.first().ok_or_else(silent)?;
        let losses = one.losses.ok_or_else(|| Failed::broken("the counters of a shaper are unknown"))?;
        let delays: Vec<f64> = one.flow.delays.iter().map(|&delay| delay as f64 / 1e3).collect();
        paths.push(Path {
            packet,
            received: one.flow.received(),
            lost: losses.network,
            shaped: losses.shaped,
            delays_us: [percentile(&delays, 0.5), percentile(&delays, 0.99)],
        });
    }
    Ok(paths)
}

/// Returns the time of a frame on both links, in us.
fn on_links(packet: u64) -> f64 {
    2.0 * ((packet + AROUND) * 8) as f64 * 1e6 / LINE.bits_per_second() as f64
}

pub(super) fn table(paths: &[Path]) -> Table {
    let row = |path: &Path| {
        let [median, most] = path.delays_us;
        vec![
            path.packet.to_string(),
            path.received.to_string(),
            path.lost.to_string(),
            path.shaped.to_string(),
            format!("{median:.0}"),
            format!("{most:.0}"),
            format!("{:.0}", on_links(path.packet)),
        ]
    };
    let columns = ["packet (B)", "received", "lost", "shaped", "median (us)", "p99 (us)", "on two links (us)"];
    Table {
        name: "path".to_owned(),
        title: "From the sender's socket to the receiver's".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: paths.iter().map(row).collect(),
    }
}

/// Every packet that passed the shaper, and so was tagged, arrives.
pub(super) fn all_sent(paths: &[Path]) -> Statement {
    let sum = |of: fn(&Path) -> u64| paths.iter().map(of).sum::<u64>();
    let (received, lost, shaped) = (sum(|path| path.received), sum(|path| path.lost), sum(|path| path.shaped));
    Statement::claim(
        "5.3.1",
        "all tagged packets are successfully sent",
        lost == 0 && received > 0,
        format!(
            "of {} tagged packets {received} arrived; {shaped} more were dropped by the shaper, before they had tags",
            received + lost
        ),
    )
    .ruled_out(["packets dropped by the shaper, which have no tags"])
}

#[cfg(test)]
impl Path {
    pub(super) fn made_up() -> Self {
        Self { packet: 776, received: 1_000, lost: 0, shaped: 0, delays_us: [200.0, 300.0] }
    }
}
