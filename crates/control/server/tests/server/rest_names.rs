//! Names of the REST interface: earlier ones are removed, those of agents stay, and the dashboard uses the new ones
//! (decision 128).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// Keys and values of 0.2.0 that decision 128 renamed.
const RENAMED: &str = "behind before bundles blind blocks broken follows kept leads near notKept sightings standing stretches unseen waitsFor";

/// A later schema: minutes of a statement are `kept` or `broken`, as contracts between people are.
const LATER: &str = "StatementMinutes";

/// Schemas of 0.2.0 that decision 128 renamed.
const RENAMED_SCHEMAS: &str =
    "Block Bundle Consequences Level Meanwhile Moment NotKept Prospect Question Risk Risks Sighting Stretch Tiers";

/// Schemas of messages of agents, with their keys or values, as in 0.2.0; `ContractProblem`, `contractProblems`, `rulesInForce` and the version of a
/// `ShareRule` came later, and agents of 0.2.0 leave them out or ignore them.
const OF_AGENTS: &str = "\
CheckReport counted id seen sent trouble
CheckTask id sends
Clock aheadNs boot errorNs
Confirmations done epoch
SampledPackets clockErrorNs late lost lostBehind packets timed worstNs
Hop link queue
Kind bandwidth best-effort latency objective
Match destinationAddress destinationPort protocol sourceAddress sourcePort
Measured late packets serial worstNs
Messages epoch generation operations
Neighbour host id mac
Neighbours downLinks downNodes generation vms
Operation serial version
Probes count from match to
ContractProblem serial why
Reports beat checks contractProblems epoch hearsAt leaves measured packets repairs rulesInForce samples traffic troubles withoutCarrier
Rule boundNs burstBytes from id match maxFrameBytes rateBps routes to
Samples arrived clock isIncomplete level number sent
ProbeCounts frame interface isOutgoing leadsTo probes
SentPackets boundNs packets serial to via
Session epoch generation
SessionSpec after installed
Member host name
ShareRule id kind maxBps members minBps route serial version weight
Shares contracts peers receiveBps secret transmitBps
Tasks checks
Traffic bytes delayed followed oversized packets queueFull serial waitedNs waiting waits
Work do rule
";

fn schemas() -> BTreeMap<String, Value> {
    let document: Value = serde_json::from_str(&wayleave_server::openapi()).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap().clone();
    schemas.into_iter().collect()
}

/// Keys of an object and values of an enumeration, also of its parts and alternatives.
fn names(schemas: &BTreeMap<String, Value>, schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return names(schemas, &schemas[name], found);
    }
    found.extend(schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()));
    found.extend(schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    for part in ["allOf", "oneOf", "anyOf"].iter().filter_map(|part| schema[*part].as_array()).flatten() {
        names(schemas, part, found);
    }
}

fn names_of(schemas: &BTreeMap<String, Value>, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    names(schemas, schemas.get(name).unwrap_or_else(|| panic!("there is no schema {name}")), &mut found);
    found
}

#[test]
fn renamed_keys_values_and_schemas_are_in_no_document() {
    let schemas = schemas();
    let has = |word: &str| schemas.keys().any(|name| name != LATER && names_of(&schemas, name).contains(word));
    assert!(has("pendingReleases") && has("at-risk") && has("follower"), "nothing is found");
    let old: Vec<&str> = RENAMED.split(' ').filter(|word| has(word)).collect();
    assert!(old.is_empty(), "{old:?}");
    let old: Vec<&str> = RENAMED_SCHEMAS.split(' ').filter(|name| schemas.contains_key(*name)).collect();
    assert!(old.is_empty(), "{old:?}");
}

/// Agents of 0.2.0 work with this controller: keys may be added to their messages, and none goes.
#[test]
fn messages_of_agents_have_the_names_of_0_2_0() {
    let schemas = schemas();
    for line in OF_AGENTS.lines() {
        let mut words = line.split(' ');
        let present = names_of(&schemas, words.next().unwrap());
        let missing: Vec<&str> = words.filter(|word| !present.contains(*word)).collect();
        assert!(missing.is_empty(), "{line}: {missing:?}");
    }
}

/// `ui/src/types.ts` is written from the document by `npm run types`.
#[test]
fn types_of_the_dashboard_are_those_of_the_document() {
    let schemas = schemas();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../ui/src/types.ts");
    let text = std::fs::read_to_string(path).unwrap();
    let mut found = 0;
    for block in text.split("export interface ").skip(1) {
        let (name, rest) = block.split_once(" {\n").unwrap();
        let (body, _) = rest.split_once("\n}").unwrap();
        let key = |line: &str| line.trim().split([':', '?']).next().unwrap().to_owned();
        let keys: BTreeSet<String> = body.lines().map(key).collect();
        assert_eq!(keys, names_of(&schemas, name), "{name}: run `npm run types` in ui/ and `make ui`");
        found += 1;
    }
    assert!(found > 20, "{found} interfaces");
}
