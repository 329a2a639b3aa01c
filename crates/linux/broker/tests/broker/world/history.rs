//! One history: a start, a time of faults, and the time after them.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use wayleave_broker::BrokerConfig;
use wayleave_broker::world::{Faults, SimulatedRacks};
use wayleave_scheme_api::ClassId;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use crate::world::network::{GUARANTEE, HOSTS, setup};
use crate::world::oracle;

/// Kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Nothing.
    Nothing,
    /// Half of the messages.
    Lost,
    /// Half of them come twice.
    Repeated,
    /// They take up to three seconds.
    Late,
    /// A bit of half of them.
    Damaged,
    /// A tenth of all of these.
    Everything,
    /// The leader of a rack, which comes back.
    LeaderCrashed,
    /// Two of a rack's brokers, as in the remark to Table 3; they come back.
    TwoCrashed,
    /// Every broker of a rack.
    RackCrashed,
    /// A machine with its counters, for good.
    MachineGone,
    /// A machine that comes back with counters at zero.
    MachineBack,
    /// A broker with the policies of another epoch.
    StaleEpoch,
    /// Most of the uplinks of a rack fail for some time.
    UplinksDown,
    /// A rack from the fabric broker.
    RackCut,
    /// The fabric broker.
    FabricCrashed,
}

impl Kind {
    pub(crate) const ALL: [Self; 15] = [
        Self::Nothing,
        Self::Lost,
        Self::Repeated,
        Self::Late,
        Self::Damaged,
        Self::Everything,
        Self::LeaderCrashed,
        Self::TwoCrashed,
        Self::RackCrashed,
        Self::MachineGone,
        Self::MachineBack,
        Self::StaleEpoch,
        Self::UplinksDown,
        Self::RackCut,
        Self::FabricCrashed,
    ];

    pub(crate) fn is_of_the_fabric(self) -> bool {
        matches!(self, Self::RackCut | Self::FabricCrashed)
    }

    fn faults(self, rack: NodeId) -> Faults {
        let none = Faults::default();
        match self {
            Self::Lost => Faults { lost: 500, ..none },
            Self::Repeated => Faults { repeated: 500, delay: Time::from_millis(500), ..none },
            Self::Late => Faults { delay: Time::from_millis(3_000), ..none },
            Self::Damaged => Faults { damaged: 500, ..none },
            Self::Everything => {
                Faults { lost: 100, repeated: 100, damaged: 100, delay: Time::from_millis(2_000), ..none }
            }
            Self::RackCut => Faults { cut: vec![rack], ..none },
            _ => none,
        }
    }
}

/// Demands after the faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Afterwards {
    /// The same as before.
    Same,
    /// All demands change at once.
    Other,
}

impl Afterwards {
    pub(crate) const ALL: [Self; 2] = [Self::Same, Self::Other];
}

/// Maximum error of a share: a limit counts as filled at 99 %, and this is 1 % of the largest demand here.
const TOLERANCE: Rate = Rate::from_mbit(50);
const STEP: Time = Time::from_millis(100);
/// As long as it may take to be right at the beginning.
const SETTLED: Time = Time::from_millis(60_000);

pub(crate) struct History {
    seed: u64,
    kind: Kind,
    setup: Arc<BrokerConfig>,
    world: SimulatedRacks,
    rng: ChaCha8Rng,
    /// Reduced uplink capacity of one rack.
    uplinks: Option<(NodeId, [Rate; 2])>,
}

impl History {
    pub(crate) fn new(seed: u64, kind: Kind, with_fabric: bool) -> Self {
        let setup = setup(with_fabric);
        let world = SimulatedRacks::new(setup.clone(), seed).unwrap();
        let mut history = Self { seed, kind, setup, world, rng: ChaCha8Rng::seed_from_u64(!seed), uplinks: None };
        history.want();
        history
    }

