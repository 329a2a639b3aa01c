//! uFAB's machines unchanged, with a recorder of their messages and actions, which a run itself does not report.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use wayleave_scenarios::{HostSchemeConfig, Scenario};
use wayleave_scheme_api::{
    CustomHost, CustomMessage, DynRole, HostAction, HostInput, Incoming, PathUse, Probe, ProbeAnswer, ProbeKind,
    ProbeOutcome, Switch,
};
use wayleave_schemes::host::ufab::{Settings, Timer, Ufab};
use wayleave_schemes::switch::ufab_core::{Params, UfabCore};
use wayleave_sim::{Custom, CustomScheme, HostPlace, Outcome};
use wayleave_topology::{LinkId, NodeId, NodeKind};
use wayleave_units::Time;

use crate::failed::Failed;
use crate::simulator::Simulator;

/// An action of a machine, or a message that it received about one of its pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) at: Time,
    pub(super) from: NodeId,
    pub(super) what: NoteKind,
}

/// Recorded action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteKind {
    /// A pair reports its tokens.
    Sends { pair: u64, tokens: u64 },
    /// It receives the tokens that its receiver admits; `None` is unlimited.
    Receives { pair: u64, admitted: Option<u64> },
    /// A pair begins to use a path.
    Takes,
}

type Notes = Arc<Mutex<Vec<Note>>>;

type Edge = DynRole<Ufab, Timer, fn(&Infallible) -> u32>;

struct Machine {
    edge: Edge,
    node: NodeId,
    notes: Notes,
}

fn note(notes: &Notes, at: Time, from: NodeId, what: NoteKind) {
    // A thread that panicked while holding the lock has pushed a whole note or none.
    notes.lock().unwrap_or_else(PoisonError::into_inner).push(Note { at, from, what });
}

impl CustomHost for Machine {
    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, CustomMessage, u64>,
        act: &mut dyn FnMut(HostAction<CustomMessage, u64>),
    ) {
        let Self { edge, node, notes } = self;
        if let HostInput::ProbeReturned { probe, outcome: ProbeOutcome::Answered(ProbeAnswer { tokens, .. }), .. } =
            &input
            && probe.kind == ProbeKind::Active
        {
            note(notes, now, *node, NoteKind::Receives { pair: probe.pair, admitted: *tokens });
        }
        edge.on(now, input, &mut |action| {
            match &action {
                HostAction::SendProbe { probe, .. } if probe.kind == ProbeKind::Active => {
                    note(notes, now, *node, NoteKind::Sends { pair: probe.pair, tokens: probe.tokens });
                }
                HostAction::UsePath { purpose: PathUse::Share, .. } => note(notes, now, *node, NoteKind::Takes),
                _ => {}
            }
            act(action);
        });
    }

    fn answer(&mut self, now: Time, pair: Incoming, probe: &Probe) -> ProbeAnswer {
        CustomHost::answer(&mut self.edge, now, pair, probe)
    }
}

struct Watched {
    settings: Settings,
    seed: u64,
    /// Per link, whether a switch sends on it.
    is_switch: Vec<bool>,
    notes: Notes,
}

impl CustomScheme for Watched {
    fn host(&self, place: &HostPlace<'_>) -> Box<dyn CustomHost> {
        let seed = self.seed << 32 | u64::from(place.node.0);
        let edge = Edge::new(Ufab::new(place.transmit, self.settings.clone(), seed), |message| match *message {});
        Box::new(Machine { edge, node: place.node, notes: self.notes.clone() })
    }

    fn switch(&self, link: LinkId, _queue: u8) -> Option<Box<dyn Switch + Send>> {
        let Settings { registers, bloom_filter_size, dedup_window, pair_expiry, measurement_interval, .. } =
            self.settings;
        let core =
            || UfabCore::new(Params { registers, bloom_filter_size, dedup_window, pair_expiry, measurement_interval });
        self.is_switch[link.index()].then(|| Box::new(core()) as Box<dyn Switch + Send>)
    }
}

/// Runs a scenario of uFAB; with it what was noted, in order of time.
pub(super) fn watch(simulator: &Simulator, scenario: &Scenario, seed: u64) -> Result<(Outcome, Vec<Note>), Failed> {
    const NAME: &str = "ufab, watched";
    let mut scenario = scenario.clone();
    let scheme = scenario.sharing.as_mut().map(|sharing| &mut sharing.scheme);
    let Some(scheme @ HostSchemeConfig::Ufab(_)) = scheme else {
        return Err(Failed::broken("uFAB alone can be watched"));
    };
    let HostSchemeConfig::Ufab(settings) = std::mem::replace(scheme, HostSchemeConfig::Custom(NAME.to_owned())) else {
        return Err(Failed::broken("uFAB alone can be watched"));
    };
    let network = &scenario.network;
    let is_switch = network.links().map(|(_, link)| network.node(link.from).kind == NodeKind::Switch).collect();
    let notes = Notes::default();
    let mut custom = Custom::default();
    custom.schemes.insert(NAME.to_owned(), Arc::new(Watched { settings, seed, is_switch, notes: notes.clone() }));
    let outcome = simulator.run_with(&scenario, seed, &custom)?;
    let seen = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((outcome, seen))
}
