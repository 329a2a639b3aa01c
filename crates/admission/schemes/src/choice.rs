//! Choice of a scheme for a role in a scenario: a scheme of the list with its parameters, or a custom one.

/// Something shared; the same as another if both are one.
macro_rules! shared {
    ($name:ident, $scheme:ident, $what:literal) => {
        #[doc = $what]
        #[derive(Clone, Debug)]
        pub struct $name(
            /// The scheme.
            pub Arc<dyn $scheme>,
        );

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.0, &other.0)
            }
        }
    };
}

/// Writes the enum of a scenario's choice: a scheme with its parameters.
macro_rules! choice {
    (
        $(#[$doc:meta])* $name:ident, $custom:ident, $list:ident;
        $($(#[$meta:meta])* $role:ident::$module:ident::$scheme:ident,)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $(
                #[doc = concat!("See [`crate::", stringify!($role), "::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(<crate::$role::$module::$scheme as Described>::Params),
            )+
            /// One that is not in this repository.
            Custom($custom),
        }

        /// All that can be chosen by name; the first is the default.
        pub const $list: &[&Descriptor] = &[
            $($(#[$meta])* <crate::$role::$module::$scheme as Described>::DESCRIPTOR,)+
        ];

        impl $name {
            $(
                #[doc = concat!("See [`crate::", stringify!($role), "::", stringify!($module), "`]; with its defaults.")]
                $(#[$meta])*
                pub fn $module() -> Self {
                    Self::$scheme(Default::default())
                }
            )+

            /// Returns the descriptor of the scheme.
            pub fn descriptor(&self) -> &'static Descriptor {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::$role::$module::$scheme as Described>::DESCRIPTOR,)+
                    Self::Custom(custom) => custom.0.descriptor(),
                }
            }

            /// Returns the scheme of this name with the given parameters. Returns `None` if there is no such scheme,
            /// or a value is not of its parameter's kind.
            pub fn of(name: &str, given: &ParamValues) -> Option<Self> {
                $(
                    $(#[$meta])*
                    if name == <crate::$role::$module::$scheme as Described>::DESCRIPTOR.name {
                        return Parameters::with(given).ok().map(Self::$scheme);
                    }
                )+
                None
            }

            /// Checks that its parameters are in range.
            ///
            /// # Errors
            /// The first parameter that is out of range, and its value.
            pub fn check(&self) -> Result<(), (&'static Parameter, Value)> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => params.check(),)+
                    Self::Custom(_) => Ok(()),
                }
            }
        }
    };
}
