//! The options that choose a scheme and set it up, shared by the commands that decide contracts.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use wayleave_ledger::Model;
use wayleave_schemes::chameleon::{Allocation, Chameleon, Moves, Params, Penalised, Rerouting, Routing, Search, Sort};
use wayleave_schemes::costs::Scarcity;
use wayleave_schemes::qjump::{self, Qjump, Reading};
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::silo::{self, Silo};
use wayleave_topology::{MAX_BUDGET, Network};
use wayleave_units::{Bytes, Time};

use crate::failure::Failure;
use crate::loko_args::LokoArgs;
use crate::model_args::Base;

/// Which scheme decides, and with which parameters.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Scheme")]
pub(crate) struct SchemeArgs {
    /// Who decides
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scheme: SchemeName,
    /// Chameleon's delay budgets of switch queues, highest priority first; queues without one stay unused. Budgets
    /// that the topology gives its queues go first
    #[arg(long, value_delimiter = ',', value_name = "TIMES", value_parser = budget)]
    pub(crate) budgets: Option<Vec<Time>>,
    /// Chameleon's delay budgets of host queues [default: 500us]
    #[arg(long, value_delimiter = ',', value_name = "TIMES", value_parser = budget)]
    pub(crate) host_budget: Option<Vec<Time>>,
    /// Silo's delay budget of every link [default: 100us]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub(crate) silo_budget: Option<Time>,
    #[command(flatten)]
    pub(crate) qjump: QjumpArgs,
    #[command(flatten)]
    pub(crate) loko: LokoArgs,
    /// How Chameleon finds a route [default: scarcity, or least-delay with --model published]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) routing: Option<RoutingName>,
    /// The cost of scarce resources: how steeply prices rise, the weight (0 to 1) of bursts that input lines hide, and
    /// the share of a host's line from which on a flow takes the fastest queues [default: 24,0.3,0.06]
    #[arg(long, value_name = "STEEPNESS,DORMANT,LARGE", value_parser = scarcity)]
    pub(crate) scarcity: Option<Scarcity>,
    #[command(flatten)]
    pub(crate) reroute: RerouteArgs,
}

/// What QJump fixes at the start.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "QJump")]
pub(crate) struct QjumpArgs {
    /// How many applications may send in the highest priority, n [default: 32]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) qjump_n: Option<u32>,
    /// The largest packet, P, of which each may send one an epoch [default: 1500B]
    #[arg(long, value_name = "SIZE", value_parser = packet)]
    pub(crate) qjump_packet: Option<Bytes>,
    /// The cumulative processing on the way [default: 4us]
    #[arg(long, value_name = "TIME")]
    pub(crate) qjump_epsilon: Option<Time>,
    /// What becomes of a contract that asks for more than one packet an epoch [default: refused]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) qjump_reading: Option<ReadingName>,
}

/// Moving admitted flows out of the way.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Rerouting")]
pub(crate) struct RerouteArgs {
    /// Move admitted flows out of the way of a request that does not fit
    #[arg(long)]
    pub(crate) reroute: bool,
    /// How many flows are tried at most for one request
    #[arg(long, value_name = "COUNT", default_value_t = 20, requires = "reroute")]
    pub(crate) reroute_limit: usize,
    /// Which flows are tried first
    #[arg(long, value_enum, value_name = "ORDER", default_value_t, requires = "reroute")]
    pub(crate) reroute_sort: SortName,
    /// What the cost of queues to be avoided is multiplied by
    #[arg(long, value_name = "FACTOR", default_value_t = 30_000, requires = "reroute",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) reroute_factor: u64,
    /// Whose shortest paths a moved flow avoids
    #[arg(long, value_enum, value_name = "WHOSE", default_value_t, requires = "reroute")]
    pub(crate) reroute_avoid: AvoidName,
    /// How a moved flow's new route is found
    #[arg(long, value_enum, value_name = "HOW", requires = "reroute",
        default_value_t = SearchName::from(Rerouting::default().search))]
    pub(crate) reroute_search: SearchName,
    /// What becomes of moves for a request that is refused in the end
    #[arg(long, value_enum, value_name = "WHAT", default_value_t, requires = "reroute")]
    pub(crate) reroute_moves: MovesName,
    /// Where that fails: how many flows into the receiver are put back into faster queues [default: 20 with --routing
    /// scarcity, else 0]
    #[arg(long, value_name = "COUNT", requires = "reroute")]
    pub(crate) reroute_tighten: Option<usize>,
}

