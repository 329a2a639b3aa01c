//! Description of a scheme: its name, its publication, its guarantee, and its settings.
//!
//! A scheme module exports one [`Descriptor`]. Options of the command line, keys of scenarios, JSON Schemas, reports
//! and lists are derived from it, so no other part has to know which schemes there are. Settings are declared with
//! [`params!`](crate::params), which makes the scheme's own structure of parameters and their descriptions in one
//! place: the constructor gets the structure, and no text.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use wayleave_topology::NodeId;
use wayleave_units::{Bytes, ParseUnitError, Rate, Time};

/// Part of the network that a scheme decides on or drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The choice of the contracts that are admitted ([`Admission`](crate::Admission)).
    Admission,
    /// The window or rate of a flow ([`Flow`](crate::Flow)).
    Transport,
    /// The path of a packet ([`Path`](crate::Path)).
    Path,
    /// The marks and fields that a switch writes ([`Switch`](crate::Switch)).
    Switch,
    /// The limiters of a host ([`Host`](crate::Host)).
    Host,
    /// Shares of racks and of the fabric ([`Broker`](crate::Broker)).
    Broker,
    /// The part between the transports of a division and the network ([`Tunnel`](crate::Tunnel)).
    Tunnel,
}

impl Role {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Transport => "transport",
            Self::Path => "path",
            Self::Switch => "switch",
            Self::Host => "host",
            Self::Broker => "broker",
            Self::Tunnel => "tunnel",
        }
    }
}

/// A scheme, described by its module.
#[derive(Debug)]
pub struct Descriptor {
    /// As options and files name it; unique among the schemes of its first role.
    pub name: &'static str,
    /// As people write it.
    pub title: &'static str,
    /// The roles that it plays, the one by which it is chosen first.
    pub roles: &'static [Role],
    /// Its function, in one line.
    pub summary: &'static str,
    /// Its publication.
    pub citation: &'static str,
    /// Its guarantee, with the traffic that has it; in one sentence.
    pub guarantee: &'static str,
    /// Its settings.
    pub parameters: &'static [Parameter],
}

impl Descriptor {
    /// The position of the parameter with this key.
    pub fn position(&self, key: &str) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.key == key)
    }
}

/// Something that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// As scenario files and reports name it.
    pub key: &'static str,
    /// Its kind, with the values that it can have.
    pub kind: ValueKind,
    /// Its value where none is given.
    pub preset: fn() -> Value,
    /// The same in words, where the value is not a constant; empty otherwise.
    pub default: &'static str,
    /// Origin of the default: a table or section of the publication, a measurement, or ours.
    pub source: &'static str,
    /// Its description, in one sentence.
    pub text: &'static str,
    /// Further facts that a reader has to know; may be empty.
    pub note: &'static str,
    /// The option of the command line, without dashes; empty: the scheme's name and the key.
    pub option: &'static str,
    /// Placeholder of the value in the help of the option; empty: by its kind.
    pub value_name: &'static str,
    /// The key of the flag without which it means nothing; empty: it always means something.
    pub group: &'static str,
    /// A value to show where it is missing; not empty: it has to be given.
    pub example: &'static str,
    /// Text of a message where it is missing; empty: that a value is needed.
    pub missing: &'static str,
    /// Its name in messages; empty: its key.
    pub noun: &'static str,
}

impl Parameter {
    /// Fields that most parameters have in common; a key, a kind, a source and a text are given by
    /// [`params!`](crate::params).
    pub const PLAIN: Self = Self {
        key: "",
        kind: ValueKind::Flag,
        preset: || Value::Absent,
        default: "",
        source: "",
        text: "",
        note: "",
        option: "",
        value_name: "",
        group: "",
        example: "",
        missing: "",
        noun: "",
    };

    /// Its sentence, without the full stop.
    pub fn sentence(&self) -> String {
        let joined: Vec<&str> = self.text.split_whitespace().collect();
        let joined = joined.join(" ");
        joined.strip_suffix('.').map(ToOwned::to_owned).unwrap_or(joined)
    }

