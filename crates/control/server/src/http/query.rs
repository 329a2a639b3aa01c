//! The query of an address: a parameter that the route does not have is an error.

use wayleave_protocol::problem::{Code, FieldError, Problem};

use crate::http::operation::{Param, ParamKind};

/// The parameters that were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the part behind the question mark.
    pub(crate) fn read(text: &str, params: &[Param]) -> Result<Self, Box<Problem>> {
        let mut given: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let Some(param) = params.iter().find(|param| param.name == name) else {
                return Err(unknown(&name, params));
            };
            if given.iter().any(|(known, _)| *known == name) {
                return Err(wrong(&name, "given twice".to_owned()));
            }
            check(param, &value)?;
            given.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self(given))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }
}

fn check(param: &Param, value: &str) -> Result<(), Box<Problem>> {
    match param.kind {
        ParamKind::Flag if !matches!(value, "true" | "false") => {
            Err(wrong(param.name, "expected true or false".to_owned()))
        }
        ParamKind::Number(most) if !value.parse::<u64>().is_ok_and(|number| number <= most) => {
            Err(wrong(param.name, format!("expected a whole number of at most {most}")))
        }
        ParamKind::Count(most) if !value.parse::<u64>().is_ok_and(|number| (1..=most).contains(&number)) => {
            Err(wrong(param.name, format!("expected a whole number from 1 to {most}")))
        }
        ParamKind::Choice(words) if !words.contains(&value) => {
            Err(wrong(param.name, format!("expected one of {}", words.join(", "))))
        }
        ParamKind::Text if value.is_empty() => Err(wrong(param.name, "it is empty".to_owned())),
        _ => Ok(()),
    }
}

fn wrong(name: &str, detail: String) -> Box<Problem> {
    // The client's text is returned in JSON, which escapes it; only its length is limited.
    let name: String = name.chars().take(100).collect();
    let mut problem = Problem::new(Code::Invalid, format!("query parameter {name}: {detail}"));
    problem.errors.push(FieldError { line: None, column: None, field: Some(name), detail });
    Box::new(problem)
}

fn unknown(name: &str, params: &[Param]) -> Box<Problem> {
    let known = params.iter().map(|param| param.name);
    let hint = match wayleave_explain::sentences::nearest(name, known.clone()) {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None if params.is_empty() => ": this path takes no query parameters".to_owned(),
        None => format!(": expected {}", known.collect::<Vec<_>>().join(", ")),
    };
    wrong(name, format!("no such parameter{hint}"))
}
