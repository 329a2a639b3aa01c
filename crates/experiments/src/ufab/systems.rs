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
    /// uFAB without the bound of latency (5.2).
    Unbounded,
    /// ElasticSwitch.
    Elastic,
}

impl System {
    /// In legends and statements.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ufab => "uFAB",
            Self::Unbounded => "uFAB'",
            Self::Elastic => "ElasticSwitch",
        }
    }

    /// Lets the tenants of a scenario share by it: hosts, switches and transport.
    pub(super) fn share(self, run: &mut Scenario, tenants: Policy) {
        let scheme = match self {
            Self::Ufab => EdgeScheme::Ufab(Settings::default()),
            Self::Unbounded => EdgeScheme::Ufab(Settings { latency_bound: false, ..Settings::default() }),
            Self::Elastic => EdgeScheme::ElasticSwitch(ElasticSwitch::default()),
        };
        match self {
            Self::Ufab | Self::Unbounded => run.transport = windows(),
            Self::Elastic => {
                run.transport = Transport { congestion: Congestion::cubic(), ..Transport::default() };
                run.switches.ecn = Ecn::above(MARKS).into();
            }
        }
        run.sharing = Some(Sharing::new(scheme, tenants));
    }
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
