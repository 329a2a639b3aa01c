//! `.topo`: a fat tree of two or three tiers, in words and numbers.
//!
//! `Nodes`, `Tiers` and `Podsize` (hosts a pod) come first. Then follow `Tier 0` (top of rack), `Tier 1` and, with
//! three tiers, `Tier 2`. Each tier has the links below it (`Downlink_speed_Gbps`, `Downlink_Latency_ns`, `Bundle`
//! parallel ones), its ports (`Radix_Down`, `Radix_Up`), its buffers (`Queue_Down`, `Queue_Up`, bytes),
//! `Switch_Latency_ns` and `Oversubscribed`. Keys are case-insensitive, as in htsim.

use std::collections::HashMap;

use wayleave_topology::builders::Cabling;
use wayleave_topology::{LinkSpec, NetworkBuilder, NetworkError, Node, NodeId, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use crate::columns::{Line, lines};
use crate::location::Span;
use crate::messages::{did_you_mean, nearest, quoted};
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;
use crate::topology::Topology;

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
/// The most hosts, cables, and links of a bundle: one number must not take all memory.
const MAX_HOSTS: u64 = 1_000_000;
/// As for builders.
const MAX_CABLES: u64 = 1_000_000;
const MAX_BUNDLE: u64 = 64;

/// Reads a fat tree of htsim: hosts `h0`, `h1`, ..., switches `tor0`, `agg0` and `core0`, ... `cabling` contains
/// values that the file lacks: MTU, ports and buffers.
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
/// All problems of the file, in order of position.
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
                (
                    format!("unknown key {}{near}", quoted(line.words[0].text)),
                    format!("the keys of {place}: {}", known.join(", ")),
                )
            });
            continue;
        };
        if numbers.insert((tier, known), (number, line.span)).is_some() {
            problems.report(ProblemKind::DuplicateKey, line.span, || format!("{} is given twice", quoted(known)));
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

/// A tier above the hosts.
struct Tier {
    /// Switches a pod; of the highest of three tiers: in all.
    switches: u64,
    /// Parallel links to each switch (or host) below.
    bundle: u64,
    rate: Rate,
    propagation: Time,
    processing: Time,
    /// Buffers of ports towards the tier below, and the tier above.
    buffers: [Option<Bytes>; 2],
}

/// A fat tree whose numbers fit together.
struct Tree {
    hosts: u64,
    pods: u64,
    tiers: Vec<Tier>,
    at: Span,
}

/// A number with its place.
type Placed = (u64, Span);

/// One tier as it is written.
struct Written {
    up: Option<Placed>,
    down: Placed,
    speed: Placed,
    latency: u64,
    bundle: Placed,
}

/// Lookup of a file's numbers, with errors for missing ones.
struct Lookup<'l> {
    numbers: &'l Numbers,
    end: Span,
}

impl Lookup<'_> {
    fn get(&self, tier: Option<usize>, key: &'static str) -> Option<Placed> {
        self.numbers.get(&(tier, key)).copied()
    }

    /// A number that has to be there.
    fn need(&self, tier: Option<usize>, key: &'static str, problems: &mut Problems<'_>) -> Option<Placed> {
        let number = self.get(tier, key);
        if number.is_none() {
            let place = tier.map_or_else(String::new, |tier| format!(" of tier {tier}"));
            let message = || format!("the line {}{place} is missing", quoted(key));
            problems.report(ProblemKind::MissingKey, self.end, message);
        }
        number
    }

    /// Returns a required number, which must be above zero.
    fn need_some(&self, tier: Option<usize>, key: &'static str, problems: &mut Problems<'_>) -> Option<Placed> {
        let (number, at) = self.need(tier, key, problems)?;
        check(number > 0, at, || format!("{key} has to be above zero"), problems)?;
        Some((number, at))
    }

    fn tier(&self, tier: usize, tiers: usize, problems: &mut Problems<'_>) -> Option<Written> {
        let place = Some(tier);
        let up = if tier + 1 < tiers { self.need_some(place, "radix_up", problems).map(Some) } else { Some(None) };
        let down = self.need_some(place, "radix_down", problems);
        let speed = self.need_some(place, "downlink_speed_gbps", problems);
        let latency = self.need(place, "downlink_latency_ns", problems);
        let (up, down, speed, (latency, _)) = (up?, down?, speed?, latency?);
        let bundle = self.get(place, "bundle").unwrap_or((1, down.1));
        Some(Written { up, down, speed, latency, bundle })
    }
}

/// Reports what does not fit.
fn check(fits: bool, at: Span, message: impl FnOnce() -> String, problems: &mut Problems<'_>) -> Option<()> {
    if !fits {
        problems.report(ProblemKind::Impossible, at, message);
    }
    fits.then_some(())
}

impl Tree {
    fn read(numbers: &Numbers, text: &str, problems: &mut Problems<'_>) -> Option<Self> {
        let end = text.trim_end().len();
        let lookup = Lookup { numbers, end: Span::new(end..end) };
        let (hosts, at) = lookup.need_some(None, "nodes", problems)?;
        let (count, count_at) = lookup.need_some(None, "tiers", problems)?;
        let (pod, pod_at) = lookup.need_some(None, "podsize", problems)?;
        check((2..=3).contains(&count), count_at, || format!("{count} tiers: expected 2 or 3"), problems)?;
        check(hosts <= MAX_HOSTS, at, || format!("{hosts} nodes: at most {MAX_HOSTS} are read"), problems)?;
        let fits = hosts.is_multiple_of(pod);
        check(fits, pod_at, || format!("{hosts} nodes cannot be split into pods of {pod}"), problems)?;
        let one_pod = || format!("two tiers are one pod: a podsize of {hosts} is expected");
        check(count == 3 || pod == hosts, pod_at, one_pod, problems)?;
        let count = count as usize;
        let written: Vec<Option<Written>> = (0..count).map(|tier| lookup.tier(tier, count, problems)).collect();
        let written: Vec<Written> = written.into_iter().collect::<Option<_>>()?;
        let mut tree = Self { hosts, pods: hosts / pod, tiers: Vec::new(), at };
        let mut below = pod;
        for tier in 0..count {
            let switches = tree.switches(&written, tier, below, problems)?;
            tree.tiers.push(read_tier(&lookup, &written, tier, switches, problems)?);
            below = switches;
        }
        let cables = tree.cables();
        check(cables <= MAX_CABLES, at, || format!("{cables} cables: at most {MAX_CABLES} are built"), problems)?;
        Some(tree)
    }

