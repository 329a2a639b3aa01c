//! The systems of section 5, each set up as the paper says. Nothing here follows the defaults of Wayleave's schemes but
//! [`System::Wayleave`]: a default that changes tomorrow must not change a figure of the paper.

use std::sync::Arc;

use wayleave_ledger::{Model, Shaping};
use wayleave_schemes::chameleon::{Allocation, Chameleon, Moves, Params, Penalised, Rerouting, Routing, Search, Sort};
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::{qjump, silo};
use wayleave_topology::Network;
use wayleave_units::{Bytes, Time};

use crate::run::Failed;

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum System {
    /// Chameleon; nothing is moved.
    Chameleon,
    /// Chameleon that moves flows, the least recently placed first among equals.
    Rerouting,
    /// The same, the most recently placed first.
    ReroutingNewest,
    /// Silo.
    Silo(Silo),
    /// QJump.
    Qjump(Qjump),
    /// What `wayleave` does by itself: its own model, its own defaults.
    Wayleave,
}

/// How Silo is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Silo {
    /// The delay of every link in microseconds.
    pub(crate) budget_us: u64,
    /// Whether arrival curves are capped by their input lines.
    pub(crate) is_shaped: bool,
}

impl Silo {
    /// With 0.1 ms a link (5.1.1), the best of the eight (footnote 2).
    pub(crate) const SHAPED: Self = Self { budget_us: 100, is_shaped: true };
    /// The same without input lines, as section 3.1 describes it.
    pub(crate) const UNSHAPED: Self = Self { budget_us: 100, is_shaped: false };
}

/// How QJump is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Qjump {
    /// n: how many applications may send.
    pub(crate) applications: u32,
    /// What becomes of a flow that asks for more than its share of the rate.
    pub(crate) fast: Fast,
}

/// What QJump does with a flow that asks for more than its share of the rate; the text does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fast {
    /// It takes one of the n places all the same: closest to "a maximum of n = 32 flows" (5.1.3).
    Flat,
    /// It is refused (2.1.1).
    Refused,
    /// It takes as many places as it needs.
    Charged,
}

impl Qjump {
    /// With n = 32 (5.1.1), the best (footnote 3).
    pub(crate) const FLAT: Self = Self { applications: 32, fast: Fast::Flat };
    /// All readings of it.
    pub(crate) const READINGS: [Self; 3] =
        [Self::FLAT, Self { fast: Fast::Refused, ..Self::FLAT }, Self { fast: Fast::Charged, ..Self::FLAT }];

    fn params(self) -> qjump::Params {
        qjump::Params {
            applications: self.applications,
            packet: Bytes::new(1500),
            epsilon: Time::from_micros(4),
            reading: match self.fast {
                Fast::Flat => qjump::Reading::Flat,
                Fast::Refused => qjump::Reading::Refused,
                Fast::Charged => qjump::Reading::Charged,
            },
        }
    }
}

impl System {
    /// In legends.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Chameleon => "Chameleon".to_owned(),
            Self::Rerouting => "Chameleon, rerouting".to_owned(),
            Self::ReroutingNewest => "Chameleon, rerouting newest first".to_owned(),
            Self::Silo(Silo { is_shaped: true, .. }) => "Silo".to_owned(),
            Self::Silo(Silo { is_shaped: false, .. }) => "Silo without input lines".to_owned(),
            Self::Qjump(Qjump { fast: Fast::Flat, .. }) => "QJump".to_owned(),
            Self::Qjump(Qjump { fast: Fast::Refused, .. }) => "QJump, fast flows refused".to_owned(),
            Self::Qjump(Qjump { fast: Fast::Charged, .. }) => "QJump, fast flows charged".to_owned(),
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
            Self::Silo(Silo { is_shaped: false, .. }) => Model { shaping: Shaping::Off, ..Model::PUBLISHED },
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
            Self::Rerouting => chameleon(Some(Sort::SharedLinks)),
            Self::ReroutingNewest => chameleon(Some(Sort::SharedLinksNewest)),
            Self::Silo(Silo { budget_us, .. }) => {
                let params = silo::Params { budget: Time::from_micros(budget_us) };
                silo::Silo::new(network, model, params).map(Scheme::from)
            }
            Self::Qjump(of) => Ok(qjump::Qjump::new(network, model, of.params()).into()),
            Self::Wayleave => Chameleon::new(network, model, Params::default()).map(Scheme::from),
        };
        scheme.map_err(Failed::broken)
    }
}

/// Chameleon as sections 4.1.2 to 4.1.4 describe it.
fn published(sort: Option<Sort>) -> Params {
    let rerouting = |sort| Rerouting {
        limit: 20,
        sort,
        cost_factor: 30_000,
        penalised: Penalised::NewFlow,
        search: Search::OneLabel,
        moves: Moves::Kept,
        tighten: 0,
    };
    Params {
        allocation: Allocation { switch: None, host: vec![Time::from_micros(500)] },
        routing: Routing::LeastDelay,
        rerouting: sort.map(rerouting),
    }
}
