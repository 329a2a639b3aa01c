//! Values and texts: as a schema wants them, nearly so, and wild.

use serde_json::{Map, Value, json};

use wayleave_repo_checks::Random;

/// Values for texts. There are few names, so that requests refer to common objects.
const TEXTS: &[(&str, &[&str])] = &[
    ("name", &["a", "b", "c", "vm1", "vm2", "acme"]),
    ("tenant", &["default", "default", "acme", "other"]),
    ("contract", &["a", "default:a", "a", "b", "acme:a"]),
    ("policy", &["a", "a", "b"]),
    ("vm", &["vm1", "default:vm1", "vm2", "acme:vm1"]),
    ("from", &["h1", "h1", "h2", "h2", "h3", "vm1"]),
    ("to", &["h16", "h16", "h15", "h15", "h14", "vm2"]),
    ("node", &["h1", "h1", "h1", "h16", "pod1-edge1"]),
    ("host", &["h1", "h2", "h16"]),
    ("link", &["h1->pod1-edge1", "pod1-edge1->h1", "pod1-agg1->core1"]),
    ("fail", &["pod1-agg1", "h3", "pod1-edge1->pod1-agg1"]),
    ("restore", &["pod1-agg1", "h3"]),
    ("drain", &["h1", "h2"]),
    ("delete", &["default:a", "default:b"]),
    ("rate", &["1Mbit", "1Mbit", "1Mbit", "10Mbit", "10Mbit", "400Mbit", "2Gbit"]),
    ("burst", &["3000B", "3000B", "1600B", "1600B", "1MB"]),
    ("excess", &["wait", "drop", "demote"]),
    ("deadline", &["5ms", "5ms", "20ms", "20ms", "20ms", "1us"]),
    ("accounting", &["wire", "frame"]),
    ("minFrame", &["64B", "128B"]),
    ("maxFrame", &["1500B", "9000B"]),
    ("route", &["h1->pod1-edge1:0", "pod1-edge1->h2:0"]),
    ("starts", &["2026-01-01T00:00:00Z", "2099-01-01T00:00:00Z"]),
    ("ends", &["2099-06-01T00:00:00Z", "2020-01-01T00:00:00Z"]),
    ("protocol", &["tcp", "udp", "17"]),
    ("sourceAddress", &["10.0.0.1", "fe80::1"]),
    ("destinationAddress", &["10.0.0.2", "fe80::2"]),
    ("state", &["admitted", "pending"]),
    ("decision", &["1", "2", "5"]),
    ("event", &["1", "2", "5"]),
    ("asOf", &["1", "2", "5", "2026-01-01T00:00:00Z"]),
    ("group", &["pod:pod1-edge1", "switch:core1"]),
    ("level", &["ok", "violated"]),
    ("after", &["a", "default:a", "1"]),
    ("min", &["1Mbit", "50Mbit", "200Mbit", "5Gbit"]),
    ("weight", &["1Mbit", "50Mbit", "200Mbit", "5Gbit"]),
    ("max", &["100Mbit", "5Gbit"]),
    ("within", &["1ms", "20ms", "200ms"]),
    ("hose", &["h1", "h5", "h9", "h16", "vm1", "vm2"]),
    ("members", &["h1", "h2", "h9", "h16", "vm1", "vm2"]),
    ("goal", &["completion", "latency", "deadline"]),
    ("apiVersion", &["wayleave/v1"]),
    ("kind", &["Contracts"]),
];

/// Texts that no route accepts.
const WILD: &[&str] = &[
    "",
    " ",
    "\0",
    "\u{1b}[31m\r\n",
    "-1",
    "1e400",
    "18446744073709551616",
    "999999999999999999999Gbit",
    "0",
    "0bit",
    "..",
    "../../etc/passwd",
    "a:b:c",
    ":",
    "default:",
    "\u{202e}\u{feff}é🦀",
    "'; DROP TABLE records; --",
    "h1->h1",
    "->",
    "null",
    "9999-12-31T23:59:60Z",
    "0000-00-00T00:00:00Z",
    "NaN",
];

/// Makes what a request brings.
pub(crate) struct Generator<'a> {
    pub(crate) document: &'a Value,
    pub(crate) random: Random,
}

