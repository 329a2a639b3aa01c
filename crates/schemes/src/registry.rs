//! Every admission scheme by name: one line each. Who lets a person choose (the command line, the controller) asks here.

use wayleave_roles::{Admission, Decision, Refusal, Request};
use wayleave_topology::{FlowId, Route};

use crate::chameleon::Chameleon;
use crate::loko::Loko;
use crate::placement::Placement;
use crate::qjump::Qjump;
use crate::silo::Silo;
use crate::standing::{Held, Standing, Term};

/// Declares the schemes: their enum, their names, and how each call reaches the one that is meant.
macro_rules! schemes {
    ($($(#[$meta:meta])* $name:literal => $scheme:ident,)+) => {
        /// An admission scheme, whichever it is.
        pub enum Scheme {
            $($(#[$meta])* $scheme(Box<$scheme>),)+
        }

        /// The names of all schemes.
        pub const NAMES: &[&str] = &[$($name),+];

        impl Scheme {
            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$scheme(_) => $name),+ }
            }

        }

        impl Standing for Scheme {
            fn queues(&self) -> Option<&Placement> {
                match self { $(Self::$scheme(scheme) => scheme.queues()),+ }
            }

            fn queues_mut(&mut self) -> Option<&mut Placement> {
                match self { $(Self::$scheme(scheme) => scheme.queues_mut()),+ }
            }

            fn held(&self, flow: FlowId) -> Option<Held<'_>> {
                match self { $(Self::$scheme(scheme) => scheme.held(flow)),+ }
            }

            fn flows(&self) -> Vec<FlowId> {
                match self { $(Self::$scheme(scheme) => scheme.flows()),+ }
            }

            fn terms(&self, flow: FlowId) -> Vec<Term> {
                match self { $(Self::$scheme(scheme) => scheme.terms(flow)),+ }
            }
        }

        impl Admission for Scheme {
            fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
                match self { $(Self::$scheme(scheme) => scheme.admit(request)),+ }
            }

            fn release(&mut self, flow: FlowId) -> Option<Route> {
                match self { $(Self::$scheme(scheme) => scheme.release(flow)),+ }
            }

            fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>> {
                match self { $(Self::$scheme(scheme) => scheme.change(flow, request)),+ }
            }

            fn would_admit(&mut self, request: &Request) -> bool {
                match self { $(Self::$scheme(scheme) => scheme.would_admit(request)),+ }
            }
        }

        $(impl From<$scheme> for Scheme {
            fn from(scheme: $scheme) -> Self {
                Self::$scheme(Box::new(scheme))
            }
        })+
    };
}

schemes! {
    /// See [`crate::chameleon`].
    "chameleon" => Chameleon,
    /// See [`crate::silo`].
    "silo" => Silo,
    /// See [`crate::qjump`].
    "qjump" => Qjump,
    /// See [`crate::loko`].
    "loko" => Loko,
}
