//! Reservations over the history of a statement, step by step.

use std::collections::HashMap;
use std::fmt;

use wayleave_recheck::PromisedShare;
use wayleave_topology::{Network, Route};
use wayleave_units::Time;

use crate::statement::{Admitted, DecisionKind, PlanEvent, Relocation, Statement};

/// One contract's place in the network.
#[derive(Clone, Debug)]
pub(crate) struct ContractLocation<'s> {
    pub(crate) admitted: &'s Admitted,
    /// Current routes of its packets.
    pub(crate) routes: Vec<Route>,
    /// It has ended, and until then its reservation stays.
    pub(crate) held_until: Option<Time>,
}

/// All contracts with reservations, in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reservations<'s> {
    /// Places by number; `None` for those that were removed.
    places: Vec<Option<ContractLocation<'s>>>,
    by_name: HashMap<&'s str, usize>,
    /// Ended, and not gone yet.
    held: Vec<usize>,
}

/// Packets of a contract that may still be on a departed route.
#[derive(Clone, Debug)]
pub(crate) struct LeftoverTraffic {
    /// Number of the contract.
    pub(crate) place: usize,
    pub(crate) route: Route,
}

/// Reason why a history is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryError {
    /// A contract is admitted while one of its name is.
    Twice {
        /// Its name.
        name: String,
    },
    /// An unknown flow is moved.
    MovedUnknown {
        /// Its name.
        name: String,
        /// Contract that caused the move.
        by: String,
    },
    /// A flow is moved from a route that it does not have.
    MovedFromElsewhere {
        /// Its name.
        name: String,
        /// Contract that caused the move.
        by: String,
        /// The stated departed route.
        from: String,
        /// The route that it has.
        has: String,
    },
    /// An unknown contract ends.
    ReleasedUnknown {
        /// Its name.
        name: String,
    },
    /// An admitted contract without a route.
    NoRoute {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice { name } => {
                write!(f, "\"{name}\" is admitted twice: release or change it first")
            }
            Self::MovedUnknown { name, by } => {
                write!(f, "\"{name}\" is moved for \"{by}\", but is not admitted at that time")
            }
            Self::MovedFromElsewhere { name, by, from, has } => write!(
                f,
                "\"{name}\" is moved for \"{by}\" from {from}, but its route is {has}: an earlier move is missing or superfluous"
            ),
            Self::ReleasedUnknown { name } => write!(f, "\"{name}\" is released, but was not admitted before"),
            Self::NoRoute { name } => write!(f, "\"{name}\" is admitted, but has no route"),
        }
    }
}

impl std::error::Error for HistoryError {}

/// A decision as it is carried out.
pub(crate) trait TransitionObserver<'s> {
    /// One flow has been moved for a contract; its packets may still be on the route that it left.
    fn moved(
        &mut self,
        reservations: &Reservations<'s>,
        admitted: &'s Admitted,
        moved: &'s Relocation,
        left: LeftoverTraffic,
    );
    /// The contract has been given its routes, in this place: the one of its earlier terms, if it had any.
    fn admitted(&mut self, reservations: &Reservations<'s>, admitted: &'s Admitted, place: usize);
    /// The contract in this place has ended.
    fn released(&mut self, place: usize, at: Time, held_until: Time);
    /// A contract of another kind holds this from now on, or nothing any more: the time of the event, and of the start after it.
    fn shared(&mut self, _times: (Time, Time), _name: &'s str, _share: Option<&'s PromisedShare>) {}
}

/// An observer that ignores all events.
pub(crate) struct NoObserver;

impl<'s> TransitionObserver<'s> for NoObserver {
    fn moved(&mut self, _: &Reservations<'s>, _: &'s Admitted, _: &'s Relocation, _: LeftoverTraffic) {}
    fn admitted(&mut self, _: &Reservations<'s>, _: &'s Admitted, _: usize) {}
    fn released(&mut self, _: usize, _: Time, _: Time) {}
}

impl<'s> Reservations<'s> {
    /// Goes through the history of a statement.
    pub(crate) fn of(statement: &'s Statement, watcher: &mut dyn TransitionObserver<'s>) -> Result<Self, HistoryError> {
        let mut reservations = Self::default();
        for event in &statement.history {
            reservations.free(event.at());
            match event {
                PlanEvent::Admitted(admitted) => {
                    for moved in &admitted.moved {
                        let left = reservations.relocate(&statement.network, admitted, moved)?;
                        watcher.moved(&reservations, admitted, moved, left);
                    }
                    let place = reservations.admit(admitted)?;
                    watcher.admitted(&reservations, admitted, place);
                }
                PlanEvent::Released { name, at, held_until } => {
                    let place = reservations.release(name, *held_until)?;
                    watcher.released(place, *at, *held_until);
                }
                PlanEvent::Shared { name, at, after, share } => {
                    watcher.shared((*at, *after), name, share.as_ref());
                }
            }
        }
        if let Some(last) = statement.history.last() {
            reservations.free(last.at());
        }
        Ok(reservations)
    }