    /// Runs the history; returns the time after the faults until all services have their shares for good.
    pub(crate) fn run(mut self, afterwards: Afterwards) -> Time {
        let took = self.settle(SETTLED);
        assert!(took < SETTLED, "not right from the beginning on; {}", self.replay());
        let target = self.below(HOSTS * 2) as usize;
        let rack = self.world.rack(target);
        self.begin(target, rack);
        // The demands stay constant: every service with a guarantee has it, and keeps it. Lost links reduce traffic
        // before any broker can know. Then the guaranteed service grows into the capacity that is not shared out: 5 %
        // of the rest of the links in every round, which is 0.5 Gbit/s here. The share of a vanished machine is kept
        // for it until the time-out: others have it two rounds later.
        let grace = match self.kind {
            Kind::UplinksDown => Time::from_millis(12_000),
            Kind::MachineGone | Kind::MachineBack => Time::from_millis(7_000),
            _ => Time::ZERO,
        };
        let from = self.world.now() + grace;
        let until = from + Time::from_millis(20_000 + 1_000 * self.below(60));
        while self.world.now() < until {
            self.step();
            if self.world.now() > from {
                self.check_guarantees();
            }
        }
        self.check_time_outs(target, rack);
        self.end(target, rack);
        if afterwards == Afterwards::Other {
            self.want();
        }
        let took = self.settle(Time::from_millis(90_000));
        if matches!(self.kind, Kind::Damaged) {
            assert!(self.world.written().damaged > 0, "nothing was damaged; {}", self.replay());
        }
        took
    }

    fn begin(&mut self, target: usize, rack: NodeId) {
        self.world.set_faults(self.kind.faults(rack));
        let brokers = self.of_rack(rack);
        match self.kind {
            Kind::LeaderCrashed => self.world.crash_broker(brokers[0]),
            Kind::TwoCrashed => brokers[..2].iter().for_each(|&broker| self.world.crash_broker(broker)),
            Kind::RackCrashed => brokers.iter().for_each(|&broker| self.world.crash_broker(broker)),
            Kind::MachineGone | Kind::MachineBack => self.world.lose_machine(target),
            Kind::StaleEpoch => self.world.start_broker_of(target, 6).unwrap(),
            Kind::UplinksDown => {
                // Still more than the guarantee.
                let capacity = [Rate::from_gbit(10); 2];
                self.uplinks = Some((rack, capacity));
                self.world.set_uplinks(rack, capacity);
            }
            Kind::FabricCrashed => self.world.crash_fabric(),
            _ => {}
        }
    }

    fn end(&mut self, target: usize, rack: NodeId) {
        self.world.set_faults(Faults::default());
        match self.kind {
            Kind::LeaderCrashed | Kind::TwoCrashed | Kind::RackCrashed => {
                for broker in self.of_rack(rack) {
                    if self.world.broker(broker).is_none() {
                        self.world.start_broker(broker).unwrap();
                    }
                }
            }
            Kind::MachineBack => self.world.return_machine(target).unwrap(),
            Kind::StaleEpoch => self.world.start_broker(target).unwrap(),
            Kind::UplinksDown => {
                self.uplinks = None;
                self.world.set_uplinks(rack, [Rate::from_gbit(30); 2]);
            }
            Kind::FabricCrashed => self.world.start_fabric().unwrap(),
            _ => {}
        }
    }

    /// Twenty seconds and more without a word are enough for racks, fifty for the fabric.
    fn check_time_outs(&self, target: usize, rack: NodeId) {
        let limits = |machine| self.classes().map(|class| self.world.limit(machine, class)).collect::<Vec<_>>();
        match self.kind {
            Kind::LeaderCrashed | Kind::TwoCrashed | Kind::RackCrashed => {
                let brokers = self.of_rack(rack);
                for machine in brokers.iter().copied().filter(|&at| self.world.broker(at).is_none()) {
                    assert!(
                        limits(machine).iter().all(|limit| *limit == [None; 2]),
                        "still limited; {}",
                        self.replay()
                    );
                }
                if let Some(broker) = brokers.iter().find_map(|&at| self.world.broker(at).map(|broker| (at, broker))) {
                    let leader = broker.1.leader(self.world.clock(broker.0));
                    assert_eq!(leader, self.setup.network().hosts().nth(broker.0), "{}", self.replay());
                }
            }
            Kind::MachineGone | Kind::MachineBack => {
                let other = self.of_rack(rack).into_iter().find(|&at| at != target).unwrap();
                let alive = self.world.broker(other).unwrap().members(self.world.clock(other)).len();
                assert_eq!(alive as u64, HOSTS - 1, "{}", self.replay());
            }
            Kind::StaleEpoch => {
                let ignored = self.world.broker(target).unwrap().ignored();
                assert!(ignored.epoch > 0, "{}", self.replay());
            }
            _ => {}
        }
    }

