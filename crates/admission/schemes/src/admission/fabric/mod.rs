//! One fabric: contracts of every kind on one network, admitted by one ledger.
//!
//! No single publication. Latency contracts follow Chameleon (CoNEXT 2020), in the queues in strict priority. Minimum
//! rates as uFAB's hosts enforce them (SIGCOMM 2022) and objectives as SCC's divisions (W_d) use the classes below.
//! docs/theory/admission.md, section 14, explains the promise of each kind and its assumptions.
//!
//! | contract | charged | promise |
//! |---|---|---|
//! | latency | as in Chameleon, in the upper queues; the share of a line that classes need is not given away | every packet in time, proven |
//! | pair | its minimum on every link of its route, its acknowledgements on the reverse route | capacity proven |
//! | hose over all paths | on each link the worst that members can send over it if every node splits evenly | capacity proven |
//! | hose with a path for each pair | the same amount and the largest minimum, or the most that any choice of paths can put there if that is less | proven where the latter is charged, else measured |
//! | objective | its weight on every link that packets between members may use | the weights fit |
//!
//! Deviations from the publications:
//! - uFAB qualifies paths at hosts, by reports of switches; here the minimum of a pair is admitted first, on a path
//!   with most room.
//! - Chameleon's queues of five are those that its rule gives a port of five queues (0.1, 0.5, 1, 6 and 24 ms at 1
//!   Gbit/s), adapted to each link.

mod admission;
mod path_cache;

pub use admission::Fabric;

use wayleave_scheme_api::{Described, Descriptor, Parameter, Parameters, Role, Value, ValueKind, params, words};
use wayleave_units::Time;

use crate::admission::chameleon::{self, Allocation, DefaultBudgets, Rerouting};
use crate::placement::BUDGET;
use crate::registry::{AdmissionScheme, BuildError, Defaults, SchemeInputs};

/// Descriptor of this scheme.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "fabric",
    title: "One fabric",
    roles: &[Role::Admission],
    summary: "Latency, bandwidth and objective contracts admitted together, on top of Chameleon's placement",
    citation: "ours, around Chameleon (CoNEXT 2020) with the minima of uFAB (SIGCOMM 2022) and the weights of SCC",
    guarantee: "every packet of a latency contract arrives before its deadline; minimum rates and weights fit on every link, by proof or, for hoses with one path for each pair, by measurement",
    parameters: Settings::LIST,
};

params! {
    /// Settings of this scheme.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Settings {
        /// Delay budgets of the latency queues of switches, highest priority first. Budgets in the topology take
        /// precedence.
        pub budgets: Option<Vec<Time>> = None, "budgets", ValueKind::List(&BUDGET), "docs/theory/admission.md, section 15",
            { default: "see --default-budgets" };
        /// Delay budgets of host queues.
        pub host_budgets: Option<Vec<Time>> = None, "host_budgets", ValueKind::List(&BUDGET),
            "docs/theory/admission.md, section 15", { default: "see --default-budgets" };
        /// Delay budgets where neither the topology nor an option states them.
        pub default_budgets: Option<DefaultBudgets> = None, "default_budgets", ValueKind::Word(DefaultBudgets::WORDS),
            "docs/theory/admission.md, section 15; published: Chameleon, section 4.1.2",
            { value_name: "WHICH", default: "by-link, or published with --model published" };
        /// Maximum queueing delay of the guaranteed class on links that carry minima with a time.
        pub guaranteed_budget: Time = Time::from_micros(260), "guaranteed_budget", BUDGET,
            "computed for 10 Gbit/s, a round trip of 20 us, and latency contracts with 0.4 of the line rate and 97 kB: 239 us";
        /// Path selection of hoses.
        pub paths: Paths = Paths::One, "paths", ValueKind::Word(Paths::WORDS), "uFAB: a pair has one path at a time";
        /// Charge for hoses whose hosts choose a path for each pair.
        pub hose_charge: Charge = Charge::Split, "hose_charge", ValueKind::Word(Charge::WORDS),
            "ours; every path is Duffield and others, SIGCOMM 1999";
        /// Interval at which tokens are reassigned; minima with a time include it.
        pub token_period: Time = Time::from_micros(32), "token_period", BUDGET, "uFAB, section 5.1";
        /// Move admitted flows to make room for a latency contract that does not fit.
        pub reroute: bool = false, "reroute", ValueKind::Flag, "Chameleon, Fig. 6";
    }
}

impl Settings {
    /// Returns the delay budgets of latency queues.
    pub fn allocation(&self, defaults: Defaults) -> Allocation {
        Allocation {
            switch: self.budgets.clone(),
            host: self.host_budgets.clone(),
            defaults: DefaultBudgets::or_usual(self.default_budgets, defaults),
        }
    }
}

/// Path selection of hoses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// Hosts choose a path for each pair, and change it.
    One,
    /// Every packet may take any shortest path.
    All,
}

words! {
    Paths {
        One = "one", "Hosts choose one path for each pair, and may change it";
        All = "all", "Every switch splits traffic evenly over all shortest paths, packet by packet";
    }
}

/// Charge for hoses whose hosts choose a path for each pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// An even split and the largest minimum.
    Split,
    /// Every choice of paths.
    EveryPath,
}

words! {
    Charge {
        Split = "split", "An even split over all paths, and the largest minimum: hoses are proven only where no choice of paths needs more";
        EveryPath = "every-path", "The maximum load of a link for any choice of paths: hoses are always proven, but fewer fit";
    }
}

impl Described for Fabric {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Settings;
}

impl AdmissionScheme for Fabric {
    const KEEPS_QUEUES: bool = true;
    const PLACES_DISJOINT_ROUTES: bool = true;

    fn build(setup: &SchemeInputs<'_>, settings: Settings) -> Result<Self, BuildError> {
        let routing = chameleon::RoutingName::or_usual(None, setup.defaults);
        let tightening = setup.defaults == Defaults::Recommended;
        let usual = || if tightening { Rerouting::with_tightening() } else { Rerouting::default() };
        let params = chameleon::Params {
            allocation: settings.allocation(setup.defaults),
            routing: routing.routing(None),
            rerouting: settings.reroute.then(usual),
        };
        Self::new(setup.network.clone(), setup.model, params, &settings).map_err(BuildError::invalid)
    }

    fn settings(settings: &Settings, defaults: Defaults) -> Vec<(&'static Parameter, Value)> {
        let budgets = DefaultBudgets::or_usual(settings.default_budgets, defaults);
        let host_budgets = budgets.host_or(&settings.host_budgets);
        Settings { default_budgets: Some(budgets), host_budgets, ..settings.clone() }.settings()
    }
}

#[cfg(test)]
mod tests;
