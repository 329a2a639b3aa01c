//! `wayleave status`: the overall state, on one screen.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use wayleave_explain::human::count;
use wayleave_protocol::contract::Contract;
use wayleave_protocol::network::{Link, Topology};
use wayleave_protocol::status::{About, ClusterRole, Status};
use wayleave_protocol::tenant::Role;
use wayleave_units::escaped;

use crate::client::peers::{Peer, peers};
use crate::client::show::lists::{Row, rows};
use crate::client::show::{write_fields, write_rows};
use crate::client::{Service, Target, show};
use crate::commands::describe::ELSEWHERE;
use crate::commands::login::describe_account;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, out};

const EXAMPLE: &str = "\
Examples:
  wayleave status
  wayleave status --ledger wayleave.db -t fat-tree:k=4 -o json";

/// Number of contracts and links that are shown: one screen.
const SHOWN: usize = 10;
const LINKS: usize = 5;

/// Show controller status
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct StatusArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

/// All that the screen shows.
#[derive(Serialize)]
struct Screen {
    about: About,
    status: Status,
    /// Controllers of a cluster, if several were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    controllers: Option<Vec<Peer>>,
    /// Violated, then degraded.
    broken: Vec<Contract>,
    /// The fullest first; absent if the token may not see them.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<Link>>,
    /// Number of links whose load the controller has not computed.
    links_unknown: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    topology: Option<Topology>,
}

/// Runs the command.
pub(crate) fn run(args: &StatusArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    let address = args.target.address()?.filter(|address| address.count() > 1);
    let controllers = address.map(|address| peers(&address)).transpose()?;
    let screen = Screen { controllers, ..Screen::of(&service)? };
    match args.output {
        OutputFormat::Json => show::json(&screen)?,
        OutputFormat::Table => screen.print(&service.place())?,
    }
    Ok(Exit::Fine)
}

/// Contracts that are enforced, as far as agents have confirmed it.
fn enforcement(status: &Status) -> Vec<(&'static str, String)> {
    let Status { configured, effective, late, .. } = status;
    if matches!(status.enforcement.as_str(), "" | "none") {
        let none = "none: contracts are admitted, not enforced (serve --enforcement hosts)";
        return vec![("enforcement", none.to_owned()), ("measured", "unknown: no agents".to_owned())];
    }
    let confirmed = match effective {
        Some(effective) => {
            format!("{effective} of {configured} contracts with a rule are confirmed by all of their hosts")
        }
        None => {
            format!("unknown how many of {configured} contracts with a rule are confirmed: agents report to the leader")
        }
    };
    let measured = match late {
        Some(late) => {
            let contracts = count(*late, "latency contract");
            format!("late packets of {contracts} were reported; minima and weights are not measured")
        }
        None if status.agents.is_some() => "unknown: no connected agent has measured packets".to_owned(),
        None => ELSEWHERE.to_owned(),
    };
    vec![("enforcement", format!("{}: {confirmed}", status.enforcement)), ("measured", measured)]
}

impl Screen {
    fn of(service: &Service) -> Result<Self, Failure> {
        let about: About = service.get("/v1")?;
        let status: Status = service.get("/v1/status")?;
        let mut broken = Vec::new();
        for state in ["violated", "degraded"] {
            let filters = [("tenant", service.tenant()), ("state", Some(state))];
            broken.extend(service.list::<Contract>("/v1/contracts", &filters, SHOWN)?);
        }
        broken.truncate(SHOWN);
        // Shared resources are shown only to roles that may see everything.
        let sees_all = about.tenant.is_none() && matches!(about.role, Role::Operator | Role::Reader);
        let mut links_unknown = 0;
        let (links, topology) = if sees_all {
            let mut links: Vec<Link> = service.list("/v1/links", &[], usize::MAX)?;
            links_unknown = links.iter().filter(|link| link.used_ppm.is_none()).count();
            links.retain(|link| link.used_ppm.is_some_and(|used| used > 0));
            links.sort_by_key(|link| (std::cmp::Reverse(link.used_ppm), link.name.clone()));
            links.truncate(LINKS);
            let mut topology: Topology = service.get("/v1/topology")?;
            // `get topology` has the whole document.
            topology.document = String::new();
            (Some(links), Some(topology))
        } else {
            (None, None)
        };
        Ok(Self { about, status, controllers: None, broken, links, links_unknown, topology })
    }

