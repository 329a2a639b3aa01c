//! The systems of section 5, each set up as in the paper. Nothing here follows the defaults of Wayleave's schemes but
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

/// The system that decides.
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
    /// Wayleave with its own model and its own defaults.
    Wayleave,
}

/// Number of flows that Chameleon tries to move for a request, and order of equal candidates (not stated in 4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RerouteSettings {
    pub(crate) limit: usize,
    pub(crate) first: First,
}

/// Order of candidates that share equally many links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum First {
    /// The least recently placed.
    Oldest,
    /// The most recently placed.
    Newest,
    /// In random order.
    Random,
}

impl RerouteSettings {
    /// 20 candidates (4.1.3).
    pub(crate) const LIMIT: usize = 20;
    /// The oldest first.
    pub(crate) const OLDEST: Self = Self { limit: Self::LIMIT, first: First::Oldest };
    /// The newest first.
    pub(crate) const NEWEST: Self = Self { limit: Self::LIMIT, first: First::Newest };
    /// In random order.
    pub(crate) const RANDOM: Self = Self { limit: Self::LIMIT, first: First::Random };
}

/// A reading of Silo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Silo {
    /// The delay of every link in microseconds.
    pub(crate) budget_us: u64,
    /// Choice of routes.
    pub(crate) route: RouteChoice,
    /// Parts of the delay that count at a link.
    pub(crate) counts: Counts,
}

/// Parts of the delay that Silo counts at a link, besides the bursts.
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
    /// The two frames alone, with the burst that a flow has at its source: the example of Silo in the README of the published library.
    SourceBursts,
}

impl Silo {
    /// With 0.1 ms a link (5.1.1), the best of the eight (footnote 2), on a shortest path regardless of its load
    /// (3.1.2).
    pub(crate) const TEXT: Self = Self { budget_us: 100, route: RouteChoice::Shortest, counts: Counts::LinesAndFrames };
    /// As the text, but searching around full links.
    pub(crate) const AROUND: Self = Self { route: RouteChoice::Around, ..Self::TEXT };
    /// Without input lines.
    pub(crate) const UNSHAPED: Self = Self { counts: Counts::Frames, ..Self::TEXT };
    /// Without frames.
    pub(crate) const FRAMELESS: Self = Self { counts: Counts::Lines, ..Self::TEXT };
    /// d = b / R.
    pub(crate) const BURSTS: Self = Self { counts: Counts::Bursts, ..Self::TEXT };
    /// As the README of the published library describes its Silo mode: without input lines, around full links.
    pub(crate) const PUBLISHED: Self = Self { counts: Counts::Frames, ..Self::AROUND };
    /// As the example in that README: bursts do not grow either.
    pub(crate) const EXAMPLE: Self = Self { counts: Counts::SourceBursts, ..Self::AROUND };
    /// All readings with the delay of 5.1.1, the default one first.
    pub(crate) const READINGS: [Self; 7] =
        [Self::TEXT, Self::PUBLISHED, Self::EXAMPLE, Self::AROUND, Self::FRAMELESS, Self::UNSHAPED, Self::BURSTS];

    fn model(self) -> Model {
        // A frame of nothing blocks nothing, and is complete at once.
        let frameless = Model::PUBLISHED.with_max_frame(Some(Bytes::ZERO));
        match self.counts {
            Counts::LinesAndFrames => Model::PUBLISHED,
            Counts::Frames => silo::PUBLISHED_MODEL,
            Counts::Lines => frameless,
            Counts::Bursts => frameless.with_shaping(Shaping::Off),
            Counts::SourceBursts => silo::README_EXAMPLE_MODEL,
        }
    }

