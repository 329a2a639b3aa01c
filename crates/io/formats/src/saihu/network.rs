//! Servers and flows of an output-port network.

use num_traits::{Signed, Zero};
use wayleave_calculus::network::{CurveServer, LineShaping, Multiplexing, Options, Packetizer, ServerFlow};
use wayleave_calculus::{ArrivalCurve, BucketCurve, RateLatency, Rational, ServiceCurve};

use super::parts::{Parts, PortNetworkFile};
use super::units::{Measure, Units};
use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::messages::{MAX_NAMES, did_you_mean, did_you_mean_one_of, nearest, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::source::Source;
use crate::tree::{Fault, Loader, Node};

const ROOT: Shape =
    Shape { what: "an output-port network", keys: &["network", "servers", "flows", "adjacency_matrix"] };
const NETWORK: Shape = Shape {
    what: "the network",
    keys: &[
        "name",
        "packetizer",
        "multiplexing",
        "analysis_option",
        "time_unit",
        "data_unit",
        "rate_unit",
        "min_packet_length",
        "max_packet_length",
    ],
};
const SERVER: Shape =
    Shape { what: "a server", keys: &["name", "service_curve", "capacity", "time_unit", "data_unit", "rate_unit"] };
const FLOW: Shape = Shape {
    what: "a flow",
    keys: &[
        "name",
        "path",
        "path_name",
        "paths",
        "multicast",
        "arrival_curve",
        "max_packet_length",
        "min_packet_length",
        "time_unit",
        "data_unit",
        "rate_unit",
    ],
};
/// A further path of a multicast flow, as Saihu's `example/demo.json` has it.
const BRANCH: Shape = Shape { what: "a path of a multicast flow", keys: &["name", "path"] };
const SERVICE: Shape = Shape { what: "a service curve", keys: &["latencies", "rates"] };
const ARRIVAL: Shape = Shape { what: "an arrival curve", keys: &["bursts", "rates"] };

pub(super) fn read(source: &Source, problems: &mut Problems<'_>) -> Option<PortNetworkFile> {
    let root = match Loader::new(source.text(), ["", ""], &mut |_| {}).load() {
        Ok(Some(root)) => root,
        Ok(None) => {
            let message = || "the file is empty: expected an output-port network (network, servers, flows)";
            problems.report(ProblemKind::Empty, Span::default(), message);
            return None;
        }
        Err(fault) => {
            let Fault { kind, span, message } = *fault;
            problems.report(kind, span, || message);
            return None;
        }
    };
    let fields = Fields::read(&root, &ROOT, problems)?;
    fields.require_all(["servers", "flows"], problems);
    let head = fields.get("network").and_then(|node| Fields::read(node, &NETWORK, problems));
    let units = head.as_ref().map_or_else(Units::basic, |head| Units::basic().of(head, problems));
    let options = head.as_ref().map_or_else(Options::default, |head| read_options(head, problems));
    let name = head.as_ref().and_then(|head| head.text("name", problems)).unwrap_or_else(|| source.stem());
    let largest = head.as_ref().and_then(|head| head.get("max_packet_length"));
    let largest = largest.and_then(|node| units.read(Measure::Data, node, problems)).unwrap_or_else(Rational::zero);
    let mut parts = Parts::default();
    for node in fields.get("servers")?.expect_list("servers", problems)? {
        parts.server(node, &units, problems);
    }
    for node in fields.get("flows")?.expect_list("flows", problems)? {
        parts.flow(node, &units, &largest, problems);
    }
    let name = name.to_owned();
    if problems.mark() > 0 {
        // Further problems of the network would follow from the parts that could not be read.
        return None;
    }
    parts.build(problems).map(|network| PortNetworkFile { name, network, options, remarks: Vec::new() })
}

fn read_options(head: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Options {
    let packetizer = match head.text("packetizer", problems) {
        None | Some("false") => Packetizer::Off,
        Some("true") => Packetizer::On,
        Some(other) => {
            let span = head.value_span("packetizer");
            let message = || format!("{} is not accepted: true or false is expected", quoted(other));
            problems.report(ProblemKind::BadValue, span, message);
            Packetizer::Off
        }
    };
    let multiplexing = match head.text("multiplexing", problems) {
        None => Multiplexing::Fifo,
        Some(text) if text.eq_ignore_ascii_case("fifo") => Multiplexing::Fifo,
        Some(text) if text.eq_ignore_ascii_case("arbitrary") => Multiplexing::Arbitrary,
        Some(other) => {
            let span = head.value_span("multiplexing");
            let near = did_you_mean_one_of(other, &["FIFO", "ARBITRARY"]);
            problems.report(ProblemKind::BadValue, span, || format!("unknown multiplexing {}{near}", quoted(other)));
            Multiplexing::Fifo
        }
    };
    let listed = head.get("analysis_option").and_then(|node| node.expect_list("options", problems));
    let shaped = listed.is_none_or(|options| options.iter().any(|option| option.text() == Some("IS")));
    let shaping = if shaped { LineShaping::On } else { LineShaping::Off };
    Options { shaping, packetizer, multiplexing }
}

impl Parts {
    fn server(&mut self, node: &Node<'_>, units: &Units, problems: &mut Problems<'_>) -> Option<()> {
        let mark = problems.mark();
        let fields = Fields::read(node, &SERVER, problems)?;
        fields.require_all(["name", "service_curve"], problems);
        let units = units.of(&fields, problems);
        let name = fields.text("name", problems);
        let service = fields.get("service_curve").and_then(|curve| read_service(curve, &units, problems));
        let capacity = fields.get("capacity").map(|capacity| units.read(Measure::Rate, capacity, problems));
        if let Some(Some(rate)) = &capacity
            && !rate.is_positive()
        {
            let message = || "a capacity of zero lets nothing through: a rate above zero is expected, or no capacity";
            problems.report(ProblemKind::Impossible, fields.value_span("capacity"), message);
        }
        if let Some(name) = name {
            problems.explain_since(mark, || format!("server {}", quoted(name)));
            if let Some(&first) = self.index.get(name) {
                let line = problems.source().line_of(self.servers[first].1);
                let message = || format!("the name {} is already used on line {line}", quoted(name));
                problems.report(ProblemKind::DuplicateName, fields.value_span("name"), message);
            }
        }
        let (name, service) = (name?, service.unwrap_or_else(ServiceCurve::zero));
        let mut server = CurveServer::new(name, service);
        if let Some(rate) = capacity.flatten() {
            server = server.with_line(rate);
        }
        self.index.entry(name.to_owned()).or_insert(self.servers.len());
        self.servers.push((server, fields.value_span("service_curve")));
        Some(())
    }

    fn flow(&mut self, node: &Node<'_>, units: &Units, largest: &Rational, problems: &mut Problems<'_>) -> Option<()> {
        let mark = problems.mark();
        let fields = Fields::read(node, &FLOW, problems)?;
        fields.require_all(["name", "arrival_curve"], problems);
        let units = units.of(&fields, problems);
        let name = fields.text("name", problems);
        let arrival = fields.get("arrival_curve").and_then(|curve| read_arrival(curve, &units, problems));
        let packet = fields.get("max_packet_length").map(|length| units.read(Measure::Data, length, problems));
        let paths = self.paths(&fields, problems);
        if let Some(name) = name {
            problems.explain_since(mark, || format!("flow {}", quoted(name)));
        }
        let max_packet = packet.flatten().unwrap_or_else(|| largest.clone());
        let flow = ServerFlow { name: name?.to_owned(), arrival: arrival?, max_packet, paths: paths? };
        self.flows.push((flow, node.span));
        Some(())
    }

    fn paths(&self, fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Vec<Vec<usize>>> {
        if let (Some(branches), Some(path)) = (fields.get("multicast"), fields.get("path")) {
            return self.multicast(path, branches, fields, problems);
        }
        if fields.get("multicast").is_some() {
            let message = || ("multicast lists further paths beside path", "add path, or list all of them in paths");
            problems.report(ProblemKind::MissingKey, fields.key_span("multicast"), message);
        }
        match (fields.get("path"), fields.get("paths")) {
            (Some(path), None) => Some(vec![self.path(path, problems)?]),
            (None, Some(paths)) => {
                let paths = paths.expect_list("paths, each a list of servers,", problems)?;
                paths.iter().map(|path| self.path(path, problems)).collect()
            }
            (None, None) => {
                let message = || "a flow needs a path, or paths if it is multicast";
                problems.report(ProblemKind::MissingKey, fields.at, message);
                None
            }
            (Some(_), Some(_)) => {
                let message = || "path and paths cannot be combined: list all paths of a flow in paths";
                problems.report(ProblemKind::WrongType, fields.key_span("paths"), message);
                None
            }
        }
    }

    /// A path and the further ones of `multicast`. Their names, and `path_name` for the first, are those of results.
    fn multicast(
        &self,
        path: &Node<'_>,
        branches: &Node<'_>,
        fields: &Fields<'_, '_>,
        problems: &mut Problems<'_>,
    ) -> Option<Vec<Vec<usize>>> {
        if fields.get("paths").is_some() {
            let message =
                || "paths cannot be combined with multicast: path and multicast already give all paths of a flow";
            problems.report(ProblemKind::WrongType, fields.key_span("paths"), message);
        }
        let mut paths = vec![self.path(path, problems)];
        for branch in branches.expect_list("further paths, each { name, path },", problems)? {
            let Some(branch) = Fields::read(branch, &BRANCH, problems) else { continue };
            branch.require_all(["path"], problems);
            paths.push(branch.get("path").and_then(|path| self.path(path, problems)));
        }
        paths.into_iter().collect()
    }

    fn path(&self, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Vec<usize>> {
        let mut path = Some(Vec::new());
        for server in node.expect_list("servers", problems)? {
            let name = server.expect_text(problems)?;
            match (self.index.get(name), &mut path) {
                (Some(&index), Some(path)) => path.push(index),
                (Some(_), None) => {}
                (None, _) => {
                    path = None;
                    problems.report(ProblemKind::UnknownName, server.span, || {
                        let near = nearest(name, self.index.keys().map(String::as_str).take(MAX_NAMES));
                        format!("there is no server {}{}", quoted(name), did_you_mean(near))
                    });
                }
            }
        }
        path
    }
}

fn read_service(node: &Node<'_>, units: &Units, problems: &mut Problems<'_>) -> Option<ServiceCurve> {
    let pieces = read_pieces(node, &SERVICE, Measure::Time, units, problems)?;
    let pieces = pieces.into_iter().map(|(latency, rate)| RateLatency::new(rate, &latency));
    ServiceCurve::from_pieces(pieces).ok()
}

fn read_arrival(node: &Node<'_>, units: &Units, problems: &mut Problems<'_>) -> Option<ArrivalCurve> {
    let pieces = read_pieces(node, &ARRIVAL, Measure::Data, units, problems)?;
    ArrivalCurve::from_pieces(pieces.into_iter().map(|(burst, rate)| BucketCurve { rate, burst })).ok()
}

/// Two lists of the same length: the first key's, and rates.
fn read_pieces(
    node: &Node<'_>,
    shape: &'static Shape,
    first: Measure,
    units: &Units,
    problems: &mut Problems<'_>,
) -> Option<Vec<(Rational, Rational)>> {
    let fields = Fields::read(node, shape, problems)?;
    fields.require_all(shape.keys.iter().copied(), problems);
    let (key, rates) = (shape.keys[0], fields.get("rates")?);
    let firsts = fields.get(key)?.expect_list(key, problems)?;
    let rates = rates.expect_list("rates", problems)?;
    if firsts.len() != rates.len() || firsts.is_empty() {
        problems.report(ProblemKind::Impossible, node.span, || {
            let (firsts, rates) = (firsts.len(), rates.len());
            format!("{firsts} {key} and {rates} rates: as many of both are expected, and at least one")
        });
        return None;
    }
    let pairs = firsts.iter().zip(rates).map(|(one, rate)| {
        let one = units.read(first, one, problems);
        let rate = units.read(Measure::Rate, rate, problems);
        one.zip(rate)
    });
    // All of them are read, so that all problems are seen.
    pairs.collect::<Vec<_>>().into_iter().collect()
}