    /// Returns all places, with their numbers.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, &ContractLocation<'s>)> {
        self.places.iter().enumerate().filter_map(|(number, place)| Some((number, place.as_ref()?)))
    }

    pub(crate) fn place(&self, number: usize) -> Option<&ContractLocation<'s>> {
        self.places.get(number)?.as_ref()
    }

    /// Removes the reservations that have ended at a time.
    fn free(&mut self, now: Time) {
        let places = &mut self.places;
        self.held.retain(|&number| {
            let is_over = places[number].as_ref().and_then(|place| place.held_until).is_some_and(|until| until <= now);
            if is_over {
                places[number] = None;
            }
            !is_over
        });
    }

    fn admit(&mut self, admitted: &'s Admitted) -> Result<usize, HistoryError> {
        let name = admitted.name.as_str();
        if admitted.routes.is_empty() {
            return Err(HistoryError::NoRoute { name: name.to_owned() });
        }
        let old = self.by_name.get(name).copied();
        if old.is_some() && admitted.kind == DecisionKind::New {
            return Err(HistoryError::Twice { name: name.to_owned() });
        }
        let routes = admitted.routes.iter().map(|stated| stated.route.clone()).collect();
        let place = ContractLocation { admitted, routes, held_until: None };
        match old {
            // Its number stays: it was first admitted then.
            Some(number) => {
                self.places[number] = Some(place);
                Ok(number)
            }
            None => {
                self.by_name.insert(name, self.places.len());
                self.places.push(Some(place));
                Ok(self.places.len() - 1)
            }
        }
    }

    fn release(&mut self, name: &str, held_until: Time) -> Result<usize, HistoryError> {
        let Some(number) = self.by_name.remove(name) else {
            return Err(HistoryError::ReleasedUnknown { name: name.to_owned() });
        };
        if let Some(place) = &mut self.places[number] {
            place.held_until = Some(held_until);
        }
        self.held.push(number);
        Ok(number)
    }

    /// Moves a contract to another route: the contract of this name, or a held one of this name, depending on the
    /// route.
    fn relocate(
        &mut self,
        network: &Network,
        by: &Admitted,
        moved: &Relocation,
    ) -> Result<LeftoverTraffic, HistoryError> {
        let name = moved.name.as_str();
        let is_held = |&&number: &&usize| self.places[number].as_ref().is_some_and(|p| p.admitted.name == name);
        let known: Vec<usize> =
            self.by_name.get(name).copied().into_iter().chain(self.held.iter().filter(is_held).copied()).collect();
        let has = |number: usize| self.places[number].as_ref()?.routes.iter().position(|route| *route == moved.from);
        let found = known.iter().find_map(|&number| Some((number, has(number)?)));
        let Some((number, route)) = found else {
            let Some(place) = known.first().and_then(|&number| self.place(number)) else {
                return Err(HistoryError::MovedUnknown { name: name.to_owned(), by: by.name.clone() });
            };
            let has: Vec<String> = place.routes.iter().map(|route| text(network, route)).collect();
            return Err(HistoryError::MovedFromElsewhere {
                name: name.to_owned(),
                by: by.name.clone(),
                from: text(network, &moved.from),
                has: has.join(" and "),
            });
        };
        if let Some(place) = &mut self.places[number] {
            place.routes[route] = moved.to.clone();
        }
        Ok(LeftoverTraffic { place: number, route: moved.from.clone() })
    }
}

impl PlanEvent {
    pub(crate) fn at(&self) -> Time {
        match self {
            Self::Admitted(admitted) => admitted.at,
            Self::Released { at, .. } | Self::Shared { at, .. } => *at,
        }
    }
}

/// `h1->s1:0 s1->h2:1`.
pub(crate) fn text(network: &Network, route: &Route) -> String {
    let hop = |hop: &wayleave_topology::Hop| match hop.link.index() < network.links().len() {
        true => format!("{}:{}", network.link(hop.link).name, hop.queue),
        false => format!("link {}:{}", hop.link.0, hop.queue),
    };
    route.hops.iter().map(hop).collect::<Vec<_>>().join(" ")
}
