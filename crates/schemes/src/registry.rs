//! Every admission scheme by name: one line each. Who lets a person choose (the command line, the controller) asks here.

use wayleave_policy::{Admission, Decision, Refusal, Request};
use wayleave_topology::{FlowId, Route};

use crate::chameleon::Chameleon;
use crate::placement::Placement;
use crate::silo::Silo;

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

            /// What is reserved, and where.
            pub fn placement(&self) -> &Placement {
                match self { $(Self::$scheme(scheme) => scheme.placement()),+ }
            }

            /// The same, for questions that use the searches' memory.
            pub fn placement_mut(&mut self) -> &mut Placement {
                match self { $(Self::$scheme(scheme) => scheme.placement_mut()),+ }
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
}
