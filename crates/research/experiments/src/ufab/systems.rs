//! The systems that the text compares, and one scenario under each of them.

use wayleave_contracts::Policy;
use wayleave_scenarios::{
    Congestion, Ecn, ElasticSwitch, HostSchemeConfig, PacketKind, Routing, Scenario, Sharing, Traffic, TransportConfig,
    Workload,
};
use wayleave_schemes::host::picnic;
use wayleave_schemes::host::ufab;
use wayleave_schemes::path::clove;
use wayleave_schemes::switch::ufab_core::RegisterRule;
use wayleave_schemes::transport::swift;
use wayleave_units::{Bytes, Rate, Time};

/// System that keeps the minima of tenants. The first of each kind has the parameters that serve it best
/// (docs/theory/sharing.md lists the tried ones); the others are experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum System {
    /// uFAB.
    Ufab,
    /// uFAB whose pairs inspect all their paths before they take one, where the text has "a few" (3.5).
    AllPaths,
    /// uFAB whose pairs leave their paths after two round trips without data; the text (3.6) gives no number.
    Hasty,
    /// uFAB whose pairs send when their candidates have answered (3.5), and not on an initial path at once (4.1).
    Probed,
    /// uFAB as printed: the ramp by parts of the line (3.4), the queue as a probe finds it and the sum of windows in bytes (equation 3),
    /// and registers that ignore known pairs (3.6).
    Printed,
    /// uFAB with a probe for each 4 kB (5.4).
    Sparse,
    /// uFAB below guests with CUBIC: it "can coexist with any congestion control scheme used by guest VMs" (6).
    UfabCubic,
    /// uFAB without the bound of latency (5.2).
    Unbounded,
    /// PicNIC'+WCC+Clove.
    Pwc,
    /// The same with the flowlet gap that Clove recommends (2.2).
    PwcRecommended,
    /// The same with a flowlet gap of two frames' time, which windows leave.
    PwcTight,
    /// The same with a gap that never occurs: a pair keeps the path that it took first.
    PwcFixed,
    /// The same with windows that hardly change: a hundredth of Swift's increase, and 1 % less at most in a round trip.
    PwcStiff,
    /// The same with CUBIC in place of Swift.
    PwcCubic,
    /// ElasticSwitch+Clove, over DCTCP.
    Elastic,
    /// The same with receivers' meters that divide their line every 15 ms, as long as ElasticSwitch's periods.
    PwcSlow,
    /// The same with windows that begin at one packet and grow by a hundredth of a packet for each unit of weight, so that a pair reaches
    /// the line after 4 ms (weight 12) to 24 ms (weight 2): WCC "converges slowly (tens of milliseconds)" (2.2).
    PwcGradual,
    /// ElasticSwitch over CUBIC, which ignores marks.
    ElasticCubic,
    /// ElasticSwitch+Clove with the flowlet gap that Clove recommends (2.2).
    ElasticRecommended,
    /// ElasticSwitch+Clove whose pairs keep the path that they took first.
    ElasticFixed,
    /// ElasticSwitch+Clove with the periods of its paper, 15 ms.
    ElasticSlow,
    /// ElasticSwitch+Clove whose pairs hardly exceed their parts of the minima.
    ElasticMinima,
    /// TCP (CUBIC) without minima: nothing limits hosts.
    Plain,
}

