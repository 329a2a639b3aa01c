//! A toy: a broker divides a rate equally among the machines that have reported, and each machine limits every pair
//! to its part. A broker at each machine forwards the messages between them. It shows that a scheme with brokers is a
//! folder and one line as well, in the simulator and in the program of brokers.

use std::collections::BTreeSet;

use wayleave_contracts::ContentionPoint;
use wayleave_scheme_api::{
    Broker, BrokerAction, BrokerId, BrokerInput, Bucket, Described, Descriptor, ExcessAction, Host, HostAction,
    HostInput, Limiter, Member, Outgoing, Parameters, Peer, Role, ValueKind, params,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use crate::brokers::{
    BrokerCodec, BrokerDecodeError, BrokerError, BrokerNetwork, BrokerSetup, BrokerSpec, BrokerTimes, SchemeBroker,
};
use crate::hosts::{HostBuildError, HostScheme, HostSetup, NETWORK_HEADERS, UDP};
use crate::services::Services;
use crate::usage_report::{Limited, UsageReport};

/// Descriptor of the toy.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "toy-split",
    title: "toy split",
    roles: &[Role::Host, Role::Broker],
    summary: "An equal part of a rate for each machine",
    citation: "none: a toy",
    guarantee: "nothing",
    parameters: Params::LIST,
};

params! {
    /// The toy's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Total rate of all machines.
        pub rate: Rate = Rate::from_mbit(100), "rate", ValueKind::RATE, "ours";
        /// Interval at which the broker sends limits to the machines.
        pub interval: Time = Time::from_micros(100), "interval", ValueKind::TIME, "ours";
    }
}

/// Message between machines and brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A machine is there: to its own broker.
    Here,
    /// The machine is there: from its broker to the one that divides.
    There(NodeId),
    /// Its part.
    Part(Rate),
}

/// One machine.
#[derive(Clone, Debug)]
pub struct ToySplit {
    broker: BrokerId,
    pairs: Vec<Outgoing>,
    part: Option<Rate>,
}

/// A broker.
#[derive(Clone, Debug)]
pub enum Splitter {
    /// Of a machine: it passes on.
    Machine {
        /// The machine.
        machine: NodeId,
        /// The one that divides.
        fabric: Option<BrokerId>,
    },
    /// Divides the rate.
    Fabric {
        /// Rate to divide, and interval of the messages.
        params: Params,
        /// Brokers of the machines that have reported.
        machines: BTreeSet<Member>,
    },
}

impl Described for ToySplit {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl HostScheme for ToySplit {
    const HAS_BROKERS: bool = true;
    const ENFORCES_LEVELS: bool = true;

    type Broker = Splitter;

    fn build(setup: &mut HostSetup<'_>, _: &Params) -> Result<Self, HostBuildError> {
        let broker = setup.brokers.of(setup.node).ok_or_else(|| HostBuildError::because("there is no broker"))?;
        Ok(Self { broker, pairs: Vec::new(), part: None })
    }

    fn brokers(around: &BrokerNetwork<'_>, _: &Params) -> Vec<BrokerSpec> {
        let machines = around.hosts.iter().map(|&host| BrokerSpec::at_host(host, ContentionPoint::Machine(host)));
        let fabric = around.hosts.first().map(|&host| BrokerSpec::at_host(host, ContentionPoint::Fabric));
        machines.chain(fabric).collect()
    }

    fn broker(setup: &BrokerSetup<'_>, params: &Params) -> Result<Splitter, BrokerError> {
        let fabric = |spec: &BrokerSpec| spec.point == Some(ContentionPoint::Fabric);
        Ok(match setup.spec.at.host().filter(|_| !fabric(&setup.spec)) {
            Some(machine) => Splitter::Machine { machine, fabric: setup.all.find(fabric) },
            None => Splitter::Fabric { params: *params, machines: BTreeSet::new() },
        })
    }

    fn broker_times(params: &Params) -> BrokerTimes {
        let interval = params.interval;
        BrokerTimes { interval, timeout: interval * 5, ..BrokerTimes::default() }
    }