    /// Runs until all services have had their shares for a calm period; returns the time at which that began.
    fn settle(&mut self, longest: Time) -> Time {
        let (begin, mut wrong) = (self.world.now(), self.world.now());
        let right = self.oracle();
        let calm = if self.setup.policies().fabric.is_some() { 25_000 } else { 10_000 };
        while self.world.now() < begin + longest && self.world.now() - wrong < Time::from_millis(calm) {
            self.step();
            if self.is_wrong(&right) {
                wrong = self.world.now();
            }
        }
        wrong - begin
    }

    fn oracle(&self) -> Vec<Vec<[Rate; 2]>> {
        let uplinks = self.uplinks;
        let capacity = |rack| uplinks.filter(|(switch, _)| *switch == rack).map(|(_, capacity)| capacity);
        oracle::shares(&self.setup, &self.world.wants(), capacity).unwrap()
    }

    fn is_wrong(&self, right: &[Vec<[Rate; 2]>]) -> bool {
        right.iter().enumerate().any(|(machine, right)| {
            self.classes().zip(right).any(|(class, right)| {
                let used = self.world.used(machine, class);
                (0..2).any(|side| {
                    used[side].bits_per_second().abs_diff(right[side].bits_per_second()) > TOLERANCE.bits_per_second()
                })
            })
        })
    }

    fn check_guarantees(&self) {
        let class = self.setup.services().class("b").unwrap();
        let wants = self.world.wants();
        for rack in [self.world.rack(0), self.world.rack(HOSTS as usize)] {
            let wanted = |machine: usize| wants[machine][class.index()];
            let used = self.sum(rack, |machine| self.world.used(machine, class));
            for (side, (used, wanted)) in used.into_iter().zip(self.sum(rack, wanted)).enumerate() {
                let least = wanted.min(GUARANTEE).saturating_sub(TOLERANCE);
                let now = self.world.now();
                assert!(used >= least, "{used} of {wanted} in direction {side} at {now}; {}", self.replay());
            }
        }
    }

    fn sum(&self, rack: NodeId, of: impl Fn(usize) -> [Rate; 2]) -> [Rate; 2] {
        let add = |sum: [Rate; 2], more: [Rate; 2]| [sum[0] + more[0], sum[1] + more[1]];
        self.of_rack(rack).into_iter().map(of).fold([Rate::ZERO; 2], add)
    }

    fn step(&mut self) {
        self.world.run(self.world.now() + STEP);
    }

    /// Changes all demands; the sum of a machine's demands is below its line rate.
    fn want(&mut self) {
        for machine in 0..self.world.machines() {
            for class in self.classes().collect::<Vec<_>>() {
                let wants = [0, 1].map(|_| Rate::from_mbit([0, 200, 1_000, 2_000, 2_500][self.below(5) as usize]));
                self.world.want(machine, class, wants);
            }
        }
    }

    fn classes(&self) -> impl Iterator<Item = ClassId> + use<> {
        self.setup.services().classes()
    }

    fn of_rack(&self, rack: NodeId) -> Vec<usize> {
        (0..self.world.machines()).filter(|&machine| self.world.rack(machine) == rack).collect()
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound
    }

    fn replay(&self) -> String {
        format!("{:?}, replay: WAYLEAVE_SEED={}", self.kind, self.seed)
    }
}
