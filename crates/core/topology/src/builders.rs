//! Networks by name and parameters: fat tree, leaf-spine, line, ring, star, and the testbeds of the publications.

use wayleave_units::{Bytes, Rate, Time};

use crate::builder::{LinkSpec, NetworkBuilder, NetworkError, PortSpec};
use crate::network::{Network, NodeId, NodeKind};

/// Wire bytes of a largest frame beyond its MTU, with six tags.
const FRAME_OVERHEAD: u64 = 62;

/// Default properties of every link of a built network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cabling {
    /// Line rate of every link.
    pub rate: Rate,
    /// Propagation delay of every link.
    pub propagation: Time,
    /// Largest layer-3 packet.
    pub mtu: Bytes,
    /// The ports of switches.
    pub switch_port: PortSpec,
    /// The ports of hosts.
    pub host_port: PortSpec,
}

impl Default for Cabling {
    /// 1 Gbit/s, and the eight queues of 97 kB of Chameleon, section 5.1.1. A host queues in its own memory: its one
    /// queue is bounded by its delay budget, not by a buffer.
    fn default() -> Self {
        Self {
            rate: Rate::from_gbit(1),
            propagation: Time::ZERO,
            mtu: Bytes::new(1500),
            switch_port: PortSpec::uniform(8, Bytes::new(97_000)),
            host_port: PortSpec::uniform(1, Bytes::MAX),
        }
    }
}

impl Cabling {
    /// The queue count and per-queue buffer pairs of Chameleon, sections 5.1.1 and 5.2: 8 of 97 kB, 4 of 190 kB, 2 of
    /// 356 kB, 1 of 590 kB; `None` for a count that the paper does not measure.
    pub fn published_buffer(queues: usize) -> Option<Bytes> {
        match queues {
            8 => Some(Bytes::new(97_000)),
            4 => Some(Bytes::new(190_000)),
            2 => Some(Bytes::new(356_000)),
            1 => Some(Bytes::new(590_000)),
            _ => None,
        }
    }

    /// Number of queues of a host's port by default. One queue with a budget of 0.5 ms serves short deadlines and large
    /// bursts where the link transmits 20 to 80 largest frames in that time; other hosts have a fast and a large queue
    /// (docs/theory/admission.md, section 15).
    ///
    /// ```
    /// use wayleave_topology::builders::Cabling;
    /// use wayleave_units::{Bytes, Rate};
    /// let queues = |rate| Cabling::host_queues(rate, Bytes::new(1500));
    /// assert_eq!([Rate::from_mbit(100), Rate::from_gbit(1), Rate::from_gbit(10)].map(queues), [2, 1, 2]);
    /// ```
    pub fn host_queues(rate: Rate, mtu: Bytes) -> usize {
        // Bits of frames and of the rate at which frames of 1500 B take as long as in the paper, doubled.
        let ratio = |mtu: u64, rate: Rate| u128::from(mtu + FRAME_OVERHEAD) * u128::from(rate.bits_per_second());
        let (own, published) = (ratio(mtu.get(), Rate::from_gbit(1)), ratio(1500, rate));
        if own <= 2 * published && published <= 2 * own { 1 } else { 2 }
    }

    /// Returns the port of a host whose link has this rate and MTU, if the number of its queues is not stated.
    pub fn host_port_of(&self, rate: Rate, mtu: Bytes) -> PortSpec {
        let queue = self.host_port.queues.first();
        PortSpec { queues: queue.cloned().into_iter().cycle().take(Self::host_queues(rate, mtu)).collect() }
    }

    fn link(&self, from: NodeId, to: NodeId, rate: Rate, port: &PortSpec) -> LinkSpec {
        LinkSpec { from, to, rate, propagation: self.propagation, mtu: self.mtu, port: port.clone() }
    }

    fn attach(
        &self,
        builder: &mut NetworkBuilder,
        host: NodeId,
        switch: NodeId,
        rate: Rate,
    ) -> Result<(), NetworkError> {
        builder.add_cable(self.link(host, switch, rate, &self.host_port), self.switch_port.clone()).map(drop)
    }

    fn join(&self, builder: &mut NetworkBuilder, a: NodeId, b: NodeId, rate: Rate) -> Result<(), NetworkError> {
        builder.add_cable(self.link(a, b, rate, &self.switch_port), self.switch_port.clone()).map(drop)
    }
}

