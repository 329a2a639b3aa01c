//! `.topo`: a fat tree of two or three tiers, in words and numbers.
//!
//! `Nodes`, `Tiers` and `Podsize` (hosts a pod) come first, then `Tier 0` (top of rack), `Tier 1` and, of three, `Tier 2`,
//! each with the links below it (`Downlink_speed_Gbps`, `Downlink_Latency_ns`, `Bundle` parallel ones), its ports
//! (`Radix_Down`, `Radix_Up`), its buffers (`Queue_Down`, `Queue_Up`, bytes), `Switch_Latency_ns` and `Oversubscribed`.
//! Keys are read in upper and lower case alike, as htsim does.

use std::collections::HashMap;

use wayleave_topology::builders::Cabling;
use wayleave_topology::{LinkSpec, NetworkBuilder, NetworkError, Node, NodeId, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use crate::columns::{Line, lines};
use crate::location::Span;
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;
use crate::topology::Topology;
use crate::words::{did_you_mean, nearest, quoted};

/// The keys before the first tier.
const HEAD: [&str; 3] = ["nodes", "tiers", "podsize"];
/// The keys of a tier.
const TIER: [&str; 9] = [
    "downlink_speed_gbps",
    "downlink_latency_ns",
    "bundle",
    "radix_down",
    "radix_up",
    "queue_down",
    "queue_up",
    "switch_latency_ns",
    "oversubscribed",
];
/// The most hosts of a file, and the most links of a bundle: one number must not take all memory.
const MAX_HOSTS: u64 = 1_000_000;
const MAX_BUNDLE: u64 = 64;

/// Reads a fat tree of htsim: hosts `h0`, `h1`, ..., switches `tor0`, `agg0` and `core0`, ... `cabling` gives what the
/// file does not say: MTU, ports and buffers.
///
/// ```
/// use wayleave_formats::{Source, read_htsim_topology};
/// use wayleave_topology::builders::Cabling;
/// let text = "
/// Nodes 8
/// Tiers 2
/// Podsize 8
/// Tier 0
/// Downlink_speed_Gbps 100
/// Downlink_Latency_ns 1000
/// Radix_Down 4
/// Radix_Up 2
/// Tier 1
/// Downlink_speed_Gbps 200
/// Downlink_Latency_ns 1000
/// Radix_Down 2
/// ";
/// let topology = read_htsim_topology(&Source::new("small.topo", text), &Cabling::default())?;
/// assert_eq!((topology.network.hosts().count(), topology.network.switches().count()), (8, 4));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_htsim_topology(source: &Source, cabling: &Cabling) -> Result<Topology, InputErrors> {
    let mut problems = Problems::new(source);
    let network = read(source.text(), cabling, &mut problems).map(NetworkBuilder::build);
    problems.finish(network.map(|network| Topology { name: source.stem().to_owned(), network }))
}

