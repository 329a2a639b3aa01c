//! Networks and contracts: what a plan is made of.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;
use wayleave::{Cancel, Contracts, Error, ImportOptions, Network, Source, Watch};
use wayleave_explain::sentences::nearest;
use wayleave_formats::{DelayUnit, HostSelector, RateUnit, write_topology};
use wayleave_sim::trace::fnv1a;
use wayleave_topology::{HopDistances, LinkId};
use wayleave_units::{Bytes, Rate, Time};

use crate::document::loaded;
use crate::error::{Failure, in_python, of_keywords, usage};
use crate::html::page;
use crate::table::{Column, Kind, Provenance, Table, columns};
use crate::watch::{Last, Pulse, aside, run};

/// The hash of texts, as results carry it: FNV-1a over each with its length, so that no text can pass into the next.
pub(crate) fn hash<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    format!("{:016x}", fnv1a(&bytes))
}

/// Returns the provenance of a table: the version, and further entries.
pub(crate) fn provenance(more: impl IntoIterator<Item = (&'static str, String)>) -> Provenance {
    std::iter::once(("wayleave", env!("CARGO_PKG_VERSION").to_owned())).chain(more).collect()
}

/// Returns provenance whose hash covers the input and all further entries: two tables with equal metadata are equal.
pub(crate) fn hashed(input: &str, more: impl IntoIterator<Item = (&'static str, String)>) -> Provenance {
    let more: Vec<_> = more.into_iter().collect();
    let texts = more.iter().flat_map(|(key, value)| [*key, value.as_str()]);
    let input_hash = hash(std::iter::once(input).chain(texts));
    provenance(std::iter::once(("input_hash", input_hash)).chain(more))
}

/// Returns the provenance of a table that is derived from another one. New entries replace earlier ones, which the
/// hash covers.
pub(crate) fn derived(from: &Provenance, more: impl IntoIterator<Item = (&'static str, String)>) -> Provenance {
    let more: Vec<_> = more.into_iter().collect();
    let input = from.iter().find(|(key, _)| *key == "input_hash").map_or("", |(_, hash)| hash.as_str());
    let is_kept = |(key, _): &&(&'static str, String)| {
        !matches!(*key, "wayleave" | "input_hash") && more.iter().all(|(other, _)| other != key)
    };
    let kept = from.iter().filter(is_kept).cloned();
    hashed(input, kept.chain(more.iter().cloned()))
}

/// A document that the library has written.
pub(crate) fn parsed(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| Error::Internal(format!("a document cannot be read again: {error}")))
}

/// Rows of a document, under a key.
pub(crate) fn rows(document: &mut Value, key: &str) -> Vec<Value> {
    match document.get_mut(key).map(Value::take) {
        Some(Value::Array(rows)) => rows,
        _ => Vec::new(),
    }
}

/// A rate or a time with its unit; the message names the argument.
pub(crate) fn quantity<T: FromStr<Err: std::fmt::Display>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| usage(format!("{name}: {error}")))
}

/// A network: hosts, switches, and links with rates, delays and queues.
#[pyclass(name = "Network", module = "wayleave", frozen)]
pub(crate) struct PyNetwork {
    pub(crate) network: Network,
    /// Assumptions made for a file of another tool.
    remarks: Vec<String>,
    text: Text,
}

/// The text of a network as a file, written when it is first asked for.
type Text = Arc<OnceLock<String>>;

/// As a file of Wayleave has it.
fn written<'t>(text: &'t Text, network: &Network) -> &'t str {
    text.get_or_init(|| write_topology(&network.graph, &network.name))
}

impl PyNetwork {
    fn of(network: Network) -> Self {
        Self { network, remarks: Vec::new(), text: Text::default() }
    }

    /// Does work with the network and its text, without the interpreter's lock.
    fn aside<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Network, &str) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (network, text) = (self.network.clone(), self.text.clone());
        aside(py, move || work(&network, written(&text, &network)))
    }
}

#[pymethods]
impl PyNetwork {
    /// Reads a file, or makes the network of a builder (`fat-tree:k=4,queues=8`).
    #[new]
    fn new(py: Python<'_>, text: PathBuf) -> PyResult<Self> {
        aside(py, move || Network::open(&text.to_string_lossy())).map(Self::of)
    }

