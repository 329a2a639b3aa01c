//! Crates depend only downwards: every `Cargo.toml` is held against one table.

use crate::repository::{files, root};

/// Allowed dependencies of each crate, group by group. `Any` is for the command, which assembles everything.
pub(crate) const ARROWS: &[(&str, Allowed)] = &[
    // Group core.
    ("units", Only(&[])),
    // Pure models of packets.
    ("packet-format", Only(&["units"])),
    ("calculus", Only(&["units"])),
    // Shares of a rate: pure, without a clock.
    ("sharing", Only(&["units"])),
    ("topology", Only(&["units"])),
    ("contracts", Only(&["units", "topology", "packet-format", "sharing"])),
    // Group admission.
    ("scheme-api", Only(&["units", "topology"])),
    ("ledger", Only(&["units", "topology", "contracts", "calculus"])),
    (
        "schemes",
        Only(&["units", "topology", "contracts", "calculus", "ledger", "scheme-api", "sharing", "packet-format"]),
    ),
    // Group sim.
    // The mechanisms of a host below its transports; roles are all that it knows of schemes.
    ("stack", Only(&["units", "scheme-api"])),
    // Policies define the sharing of hosts; schemes define their names and parameters.
    ("scenarios", Only(&["units", "topology", "contracts", "calculus", "scheme-api", "schemes"])),
    // Drives the schemes; never the ledger: the simulator is checked from outside.
    ("sim", Only(&["units", "topology", "sharing", "contracts", "scheme-api", "schemes", "scenarios", "stack"])),
    // Group check.
    // Independent of its subject: never the calculus, the ledger, a scheme or the roles.
    ("recheck", Only(&["units", "topology"])),
    // Derives all statements again by the method of recheck, and then sees packets only.
    ("adversary", Only(&["units", "topology", "scenarios", "sim", "recheck"])),
    // Group io.
    (
        "formats",
        Only(&["units", "topology", "contracts", "scenarios", "scheme-api", "schemes", "calculus", "packet-format"]),
    ),
    // Decisions for people and programs; never the session of a driver.
    ("explain", Only(&["units", "topology", "contracts", "calculus", "ledger", "scheme-api", "schemes", "recheck"])),
    // Text, plots and pages of results: pure functions of plain data.
    ("report", Only(&["units", "explain"])),
    // Group control.
    // Records on disk; knows nothing of networks.
    ("store", Only(&[])),
    // Makes writes of a program fail, for tests.
    ("faults", Only(&[])),
    // Messages between controller, nodes and clients; decides nothing.
    ("protocol", Only(&["units", "topology", "contracts"])),
    // A pure state machine; the server and the world of the tests drive it.
    (
        "controller",
        Only(&["units", "topology", "contracts", "ledger", "scheme-api", "schemes", "protocol", "packet-format"]),
    ),
    // Requests to a controller over HTTP, its address, token and certificates.
    ("client", Only(&["protocol", "units"])),
    // Batches of records in etcd; knows no more of them than the store. Connections are made as those of clients are.
    ("replica", Only(&["store", "client"])),
    // REST in front, a ledger on disk behind, the controller between.
    (
        "server",
        Only(&[
            "units",
            "topology",
            "contracts",
            "ledger",
            "scheme-api",
            "schemes",
            "formats",
            "explain",
            "controller",
            "replica",
            "store",
            "protocol",
            "packet-format",
        ]),
    ),
    // Group linux.
    // A protocol as bytes; knows nothing of networks.
    ("openflow", Only(&[])),
    // eBPF programs, their maps, interfaces and queueing disciplines. It knows no controller.
    ("dataplane", Only(&["units", "topology", "packet-format", "openflow"])),
    // Drives brokers: in virtual time, and over sockets.
    ("broker", Only(&["units", "topology", "contracts", "scheme-api", "sharing", "schemes"])),
    // Carries out the controller's decisions on Linux; never the simulator, the server or the reader of files. Hosts divide the shares of contracts
    // by the scheme that the simulator runs, and agents sign as brokers do.
    (
        "agent",
        Only(&[
            "units",
            "topology",
            "contracts",
            "protocol",
            "packet-format",
            "dataplane",
            "scheme-api",
            "schemes",
            "sharing",
            "broker",
            "client",
        ]),
    ),
    // Configurations of switches without an agent: pure texts, with the queues that `dataplane` describes.
    ("render", Only(&["units", "topology", "dataplane"])),
    // A network in namespaces: never a scheme, never the server's insides.
    ("lab", Only(&["units", "topology", "contracts", "formats", "packet-format", "dataplane"])),
    // Group facade.
    // The library: no daemon, no database, no data plane, no laboratory.
    (
        "wayleave",
        Only(&[
            "units",
            "topology",
            "contracts",
            "ledger",
            "scheme-api",
            "schemes",
            "formats",
            "explain",
            "recheck",
            "scenarios",
            "sim",
            "adversary",
            "calculus",
            "report",
            "sharing",
        ]),
    ),
    // Group research.
    // Figures of the simulator, of a host's programs and of real packets.
    (
        "experiments",
        Only(&[
            // The library, its reports, and the client of the controllers of laboratories.
            "wayleave",
            "report",
            "client",
            "protocol",
            "formats",
            "explain",
            "units",
            "topology",
            "contracts",
            "scheme-api",
            "ledger",
            "schemes",
            "scenarios",
            "sim",
            "adversary",
            "dataplane",
            "lab",
            "sharing",
            "packet-format",
            "calculus",
        ]),
    ),
    // Group command.
    ("cli", Any),
    ("repo-checks", Only(&[])),
];

