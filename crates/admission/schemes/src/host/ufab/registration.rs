//! The sender's view of the ports' counts of a pair on a path, and the one pending change.

use wayleave_packet_format::probe::CHANGE_BITS;
use wayleave_scheme_api::{HopWindow, IntHop, Probe, ProbeKind};
use wayleave_units::{Bytes, Time};

/// Of one pair on one path.
#[derive(Clone, Debug, Default)]
pub(super) struct Registration {
    tokens: u64,
    weight: u64,
    /// By hop, the first first; empty while nothing is counted.
    hops: Vec<PortRegistration>,
    change: u16,
    under_way: Option<Change>,
    /// Time of the last answer to a change.
    answered_at: Time,
}

/// Numbers of a pair's changes, across all paths: ports know the pair of a probe and not its path, and paths meet at
/// the last port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changes(u16);

impl Changes {
    fn next(&mut self) -> u16 {
        self.0 = (self.0 + 1) % (1 << CHANGE_BITS);
        self.0
    }
}

/// Counts of one port.
#[derive(Clone, Copy, Debug, Default)]
struct PortRegistration {
    window: Bytes,
    period: Option<bool>,
}

/// Counts that ports are to have.
#[derive(Clone, Debug)]
struct Change {
    kind: ProbeKind,
    tokens: u64,
    weight: u64,
    windows: Vec<Bytes>,
    begun: Time,
    tries: u32,
}

impl Registration {
    /// Returns `true` if ports count the pair, or may count it.
    pub(super) fn is_counted(&self) -> bool {
        !self.hops.is_empty() || self.under_way.as_ref().is_some_and(|change| change.kind == ProbeKind::Active)
    }

    /// Returns `true` if a change waits for its answer.
    pub(super) fn is_changing(&self) -> bool {
        self.under_way.is_some()
    }

    /// Returns the kind of the pending change, its start and its number of transmissions, if it has this number.
    pub(super) fn overdue(&self, change: u16) -> Option<(ProbeKind, Time, u32)> {
        let under_way = self.under_way.as_ref().filter(|_| self.change == change)?;
        Some((under_way.kind, under_way.begun, under_way.tries))
    }

    /// Returns the time of the last answer to a change.
    pub(super) fn answered_at(&self) -> Time {
        self.answered_at
    }

    /// Another change of the pair begins here. `windows` is by hop, the last also for those behind it; nothing is counted after a finish.
    pub(super) fn begin(
        &mut self,
        now: Time,
        number: &mut Changes,
        (kind, tokens, weight): (ProbeKind, u64, u64),
        windows: Vec<Bytes>,
    ) {
        self.change = number.next();
        self.under_way = Some(Change { kind, tokens, weight, windows, begun: now, tries: 0 });
    }

    /// Returns the probe of the pending change, with one window for each hop. Each call counts as a transmission.
    pub(super) fn probe(&mut self, pair: u64) -> Option<(Probe, Vec<HopWindow>)> {
        let change = self.under_way.as_mut()?;
        change.tries += 1;
        let hops = self.hops.len().max(change.windows.len()).max(1);
        let windows = (0..hops).map(|at| {
            let window = change.windows.get(at).or(change.windows.last()).copied().unwrap_or_default();
            let PortRegistration { window: counted, period } = self.hops.get(at).copied().unwrap_or_default();
            HopWindow { window, counted, period }
        });
        let probe = Probe {
            counted: self.tokens,
            weight: change.weight,
            weight_counted: self.weight,
            change: self.change,
            is_repeated: change.tries > 1,
            ..Probe::new(pair, change.kind, change.tokens)
        };
        Some((probe, windows.collect()))
    }

    /// A probe is answered; whether it is the one that is waited for.
    pub(super) fn answered(&mut self, now: Time, probe: &Probe, hops: &[IntHop]) -> bool {
        if probe.change != self.change {
            return false;
        }
        let Some(change) = self.under_way.take_if(|change| change.kind == probe.kind) else { return false };
        self.answered_at = now;
        self.hops.clear();
        (self.tokens, self.weight) = (0, 0);
        if change.kind == ProbeKind::Active {
            (self.tokens, self.weight) = (change.tokens, change.weight);
            self.hops.extend(hops.iter().enumerate().map(|(at, hop)| {
                let window = change.windows.get(at).or(change.windows.last()).copied().unwrap_or_default();
                PortRegistration { window, period: Some(hop.period) }
            }));
        }
        true
    }

    /// Forgets the counts of a path that is lost or did not answer for too long: its ports clean the remaining
    /// counts. Numbers of changes continue.
    pub(super) fn forget(&mut self) {
        self.hops.clear();
        (self.tokens, self.weight, self.under_way) = (0, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hops(periods: &[bool]) -> Vec<IntHop> {
        periods.iter().map(|&period| IntHop { period, ..IntHop::default() }).collect()
    }

    #[test]
    fn a_change_is_relative_to_the_last_answer() {
        let (mut path, mut numbers) = (Registration::default(), Changes::default());
        path.begin(Time::ZERO, &mut numbers, (ProbeKind::Active, 10, 30), vec![Bytes::new(500)]);
        let (first, windows) = path.probe(7).unwrap();
        assert_eq!(
            (first.counted, first.is_repeated, windows.as_slice()),
            (0, false, &[HopWindow::new(Bytes::new(500))][..])
        );
        // It is lost, and repeated word for word.
        let (again, _) = path.probe(7).unwrap();
        assert_eq!(again, Probe { is_repeated: true, ..first });
        assert!(path.answered(Time::from_micros(9), &again, &hops(&[false, true])));
        assert!(!path.answered(Time::from_micros(9), &first, &hops(&[false, true])), "the same answer twice");
        path.begin(
            Time::from_micros(9),
            &mut numbers,
            (ProbeKind::Active, 20, 60),
            vec![Bytes::new(700), Bytes::new(600)],
        );
        let (second, windows) = path.probe(7).unwrap();
        assert_eq!((second.tokens, second.counted, second.change), (20, 10, first.change + 1));
        assert_eq!((second.weight, second.weight_counted), (60, 30));
        let expected = [(700, false), (600, true)].map(|(window, period)| HopWindow {
            window: Bytes::new(window),
            counted: Bytes::new(500),
            period: Some(period),
        });
        assert_eq!(windows, expected);
        assert!(
            !path.answered(Time::from_micros(9), &again, &hops(&[false, true])),
            "an answer that comes late is of another change"
        );
    }

    #[test]
    fn nothing_is_counted_after_an_answered_finish() {
        let (mut path, mut numbers) = (Registration::default(), Changes::default());
        path.begin(Time::ZERO, &mut numbers, (ProbeKind::Active, 10, 30), vec![Bytes::new(500)]);
        let (join, _) = path.probe(7).unwrap();
        path.answered(Time::ZERO, &join, &hops(&[false]));
        path.begin(Time::ZERO, &mut numbers, (ProbeKind::Finish, 0, 0), Vec::new());
        let (finish, windows) = path.probe(7).unwrap();
        assert_eq!((finish.counted, windows[0].counted, windows[0].window), (10, Bytes::new(500), Bytes::ZERO));
        assert!(path.is_changing() && path.answered(Time::ZERO, &finish, &hops(&[false])));
        assert!(!path.is_counted());
    }
}