    /// Reads a file. Options supply the values that files of other tools lack (`default_rate`, `hosts`, ...: see the
    /// stub).
    #[staticmethod]
    #[pyo3(signature = (file, **options))]
    fn read(py: Python<'_>, file: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        imported(py, move || Ok(Source::read(&file)?), options)
    }

    /// Parses a text; `name` is shown in messages.
    #[staticmethod]
    #[pyo3(signature = (text, *, name="network", **options))]
    fn parse(py: Python<'_>, text: &str, name: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let source = Source::new(name, text);
        imported(py, move || Ok(source), options)
    }

    /// Converts a graph of NetworkX. `kind` of a node is host or switch, edges have `bandwidth` and `delay`, as texts
    /// with units or as numbers with `rate_unit` and `delay_unit`.
    #[staticmethod]
    #[pyo3(signature = (graph, **options))]
    fn from_networkx(graph: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let written = graph.py().import("wayleave._networkx")?.call_method1("node_link", (graph,))?;
        let (text, name): (String, String) = written.extract()?;
        imported(graph.py(), move || Ok(Source::new(&name, text)), options)
    }

    /// k pods of edge and aggregation switches, and (k/2)^2 cores.
    #[staticmethod]
    #[pyo3(signature = (k=4, **keys))]
    fn fat_tree(py: Python<'_>, k: u32, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        built(py, "fat-tree", &[("k", k)], keys)
    }

    /// Every leaf joined to every spine.
    #[staticmethod]
    #[pyo3(signature = (leaves=4, spines=2, hosts=4, **keys))]
    fn leaf_spine(
        py: Python<'_>,
        leaves: u32,
        spines: u32,
        hosts: u32,
        keys: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        built(py, "leaf-spine", &[("leaves", leaves), ("spines", spines), ("hosts", hosts)], keys)
    }

    /// Switches in a line.
    #[staticmethod]
    #[pyo3(signature = (switches=4, hosts=1, **keys))]
    fn line(py: Python<'_>, switches: u32, hosts: u32, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        built(py, "line", &[("switches", switches), ("hosts", hosts)], keys)
    }

    /// Switches in a ring.
    #[staticmethod]
    #[pyo3(signature = (switches=4, hosts=1, **keys))]
    fn ring(py: Python<'_>, switches: u32, hosts: u32, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        built(py, "ring", &[("switches", switches), ("hosts", hosts)], keys)
    }

    /// Hosts around one switch.
    #[staticmethod]
    #[pyo3(signature = (hosts, **keys))]
    fn star(py: Python<'_>, hosts: u32, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        built(py, "star", &[("hosts", hosts)], keys)
    }

    /// Name of the network.
    #[getter]
    fn name(&self) -> &str {
        &self.network.name
    }

    /// Assumptions made for a file of another tool, and its parts that were left out.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    /// Names of hosts.
    #[getter]
    fn hosts(&self) -> Vec<String> {
        let graph = &self.network.graph;
        graph.hosts().map(|host| graph.node(host).name.clone()).collect()
    }

    /// Names of switches.
    #[getter]
    fn switches(&self) -> Vec<String> {
        let graph = &self.network.graph;
        graph.switches().map(|switch| graph.node(switch).name.clone()).collect()
    }

    /// Returns up to `most` shortest paths from a host to another, each as names of links, for an admission scheme of
    /// your own.
    #[pyo3(signature = (source, destination, *, most=16))]
    fn shortest_paths(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        most: usize,
    ) -> PyResult<Vec<Vec<String>>> {
        py.detach(|| self.paths(source, destination, most)).map_err(|error| Failure::from(error).into())
    }

    /// Returns the hash of its whole content, as in the provenance of tables.
    #[getter]
    fn input_hash(&self, py: Python<'_>) -> PyResult<String> {
        self.aside(py, |_, text| Ok(hash([text])))
    }

