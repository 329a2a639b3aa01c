//! Requests of operators and tenants.

use wayleave_contracts::{
    BandwidthContract, BestEffortContract, Contract, ContractRequest, FlowObjective, Labels, LatencyContract, Match,
    ObjectiveContract, Priority, Quota,
};
use wayleave_controller::{Command, Effect, Id, Mode, Precondition, VmRequest};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time, WallTime};

use crate::world::events::{Wanted, What};
use crate::world::run::World;

const TENANTS: [&str; 2] = ["default", "acme"];

impl World {
    /// Something that a client wants.
    pub(crate) fn next_request(&mut self) -> Wanted {
        let key = self.dice.percent(60).then(|| format!("key {}", self.generated));
        let what = match self.dice.between(1, 100) {
            1..=62 => self.contracts(1, Mode::Each, Effect::Commit),
            63..=68 => What::Other(Command::Delete { ids: vec![self.some_id()] }),
            69..=69 => What::Other(Command::Delete { ids: vec![self.some_id(), self.some_id()] }),
            70..=75 => {
                let many = self.dice.between(2, 4);
                self.contracts(many, Mode::AllOrNothing, Effect::Commit)
            }
            76..=79 => {
                let many = self.dice.between(2, 5);
                self.contracts(many, Mode::Each, Effect::Commit)
            }
            80..=85 => {
                let (many, mode) = (self.dice.between(1, 4), self.dice.pick(&[Mode::Each, Mode::AllOrNothing]));
                self.contracts(many, mode, Effect::DryRun)
            }
            86..=91 => self.vm(),
            92..=94 => {
                let contracts = self.dice.pick(&[None, Some(2), Some(5)]);
                let quota = Quota { rate: None, burst: None, contracts };
                What::Other(Command::PutTenant { name: "acme".to_owned(), quota, check: Precondition::None })
            }
            95..=96 => What::Other(Command::Forget { id: self.some_id().0 }),
            _ => {
                let serial = self.dice.between(1, 10);
                What::Late { node: self.some_host(), serial }
            }
        };
        Wanted { key, what, retries: self.dice.between(0, 3) }
    }

    pub(crate) fn some_host(&mut self) -> String {
        let hosts: Vec<String> =
            self.setup.network.hosts().map(|host| self.setup.network.node(host).name.clone()).collect();
        self.dice.pick(&hosts)
    }

    fn some_id(&mut self) -> (Id, Precondition) {
        let known = self.model.ids();
        let id = if known.is_empty() || self.dice.percent(20) { self.any_id() } else { self.dice.pick(&known) };
        let check = self.check(&id);
        (id, check)
    }

    fn any_id(&mut self) -> Id {
        Id::new(self.dice.pick(&TENANTS), format!("c{}", self.dice.between(1, 12)))
    }

    fn check(&mut self, id: &Id) -> Precondition {
        let Some(revision) = self.model.revision(id) else { return Precondition::None };
        match self.dice.between(1, 100) {
            1..=5 => Precondition::Absent,
            6..=10 => Precondition::Present,
            11..=30 => Precondition::Revision(revision.saturating_sub(self.dice.pick(&[0, 0, 0, 1]))),
            _ => Precondition::None,
        }
    }

    fn contracts(&mut self, many: u64, mode: Mode, effect: Effect) -> What {
        let orders = (0..many).map(|_| self.order()).collect();
        What::Apply { orders, mode, effect }
    }

    fn order(&mut self) -> (ContractRequest, Precondition) {
        let known = self.model.ids();
        let id = if known.is_empty() || self.dice.percent(70) { self.any_id() } else { self.dice.pick(&known) };
        let check = self.check(&id);
        let old = self.model.order(&id).cloned();
        let shares = if self.setup.network.classes().is_some() { 45 } else { 2 };
        let (order, check) = match old {
            Some(old) if old.as_latency().is_none() && self.dice.percent(90) => (self.shared(&id, Some(old)), check),
            old if old.as_ref().is_none_or(|old| old.as_latency().is_none()) && self.dice.percent(shares) => {
                (self.shared(&id, None), check)
            }
            old => self.latency(&id, old.filter(|old| old.as_latency().is_some()), check),
        };
        (order, check)
    }

    fn shared(&mut self, id: &Id, old: Option<ContractRequest>) -> ContractRequest {
        let changes = self.dice.between(1, 100);
        let mut order = match old {
            Some(old) if changes <= 10 => return old,
            Some(old) if changes <= 30 => old,
            _ => self.fresh_shared(id),
        };
        let wall = self.wall().as_nanos();
        let later = |ms: u64| Some(WallTime::from_nanos(wall + ms * 1_000_000));
        if self.dice.percent(15) {
            order.starts = later(self.dice.between(0, 200));
        }
        if self.dice.percent(15) {
            order.ends = later(self.dice.between(201, 800));
        }
        order.priority = Priority::new(self.dice.between(0, 100) as u8).unwrap();
        order
    }