impl System {
    /// In legends and statements.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ufab => "uFAB",
            Self::AllPaths => "uFAB, all paths looked at",
            Self::Hasty => "uFAB, idle for 48 us",
            Self::Probed => "uFAB, candidates first",
            Self::Printed => "uFAB as printed",
            Self::Sparse => "uFAB, a probe for 4 kB",
            Self::UfabCubic => "uFAB, guests with CUBIC",
            Self::Unbounded => "uFAB'",
            Self::Pwc => "PicNIC'+WCC+Clove",
            Self::PwcRecommended => "PicNIC'+WCC+Clove, gap 200 us",
            Self::PwcTight => "PicNIC'+WCC+Clove, gap 2.5 us",
            Self::PwcFixed => "PicNIC'+WCC+Clove, fixed paths",
            Self::PwcStiff => "PicNIC'+WCC+Clove, windows that hardly change",
            Self::PwcCubic => "PicNIC'+CUBIC+Clove",
            Self::Elastic => "ElasticSwitch+Clove",
            Self::PwcSlow => "PicNIC'+WCC+Clove, meters of 15 ms",
            Self::PwcGradual => "PicNIC'+WCC+Clove, windows that grow for milliseconds",
            Self::ElasticCubic => "ElasticSwitch+Clove, CUBIC",
            Self::ElasticRecommended => "ElasticSwitch+Clove, gap 200 us",
            Self::ElasticFixed => "ElasticSwitch+Clove, fixed paths",
            Self::ElasticSlow => "ElasticSwitch+Clove, periods of 15 ms",
            Self::ElasticMinima => "ElasticSwitch+Clove, minima only",
            Self::Plain => "plain TCP",
        }
    }

    /// In file names.
    pub(super) const fn slug(self) -> &'static str {
        match self {
            Self::Ufab => "ufab",
            Self::AllPaths => "ufab-all-paths",
            Self::Hasty => "ufab-hasty",
            Self::Probed => "ufab-probed",
            Self::Printed => "ufab-printed",
            Self::Sparse => "ufab-sparse",
            Self::UfabCubic => "ufab-cubic",
            Self::Unbounded => "ufab-unbounded",
            Self::Pwc => "pwc",
            Self::PwcRecommended => "pwc-200us",
            Self::PwcTight => "pwc-tight",
            Self::PwcFixed => "pwc-fixed",
            Self::PwcStiff => "pwc-stiff",
            Self::PwcCubic => "pwc-cubic",
            Self::Elastic => "es",
            Self::PwcSlow => "pwc-15ms",
            Self::PwcGradual => "pwc-gradual",
            Self::ElasticCubic => "es-cubic",
            Self::ElasticRecommended => "es-200us",
            Self::ElasticFixed => "es-fixed",
            Self::ElasticSlow => "es-15ms",
            Self::ElasticMinima => "es-minima",
            Self::Plain => "tcp",
        }
    }

    /// Adds packets for Clove's path choice: a packet of each pair every 8 ms opens it before its flows begin, so
    /// that they know the paths. Clove's text stores paths for each destination host, here they belong to a pair
    /// (docs/theory/sharing.md). Without these packets, tenants draw their first path at random.
    pub(super) fn open_pairs(self, run: &mut Scenario) {
        if !matches!(run.routing, Routing::Clove(_)) {
            return;
        }
        let kind = PacketKind::ConstantRate { rate: Rate::from_bits_per_second(100_000) };
        let opens = |traffic: &Traffic| {
            let packets = Workload::Packets { kind, frame: Bytes::new(100) };
            let name = format!("opens {}", traffic.name);
            Traffic { service: traffic.service.clone(), ..Traffic::new(&name, traffic.ends.clone(), packets) }
        };
        let opening: Vec<Traffic> = run.traffic.iter().map(opens).collect();
        run.traffic.extend(opening);
    }

    /// Lets the tenants of a scenario share by it: hosts, switches, paths and transport.
    pub(super) fn share(self, run: &mut Scenario, tenants: Policy) {
        let meters = || HostSchemeConfig::Picnic(picnic::Settings::default());
        let elastic = HostSchemeConfig::ElasticSwitch;
        let usual = || ufab::Settings { probe_every: MTU, ..ufab::Settings::default() };
        match self {
            Self::Ufab => share_by_ufab(run, usual(), tenants),
            Self::AllPaths => share_by_ufab(run, ufab::Settings { candidate_paths: 256, ..usual() }, tenants),
            Self::Hasty => share_by_ufab(run, ufab::Settings { idle_rtts: 2, ..usual() }, tenants),
            Self::Probed => {
                let initial_path = ufab::InitialPath::Probed;
                share_by_ufab(run, ufab::Settings { initial_path, ..usual() }, tenants);
            }
            Self::Printed => share_by_ufab(run, as_printed(usual()), tenants),
            Self::Sparse => share_by_ufab(run, ufab::Settings::default(), tenants),
            Self::UfabCubic => {
                share_by_ufab(run, usual(), tenants);
                run.transport = TransportConfig { congestion: Congestion::cubic(), ..TransportConfig::default() };
            }
            Self::Unbounded => share_by_ufab(run, ufab::Settings { latency_bound: false, ..usual() }, tenants),
            Self::Pwc => share_over_clove(run, (Congestion::swift(), SHORT_GAP), meters(), tenants),
            Self::PwcSlow => {
                let interval = ElasticSwitch::default().partition_period;
                let slow = HostSchemeConfig::Picnic(picnic::Settings { interval, ..picnic::Settings::default() });
                share_over_clove(run, (Congestion::swift(), SHORT_GAP), slow, tenants);
            }
            Self::PwcRecommended => {
                share_over_clove(run, (Congestion::swift(), RECOMMENDED_GAP), meters(), tenants);
            }
            Self::PwcFixed => share_over_clove(run, (Congestion::swift(), NEVER), meters(), tenants),
            Self::PwcTight => share_over_clove(run, (Congestion::swift(), TIGHT_GAP), meters(), tenants),
            Self::PwcGradual => {
                let params = swift::Params { additive_increase: 1, ..swift::Params::default() };
                share_over_clove(run, (Congestion::Swift(params), SHORT_GAP), meters(), tenants);
                run.transport.initial_window = 1;
            }
            Self::PwcStiff => {
                let params =
                    swift::Params { additive_increase: 1, beta: 1, max_decrease: 1, ..swift::Params::default() };
                share_over_clove(run, (Congestion::Swift(params), SHORT_GAP), meters(), tenants);
            }
            Self::PwcCubic => share_over_clove(run, (Congestion::cubic(), SHORT_GAP), meters(), tenants),
            Self::Elastic | Self::ElasticRecommended | Self::ElasticFixed => {
                let gap = match self {
                    Self::ElasticRecommended => RECOMMENDED_GAP,
                    Self::ElasticFixed => NEVER,
                    _ => SHORT_GAP,
                };
                run.switches.ecn = Ecn::above(MARKS).into();
                share_over_clove(run, (Congestion::dctcp(), gap), elastic(short_periods()), tenants);
            }
            Self::ElasticCubic => {
                share_over_clove(run, (Congestion::cubic(), SHORT_GAP), elastic(short_periods()), tenants)
            }
            Self::ElasticSlow => {
                run.switches.ecn = Ecn::above(MARKS).into();
                share_over_clove(run, (Congestion::dctcp(), SHORT_GAP), elastic(ElasticSwitch::default()), tenants);
            }
            Self::ElasticMinima => {
                run.switches.ecn = Ecn::above(MARKS).into();
                // 1 % of its part in a run of 210 ms.
                let settings = ElasticSwitch { growth: 1, ..short_periods() };
                share_over_clove(run, (Congestion::dctcp(), SHORT_GAP), elastic(settings), tenants);
            }
            Self::Plain => {
                run.transport = TransportConfig { congestion: Congestion::cubic(), ..TransportConfig::default() }
            }
        }
    }
}

