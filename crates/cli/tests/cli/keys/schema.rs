//! The keys that the JSON Schemas of files allow, as paths: `spec.traffic[].rpc.think`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// Every key of a kind of file.
pub(super) fn keys(kind: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{}.schema.json", kind.to_lowercase()));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut keys = BTreeSet::new();
    walk(&schema, &schema, "", &mut keys);
    keys
}

/// Adds the keys below a place. A key that was added already has been walked: schemas that contain themselves end
/// there.
fn walk(root: &Value, node: &Value, path: &str, keys: &mut BTreeSet<String>) {
    if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
        walk(root, root.pointer(reference.trim_start_matches('#')).unwrap(), path, keys);
    }
    for (key, below) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        keys.insert(path.clone());
        walk(root, below, &path, keys);
    }
    if let Some(items) = node.get("items") {
        walk(root, items, &format!("{path}[]"), keys);
    }
    for list in ["oneOf", "anyOf", "allOf"] {
        node.get(list).and_then(Value::as_array).into_iter().flatten().for_each(|one| walk(root, one, path, keys));
    }
}

/// The place where a key of a scenario is read by one function for several places: policies, topologies, transports,
/// ports and sizes occur at several.
pub(super) fn canonical(key: &str) -> (&'static str, String) {
    const TOPOLOGY: [&str; 5] = ["builder", "defaults", "nodes", "links", "classes"];
    if let Some(rest) = key.strip_prefix("spec.topology.")
        && TOPOLOGY.iter().any(|part| rest.starts_with(part))
    {
        return ("Topology", format!("spec.{rest}"));
    }
    for policy in ["machine", "rack", "fabric", "events[].policy"] {
        if let Some(rest) = key.strip_prefix(&format!("spec.sharing.{policy}.")) {
            return ("Policy", format!("spec.{rest}"));
        }
    }
    const SAME: [(&str, &str); 10] = [
        ("spec.sharing.otherSchemes[].scheme.", "spec.sharing.scheme."),
        ("spec.sharing.scheme.parley.shaper.", "spec.sharing.scheme.eyeq."),
        ("spec.traffic[].transport.", "spec.transport."),
        ("spec.hosts.discipline.", "spec.switches.discipline."),
        ("spec.hosts.buffer.", "spec.switches.buffer."),
        ("spec.hosts.ecn.", "spec.switches.ecn."),
        ("spec.hosts.ecn[].", "spec.switches.ecn."),
        ("spec.switches.ecn[].", "spec.switches.ecn."),
        ("spec.traffic[].active[].", "spec.traffic[].active."),
        ("spec.traffic[].rpc.answer.", "spec.traffic[].sizes."),
    ];
    let mut key = key.to_owned();
    while let Some((from, to)) = SAME.iter().find(|(from, _)| key.starts_with(from)) {
        key = key.replacen(from, to, 1);
    }
    ("Scenario", key)
}