/// The schemes of the registry, as a choice.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SchemeName {
    /// Queue-level routing over delay budgets (CoNEXT 2020)
    #[default]
    Chameleon,
    /// One queue a link, one budget for all (SIGCOMM 2015)
    Silo,
    /// One packet an epoch for each of n applications, in the highest priority (NSDI 2015)
    Qjump,
    /// Switches as one measured service each, given away by rate and burst (CoNEXT 2019)
    Loko,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum ReadingName {
    /// It is refused
    Refused,
    /// It takes as many shares of the epoch as it needs
    Charged,
    /// It takes one share, and its shaper holds it to one packet an epoch: its rate is not promised
    Flat,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoutingName {
    /// The route of least cost in scarce resources: fast queues are kept for those who need them
    Scarcity,
    /// The route of least delay, as in the paper
    LeastDelay,
    /// LARAC with the delay as cost
    LaracDelay,
    /// LARAC with the number of links as cost
    LaracHops,
}

impl RoutingName {
    /// What was asked for; else what admits most, or the paper's way with its model.
    pub(crate) fn or_usual(asked: Option<Self>, base: Base) -> Self {
        asked.unwrap_or(match base {
            Base::Default => Self::Scarcity,
            Base::Published => Self::LeastDelay,
        })
    }

    /// With these prices, where they matter.
    pub(crate) fn routing(self, scarcity: Option<Scarcity>) -> Routing {
        match self {
            Self::Scarcity => Routing::Scarcity(scarcity.unwrap_or_default()),
            Self::LeastDelay => Routing::LeastDelay,
            Self::LaracDelay => Routing::LaracByDelay,
            Self::LaracHops => Routing::LaracByHops,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
pub(crate) enum SortName {
    /// Those that share most links with the shortest paths of the new flow
    #[default]
    SharedLinks,
    /// The same, newest first among equals
    SharedLinksNewest,
    /// The fastest
    Rate,
    /// Those with the largest burst
    Burst,
    /// Those with the latest deadline
    Deadline,
    /// The oldest
    Placement,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
pub(crate) enum AvoidName {
    /// Those of the flow that room is made for
    #[default]
    NewFlow,
    /// Its own
    MovedFlow,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum SearchName {
    /// The cheapest in time that is found with one label a node, which is fast
    OneLabel,
    /// The cheapest in time, exactly
    LabelSetting,
    /// LARAC, as in the paper: may miss it
    Larac,
}

impl From<Search> for SearchName {
    fn from(search: Search) -> Self {
        match search {
            Search::OneLabel => Self::OneLabel,
            Search::LabelSetting => Self::LabelSetting,
            Search::Larac => Self::Larac,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MovesName {
    /// They are undone
    #[default]
    RolledBack,
    /// They stay, as in the paper
    Kept,
}

fn packet(text: &str) -> Result<Bytes, String> {
    let packet: Bytes = text.parse().map_err(|error: wayleave_units::ParseUnitError| error.to_string())?;
    match packet.get() {
        // The largest MTU, and what a long tag stack adds.
        64..=66_000 => Ok(packet),
        _ => Err(format!("{packet} is no packet: from 64B to 66kB is accepted")),
    }
}

fn budget(text: &str) -> Result<Time, String> {
    let budget: Time = text.parse().map_err(|error: wayleave_units::ParseUnitError| error.to_string())?;
    if budget == Time::ZERO || budget > MAX_BUDGET {
        return Err(format!("a budget is above zero and at most {MAX_BUDGET}"));
    }
    Ok(budget)
}

/// Three numbers.
fn scarcity(text: &str) -> Result<Scarcity, String> {
    let numbers: Vec<f64> = text.split(',').map_while(|number| number.trim().parse().ok()).collect();
    match numbers[..] {
        [steepness, dormant, large]
            if text.split(',').count() == 3
                && (0.1..=100.0).contains(&steepness)
                && (0.0..=1.0).contains(&dormant)
                && (0.0..=1.0).contains(&large) =>
        {
            Ok(Scarcity { steepness, dormant, large })
        }
        _ => Err("three numbers are expected, such as 24,0.3,0.06: a steepness from 0.1 to 100, a weight and a share from 0 to 1".into()),
    }
}

impl SchemeArgs {
    /// The scheme, with nothing admitted.
    pub(crate) fn scheme(&self, network: &Arc<Network>, model: Model, base: Base) -> Result<Scheme, Failure> {
        self.check()?;
        if self.scarcity.is_some() && self.routing(base) != RoutingName::Scarcity {
            return Err(Failure::Usage("--scarcity is an option of --routing scarcity".into()));
        }
        let scheme = match self.scheme {
            SchemeName::Chameleon => Chameleon::new(network.clone(), model, self.chameleon(base)).map(Scheme::from),
            SchemeName::Silo => Silo::new(network.clone(), model, self.silo()).map(Scheme::from),
            SchemeName::Qjump => Ok(Qjump::new(network.clone(), model, self.qjump.params()).into()),
            SchemeName::Loko => return self.loko.scheme(network),
        };
        scheme.map_err(|error| Failure::Usage(error.to_string()))
    }

    /// An option of another scheme would do nothing: said rather than ignored.
    fn check(&self) -> Result<(), Failure> {
        let given = |name, is_given: bool| Some(name).filter(|_| is_given);
        let of_chameleon = [
            given("--budgets", self.budgets.is_some()),
            given("--host-budget", self.host_budget.is_some()),
            given("--routing", self.routing.is_some()),
            given("--scarcity", self.scarcity.is_some()),
            given("--reroute", self.reroute.reroute),
        ];
        let of_silo = [given("--silo-budget", self.silo_budget.is_some())];
        let of_qjump = [
            given("--qjump-n", self.qjump.qjump_n.is_some()),
            given("--qjump-packet", self.qjump.qjump_packet.is_some()),
            given("--qjump-epsilon", self.qjump.qjump_epsilon.is_some()),
            given("--qjump-reading", self.qjump.qjump_reading.is_some()),
        ];
        let of_loko = self.loko.given();
        let owners = [
            (SchemeName::Chameleon, "chameleon", &of_chameleon[..]),
            (SchemeName::Silo, "silo", &of_silo[..]),
            (SchemeName::Qjump, "qjump", &of_qjump[..]),
            (SchemeName::Loko, "loko", &of_loko[..]),
        ];
        for (_, owner, options) in owners.into_iter().filter(|(scheme, ..)| *scheme != self.scheme) {
            if let Some(option) = options.iter().flatten().next() {
                return Err(Failure::Usage(format!("{option} is an option of --scheme {owner}")));
            }
        }
        Ok(())
    }

    /// How Chameleon finds a route: what admits most, unless the paper's way is asked for.
    pub(crate) fn routing(&self, base: Base) -> RoutingName {
        RoutingName::or_usual(self.routing, base)
    }

    /// Chameleon's parameters.
    pub(crate) fn chameleon(&self, base: Base) -> Params {
        let usual = Allocation::default();
        let host = self.host_budget.clone().unwrap_or(usual.host);
        let routing = self.routing(base).routing(self.scarcity);
        let allocation = Allocation { switch: self.budgets.clone(), host };
        Params { allocation, routing, rerouting: self.reroute.rerouting(self.routing(base)) }
    }

    /// Silo's parameters.
    pub(crate) fn silo(&self) -> silo::Params {
        self.silo_budget.map_or_else(silo::Params::default, |budget| silo::Params { budget })
    }
}

impl QjumpArgs {
    /// QJump's parameters.
    pub(crate) fn params(&self) -> qjump::Params {
        let usual = qjump::Params::default();
        let reading = self.qjump_reading.map(|reading| match reading {
            ReadingName::Refused => Reading::Refused,
            ReadingName::Charged => Reading::Charged,
            ReadingName::Flat => Reading::Flat,
        });
        qjump::Params {
            applications: self.qjump_n.unwrap_or(usual.applications),
            packet: self.qjump_packet.unwrap_or(usual.packet),
            epsilon: self.qjump_epsilon.unwrap_or(usual.epsilon),
            reading: reading.unwrap_or(usual.reading),
        }
    }
}

impl RerouteArgs {
    /// How many flows are tightened.
    pub(crate) fn tighten(&self, routing: RoutingName) -> usize {
        let usual = if routing == RoutingName::Scarcity { Rerouting::with_tightening().tighten } else { 0 };
        self.reroute_tighten.unwrap_or(usual)
    }

    fn rerouting(&self, routing: RoutingName) -> Option<Rerouting> {
        self.reroute.then_some(Rerouting {
            limit: self.reroute_limit,
            sort: match self.reroute_sort {
                SortName::SharedLinks => Sort::SharedLinks,
                SortName::SharedLinksNewest => Sort::SharedLinksNewest,
                SortName::Rate => Sort::Rate,
                SortName::Burst => Sort::Burst,
                SortName::Deadline => Sort::Deadline,
                SortName::Placement => Sort::Placement,
            },
            cost_factor: self.reroute_factor,
            penalised: match self.reroute_avoid {
                AvoidName::NewFlow => Penalised::NewFlow,
                AvoidName::MovedFlow => Penalised::MovedFlow,
            },
            search: match self.reroute_search {
                SearchName::OneLabel => Search::OneLabel,
                SearchName::LabelSetting => Search::LabelSetting,
                SearchName::Larac => Search::Larac,
            },
            moves: match self.reroute_moves {
                MovesName::RolledBack => Moves::RolledBack,
                MovesName::Kept => Moves::Kept,
            },
            tighten: self.tighten(routing),
        })
    }
}