/// A k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores; or one with other numbers of pods and cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Even, from 2 to 64.
    pub k: u64,
    /// Pods; `None` is k, the classic fat tree.
    pub pods: Option<u64>,
    /// Cores behind each aggregation switch of a pod; `None` is k/2. Aggregation switch i of every pod has the same ones.
    pub cores_per_aggregation: Option<u64>,
    /// Links between each edge and each aggregation switch of a pod.
    pub parallel: u64,
    /// Hosts under each edge switch; `None` is k/2, the classic fat tree. (40 k/2 in Chameleon, section 5.2.)
    pub hosts_per_edge: Option<u64>,
    /// Rate between edge and aggregation switches; `None` is the cabling's.
    pub aggregation_rate: Option<Rate>,
    /// Rate between aggregation and core switches; `None` is the cabling's.
    pub core_rate: Option<Rate>,
    /// Everything else.
    pub cabling: Cabling,
}

impl Default for FatTree {
    fn default() -> Self {
        Self {
            k: 4,
            pods: None,
            cores_per_aggregation: None,
            parallel: 1,
            hosts_per_edge: None,
            aggregation_rate: None,
            core_rate: None,
            cabling: Cabling::default(),
        }
    }
}

/// Leaves and spines, every leaf joined to every spine by the same number of parallel links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafSpine {
    /// Leaf (rack) switches.
    pub leaves: u64,
    /// Spine switches.
    pub spines: u64,
    /// Hosts under each leaf.
    pub hosts_per_leaf: u64,
    /// Links between each leaf and each spine.
    pub parallel: u64,
    /// Rate of the links between leaves and spines; `None` is the cabling's.
    pub uplink_rate: Option<Rate>,
    /// Everything else.
    pub cabling: Cabling,
}

impl Default for LeafSpine {
    fn default() -> Self {
        Self { leaves: 4, spines: 2, hosts_per_leaf: 4, parallel: 1, uplink_rate: None, cabling: Cabling::default() }
    }
}

/// Switches in a line, in a ring, or (with one switch) a star, with hosts under each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Switches.
    pub switches: u64,
    /// Hosts under each.
    pub hosts_per_switch: u64,
    /// Everything else.
    pub cabling: Cabling,
}

impl Default for Chain {
    fn default() -> Self {
        Self { switches: 4, hosts_per_switch: 1, cabling: Cabling::default() }
    }
}

/// The functions that turn parameters into networks.
pub mod build {
    use super::*;

    fn check(name: &'static str, given: u64, ok: bool, expected: &'static str) -> Result<(), NetworkError> {
        if ok { Ok(()) } else { Err(NetworkError::Parameter { name, given, expected }) }
    }

    fn size(name: &'static str, given: u64) -> Result<(), NetworkError> {
        check(name, given, (1..=100_000).contains(&given), "from 1 to 100000")
    }

    /// The most cables of a built network.
    const MAX_CABLES: u64 = 10_000_000;

    fn cables(count: Option<u64>) -> Result<(), NetworkError> {
        if count.is_some_and(|count| count <= MAX_CABLES) { Ok(()) } else { Err(NetworkError::TooLarge) }
    }

    /// A fat tree. Switches are `core1`, `pod1-agg1`, `pod1-edge1`; hosts are `h1` ... in order of pods and edges.
    ///
    /// # Errors
    /// If k is odd or outside 2 to 64, or a count outside its range.
    pub fn fat_tree(spec: &FatTree) -> Result<Network, NetworkError> {
        check("k", spec.k, spec.k.is_multiple_of(2) && (2..=64).contains(&spec.k), "an even number from 2 to 64")?;
        pods(spec, spec.pods.unwrap_or(spec.k), Cores::Apart(spec.cores_per_aggregation.unwrap_or(spec.k / 2)))
    }

