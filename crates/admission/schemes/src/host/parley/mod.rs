//! Parley: brokers divide the uplinks of racks, and of the whole fabric, among services.
//!
//! V. Jeyakumar, A. Kabbani, J. C. Mogul, A. Vahdat, "Flexible Network Bandwidth and Latency Provisioning in the
//! Datacenter", 2014.
//!
//! Three levels keep policies of three levels. The machine shaper is that of EyeQ: it limits senders to the rate that
//! a receiver's class may receive, within microseconds. A rack broker on every machine receives every second the
//! uplink demands of each machine of the rack. It computes the same shares as all the others, and sends its own
//! machine the sending and receiving rates of each service. A leader of each rack reports the demands of the rack's
//! services to the fabric broker every ten seconds, and receives their limits in this rack. Only services whose
//! demand exceeds their share are limited. A machine that is silent for five such intervals is forgotten, and one
//! that receives nothing for that time falls back to its own policy.
//!
//! | text | here |
//! |---|---|
//! | machine shaper, 3.2.1 and 5.1 | [`Shaper`], around [`crate::host::eyeq`] |
//! | water-filling, 3.2.2 | `wayleave_sharing`, over the tree of a [`Pool`] |
//! | demands, 3.2.2; of a limited service | [`wayleave_sharing::DemandEstimator`], fed by counters (`local_demand`) |
//! | rack broker, 3.2.2 and 5.2 | [`RackBroker`] |
//! | fabric broker and leader, 3.2.3 and 5.3 | [`FabricBroker`], [`RackBroker::leader`] |
//! | heavy consumers, 3.3 | [`Params::rack_report_threshold`], [`Params::fabric_report_threshold`] |
//! | 8 B for a service, 6.2 | [`wayleave_packet_format::broker`] |
//! | intervals and time-outs, Table 1 | [`Params`] |
//!
//! Points that the text leaves open, and the choices made here:
//! - Brokers exchange demands, not counters: a machine's own broker estimates the demands of its services from the
//!   machine's cumulative counters, and broadcasts them. So all brokers compute from the same numbers, one message is
//!   enough to know a machine, and no two clocks are compared. A lost message costs nothing but age: the last value
//!   is used (5.2).
//! - A service that fills a limit is taken to have unlimited demand ([`Params::demand`]). With a smaller estimate, a
//!   service whose estimate is satisfied would lose its limit for a round and take all that it can. In the fabric a
//!   round is ten seconds.
//! - A service whose machine's meter limits senders in nine of ten intervals counts as limited to its usage
//!   ([`crate::usage_report::MeteredUsage`]). Marks of congested uplinks limit it, and by usage alone it would appear
//!   satisfied. There is no such information for sent traffic.
//! - Brokers work when their machine reports, and the fabric broker when a rack reports; neither has a timer.
//! - The leader is the lowest of the machines that report. Two at once do no harm: a leader's message replaces the
//!   last one.
//! - The leader passes the fabric broker's limits on with every round, with their age. A broker that missed them or
//!   was restarted has them a round later. The time-out counts from the fabric broker's message.
//! - A rack's demand on the fabric is the total that it could give its services if the fabric broker did not limit
//!   them, averaged over the rounds of the interval. Otherwise a service that sends in bursts (Fig. 13) would be seen
//!   or missed by chance.
//! - A service whose demand does not exceed its share has no limit (3.2.2), but its maximum holds. A service with a
//!   maximum, of the rack or from the fabric broker, is always limited to that. A burst after a pause therefore does
//!   not exceed it until the next round (Fig. 13).
//! - Light services: a machine reports a service individually from the threshold divided by the number of machines
//!   on, so that no heavy one is missed, and at any usage if it has a limit or a maximum. The usage of all others is
//!   reported as one sum, which is subtracted from the capacity before it is shared: they are never limited, and
//!   their usage is promised to no service. Averages are those of the estimator, not over 5 minutes. In the fabric
//!   the threshold holds for the use in one rack.
//! - The links are not shared out to the last bit ([`Params::uplink_percent`]).
//! - Traffic inside the rack: "inter- and intra-rack traffic share the same rate limit" (5.1), and only traffic over
//!   the uplinks counts as demand. The limit on both is the uplinks' share, enlarged by the ratio of both in the last
//!   interval, so that traffic inside the rack keeps its part; the text's prototype does not enlarge it. A mix that
//!   changes is right one interval later. Limits on traffic between racks alone would need a limiter of its own in
//!   every shaper.
//! - A limit of the fabric below a guarantee of the rack: the most constrained policy decides (3.1), the limit.
//! - A service that the fabric policy names and the rack policy does not has the defaults of 3.1 in the rack. If a
//!   service of the rack policy contains it, name it there too: otherwise its limit from the fabric cannot be
//!   applied.
//! - A broker that was restarted sends nothing before it has two reports. If its machine reports the limits in force,
//!   it continues from there.

