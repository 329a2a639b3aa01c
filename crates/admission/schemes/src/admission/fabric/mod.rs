//! One fabric: contracts of every kind on one network, admitted by one ledger.
//!
//! No single publication: latency contracts as in Chameleon (CoNEXT 2020), in the queues in strict priority; minima as uFAB's hosts
//! keep them (SIGCOMM 2022) and objectives as SCC's divisions (W_d), in the classes below. docs/theory/admission.md, section 14, says what
//! is promised of each kind, under which assumption, and why.
//!
//! | contract | charged | promise |
//! |---|---|---|
//! | latency | as in Chameleon, in the upper queues; what classes need of a line is not given away | every packet in time, proven |
//! | pair | its minimum on every link of its route, its acknowledgements on the way back | capacity proven |
//! | hose over all paths | on each link the worst that members can send over it if every node splits evenly | capacity proven |
//! | hose with a path for each pair | the same and the largest minimum, or what any choice of paths can put there if that is less | proven where the latter is charged, else measured |
//! | objective | its weight on every link that packets between members may use | the weights fit |
//!
//! Deviations from the publications:
//! - uFAB qualifies paths at hosts, by what switches say; here the minimum of a pair is admitted first, on a path with most room.
//! - Chameleon's queues of five are those that its rule gives a port of five queues (0.1, 0.5, 1, 6 and 24 ms).

mod admission;
mod path_cache;

pub use admission::Fabric;

use wayleave_scheme_api::{Described, Descriptor, Kind, Parameters, Role, params, words};
use wayleave_units::Time;

use crate::admission::chameleon::{self, Allocation, Rerouting};
use crate::placement::BUDGET;
use crate::registry::{AdmissionScheme, BuildError, Defaults, Setup};

/// What it says of itself.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "fabric",
    title: "One fabric",
    roles: &[Role::Admission],
    summary: "Latency, bandwidth and objectives admitted together, around Chameleon's placement",
    citation: "ours, around Chameleon (CoNEXT 2020) with the minima of uFAB (SIGCOMM 2022) and the weights of SCC",
    guarantee: "every packet of a latency contract arrives before its deadline; minima and objectives fit on every link, by proof or, for hoses with one path for each pair, by measurement",
    parameters: Settings::LIST,
};

params! {
    /// What can be set.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Settings {
        /// Delay budgets of the latency queues of switches, highest priority first. Budgets that the topology gives its queues go first.
        pub budgets: Option<Vec<Time>> = None, "budgets", Kind::List(&BUDGET), "Chameleon, section 4.1.2, by the number of queues";
        /// Delay budgets of host queues.
        pub host_budgets: Vec<Time> = vec![Time::from_micros(500)], "host_budgets", Kind::List(&BUDGET),
            "Chameleon, section 4.1.2";
        /// How long packets of the guaranteed class may wait at a link that minima with a time pass.
        pub guaranteed_budget: Time = Time::from_micros(260), "guaranteed_budget", BUDGET,
            "computed for 10 Gbit/s, 20 us, 0.4 of the line and 97 kB reserved by latency contracts: 239 us";
        /// How packets of a hose find their paths.
        pub paths: Paths = Paths::One, "paths", Kind::Word(Paths::WORDS), "uFAB: a pair has one path at a time";
        /// What hoses are charged whose hosts choose a path for each pair.
        pub hose_charge: Charge = Charge::Split, "hose_charge", Kind::Word(Charge::WORDS),
            "ours; every path is Duffield and others, SIGCOMM 1999";
        /// How often tokens are given anew, which hosts of minima with a time wait for.
        pub token_period: Time = Time::from_micros(32), "token_period", BUDGET, "uFAB, section 5.1";
        /// Move admitted flows out of the way of a latency contract that does not fit.
        pub reroute: bool = false, "reroute", Kind::Flag, "Chameleon, Fig. 6";
    }
}

/// How packets of a hose find their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// Hosts choose a path for each pair, and change it.
    One,
    /// Every packet may take any shortest path.
    All,
}

words! {
    Paths {
        One = "one", "Hosts choose one path for each pair, and change it";
        All = "all", "Every switch splits evenly what it forwards over all shortest paths (packet by packet, in turn)";
    }
}

/// What hoses are charged whose hosts choose a path for each pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// An even split and the largest minimum.
    Split,
    /// Every choice of paths.
    EveryPath,
}

words! {
    Charge {
        Split = "split", "An even split over all paths and the largest minimum: hoses are proven only where no choice of paths needs more";
        EveryPath = "every-path", "The most that any choice of paths can put on a link: hoses are always proven, and fewer fit";
    }
}

impl Described for Fabric {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Settings;
}

impl AdmissionScheme for Fabric {
    const KEEPS_QUEUES: bool = true;
    const PLACES_DISJOINT_ROUTES: bool = true;

    fn build(setup: &Setup<'_>, settings: Settings) -> Result<Self, BuildError> {
        let routing = chameleon::RoutingName::or_usual(None, setup.defaults);
        let tightening = setup.defaults == Defaults::Recommended;
        let usual = || if tightening { Rerouting::with_tightening() } else { Rerouting::default() };
        let params = chameleon::Params {
            allocation: Allocation { switch: settings.budgets.clone(), host: settings.host_budgets.clone() },
            routing: routing.routing(None),
            rerouting: settings.reroute.then(usual),
        };
        Self::new(setup.network.clone(), setup.model, params, &settings).map_err(BuildError::invalid)
    }
}

#[cfg(test)]
mod tests;