    /// Connection of a pod's aggregation switches to the cores.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Cores {
        /// Each has this number of cores for itself and the switches of equal number in other pods.
        Apart(u64),
        /// Each is joined to all of this number of cores.
        Shared(u64),
    }

    impl Cores {
        /// Returns the number of cores, for `aggs` aggregation switches of a pod.
        fn count(self, aggs: u64) -> u64 {
            match self {
                Self::Apart(each) => aggs * each,
                Self::Shared(all) => all,
            }
        }

        /// Returns the number of cores of each aggregation switch.
        fn each(self) -> u64 {
            let (Self::Apart(each) | Self::Shared(each)) = self;
            each
        }

        /// Returns the cores of one aggregation switch, counted from 0.
        fn of(self, agg: usize, all: &[NodeId]) -> &[NodeId] {
            match self {
                Self::Apart(each) => all.chunks(each as usize).nth(agg).unwrap_or_default(),
                Self::Shared(_) => all,
            }
        }
    }

    /// `count` pods of a k-ary fat tree.
    pub(super) fn pods(spec: &FatTree, count: u64, uplinks: Cores) -> Result<Network, NetworkError> {
        let half = spec.k / 2;
        let hosts = spec.hosts_per_edge.unwrap_or(half);
        size("hosts per edge switch", hosts)?;
        size("pods", count)?;
        size("cores per aggregation switch", uplinks.each())?;
        check("parallel links", spec.parallel, (1..=64).contains(&spec.parallel), "from 1 to 64")?;
        let per_edge = hosts + half * spec.parallel + uplinks.each();
        cables(per_edge.checked_mul(count * half))?;
        let cabling = &spec.cabling;
        let aggregation = spec.aggregation_rate.unwrap_or(cabling.rate);
        let core = spec.core_rate.unwrap_or(cabling.rate);
        let mut builder = NetworkBuilder::default();
        let switch = |builder: &mut NetworkBuilder, name: String| builder.add_node(&name, NodeKind::Switch);
        let cores = (1..=uplinks.count(half))
            .map(|i| switch(&mut builder, format!("core{i}")))
            .collect::<Result<Vec<_>, _>>()?;
        let mut host = 0;
        for pod in 1..=count {
            let mut tier = |name: &str| {
                (1..=half).map(|i| switch(&mut builder, format!("pod{pod}-{name}{i}"))).collect::<Result<Vec<_>, _>>()
            };
            let (aggs, edges) = (tier("agg")?, tier("edge")?);
            for (number, &agg) in aggs.iter().enumerate() {
                for &up in uplinks.of(number, &cores) {
                    cabling.join(&mut builder, agg, up, core)?;
                }
                for &edge in &edges {
                    for _ in 0..spec.parallel {
                        cabling.join(&mut builder, edge, agg, aggregation)?;
                    }
                }
            }
            for &edge in &edges {
                for _ in 0..hosts {
                    host += 1;
                    let id = builder.add_node(&format!("h{host}"), NodeKind::Host)?;
                    cabling.attach(&mut builder, id, edge, cabling.rate)?;
                }
            }
        }
        Ok(builder.build())
    }

    /// Leaves and spines: `leaf1`, `spine1`, hosts `h1` ... in order of leaves.
    ///
    /// # Errors
    /// If a count is outside 1 to 100000.
    pub fn leaf_spine(spec: &LeafSpine) -> Result<Network, NetworkError> {
        size("leaves", spec.leaves)?;
        size("spines", spec.spines)?;
        size("hosts per leaf", spec.hosts_per_leaf)?;
        check("parallel links", spec.parallel, (1..=64).contains(&spec.parallel), "from 1 to 64")?;
        let per_leaf = (spec.spines * spec.parallel).checked_add(spec.hosts_per_leaf);
        cables(per_leaf.and_then(|each| each.checked_mul(spec.leaves)))?;
        let cabling = &spec.cabling;
        let uplink = spec.uplink_rate.unwrap_or(cabling.rate);
        let mut builder = NetworkBuilder::default();
        let spines = (1..=spec.spines)
            .map(|i| builder.add_node(&format!("spine{i}"), NodeKind::Switch))
            .collect::<Result<Vec<_>, _>>()?;
        for leaf in 0..spec.leaves {
            let id = builder.add_node(&format!("leaf{}", leaf + 1), NodeKind::Switch)?;
            for &spine in &spines {
                for _ in 0..spec.parallel {
                    cabling.join(&mut builder, id, spine, uplink)?;
                }
            }
            add_hosts(&mut builder, cabling, id, leaf * spec.hosts_per_leaf, spec.hosts_per_leaf)?;
        }
        Ok(builder.build())
    }

    fn add_hosts(
        builder: &mut NetworkBuilder,
        cabling: &Cabling,
        switch: NodeId,
        first: u64,
        count: u64,
    ) -> Result<(), NetworkError> {
        for host in first + 1..=first + count {
            let id = builder.add_node(&format!("h{host}"), NodeKind::Host)?;
            cabling.attach(builder, id, switch, cabling.rate)?;
        }
        Ok(())
    }

    fn chain(spec: &Chain, closed: bool) -> Result<Network, NetworkError> {
        size("switches", spec.switches)?;
        size("hosts per switch", spec.hosts_per_switch)?;
        cables(spec.hosts_per_switch.checked_mul(spec.switches))?;
        let mut builder = NetworkBuilder::default();
        let ids = (1..=spec.switches)
            .map(|i| builder.add_node(&format!("s{i}"), NodeKind::Switch))
            .collect::<Result<Vec<_>, _>>()?;
        for (&a, &b) in ids.iter().zip(&ids[1..]) {
            spec.cabling.join(&mut builder, a, b, spec.cabling.rate)?;
        }
        if let (true, Some(&first), Some(&last)) = (closed, ids.first(), ids.last()) {
            spec.cabling.join(&mut builder, last, first, spec.cabling.rate)?;
        }
        for (index, &id) in ids.iter().enumerate() {
            add_hosts(&mut builder, &spec.cabling, id, index as u64 * spec.hosts_per_switch, spec.hosts_per_switch)?;
        }
        Ok(builder.build())
    }

    /// Switches `s1` ... in a line, hosts `h1` ... in order of switches.
    ///
    /// # Errors
    /// If a count is outside 1 to 100000.
    pub fn line(spec: &Chain) -> Result<Network, NetworkError> {
        chain(spec, false)
    }

    /// Switches `s1` ... in a ring.
    ///
    /// # Errors
    /// If there are fewer than three switches, or a count is above 100000.
    pub fn ring(spec: &Chain) -> Result<Network, NetworkError> {
        check("switches of a ring", spec.switches, spec.switches >= 3, "3 or more")?;
        chain(spec, true)
    }

    /// One switch `s1` with all the hosts.
    ///
    /// # Errors
    /// If the host count is outside 1 to 100000.
    pub fn star(hosts: u64, cabling: Cabling) -> Result<Network, NetworkError> {
        chain(&Chain { switches: 1, hosts_per_switch: hosts, cabling }, false)
    }
}

