//! Parley: brokers divide the uplinks of racks, and of the whole fabric, among services.
//!
//! V. Jeyakumar, A. Kabbani, J. C. Mogul, A. Vahdat, "Flexible Network Bandwidth and Latency Provisioning in the Datacenter", 2014.
//!
//! Three levels keep policies of three levels. The machine shaper is that of EyeQ: it holds senders to what a receiver's class may
//! receive, within microseconds. A rack broker on every machine hears every second what each machine of the rack wants of the
//! uplinks, computes the same shares as all the others, and tells its own machine what each of its services may send and
//! receive. A leader of each rack tells the fabric broker every ten seconds what the rack's services want, and hears
//! what they may have in this rack. Only those who want more than they get are limited. Whoever is not heard for five such
//! intervals is forgotten, and whoever hears nothing for so long falls back to its own policy.
//!
//! | text | here |
//! |---|---|
//! | machine shaper, 3.2.1 and 5.1 | [`Shaper`], around [`crate::host::eyeq`] |
//! | water-filling, 3.2.2 | `wayleave_sharing`, over the tree of a [`Pool`] |
//! | demands, 3.2.2; of a limited service | [`wayleave_sharing::DemandEstimator`], fed by counters (`local_demand`) |
//! | rack broker, 3.2.2 and 5.2 | [`RackBroker`] |
//! | fabric broker and leader, 3.2.3 and 5.3 | [`FabricBroker`], [`RackBroker::leader`] |
//! | heavy consumers, 3.3 | [`Params::heavy_in_rack`], [`Params::heavy_in_fabric`] |
//! | 8 B for a service, 6.2 | [`wayleave_packet_format::broker`] |
//! | intervals and time-outs, Table 1 | [`Params`] |
//!
//! What the text leaves open, and what is done here:
//! - What brokers tell one another are demands, not counters: a machine's own broker estimates what its services want, from the
//!   machine's cumulative counters, and broadcasts that. So all brokers compute from the same numbers, one message
//!   is enough to know a machine, and no two clocks are compared. A lost message costs nothing but age: the last value is
//!   used (5.2).
//! - Who fills a limit is taken to want everything ([`Params::demand`]). With a smaller guess a service whose guess is satisfied
//!   would lose its limit for a round and take whatever it can, which in the fabric is ten seconds.
//! - A service whose machine's meter holds senders back in nine of ten intervals counts as limited to what it uses ([`crate::usage_report::Metered`]):
//!   marks of congested uplinks hold it, and by usage alone it would look content. Of what is sent nothing of the kind is known.
//! - Brokers work when their machine reports, and the fabric broker when a rack speaks; neither has a timer.
//! - The leader is the lowest of the machines that are heard. Two at once do no harm: what a leader says replaces.
//! - The leader passes the fabric broker's limits on with every round, with their age, so that a broker that missed them or was
//!   restarted has them a round later. The time-out counts from when the fabric broker spoke.
//! - A rack wants of the fabric what it could give its services if the fabric broker did not limit them, in the mean over
//!   the rounds of the interval: a service that sends in bursts (Fig. 13) would else be seen or not seen by chance.
//! - Who wants no more than it gets has no limit (3.2.2), but its maximum holds: a service with a maximum, of the rack or from the fabric
//!   broker, is never held to more than that, so that a burst after a pause does not exceed it until the next round (Fig. 13).
//! - Light services: a machine tells a service one by one from the threshold divided by the number of machines on, so that no heavy one is
//!   missed, and whatever it uses if it has a limit or a maximum. What all others use is told as one sum, which is taken off the
//!   capacity before it is shared: they are never limited, and nobody is promised what they use.
//!   Averages are those of the estimator, not over 5 minutes. In the fabric the threshold holds for the use in one rack.
//! - The links are not shared out to the last bit ([`Params::uplink_percent`]).
//! - Traffic inside the rack: "inter- and intra-rack traffic share the same rate limit" (5.1), and only what crosses the
//!   uplinks counts as demand. The limit on both is the uplinks' share, enlarged by the ratio of both in the last interval,
//!   so that traffic inside the rack keeps its part; the text's prototype does not enlarge it. A mix that changes is
//!   right one interval later. Limits on traffic between racks alone would need a limiter of its own in every shaper.
//! - A limit of the fabric below a guarantee of the rack: the most constrained policy decides (3.1), the limit.
//! - A service that the fabric policy names and the rack policy does not has the defaults of 3.1 in the rack. If it is a part of one that
//!   the rack policy names, name it there too: its limit from the fabric has no place otherwise.
//! - A broker that was restarted says nothing before it has two reports. If its machine says which limits are in force, it goes on
//!   from there.

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

use crate::brokers::{BrokerError, BrokerNetwork, BrokerSpec, BrokerSetup, BrokerTimes};
use crate::hosts::{HostBuildError, HostScheme, HostSetup, NETWORK_HEADERS, UDP};

/// What Parley says of itself.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "parley",
    title: "Parley",
    roles: &[Role::Host, Role::Broker],
    summary: "Parley: shapers, rack brokers and the fabric broker",
    citation: "V. Jeyakumar, A. Kabbani, J. C. Mogul, A. Vahdat, \"Flexible Network Bandwidth and Latency Provisioning in the Datacenter\", 2014",
    guarantee: "minimum, maximum and weight of services at machines, racks and the fabric, a round of brokers after demands change",
    parameters: Settings::LIST,
};

/// The scheme by its name: what a machine has of it.
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
