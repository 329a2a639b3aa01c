//! Tables: typed columns with their provenance, handed to pandas, polars and pyarrow by the Arrow PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>), so that the package depends on none of them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use serde_json::Value;
use wayleave::Error;

use crate::error::usage;
use crate::html::{escaped, page_of_table};
use crate::watch::Pulse;

/// Rows of a table that are shown as text or as HTML.
const SHOWN: usize = 20;

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text; lists of texts are joined by spaces.
    Text,
    /// Counts, times in ns or ps, bytes, bit/s: never negative.
    Whole,
    /// Anything else with digits.
    Real,
}

/// A column: its name, its type, and the path of its value in a row (`completion_ps.p99`).
#[derive(Clone, Debug)]
pub(crate) struct Column {
    name: String,
    kind: Kind,
    path: String,
}

impl Column {
    /// A column whose name is its path with underlines.
    pub(crate) fn new(path: &str, kind: Kind) -> Self {
        Self { name: path.replace('.', "_"), kind, path: path.to_owned() }
    }

    /// The same under another name.
    pub(crate) fn called(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }
}

/// Columns of one kind.
pub(crate) fn columns(kind: Kind, paths: &[&str]) -> Vec<Column> {
    paths.iter().map(|path| Column::new(path, kind)).collect()
}

/// Provenance of a table: the version of Wayleave, the input, the seed. It is written to the schema's metadata.
pub(crate) type Provenance = Vec<(&'static str, String)>;

/// Rows and columns with their provenance. `pandas.DataFrame.from_arrow(table)`, `polars.DataFrame(table)` and `pyarrow.table(table)` read it.
#[pyclass(module = "wayleave", frozen)]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Of rows that are objects of JSON; what a row lacks is null.
    pub(crate) fn of(rows: &[Value], columns: &[Column], provenance: &Provenance) -> Result<Self, Error> {
        let fields: Vec<Field> =
            columns.iter().map(|column| Field::new(&column.name, data_type(column.kind), true)).collect();
        let arrays = columns.iter().map(|column| array(rows, column)).collect();
        let metadata: HashMap<String, String> =
            provenance.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let schema = Arc::new(Schema::new(fields).with_metadata(metadata));
        let batch = RecordBatch::try_new(schema, arrays).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self { batch })
    }

    /// A cell as text; empty where there is nothing.
    fn cell(&self, column: usize, row: usize) -> String {
        let array = self.batch.column(column);
        if array.is_null(row) {
            return String::new();
        }
        match array.data_type() {
            DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string(),
            DataType::Float64 => array.as_primitive::<Float64Type>().value(row).to_string(),
            _ => array.as_string::<i32>().value(row).to_owned(),
        }
    }

    fn names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The first rows as a table of HTML.
    pub(crate) fn html(&self) -> String {
        let rows = self.batch.num_rows();
        let shown = (0..rows.min(SHOWN)).map(|row| {
            let cells = (0..self.batch.num_columns()).map(|column| escaped(&self.cell(column, row)));
            cells.collect::<Vec<_>>()
        });
        let names: Vec<String> = self.names().iter().map(|name| escaped(name)).collect();
        let mut metadata: Vec<(&String, &String)> = self.batch.schema_ref().metadata().iter().collect();
        metadata.sort();
        let provenance =
            metadata.into_iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ");
        page_of_table(&names, shown, rows, &escaped(&provenance))
    }

    /// A capsule that Arrow's readers take.
    pub(crate) fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = std::iter::once(Ok::<_, ArrowError>(self.batch.clone()));
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Text => DataType::Utf8,
        Kind::Whole => DataType::UInt64,
        Kind::Real => DataType::Float64,
    }
}

fn array(rows: &[Value], column: &Column) -> ArrayRef {
    let cells = rows.iter().map(|row| column.path.split('.').try_fold(row, |value, key| value.get(key)));
    match column.kind {
        Kind::Text => {
            let mut builder = StringBuilder::new();
            cells.for_each(|cell| builder.append_option(cell.and_then(text)));
            Arc::new(builder.finish())
        }
        Kind::Whole => {
            let mut builder = UInt64Builder::new();
            cells.for_each(|cell| builder.append_option(cell.and_then(Value::as_u64)));
            Arc::new(builder.finish())
        }
        Kind::Real => {
            let mut builder = Float64Builder::new();
            cells.for_each(|cell| builder.append_option(cell.and_then(Value::as_f64)));
            Arc::new(builder.finish())
        }
    }
}

