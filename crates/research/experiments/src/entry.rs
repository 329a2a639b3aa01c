//! Papers, and the entries of the catalogue of figures.

use serde::Serialize;

use crate::data::Figure;
use crate::failed::Failed;
use crate::run::Run;

/// A publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Paper {
    /// Its name in commands and files.
    #[serde(skip)]
    pub slug: &'static str,
    /// Its name and place.
    pub name: &'static str,
    /// Authors, title and venue.
    pub citation: &'static str,
    /// Remarks about all of its figures, in Markdown: systems, settings, readings. Without measured numbers.
    #[serde(skip)]
    pub about: &'static str,
}

/// Chameleon.
pub const CHAMELEON: Paper = Paper {
    slug: "chameleon",
    name: "Chameleon, CoNEXT 2020",
    citation: "A. Van Bemten, N. Đerić, A. Varasteh, S. Schmid, C. Mas-Machuca, A. Blenk, W. Kellerer, \"Chameleon: \
               Predictable Latency and High Utilization with Queue-Aware and Adaptive Source Routing\", CoNEXT 2020",
    about: include_str!("chameleon/about.md.in"),
};

/// Loko.
pub const LOKO: Paper = Paper {
    slug: "loko",
    name: "Loko, CoNEXT 2019",
    citation: "A. Van Bemten and others, \"Loko: Predictable Latency in Small Networks\", CoNEXT 2019, slides",
    about: include_str!("loko/about.md.in"),
};

/// Parley.
pub const PARLEY: Paper = Paper {
    slug: "parley",
    name: "Parley, 2014",
    citation: "V. Jeyakumar, A. Kabbani, J. C. Mogul, A. Vahdat, \"Flexible Network Bandwidth and Latency Provisioning in the \
               Datacenter\", 2014",
    about: include_str!("parley/about.md.in"),
};

/// uFAB.
pub const UFAB: Paper = Paper {
    slug: "ufab",
    name: "uFAB, SIGCOMM 2022",
    citation: "S. Wang, K. Gao, K. Qian, D. Li, R. Miao, B. Li, Y. Zhou, E. Zhai, C. Sun, J. Gao, D. Zhang, B. Fu, F. Kelly, D. Cai, \
               H. H. Liu, M. Zhang, \"Predictable vFabric on Informative Data Plane\", SIGCOMM 2022",
    about: include_str!("ufab/about.md.in"),
};

/// SCC.
pub const SCC: Paper = Paper {
    slug: "scc",
    name: "SCC, INFOCOM 2017",
    citation: "C. Tian, A. Munir, A. X. Liu, Y. Liu, Y. Li, J. Sun, F. Zhang, G. Zhang, \"Multi-Tenant Multi-Objective Bandwidth Allocation in \
               Datacenters Using Stacked Congestion Control\", INFOCOM 2017",
    about: include_str!("scc/about.md.in"),
};

/// This project's own.
pub const ONE_FABRIC: Paper = Paper {
    slug: "one-fabric",
    name: "One fabric",
    citation: "Wayleave, docs/theory/fabric.md: latency contracts, minima, objectives and best effort on one network",
    about: include_str!("fabric/about.md.in"),
};

/// A figure that can be measured.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// As it is called on the command line.
    pub id: &'static str,
    /// Its paper.
    pub paper: &'static Paper,
    /// Its name in the paper.
    pub place: &'static str,
    /// Subject of the figure.
    pub title: &'static str,
    /// Figures of the same runs share them: what the runs are called.
    pub runs: &'static str,
    /// Number of seeds of a full measurement; 0 if no seed matters. With fewer, no statement holds.
    pub full_runs: usize,
    /// About how long it takes on two cores, in seconds.
    pub full_seconds: u32,
    /// The same for a quick look.
    pub quick_seconds: u32,
    /// Measures it.
    pub measure: fn(&Run) -> Result<Figure, Failed>,
    /// Asserts that each of its statements can fail.
    #[cfg(test)]
    pub(crate) check: fn(),
}
