//! `wayleave get`: lists of a controller's objects, and single objects.

use std::collections::BTreeSet;
use std::io::Write;

use crate::client::specs::write as write_specs;
use crate::client::{Names, did_you_mean};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wayleave_contracts::LabelSelector;
use wayleave_formats::{Source, read_topology};
use wayleave_protocol::contract::{Contract, ContractSpec, State};
use wayleave_protocol::decision::Decision;
use wayleave_protocol::network::{Host, Link, Node, ObservedState, Queue, Topology};
use wayleave_protocol::policy::Policy;
use wayleave_protocol::tenant::{Tenant, Token, Vm};
use wayleave_topology::NodeKind;

use crate::client::show::lists::{NodeLine, Row, WideContract, rows};
use crate::client::{Service, Target, encode, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;

const EXAMPLE: &str = "\
Examples:
  wayleave get contracts --state degraded
  wayleave get contracts --kind bandwidth -o wide
  wayleave get contracts -l app=web,tier=db
  wayleave get contracts --link 'h1->pod1-edge1'
  wayleave get contracts --host h1 --sort headroom --limit 20
  wayleave get contracts -o csv > contracts.csv
  wayleave get contract acme:web-db -o json
  wayleave get queues --link 'h1->pod1-edge1'
  wayleave get links --ledger wayleave.db -t fat-tree:k=4
  wayleave get topology > network.yaml
  wayleave get contracts -o yaml > contracts.yaml    (apply -f contracts.yaml changes nothing)";

/// List objects of a controller, or show one
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct GetArgs {
    /// Kind of objects
    #[arg(value_enum, value_name = "WHAT")]
    kind: Kind,
    /// Only the object of this name; TENANT:NAME of a contract or a VM
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Only contracts in this state
    #[arg(long, value_enum, value_name = "STATE")]
    state: Option<StateName>,
    /// Only contracts of this kind
    #[arg(long = "kind", value_enum, value_name = "KIND")]
    promise: Option<KindName>,
    /// Only queues of this link, or contracts with a reservation on it
    #[arg(long, value_name = "LINK")]
    link: Option<String>,
    /// Only VMs on this host, or contracts with an end, a member or a reservation on a link there
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Only contracts with all of these labels: key=value,...
    #[arg(short = 'l', long, value_name = "LABELS", value_parser = selector)]
    selector: Option<String>,
    /// Column by which contracts are sorted; unknown values are last
    #[arg(long, value_enum, value_name = "COLUMN")]
    sort: Option<ColumnName>,
    /// Direction of --sort [default: asc]
    #[arg(long, value_enum, value_name = "ORDER", requires = "sort")]
    order: Option<DirectionName>,
    /// Maximum number of objects; of decisions, the latest
    #[arg(long, value_name = "COUNT", default_value_t = usize::MAX, hide_default_value = true,
        value_parser = most)]
    limit: usize,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: GetFormat,
    #[command(flatten)]
    target: Target,
}

fn most(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&count| count > 0).ok_or_else(|| "expected a whole number of at least 1".to_owned())
}

/// Checks labels that contracts are chosen by.
fn selector(text: &str) -> Result<String, String> {
    Ok(text.parse::<LabelSelector>()?.to_string())
}

/// Formats of lists.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum GetFormat {
    /// Human-readable table
    #[default]
    Table,
    /// Contracts with their kind, all members and all terms
    Wide,
    /// JSON
    Json,
    /// Contracts as a file that `apply -f` reads
    Yaml,
    /// Contracts, links or tenants as comma-separated values
    Csv,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Contracts with their state
    #[value(alias = "contract")]
    Contracts,
    #[value(alias = "vm")]
    Vms,
    /// Tenants with quota and usage
    #[value(alias = "tenant")]
    Tenants,
    /// Policies of services with their reservations
    #[value(alias = "policy")]
    Policies,
    #[value(alias = "host")]
    Hosts,
    #[value(alias = "link")]
    Links,
    /// Queues with bounds and budgets
    #[value(alias = "queue")]
    Queues,
    /// Hosts and switches
    #[value(alias = "node")]
    Nodes,
    /// Decisions, latest first
    #[value(alias = "decision")]
    Decisions,
    #[value(alias = "token")]
    Tokens,
    /// Topology, as `plan -t` reads it
    Topology,
}

