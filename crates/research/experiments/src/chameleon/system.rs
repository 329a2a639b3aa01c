//! The systems of section 5, each set up as the paper says. Nothing here follows the defaults of Wayleave's schemes but
//! [`System::Wayleave`]: a default that changes tomorrow must not change a figure of the paper.

use std::sync::Arc;

use wayleave_ledger::{Model, Shaping};
use wayleave_schemes::admission::chameleon::{
    Allocation, Chameleon, Moves, Params, Penalised, Rerouting, Routing, Search, Sort,
};
use wayleave_schemes::admission::qjump;
use wayleave_schemes::admission::silo::{self, RouteChoice};
use wayleave_schemes::registry::Scheme;
use wayleave_topology::Network;
use wayleave_units::{Bytes, Time};

use crate::failed::Failed;

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum System {
    /// Chameleon; nothing is moved.
    Chameleon,
    /// Chameleon that moves flows.
    Rerouting(RerouteSettings),
    /// Silo.
    Silo(Silo),
    /// QJump.
    Qjump(Qjump),
    /// What `wayleave` does by itself: its own model, its own defaults.
    Wayleave,
}

/// How many flows Chameleon tries to move for a request, and which of equal candidates first (4.1.3 does not say).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RerouteSettings {
    pub(crate) limit: usize,
    pub(crate) first: First,
}

/// Which of several candidates that share equally many links goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum First {
    /// The least recently placed.
    Oldest,
    /// The most recently placed.
    Newest,
}

impl RerouteSettings {
    /// 20 candidates (4.1.3).
    pub(crate) const LIMIT: usize = 20;
    /// The oldest first.
    pub(crate) const OLDEST: Self = Self { limit: Self::LIMIT, first: First::Oldest };
    /// The newest first.
    pub(crate) const NEWEST: Self = Self { limit: Self::LIMIT, first: First::Newest };
}

/// How Silo is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Silo {
    /// The delay of every link in microseconds.
    pub(crate) budget_us: u64,
    /// How routes are chosen.
    pub(crate) route: RouteChoice,
    /// What counts at a link.
    pub(crate) counts: Counts,
}

/// What Silo counts at a link, besides the bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Counts {
    /// Input lines cap arrival curves, and two frames delay the service: the model that Chameleon's figures have as well.
    LinesAndFrames,
    /// The two frames alone: no curve is capped.
    Frames,
    /// Input lines alone: a link with nothing below its queue, and bits instead of frames.
    Lines,
    /// Neither: d = b / R, to the letter of section 3.1.1.
    Bursts,
}

impl Silo {
    /// With 0.1 ms a link (5.1.1), the best of the eight (footnote 2), on a shortest path whatever its load (3.1.2).
    pub(crate) const TEXT: Self = Self { budget_us: 100, route: RouteChoice::Shortest, counts: Counts::LinesAndFrames };
    /// The same, searching around full links.
    pub(crate) const AROUND: Self = Self { route: RouteChoice::Around, ..Self::TEXT };
    /// Without input lines.
    pub(crate) const UNSHAPED: Self = Self { counts: Counts::Frames, ..Self::TEXT };
    /// Without frames.
    pub(crate) const FRAMELESS: Self = Self { counts: Counts::Lines, ..Self::TEXT };
    /// d = b / R.
    pub(crate) const BURSTS: Self = Self { counts: Counts::Bursts, ..Self::TEXT };

    fn model(self) -> Model {
        // A frame of nothing blocks nothing, and is complete at once.
        let frameless = Model { max_frame: Some(Bytes::ZERO), ..Model::PUBLISHED };
        match self.counts {
            Counts::LinesAndFrames => Model::PUBLISHED,
            Counts::Frames => Model { shaping: Shaping::Off, ..Model::PUBLISHED },
            Counts::Lines => frameless,
            Counts::Bursts => Model { shaping: Shaping::Off, ..frameless },
        }
    }

    fn name(self) -> &'static str {
        match (self.route, self.counts) {
            (RouteChoice::Around, _) => "Silo around full links",
            (RouteChoice::Shortest, Counts::LinesAndFrames) => "Silo",
            (RouteChoice::Shortest, Counts::Frames) => "Silo without input lines",
            (RouteChoice::Shortest, Counts::Lines) => "Silo without frames",
            (RouteChoice::Shortest, Counts::Bursts) => "Silo, d = b / R",
        }
    }
}

/// How QJump is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Qjump {
    /// n: how many applications may send.
    pub(crate) applications: u32,
    /// What becomes of a flow that asks for more than its share of the rate.
    pub(crate) fast: FastFlowRule,
    /// What hosts take, in microseconds, besides the 4 us of 5.1.1.
    pub(crate) hosts_us: u64,
}

