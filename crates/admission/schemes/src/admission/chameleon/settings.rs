//! Settings of Chameleon and their defaults.

use wayleave_scheme_api::{ParamType, Parameter, Parameters, Value, ValueKind, params, words};
use wayleave_units::Time;

use super::{Allocation, DefaultBudgets, Moves, Params, Penalised, Rerouting, Routing, Search, Sort};
use crate::costs::Scarcity;
use crate::placement::BUDGET;
use crate::registry::{BuildError, Defaults};

params! {
    /// Settings of Chameleon.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Settings {
        /// Route search.
        pub routing: Option<RoutingName> = None, "routing", ValueKind::Word(RoutingName::WORDS),
            "measured (docs/theory/admission.md, section 13); least-delay: section 4.1.3", {
                option: "routing", value_name: "HOW", default: "scarcity, or least-delay with --model published",
            };
        /// Cost of scarce resources: steepness of prices, weight (0 to 1) of bursts that input links hide, and share
        /// of a
        /// host's line rate from which on a flow takes the fastest queues.
        pub scarcity: Option<Scarcity> = None, "scarcity", ValueKind::Text { check: |text| text.parse::<Scarcity>().map(|_| ()) },
            "measured on the mixes of Table 2 (docs/operate/performance.md)",
            { option: "scarcity", value_name: "STEEPNESS,DORMANT,LARGE", default: "24,0.3,0.06" };
        /// Delay budgets of switch queues for latency contracts, highest priority first; queues without one stay unused.
        /// in the topology take precedence.
        pub budgets: Option<Vec<Time>> = None, "budgets", ValueKind::List(&BUDGET), "docs/theory/admission.md, section 15",
            { option: "budgets", default: "see --default-budgets" };
        /// Delay budgets of host queues for latency contracts.
        pub host_budgets: Option<Vec<Time>> = None, "host_budgets", ValueKind::List(&BUDGET),
            "docs/theory/admission.md, section 15", { option: "host-budget", default: "see --default-budgets" };
        /// Delay budgets where neither the topology nor an option states them.
        pub default_budgets: Option<DefaultBudgets> = None, "default_budgets", ValueKind::Word(DefaultBudgets::WORDS),
            "docs/theory/admission.md, section 15; published: section 4.1.2", {
                option: "default-budgets", value_name: "WHICH", default: "by-link, or published with --model published",
            };
        /// Move admitted flows to make room for a request that does not fit.
        pub reroute: bool = false, "reroute", ValueKind::Flag, "ours; Fig. 6 moves flows", { option: "reroute" };
        /// Maximum number of admitted flows that are tried for one request.
        pub limit: usize = 20, "limit", ValueKind::Count { least: 0, most: u64::MAX }, "section 4.1.3",
            { option: "reroute-limit", value_name: "COUNT", group: "reroute" };
        /// Order in which admitted flows are tried.
        pub sort: Sort = Sort::SharedLinks, "sort", ValueKind::Word(Sort::WORDS), "section 4.1.3",
            { option: "reroute-sort", value_name: "ORDER", group: "reroute" };
        /// Cost factor of queues to be avoided.
        pub factor: u64 = 30_000, "factor", ValueKind::Count { least: 1, most: 1_000_000 }, "section 4.1.3",
            { option: "reroute-factor", value_name: "FACTOR", group: "reroute" };
        /// Flow whose shortest paths a moved flow avoids.
        pub avoid: Penalised = Penalised::NewFlow, "avoid", ValueKind::Word(Penalised::WORDS), "Fig. 6, line 6",
            { option: "reroute-avoid", value_name: "WHOSE", group: "reroute" };
        /// Search for the new route of a moved flow.
        pub search: Search = Search::OneLabel, "search", ValueKind::Word(Search::WORDS),
            "the published implementation; the paper: LARAC (section 4.1.3)",
            { option: "reroute-search", value_name: "HOW", group: "reroute" };
        /// Treatment of moves if the request is refused in the end.
        pub moves: Moves = Moves::RolledBack, "moves", ValueKind::Word(Moves::WORDS), "ours; Fig. 6 keeps them",
            { option: "reroute-moves", value_name: "WHAT", group: "reroute" };
        /// Maximum number of flows to the receiver that are returned to faster queues if moving flows does not help.
        pub tighten: Option<usize> = None, "tighten", ValueKind::Count { least: 0, most: u64::MAX },
            "measured (docs/operate/performance.md); none in the paper", {
                option: "reroute-tighten", value_name: "COUNT", group: "reroute",
                default: "20 with --routing scarcity, else 0",
            };
    }
}

/// Route search, without its prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingName {
    /// [`Routing::Scarcity`].
    Scarcity,
    /// [`Routing::LeastDelay`].
    LeastDelay,
    /// [`Routing::LaracByDelay`].
    LaracDelay,
    /// [`Routing::LaracByHops`].
    LaracHops,
}

words! {
    RoutingName {
        Scarcity = "scarcity", "The route of least cost in scarce resources: fast queues are kept for flows that need them";
        LeastDelay = "least-delay", "The route of least delay, as in the paper";
        LaracDelay = "larac-delay", "LARAC with the delay as cost";
        LaracHops = "larac-hops", "LARAC with the number of links as cost";
    }
}

words! {
    Sort {
        SharedLinks = "shared-links", "Flows that share the most links with the shortest paths of the new flow";
        SharedLinksNewest = "shared-links-newest", "As shared-links, newest first among equals";
        SharedLinksRandom = "shared-links-random", "As shared-links, in random order among equals";
        Rate = "rate", "Highest rate first";
        Burst = "burst", "Largest burst first";
        Deadline = "deadline", "Latest deadline first";
        Placement = "placement", "Oldest flow first";
    }
}