mod brokers;
mod contention_point;
mod fabric;
mod fabric_limit;
mod local_demand;
mod message;
mod params;
mod rack;
mod settings;
mod shaper;

pub use brokers::ParleyBroker;
pub use contention_point::{Pool, PoolError};
pub use fabric::FabricBroker;
pub use message::Message;
pub use params::Params;
pub use rack::{RackBroker, RackPlace};
pub use settings::{FabricBrokerAt, Settings};
pub use shaper::{Shaper, ShaperPlace, Timer};

use wayleave_scheme_api::{Described, Descriptor, Parameters, Role};
use wayleave_units::Time;

use crate::brokers::{BrokerError, BrokerNetwork, BrokerSetup, BrokerSpec, BrokerTimes};
use crate::hosts::{HostBuildError, HostScheme, HostSetup, NETWORK_HEADERS, UDP};

/// Descriptor of Parley.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "parley",
    title: "Parley",
    roles: &[Role::Host, Role::Broker],
    summary: "Parley: shapers, rack brokers and the fabric broker",
    citation: "V. Jeyakumar, A. Kabbani, J. C. Mogul, A. Vahdat, \"Flexible Network Bandwidth and Latency Provisioning in the Datacenter\", 2014",
    guarantee: "minimum, maximum and weight of services at machines, racks and the fabric, one broker round after demands change",
    parameters: Settings::LIST,
};

/// The scheme by its name: the part that runs on a machine.
pub type Parley = Shaper;

impl Described for Shaper {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Settings;
}

impl HostScheme for Shaper {
    const HAS_PARTS: bool = true;
    const HAS_INTERVAL: bool = true;
    const DIVIDES_CAPACITY: bool = true;
    const HAS_BROKERS: bool = true;
    const ENFORCES_LEVELS: bool = true;

    type Broker = ParleyBroker;

    fn build(setup: &mut HostSetup<'_>, settings: &Settings) -> Result<Self, HostBuildError> {
        let params = settings.params();
        let phase = (setup.phase)(params.rack_interval);
        // Every host that takes part has one.
        let broker = setup.brokers.of(setup.node).ok_or_else(|| HostBuildError::because("the host has no broker"))?;
        let place = ShaperPlace { broker, rack: setup.rack.to_vec(), epoch: setup.epoch, phase };
        Self::new(setup.line, settings.shaper.params(setup), params, place).map_err(HostBuildError::because)
    }

    fn brokers(around: &BrokerNetwork<'_>, settings: &Settings) -> Vec<BrokerSpec> {
        brokers::broker_specs(around, settings)
    }

    fn broker(setup: &BrokerSetup<'_>, settings: &Settings) -> Result<ParleyBroker, BrokerError> {
        ParleyBroker::new(setup, settings.params())
    }

    fn broker_times(settings: &Settings) -> BrokerTimes {
        let Params { rack_interval: interval, rack_timeout: timeout, fabric_timeout: connection, .. } =
            settings.params();
        BrokerTimes { interval, timeout, connection }
    }

    fn check(settings: &Settings) -> Result<(), String> {
        settings.check_together()
    }

    fn set_interval(&mut self, interval: Time) {
        Self::set_interval(self, interval);
    }

    /// Rates are in IP packets of their own (3.2.1), brokers write datagrams (5.2); the fabric broker's RPC (5.3) is taken
    /// for one as well.
    fn wire_bytes(message: &Message) -> usize {
        let transport = if matches!(message, Message::Feedback(_)) { 0 } else { UDP };
        message.encoded_len() + transport + NETWORK_HEADERS
    }
}

#[cfg(test)]
mod tests;
