//! The table of routes: paths, access, parameters, bodies and answers. The router, the checks and the OpenAPI
//! document are derived from this table.

use wayleave_protocol as api;

use crate::access::RouteAccess::{Agent, Any, Map, Open, Operator, Read, ReadAll, Write};
use crate::exposition;
use crate::handlers::{
    agents, alerts, apply, audit, backups, batch, checks, contract_list, contracts, decisions, elements, events, flows,
    health, lists, load_history, names, network, policies, statement, status, tenants, timeline, tokens,
    topology_summary, traffic, vms, what_if,
};
use crate::http::operation::ResponseBody::{Any as Free, Events, Nothing, Text, Texts};
use crate::http::operation::Verb::{Delete, Get, Post, Put};
use crate::http::operation::{Document, either, many, many_or_csv, on, one};
#[allow(clippy::wildcard_imports, reason = "all parameters belong to this table")]
use crate::http::params::*;
use crate::http::route::Handler::{self, Alone, InTurn};
use crate::http::route::{Reply, Row};

macro_rules! by {
    ($handler:path) => {
        Handler::AtOnce(|shared, call| Box::pin(async move { $handler(shared, call).await.map(Reply::from) }))
    };
}

/// All routes.
pub(crate) static ROWS: &[Row] = &[
    Row::new(Get, "/v1", "about", Any, "Version of the server, and role of the token", by!(status::about))
        .gives(&[on(200, one::<api::status::About>())]),
    Row::new(Get, "/v1/status", "status", Read, "Status of the controller", InTurn(status::status))
        .gives(&[on(200, one::<api::status::Status>())]),
    // Tenants
    Row::new(Get, "/v1/tenants", "listTenants", Read, "Tenants by name", InTurn(lists::tenants))
        .query(PAGE_OR_CSV)
        .gives(&[on(200, many_or_csv::<api::tenant::Tenant>())]),
    Row::new(Post, "/v1/tenants", "createTenant", Operator, "Creates a tenant", by!(tenants::create))
        .query(TRIAL)
        .takes::<api::tenant::TenantSpec>()
        .gives(&[on(201, one::<api::tenant::Tenant>())]),
    Row::new(Get, "/v1/tenants/{tenant}", "getTenant", Read, "A tenant with its quota and use", by!(tenants::get))
        .gives(&[on(200, one::<api::tenant::Tenant>()), on(304, Nothing)]),
    Row::new(
        Put,
        "/v1/tenants/{tenant}",
        "putTenant",
        Operator,
        "Creates a tenant, or changes its quota",
        by!(tenants::put),
    )
    .query(TRIAL)
    .takes::<api::tenant::TenantSpec>()
    .conditional()
    .gives(&[on(200, one::<api::tenant::Tenant>()), on(201, one::<api::tenant::Tenant>())]),
    Row::new(
        Delete,
        "/v1/tenants/{tenant}",
        "deleteTenant",
        Operator,
        "Deletes a tenant without contracts, VMs or tokens",
        by!(tenants::delete),
    )
    .query(TRIAL)
    .conditional()
    .gives(&[on(204, Nothing)]),
    Row::new(
        Get,
        "/v1/tenants/{tenant}/history",
        "getTenantHistory",
        Read,
        "Measured and reserved rate of a tenant's contracts over time",
        InTurn(load_history::of_tenant),
    )
    .of_reports()
    .query(HISTORY)
    .gives(&[on(200, one::<api::load::LoadHistory>())]),
    Row::new(
        Get,
        "/v1/tenants/{tenant}/statement",
        "getStatement",
        Read,
        "Monthly statement of a tenant: minutes in which its contracts were kept, broken, or not observed",
        InTurn(statement::get),
    )
    .of_reports()
    .query(&[MONTH, FORMAT])
    .gives(&[on(200, one::<api::load::Statement>())]),
    // Tokens
    Row::new(Get, "/v1/tokens", "listTokens", Operator, "Tokens, without their secrets", InTurn(lists::tokens))
        .query(PAGE)
        .gives(&[on(200, many::<api::tenant::Token>())]),
    Row::new(
        Post,
        "/v1/tokens",
        "createToken",
        Operator,
        "Creates a token; its secret is shown only once",
        by!(tokens::create),
    )
    .takes::<api::tenant::TokenSpec>()
    .gives(&[on(201, one::<api::tenant::NewToken>())]),
    Row::new(Delete, "/v1/tokens/{token}", "deleteToken", Operator, "Deletes a token", by!(tokens::delete))
        .query(TRIAL)
        .gives(&[on(204, Nothing)]),
    // Hosts and VMs
    Row::new(Get, "/v1/hosts", "listHosts", Read, "Hosts with their VMs", InTurn(lists::hosts))
        .query(PAGE)
        .gives(&[on(200, many::<api::network::Host>())]),
    Row::new(Get, "/v1/hosts/{host}", "getHost", Read, "A host with its VMs", InTurn(network::host))
        .gives(&[on(200, one::<api::network::Host>())]),
    Row::new(Get, "/v1/vms", "listVms", Read, "VMs by tenant and name", InTurn(lists::vms))
        .query(&[LIMIT, AFTER, TENANT, ON_HOST])
        .gives(&[on(200, many::<api::tenant::Vm>())]),
    Row::new(Post, "/v1/vms", "createVm", Write, "Creates a VM", by!(vms::create))
        .query(TRIAL)
        .takes::<api::tenant::VmSpec>()
        .gives(&[on(201, one::<api::tenant::Vm>())]),
    Row::new(Get, "/v1/vms/{vm}", "getVm", Read, "A VM with its host", by!(vms::get))
        .gives(&[on(200, one::<api::tenant::Vm>()), on(304, Nothing)]),
    Row::new(
        Put,
        "/v1/vms/{vm}",
        "putVm",
        Write,
        "Creates a VM, or moves it if no contract uses it",
        by!(vms::put),
    )
    .query(TRIAL)
    .takes::<api::tenant::VmSpec>()
    .conditional()
    .gives(&[on(200, one::<api::tenant::Vm>()), on(201, one::<api::tenant::Vm>())]),
    Row::new(Delete, "/v1/vms/{vm}", "deleteVm", Write, "Deletes a VM that no contract uses", by!(vms::delete))
        .query(TRIAL)
        .conditional()
        .gives(&[on(204, Nothing)]),
    // Contracts
    Row::new(Get, "/v1/contracts", "listContracts", Read, "Contracts by tenant and name, or by `sort`", InTurn(contract_list::list))
        .query(&[LIMIT, AFTER, TENANT, STATE, KIND, ON_LINK, AT_HOST, NAMED, LABELLED, SORT, ORDER, FORMAT])
        .gives(&[on(200, many_or_csv::<api::contract::Contract>())]),
    Row::new(Post, "/v1/contracts", "createContract", Write, "Creates a contract", by!(contracts::create))
        .query(TRIAL)
        .takes_yaml::<api::contract::ContractSpec>()
        .gives(&[on(200, one::<api::decision::Applied>()), on(201, one::<api::contract::Contract>())]),
    Row::new(
        Get,
        "/v1/contracts/{contract}",
        "getContract",
        Read,
        "A contract with its status",
        by!(contracts::get),
    )
    .gives(&[on(200, one::<api::contract::Contract>()), on(304, Nothing)]),
    Row::new(
        Put,
        "/v1/contracts/{contract}",
        "putContract",
        Write,
        "Creates a contract, or changes its terms",
        by!(contracts::put),
    )
    .query(TRIAL)
    .takes_yaml::<api::contract::ContractSpec>()
    .conditional()
    .gives(&[on(200, either::<api::contract::Contract, api::decision::Applied>()), on(201, one::<api::contract::Contract>())]),
    Row::new(
        Delete,
        "/v1/contracts/{contract}",
        "deleteContract",
        Write,
        "Deletes a contract; idempotent",
        by!(contracts::delete),
    )
    .query(&[DRY_RUN, FORCE])
    .conditional()
    .gives(&[on(204, Nothing)]),
    Row::new(
        Get,
        "/v1/contracts/{contract}/explanation",
        "explainContract",
        Read,
        "Explains a guarantee: the proof, term by term",
        by!(contracts::explain),
    )
    .gives(&[on(200, Free)]),
    Row::new(
        Get,
        "/v1/contracts/{contract}/traffic",
        "getContractTraffic",
        Read,
        "Counters of a contract, as agents have reported them",
        by!(traffic::of_contract),
    )
    .of_reports()
    .gives(&[on(200, one::<api::traffic::ContractTraffic>())]),
    Row::new(
        Get,
        "/v1/contracts/{contract}/history",
        "getContractHistory",
        Read,
        "Measured and reserved rate of a contract over time",
        InTurn(load_history::of_contract),
    )
    .of_reports()
    .query(HISTORY)
    .gives(&[on(200, one::<api::load::LoadHistory>())]),
    Row::new(
        Get,
        "/v1/flows",
        "listFlows",
        Read,
        "Measured and reserved rates from tenants over links to hosts",
        InTurn(flows::get),
    )
    .of_reports()
    .query(&[PATHS, TENANT])
    .gives(&[on(200, one::<api::load::Flows>())]),
    Row::new(Get, "/v1/traffic", "listTraffic", Read, "Contracts with the highest sending rates, with their counters", InTurn(traffic::top))
        .of_reports()
        .query(&[LIMIT, TENANT])
        .gives(&[on(200, one::<api::traffic::TopTraffic>())]),
    Row::new(Get, "/v1/health", "listHealth", Read, "Contracts by health, the worst first", InTurn(health::list))
        .query(&[LIMIT, AFTER, LEVEL])
        .gives(&[on(200, one::<api::health::HealthPage>())]),
    Row::new(Get, "/v1/risks", "listRisks", Read, "The same as /v1/health", InTurn(health::list))
        .query(&[LIMIT, AFTER, LEVEL])
        .gives(&[on(200, one::<api::health::HealthPage>())])
        .deprecated(),
    Row::new(Post, "/v1/apply", "apply", Write, "Creates and changes the contracts of a document", by!(apply::apply))
        .query(&[DRY_RUN, ATOMIC])
        .takes_document(Document::Contracts, true)
        .gives(&[on(200, one::<api::decision::ApplyReport>())]),
    Row::new(
        Post,
        "/v1/batch",
        "batch",
        Write,
        "Deletes, creates and changes contracts atomically",
        by!(batch::batch),
    )
    .query(TRIAL)
    .takes::<api::decision::BatchSpec>()
    .gives(&[on(200, one::<api::decision::ApplyReport>())]),
    // Policies of services
    Row::new(Get, "/v1/policies", "listPolicies", ReadAll, "Policies of services by name", InTurn(lists::policies))
        .query(PAGE)
        .gives(&[on(200, many::<api::policy::Policy>())]),
    Row::new(
        Get,
        "/v1/policies/{policy}",
        "getPolicy",
        ReadAll,
        "A policy of services, with its reservations",
        by!(policies::get),
    )
    .gives(&[on(200, one::<api::policy::Policy>()), on(304, Nothing)]),
    Row::new(
        Put,
        "/v1/policies/{policy}",
        "putPolicy",
        Operator,
        "Creates or replaces a policy of services, if its minima fit beside the contracts",
        by!(policies::put),
    )
    .query(TRIAL)
    .takes_document(Document::Policy, false)
    .conditional()
    .gives(&[on(200, one::<api::policy::Policy>()), on(201, one::<api::policy::Policy>())]),
    Row::new(
        Delete,
        "/v1/policies/{policy}",
        "deletePolicy",
        Operator,
        "Deletes a policy",
        by!(policies::delete),
    )
    .query(TRIAL)
    .conditional()
    .gives(&[on(204, Nothing)]),
    // The network
    Row::new(Get, "/v1/topology", "getTopology", Map, "Topology of the network", InTurn(network::topology))
        .gives(&[on(200, one::<api::network::Topology>())]),
    Row::new(Get, "/v1/links", "listLinks", ReadAll, "Links with their reservations", InTurn(lists::links))
        .query(PAGE_OR_CSV)
        .gives(&[on(200, many_or_csv::<api::network::Link>())]),
    Row::new(Get, "/v1/links/{link}", "getLink", ReadAll, "A link with its queues", by!(network::link))
        .gives(&[on(200, one::<api::network::Link>())]),
    Row::new(
        Get,
        "/v1/links/{link}/history",
        "getLinkHistory",
        ReadAll,
        "Measured and reserved rate of a link over time",
        InTurn(load_history::of_link),
    )
    .of_reports()
    .query(HISTORY)
    .gives(&[on(200, one::<api::load::LoadHistory>())]),
    Row::new(
        Get,
        "/v1/links/{link}/curves",
        "getLinkCurves",
        ReadAll,
        "Network calculus of a link's queues: arrival and service curves, delay and backlog bounds",
        by!(network::curves),
    )
    .gives(&[on(200, Free)]),
    Row::new(
        Get,
        "/v1/topology/summary",
        "getTopologySummary",
        ReadAll,
        "The network, or a part of it, by tier: groups of nodes, and the links between them",
        InTurn(topology_summary::get),
    )
    .query(&[GROUP])
    .gives(&[on(200, one::<api::topology_summary::TopologySummary>())]),
    Row::new(Get, "/v1/tiers", "getTiers", ReadAll, "The same as /v1/topology/summary", InTurn(topology_summary::get))
        .query(&[GROUP])
        .gives(&[on(200, one::<api::topology_summary::TopologySummary>())])
        .deprecated(),
    Row::new(
        Put,
        "/v1/links/{link}/state",
        "putLinkState",
        Operator,
        "Reports a link down or up",
        by!(elements::link),
    )
    .query(TRIAL)
    .takes::<api::network::ElementState>()
    .gives(&[on(200, one::<api::network::StateChangeResult>())]),
    Row::new(Get, "/v1/nodes/{node}", "getNode", ReadAll, "A host or switch with its agent", by!(network::node))
        .gives(&[on(200, one::<api::network::Node>())]),
    Row::new(
        Put,
        "/v1/nodes/{node}/state",
        "putNodeState",
        Operator,
        "Reports a host or switch down or up",
        by!(elements::node),
    )
    .query(TRIAL)
    .takes::<api::network::ElementState>()
    .gives(&[on(200, one::<api::network::StateChangeResult>())]),
    Row::new(Get, "/v1/queues", "listQueues", ReadAll, "Queues with their bounds", InTurn(lists::queues))
        .query(&[LIMIT, AFTER, LINK])
        .gives(&[on(200, many::<api::network::Queue>())]),
    // Decisions
    Row::new(Get, "/v1/decisions", "listDecisions", Read, "Recent decisions, newest first", InTurn(decisions::list))
        .query(PAGE)
        .gives(&[on(200, many::<api::decision::Decision>())]),
    Row::new(Get, "/v1/decisions/{decision}", "getDecision", Read, "A decision", by!(decisions::get))
        .gives(&[on(200, one::<api::decision::Decision>())]),
    Row::new(
        Get,
        "/v1/decisions/{decision}/explanation",
        "explainDecision",
        Read,
        "Explains a decision, given the present contracts",
        by!(decisions::explain),
    )
    .gives(&[on(200, Free)]),
    Row::new(
        Get,
        "/v1/events",
        "listEvents",
        Read,
        "Events; as a stream for `Accept: text/event-stream`",
        Handler::AtOnce(events::events),
    )
    .query(PAGE)
    .gives(&[on(200, Events)]),
    Row::new(
        Get,
        "/v1/timeline",
        "getTimeline",
        Read,
        "Events by time bucket, with the number of contracts in each state",
        InTurn(timeline::get),
    )
    .query(&[BUCKETS])
    .gives(&[on(200, one::<api::timeline::Timeline>())]),
    Row::new(
        Get,
        "/v1/timeline/{event}",
        "getSnapshot",
        Read,
        "State of the network after an event",
        InTurn(timeline::snapshot),
    )
    .gives(&[on(200, one::<api::timeline::Snapshot>())]),
    Row::new(
        Get,
        "/v1/past/{asOf}",
        "getPast",
        Read,
        "Contracts that have changed since an event (by number, including everything committed with it) or a time (RFC 3339), as they were then",
        InTurn(timeline::past),
    )
    .query(&[TENANT])
    .gives(&[on(200, one::<api::timeline::PastContracts>())]),
    Row::new(
        Get,
        "/v1/audit",
        "listAudit",
        Read,
        "Audit log of requests, newest first; tenants see the requests of their own tokens",
        InTurn(audit::list),
    )
    .query(&[LIMIT, AFTER, WHO, OBJECT])
    .gives(&[on(200, many::<api::audit::AuditEntry>())]),
    Row::new(
        Post,
        "/v1/backups",
        "createBackup",
        Operator,
        "Copies the ledger to a file in its directory and verifies the copy",
        by!(backups::create),
    )
    .takes::<api::status::BackupSpec>()
    .gives(&[on(201, one::<api::status::Backup>())]),
    Row::new(Get, "/v1/names", "listNames", Read, "At most 20 names that fit a text", InTurn(names::list))
        .query(&[PREFIX, OF_KIND])
        .gives(&[on(200, one::<api::name::Names>())]),
    Row::new(Get, "/v1/alerts", "listAlerts", ReadAll, "Alerts that fire, by the rules for Prometheus", InTurn(alerts::list))
        .gives(&[on(200, one::<api::alert::Alerts>())]),
    Row::new(Post, "/v1/what-if", "whatIf", Operator, "Predicts the effect of a change without making it", by!(what_if::ask))
        .query(&[OF_EACH])
        .takes::<api::what_if::WhatIfQuery>()
        .gives(&[on(200, one::<api::what_if::WhatIfResult>())]),
    Row::new(
        Post,
        "/v1/checks",
        "runCheck",
        Operator,
        "Sends probes from one endpoint to another and reports where they were seen or lost; takes some seconds",
        by!(checks::run),
    )
    .takes::<api::check::CheckSpec>()
    .gives(&[on(200, one::<api::check::Check>())]),
    // Agents
    Row::new(Get, "/v1/agents", "listAgents", ReadAll, "Agents that have ever connected", InTurn(agents::list))
        .of_reports()
        .query(&[LIMIT, AFTER, PROBLEMS])
        .gives(&[on(200, many::<api::network::Agent>())]),
    Row::new(
        Post,
        "/v1/agents/{node}/session",
        "beginSession",
        Agent,
        "Opens a session of a node's agent",
        by!(agents::begin),
    )
    .takes::<api::agent::SessionSpec>()
    .gives(&[on(200, one::<api::agent::Session>())]),
    Row::new(
        Get,
        "/v1/agents/{node}/messages",
        "getMessages",
        Agent,
        "Pending instructions for a node",
        by!(agents::messages),
    )
    .query(&[EPOCH, WAIT])
    .gives(&[on(200, one::<api::agent::Messages>())]),
    Row::new(Post, "/v1/agents/{node}/confirmations", "confirm", Agent, "Reports completed instructions of a node", by!(agents::confirm))
        .takes::<api::agent::Confirmations>()
        .gives(&[on(204, Nothing)]),
    Row::new(
        Post,
        "/v1/agents/{node}/reports",
        "report",
        Agent,
        "Reports counters, problems and link states of a node",
        by!(agents::report),
    )
    .takes::<api::agent::Reports>()
    .gives(&[on(200, one::<api::check::Tasks>()), on(204, Nothing)]),
    Row::new(
        Get,
        "/v1/agents/{node}/neighbours",
        "getNeighbours",
        Agent,
        "Locations of VMs, and elements that are down",
        by!(agents::neighbours),
    )
    .gives(&[on(200, one::<api::agent::Neighbours>()), on(304, Nothing)]),
    Row::new(
        Get,
        "/v1/agents/{node}/shares",
        "getShares",
        Agent,
        "Bandwidth, objective and best-effort contracts of a host, with the addresses of the other members' agents",
        by!(agents::shares),
    )
    .gives(&[on(200, one::<api::agent::Shares>()), on(304, Nothing)]),
    // The server
    Row::new(Get, "/healthz", "healthz", Open, "Liveness of the server", Alone(status::healthz))
        .gives(&[on(200, Text("text/plain; charset=utf-8"))]),
    Row::new(Get, "/readyz", "readyz", Open, "Readiness of the controller", by!(status::readyz))
        .gives(&[on(200, Text("text/plain; charset=utf-8"))]),
    Row::new(Get, "/metrics", "metrics", ReadAll, "Metrics for Prometheus", InTurn(status::metrics))
        .gives(&[on(200, Texts(&[exposition::TEXT, exposition::OPEN_METRICS]))]),
    Row::new(Get, "/openapi.json", "openapi", Open, "This document", by!(status::openapi)).gives(&[on(200, Free)]),
    Row::new(Get, "/docs", "docs", Open, "This document as an HTML page", by!(status::docs))
        .gives(&[on(200, Text("text/html; charset=utf-8"))]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::operation::ResponseBody;

    /// Reads that the receiving thread executes, with the reason that their time is bounded.
    const AT_ONCE: &[(&[&str], &str)] = &[
        (&["about", "healthz", "readyz", "openapi", "docs"], "one answer, which is ready or short"),
        (&["getTenant", "getVm", "getContract", "getPolicy", "getNode", "getLink", "getDecision"], "one object"),
        (&["explainContract", "explainDecision", "getLinkCurves"], "read by the engine, in turn"),
        (&["getMessages"], "read by the engine, in turn"),
        (&["getContractTraffic"], "the members of one contract"),
        (&["getShares"], "the contracts of one host"),
        (&["listEvents", "getNeighbours"], "what is long of it is read in turn"),
    ];

    #[test]
    fn reads_of_unbounded_cost_are_queued_per_account() {
        let is_named = |row: &Row| AT_ONCE.iter().any(|(names, _)| names.contains(&row.name));
        for row in ROWS.iter().filter(|row| row.verb == Get) {
            let is_in_turn = matches!(row.handler, InTurn(_));
            assert_ne!(is_in_turn, is_named(row), "{} is either in turn, or named with what bounds its time", row.name);
            let is_list =
                row.gives.iter().any(|gives| matches!(gives.body, ResponseBody::Many(_) | ResponseBody::ManyOrCsv(_)));
            assert!(is_in_turn || !is_list, "{} is a list", row.name);
        }
        let all: usize = AT_ONCE.iter().map(|(names, _)| names.len()).sum();
        assert_eq!(ROWS.iter().filter(|row| row.verb == Get && is_named(row)).count(), all, "one is no route any more");
    }
}
