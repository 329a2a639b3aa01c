//! Writes an output-port network as a physical network of Saihu.

use std::fmt::Write;

use wayleave_calculus::Rational;
use wayleave_calculus::network::{LineShaping, Multiplexing, Options, Packetizer, PortNetwork};
use wayleave_calculus::rational::whole;

/// Nanobits.
const BIT: i128 = 1_000_000_000;
/// Decimals of a rate in Mbps: Saihu takes no rate in bps.
const MEGA: i128 = 1_000_000;

/// A network in XML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalNetwork {
    /// The file.
    pub text: String,
    /// Curves of several pieces, of which one is written, and flows with several paths, which are read as several flows: bounds can only grow by that.
    pub loosened: usize,
}

/// A physical network of Saihu's XML with the same servers and flows: each server is a switch with one port `o0`, each flow has a source and sinks. So readers
/// call a server by its name with `-o0` behind it. The format has one rate-latency function for a server and one token bucket for a flow: of several the one with the
/// highest, and with the lowest rate is written. Numbers are rounded as in Saihu's JSON.
pub fn write_physical_network(name: &str, network: &PortNetwork, options: &Options) -> PhysicalNetwork {
    let mut technology = vec![if options.multiplexing == Multiplexing::Fifo { "FIFO" } else { "ARBITRARY" }];
    technology.extend((options.shaping == LineShaping::On).then_some("IS"));
    technology.extend((options.packetizer == Packetizer::On).then_some("PK"));
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<elements>\n");
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    line(format!("  <network name=\"{}\" technology=\"{}\"/>", escaped(name), technology.join("+")));
    let mut loosened = 0;
    for server in network.servers() {
        let pieces = server.service.pieces();
        loosened += usize::from(pieces.len() > 1);
        let fastest = pieces.iter().filter(|piece| piece.latency().is_some()).max_by(|a, b| a.rate.cmp(&b.rate));
        let Some((piece, latency)) = fastest.and_then(|piece| Some((piece, piece.latency()?))) else { continue };
        let capacity = server
            .line
            .as_ref()
            .filter(|line| line.burst == whole(0))
            .map_or(String::new(), |line| format!(" transmission-capacity=\"{}\"", rate(&line.rate.ceil())));
        line(format!(
            "  <switch name=\"{}\" service-latency=\"{}ns\" service-rate=\"{}\"{capacity}/>",
            escaped(&server.name),
            latency.ceil(),
            rate(&piece.rate.floor())
        ));
    }
    let mut links = std::collections::BTreeSet::new();
    let mut flows = String::new();
    for flow in network.flows() {
        let pieces = flow.arrival.pieces();
        loosened += usize::from(pieces.len() > 1) + usize::from(flow.paths.len() > 1);
        let Some(bucket) = pieces.iter().min_by(|a, b| a.rate.cmp(&b.rate)) else { continue };
        let source = format!("source of {}", flow.name);
        line(format!("  <station name=\"{}\"/>", escaped(&source)));
        // Writing to a string does not fail.
        let _ = writeln!(
            flows,
            "  <flow name=\"{}\" arrival-curve=\"leaky-bucket\" lb-burst=\"{}b\" lb-rate=\"{}\" maximum-packet-size=\"{}b\" source=\"{}\">",
            escaped(&flow.name),
            (&bucket.burst / whole(BIT)).ceil(),
            rate(&bucket.rate.ceil()),
            (&flow.max_packet / whole(BIT)).ceil(),
            escaped(&source)
        );
        for (number, path) in flow.paths.iter().enumerate() {
            let sink = match flow.paths.len() {
                1 => format!("sink of {}", flow.name),
                _ => format!("sink {number} of {}", flow.name),
            };
            line(format!("  <station name=\"{}\"/>", escaped(&sink)));
            let servers = path.iter().map(|&at| network.servers()[at].name.clone());
            let nodes: Vec<String> = std::iter::once(source.clone()).chain(servers).chain([sink]).collect();
            links.extend(nodes.windows(2).map(|ends| (ends[0].clone(), ends[1].clone())));
            let _ = writeln!(flows, "    <target name=\"p{number}\">");
            for node in &nodes[1..] {
                let _ = writeln!(flows, "      <path node=\"{}\"/>", escaped(node));
            }
            let _ = writeln!(flows, "    </target>");
        }
        let _ = writeln!(flows, "  </flow>");
    }
    for (from, to) in links {
        let (from, to) = (escaped(&from), escaped(&to));
        line(format!("  <link name=\"{from} to {to}\" from=\"{from}\" to=\"{to}\" fromPort=\"o0\" toPort=\"i0\"/>"));
    }
    text.push_str(&flows);
    text.push_str("</elements>\n");
    PhysicalNetwork { text, loosened }
}

/// Whole bit/s in Mbps.
fn rate(bits: &Rational) -> String {
    let (whole, rest) = (bits / whole(MEGA), bits % whole(MEGA));
    format!("{}.{:06}Mbps", whole.floor(), rest.to_integer())
}

fn escaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => all.push_str("&amp;"),
            '<' => all.push_str("&lt;"),
            '>' => all.push_str("&gt;"),
            '"' => all.push_str("&quot;"),
            // Readers replace other white space in an attribute by spaces.
            '\n' | '\r' | '\t' => all.push_str(&format!("&#{};", u32::from(c))),
            c => all.push(c),
        }
    }
    all
}
