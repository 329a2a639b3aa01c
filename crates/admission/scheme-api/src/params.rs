//! The parameters of a scheme as its constructor takes them: a structure with types of its own, declared together with its
//! descriptions by [`params!`](crate::params), and set from values.

use alloc::string::String;
use alloc::vec::Vec;

use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use crate::descriptor::{Descriptor, Parameter, Value, ValueKind};

/// A type that a parameter can have in the scheme's own structure.
pub trait ParamType: Sized {
    /// From a value of the parameter's kind; `None`: it is of another kind, or too large.
    fn from_value(value: Value) -> Option<Self>;

    /// As a value.
    fn to_value(&self) -> Value;
}

/// The parameters of a scheme as its constructor takes them; [`params!`](crate::params) implements it.
pub trait Parameters: Clone + Default {
    /// Their descriptions.
    const LIST: &'static [Parameter];

    /// Sets one, by its position in the list; `false`: there is no such one, or it has another type.
    fn set(&mut self, position: usize, value: Value) -> bool;

    /// One, by its position in the list.
    fn get(&self, position: usize) -> Value;

    /// The defaults, with the given values in their places.
    ///
    /// # Errors
    /// The parameter whose value has another type.
    fn with(given: &[(usize, Value)]) -> Result<Self, &'static Parameter> {
        let mut params = Self::default();
        for (position, value) in given {
            if !params.set(*position, value.clone()) {
                return Err(Self::LIST.get(*position).unwrap_or(&Parameter::PLAIN));
            }
        }
        Ok(params)
    }

    /// Checks that all values are in range.
    ///
    /// # Errors
    /// The first parameter that is not, and its value.
    fn check(&self) -> Result<(), (&'static Parameter, Value)> {
        for (position, parameter) in Self::LIST.iter().enumerate() {
            fault(parameter, self.get(position))?;
        }
        Ok(())
    }

    /// The parameters as reports show them: each with its value.
    fn settings(&self) -> Vec<(&'static Parameter, Value)> {
        Self::LIST.iter().enumerate().map(|(position, parameter)| (parameter, self.get(position))).collect()
    }
}

/// A scheme that describes itself.
pub trait Described {
    /// Its description.
    const DESCRIPTOR: &'static Descriptor;

    /// Parameters of its constructor.
    type Params: Parameters;
}

/// A value out of range; within a scheme, the one of its values that is.
fn fault(parameter: &'static Parameter, value: Value) -> Result<(), (&'static Parameter, Value)> {
    if let (ValueKind::Scheme(scheme), Value::Scheme(given)) = (parameter.kind, &value) {
        let inner = given.iter().filter_map(|(position, value)| Some((scheme.parameters.get(*position)?, value)));
        return inner.into_iter().try_for_each(|(parameter, value)| fault(parameter, value.clone()));
    }
    if parameter.kind.check(&value).is_err() { Err((parameter, value)) } else { Ok(()) }
}

/// Quantities and numbers, which are values as they are.
macro_rules! settings {
    ($($type:ty: $pattern:ident($inner:ident) => $from:expr, $to:expr;)+) => {
        $(impl ParamType for $type {
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$pattern($inner) => $from,
                    _ => None,
                }
            }

            fn to_value(&self) -> Value {
                let $inner = *self;
                Value::$pattern($to)
            }
        })+
    };
}

settings! {
    Time: Time(time) => Some(time), time;
    Rate: Rate(rate) => Some(rate), rate;
    Bytes: Bytes(bytes) => Some(bytes), bytes;
    bool: Flag(flag) => Some(flag), flag;
    u64: Count(count) => Some(count), count;
    u32: Count(count) => u32::try_from(count).ok(), count.into();
    usize: Count(count) => usize::try_from(count).ok(), count as u64;
    f64: Number(number) => Some(number), number;
    NodeId: Node(node) => Some(node), node;
}

/// A part of a whole in per cent. Files write it as a whole number or, of kind [`ValueKind::Hundredths`], as a part of 1.
impl ParamType for u8 {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Percent(percent) | Value::Hundredths(percent) => Some(percent),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::Percent(*self)
    }
}

impl ParamType for String {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { Some(text) } else { None }
    }

    fn to_value(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl<T: ParamType> ParamType for Option<T> {
    fn from_value(value: Value) -> Option<Self> {
        if value == Value::Absent { Some(None) } else { T::from_value(value).map(Some) }
    }

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Absent, T::to_value)
    }
}

impl<T: ParamType> ParamType for Vec<T> {
    fn from_value(value: Value) -> Option<Self> {
        let Value::List(values) = value else { return None };
        values.into_iter().map(T::from_value).collect()
    }

