//! Checks of every answer against the document alone.

use std::collections::HashMap;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Value, json};
use wayleave_protocol::problem::Code;

use crate::common::Answer;

pub(crate) struct Checker<'a> {
    document: &'a Value,
    validators: HashMap<String, Validator>,
}

/// Returns a description of the error and its place. If several schemas might fit, it describes the error of the
/// closest one.
fn words(error: &ValidationError<'_>) -> String {
    if let ValidationErrorKind::OneOfNotValid { context } = error.kind()
        && let Some([only]) = context.iter().min_by_key(|errors| errors.len()).map(Vec::as_slice)
    {
        return words(only);
    }
    format!("{}: {error}", error.instance_path())
}

impl<'a> Checker<'a> {
    pub(crate) fn new(document: &'a Value) -> Self {
        Self { document, validators: HashMap::new() }
    }

    /// Checks that a value fits a schema of the document; the error is the place where it does not.
    pub(crate) fn fits(&mut self, schema: &Value, value: &Value) -> Result<(), String> {
        let validator = self.validators.entry(schema.to_string()).or_insert_with(|| {
            let whole = json!({ "components": self.document["components"], "allOf": [schema] });
            jsonschema::draft202012::new(&whole).unwrap()
        });
        match validator.iter_errors(value).next() {
            None => Ok(()),
            Some(error) => Err(words(&error)),
        }
    }

    /// Checks that an answer is one that the operation may give.
    pub(crate) fn answer(&mut self, operation: &Value, answer: &Answer) -> Result<(), String> {
        let responses = operation["responses"].as_object().unwrap();
        let media = answer.header("content-type");
        if answer.status >= 500 {
            return Err("a bug in the server".to_owned());
        }
        if answer.status >= 400 {
            self.problem(&responses["default"], answer)?;
            return if answer.status == 401 && answer.header("www-authenticate").is_none() {
                Err("401 without WWW-Authenticate".to_owned())
            } else {
                Ok(())
            };
        }
        let Some(response) = responses.get(&answer.status.to_string()) else {
            return Err("the document does not name this status".to_owned());
        };
        let Some(content) = response.get("content") else {
            return if answer.body.is_empty() { Ok(()) } else { Err("a body where none is documented".to_owned()) };
        };
        let media = media.ok_or("no Content-Type")?;
        let Some(documented) = content.get(media) else {
            return Err(format!("the document does not name {media}"));
        };
        if media == "application/json" {
            let value = serde_json::from_slice(&answer.body).map_err(|error| format!("no JSON: {error}"))?;
            self.fits(&documented["schema"], &value)?;
        }
        Ok(())
    }

    fn problem(&mut self, response: &Value, answer: &Answer) -> Result<(), String> {
        if answer.header("content-type") != Some("application/problem+json") {
            return Err(format!("an error of the type {:?}", answer.header("content-type")));
        }
        let value: Value = serde_json::from_slice(&answer.body).map_err(|error| format!("no JSON: {error}"))?;
        self.fits(&response["content"]["application/problem+json"]["schema"], &value)?;
        let code = Code::of(value["code"].as_str().unwrap()).unwrap();
        if value["status"] != answer.status || code.status() != answer.status {
            return Err(format!("{code} with the status {}", answer.status));
        }
        if value["detail"].as_str().unwrap().is_empty() {
            return Err("an error without a word".to_owned());
        }
        Ok(())
    }
}