    /// Its name in messages.
    pub const fn noun(&self) -> &'static str {
        if self.noun.is_empty() { self.key } else { self.noun }
    }

    /// Its default in words; `None` where without a value there is none.
    pub fn default_text(&self) -> Option<String> {
        if !self.default.is_empty() {
            return Some(self.default.to_owned());
        }
        match (self.preset)() {
            // Structures keep per cent; files and messages write the part.
            Value::Percent(percent) if matches!(self.kind, ValueKind::Hundredths { .. }) => {
                Some(Value::Hundredths(percent).to_string())
            }
            Value::Absent | Value::Scheme(_) => None,
            Value::ByName(values) if values.is_empty() => None,
            value => Some(value.to_string()),
        }
    }
}

/// A word that is a value, with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub word: &'static str,
    /// Its meaning, in one line.
    pub text: &'static str,
}

/// Kind of a parameter, with the values that it can have.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// A time from `least` to `most`.
    Time {
        /// The shortest.
        least: Time,
        /// The longest.
        most: Time,
    },
    /// A rate of at least `least`.
    Rate {
        /// The lowest.
        least: Rate,
    },
    /// A size from `least` to `most`.
    Bytes {
        /// The smallest.
        least: Bytes,
        /// The largest.
        most: Bytes,
    },
    /// A whole number from `least` to `most`.
    Count {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A whole number of per cent from `least` to `most`.
    Percent {
        /// The smallest.
        least: u8,
        /// The largest.
        most: u8,
    },
    /// A part of 1 in steps of 0.01, which is kept in per cent, from `least` to `most` of them.
    Hundredths {
        /// The smallest.
        least: u8,
        /// The largest.
        most: u8,
    },
    /// A number above 0 and up to 1.
    Fraction,
    /// Yes or no.
    Flag,
    /// One of several words.
    Word(&'static [Word]),
    /// A form of its own.
    Text {
        /// Checks that a text has that form. The error describes the expected form.
        check: fn(&str) -> Result<(), String>,
    },
    /// Several values, separated by commas.
    List(&'static ValueKind),
    /// A value for each name of a service.
    ByService(&'static ValueKind),
    /// The name of a host.
    Host,
    /// The settings of a scheme within the scheme.
    Scheme(&'static Descriptor),
}

impl ValueKind {
    /// A time above zero.
    pub const TIME: Self = Self::Time { least: Time::from_nanos(1), most: Time::MAX };
    /// A rate above zero.
    pub const RATE: Self = Self::Rate { least: Rate::from_bits_per_second(1) };
    /// Any rate.
    pub const ANY_RATE: Self = Self::Rate { least: Rate::ZERO };
    /// A size above zero.
    pub const BYTES: Self = Self::Bytes { least: Bytes::new(1), most: Bytes::MAX };
    /// A number of things that fits 32 bits.
    pub const COUNT: Self = Self::Count { least: 0, most: u32::MAX as u64 };

    /// In words.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Time { .. } => "time",
            Self::Rate { .. } => "rate",
            Self::Bytes { .. } => "size",
            Self::Count { .. } => "whole number",
            Self::Percent { .. } => "per cent",
            Self::Hundredths { .. } | Self::Fraction => "number",
            Self::Flag => "true or false",
            Self::Word(_) => "word",
            Self::Text { .. } => "text",
            Self::List(_) => "list",
            Self::ByService(_) => "value by service",
            Self::Host => "host",
            Self::Scheme(_) => "scheme",
        }
    }

    /// The values that are accepted, in words; empty where the kind is enough.
    pub fn range(&self) -> String {
        match self {
            Self::Time { least, most } => range(least, most, *least == Time::ZERO, *most == Time::MAX),
            Self::Rate { least } => range(least, &"", *least == Rate::ZERO, true),
            Self::Bytes { least, most } => range(least, most, *least == Bytes::ZERO, *most == Bytes::MAX),
            Self::Count { least, most } => range(least, most, *least == 0, *most >= u64::from(u32::MAX)),
            Self::Percent { least, most } => range(least, most, false, false),
            Self::Hundredths { least, most } => {
                range(&hundredths(*least), &hundredths(*most), false, false) + " in steps of 0.01"
            }
            Self::Fraction => "above 0 and up to 1".to_owned(),
            Self::Word(words) => words.iter().map(|word| word.word).collect::<Vec<_>>().join(", "),
            Self::List(kind) | Self::ByService(kind) => match kind.range() {
                range if range.is_empty() => kind.name().to_owned(),
                range => format!("{} {range}", kind.name()),
            },
            Self::Scheme(scheme) => format!("parameters of {}", scheme.name),
            Self::Flag | Self::Text { .. } | Self::Host => String::new(),
        }
    }

    /// Reads a value from text, as options and files write it; its range is checked separately, by [`ValueKind::check`].
    ///
    /// # Errors
    /// The mistake, and the expected form.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let unit = |error: ParseUnitError| error.to_string();
        match self {
            Self::Time { .. } => text.parse().map(Value::Time).map_err(unit),
            Self::Rate { .. } => text.parse().map(Value::Rate).map_err(unit),
            Self::Bytes { .. } => text.parse().map(Value::Bytes).map_err(unit),
            Self::Count { .. } => whole(text).map(Value::Count),
            Self::Percent { .. } => whole(text).map(|count| Value::Percent(u8::try_from(count).unwrap_or(u8::MAX))),
            Self::Hundredths { .. } => {
                let number = number(text)?;
                let percent = number * 100.0;
                // Rounding without the standard library; the range keeps it exact.
                let whole = if (0.0..=100.5).contains(&percent) { (percent + 0.5) as u8 } else { u8::MAX };
                let off = percent - f64::from(whole);
                if whole > 100 || !(-1e-6..1e-6).contains(&off) {
                    return Err(format!("{number} is not accepted: expected a number from 0.01 to 1 in steps of 0.01"));
                }
                Ok(Value::Hundredths(whole))
            }
            Self::Fraction => number(text).map(Value::Number),
            Self::Flag => match text {
                "true" => Ok(Value::Flag(true)),
                "false" => Ok(Value::Flag(false)),
                other => Err(format!("{} is not accepted: expected true or false", shown(other))),
            },
            Self::Word(words) => match words.iter().find(|word| word.word == text) {
                Some(word) => Ok(Value::Word(word.word)),
                None => Err(format!("{} is unknown: expected {}", shown(text), one_of(words))),
            },
            Self::Text { check } => check(text).map(|()| Value::Text(text.to_owned())),
            Self::List(kind) => text.split(',').map(|item| kind.parse(item)).collect::<Result<_, _>>().map(Value::List),
            Self::ByService(_) | Self::Host | Self::Scheme(_) => {
                Err(format!("expected a {}, which can only be given in a file", self.name()))
            }
        }
    }

    /// Checks that a value is in range.
    ///
    /// # Errors
    /// The expected range.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let is_right = match (self, value) {
            (_, Value::Absent) => true,
            (Self::Time { least, most }, Value::Time(time)) => (least..=most).contains(&time),
            (Self::Rate { least }, Value::Rate(rate)) => rate >= least,
            (Self::Bytes { least, most }, Value::Bytes(bytes)) => (least..=most).contains(&bytes),
            (Self::Count { least, most }, Value::Count(count)) => {
                if !(least..=most).contains(&count) {
                    return Err(format!("{count} is not in {least}..={most}"));
                }
                true
            }
            (
                Self::Percent { least, most } | Self::Hundredths { least, most },
                Value::Percent(percent) | Value::Hundredths(percent),
            ) => (least..=most).contains(&percent),
            (Self::Fraction, Value::Number(number)) => *number > 0.0 && *number <= 1.0,
            (Self::List(kind), Value::List(values)) => return values.iter().try_for_each(|value| kind.check(value)),
            (Self::ByService(kind), Value::ByName(values)) => {
                return values.iter().try_for_each(|(_, value)| kind.check(value));
            }
            _ => true,
        };
        if is_right { Ok(()) } else { Err(format!("{value} is not accepted: expected {}", self.range())) }
    }

    /// Returns `true` if a value is zero where only more than zero is accepted.
    pub fn is_zero(&self, value: &Value) -> bool {
        let is_zero = matches!(
            value,
            Value::Time(Time::ZERO)
                | Value::Rate(Rate::ZERO)
                | Value::Bytes(Bytes::ZERO)
                | Value::Count(0)
                | Value::Percent(0)
                | Value::Hundredths(0)
        );
        is_zero && self.check(value).is_err()
    }
}

