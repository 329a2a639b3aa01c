//! Published distributions of flow sizes, as the project's own tables of facts.
//!
//! Papers print curves; the points are those that the literature has read off them and that others simulate with, so
//! that results can be compared. Counts of packets are converted to bytes: a packet is 1460 B of payload.
//!
//! | name | content | source | mean |
//! |---|---|---|---|
//! | `web-search` | flows of a cluster that answers queries | Alizadeh et al., DCTCP, SIGCOMM 2010, Fig. 4 | 1.67 MB |
//! | `data-mining` | flows of a cluster that mines data | Greenberg et al., VL2, SIGCOMM 2009, Fig. 2 | 7.47 MB |
//! | `enterprise` | flows of ten data centres | Benson et al., IMC 2010 | 195 kB |
//! | `hadoop` | flows of a Hadoop (MapReduce) cluster | Roy et al., SIGCOMM 2015, Fig. 6 | 120 kB |
//! | `key-value` | values of a key-value store (ETC) | Atikoglu et al., SIGMETRICS 2012, section 5.1, Table 5 | 199 B |
//!
//! The points of the first three are those of the YAPS simulator; those of `hadoop` are those of the HPCC evaluation
//! (Li et al., SIGCOMM 2019). `mapreduce` is another name of `hadoop`.
//!
//! `key-value` is computed from the model that the paper fits: fifteen sizes with their probabilities, and above them
//! a generalised Pareto distribution with theta = 0, sigma = 214.476, k = 0.348238. A value of 0 B, with a share of
//! 0.5 %, is a flow of 1 B here; the largest is 1 MB, the largest item of memcached.

/// The names of the published distributions, and where each comes from.
pub const PUBLISHED: &[(&str, &str)] = &[
    ("web-search", "Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, Fig. 4"),
    ("data-mining", "Greenberg et al., VL2, SIGCOMM 2009, Fig. 2"),
    ("enterprise", "Benson et al., Network Traffic Characteristics of Data Centers in the Wild, IMC 2010"),
    ("hadoop", "Roy et al., Inside the Social Network's (Datacenter) Network, SIGCOMM 2015, Fig. 6"),
    ("mapreduce", "another name of hadoop"),
    ("key-value", "Atikoglu et al., Workload Analysis of a Large-Scale Key-Value Store, SIGMETRICS 2012, section 5.1"),
];

/// The payload of a full packet (1500 B less 40 B of headers), the unit of the tables in packets.
const PACKET: f64 = 1460.0;

/// DCTCP, Fig. 4: packets and shares.
const WEB_SEARCH: &[(f64, f64)] = &[
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1333.0, 0.8),
    (3333.0, 0.9),
    (6667.0, 0.97),
    (20_000.0, 1.0),
];

/// VL2, Fig. 2: packets and shares.
const DATA_MINING: &[(f64, f64)] =
    &[(1.0, 0.5), (2.0, 0.6), (3.0, 0.7), (7.0, 0.8), (267.0, 0.9), (2107.0, 0.95), (66_667.0, 0.99), (666_667.0, 1.0)];

/// Benson et al.: packets and shares.
const ENTERPRISE: &[(f64, f64)] = &[
    (1.0, 0.5),
    (2.0, 0.6),
    (3.0, 0.7),
    (5.0, 0.75),
    (7.0, 0.8),
    (40.0, 0.8125),
    (72.0, 0.825),
    (137.0, 0.85),
    (267.0, 0.9),
    (1187.0, 0.95),
    (2107.0, 1.0),
];

/// Roy et al., Fig. 6: bytes and percent.
const HADOOP: &[(f64, f64)] = &[
    (0.0, 0.0),
    (100.0, 1.0),
    (200.0, 2.0),
    (300.0, 5.0),
    (350.0, 15.0),
    (400.0, 20.0),
    (500.0, 30.0),
    (600.0, 40.0),
    (700.0, 50.0),
    (1e3, 60.0),
    (2e3, 67.0),
    (7e3, 70.0),
    (30e3, 72.0),
    (50e3, 82.0),
    (80e3, 87.0),
    (120e3, 90.0),
    (300e3, 95.0),
    (1e6, 97.5),
    (2e6, 99.0),
    (10e6, 100.0),
];

