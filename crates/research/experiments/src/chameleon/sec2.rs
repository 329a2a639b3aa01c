//! Section 2.1's worked examples of QJump and Silo, the flow of Fig. 1 that only rerouting admits, and the least delay of a
//! four-hop path (4.1.2).

use std::sync::Arc;

use wayleave_ledger::{BestEffort, Model, Shaping};
use wayleave_scheme_api::{Admission, Decision, Request};
use wayleave_schemes::admission::qjump::{self, Epoch};
use wayleave_schemes::admission::silo;
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::reservations;
use wayleave_schemes::routing::RouteQuery;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{FlowId, LinkSpec, Network, NetworkBuilder, PortQueue, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::{RerouteSettings, Silo, System};
use crate::data::{Figure, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;

/// Measures it: nothing here is random, so it needs no seeds.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    run.simulator().check()?;
    let mut statements = qjump_rates();
    statements.extend(qjump_flows()?);
    run.simulator().check()?;
    statements.extend(silo_delays()?);
    statements.push(four_hops()?);
    statements.extend(figure_1()?);
    let row = |statement: &Statement| {
        let verdict = statement.verdict.name().to_owned();
        vec![statement.section.to_owned(), statement.claim_text.clone(), statement.measured.clone(), verdict]
    };
    let table = Table {
        name: "examples".to_owned(),
        title: "Worked examples".to_owned(),
        rows: statements.iter().map(row).collect(),
        columns: ["section", "the text", "here", "verdict"].map(str::to_owned).to_vec(),
    };
    let figure = Figure { statements, tables: vec![table], ..Figure::default() };
    Ok(figure.with("network", "fat tree, k = 4, 16 hosts").with(
        "Fig. 1",
        "for Chameleon every flow fills its links between switches (1 Gbit/s; hosts at 10 Gbit/s); for Silo it fills the \
         0.1 ms of its links (60 Mbit/s, bursts of 4,000 B)",
    ))
}

fn request(network: &Network, from: &str, to: &str, deadline: Time) -> Result<Request, Failed> {
    let host = |name: &str| network.find_node(name).ok_or_else(|| Failed::broken(format!("no host {name}")));
    Ok(Request {
        from: host(from)?,
        to: host(to)?,
        rate: Rate::from_mbit(1),
        burst: Bytes::new(100),
        deadline,
        max_frame: None,
        route: None,
        protection: 1,
    })
}

fn refused(refusal: wayleave_scheme_api::Refusal) -> Failed {
    Failed::broken(format!("a request of an example was refused: {refusal:?}"))
}

/// Section 2.1.1: 300 B packets on links of 10 Gbit/s.
fn qjump_of(applications: u32) -> qjump::Params {
    let (packet, epsilon) = (Bytes::new(300), Time::from_micros(4));
    qjump::Params { applications, packet, epsilon, reading: qjump::Reading::Refused }
}

fn qjump_rates() -> Vec<Statement> {
    let of = |applications: u32, claim_text: &str, latency: Time, mbit: f64| {
        let epoch = Epoch::new(&qjump_of(applications), Rate::from_gbit(10));
        let unit = epoch.unit().bits_per_second() as f64 / 1e6;
        // The text rounds to three digits.
        let is_so = epoch.length() == latency && (unit - mbit).abs() < 0.005 * mbit;
        Statement::claim("2.1.1", claim_text, is_so, format!("{}, {unit:.2} Mbit/s", epoch.length()))
    };
    vec![
        of(160, "QJump with n = 160 guarantees 80.8 us at up to 29.7 Mbit/s", Time::from_nanos(80_800), 29.7),
        of(1600, "with n = 1600, 772 us at 3.11 Mbit/s", Time::from_micros(772), 3.11),
    ]
}

/// Sections 2.1.1 and 2.2: what QJump refuses on an empty network, and on half of a network.
fn qjump_flows() -> Result<Vec<Statement>, Failed> {
    // The text leaves buffers aside: large enough for two packets of each of 1600 applications.
    let switch_port = PortSpec::uniform(8, Bytes::new(1_000_000));
    let cabling = Cabling { rate: Rate::from_gbit(10), switch_port, ..Cabling::default() };
    let spec = FatTree { cabling, ..FatTree::default() };
    let network = Arc::new(build::fat_tree(&spec).map_err(Failed::broken)?);
    // Half of the servers: those of the two leftmost pods.
    let from_left = |number: u32, deadline: Time| -> Result<Request, Failed> {
        let (from, to) = (number % 8 + 1, (number + 1 + number / 8 % 7) % 8 + 1);
        let wanted = request(&network, &format!("h{from}"), &format!("h{to}"), deadline)?;
        Ok(Request { rate: Rate::from_bits_per_second(3_100_000), ..wanted })
    };
    let scheme = |applications| qjump::Qjump::new(network.clone(), Model::PUBLISHED, qjump_of(applications));
    let tight = !scheme(160).would_admit(&request(&network, "h1", "h16", Time::from_micros(50))?);
    let plain = request(&network, "h1", "h16", Time::from_millis(1))?;
    let fast = !scheme(160).would_admit(&Request { rate: Rate::from_mbit(50), ..plain.clone() });
    let count = |applications: u32| -> Result<(u32, qjump::Qjump), Failed> {
        let mut scheme = scheme(applications);
        let mut admitted = 0;
        while scheme.admit(&from_left(admitted, Time::from_micros(772))?).is_ok() {
            admitted += 1;
        }
        Ok((admitted, scheme))
    };
    let ((few, mut full), (many, _)) = (count(160)?, count(1600)?);
    let elsewhere =
        !full.would_admit(&Request { rate: Rate::from_mbit(1), ..request(&network, "h9", "h16", plain.deadline)? });
    let refused = |is_so: bool| if is_so { "refused" } else { "admitted" };
    Ok(vec![
        Statement::claim(
            "2.1.1",
            "on an unused network, QJump rejects a latency of 50 us, and a rate of 50 Mbit/s",
            tight && fast,
            format!("{}; {}", refused(tight), refused(fast)),
        ),
        Statement::claim(
            "2.1.1",
            "of flows of 3.11 Mbit/s that tolerate 772 us it accepts 160, and would accept 1600 with n = 1600",
            (few, many) == (160, 1600),
            format!("{few} and {many}"),
        ),
        Statement::claim(
            "2.2",
            "with 160 flows in the two leftmost pods it rejects any other, though half of the network is unused",
            elsewhere,
            refused(elsewhere),
        ),
    ])
}

/// Section 2.1.2: 20 us for rack links, 50 us within pods, 80 us to the cores; the rate is not given, and matters not.
fn silo_network() -> Result<Arc<Network>, Failed> {
    let plain = build::fat_tree(&FatTree::default()).map_err(Failed::broken)?;
    let mut builder = NetworkBuilder::default();
    for (_, node) in plain.nodes() {
        builder.add(node.clone()).map_err(Failed::broken)?;
    }
    for (_, link) in plain.links() {
        let ends = [link.from, link.to].map(|node| plain.node(node).name.as_str());
        let touches = |what: &str| ends.iter().any(|name| name.contains(what));
        let us = match (touches("core"), touches("agg")) {
            (true, _) => 80,
            (false, true) => 50,
            (false, false) => 20,
        };
        let queue = PortQueue { buffer: Bytes::new(590_000), budget: Some(Time::from_micros(us)) };
        let (from, to, mtu, propagation) = (link.from, link.to, link.mtu, link.propagation);
        let port = PortSpec { queues: vec![queue] };
        let spec = LinkSpec { from, to, rate: Rate::from_gbit(10), propagation, mtu, port };
        builder.add_link(spec).map_err(Failed::broken)?;
    }
    Ok(Arc::new(builder.build()))
}

fn silo_delays() -> Result<Vec<Statement>, Failed> {
    let network = silo_network()?;
    let model = Model::default().with_best_effort(BestEffort::Dropped);
    let mut silo = silo::Silo::new(network.clone(), model, silo::Params::default()).map_err(Failed::broken)?;
    let mut bound = |to: &str, deadline: Time| -> Result<Time, Failed> {
        Ok(silo.admit(&request(&network, "h1", to, deadline)?).map_err(refused)?.bound)
    };
    let generous = Time::from_millis(10);
    let bounds = [bound("h2", generous)?, bound("h3", generous)?, bound("h5", generous)?];
    let expected = [40, 140, 300].map(Time::from_micros);
    let [rack, pod, far] = bounds;
    let delays = Statement::claim(
        "2.1.2",
        "Silo's delay with 20, 50 and 80 us a link: 40 us in a rack, 140 us in a pod, 300 us between pods",
        bounds == expected,
        format!("{rack}, {pod}, {far}, also for a deadline of {generous}"),
    );
    let tight = Time::from_micros(30);
    let is_refused = bound("h2", tight).is_err();
    let refusal = Statement::claim(
        "2.1.2",
        "a tenant that needs 30 us is rejected",
        is_refused,
        if is_refused { "refused" } else { "admitted" },
    );
    let query = RouteQuery::of(&request(&network, "h1", "h16", generous)?);
    let total = reservations::paths(silo.placement(), &query, 10).total;
    let paths = Statement::claim(
        "2.1.2",
        "(k/2)^2 = 4 paths between two pods at k = 4",
        total == 4,
        format!("{total} shortest paths"),
    );
    Ok(vec![delays, refusal, paths])
}

/// Section 4.1.2: with delays from 0.1 ms, a four-hop path cannot promise less than 0.4 ms.
fn four_hops() -> Result<Statement, Failed> {
    let network = Arc::new(build::fat_tree(&FatTree::default()).map_err(Failed::broken)?);
    let mut scheme = System::Chameleon.scheme(&network)?;
    let mut admitted = |to: &str| -> Result<Decision, Failed> {
        let wanted = request(&network, "h1", to, Time::from_millis(1) + Time::from_nanos(1))?;
        scheme.admit(&wanted).map_err(refused)
    };
    // The host's own link has 0.5 ms; four links between switches are those between two pods.
    let decision = admitted("h16")?;
    let scheme = scheme.queues().ok_or_else(|| Failed::broken("no ledger"))?.ledger();
    let between = decision.route.hops.get(1..5).unwrap_or_default();
    let least: Time = between.iter().map(|&hop| scheme.budget(hop)).sum();
    Ok(Statement::claim(
        "4.1.2",
        "a 4-hop path cannot promise less than 0.4 ms",
        least == Time::from_micros(400) && between.len() == 4,
        format!("{least} over {} links, 0.5ms on the host's and 0.1ms on the last one aside", between.len()),
    ))
}

/// Servers 1 to 16 of Fig. 1 are h1 to h16.
const BLUE: &[&str] = &["h1", "pod1-edge1", "pod1-agg1", "core1", "pod3-agg1", "pod3-edge1", "h10"];
const PURPLE: &[&str] = &["h7", "pod2-edge2", "pod2-agg2", "core3", "pod4-agg2", "pod4-edge1", "h13"];
const GREEN: &[&str] = &["h15", "pod4-edge2", "pod4-agg2", "core4", "pod3-agg2", "pod3-edge2", "h11"];
const RED: (&str, &str) = ("h5", "h9");
/// Flows that block other paths while blue chooses its path, so that it takes the one of Fig. 1. A flow with a given
/// path is not moved later.
const BEFORE: [&[&str]; 2] = [
    &["h2", "pod1-edge1", "pod1-agg2", "pod1-edge2", "h3"],
    &["h4", "pod1-edge2", "pod1-agg1", "core2", "pod3-agg1", "pod3-edge2", "h12"],
];

/// Request of one flow of the figure.
#[derive(Clone, Copy)]
struct Size {
    rate: Rate,
    burst: Bytes,
    deadline: Time,
}

fn flow(network: &Network, (from, to): (&str, &str), size: Size) -> Result<Request, Failed> {
    Ok(Request { rate: size.rate, burst: size.burst, ..request(network, from, to, size.deadline)? })
}

/// Embeds a flow on a path, in the first queues that have room.
fn embed(scheme: &mut Scheme, network: &Network, path: &[&str], size: Size) -> Result<FlowId, Failed> {
    let no_path = || Failed::broken("a path of Fig. 1 is not in the network, or has no room");
    let (Some(&from), Some(&to)) = (path.first(), path.last()) else { return Err(no_path()) };
    let wanted = flow(network, (from, to), size)?;
    let link = |pair: &[&str]| network.find_link(&pair.join("->"));
    let links: Vec<_> = path.windows(2).map(link).collect::<Option<_>>().ok_or_else(no_path)?;
    let placement = scheme.queues().ok_or_else(no_path)?;
    let survey = reservations::paths(placement, &RouteQuery::of(&wanted), 100);
    let tried = survey.paths.into_iter().find(|tried| tried.links == links).ok_or_else(no_path)?;
    let reservations::PathOutcome::Open { route, .. } = tried.outcome else { return Err(no_path()) };
    Ok(scheme.admit(&Request { route: Some(route), ..wanted }).map_err(refused)?.flow)
}

/// The names of the switches on a route.
fn switches(network: &Network, route: &wayleave_topology::Route) -> Vec<String> {
    let names = route.hops.iter().skip(1).map(|hop| network.node(network.link(hop.link).from).name.clone());
    names.collect()
}

fn figure_1() -> Result<[Statement; 2], Failed> {
    Ok([silo_refuses_red()?, moving_blue_admits_red()?])
}

fn silo_refuses_red() -> Result<Statement, Failed> {
    let network = Arc::new(build::fat_tree(&FatTree::default()).map_err(Failed::broken)?);
    let model = Model::default().with_shaping(Shaping::Off);
    // Enough that no two of them fit on a link of 0.1 ms.
    let size = Size { rate: Rate::from_mbit(60), burst: Bytes::new(4_000), deadline: Time::from_millis(1) };
    let refuses = |silo: Silo| -> Result<bool, Failed> {
        let mut silo = System::Silo(silo).with_model(&network, model)?;
        for path in [BLUE, PURPLE, GREEN] {
            embed(&mut silo, &network, path, size)?;
        }
        Ok(!silo.would_admit(&flow(&network, RED, size)?))
    };
    // Even searching around full links it finds none.
    let is_refused = refuses(Silo::TEXT)? && refuses(Silo::AROUND)?;
    let measured = if is_refused {
        "refused, with all links of the three filled, on its path and on every other"
    } else {
        "admitted"
    };
    let claim_text =
        "with blue (1 to 10), purple (7 to 13) and green (11 to 15) embedded, Silo cannot embed red (5 to 9)";
    Ok(Statement::claim("2.1.2, Fig. 1", claim_text, is_refused, measured).remark(
        "Green goes from 15 to 11 here: only that way does it stand in red's, since links have two directions.",
    ))
}

fn moving_blue_admits_red() -> Result<Statement, Failed> {
    const GBIT: Rate = Rate::from_gbit(1);
    let cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
    let (aggregation_rate, core_rate) = (Some(GBIT), Some(GBIT));
    let spec = FatTree { cabling, aggregation_rate, core_rate, ..FatTree::default() };
    let network = Arc::new(build::fat_tree(&spec).map_err(Failed::broken)?);
    let size = Size { rate: GBIT, burst: Bytes::new(1500), deadline: Time::from_millis(100) };
    let embedded = |system: System| -> Result<(Scheme, FlowId), Failed> {
        // Six tags: a route passes at most six switches, and no detour through another rack.
        let mut scheme = system.with_model(&network, Model::default())?;
        let others: Vec<FlowId> =
            BEFORE.iter().map(|path| embed(&mut scheme, &network, path, size)).collect::<Result<_, _>>()?;
        let blue = scheme.admit(&flow(&network, ("h1", "h10"), size)?).map_err(refused)?;
        if switches(&network, &blue.route) != BLUE[1..BLUE.len() - 1] {
            return Err(Failed::broken("blue takes another path than in Fig. 1"));
        }
        for other in others {
            scheme.release(other);
        }
        embed(&mut scheme, &network, PURPLE, size)?;
        embed(&mut scheme, &network, GREEN, size)?;
        Ok((scheme, blue.flow))
    };
    let red = flow(&network, RED, size)?;
    let is_stuck = !embedded(System::Chameleon)?.0.would_admit(&red);
    let (mut scheme, blue) = embedded(System::Rerouting(RerouteSettings::OLDEST))?;
    let claim_text = "Chameleon reroutes blue on the dashed path and then embeds red";
    let Ok(decision) = scheme.admit(&red) else {
        return Ok(Statement::claim("2.1.2, Fig. 1", claim_text, false, "refused"));
    };
    let moved: Vec<String> = decision
        .moved
        .iter()
        .filter(|moved| moved.flow == blue)
        .map(|moved| switches(&network, &moved.to).join(", "))
        .collect();
    let is_so = is_stuck && decision.moved.len() == 1 && moved.len() == 1;
    let (way, red) = (moved.join("; "), switches(&network, &decision.route).join(", "));
    let stuck = if is_stuck { "refused without rerouting" } else { "admitted without rerouting" };
    Ok(Statement::claim("2.1.2, Fig. 1", claim_text, is_so, format!("{stuck}; blue moves to {way}; red takes {red}")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Effort;
    use crate::statement::assert_all_can_fail;

    #[test]
    pub(crate) fn every_statement_can_fail() {
        let figure = measure(&Run::new(Effort::Quick)).unwrap();
        assert_all_can_fail(&figure.statements);
    }
}
