//! Headline claims: five to eight of each paper, of its abstract, introduction and conclusion.

use crate::entry::{CHAMELEON, LOKO, PARLEY, Paper, SCC, UFAB};

/// Claim of a paper's abstract, introduction or conclusion.
pub(crate) struct Headline {
    /// The paper.
    pub(crate) paper: &'static Paper,
    /// The figure that measures it.
    pub(crate) figure: &'static str,
    /// The statement of the figure.
    pub(crate) claim_text: &'static str,
    /// The section of the paper.
    pub(crate) section: &'static str,
    /// The claim in a few words.
    pub(crate) claim: &'static str,
    /// The number of the paper.
    pub(crate) paper_value: &'static str,
    /// The unit of the number; `words` for a measurement in words.
    pub(crate) unit: &'static str,
    /// A cause that was not tested with numbers, or the next experiment; empty if there is none.
    pub(crate) open: &'static str,
}

/// Returns a headline claim: figure and section, statement, claim with number and unit, next experiment.
const fn headline(
    paper: &'static Paper,
    [figure, section]: [&'static str; 2],
    claim_text: &'static str,
    [claim, paper_value, unit]: [&'static str; 3],
    open: &'static str,
) -> Headline {
    Headline { paper, figure, claim_text, section, claim, paper_value, unit, open }
}

/// The headline claims, by paper.
pub(crate) const HEADLINES: &[Headline] = &[
    headline(
        &CHAMELEON,
        ["chameleon-fig8a", "5.1.3"],
        "without rerouting, 2x to 10x the flows of the others; here over Silo",
        ["flows admitted without rerouting, over Silo", "2x to 10x", "words"],
        "",
    ),
    headline(
        &CHAMELEON,
        ["chameleon-fig8a", "5.1.3"],
        "without rerouting, 2x to 10x the flows of the others; here over QJump",
        ["flows admitted without rerouting, over QJump", "2x to 10x", "words"],
        "",
    ),
    headline(
        &CHAMELEON,
        ["chameleon-fig11a", "abstract, 5.2.1"],
        "up to 15x the flows of Silo",
        ["flows admitted with rerouting, four queues, over Silo", "up to 15x", "x"],
        "",
    ),
    headline(
        &CHAMELEON,
        ["chameleon-fig11a", "5.2.1"],
        "up to 16,000 flows at k = 12 with four queues",
        ["flows admitted at k = 12 with four queues", "16,000", "flows"],
        "",
    ),
    headline(
        &CHAMELEON,
        ["chameleon-fig9a", "5.1.4"],
        "it reaches close to line rate on some links",
        ["close to line rate on some links", "90 % of the rate", "words"],
        "",
    ),
    headline(
        &CHAMELEON,
        ["chameleon-fig10b", "5.2.2"],
        "Chameleon with rerouting is faster than Silo, at the median and on average, in the largest network",
        ["embedding with rerouting, two queues, k = 12, faster than Silo", "more than 1x", "x"],
        "",
    ),
    headline(
        &CHAMELEON,
        ["chameleon-fig14", "5.4.1"],
        "there is no packet loss",
        ["no packet loss on real packets, flows rerouted", "none", "words"],
        "",
    ),
    headline(
        &CHAMELEON,
        ["chameleon-fig15", "5.4.2"],
        "with contracts the offset remains as in the idle network",
        ["clock synchronisation as in the idle network beside bursts", "less than 10 us more", "us"],
        "",
    ),
    headline(
        &LOKO,
        ["loko-zodiac-fx", "slides"],
        "full rate: 11.8 Mbit/s, 2.02 kB, 1.86 ms",
        ["guarantee at full rate", "11.8 Mbit/s, 2.02 kB, 1.86 ms", "words"],
        "",
    ),
    headline(
        &LOKO,
        ["loko-zodiac-fx", "slides"],
        "fifth rate: 2.37 Mbit/s, 2.32 kB, 2.07 ms",
        ["guarantee at a fifth of the rate", "2.37 Mbit/s, 2.32 kB, 2.07 ms", "words"],
        "",
    ),
    headline(
        &LOKO,
        ["loko-comparison", "slides"],
        "Silo loses packets and breaks deadlines on such switches",
        ["Silo loses packets and breaks deadlines", "both", "words"],
        "",
    ),
    headline(
        &LOKO,
        ["loko-comparison", "slides"],
        "QJump loses packets and breaks deadlines on such switches",
        ["QJump loses packets and breaks deadlines", "both", "words"],
        "",
    ),
    headline(
        &LOKO,
        ["loko-comparison", "slides"],
        "Loko has neither late nor lost packets, for more than 10 million packets",
        ["Loko has no late and no lost packets", "0 of 10 million", "words"],
        "",
    ),
    headline(
        &LOKO,
        ["loko-burst", "slides"],
        "at multiplier 1 the guarantee holds, and nothing is lost",
        ["guarantees hold for bursts as promised", "multiplier 1", "words"],
        "",
    ),
    headline(
        &LOKO,
        ["loko-scalability", "slides"],
        "with medium-sized flows bursts are used up before rates",
        ["bursts are used up before rates", "all lengths", "words"],
        "",
    ),
    headline(
        &PARLEY,
        ["parley-fig12", "6.1"],
        "with T = 200 us the link is shared almost equally: Jain's index is 0.99",
        ["Jain's index of two receivers with T = 200 us", "0.99", ""],
        "",
    ),
    headline(
        &PARLEY,
        ["parley-fig12", "6.1"],
        "with T = 1 ms the machine shaper is too slow to guarantee fair shares",
        ["too slow to be fair with T = 1 ms", "below 0.99", ""],
        "",
    ),
    headline(
        &PARLEY,
        ["parley-fig13", "6.2"],
        "the fabric broker takes 10 s to take effect",
        ["the fabric broker takes effect", "10 s", "s"],
        "",
    ),
    headline(
        &PARLEY,
        ["parley-fig14", "6.3, Fig. 14"],
        "with both, B has its full 30 Gbit/s, and A 30 of the 60",
        ["B keeps 30 Gbit/s, and A has the other 30", "30 and 30 Gbit/s", "words"],
        "",
    ),
    headline(
        &PARLEY,
        ["parley-table3", "6.3"],
        "beyond 100 % load A's tail is 16.07 and 15.54 ms with Parley, in the runs without crashes",
        ["A's p99 beyond 100 % load", "16.07 and 15.54 ms", "ms"],
        "",
    ),
    headline(
        &PARLEY,
        ["parley-table3", "6.3"],
        "the load at the rack is limited to 60 Gbit/s, whatever is offered",
        ["load at the rack", "60 Gbit/s", "Gbit/s"],
        "",
    ),
    headline(
        &PARLEY,
        ["parley-convergence", "6.3"],
        "in practice fewer than 15 iterations suffice",
        ["iterations of the machine shaper, up to 1,000 senders", "fewer than 15", ""],
        "",
    ),
    headline(
        &PARLEY,
        ["parley-fig15", "7"],
        "that halves the longest completion time (2.5 MB)",
        ["completion time without a limit, as a part of that with a fast one", "half", ""],
        "",
    ),
    headline(
        &UFAB,
        ["ufab-fig11", "5.2"],
        "uFAB guarantees the minimum of all 12 tenants",
        ["minima met", "12 of 12", "of 12"],
        "",
    ),
    headline(
        &UFAB,
        ["ufab-fig11", "abstract"],
        "uFAB converges in less than a millisecond when a tenant comes",
        ["convergence when a tenant joins", "below 1 ms", "ms"],
        "",
    ),
    headline(
        &UFAB,
        ["ufab-fig12", "5.2"],
        "uFAB's round trips stay below the expected bound, 4 times 24 us",
        ["longest round trip, 14 to 1", "96 us", "us"],
        "",
    ),
    headline(
        &UFAB,
        ["ufab-fig12", "5.2"],
        "uFAB' decreases the 99th percentile by 11 times",
        ["p99 of round trips, PicNIC'+WCC+Clove over uFAB'", "11x", "x"],
        "length of the run and first window",
    ),
    headline(
        &UFAB,
        ["ufab-fig13", "5.3"],
        "with PicNIC'+WCC+Clove queries a second are 2.5 times fewer than with uFAB",
        ["Memcached queries a second, uFAB over PicNIC'+WCC+Clove", "2.5x", "x"],
        "",
    ),
    headline(
        &UFAB,
        ["ufab-fig14", "5.3"],
        "uFAB's tail of the total time is 21 times shorter than that of PicNIC'+WCC+Clove",
        ["p99 of storage tasks, PicNIC'+WCC+Clove over uFAB", "21x", "x"],
        "the SoC NIC of the baselines (5.1); ruled out: slow receivers, reads, CUBIC, slow meters and windows, fixed paths, losses, other forms of uFAB, the 99.9 % percentile",
    ),
    headline(
        &UFAB,
        ["ufab-fig16", "5.5"],
        "the longest round trip of uFAB stays within 16 us",
        ["longest round trip, 90 to 1", "16 us", "us"],
        "",
    ),
    headline(
        &UFAB,
        ["ufab-fig15", "5.4"],
        "with L_w of 4 kB the limit is 1.28 %, of which probes reach three quarters or more",
        ["probe overhead", "1.28 %", "%"],
        "",
    ),
    headline(
        &SCC,
        ["scc-fig6", "VI"],
        "with data-mining flows SCC misses 3.2x fewer deadlines",
        ["missed deadlines, data-mining", "3.2x fewer", "x"],
        "",
    ),
    headline(
        &SCC,
        ["scc-fig6", "VI"],
        "with data-mining flows SCC reduces the AFCT of CS by up to 40 %",
        ["completion time, data-mining", "-40 %", "% less"],
        "",
    ),
    headline(
        &SCC,
        ["scc-fig6", "abstract, VI-A"],
        "with data-mining flows SCC reduces the latency of LS packets by up to 40 %",
        ["end-to-end round trips of LS, data-mining", "-40 %", "% less"],
        "",
    ),
    headline(
        &SCC,
        ["scc-fig10", "VI"],
        "with web-search flows SCC reduces the AFCT of CS by up to 24 %",
        ["completion time, web-search", "-24 %", "% less"],
        "",
    ),
    headline(
        &SCC,
        ["scc-fig4", "V"],
        "at high load 4x fewer flows miss their deadlines with SCC",
        ["missed deadlines at high load, one bottleneck", "4x fewer", "x"],
        "",
    ),
    headline(
        &SCC,
        ["scc-fig3", "V"],
        "SCC improves the AFCT of CS/DS/LS by 53 %",
        ["completion time of CS beside DS and LS, testbed", "-53 %", "% less"],
        "",
    ),
    headline(
        &SCC,
        ["scc-fig8a", "VI-A"],
        "SCC improves the completion times of CS by 30 %, compared to pFabric",
        ["completion time against pFabric", "-30 %", "% less"],
        "",
    ),
];