use Allowed::{Any, Only};

#[derive(Clone, Copy)]
pub(crate) enum Allowed {
    Only(&'static [&'static str]),
    Any,
}

const PREFIX: &str = "wayleave-";
/// The library, which is called like the command.
const FACADE: &str = "wayleave";

/// A crate of this workspace by its short name.
fn short(package: &str) -> Option<&str> {
    if package == FACADE { Some(FACADE) } else { package.strip_prefix(PREFIX) }
}

/// A crate as its manifest describes it; names are without the prefix that all crates share.
pub(crate) struct Manifest {
    pub(crate) name: String,
    /// The folder below `crates` that the crate is in, or its own.
    pub(crate) group: String,
    /// `[dependencies]` and `[build-dependencies]`, also those of a single target.
    pub(crate) dependencies: Vec<String>,
    /// `[dev-dependencies]`: tests may look anywhere.
    pub(crate) dev_dependencies: Vec<String>,
}

impl Manifest {
    fn parse(text: &str) -> Result<Self, String> {
        let manifest: toml::Table = text.parse().map_err(|error| format!("is no TOML: {error}"))?;
        let package = manifest.get("package").and_then(toml::Value::as_table).ok_or("has no [package]")?;
        let name = package.get("name").and_then(toml::Value::as_str).ok_or("has no package name")?;
        let name = short(name).ok_or_else(|| format!("names a package {name}, not {PREFIX}..."))?;
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        let tables = || targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
        let all = |key: &str| {
            let everywhere = [&manifest].into_iter().chain(tables());
            everywhere.filter_map(|table| table.get(key)?.as_table()).flat_map(internal).collect::<Vec<_>>()
        };
        let dependencies = [all("dependencies"), all("build-dependencies")].concat();
        Ok(Self {
            name: name.to_owned(),
            group: String::new(),
            dependencies,
            dev_dependencies: all("dev-dependencies"),
        })
    }
}

/// The crates of this workspace among some dependencies, also those that are renamed.
fn internal(dependencies: &toml::Table) -> impl Iterator<Item = String> {
    dependencies.iter().filter_map(|(key, value)| {
        let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
        short(package).map(str::to_owned)
    })
}

/// Every arrow that the table does not allow, and every crate that it does not know.
fn faults(manifests: &[Manifest], arrows: &[(&str, Allowed)]) -> Vec<String> {
    let mut faults = Vec::new();
    for Manifest { name, dependencies, dev_dependencies, .. } in manifests {
        for other in dependencies.iter().chain(dev_dependencies) {
            if !manifests.iter().any(|manifest| manifest.name == *other) {
                faults.push(format!("{name} depends on {other}, which is no crate of this workspace"));
            }
        }
        match arrows.iter().find(|(known, _)| known == name) {
            None => faults.push(format!(
                "crate {name} is not in the table: decide what it may depend on, add a line to ARROWS in \
                 crates/repo-checks/tests/repo-checks/arrows.rs, and name it in ARCHITECTURE.md"
            )),
            Some((_, Any)) => {}
            Some((_, Only(allowed))) => {
                for other in dependencies.iter().filter(|other| !allowed.contains(&other.as_str())) {
                    faults.push(format!("{name} -> {other} is not allowed: {name} may depend on {}", list(allowed)));
                }
            }
        }
    }
    for (known, _) in arrows.iter().filter(|(known, _)| !manifests.iter().any(|manifest| manifest.name == *known)) {
        faults.push(format!("the table has a line for {known}, and there is no such crate: remove it"));
    }
    faults
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no other crate".to_owned() } else { names.join(", ") }
}

/// Returns the manifests of all crates.
pub(crate) fn manifests() -> Vec<Manifest> {
    let read = |path: &str, text: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        let (["crates", group, "Cargo.toml"] | ["crates", group, _, "Cargo.toml"]) = parts[..] else { return None };
        let manifest = Manifest::parse(text).unwrap_or_else(|error| panic!("{path} {error}"));
        Some(Manifest { group: group.to_owned(), ..manifest })
    };
    files().unwrap().iter().filter_map(|file| read(&file.path, &file.text)).collect()
}

