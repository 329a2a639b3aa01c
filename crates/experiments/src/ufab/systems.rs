//! The systems that the text compares, and one scenario under each of them.

use wayleave_contracts::Policy;
use wayleave_scenarios::{Congestion, Ecn, EdgeScheme, ElasticSwitch, Scenario, Sharing, Transport};
use wayleave_schemes::ufab::Settings;
use wayleave_units::Bytes;

/// What keeps the minima of tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum System {
    /// uFAB.
    Ufab,
    /// uFAB whose pairs look at all their paths before they take one, where the text has "a few" (3.5).
    AllPaths,
    /// uFAB without the bound of latency (5.2).
    Unbounded,
    /// ElasticSwitch.
    Elastic,
}

impl System {
    /// Those that most figures compare.
    pub(super) const COMPARED: [Self; 3] = [Self::Ufab, Self::Unbounded, Self::Elastic];

    /// In legends and statements.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ufab => "uFAB",
            Self::AllPaths => "uFAB, all paths looked at",
            Self::Unbounded => "uFAB'",
            Self::Elastic => "ElasticSwitch",
        }
    }

    /// In file names.
    pub(super) const fn slug(self) -> &'static str {
        match self {
            Self::Ufab => "ufab",
            Self::AllPaths => "ufab-all-paths",
            Self::Unbounded => "ufab-unbounded",
            Self::Elastic => "es",
        }
    }

    /// Lets the tenants of a scenario share by it: hosts, switches and transport.
    pub(super) fn share(self, run: &mut Scenario, tenants: Policy) {
        match self {
            Self::Ufab => ufab(run, Settings::default(), tenants),
            Self::AllPaths => ufab(run, Settings { candidates: 256, ..Settings::default() }, tenants),
            Self::Unbounded => ufab(run, Settings { latency_bound: false, ..Settings::default() }, tenants),
            Self::Elastic => {
                run.transport = Transport { congestion: Congestion::cubic(), ..Transport::default() };
                run.switches.ecn = Ecn::above(MARKS).into();
                run.sharing = Some(Sharing::new(EdgeScheme::ElasticSwitch(ElasticSwitch::default()), tenants));
            }
        }
    }
}

fn ufab(run: &mut Scenario, settings: Settings, tenants: Policy) {
    run.transport = windows();
    run.sharing = Some(Sharing::new(EdgeScheme::Ufab(settings), tenants));
}

/// Where switches mark for those who heed it: DCTCP's 65 packets at 10 Gbit/s (SIGCOMM 2010, 3.5).
const MARKS: Bytes = Bytes::new(97_500);

/// uFAB's windows are the only ones: its edge is the transport's congestion control (4.1).
fn windows() -> Transport {
    const PACKETS: u32 = 10_000;
    Transport {
        congestion: Congestion::fixed_window(PACKETS),
        initial_window: PACKETS,
        max_window: PACKETS,
        ..Transport::default()
    }
}
