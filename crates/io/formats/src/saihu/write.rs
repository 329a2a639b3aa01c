//! Writes an output-port network in Saihu's JSON, in ns, bits and bit/s, all of them whole.

use num_traits::ToPrimitive;
use serde_json::{Value, json};
use wayleave_calculus::Rational;
use wayleave_calculus::network::{
    CurveServer, LineShaping, Multiplexing, Options, Packetizer, PortNetwork, ServerFlow,
};
use wayleave_calculus::rational::whole;

/// Nanobits.
const BIT: i128 = 1_000_000_000;

/// Returns an output-port network in Saihu's format. Values that are not whole ns, bits or bit/s are rounded so that
/// bounds grow: bursts, rates of flows and latencies up, rates of servers down. The line of a server that lets a
/// frame through at once is left out: Saihu's `capacity` lets nothing through at once. Flows with several paths have
/// them in `paths`, our extension.
///
/// ```
/// use wayleave_formats::{Source, read_port_network, write_port_network};
/// let text = r#"{
///   "network": { "name": "one port", "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps" },
///   "servers": [ { "name": "p", "service_curve": { "latencies": [10], "rates": [100] }, "capacity": 100 } ],
///   "flows": [ { "name": "f", "path": ["p"], "arrival_curve": { "bursts": [1500], "rates": [1] } } ]
/// }"#;
/// let file = read_port_network(&Source::new("network.json", text))?;
/// let written = write_port_network(&file.name, &file.network, &file.options);
/// let again = read_port_network(&Source::new("again.json", written.as_str()))?;
/// assert_eq!(again.network.servers(), file.network.servers());
/// assert_eq!(again.network.flows(), file.network.flows());
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
pub fn write_port_network(name: &str, network: &PortNetwork, options: &Options) -> String {
    let mut head = json!({
        "name": name,
        "packetizer": options.packetizer == Packetizer::On,
        "multiplexing": if options.multiplexing == Multiplexing::Fifo { "FIFO" } else { "ARBITRARY" },
        "time_unit": "ns",
        "data_unit": "b",
        "rate_unit": "bps",
    });
    // Without the key shaping is on, and with it only if `IS` is listed.
    if options.shaping == LineShaping::Off {
        head["analysis_option"] = json!([]);
    }
    let servers: Vec<Value> = network.servers().iter().map(server).collect();
    let flows: Vec<Value> = network.flows().iter().map(|of| flow(of, network)).collect();
    format!("{:#}\n", json!({ "network": head, "servers": servers, "flows": flows }))
}

fn server(server: &CurveServer) -> Value {
    let pieces = server.service.pieces().iter().filter_map(|piece| Some((up(&piece.latency()?), down(&piece.rate))));
    let (latencies, rates): (Vec<Value>, Vec<Value>) = pieces.unzip();
    let mut written = json!({ "name": server.name, "service_curve": { "latencies": latencies, "rates": rates } });
    if let Some(line) = server.line.as_ref().filter(|line| line.burst == whole(0)) {
        written["capacity"] = up(&line.rate);
    }
    written
}

fn flow(flow: &ServerFlow, network: &PortNetwork) -> Value {
    let pieces = flow.arrival.pieces().iter().map(|piece| (bits(&piece.burst), up(&piece.rate)));
    let (bursts, rates): (Vec<Value>, Vec<Value>) = pieces.unzip();
    let names = |path: &Vec<usize>| path.iter().map(|&at| network.servers()[at].name.clone()).collect::<Vec<_>>();
    let mut written = json!({
        "name": flow.name,
        "arrival_curve": { "bursts": bursts, "rates": rates },
        "max_packet_length": bits(&flow.max_packet),
    });
    match &flow.paths[..] {
        [path] => written["path"] = json!(names(path)),
        paths => written["paths"] = paths.iter().map(names).collect(),
    }
    written
}

/// Whole bits, rounded up.
fn bits(nanobits: &Rational) -> Value {
    up(&(nanobits / whole(BIT)))
}

fn up(number: &Rational) -> Value {
    integer(&number.ceil())
}

fn down(number: &Rational) -> Value {
    integer(&number.floor())
}

/// A whole number; beyond 64 bits as a text, which is exact as well.
fn integer(number: &Rational) -> Value {
    number.to_integer().to_u64().map_or_else(|| json!(number.to_integer().to_string()), |number| json!(number))
}