    /// Saturates.
    fn cables(&self) -> u64 {
        let above = self.tiers.windows(2).enumerate().map(|(lower, pair)| {
            // Every pod has a bundle from each lower switch to each upper one, or to its share of all cores.
            let lower = if lower == 0 { pair[0].switches } else { 1 };
            self.pods.saturating_mul(lower).saturating_mul(pair[1].switches).saturating_mul(pair[1].bundle)
        });
        above.fold(self.hosts, u64::saturating_add)
    }

    /// Returns the number of switches of a tier: per pod, or in total in the highest of three. `below` is the number
    /// of the tier below.
    fn switches(&self, written: &[Written], tier: usize, below: u64, problems: &mut Problems<'_>) -> Option<u64> {
        let Written { down: (down, down_at), bundle: (bundle, bundle_at), .. } = written[tier];
        let most = if tier == 0 { 1 } else { MAX_BUNDLE };
        let message = || format!("a bundle of {bundle} in tier {tier}: expected 1 to {most}");
        check((1..=most).contains(&bundle), bundle_at, message, problems)?;
        let Some((up, up_at)) = tier.checked_sub(1).and_then(|lower| written[lower].up) else {
            let message = || format!("pods of {below} hosts cannot be split over switches of {down}");
            check(below.is_multiple_of(down), down_at, message, problems)?;
            return Some(below / down);
        };
        // Every switch below has `up` ports, `bundle` of them to each switch of this tier that it meets.
        let message = || format!("a radix_up of {up} cannot be split into bundles of {bundle}");
        check(up.is_multiple_of(bundle), up_at, message, problems)?;
        let expected = if tier == 1 { below * bundle } else { self.pods * bundle };
        let message = || format!("a radix_down of {down}: {expected} links come from below");
        check(down == expected, down_at, message, problems)?;
        Some(if tier == 1 { up / bundle } else { below.saturating_mul(up / bundle) })
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

    /// Returns the pairs of joined nodes of a level and the next one.
    fn pairs(&self, below: usize) -> Vec<(usize, usize)> {
        let per_pod = |level: usize| match level {
            0 => (self.hosts / self.pods) as usize,
            level => self.tiers[level - 1].switches as usize,
        };
        let (lower, upper) = (per_pod(below), per_pod(below + 1));
        let pods = 0..self.pods as usize;
        match below {
            // Hosts in order fill one switch after the other.
            0 => pods
                .flat_map(|pod| (0..lower).map(move |host| (pod * lower + host, pod * upper + host * upper / lower)))
                .collect(),
            1 => pods
                .flat_map(|pod| {
                    (0..lower).flat_map(move |low| (0..upper).map(move |up| (pod * lower + low, pod * upper + up)))
                })
                .collect(),
            // The switch at one position of every pod is joined with the cores whose number has this remainder.
            _ => pods
                .flat_map(|pod| {
                    (0..lower)
                        .flat_map(move |low| (low..upper).step_by(lower).map(move |core| (pod * lower + low, core)))
                })
                .collect(),
        }
    }

    fn join(
        &self,
        builder: &mut NetworkBuilder,
        below: usize,
        link: &Link,
        cabling: &Cabling,
    ) -> Result<(), NetworkError> {
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

/// Reads the properties of the links and switches of a tier.
fn read_tier(
    lookup: &Lookup<'_>,
    written: &[Written],
    tier: usize,
    switches: u64,
    problems: &mut Problems<'_>,
) -> Option<Tier> {
    let Written { up, down: (down, _), speed: (speed, speed_at), latency, bundle: (bundle, _) } = written[tier];
    if let (Some((times, at)), Some((up, _))) = (lookup.get(Some(tier), "oversubscribed"), up) {
        let above = u128::from(up) * u128::from(written[tier + 1].speed.0);
        let below = u128::from(down) * u128::from(speed);
        let message = || format!("oversubscribed {times} times, and {below} Gbit/s below meet {above} Gbit/s above");
        check(below == above.saturating_mul(u128::from(times)), at, message, problems)?;
    }
    let rate = Rate::from_bits_per_second(speed.saturating_mul(1_000_000_000));
    check(
        rate <= Rate::MAX,
        speed_at,
        || format!("a speed of {speed} Gbit/s: expected at most {}", Rate::MAX),
        problems,
    )?;
    let nanos = |nanos: u64| Time::from_nanos(nanos.min(Time::MAX.as_nanos()));
    let value = |key| lookup.get(Some(tier), key).map(|(number, _)| number);
    let buffer = |key| value(key).map(|bytes| Bytes::new(bytes).min(Bytes::MAX));
    Some(Tier {
        switches,
        bundle,
        rate,
        propagation: nanos(latency),
        processing: nanos(value("switch_latency_ns").unwrap_or(0)),
        buffers: [buffer("queue_down"), buffer("queue_up")],
    })
}

struct Link {
    lower: NodeId,
    upper: NodeId,
}