    /// Links, one row for each direction: rate, propagation, queues.
    #[getter]
    fn links(&self, py: Python<'_>) -> PyResult<Table> {
        self.aside(py, |network, text| {
            let mut document = parsed(&json_of(network)?)?;
            let mut links = rows(&mut document, "links");
            for link in &mut links {
                let queues = link.get("queues").and_then(Value::as_array).map_or(0, Vec::len);
                link["queues"] = queues.into();
            }
            let mut all = columns(Kind::Text, &["name", "from", "to"]);
            all.extend(columns(Kind::Whole, &["rate_bps", "propagation_ns", "mtu_bytes", "queues"]));
            Table::of(&links, &all, &provenance([("input_hash", hash([text]))]))
        })
    }

    /// Everything that it knows, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self.aside(py, |network, _| json_of(network))?;
        loaded(py, text.into())
    }

    /// A file of Wayleave with this network.
    fn to_yaml(&self, py: Python<'_>) -> PyResult<String> {
        self.aside(py, |_, text| Ok(text.to_owned()))
    }

    /// A picture, as the text of an SVG file; `None` for more than 300 nodes.
    fn picture(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.aside(py, |network, _| Ok(network.picture()))
    }

    /// Also what was assumed about a file of another tool: which nodes are hosts, above all.
    fn __repr__(&self) -> String {
        let assumed = match self.remarks.as_slice() {
            [] => String::new(),
            [only] => format!("; {only}"),
            [first, more @ ..] => format!("; {first} (and {} more: see .remarks)", more.len()),
        };
        format!("<Network {}{assumed}>", self.network.summary())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        self.aside(py, |network, _| Ok(page(&network.summary(), network.picture().as_deref(), "")))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String, String))> {
        let rebuild = py.import("wayleave._wayleave")?.getattr("_network_of")?;
        Ok((rebuild, (self.to_yaml(py)?, format!("{}.yaml", self.network.name))))
    }
}

/// Returns the output of `wayleave topology show -o json`.
fn json_of(network: &Network) -> Result<String, Error> {
    let mut out = Vec::new();
    network.write_json(&mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

impl PyNetwork {
    fn paths(&self, source: &str, destination: &str, most: usize) -> Result<Vec<Vec<String>>, Error> {
        let graph = &self.network.graph;
        let node = |name: &str| {
            graph.find_node(name).ok_or_else(|| {
                let near = nearest(name, graph.nodes().map(|(_, node)| node.name.as_str()));
                let near = near.map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
                Error::Usage(format!("there is no node \"{name}\" in {}{near}", self.network.name))
            })
        };
        let (from, to) = (node(source)?, node(destination)?);
        let distances = HopDistances::to(graph, to);
        let mut paths = Vec::new();
        let mut open = vec![(from, Vec::new())];
        while let Some((at, path)) = open.pop() {
            if paths.len() >= most {
                break;
            }
            if at == to {
                paths.push(path.iter().map(|&link: &LinkId| graph.link(link).name.clone()).collect());
                continue;
            }
            let Some(left) = distances.from(at) else { continue };
            for &link in graph.links_from(at).iter().rev() {
                if distances.from(graph.link(link).to).is_some_and(|next| next + 1 == left) {
                    open.push((graph.link(link).to, [path.as_slice(), &[link]].concat()));
                }
            }
        }
        Ok(paths)
    }
}

/// Makes the network of a builder. Keys are those of `wayleave topology list`, in the spelling of Python
/// (`host_queues`).
fn built(py: Python<'_>, kind: &str, own: &[(&str, u32)], keys: Option<&Bound<'_, PyDict>>) -> PyResult<PyNetwork> {
    let mut text: Vec<String> = own.iter().map(|(key, value)| format!("{key}={value}")).collect();
    for (key, value) in keys.into_iter().flatten() {
        text.push(format!("{}={}", camel(&key.extract::<String>()?), value.str()?));
    }
    let text = format!("{kind}:{}", text.join(","));
    match aside(py, move || Ok(Network::build(&text)))? {
        Ok(network) => Ok(PyNetwork::of(network)),
        Err(error) => Err(of_keywords(&format!("Network.{}", kind.replace('-', "_")), &error)),
    }
}

/// `host_queues` as `hostQueues`.
fn camel(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        name + &letters.next().map_or_else(String::new, |letter| letter.to_uppercase().collect()) + letters.as_str()
    })
}