    fn print(&self, place: &str) -> Result<(), Failure> {
        let mut out = out();
        write_fields(&mut out, &self.fields(place))?;
        if let Some(controllers) = &self.controllers {
            writeln!(out, "\nControllers")?;
            write_rows(&mut out, Peer::HEADINGS, rows(controllers), Peer::NONE)?;
        }
        if !self.broken.is_empty() {
            writeln!(out, "\nDegraded or violated")?;
            write_rows(&mut out, Contract::HEADINGS, rows(&self.broken), "")?;
        }
        if let Some(problems) = self.status.problems.as_ref().filter(|problems| !problems.is_empty()) {
            writeln!(out, "\nProblems on nodes")?;
            problems.iter().try_for_each(|error| writeln!(out, "  {}", escaped(error)))?;
        }
        if let Some(down) = self.topology.as_ref().map(|topology| &topology.down).filter(|down| !down.is_empty()) {
            writeln!(out, "\nDown")?;
            for down in down {
                writeln!(out, "  {}: {}", escaped(&down.element), escaped(&down.reason))?;
            }
        }
        if let Some(links) = &self.links {
            writeln!(out, "\nFullest links")?;
            let none = if self.links_unknown > 0 { "" } else { "no reservations on any link" };
            write_rows(&mut out, Link::HEADINGS, rows(links), none)?;
            if self.links_unknown > 0 {
                writeln!(out, "  unknown for {}", count(self.links_unknown, "link"))?;
            }
        }
        Ok(out.flush()?)
    }

    fn fields(&self, place: &str) -> Vec<(&'static str, String)> {
        let Self { about, status, .. } = self;
        let ready = match (&status.message, status.ready) {
            (_, true) => String::new(),
            (None, false) => ": cannot write now".to_owned(),
            (Some(why), false) => format!(": cannot write now: {why}"),
        };
        // That another one leads is no trouble.
        let ready = match &status.cluster {
            Some(of) if of.role == ClusterRole::Follower => {
                format!(", follows {}", of.leader.as_deref().unwrap_or("none"))
            }
            Some(of) if of.role == ClusterRole::Leader => format!(", leads in epoch {}", of.epoch),
            _ => ready,
        };
        let ledger = &status.ledger;
        let mut fields = vec![
            ("controller", format!("{place}, version {}{ready}", status.version)),
            ("role", describe_account(about)),
        ];
        // Hidden from tenants.
        if !ledger.path.is_empty() {
            fields.push((
                "ledger",
                format!("{}, {}, commit {}", ledger.path, count(ledger.records, "record"), ledger.sequence),
            ));
        }
        fields.push(("scheme", about.scheme.clone()));
        if let Some(topology) = &self.topology {
            let elements = [(topology.hosts, "host"), (topology.switches, "switch"), (topology.links, "link")];
            let mut parts: Vec<String> = elements.map(|(number, of)| count(number, of)).into();
            parts.push(status.down.map_or("unknown if any is down".to_owned(), |down| format!("{down} down")));
            if status.down.is_some() && !topology.unknown.is_empty() {
                parts.push(format!("{} not observed", count(topology.unknown.len(), "node")));
            }
            fields.push(("network", format!("{}: {}", topology.name, parts.join(", "))));
        } else {
            fields.push(("network", about.topology.clone()));
        }
        let sum: u64 = status.contracts.values().sum();
        let states: Vec<String> = status
            .contracts
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        let states = if states.is_empty() { String::new() } else { format!(": {}", states.join(", ")) };
        let kinds = status.kinds.iter().filter(|(_, count)| **count > 0);
        let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{count} {kind}")).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        fields.push(("contracts", format!("{sum}{states}{kinds}")));
        fields.extend(enforcement(status));
        if status.unprotected > 0 {
            let contracts = count(status.unprotected, "contract");
            let lost = format!(
                "{contracts} with fewer disjoint routes up than requested (get contracts shows PROTECTION_LOST)"
            );
            fields.push(("protection", lost));
        }
        if let Some(ahead) = status.clock_ahead_ns {
            let ahead = show::time(ahead);
            let suspected = format!(
                "not trusted: it jumped forward by {ahead}; contracts start and end by the previous calendar (serve --clock-step-holddown)"
            );
            fields.push(("clock", suspected));
        }
        let mut agents = match status.agents {
            Some(agents) => format!("{agents} connected"),
            None => ELSEWHERE.to_owned(),
        };
        if let Some(silent) = status.silent.as_ref().filter(|silent| !silent.is_empty()) {
            agents = format!("{agents}; silent: {}", silent.join(", "));
        }
        fields.push(("agents", agents));
        fields.push(("tenants", format!("{}, with {}", count(status.tenants, "tenant"), count(status.vms, "VM"))));
        fields
    }
}
