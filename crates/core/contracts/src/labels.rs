//! Labels: words that tenants put on contracts, to find them together.

use std::collections::BTreeMap;
use std::fmt;

/// Labels of a contract, by key.
pub type Labels = BTreeMap<String, String>;

/// The most labels that a contract may have.
pub const MAX_LABELS: usize = 16;

/// The longest key, and the longest value.
const MAX_LENGTH: usize = 63;

/// Error of the labels of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelError {
    /// More than [`MAX_LABELS`].
    Many(usize),
    /// A key that is empty, too long or has other characters.
    Key(String),
    /// The value under this key is too long or has other characters.
    Value(String),
}

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Many(count) => write!(f, "there are {count} labels: expected at most {MAX_LABELS}"),
            Self::Key(key) => {
                write!(f, "`{key}` is not a label key: expected 1 to {MAX_LENGTH} characters of [A-Za-z0-9._/-]")
            }
            Self::Value(key) => {
                write!(
                    f,
                    "the value of label {key} is invalid: expected up to {MAX_LENGTH} characters of [A-Za-z0-9._/-]"
                )
            }
        }
    }
}

/// Checks the labels of a contract.
///
/// # Errors
/// The first that is wrong.
pub fn check_labels(labels: &Labels) -> Result<(), LabelError> {
    if labels.len() > MAX_LABELS {
        return Err(LabelError::Many(labels.len()));
    }
    let is_word = |text: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
        text.len() <= MAX_LENGTH && text.bytes().all(is_known)
    };
    for (key, value) in labels {
        if key.is_empty() || !is_word(key) {
            return Err(LabelError::Key(key.clone()));
        }
        if !is_word(value) {
            return Err(LabelError::Value(key.clone()));
        }
    }
    Ok(())
}

/// Labels that contracts are chosen by: all of them have to be there.
///
/// ```
/// use wayleave_contracts::LabelSelector;
/// let selector: LabelSelector = "app=web,tier=db".parse()?;
/// let labels = |text: &str| text.split(' ').map(|one| (one[..3].to_owned(), one[4..].to_owned())).collect();
/// assert!(!selector.chooses(&labels("app=web")));
/// let both = [("app", "web"), ("tier", "db"), ("site", "a")].map(|(key, value)| (key.to_owned(), value.to_owned()));
/// assert!(selector.chooses(&both.into()));
/// assert!("app".parse::<LabelSelector>().unwrap_err().contains("key=value"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector(Labels);

impl LabelSelector {
    /// Returns `true` if a contract has all of these labels.
    pub fn chooses(&self, labels: &Labels) -> bool {
        self.0.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

impl std::str::FromStr for LabelSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut labels = Labels::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("`{part}` is not a label selector: expected key=value, separated by commas"));
            };
            if labels.insert(key.to_owned(), value.to_owned()).is_some_and(|other| other != value) {
                return Err(format!("label {key} has two values in the selector, so no contract matches"));
            }
        }
        check_labels(&labels).map_err(|error| error.to_string())?;
        Ok(Self(labels))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, value)) in self.0.iter().enumerate() {
            write!(f, "{}{key}={value}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}