    fn fresh_shared(&mut self, id: &Id) -> ContractRequest {
        let (name, tenant) = (id.name.clone(), (id.tenant != "default").then(|| id.tenant.clone()));
        let min = Rate::from_mbit(self.dice.pick(&[5, 20, 80, 150, 300, 450]));
        let many = self.dice.between(2, 4) as usize;
        let mut members: Vec<String> = (0..many).map(|_| self.some_end(id)).collect();
        members.sort();
        members.dedup();
        if members.len() < 2 {
            members.extend((1..4).map(|number| format!("h{number}")).find(|host| !members.contains(host)));
        }
        // The hosts are filled in when the contract is requested.
        let nodes = vec![NodeId(0); members.len()];
        let within = self.dice.percent(25).then(|| Time::from_millis(self.dice.pick(&[1, 20, 200])));
        let contract: Contract = match self.dice.between(1, 10) {
            1..=4 => {
                members.truncate(2);
                let pair = BandwidthContract::pair(&name, NodeId(0), NodeId(0), min);
                BandwidthContract { tenant, within, ..pair }.into()
            }
            5..=7 => BandwidthContract { tenant, within, ..BandwidthContract::hose(&name, &nodes, min) }.into(),
            8..=9 => {
                let (objective, deadline) = (FlowObjective::Completion, None);
                ObjectiveContract { name, tenant, objective, deadline, members: nodes, min }.into()
            }
            _ => {
                let max = (nodes.len() > 2).then(|| Rate::from_mbit(2));
                BestEffortContract { name, tenant, members: nodes, max }.into()
            }
        };
        ContractRequest {
            contract,
            members,
            priority: Priority::default(),
            starts: None,
            ends: None,
            labels: Labels::new(),
            matching: None,
        }
    }

    fn latency(
        &mut self,
        id: &Id,
        old: Option<ContractRequest>,
        check: Precondition,
    ) -> (ContractRequest, Precondition) {
        let changes = self.dice.between(1, 100);
        let mut order = match old {
            // An equal order, or other fields of an equal contract.
            Some(old) if changes <= 10 => return (old, check),
            Some(old) if changes <= 25 => old,
            // Other terms between the same ends.
            Some(mut old) if changes <= 95 => {
                if let Some(terms) = old.as_latency_mut() {
                    (terms.rate, terms.burst, terms.deadline) = self.terms();
                }
                return (old, check);
            }
            _ => self.fresh(id),
        };
        let wall = self.wall().as_nanos();
        let later = |ms: u64| Some(WallTime::from_nanos(wall + ms * 1_000_000));
        if self.dice.percent(15) {
            order.starts = later(self.dice.between(0, 200));
        }
        if self.dice.percent(15) {
            order.ends = later(self.dice.between(201, 800));
        }
        if self.dice.percent(20) {
            let port = std::num::NonZeroU16::new(self.dice.between(1, 9) as u16);
            order.matching = Some(Match {
                protocol: Some(wayleave_contracts::Protocol::new(17)),
                source_address: None,
                source_port: None,
                destination_address: None,
                destination_port: port,
            });
        }
        order.priority = Priority::new(self.dice.between(0, 100) as u8).unwrap();
        (order, check)
    }

    fn terms(&mut self) -> (Rate, Bytes, Time) {
        if self.weather.is_crowded {
            let (rate, burst) = (self.dice.pick(&[1, 2, 5, 20]), self.dice.pick(&[1_600, 3_000, 4_000]));
            let deadline = self.dice.pick(&[1, 2, 40, 40, 80, 80]);
            return (Rate::from_mbit(rate), Bytes::new(burst), Time::from_millis(deadline));
        }
        let rate = self.dice.pick(&[2, 10, 10, 50, 200, 450]);
        let burst = self.dice.pick(&[1_600, 3_000, 3_000, 6_000, 20_000]);
        let deadline = self.dice.pick(&[1, 2, 2, 4, 40, 80]);
        (Rate::from_mbit(rate), Bytes::new(burst), Time::from_millis(deadline))
    }

    fn fresh(&mut self, id: &Id) -> ContractRequest {
        let from = self.some_end(id);
        let is_crowded = self.weather.is_crowded && self.dice.percent(80);
        let to = [self.some_end(id), if is_crowded { "h1".to_owned() } else { self.some_end(id) }];
        let to = to.into_iter().max_by_key(|to| *to != from).unwrap_or_default();
        let (rate, burst, deadline) = self.terms();
        let contract = LatencyContract {
            tenant: (id.tenant != "default").then(|| id.tenant.clone()),
            protection: if self.dice.percent(3) { 2 } else { 1 },
            ..LatencyContract::new(id.name.clone(), NodeId(0), NodeId(0), rate, burst, deadline)
        };
        ContractRequest::plain(contract, &[from.as_str(), to.as_str()])
    }

    fn some_end(&mut self, id: &Id) -> String {
        let vms: Vec<String> =
            self.controller.vms().filter(|(vm, _)| vm.tenant == id.tenant).map(|(vm, _)| vm.name.clone()).collect();
        if vms.is_empty() || self.dice.percent(70) { self.some_host() } else { self.dice.pick(&vms) }
    }

    /// The hosts that the ends of an order are on now.
    pub(crate) fn resolve(&self, order: &mut ContractRequest) {
        let id = Id::new(order.tenant().unwrap_or("default"), order.name());
        let host = |(_, name, _): (_, &str, NodeId)| self.controller.end_of(&id, name).unwrap_or(NodeId(0));
        let hosts: Vec<NodeId> = order.placed_members().into_iter().map(host).collect();
        *order = order.clone().on(&hosts);
    }

    fn vm(&mut self) -> What {
        let id = Id::new(self.dice.pick(&TENANTS), format!("v{}", self.dice.between(1, 4)));
        if self.dice.percent(30) {
            return What::Other(Command::DeleteVm { id, check: Precondition::None });
        }
        let placement = match self.dice.between(0, 2) {
            0 => VmRequest::Random(self.dice.between(0, 1 << 40)),
            1 => VmRequest::Fit,
            _ => VmRequest::On(self.some_host()),
        };
        What::Other(Command::PutVm { id, placement, mac: None, check: Precondition::None })
    }
}