fn range(least: &dyn fmt::Display, most: &dyn fmt::Display, has_no_least: bool, has_no_most: bool) -> String {
    match (has_no_least, has_no_most) {
        (true, true) => String::new(),
        (true, false) => format!("up to {most}"),
        (false, true) => format!("from {least}"),
        (false, false) => format!("from {least} to {most}"),
    }
}

fn hundredths(percent: u8) -> f64 {
    f64::from(percent) / 100.0
}

fn whole(text: &str) -> Result<u64, String> {
    let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let count = Some(text).filter(|_| is_whole).and_then(|text| text.parse().ok());
    count.ok_or_else(|| format!("{} is not accepted: expected a whole number such as 4", shown(text)))
}

fn number(text: &str) -> Result<f64, String> {
    // `inf` and `nan` would be numbers to the standard library.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let number = Some(text).filter(|_| plain).and_then(|text| text.parse().ok());
    let number = number.filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("{} is not a number: expected one such as 0.6", shown(text)))
}

/// Length of the part of a text that a message shows, in characters.
const SHOWN: usize = 40;

/// A text in a message: short, and with nothing that a terminal would act upon.
fn shown(text: &str) -> String {
    let visible: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let rest = if text.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("\"{visible}{rest}\"")
}

fn one_of(words: &[Word]) -> String {
    match words {
        [] => String::new(),
        [only] => only.word.to_owned(),
        [head @ .., last] => {
            let head: Vec<&str> = head.iter().map(|word| word.word).collect();
            format!("{} or {}", head.join(", "), last.word)
        }
    }
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// None.
    Absent,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// Per cent.
    Percent(u8),
    /// A part of 1, in per cent.
    Hundredths(u8),
    /// Any number.
    Number(f64),
    /// A time.
    Time(Time),
    /// A rate.
    Rate(Rate),
    /// A size.
    Bytes(Bytes),
    /// One of several words.
    Word(&'static str),
    /// A form of its own.
    Text(String),
    /// Several.
    List(Vec<Value>),
    /// One for each name.
    ByName(Vec<(String, Value)>),
    /// A node.
    Node(NodeId),
    /// Values that belong together, in reports.
    Record(Vec<(&'static str, Value)>),
    /// Settings given for a scheme within the scheme.
    Scheme(ParamValues),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = |f: &mut fmt::Formatter<'_>, index| if index == 0 { Ok(()) } else { f.write_str(",") };
        match self {
            Self::Absent => f.write_str("none"),
            Self::Flag(flag) => flag.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Percent(percent) => percent.fmt(f),
            Self::Hundredths(percent) => hundredths(*percent).fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Time(time) => time.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Word(word) => f.write_str(word),
            Self::Text(text) => f.write_str(text),
            Self::List(values) => values.iter().enumerate().try_for_each(|(index, value)| {
                separator(f, index)?;
                value.fmt(f)
            }),
            Self::ByName(values) => values.iter().enumerate().try_for_each(|(index, (name, value))| {
                separator(f, index)?;
                write!(f, "{name}={value}")
            }),
            Self::Record(values) => values.iter().enumerate().try_for_each(|(index, (name, value))| {
                separator(f, index)?;
                write!(f, "{name}={value}")
            }),
            Self::Node(node) => write!(f, "node {}", node.index()),
            Self::Scheme(_) => f.write_str("as given"),
        }
    }
}

/// Values given for the parameters of a scheme, by their positions in [`Descriptor::parameters`].
pub type ParamValues = Vec<(usize, Value)>;