impl Generator<'_> {
    /// A value as the schema of the document wants it, with texts that mostly make sense.
    pub(crate) fn value(&mut self, schema: &Value, key: &str, depth: usize) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.document.pointer(&reference[1..]).unwrap();
            return self.value(target, key, depth);
        }
        if let Some(values) = schema["enum"].as_array() {
            return self.random.pick(values).clone();
        }
        for word in ["oneOf", "anyOf"] {
            if let Some(all) = schema[word].as_array() {
                // Most operations concern the first alternative, of latency contracts.
                let chosen = if self.random.one_in(2) { 0 } else { self.random.index(all.len()) };
                return self.value(&all[chosen], key, depth);
            }
        }
        if let Some(all) = schema["allOf"].as_array() {
            let mut whole = Map::new();
            for part in all {
                if let Value::Object(part) = self.value(part, key, depth) {
                    whole.extend(part);
                }
            }
            return Value::Object(whole);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.random.pick(kinds).as_str().unwrap_or("null").to_owned(),
            Value::String(kind) => kind.clone(),
            _ => "string".to_owned(),
        };
        match kind.as_str() {
            "object" => self.object(schema, depth),
            // Different hosts: who has one twice is turned away.
            "array" if matches!(key, "hose" | "members") && !self.random.one_in(6) => json!(["h1", self.far_host()]),
            "array" => {
                let count = if depth > 4 { 0 } else { self.random.index(4) };
                let items = schema.get("prefixItems").and_then(Value::as_array);
                match items {
                    Some(items) => items.iter().map(|item| self.value(item, key, depth + 1)).collect(),
                    None => (0..count).map(|_| self.value(&schema["items"], key, depth + 1)).collect(),
                }
            }
            // Sessions are counted from 1.
            "integer" if key == "epoch" => json!(1 + self.random.index(3)),
            "integer" | "number" => self.number(schema),
            "boolean" => json!(self.random.one_in(2)),
            "null" => Value::Null,
            _ => json!(self.text(key)),
        }
    }

    fn far_host(&mut self) -> &'static str {
        const FAR: [&str; 3] = ["h2", "h9", "h16"];
        FAR[self.random.index(FAR.len())]
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut map = Map::new();
        let needed = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            // Rare keys are rare, so that most requests make sense.
            let is_common = matches!(
                name.as_str(),
                "name" | "placement" | "host" | "done" | "apply" | "delete" | "tenant" | "node" | "goal"
            );
            let is_taken = match name.as_str() {
                "name" => !self.random.one_in(8),
                _ if is_common => self.random.one_in(2),
                _ => self.random.one_in(30),
            };
            if needed(name) || is_taken {
                map.insert(name.clone(), self.value(property, name, depth + 1));
            }
        }
        Value::Object(map)
    }

    fn number(&mut self, schema: &Value) -> Value {
        let least = schema["minimum"].as_u64().unwrap_or(0);
        let most = schema["maximum"].as_u64().unwrap_or(100).max(least);
        let random = self.random.number();
        match self.random.index(4) {
            0 => json!(least),
            1 => json!(most),
            _ => json!(least + random % (most - least + 1).min(3)),
        }
    }

    /// A text for this key: mostly one that makes sense.
    pub(crate) fn text(&mut self, key: &str) -> String {
        if self.random.one_in(40) {
            return self.wild_text();
        }
        let known = TEXTS.iter().find(|(name, _)| *name == key);
        known.map_or_else(|| "text".to_owned(), |(_, texts)| (*self.random.pick(texts)).to_owned())
    }

    /// A text that no route accepts.
    pub(crate) fn wild_text(&mut self) -> String {
        match self.random.index(8) {
            0 => "x".repeat(1 + self.random.index(3000)),
            1 => (0..self.random.index(20)).filter_map(|_| char::from_u32(self.random.index(0x3000) as u32)).collect(),
            _ => (*self.random.pick(WILD)).to_owned(),
        }
    }

    fn wild_value(&mut self) -> Value {
        match self.random.index(14) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(-1),
            3 => json!(u64::MAX),
            4 => json!(i64::MIN),
            5 => json!(1.5e300),
            6 => json!([]),
            7 => json!({}),
            8 => json!([[[[{ "a": [null] }]]]]),
            9 => json!(vec![0; 300]),
            10 => json!(u64::from(u32::MAX) + 1),
            11 => json!(0.1),
            _ => json!(self.wild_text()),
        }
    }

    /// Changes one place of a value.
    pub(crate) fn disturb(&mut self, value: &mut Value) {
        let is_leaf_time = self.random.one_in(3);
        match value {
            Value::Object(map) if !map.is_empty() && !is_leaf_time => {
                let keys: Vec<String> = map.keys().cloned().collect();
                let key = self.random.pick(&keys).clone();
                match self.random.index(5) {
                    0 => drop(map.remove(&key)),
                    1 => drop(map.insert(self.wild_text(), json!(1))),
                    2 => drop(map.insert(key, self.wild_value())),
                    _ => self.disturb(map.get_mut(&key).unwrap()),
                }
            }
            Value::Array(list) if !list.is_empty() && !is_leaf_time => {
                let at = self.random.index(list.len());
                self.disturb(&mut list[at]);
            }
            _ => *value = self.wild_value(),
        }
    }

    /// Bytes that are no document at all, or hardly.
    pub(crate) fn wild_bytes(&mut self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        let at = self.random.index(bytes.len() + 1);
        match self.random.index(10) {
            0 => bytes.clear(),
            1 => bytes.truncate(at),
            2 => drop(bytes.splice(at..at, [0xff, 0xfe, 0xc0])),
            3 => bytes = "[".repeat(5000).into_bytes(),
            4 => bytes = [r#"{"a":"#.repeat(5000), "1".to_owned(), "}".repeat(5000)].concat().into_bytes(),
            5 => bytes.insert(at, b'\0'),
            6 => bytes = [&b"\xef\xbb\xbf"[..], whole].concat(),
            7 => bytes = vec![b' '; 2_000_000],
            8 => bytes = (0..self.random.index(200)).map(|_| self.random.number() as u8).collect(),
            // YAML that grows.
            _ => bytes =
                b"a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]"
                    .to_vec(),
        }
        bytes
    }
}
