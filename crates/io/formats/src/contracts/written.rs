//! Contracts as they are written, for who hands them on to a controller that knows the network.

use wayleave_contracts::{ContractKind, Labels, Match};

use super::list::{ContractField, WrittenList};
use super::{Addressed, Scope, Terms, read_list};
use crate::problem::{InputErrors, Problems};
use crate::source::Source;

/// A contract as it is written: its keys and values are known, and what they mean was not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// What is written for each field that has one text.
    pub texts: Vec<(ContractField, String)>,
    /// The hops of a pinned route.
    pub route: Option<Vec<String>>,
    /// Which packets it is for.
    pub matching: Option<Match>,
    /// Words to find it by.
    pub labels: Labels,
    /// What stands under the key of its kind, if it is not about latency.
    pub body: Option<WrittenBody>,
}

/// What is written under `bandwidth`, `objective` or `bestEffort`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBody {
    /// What it is about.
    pub kind: ContractKind,
    /// What is written under each key that has one text.
    pub texts: Vec<(&'static str, String)>,
    /// The members, with their key: `hose` or `members`.
    pub members: Option<(&'static str, Vec<String>)>,
}

impl WrittenBody {
    /// What is written under a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == key).map(|(_, text)| text.as_str())
    }
}

impl Written {
    /// What is written for a field.
    pub fn text(&self, field: ContractField) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == field).map(|(_, text)| text.as_str())
    }
}

/// Reads the same files as [`read_orders`](crate::read_orders), without a network: what does not fit one is found by who
/// has it.
///
/// ```
/// use wayleave_formats::{ContractField, Source, read_written};
/// let csv = "name,from,to,rate,burst,deadline\nptp,h1,h2,220kbit,300B,2ms\n";
/// let list = read_written(&Source::new("contracts.csv", csv))?;
/// assert_eq!(list.written()[0].text(ContractField::Rate), Some("220kbit"));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_written(source: &Source) -> Result<WrittenList, InputErrors> {
    read_list(source, Addressed::default(), Scope::Tenant, &|terms: &Terms<'_>, _: &mut Problems<'_>| {
        Some(terms.written())
    })
}