    fn name(self) -> &'static str {
        match (self.route, self.counts) {
            (RouteChoice::Around, Counts::Frames) => "Silo as published",
            (RouteChoice::Around, Counts::SourceBursts) => "Silo as in the library's example",
            (RouteChoice::Around, _) => "Silo around full links",
            (RouteChoice::Shortest, Counts::LinesAndFrames) => "Silo",
            (RouteChoice::Shortest, Counts::Frames) => "Silo without input lines",
            (RouteChoice::Shortest, Counts::Lines) => "Silo without frames",
            (RouteChoice::Shortest, Counts::Bursts) => "Silo, d = b / R",
            (RouteChoice::Shortest, Counts::SourceBursts) => "Silo, bursts as at the source",
        }
    }

    /// Returns the reading in words.
    pub(crate) fn reading(self) -> &'static str {
        match (self.route, self.counts) {
            (RouteChoice::Around, Counts::Frames) => "the published library's Silo: no input lines, around full links",
            (RouteChoice::Around, Counts::SourceBursts) => {
                "the example of the published library: as published, bursts do not grow"
            }
            (RouteChoice::Around, _) => "input lines, around full links",
            (RouteChoice::Shortest, Counts::LinesAndFrames) => "input lines, one shortest path",
            (RouteChoice::Shortest, Counts::Frames) => "no input lines, one shortest path",
            (RouteChoice::Shortest, Counts::Lines) => "input lines, no frames, one shortest path",
            (RouteChoice::Shortest, Counts::Bursts) => "d = b / R: no input lines, no frames, one shortest path",
            (RouteChoice::Shortest, Counts::SourceBursts) => "bursts as at the source, one shortest path",
        }
    }
}

/// A reading of QJump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Qjump {
    /// n: how many applications may send.
    pub(crate) applications: u32,
    /// Treatment of a flow that requests more than its share of the rate.
    pub(crate) fast: FastFlowRule,
    /// Delay of hosts, in microseconds, besides the 4 us of 5.1.1.
    pub(crate) hosts_us: u64,
}

/// QJump's treatment of a flow that requests more than its share of the rate; the text leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FastFlowRule {
    /// It still takes one of the n places: closest to "a maximum of n = 32 flows" (5.1.3).
    Flat,
    /// It is refused (2.1.1).
    Refused,
    /// It takes as many places as it needs.
    Charged,
}

impl Qjump {
    /// With n = 32 (5.1.1), the best (footnote 3).
    pub(crate) const FLAT: Self = Self { applications: 32, fast: FastFlowRule::Flat, hosts_us: 0 };
    /// As `FLAT`, but hosts take 0.5 ms, as Chameleon's do (4.1.2).
    pub(crate) const WITH_HOSTS: Self = Self { hosts_us: 500, ..Self::FLAT };
    /// All readings of QJump.
    pub(crate) const READINGS: [Self; 3] = [
        Self::FLAT,
        Self { fast: FastFlowRule::Refused, ..Self::FLAT },
        Self { fast: FastFlowRule::Charged, ..Self::FLAT },
    ];

    /// Returns the reading in words.
    pub(crate) fn reading(self) -> &'static str {
        match self.fast {
            FastFlowRule::Flat => "fast flows take one of the n places",
            FastFlowRule::Refused => "fast flows are refused",
            FastFlowRule::Charged => "fast flows take as many places as they need",
        }
    }

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
            Self::Rerouting(RerouteSettings { limit: RerouteSettings::LIMIT, first: First::Random }) => {
                "Chameleon, rerouting in random order".to_owned()
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

    /// Returns the number of queues of a switch port, for Chameleon's number: Silo does not exploit them (5.1.1,
    /// 5.2.1).
    pub(crate) const fn queues(self, chameleon: usize) -> usize {
        match self {
            Self::Silo(_) => 1,
            _ => chameleon,
        }
    }

    /// Returns the network model.
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

    /// Returns the scheme with another model.
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
            First::Random => Sort::SharedLinksRandom,
        },
        cost_factor: 30_000,
        penalised: Penalised::NewFlow,
        search: Search::OneLabel,
        moves: Moves::Kept,
        tighten: 0,
    };
    Params { allocation: Allocation::PUBLISHED, routing: Routing::LeastDelay, rerouting: moving.map(rerouting) }
}