    fn wire_bytes(_: &Message) -> usize {
        UDP + NETWORK_HEADERS
    }
}

impl ToySplit {
    fn limit(&self, pair: Outgoing) -> HostAction<Message, ()> {
        let bucket = self.part.map(|rate| Bucket { rate, burst: Bytes::new(10_000), excess: ExcessAction::Waits });
        HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket }
    }
}

impl Host for ToySplit {
    type Message = Message;
    type Timer = ();

    fn on(&mut self, _: Time, input: HostInput<'_, Message, ()>, act: &mut impl FnMut(HostAction<Message, ()>)) {
        match input {
            HostInput::Started => act(HostAction::Send { to: Peer::Broker(self.broker), message: Message::Here }),
            HostInput::Opened { pair, .. } => {
                self.pairs.push(pair);
                act(self.limit(pair));
            }
            HostInput::Message { message: Message::Part(part), .. } => {
                self.part = Some(part);
                self.pairs.iter().for_each(|&pair| act(self.limit(pair)));
            }
            _ => {}
        }
    }
}

impl SchemeBroker for Splitter {}

/// A letter, and its content.
impl BrokerCodec for Splitter {
    fn encode(message: &Message) -> Option<Vec<u8>> {
        let (letter, number) = match *message {
            Message::Here => return None,
            Message::There(NodeId(machine)) => (b'T', machine.into()),
            Message::Part(rate) => (b'P', rate.bits_per_second()),
        };
        Some([letter].into_iter().chain(number.to_be_bytes()).collect())
    }

    fn decode(bytes: &[u8]) -> Result<Message, BrokerDecodeError> {
        let wrong = || BrokerDecodeError("nine bytes are expected, of which the first is T or P".to_owned());
        let (letter, number) = bytes.split_first().ok_or_else(wrong)?;
        let number = number.try_into().map(u64::from_be_bytes).map_err(|_| wrong())?;
        match letter {
            b'T' => {
                u32::try_from(number).map(|machine| Message::There(NodeId(machine))).map_err(BrokerDecodeError::because)
            }
            b'P' => Ok(Message::Part(Rate::from_bits_per_second(number))),
            _ => Err(wrong()),
        }
    }

    fn length(_: &[u8]) -> Result<Option<usize>, BrokerDecodeError> {
        Ok(Some(9))
    }

    fn sender(message: &Message) -> Option<NodeId> {
        if let Message::There(machine) = message { Some(*machine) } else { None }
    }

    fn from_report(_: UsageReport) -> Option<Message> {
        Some(Message::Here)
    }

    fn limits(message: &Message) -> Option<Vec<Limited>> {
        let Message::Part(rate) = message else { return None };
        Some(vec![Limited { class: Services::OTHER, limit: [Some(*rate), None] }])
    }
}

impl Broker for Splitter {
    type Message = Message;
    type Timer = ();

    fn on(&mut self, now: Time, input: BrokerInput<Message, ()>, act: &mut dyn FnMut(BrokerAction<Message, ()>)) {
        match (self, input) {
            (Self::Machine { machine, fabric: Some(fabric) }, BrokerInput::Message { message: Message::Here, .. }) => {
                act(BrokerAction::Send { to: Member::Broker(*fabric), message: Message::There(*machine) });
            }
            (Self::Machine { machine, .. }, BrokerInput::Message { message: part @ Message::Part(_), .. }) => {
                act(BrokerAction::Send { to: Member::Host(*machine), message: part });
            }
            (Self::Fabric { machines, .. }, BrokerInput::Message { from, message: Message::There(_) }) => {
                machines.insert(from);
            }
            (Self::Fabric { params, machines }, BrokerInput::Started | BrokerInput::Timer(())) => {
                let part = Rate::from_bits_per_second(params.rate.bits_per_second() / machines.len().max(1) as u64);
                for &to in machines.iter() {
                    act(BrokerAction::Send { to, message: Message::Part(part) });
                }
                act(BrokerAction::Arm { at: now + params.interval, timer: () });
            }
            _ => {}
        }
    }
}