/// What QJump does with a flow that asks for more than its share of the rate; the text does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FastFlowRule {
    /// It takes one of the n places all the same: closest to "a maximum of n = 32 flows" (5.1.3).
    Flat,
    /// It is refused (2.1.1).
    Refused,
    /// It takes as many places as it needs.
    Charged,
}

impl Qjump {
    /// With n = 32 (5.1.1), the best (footnote 3).
    pub(crate) const FLAT: Self = Self { applications: 32, fast: FastFlowRule::Flat, hosts_us: 0 };
    /// The same, whose hosts take 0.5 ms, as Chameleon's do (4.1.2).
    pub(crate) const WITH_HOSTS: Self = Self { hosts_us: 500, ..Self::FLAT };
    /// All readings of it.
    pub(crate) const READINGS: [Self; 3] = [
        Self::FLAT,
        Self { fast: FastFlowRule::Refused, ..Self::FLAT },
        Self { fast: FastFlowRule::Charged, ..Self::FLAT },
    ];

    fn params(self) -> qjump::Params {
        qjump::Params {
            applications: self.applications,
            packet: Bytes::new(1500),
            epsilon: Time::from_micros(4 + self.hosts_us),
            reading: match self.fast {
                FastFlowRule::Flat => qjump::Reading::Flat,
                FastFlowRule::Refused => qjump::Reading::Refused,
                FastFlowRule::Charged => qjump::Reading::Charged,
            },
        }
    }
}

impl System {
    /// In legends.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Chameleon => "Chameleon".to_owned(),
            Self::Rerouting(RerouteSettings::OLDEST) => "Chameleon, rerouting".to_owned(),
            Self::Rerouting(RerouteSettings { limit: RerouteSettings::LIMIT, first: First::Newest }) => {
                "Chameleon, rerouting newest first".to_owned()
            }
            Self::Rerouting(RerouteSettings { limit, .. }) => format!("Chameleon, at most {limit} candidates"),
            Self::Silo(silo) => silo.name().to_owned(),
            Self::Qjump(Qjump { hosts_us: 1.., .. }) => "QJump, hosts of 0.5 ms".to_owned(),
            Self::Qjump(Qjump { fast: FastFlowRule::Flat, .. }) => "QJump".to_owned(),
            Self::Qjump(Qjump { fast: FastFlowRule::Refused, .. }) => "QJump, fast flows refused".to_owned(),
            Self::Qjump(Qjump { fast: FastFlowRule::Charged, .. }) => "QJump, fast flows charged".to_owned(),
            Self::Wayleave => "Wayleave (beyond the paper)".to_owned(),
        }
    }

    /// The queues of a switch port, where Chameleon has so many: Silo does not exploit them (5.1.1, 5.2.1).
    pub(crate) const fn queues(self, chameleon: usize) -> usize {
        match self {
            Self::Silo(_) => 1,
            _ => chameleon,
        }
    }

    /// What is counted.
    pub(crate) fn model(self) -> Model {
        match self {
            Self::Wayleave => Model::default(),
            Self::Silo(silo) => silo.model(),
            _ => Model::PUBLISHED,
        }
    }

    /// With nothing admitted.
    pub(crate) fn scheme(self, network: &Arc<Network>) -> Result<Scheme, Failed> {
        self.with_model(network, self.model())
    }

    /// The same, counting otherwise.
    pub(crate) fn with_model(self, network: &Arc<Network>, model: Model) -> Result<Scheme, Failed> {
        let network = network.clone();
        let chameleon = |rerouting| Chameleon::new(network.clone(), model, published(rerouting)).map(Scheme::from);
        let scheme = match self {
            Self::Chameleon => chameleon(None),
            Self::Rerouting(moving) => chameleon(Some(moving)),
            Self::Silo(Silo { budget_us, route, .. }) => {
                let params = silo::Params { budget: Time::from_micros(budget_us), route };
                silo::Silo::new(network, model, params).map(Scheme::from)
            }
            Self::Qjump(of) => Ok(qjump::Qjump::new(network, model, of.params()).into()),
            Self::Wayleave => Chameleon::new(network, model, Params::default()).map(Scheme::from),
        };
        scheme.map_err(Failed::broken)
    }
}

/// Chameleon as sections 4.1.2 to 4.1.4 describe it.
fn published(moving: Option<RerouteSettings>) -> Params {
    let rerouting = |RerouteSettings { limit, first }| Rerouting {
        limit,
        sort: match first {
            First::Oldest => Sort::SharedLinks,
            First::Newest => Sort::SharedLinksNewest,
        },
        cost_factor: 30_000,
        penalised: Penalised::NewFlow,
        search: Search::OneLabel,
        moves: Moves::Kept,
        tighten: 0,
    };
    Params {
        allocation: Allocation { switch: None, host: vec![Time::from_micros(500)] },
        routing: Routing::LeastDelay,
        rerouting: moving.map(rerouting),
    }
}