/// Returns dependencies between crates that a lock file lacks: a build with `--locked` is refused then.
fn lock_faults(lock: &str, manifests: &[Manifest]) -> Vec<String> {
    let lock: toml::Table = lock.parse().unwrap_or_else(|error| panic!("the lock is no TOML: {error}"));
    let packages = lock.get("package").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut faults = Vec::new();
    for package in packages {
        let name = package.get("name").and_then(toml::Value::as_str).and_then(short);
        let Some(manifest) = manifests.iter().find(|manifest| Some(manifest.name.as_str()) == name) else { continue };
        let locked = package.get("dependencies").and_then(toml::Value::as_array).into_iter().flatten();
        let locked: Vec<&str> = locked.filter_map(toml::Value::as_str).filter_map(short).collect();
        let missing = manifest.dependencies.iter().filter(|other| !locked.contains(&other.as_str()));
        faults.extend(missing.map(|other| format!("{} -> {other}", manifest.name)));
    }
    faults
}

#[test]
fn crates_depend_only_downwards() {
    let faults = faults(&manifests(), ARROWS);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_lock_of_the_python_package_matches_the_crates() {
    let lock = std::fs::read_to_string(root().join("python/Cargo.lock")).unwrap();
    let faults = lock_faults(&lock, &manifests());
    let remedy = "`cargo update --workspace --manifest-path python/Cargo.toml`";
    assert!(faults.is_empty(), "python/Cargo.lock lacks what {remedy} adds:\n{}\n", faults.join("\n"));
    let old = "[[package]]\nname = 'wayleave-high'\ndependencies = ['serde']";
    let high = Manifest::parse(&format!("{HIGH}\ndependencies.wayleave-low.workspace = true")).unwrap();
    assert_eq!(lock_faults(old, &[high]), ["high -> low"]);
}

#[test]
fn the_table_has_no_cycle() {
    // Every line mentions only crates above it in some order: crates without remaining dependencies are removed
    // repeatedly.
    let mut left: Vec<_> = ARROWS
        .iter()
        .filter_map(|(name, allowed)| match allowed {
            Only(allowed) => Some((*name, *allowed)),
            Any => None,
        })
        .collect();
    while !left.is_empty() {
        let names: Vec<&str> = left.iter().map(|(name, _)| *name).collect();
        left.retain(|(_, allowed)| allowed.iter().any(|other| names.contains(other)));
        assert!(left.len() < names.len(), "these depend on one another: {names:?}");
    }
}

const TABLE: &[(&str, Allowed)] = &[("low", Only(&[])), ("high", Only(&["low"]))];
const LOW: &str = "package.name = 'wayleave-low'";
const HIGH: &str = "package.name = 'wayleave-high'";

fn found(manifests: &[&str]) -> String {
    let manifests: Vec<Manifest> = manifests.iter().filter_map(|text| Manifest::parse(text).ok()).collect();
    faults(&manifests, TABLE).join("; ")
}

#[test]
fn an_arrow_in_the_table_passes() {
    assert_eq!(
        found(&[LOW, &format!("{HIGH}\ndependencies.wayleave-low.workspace = true\ndependencies.serde = '1'")]),
        ""
    );
}

#[test]
fn an_upward_arrow_is_refused_in_any_section() {
    for arrow in [
        "dependencies.wayleave-high.workspace = true",
        "dependencies.wayleave-high = '0.1'",
        "dependencies.innocent = { package = 'wayleave-high', path = '../high' }",
        "build-dependencies.wayleave-high.workspace = true",
        "target.'cfg(unix)'.dependencies.wayleave-high.workspace = true",
    ] {
        let expected = "low -> high is not allowed: low may depend on no other crate";
        assert_eq!(found(&[&format!("{LOW}\n{arrow}"), HIGH]), expected, "{arrow}");
    }
}

#[test]
fn dev_dependencies_may_point_upwards_but_not_to_unknown_crates() {
    assert_eq!(found(&[&format!("{LOW}\ndev-dependencies.wayleave-high.workspace = true"), HIGH]), "");
    let gone = format!("{LOW}\ndev-dependencies.wayleave-gone.workspace = true");
    assert_eq!(found(&[&gone, HIGH]), "low depends on gone, which is no crate of this workspace");
}

#[test]
fn a_crate_missing_from_the_table_is_refused_with_advice() {
    let faults = found(&[LOW, HIGH, "package.name = 'wayleave-new'"]);
    assert!(faults.contains("crate new is not in the table") && faults.contains("add a line to ARROWS"), "{faults}");
    assert!(found(&[LOW]).contains("the table has a line for high"));
}

#[test]
fn a_manifest_of_another_shape_is_refused() {
    for (text, expected) in [
        ("package.name =", "is no TOML"),
        ("dependencies.serde = '1'", "has no [package]"),
        ("package.version = '1'", "has no package name"),
        ("package.name = 'other'", "names a package other"),
    ] {
        let error = Manifest::parse(text).err().unwrap_or_default();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