#[derive(ValueEnum, Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum StateName {
    Pending,
    Admitted,
    Enforced,
    Degraded,
    Violated,
    Released,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum KindName {
    Latency,
    Bandwidth,
    Objective,
    BestEffort,
}

/// Columns of the interface.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum ColumnName {
    /// Tenant and name
    Id,
    /// Tenant
    Tenant,
    /// Latency, bandwidth, objective, best-effort
    Kind,
    /// Pending first, released last
    State,
    /// Proven delay bound
    Bound,
    /// Reserved rate: rate, minimum or weight
    Rate,
    /// Sending rate as agents have counted it
    Measured,
    /// Part of the deadline that the bound leaves
    Headroom,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum DirectionName {
    /// Ascending
    Asc,
    /// Descending
    Desc,
}

/// Returns the name of a value as options and the interface have it.
fn value_name(value: &impl ValueEnum) -> Option<String> {
    value.to_possible_value().map(|value| value.get_name().to_owned())
}

const CONTRACTS: Names = Names::OfTenants("/v1/contracts");

/// Runs the command.
pub(crate) fn run(args: &GetArgs) -> Result<Exit, Failure> {
    args.check_filters()?;
    let service = args.target.service()?;
    match args.kind {
        _ if args.output == GetFormat::Csv => args.write_csv(&service)?,
        Kind::Contracts if args.output == GetFormat::Yaml => args.write_contracts(&service)?,
        Kind::Contracts if args.output == GetFormat::Wide => args.widely(&service)?,
        Kind::Contracts => args.show::<Contract>(&service, "contract", CONTRACTS)?,
        Kind::Vms => args.show::<Vm>(&service, "VM", Names::OfTenants("/v1/vms"))?,
        Kind::Tenants => args.show::<Tenant>(&service, "tenant", Names::OfAll("/v1/tenants"))?,
        Kind::Policies => args.show::<Policy>(&service, "policy", Names::OfAll("/v1/policies"))?,
        Kind::Hosts => args.show::<Host>(&service, "host", Names::OfAll("/v1/hosts"))?,
        Kind::Links => args.show::<Link>(&service, "link", Names::OfAll("/v1/links"))?,
        Kind::Decisions => args.show::<Decision>(&service, "decision", Names::OfAll("/v1/decisions"))?,
        Kind::Queues => args.queues(&service)?,
        Kind::Nodes => args.nodes(&service)?,
        Kind::Tokens => args.tokens(&service)?,
        Kind::Topology => args.topology(&service)?,
    }
    Ok(Exit::Fine)
}

impl GetArgs {
    /// Refuses a filter that would have no effect.
    fn check_filters(&self) -> Result<(), Failure> {
        let given = [
            ("--state", self.state.is_some(), Kind::Contracts, "contracts"),
            ("--selector", self.selector.is_some(), Kind::Contracts, "contracts"),
            ("--kind", self.promise.is_some(), Kind::Contracts, "contracts"),
            ("--sort", self.sort.is_some(), Kind::Contracts, "contracts"),
        ];
        if self.output == GetFormat::Yaml && !matches!(self.kind, Kind::Contracts | Kind::Topology) {
            return Err(Failure::Usage("-o yaml is only supported by `get contracts` and `get topology`".to_owned()));
        }
        if self.output == GetFormat::Wide && self.kind != Kind::Contracts {
            return Err(Failure::Usage("-o wide is only supported by `get contracts`".to_owned()));
        }
        if self.output == GetFormat::Csv && !matches!(self.kind, Kind::Contracts | Kind::Links | Kind::Tenants) {
            let why = "-o csv is only supported by `get contracts`, `get links` and `get tenants`";
            return Err(Failure::Usage(why.to_owned()));
        }
        if self.output == GetFormat::Csv && (self.name.is_some() || self.limit != usize::MAX) {
            return Err(Failure::Usage("-o csv writes a whole list: omit the name and --limit".to_owned()));
        }
        if self.host.is_some() && !matches!(self.kind, Kind::Contracts | Kind::Vms) {
            return Err(Failure::Usage("--host is only supported by `get contracts` and `get vms`".to_owned()));
        }
        if self.host.is_some() && self.name.is_some() {
            return Err(Failure::Usage("--host is for lists: omit either --host or the name".to_owned()));
        }
        if self.link.is_some() && !matches!(self.kind, Kind::Contracts | Kind::Queues) {
            return Err(Failure::Usage("--link is only supported by `get contracts` and `get queues`".to_owned()));
        }
        if self.link.is_some() && self.name.is_some() {
            return Err(Failure::Usage("--link is for lists: omit either --link or the name".to_owned()));
        }
        for (option, is_given, kind, what) in given {
            if is_given && self.kind != kind {
                return Err(Failure::Usage(format!("{option} is only supported by `get {what}`")));
            }
            if is_given && self.name.is_some() {
                return Err(Failure::Usage(format!("{option} is for lists: omit either {option} or the name")));
            }
        }
        Ok(())
    }

