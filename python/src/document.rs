//! Documents of JSON as values of Python, part by part: a long one keeps neither other threads nor signals waiting.

use std::fmt;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use wayleave::Error;

use crate::watch::{aside, give_way};

/// Bytes that the module `json` reads at once: some milliseconds of work.
const PART: usize = 1 << 18;

/// Members of an object in their order.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// A value, or its parts if it is long.
enum Parts {
    Whole(Arc<str>),
    List(Vec<Part>),
    Object(Vec<(String, Parts)>),
}

/// Items of a list.
enum Part {
    /// Some short ones, as the text of a list.
    Batch(Arc<str>),
    /// A long one.
    Item(Parts),
}

impl Parts {
    fn of(text: Arc<str>) -> Result<Self, Error> {
        if text.len() <= PART {
            return Ok(Self::Whole(text));
        }
        let of_raw = |raw: Box<RawValue>| Self::of(raw.get().into());
        match text.trim_start().as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(&text)?;
                let members = members.into_iter().map(|(key, value)| Ok((key, of_raw(value)?)));
                Ok(Self::Object(members.collect::<Result<_, Error>>()?))
            }
            Some(b'[') => {
                let items: Vec<Box<RawValue>> = serde_json::from_str(&text)?;
                let (mut parts, mut batch) = (Vec::new(), String::new());
                for item in items {
                    if item.get().len() > PART || batch.len() + item.get().len() > PART {
                        parts.extend(closed(&mut batch));
                    }
                    if item.get().len() > PART {
                        parts.push(Part::Item(of_raw(item)?));
                        continue;
                    }
                    batch.push(if batch.is_empty() { '[' } else { ',' });
                    batch.push_str(item.get());
                }
                parts.extend(closed(&mut batch));
                Ok(Self::List(parts))
            }
            _ => Ok(Self::Whole(text)),
        }
    }

    fn loaded<'py>(self, py: Python<'py>, loads: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Whole(text) => {
                give_way(py)?;
                loads.call1((&*text,))
            }
            Self::Object(members) => {
                let object = PyDict::new(py);
                for (key, value) in members {
                    object.set_item(key, value.loaded(py, loads)?)?;
                }
                Ok(object.into_any())
            }
            Self::List(parts) => {
                let list = PyList::empty(py);
                for part in parts {
                    match part {
                        Part::Batch(text) => {
                            list.call_method1("extend", (Self::Whole(text).loaded(py, loads)?,)).map(drop)?
                        }
                        Part::Item(item) => list.append(item.loaded(py, loads)?)?,
                    }
                }
                Ok(list.into_any())
            }
        }
    }
}

/// A batch of items as the text of a list; nothing if there is none.
fn closed(batch: &mut String) -> Option<Part> {
    if batch.is_empty() {
        return None;
    }
    batch.push(']');
    Some(Part::Batch(std::mem::take(batch).into()))
}

/// A document of JSON as values of Python.
pub(crate) fn loaded<'py>(py: Python<'py>, text: Arc<str>) -> PyResult<Bound<'py, PyAny>> {
    let loads = py.import("json")?.getattr("loads")?;
    if text.len() <= PART {
        return loads.call1((&*text,));
    }
    aside(py, move || Parts::of(text))?.loaded(py, &loads)
}
