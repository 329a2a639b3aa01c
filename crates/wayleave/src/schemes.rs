//! Which scheme decides, with its parameters, as a value; and the same as JSON.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use wayleave_ledger::Model;
use wayleave_schemes::chameleon::{self, Chameleon, Moves, Penalised, Rerouting, Routing, Search, Sort};
use wayleave_schemes::costs::Scarcity;
use wayleave_schemes::loko::{self, Counting, Loko, Services, Share};
use wayleave_schemes::qjump::{self, Qjump, Reading};
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::silo::{self, Silo};
use wayleave_topology::Network;
use wayleave_units::Time;

use crate::error::Error;

/// Which scheme decides, and with which parameters; the default is what admits most.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemeOptions {
    /// Queue-level routing over delay budgets (CoNEXT 2020).
    Chameleon(chameleon::Params),
    /// One queue a link, one budget for all (SIGCOMM 2015).
    Silo(silo::Params),
    /// One packet an epoch for each of n applications, in the highest priority (NSDI 2015).
    Qjump(qjump::Params),
    /// Switches as one measured service each, given away by rate and burst (CoNEXT 2019).
    Loko {
        /// What was measured, and how it is given away.
        params: loko::Params,
        /// The file that the measurements come from, if it is one.
        table: Option<String>,
    },
}

impl Default for SchemeOptions {
    fn default() -> Self {
        Self::Chameleon(chameleon::Params::default())
    }
}

impl SchemeOptions {
    /// The scheme on a network, with nothing admitted.
    ///
    /// # Errors
    /// If the parameters do not fit the network.
    pub fn scheme(&self, network: &Arc<Network>, model: Model) -> Result<Scheme, Error> {
        let network = network.clone();
        let scheme = match self.clone() {
            Self::Chameleon(params) => Chameleon::new(network, model, params).map(Scheme::from),
            Self::Silo(params) => Silo::new(network, model, params).map(Scheme::from),
            Self::Qjump(params) => return Ok(Qjump::new(network, model, params).into()),
            Self::Loko { params, .. } => {
                return Loko::new(network, params).map(Scheme::from).map_err(|error| Error::Usage(error.to_string()));
            }
        };
        scheme.map_err(|error| Error::Usage(error.to_string()))
    }
}

/// In the words of the command's options.
impl Serialize for SchemeOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SchemeShape::of(self).serialize(serializer)
    }
}

/// The scheme and its parameters.
#[derive(Serialize)]
#[serde(tag = "name", rename_all = "lowercase")]
enum SchemeShape {
    Chameleon {
        routing: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        scarcity: Option<ScarcityShape>,
        /// `None` for the table of section 4.1.2.
        budgets_ns: Option<Vec<u64>>,
        host_budgets_ns: Vec<u64>,
        reroute: Option<RerouteShape>,
    },
    Silo {
        budget_ns: u64,
    },
    Qjump {
        applications: u32,
        packet_bytes: u64,
        epsilon_ns: u64,
        reading: &'static str,
    },
    Loko(LokoShape),
}

/// The cost of scarce resources.
#[derive(Serialize)]
struct ScarcityShape {
    steepness: f64,
    dormant: f64,
    large: f64,
}

impl From<Scarcity> for ScarcityShape {
    fn from(Scarcity { steepness, dormant, large }: Scarcity) -> Self {
        Self { steepness, dormant, large }
    }
}

#[derive(Serialize)]
struct RerouteShape {
    limit: usize,
    sort: &'static str,
    factor: u64,
    avoid: &'static str,
    search: &'static str,
    moves: &'static str,
    tighten: usize,
}

impl SchemeShape {
    fn of(options: &SchemeOptions) -> Self {
        match options {
            SchemeOptions::Chameleon(params) => Self::chameleon(params),
            SchemeOptions::Silo(params) => Self::Silo { budget_ns: params.budget.as_nanos() },
            SchemeOptions::Qjump(qjump::Params { applications, packet, epsilon, reading }) => {
                let reading = match reading {
                    Reading::Refused => "refused",
                    Reading::Charged => "charged",
                    Reading::Flat => "flat",
                };
                let (packet_bytes, epsilon_ns) = (packet.get(), epsilon.as_nanos());
                Self::Qjump { applications: *applications, packet_bytes, epsilon_ns, reading }
            }
            SchemeOptions::Loko { params, table } => Self::Loko(LokoShape::of(params, table.clone())),
        }
    }

    fn chameleon(params: &chameleon::Params) -> Self {
        let nanos = |times: &Vec<Time>| times.iter().copied().map(Time::as_nanos).collect();
        let (routing, scarcity) = match params.routing {
            Routing::Scarcity(scarcity) => ("scarcity", Some(scarcity)),
            Routing::LeastDelay => ("least-delay", None),
            Routing::LaracByDelay => ("larac-delay", None),
            Routing::LaracByHops => ("larac-hops", None),
        };
        Self::Chameleon {
            routing,
            scarcity: scarcity.map(ScarcityShape::from),
            budgets_ns: params.allocation.switch.as_ref().map(nanos),
            host_budgets_ns: nanos(&params.allocation.host),
            reroute: params.rerouting.map(RerouteShape::from),
        }
    }
}

impl From<Rerouting> for RerouteShape {
    fn from(how: Rerouting) -> Self {
        Self {
            limit: how.limit,
            sort: match how.sort {
                Sort::SharedLinks => "shared-links",
                Sort::SharedLinksNewest => "shared-links-newest",
                Sort::Rate => "rate",
                Sort::Burst => "burst",
                Sort::Deadline => "deadline",
                Sort::Placement => "placement",
            },
            factor: how.cost_factor,
            avoid: match how.penalised {
                Penalised::NewFlow => "new-flow",
                Penalised::MovedFlow => "moved-flow",
            },
            search: match how.search {
                Search::OneLabel => "one-label",
                Search::LabelSetting => "label-setting",
                Search::Larac => "larac",
            },
            moves: match how.moves {
                Moves::RolledBack => "rolled-back",
                Moves::Kept => "kept",
            },
            tighten: how.tighten,
        }
    }
}

/// What Loko was set up with.
#[derive(Serialize)]
struct LokoShape {
    table: Option<String>,
    allocation: String,
    counting: &'static str,
    services: &'static str,
}

impl LokoShape {
    fn of(params: &loko::Params, table: Option<String>) -> Self {
        Self {
            table,
            allocation: match params.share {
                Share::FullRate => "full".to_owned(),
                Share::FifthRate => "fifth".to_owned(),
                Share::Rate(rate) => rate.to_string(),
            },
            counting: if params.counting == Counting::Sound { "sound" } else { "published" },
            services: if params.services == Services::PerSwitch { "switch" } else { "port" },
        }
    }
}