/// Imports a network, with the values that files of other tools lack.
fn imported(
    py: Python<'_>,
    source: impl FnOnce() -> Result<Source, Error> + Send + 'static,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyNetwork> {
    let mut options = ImportOptions::default();
    for (key, value) in given.into_iter().flatten() {
        let key: String = key.extract()?;
        let text = value.str()?.to_string();
        options = match key.as_str() {
            "default_rate" => options.with_default_rate(quantity::<Rate>(&key, &text)?),
            "default_delay" => options.with_default_delay(quantity::<Time>(&key, &text)?),
            "default_mtu" => options.with_default_mtu(quantity::<Bytes>(&key, &text)?),
            "strict" => options.with_strict(value.is_truthy()?),
            "delay_from_coordinates" | "delay_from_places" => options.with_delay_from_places(value.is_truthy()?),
            "rate_unit" => options.with_rate_unit(rate_unit_of(&text)?),
            "delay_unit" => options.with_delay_unit(delay_unit_of(&text)?),
            "hosts" => options.with_hosts(host_rule(&text)?),
            "host_rate" => options.with_host_rate(quantity::<Rate>(&key, &text)?),
            other => {
                let all = "default_rate, default_delay, default_mtu, strict, delay_from_coordinates, rate_unit, delay_unit, hosts, host_rate";
                return Err(PyTypeError::new_err(format!("there is no argument {other}: they are {all}")));
            }
        };
    }
    let (network, origin) = aside(py, move || Network::import(&source()?, &options))?;
    let remarks = origin.remarks.iter().map(|remark| in_python(&remark.to_string())).collect();
    Ok(PyNetwork { network, remarks, text: Text::default() })
}

/// Restores a pickled network.
#[pyfunction]
pub(crate) fn _network_of(py: Python<'_>, text: &str, name: &str) -> PyResult<PyNetwork> {
    let source = Source::new(name, text);
    aside(py, move || Network::parse(&source)).map(PyNetwork::of)
}

fn rate_unit_of(text: &str) -> PyResult<RateUnit> {
    Ok(match text {
        "bit" => RateUnit::Bit,
        "kbit" => RateUnit::Kbit,
        "Mbit" => RateUnit::Mbit,
        "Gbit" => RateUnit::Gbit,
        "Tbit" => RateUnit::Tbit,
        other => return Err(usage(format!("rate_unit: \"{other}\" is none of bit, kbit, Mbit, Gbit, Tbit"))),
    })
}

fn delay_unit_of(text: &str) -> PyResult<DelayUnit> {
    Ok(match text {
        "ns" => DelayUnit::Ns,
        "us" => DelayUnit::Us,
        "ms" => DelayUnit::Ms,
        "s" => DelayUnit::S,
        other => return Err(usage(format!("delay_unit: \"{other}\" is none of ns, us, ms, s"))),
    })
}

/// Parses `auto`, `leaves`, `none`, or the number of hosts attached to every switch.
fn host_rule(text: &str) -> PyResult<HostSelector> {
    match text {
        "auto" => Ok(HostSelector::Auto),
        "leaves" => Ok(HostSelector::Leaves),
        "none" => Ok(HostSelector::None),
        number => {
            let wrong = || usage(format!("hosts: \"{number}\" is none of auto, leaves, none, and no number"));
            number.parse().map(HostSelector::Attach).map_err(|_| wrong())
        }
    }
}

/// Requested contracts, from files, texts, rows or a published mix.
#[pyclass(name = "Contracts", module = "wayleave", frozen)]
pub(crate) struct PyContracts {
    pub(crate) contracts: Arc<Contracts>,
    sources: Arc<Vec<Source>>,
    /// The network whose hosts they name, and its text as a file.
    network: (Network, Text),
    /// Hash of the network and of the requested contracts.
    hash: String,
    /// Of the random numbers of contracts that were drawn.
    seed: Option<u64>,
}

