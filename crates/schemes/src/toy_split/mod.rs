//! A toy: a broker divides a rate equally among the machines that it has heard, and each machine holds every pair to its
//! part. It shows that a scheme with a broker is a folder and one line as well.

use std::collections::BTreeSet;

use wayleave_contracts::ContentionPoint;
use wayleave_roles::{
    Broker, BrokerAction, BrokerId, BrokerInput, Bucket, Described, Descriptor, Excess, Host, HostAction, HostInput,
    Kind, Limiter, Member, Outgoing, Parameters, Peer, Role, params,
};
use wayleave_units::{Bytes, Rate, Time};

use crate::brokers::{BrokerNetwork, BrokerSeat, BrokerSetup, SchemeBroker};
use crate::edges::{HostScheme, HostSetup, NETWORK_HEADERS, NoHost, UDP};

/// What the toy says of itself.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "toy-split",
    title: "toy split",
    roles: &[Role::Host, Role::Broker],
    summary: "A rate in equal parts for all machines",
    citation: "none: a toy",
    guarantee: "nothing",
    parameters: Params::LIST,
};

params! {
    /// The toy's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Of all machines together.
        pub rate: Rate = Rate::from_mbit(100), "rate", Kind::RATE, "ours";
        /// How often the broker tells the machines their parts.
        pub interval: Time = Time::from_micros(100), "interval", Kind::TIME, "ours";
    }
}

/// What machines and the broker write to each other.
#[derive(Clone, Copy, Debug)]
pub enum Message {
    /// A machine is there.
    Here,
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

/// Divides the rate.
#[derive(Clone, Debug)]
pub struct Splitter {
    params: Params,
    machines: BTreeSet<Member>,
}

impl Described for ToySplit {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl HostScheme for ToySplit {
    const HAS_BROKERS: bool = true;

    type Broker = Splitter;

    fn build(setup: &mut HostSetup<'_>, _: &Params) -> Result<Self, NoHost> {
        let broker = setup.brokers.find(|_| true).ok_or_else(|| NoHost::because("there is no broker"))?;
        Ok(Self { broker, pairs: Vec::new(), part: None })
    }

    fn brokers(around: &BrokerNetwork<'_>, _: &Params) -> Vec<BrokerSeat> {
        let first = around.hosts.first();
        first.map(|&host| BrokerSeat::at_host(host, ContentionPoint::Fabric)).into_iter().collect()
    }

    fn broker(_: &BrokerSetup<'_>, params: &Params) -> Option<Splitter> {
        Some(Splitter { params: *params, machines: BTreeSet::new() })
    }

    fn wire_bytes(_: &Message) -> usize {
        UDP + NETWORK_HEADERS
    }
}

impl ToySplit {
    fn limit(&self, pair: Outgoing) -> HostAction<'static, Message, ()> {
        let bucket = self.part.map(|rate| Bucket { rate, burst: Bytes::new(10_000), excess: Excess::Waits });
        HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket }
    }
}

impl Host for ToySplit {
    type Message = Message;
    type Timer = ();

    fn on(&mut self, _: Time, input: HostInput<'_, Message, ()>, act: &mut impl FnMut(HostAction<'_, Message, ()>)) {
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

impl Broker for Splitter {
    type Message = Message;
    type Timer = ();

    fn on(&mut self, now: Time, input: BrokerInput<Message, ()>, act: &mut dyn FnMut(BrokerAction<Message, ()>)) {
        match input {
            BrokerInput::Message { from, message: Message::Here } => {
                self.machines.insert(from);
            }
            BrokerInput::Started | BrokerInput::Timer(()) => {
                let machines = self.machines.len().max(1) as u64;
                let part = Rate::from_bits_per_second(self.params.rate.bits_per_second() / machines);
                for &to in &self.machines {
                    act(BrokerAction::Send { to, message: Message::Part(part) });
                }
                act(BrokerAction::Arm { at: now + self.params.interval, timer: () });
            }
            _ => {}
        }
    }
}