    /// One object, or the list.
    fn show<T: Row + Serialize + DeserializeOwned>(
        &self,
        service: &Service,
        what: &str,
        names: Names,
    ) -> Result<(), Failure> {
        let (Names::OfTenants(path) | Names::OfAll(path)) = names;
        let Some(name) = &self.name else {
            let filters = self.filters(service);
            let items: Vec<T> = service.list(path, &borrowed(&filters), self.limit)?;
            return self.print_list(&items);
        };
        let item: T = Self::one(service, what, names, name)?;
        match self.output {
            GetFormat::Json => show::json(&item),
            GetFormat::Table | GetFormat::Wide | GetFormat::Yaml | GetFormat::Csv => {
                show::table(T::HEADINGS, rows(&[item]), T::NONE)
            }
        }
    }

    fn one<T: DeserializeOwned>(service: &Service, what: &str, names: Names, name: &str) -> Result<T, Failure> {
        let (Names::OfTenants(path) | Names::OfAll(path)) = names;
        let id = if matches!(names, Names::OfTenants(_)) { service.id(name) } else { name.to_owned() };
        let found: Result<T, _> = service.get(&format!("{path}/{}", encode(&id)));
        found.map_err(|error| did_you_mean(service, error, what, name, names))
    }

    /// One contract, or those of the list.
    fn contracts(&self, service: &Service) -> Result<Vec<Contract>, Failure> {
        Ok(match &self.name {
            Some(name) => vec![Self::one(service, "contract", CONTRACTS, name)?],
            None => service.list("/v1/contracts", &borrowed(&self.filters(service)), self.limit)?,
        })
    }

    /// Contracts with everything that was asked for.
    fn widely(&self, service: &Service) -> Result<(), Failure> {
        let lines: Vec<WideContract> = self.contracts(service)?.into_iter().map(WideContract).collect();
        show::table(WideContract::HEADINGS, rows(&lines), WideContract::NONE)
    }

    /// Contracts as a document that can be applied.
    fn write_contracts(&self, service: &Service) -> Result<(), Failure> {
        let contracts = self.contracts(service)?;
        // One that is released is there until its last packets have left, and applied again it would come back.
        let kept = contracts.into_iter().filter(|contract| contract.status.state != State::Released);
        let specs: Vec<ContractSpec> = kept.map(|contract| contract.spec).collect();
        let mut out = out();
        write!(out, "{}", write_specs(&specs)?)?;
        Ok(out.flush()?)
    }

    /// Writes a list as the controller exports it.
    fn write_csv(&self, service: &Service) -> Result<(), Failure> {
        let path = match self.kind {
            Kind::Links => "/v1/links",
            Kind::Tenants => "/v1/tenants",
            _ => "/v1/contracts",
        };
        let mut path = format!("{path}?format=csv");
        for (name, value) in self.filters(service) {
            let value = value.map(|value| format!("&{name}={}", encode(&value)));
            path.push_str(&value.unwrap_or_default());
        }
        let mut out = out();
        // Lines end as in other output; a carriage return would be shown as a control character.
        write!(out, "{}", service.text(&path, "text/csv")?.replace("\r\n", "\n"))?;
        Ok(out.flush()?)
    }