/// The testbeds and evaluation networks that the publications describe in their texts.
pub mod testbeds {
    use super::*;

    /// Name, what it is, and where the text describes it.
    pub const ALL: &[(&str, &str)] = &[
        ("chameleon-testbed", "10 switches and 8 servers, two pods of a k = 4 fat tree, 1 Gbit/s (Chameleon, 5.4)"),
        ("parley-testbed", "9 racks of 10 hosts, 2 spines, 4 parallel links each, 10 Gbit/s, 1.25:1 (Parley, Fig. 11)"),
        (
            "ufab-testbed",
            "8 servers and 10 switches, 3 tiers and 2 pods, 10 Gbit/s, round trips of 24 us (uFAB, Fig. 10)",
        ),
        ("scc-testbed", "16 servers on one switch, 1 Gbit/s (SCC, section V)"),
        ("scc-oversubscribed", "4 racks of 30 hosts, 1 Gbit/s, one 10 Gbit/s uplink each, 3:1 (SCC, section VI)"),
    ];

    /// Delay of each link of uFAB's testbed, with the switch behind: the base round trip between pods is 24 us (5.1).
    /// That is a full frame of 1,538 B on six links of 10 Gbit/s, 7.38 us, an acknowledgement of 84 B back, 0.40 us,
    /// and twelve times this delay.
    const UFAB_LINK: Time = Time::from_nanos(1_351);

    /// uFAB's testbed, whose links have this rate: 10 Gbit/s in sections 5.2 and 5.3, 100 Gbit/s in 5.4.
    ///
    /// # Errors
    /// Never; the type is that of the builders.
    pub fn ufab(rate: Rate) -> Result<Network, NetworkError> {
        let cabling = Cabling { rate, propagation: UFAB_LINK, ..Cabling::default() };
        build::pods(&FatTree { cabling, ..FatTree::default() }, 2, build::Cores::Shared(2))
    }

    /// Returns the network of this name, or `None` if there is none.
    ///
    /// The connections of the two pods of Chameleon's and uFAB's testbeds to their two cores are only in drawings. In
    /// Chameleon's, aggregation switch i of each pod is joined to core i here. In uFAB's all are joined to both
    /// cores, since 32 Gbit/s of guarantees leave a pod (5.2), and two uplinks of 10 Gbit/s could not carry them.
    ///
    /// # Errors
    /// Never for the names in [`ALL`]; the type is that of the builders.
    pub fn by_name(name: &str) -> Option<Result<Network, NetworkError>> {
        match name {
            // The Dell switches of section 4.2 have four priority levels a port.
            "chameleon-testbed" => {
                let switch_port = PortSpec::uniform(4, Bytes::new(190_000));
                let cabling = Cabling { switch_port, ..Cabling::default() };
                Some(build::pods(&FatTree { cabling, ..FatTree::default() }, 2, build::Cores::Apart(1)))
            }
            "ufab-testbed" => Some(ufab(Rate::from_gbit(10))),
            "parley-testbed" => Some(build::leaf_spine(&LeafSpine {
                leaves: 9,
                spines: 2,
                hosts_per_leaf: 10,
                parallel: 4,
                uplink_rate: None,
                cabling: Cabling { rate: Rate::from_gbit(10), ..Cabling::default() },
            })),
            "scc-testbed" => Some(build::star(16, Cabling::default())),
            "scc-oversubscribed" => Some(build::leaf_spine(&LeafSpine {
                leaves: 4,
                spines: 1,
                hosts_per_leaf: 30,
                parallel: 1,
                uplink_rate: Some(Rate::from_gbit(10)),
                cabling: Cabling::default(),
            })),
            _ => None,
        }
    }
}