/// A text; of a list its items, and of a hop its link and queue.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => Some(items.iter().filter_map(text).collect::<Vec<_>>().join(" ")),
        Value::Object(hop) => match (hop.get("link").and_then(Value::as_str), hop.get("queue")) {
            (Some(link), Some(queue)) => Some(format!("{link}[{queue}]")),
            _ => Some(value.to_string()),
        },
        other => Some(other.to_string()),
    }
}

#[pymethods]
impl Table {
    /// Names of the columns, in their order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.names()
    }

    /// Provenance of the table: version, input hash, seed.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = PyDict::new(py);
        let mut entries: Vec<(&String, &String)> = self.batch.schema_ref().metadata().iter().collect();
        entries.sort();
        entries.into_iter().try_for_each(|(key, value)| metadata.set_item(key, value))?;
        Ok(metadata)
    }

    /// The values of a column.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let names = self.names();
        let Some(column) = names.iter().position(|known| known == name) else {
            let near = wayleave_explain::sentences::nearest(name, names.iter().map(String::as_str));
            let near = near.map_or_else(|| names.join(", "), |near| format!("did you mean \"{near}\"?"));
            return Err(pyo3::exceptions::PyKeyError::new_err(format!("there is no column \"{name}\": {near}")));
        };
        self.column(py, column, &mut Pulse::default())
    }

    /// Columns as lists, by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (columns, mut pulse) = (PyDict::new(py), Pulse::default());
        for (index, name) in self.names().into_iter().enumerate() {
            columns.set_item(name, self.column(py, index, &mut pulse)?)?;
        }
        Ok(columns)
    }

    /// A DataFrame of pandas, which has to be installed; its `attrs` are the provenance.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = py.import("pandas")?.getattr("DataFrame")?;
        let frame = class.call1((self.to_dict(py)?,))?;
        frame.getattr("attrs")?.call_method1("update", (self.metadata(py)?,))?;
        Ok(frame)
    }

    /// Rows as dictionaries.
    fn to_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.to_dict(py)?;
        let rows = PyList::empty(py);
        let mut pulse = Pulse::default();
        for row in 0..self.batch.num_rows() {
            let cells = PyDict::new(py);
            for (name, values) in &columns {
                cells.set_item(name, values.get_item(row)?)?;
                pulse.beat(py)?;
            }
            rows.append(cells)?;
        }
        Ok(rows)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore the requested schema; the consumer casts then.
        let _ = requested_schema;
        self.stream(py)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref());
        PyCapsule::new_with_value(py, schema.map_err(|error| usage(error.to_string()))?, c"arrow_schema")
    }

    /// A table is no list: this raises an error that names what is.
    fn __iter__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Table cannot be iterated: `for row in table.to_rows()`, or `table[\"name\"]` for a column",
        ))
    }

    /// Returns `true` if there is a column of that name.
    fn __contains__(&self, name: &str) -> bool {
        self.batch.schema_ref().column_with_name(name).is_some()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let (rows, names) = (self.batch.num_rows(), self.names());
        format!("Table of {}: {}", wayleave_units::count(rows, "row"), names.join(", "))
    }

    fn _repr_html_(&self) -> String {
        self.html()
    }
}

impl Table {
    fn column<'py>(&self, py: Python<'py>, index: usize, pulse: &mut Pulse) -> PyResult<Bound<'py, PyList>> {
        let array = self.batch.column(index);
        let values = PyList::empty(py);
        for row in 0..array.len() {
            pulse.beat(py)?;
            if array.is_null(row) {
                values.append(py.None())?;
                continue;
            }
            match array.data_type() {
                DataType::UInt64 => values.append(array.as_primitive::<UInt64Type>().value(row))?,
                DataType::Float64 => values.append(array.as_primitive::<Float64Type>().value(row))?,
                _ => values.append(array.as_string::<i32>().value(row))?,
            }
        }
        Ok(values)
    }
}