impl PyContracts {
    /// Contracts that `read` makes of their sources on the network.
    fn read_for(
        py: Python<'_>,
        on: &PyNetwork,
        seed: Option<u64>,
        read: impl FnOnce(&Network, &mut Last, &Cancel) -> Result<(Contracts, Vec<Source>), Error> + Send + 'static,
    ) -> PyResult<Self> {
        let (network, text) = (on.network.clone(), on.text.clone());
        run(py, None, move |progress, cancel| {
            let (contracts, sources) = read(&network, progress, cancel)?;
            let texts = std::iter::once(written(&text, &network)).chain(sources.iter().map(Source::text));
            let hash = hash(texts);
            Ok(Self {
                contracts: Arc::new(contracts),
                sources: Arc::new(sources),
                network: (network, text),
                hash,
                seed,
            })
        })
    }

    /// Their hosts are indices into the network that they were read for: another one would give them other hosts, or none.
    pub(crate) fn check_network(&self, py: Python<'_>, network: &PyNetwork) -> PyResult<()> {
        let (mine, text) = self.network.clone();
        let is_same = Arc::ptr_eq(&text, &network.text)
            || network.aside(py, move |_, other| Ok(written(&text, &mine) == other))?;
        if is_same {
            return Ok(());
        }
        Err(usage(format!(
            "these contracts were read for another network than {}\n  hint: read them for this one, with wayleave.contracts(..., network)",
            network.network.name
        )))
    }

    /// Returns the hash of the network and of the requested contracts.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// The seed of contracts that were drawn, for tables.
    pub(crate) fn seed(&self) -> Option<(&'static str, String)> {
        self.seed.map(|seed| ("seed", seed.to_string()))
    }
}

#[pymethods]
impl PyContracts {
    /// Texts as files have them, each with its name (`.csv` is CSV).
    #[staticmethod]
    fn _parse(py: Python<'_>, texts: Vec<(String, String)>, network: &PyNetwork) -> PyResult<Self> {
        Self::read_for(py, network, None, |network, _, _| {
            let sources: Vec<Source> = texts.into_iter().map(|(name, text)| Source::new(&name, text)).collect();
            Ok((Contracts::parse_all_kinds(&sources, network)?, sources))
        })
    }

    /// Files in YAML, JSON or CSV.
    #[staticmethod]
    fn _read(py: Python<'_>, files: Vec<String>, network: &PyNetwork) -> PyResult<Self> {
        Self::read_for(py, network, None, move |network, _, _| {
            let sources = files.iter().map(Source::read).collect::<Result<Vec<_>, _>>()?;
            Ok((Contracts::parse_all_kinds(&sources, network)?, sources))
        })
    }

    /// Random contracts in a mix of Chameleon's evaluation (CoNEXT 2020, Table 2).
    #[staticmethod]
    #[pyo3(signature = (network, *, scenario=8, seed=1, count=40))]
    fn drawn(py: Python<'_>, network: &PyNetwork, scenario: usize, seed: u64, count: usize) -> PyResult<Self> {
        Self::read_for(py, network, Some(seed), move |network, progress, cancel| {
            let contracts = Contracts::drawn(network, scenario, seed, count, &mut Watch::new(progress, cancel))?;
            // The same arguments lead to the same contracts on the same network.
            let source = Source::new("scenario", format!("scenario {scenario} seed {seed} count {count}"));
            Ok((contracts, vec![source]))
        })
    }

    /// Names, in their order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (names, mut pulse) = (PyList::empty(py), Pulse::default());
        for (_, contract) in self.contracts.all() {
            names.append(contract.name())?;
            pulse.beat(py)?;
        }
        Ok(names)
    }

    fn __len__(&self) -> usize {
        self.contracts.len()
    }

    fn __repr__(&self) -> String {
        let count = self.contracts.len();
        match self.seed {
            Some(_) => {
                format!("<Contracts: {count} drawn, {}>", self.sources.iter().map(Source::text).collect::<String>())
            }
            None => {
                let sources: Vec<&str> = self.sources.iter().map(Source::name).collect();
                format!("<Contracts: {count} from {}>", sources.join(", "))
            }
        }
    }
}

/// Columns of one request in a plan.
pub(crate) fn request_columns() -> Vec<Column> {
    let mut all = columns(Kind::Text, &["name", "tenant", "from", "to", "members", "class", "decision", "reason"]);
    all.extend(columns(Kind::Whole, &["rate_bps", "burst_bytes", "min_bps", "deadline_ns", "bound_ns"]));
    all.extend(columns(Kind::Text, &["route", "message"]));
    all
}