    fn filters(&self, service: &Service) -> Vec<(&'static str, Option<String>)> {
        let tenant = ("tenant", service.tenant().map(str::to_owned));
        match self.kind {
            Kind::Contracts => vec![
                tenant,
                ("state", self.state.as_ref().and_then(value_name)),
                ("kind", self.promise.as_ref().and_then(value_name)),
                ("link", self.link.clone()),
                ("host", self.host.clone()),
                ("labels", self.selector.clone()),
                ("sort", self.sort.as_ref().and_then(value_name)),
                ("order", self.order.as_ref().and_then(value_name)),
            ],
            Kind::Vms => vec![tenant, ("host", self.host.clone())],
            Kind::Queues => vec![("link", self.link.clone())],
            _ => Vec::new(),
        }
    }

    fn print_list<T: Row + Serialize>(&self, items: &[T]) -> Result<(), Failure> {
        match self.output {
            GetFormat::Json => show::json(&Items { items }),
            GetFormat::Table | GetFormat::Wide | GetFormat::Yaml | GetFormat::Csv => {
                show::table(T::HEADINGS, rows(items), T::NONE)
            }
        }
    }

    /// Queues have no names of their own.
    fn queues(&self, service: &Service) -> Result<(), Failure> {
        if self.name.is_some() {
            return Err(Failure::Usage(
                "queues have no names: `get queues --link LINK` shows those of a link".to_owned(),
            ));
        }
        let filters = self.filters(service);
        let found: Result<Vec<Queue>, _> = service.list("/v1/queues", &borrowed(&filters), self.limit);
        let link = self.link.as_deref().unwrap_or_default();
        let names = Names::OfAll("/v1/links");
        self.print_list(&found.map_err(|error| did_you_mean(service, error, "link", link, names))?)
    }

    fn tokens(&self, service: &Service) -> Result<(), Failure> {
        let mut tokens: Vec<Token> = service.list("/v1/tokens", &[], usize::MAX)?;
        if let Some(name) = &self.name {
            tokens.retain(|token| token.id == *name);
            if tokens.is_empty() {
                return Err(Failure::Usage(format!("no token {name}: `wayleave get tokens` lists them")));
            }
        }
        tokens.truncate(self.limit);
        self.print_list(&tokens)
    }

    /// Shows the nodes. They have no list in the interface: the topology contains their names and states.
    fn nodes(&self, service: &Service) -> Result<(), Failure> {
        if let Some(name) = &self.name {
            let found: Result<Node, _> = service.get(&format!("/v1/nodes/{}", encode(name)));
            let node = found.map_err(|error| did_you_mean(service, error, "node", name, Names::OfAll("/v1/hosts")))?;
            if self.output == GetFormat::Json {
                return show::json(&node);
            }
            let kind = if node.kind == "host" { "host" } else { "switch" };
            let line = NodeLine { name: node.name, kind, state: node.state, reason: node.reason };
            return show::table(NodeLine::HEADINGS, rows(&[line]), NodeLine::NONE);
        }
        let topology: Topology = service.get("/v1/topology")?;
        let unknown: BTreeSet<String> = topology.unknown.into_iter().collect();
        let network = read_topology(&Source::new("topology", topology.document))?.network;
        let lines: Vec<NodeLine> = network
            .nodes()
            .map(|(_, node)| {
                let element = format!("node {}", node.name);
                let reason = topology.down.iter().find(|down| down.element == element).map(|down| down.reason.clone());
                let state = match &reason {
                    Some(_) => ObservedState::Down,
                    None if unknown.contains(&node.name) => ObservedState::Unknown,
                    None => ObservedState::Up,
                };
                let kind = if node.kind == NodeKind::Host { "host" } else { "switch" };
                NodeLine { name: node.name.clone(), kind, state, reason }
            })
            .take(self.limit)
            .collect();
        self.print_list(&lines)
    }

    fn topology(&self, service: &Service) -> Result<(), Failure> {
        let topology: Topology = service.get("/v1/topology")?;
        if self.output == GetFormat::Json {
            return show::json(&topology);
        }
        let mut out = out();
        write!(out, "{}", topology.document)?;
        Ok(out.flush()?)
    }
}

/// Returns filters as the client takes them.
fn borrowed<'a>(filters: &'a [(&'static str, Option<String>)]) -> Vec<(&'static str, Option<&'a str>)> {
    filters.iter().map(|(name, value)| (*name, value.as_deref())).collect()
}

/// A list as it is printed: the same key as in the interface.
#[derive(Serialize)]
struct Items<'a, T> {
    items: &'a [T],
}