    fn to_value(&self) -> Value {
        Value::List(self.iter().map(T::to_value).collect())
    }
}

/// Values by the names of services.
impl<T: ParamType> ParamType for Vec<(String, T)> {
    fn from_value(value: Value) -> Option<Self> {
        let Value::ByName(values) = value else { return None };
        values.into_iter().map(|(name, value)| Some((name, T::from_value(value)?))).collect()
    }

    fn to_value(&self) -> Value {
        Value::ByName(self.iter().map(|(name, value)| (name.clone(), value.to_value())).collect())
    }
}

/// Declares the parameters of a scheme: a structure, its defaults, and their descriptions.
///
/// Options and schemas show the comment of a field as its description. The key, the [`ValueKind`] and the source of the
/// default come after the default; braces may give more fields of [`Parameter`].
///
/// ```
/// use wayleave_scheme_api::{ValueKind, Parameters, Value, params};
/// use wayleave_units::Time;
///
/// params! {
///     /// What the example needs.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Params {
///         /// How often it works.
///         pub interval: Time = Time::from_micros(200), "interval", ValueKind::TIME, "Table 1";
///         /// How often it tries.
///         pub tries: u32 = 3, "tries", ValueKind::Count { least: 1, most: 10 }, "ours", { value_name: "COUNT" };
///     }
/// }
///
/// let tries = &Params::LIST[1];
/// assert_eq!((tries.sentence().as_str(), tries.source), ("How often it tries", "ours"));
/// let given = [(1, tries.kind.parse("4").unwrap())];
/// assert_eq!(Params::with(&given).unwrap(), Params { tries: 4, ..Params::default() });
/// assert_eq!(tries.kind.check(&Value::Count(11)).unwrap_err(), "11 is not in 1..=10");
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[doc = $text:literal])+
                pub $field:ident: $type:ty = $default:expr, $key:literal, $kind:expr, $source:literal
                    $(, { $($more:ident: $value:expr),+ $(,)? })?;
            )*
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[doc = $text])+ pub $field: $type,)*
        }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::Parameters for $name {
            const LIST: &'static [$crate::Parameter] = &[$($crate::Parameter {
                key: $key,
                kind: $kind,
                source: $source,
                text: concat!($($text),+),
                preset: || {
                    let value: $type = $default;
                    $crate::ParamType::to_value(&value)
                },
                $($($more: $value,)+)?
                ..$crate::Parameter::PLAIN
            }),*];

            fn set(&mut self, position: usize, value: $crate::Value) -> bool {
                let mut at = 0;
                $(
                    if at == position {
                        return match $crate::ParamType::from_value(value) {
                            Some(value) => {
                                self.$field = value;
                                true
                            }
                            None => false,
                        };
                    }
                    at += 1;
                )*
                let _ = (at, value);
                false
            }

            fn get(&self, position: usize) -> $crate::Value {
                let mut at = 0;
                $(
                    if at == position {
                        return $crate::ParamType::to_value(&self.$field);
                    }
                    at += 1;
                )*
                let _ = (at, position);
                $crate::Value::Absent
            }
        }
    };
}

/// The words for the values of an enumeration, each with its meaning.
///
/// ```
/// use wayleave_scheme_api::{ParamType, Value, words};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Order {
///     Newest,
///     Oldest,
/// }
/// words! {
///     Order {
///         Newest = "newest", "The newest first";
///         Oldest = "oldest", "The oldest first";
///     }
/// }
/// assert_eq!(Order::from_value(Value::Word("oldest")), Some(Order::Oldest));
/// assert_eq!(Order::WORDS[0].text, "The newest first");
/// ```
#[macro_export]
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal, $text:literal;)+ }) => {
        impl $name {
            /// The words for its values.
            pub const WORDS: &'static [$crate::Word] = &[$($crate::Word { word: $word, text: $text }),+];
        }

        impl $crate::ParamType for $name {
            fn from_value(value: $crate::Value) -> Option<Self> {
                match value {
                    $($crate::Value::Word($word) => Some(Self::$variant),)+
                    _ => None,
                }
            }

            fn to_value(&self) -> $crate::Value {
                match self {
                    $(Self::$variant => $crate::Value::Word($word),)+
                }
            }
        }
    };
}

/// The parameters of a scheme as a value, for a scheme within which it works.
pub fn nested(params: &impl Parameters) -> Value {
    Value::Scheme(params.settings().into_iter().enumerate().map(|(position, (_, value))| (position, value)).collect())
}