words! {
    Penalised {
        NewFlow = "new-flow", "The new flow";
        MovedFlow = "moved-flow", "The moved flow";
    }
}

words! {
    Search {
        OneLabel = "one-label", "The cheapest route within the deadline that is found with one label per node (fast)";
        LabelSetting = "label-setting", "The cheapest route within the deadline, exactly";
        Larac = "larac", "LARAC, as in the paper: may miss the cheapest route";
    }
}

words! {
    Moves {
        RolledBack = "rolled-back", "Moves are undone";
        Kept = "kept", "Moves remain in effect, as in the paper";
    }
}

impl DefaultBudgets {
    /// Returns the given setting; else those that fit each link, or the paper's with the paper's model.
    pub fn or_usual(asked: Option<Self>, defaults: Defaults) -> Self {
        asked.unwrap_or(match defaults {
            Defaults::Recommended => Self::ByLink,
            Defaults::Published => Self::Published,
        })
    }

    /// Returns the budgets of hosts for reports: those given, or those that hold for every link.
    pub(crate) fn host_or(self, given: &Option<Vec<Time>>) -> Option<Vec<Time>> {
        let published = (self == Self::Published).then(|| vec![Allocation::PUBLISHED_HOST]);
        given.clone().or(published)
    }
}

impl RoutingName {
    /// Returns the given setting; else the one that admits most, or the paper's choice with the paper's model.
    pub fn or_usual(asked: Option<Self>, defaults: Defaults) -> Self {
        asked.unwrap_or(match defaults {
            Defaults::Recommended => Self::Scarcity,
            Defaults::Published => Self::LeastDelay,
        })
    }

    /// With these prices, where they matter.
    pub fn routing(self, scarcity: Option<Scarcity>) -> Routing {
        match self {
            Self::Scarcity => Routing::Scarcity(scarcity.unwrap_or_default()),
            Self::LeastDelay => Routing::LeastDelay,
            Self::LaracDelay => Routing::LaracByDelay,
            Self::LaracHops => Routing::LaracByHops,
        }
    }
}

impl Settings {
    /// Returns the route search.
    pub fn routing(&self, defaults: Defaults) -> RoutingName {
        RoutingName::or_usual(self.routing, defaults)
    }

    /// The parameters that follow.
    ///
    /// # Errors
    /// If prices are given that nothing is found by.
    pub fn params(&self, defaults: Defaults) -> Result<Params, BuildError> {
        let routing = self.routing(defaults);
        if self.scarcity.is_some() && routing != RoutingName::Scarcity {
            return Err(BuildError::Invalid("--scarcity is an option of --routing scarcity".to_owned()));
        }
        let rerouting = self.reroute.then(|| Rerouting {
            limit: self.limit,
            sort: self.sort,
            cost_factor: self.factor,
            penalised: self.avoid,
            search: self.search,
            moves: self.moves,
            tighten: self.tighten(routing),
        });
        let allocation = Allocation {
            switch: self.budgets.clone(),
            host: self.host_budgets.clone(),
            defaults: DefaultBudgets::or_usual(self.default_budgets, defaults),
        };
        Ok(Params { allocation, routing: routing.routing(self.scarcity), rerouting })
    }

    fn tighten(&self, routing: RoutingName) -> usize {
        let usual = if routing == RoutingName::Scarcity { Rerouting::with_tightening().tighten } else { 0 };
        self.tighten.unwrap_or(usual)
    }

    /// Returns the effective values for reports. Prices are included only if the route search uses them.
    pub(super) fn settled(&self, defaults: Defaults) -> Vec<(&'static Parameter, Value)> {
        let routing = self.routing(defaults);
        let budgets = DefaultBudgets::or_usual(self.default_budgets, defaults);
        let settled = Self {
            routing: Some(routing),
            tighten: Some(self.tighten(routing)),
            default_budgets: Some(budgets),
            host_budgets: budgets.host_or(&self.host_budgets),
            ..self.clone()
        };
        let scarcity = || {
            let Scarcity { steepness, dormant, large } = self.scarcity.unwrap_or_default();
            let record = [("steepness", steepness), ("dormant", dormant), ("large", large)];
            Value::Record(record.map(|(key, number)| (key, Value::Number(number))).to_vec())
        };
        let settings = settled.settings().into_iter();
        let settings = settings.map(|(parameter, value)| match parameter.key {
            "scarcity" => (parameter, scarcity()),
            _ => (parameter, value),
        });
        settings.filter(|(parameter, _)| parameter.key != "scarcity" || routing == RoutingName::Scarcity).collect()
    }
}

impl std::str::FromStr for Scarcity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<f64> = text.split(',').map_while(|number| number.trim().parse().ok()).collect();
        match numbers[..] {
            [steepness, dormant, large]
                if text.split(',').count() == 3
                    && (0.1..=100.0).contains(&steepness)
                    && (0.0..=1.0).contains(&dormant)
                    && (0.0..=1.0).contains(&large) =>
            {
                Ok(Self { steepness, dormant, large })
            }
            _ => Err("three numbers are expected, such as 24,0.3,0.06: a steepness from 0.1 to 100, a weight and a share from 0 to 1".into()),
        }
    }
}

impl ParamType for Scarcity {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { text.parse().ok() } else { None }
    }

    fn to_value(&self) -> Value {
        Value::Text(format!("{},{},{}", self.steepness, self.dormant, self.large))
    }
}