/// Readings of the text: with the deviations of docs/theory/ufab.md, and without.
pub(super) const AS_HERE: &str = "with the deviations of docs/theory/ufab.md";
pub(super) const SPARSE: &str = "with these deviations, and a probe for each 4 kB (5.4)";
pub(super) const AS_PRINTED: &str = "as printed: ramp, queue, sum of windows, registers";

/// Bytes of a pair between two probes: "e.g., one MTU" (4.1). Section 5.4 alone has 4 kB.
pub(super) const MTU: Bytes = Bytes::new(1_500);

/// Replaces what differs here from the text by what it prints.
pub(super) fn as_printed(settings: ufab::Settings) -> ufab::Settings {
    ufab::Settings {
        startup: ufab::WindowGrowth::AsPrinted,
        queue_estimate: ufab::QueueEstimate::AsPrinted,
        window_unit: ufab::WindowUnit::AsPrinted,
        registers: RegisterRule::AsPrinted,
        ..settings
    }
}

/// 1.5 base round trips (2.2).
const SHORT_GAP: Time = Time::from_micros(36);

/// "With the recommended flowlet gap in Clove (200us)" (2.2).
const RECOMMENDED_GAP: Time = Time::from_micros(200);

/// A gap that no run has.
const NEVER: Time = Time::from_millis(3_600_000);

/// Two full frames at 10 Gbit/s.
const TIGHT_GAP: Time = Time::from_nanos(2_461);

/// Queue length at which switches mark for ElasticSwitch and DCTCP.
const MARKS: Bytes = Bytes::new(80_000);

fn share_by_ufab(run: &mut Scenario, settings: ufab::Settings, tenants: Policy) {
    run.transport = windows();
    run.sharing = Some(Sharing::new(HostSchemeConfig::Ufab(settings), tenants));
}

fn share_over_clove(
    run: &mut Scenario,
    (congestion, flowlet_gap): (Congestion, Time),
    scheme: HostSchemeConfig,
    tenants: Policy,
) {
    run.transport = TransportConfig { congestion, ..TransportConfig::default() };
    run.routing = Routing::Clove(clove::Params { flowlet_gap, ..clove::Params::default() });
    run.sharing = Some(Sharing::new(scheme, tenants));
}

/// Periods that serve ElasticSwitch best: its paper's 15 ms are slow here.
fn short_periods() -> ElasticSwitch {
    ElasticSwitch {
        partition_period: Time::from_micros(500),
        min_hold: Time::from_millis(2),
        ..ElasticSwitch::default()
    }
}

/// uFAB's windows are the only ones: its edge is the transport's congestion control (4.1).
fn windows() -> TransportConfig {
    const PACKETS: u32 = 10_000;
    TransportConfig {
        congestion: Congestion::fixed_window(PACKETS),
        initial_window: PACKETS,
        max_window: PACKETS,
        ..TransportConfig::default()
    }
}