/// Atikoglu et al., Table 5: the probabilities of values of 0, 1, ... 14 B.
const SHORT_VALUES: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837, 0.00837, 0.08989,
    0.00092, 0.00326, 0.01980,
];
/// Atikoglu et al., section 5.1: scale and shape of the values above.
const PARETO: (f64, f64) = (214.476, 0.348_238);
/// The largest item that memcached stores by default.
const LARGEST_VALUE: f64 = 1e6;
/// Points for the tail, evenly spaced on a logarithmic scale: the mean comes within 0.1 % of the formula's.
const TAIL_POINTS: u32 = 256;

/// The points of the distribution of this name.
pub(super) fn points(name: &str) -> Option<Vec<(f64, f64)>> {
    let scaled = |points: &[(f64, f64)], unit: f64, whole: f64| {
        points.iter().map(|(size, share)| (size * unit, share / whole)).collect()
    };
    match name {
        "web-search" => Some(scaled(WEB_SEARCH, PACKET, 1.0)),
        "data-mining" => Some(scaled(DATA_MINING, PACKET, 1.0)),
        "enterprise" => Some(scaled(ENTERPRISE, PACKET, 1.0)),
        "hadoop" | "mapreduce" => Some(scaled(HADOOP, 1.0, 100.0)),
        "key-value" => Some(key_value()),
        _ => None,
    }
}

/// The discrete part as jumps, then the Pareto distribution given that the value is longer.
fn key_value() -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut share = 0.0;
    for (size, probability) in SHORT_VALUES.iter().enumerate() {
        let size = (size as f64).max(1.0);
        points.push((size, share));
        share += probability;
        points.push((size, share));
    }
    let first = SHORT_VALUES.len() as f64;
    for step in 0..TAIL_POINTS {
        let size = first * (LARGEST_VALUE / first).powf(f64::from(step) / f64::from(TAIL_POINTS));
        points.push((size, share + (1.0 - share) * pareto(size, first)));
    }
    points.push((LARGEST_VALUE, 1.0));
    points
}

/// The share of values up to `size` among those from `first` on.
fn pareto(size: f64, first: f64) -> f64 {
    let (sigma, k) = PARETO;
    let longer = |size: f64| (1.0 + k * size / sigma).powf(-1.0 / k);
    1.0 - longer(size) / longer(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowSizes;

    fn mean(name: &str) -> f64 {
        FlowSizes::published(name).unwrap().mean()
    }

    #[test]
    fn every_name_has_a_table() {
        for (name, source) in PUBLISHED {
            assert!(FlowSizes::published(name).is_some() && !source.is_empty(), "{name}");
        }
    }

    #[test]
    fn the_means_are_those_of_the_documentation() {
        for (name, expected) in [
            ("web-search", 1.666e6),
            ("data-mining", 7.47e6),
            ("enterprise", 195.4e3),
            ("hadoop", 120.4e3),
            ("key-value", 199.0),
        ] {
            assert!((mean(name) / expected - 1.0).abs() < 0.005, "{name}: {} B", mean(name));
        }
    }

    #[test]
    fn the_medians_are_those_of_the_documentation() {
        for (name, expected) in
            [("web-search", 70_642), ("data-mining", 1460), ("enterprise", 1460), ("hadoop", 700), ("key-value", 40)]
        {
            assert_eq!(FlowSizes::published(name).unwrap().quantile(0.5), expected, "{name}");
        }
    }

    #[test]
    fn the_tail_of_key_value_has_the_mean_of_the_formula() {
        // The mean of a generalised Pareto distribution beyond a is a + (sigma + k a) / (1 - k); what lies beyond the
        // largest value is negligible.
        let (sigma, k) = PARETO;
        let short: f64 = SHORT_VALUES.iter().enumerate().map(|(size, share)| (size as f64).max(1.0) * share).sum();
        let tail = 1.0 - SHORT_VALUES.iter().sum::<f64>();
        let expected = short + tail * (15.0 + (sigma + k * 15.0) / (1.0 - k));
        assert!((mean("key-value") / expected - 1.0).abs() < 0.001, "{} B, {expected} B", mean("key-value"));
    }
}