/// The numbers of a file, by tier (`None`: before the first) and key, with their places.
type Numbers = HashMap<(Option<usize>, &'static str), (u64, Span)>;

fn read(text: &str, cabling: &Cabling, problems: &mut Problems<'_>) -> Option<NetworkBuilder> {
    let before = problems.mark();
    let numbers = read_numbers(text, problems);
    if problems.mark() > before {
        return None;
    }
    let tree = Tree::read(&numbers, text, problems)?;
    match tree.build(cabling) {
        Ok(builder) => Some(builder),
        Err(error) => {
            problems.report(ProblemKind::Impossible, tree.at, || error.to_string());
            None
        }
    }
}

fn read_numbers(text: &str, problems: &mut Problems<'_>) -> Numbers {
    let mut numbers = Numbers::new();
    let mut tier: Option<usize> = None;
    for line in lines(text) {
        let Some((key, number)) = read_number(&line, problems) else { continue };
        if key == "tier" {
            match number {
                0..=2 => tier = Some(number as usize),
                _ => problems.report(ProblemKind::Impossible, line.span, || {
                    format!("there is no tier {number}: tiers are 0, 1 and 2")
                }),
            }
            continue;
        }
        let known: &[&'static str] = if tier.is_some() { &TIER } else { &HEAD };
        let Some(known) = known.iter().copied().find(|known| *known == key) else {
            problems.report(ProblemKind::UnknownKey, line.words[0].span, || {
                let near = did_you_mean(nearest(&key, known.iter().copied()));
                let place = if tier.is_some() { "a tier" } else { "the lines before the first tier" };
                (format!("unknown key {}{near}", quoted(line.words[0].text)), format!("the keys of {place}: {}", known.join(", ")))
            });
            continue;
        };
        if numbers.insert((tier, known), (number, line.span)).is_some() {
            problems.report(ProblemKind::DuplicateKey, line.span, || format!("{} stands here twice", quoted(known)));
        }
    }
    numbers
}

/// `KEY NUMBER`, the key in lower case.
fn read_number(line: &Line<'_>, problems: &mut Problems<'_>) -> Option<(String, u64)> {
    let [key, number] = line.words[..] else {
        problems.report(ProblemKind::Syntax, line.span, || "a key and a number are expected on each line");
        return None;
    };
    Some((key.text.to_lowercase(), number.whole("number", problems)?))
}

/// What is above the hosts, one entry a tier.
struct Tier {
    /// Switches a pod; of the highest of three tiers: in all.
    switches: u64,
    /// Parallel links to each switch (or host) below.
    bundle: u64,
    rate: Rate,
    propagation: Time,
    processing: Time,
    /// What ports hold towards the tier below, and the tier above.
    buffers: [Option<Bytes>; 2],
}

/// A fat tree whose numbers fit together.
struct Tree {
    hosts: u64,
    pods: u64,
    tiers: Vec<Tier>,
    at: Span,
}

impl Tree {
    fn read(numbers: &Numbers, text: &str, problems: &mut Problems<'_>) -> Option<Self> {
        let end = Span::new(text.trim_end().len()..text.trim_end().len());
        let mut need = |tier: Option<usize>, key: &'static str| match numbers.get(&(tier, key)) {
            Some(&(0, at)) => {
                problems.report(ProblemKind::Impossible, at, || format!("{key} has to be above zero"));
                None
            }
            Some(&number) => Some(number),
            None => {
                let place = tier.map_or_else(String::new, |tier| format!(" of tier {tier}"));
                problems.report(ProblemKind::MissingKey, end, || format!("the line {}{place} is missing", quoted(key)));
                None
            }
        };
        let (hosts, tiers, pod) = (need(None, "nodes")?, need(None, "tiers")?, need(None, "podsize")?);
        let count = tiers.0 as usize;
        let mut shapes = Vec::new();
        for tier in (0..count).filter(|_| (2..=3).contains(&count)) {
            let place = Some(tier);
            let up = if tier + 1 < count { need(place, "radix_up").map(Some) } else { Some(None) };
            let down = need(place, "radix_down");
            let speed = need(place, "downlink_speed_gbps");
            let latency = numbers.get(&(place, "downlink_latency_ns"));
            if latency.is_none() {
                need(place, "downlink_latency_ns");
            }
            shapes.push((up?, down?, speed?, latency?.0));
        }
        let mut check = |fits: bool, at: Span, message: String| {
            if !fits {
                problems.report(ProblemKind::Impossible, at, || message);
            }
            fits.then_some(())
        };
        check((2..=3).contains(&count), tiers.1, format!("{count} tiers: 2 or 3 are accepted"))?;
        check(hosts.0 <= MAX_HOSTS, hosts.1, format!("{} nodes: at most {MAX_HOSTS} are read", hosts.0))?;
        let fits = hosts.0.is_multiple_of(pod.0);
        check(fits, pod.1, format!("{} nodes cannot be split into pods of {}", hosts.0, pod.0))?;
        let flat = count == 3 || pod.0 == hosts.0;
        check(flat, pod.1, format!("two tiers are one pod: a podsize of {} is expected", hosts.0))?;
        let pods = hosts.0 / pod.0;
        // What is below one switch of the tier, counted in switches or hosts of the tier below.
        let mut below = pod.0;
        let mut tree = Self { hosts: hosts.0, pods, tiers: Vec::new(), at: hosts.1 };
        for (tier, &(_, (down, down_at), (speed, speed_at), latency)) in shapes.iter().enumerate() {
            let (bundle, bundle_at) = numbers.get(&(Some(tier), "bundle")).copied().unwrap_or((1, down_at));
            let accepted = (1..=MAX_BUNDLE).contains(&bundle) && (tier > 0 || bundle == 1);
            let most = if tier == 0 { 1 } else { MAX_BUNDLE };
            check(accepted, bundle_at, format!("a bundle of {bundle}: from 1 to {most} is accepted in tier {tier}"))?;
            let switches = if tier == 0 {
                let fits = below.is_multiple_of(down);
                check(fits, down_at, format!("pods of {below} hosts cannot be split over switches of {down}"))?;
                below / down
            } else {
                // Every switch below has `up` ports, `bundle` of them to each switch of this tier.
                let (up, up_at) = shapes[tier - 1].0.unwrap_or((1, down_at));
                let fits = up.is_multiple_of(bundle);
                check(fits, up_at, format!("a radix_up of {up} cannot be split into bundles of {bundle}"))?;
                let expected = if tier == 1 { below * bundle } else { pods * bundle };
                check(down == expected, down_at, format!("a radix_down of {down}: {expected} links come from below"))?;
                if tier == 1 { up / bundle } else { below * (up / bundle) }
            };
            if let Some(&(times, at)) = numbers.get(&(Some(tier), "oversubscribed")) {
                let above = shapes.get(tier + 1).map_or(0, |shape| shape.2.0);
                let up = shapes[tier].0.map_or(0, |up| up.0);
                let (below, above) = (u128::from(down) * u128::from(speed), u128::from(up) * u128::from(above));
                let fits = above == 0 || below == above * u128::from(times);
                check(fits, at, format!("oversubscribed {times} times, and {below} Gbit/s below meet {above} Gbit/s above"))?;
            }
            let rate = Rate::from_bits_per_second(speed.saturating_mul(1_000_000_000));
            check(rate <= Rate::MAX, speed_at, format!("{speed} Gbit/s: up to {} is accepted", Rate::MAX))?;
            let value = |key| numbers.get(&(Some(tier), key)).map(|&(number, _)| number);
            tree.tiers.push(Tier {
                switches,
                bundle,
                rate,
                propagation: Time::from_nanos(latency.min(Time::MAX.as_nanos())),
                processing: Time::from_nanos(value("switch_latency_ns").unwrap_or(0).min(Time::MAX.as_nanos())),
                buffers: [value("queue_down").map(Bytes::new), value("queue_up").map(Bytes::new)],
            });
            below = switches;
        }
        Some(tree)
    }

    fn build(&self, cabling: &Cabling) -> Result<NetworkBuilder, NetworkError> {
        let mut builder = NetworkBuilder::default();
        let hosts: Vec<NodeId> = (0..self.hosts)
            .map(|host| builder.add_node(&format!("h{host}"), NodeKind::Host))
            .collect::<Result<_, _>>()?;
        let mut levels = vec![hosts];
        for (tier, name) in self.tiers.iter().zip(["tor", "agg", "core"]) {
            let count = if name == "core" { tier.switches } else { tier.switches * self.pods };
            let switch = |number: u64| Node {
                name: format!("{name}{number}"),
                kind: NodeKind::Switch,
                processing: tier.processing,
                jitter: Time::ZERO,
            };
            let switches = (0..count).map(|number| builder.add(switch(number)));
            let switches: Vec<NodeId> = switches.collect::<Result<_, _>>()?;
            levels.push(switches);
        }
        for (below, tier) in self.tiers.iter().enumerate() {
            for (lower, upper) in self.pairs(below) {
                let link = Link { lower: levels[below][lower], upper: levels[below + 1][upper] };
                for _ in 0..tier.bundle {
                    self.join(&mut builder, below, &link, cabling)?;
                }
            }
        }
        Ok(builder)
    }

    /// Which node of a level is joined with which of the next.
    fn pairs(&self, below: usize) -> Vec<(usize, usize)> {
        let per_pod = |level: usize| match level {
            0 => (self.hosts / self.pods) as usize,
            level => self.tiers[level - 1].switches as usize,
        };
        let (lower, upper) = (per_pod(below), per_pod(below + 1));
        let pods = 0..self.pods as usize;
        match below {
            // Hosts in order fill one switch after the other.
            0 => pods.flat_map(|pod| (0..lower).map(move |host| (pod * lower + host, pod * upper + host * upper / lower))).collect(),
            1 => pods
                .flat_map(|pod| (0..lower).flat_map(move |low| (0..upper).map(move |up| (pod * lower + low, pod * upper + up))))
                .collect(),
            // The switch at one position of every pod is joined with the cores whose number has this remainder.
            _ => pods
                .flat_map(|pod| {
                    (0..lower).flat_map(move |low| (low..upper).step_by(lower).map(move |core| (pod * lower + low, core)))
                })
                .collect(),
        }
    }

    fn join(&self, builder: &mut NetworkBuilder, below: usize, link: &Link, cabling: &Cabling) -> Result<(), NetworkError> {
        let tier = &self.tiers[below];
        let sized = |buffer: Option<Bytes>| {
            let mut port = cabling.switch_port.clone();
            if let Some(buffer) = buffer {
                port.queues.iter_mut().for_each(|queue| queue.buffer = buffer);
            }
            port
        };
        let up: PortSpec = match below.checked_sub(1) {
            None => cabling.host_port.clone(),
            Some(lower) => sized(self.tiers[lower].buffers[1]),
        };
        let spec = LinkSpec {
            from: link.lower,
            to: link.upper,
            rate: tier.rate,
            propagation: tier.propagation,
            mtu: cabling.mtu,
            port: up,
        };
        builder.add_cable(spec, sized(tier.buffers[0])).map(drop)
    }
}

struct Link {
    lower: NodeId,
    upper: NodeId,
}
