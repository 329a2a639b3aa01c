//! The JSON gateway of etcd (3.4 and later: `/v3/...`): names and values are base64, numbers of 64 bits are texts.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::Agent;

use crate::etcd::{Compare, Done, Etcd, EtcdError, KeyValue, Op, Range};

/// How long a member may take to accept a connection, and to answer.
const CONNECT: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(3);
/// `UNAVAILABLE` and `DEADLINE_EXCEEDED` of gRPC: what was asked may have been done.
const UNCERTAIN: [i64; 2] = [14, 4];

/// Members of an etcd, of which one is asked at a time.
pub struct Gateway {
    /// Addresses such as `http://127.0.0.1:2379`.
    members: Vec<String>,
    /// Which one answered last.
    at: usize,
    agent: Agent,
}

/// What was wrong with one member.
enum Trouble {
    /// It was not reached.
    NotThere(String),
    Other(EtcdError),
}

impl Gateway {
    /// Of these members; nobody is asked yet.
    pub fn new(members: Vec<String>) -> Self {
        let config = Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(ANSWER))
            .http_status_as_error(false)
            .build();
        Self { members, at: 0, agent: config.into() }
    }

    /// Asks the members in turn. What changes something goes on to the next one only if it was certainly not done.
    fn ask(&mut self, path: &str, body: &Value, is_read: bool) -> Result<Value, EtcdError> {
        let mut last = EtcdError::Unreachable("no member was named".to_owned());
        for _ in 0..self.members.len() {
            let member = self.members.get(self.at).map_or("", String::as_str);
            match post(&self.agent, &format!("{}/v3/{path}", member.trim_end_matches('/')), body) {
                Ok(answer) => return Ok(answer),
                Err(Trouble::NotThere(why)) => last = EtcdError::Unreachable(why),
                Err(Trouble::Other(error @ EtcdError::Unknown(_))) if is_read => last = error,
                Err(Trouble::Other(error)) => {
                    self.at = (self.at + 1) % self.members.len();
                    return Err(error);
                }
            }
            self.at = (self.at + 1) % self.members.len();
        }
        Err(last)
    }
}

fn post(agent: &Agent, url: &str, body: &Value) -> Result<Value, Trouble> {
    let unknown = |error: String| Trouble::Other(EtcdError::Unknown(format!("{url}: {error}")));
    let sent = agent.post(url).header("content-type", "application/json").send(body.to_string());
    let mut answer = sent.map_err(|error| match &error {
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => not_there(url, &error),
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound | ureq::Error::BadUri(_) => not_there(url, &error),
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => not_there(url, &error),
        _ => unknown(error.to_string()),
    })?;
    let status = answer.status().as_u16();
    let text = answer.body_mut().with_config().limit(64 << 20).read_to_string();
    let text = text.map_err(|error| unknown(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| unknown(format!("status {status}: {error}")))?;
    let said = value.get("error").or_else(|| value.get("message")).and_then(Value::as_str);
    match said {
        None if status == 200 => Ok(value),
        said => {
            let said = format!("{url}: {}", said.unwrap_or("an error without a message"));
            let code = value.get("code").and_then(Value::as_i64).unwrap_or(UNCERTAIN[0]);
            let is_uncertain = UNCERTAIN.contains(&code);
            Err(Trouble::Other(if is_uncertain { EtcdError::Unknown(said) } else { EtcdError::Refused(said) }))
        }
    }
}

fn not_there(url: &str, error: &ureq::Error) -> Trouble {
    Trouble::NotThere(format!("{url}: {error}"))
}

fn encoded(text: impl AsRef<[u8]>) -> String {
    STANDARD.encode(text)
}

/// A number of 64 bits; 0 where it is left out.
fn number(value: Option<&Value>) -> i64 {
    value.and_then(Value::as_str).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn revision(answer: &Value) -> i64 {
    number(answer.pointer("/header/revision"))
}

fn compared(compare: &Compare) -> Value {
    match compare {
        Compare::Revision(key, revision) => {
            json!({ "key": encoded(key), "target": "MOD", "result": "EQUAL", "mod_revision": revision.to_string() })
        }
        Compare::Value(key, value) => {
            json!({ "key": encoded(key), "target": "VALUE", "result": "EQUAL", "value": encoded(value) })
        }
        Compare::Missing(key) => {
            json!({ "key": encoded(key), "target": "CREATE", "result": "EQUAL", "create_revision": "0" })
        }
    }
}

fn operation(op: &Op) -> Value {
    match op {
        Op::Put { key, value, lease } => {
            json!({ "request_put": { "key": encoded(key), "value": encoded(value), "lease": lease.to_string() } })
        }
        Op::Delete { from, to } => {
            json!({ "request_delete_range": { "key": encoded(from), "range_end": encoded(to) } })
        }
    }
}

fn key_value(found: &Value) -> Option<KeyValue> {
    let bytes = |name: &str| match found.get(name) {
        Some(text) => STANDARD.decode(text.as_str()?).ok(),
        // An empty value is left out.
        None => Some(Vec::new()),
    };
    let key = String::from_utf8(bytes("key")?).ok()?;
    Some(KeyValue { key, value: bytes("value")?, revision: number(found.get("mod_revision")) })
}

impl Etcd for Gateway {
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<Done, EtcdError> {
        let compares: Vec<Value> = compares.iter().map(compared).collect();
        let then: Vec<Value> = then.iter().map(operation).collect();
        let answer = self.ask("kv/txn", &json!({ "compare": compares, "success": then }), false)?;
        let is_carried_out = answer.get("succeeded").and_then(Value::as_bool).unwrap_or(false);
        Ok(Done { is_carried_out, revision: revision(&answer) })
    }

    fn range(&mut self, from: &str, to: &str, most: usize) -> Result<Range, EtcdError> {
        let question = json!({ "key": encoded(from), "range_end": encoded(to), "limit": most.to_string() });
        let answer = self.ask("kv/range", &question, true)?;
        let found = answer.get("kvs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let keys: Option<Vec<KeyValue>> = found.iter().map(key_value).collect();
        let keys = keys.ok_or_else(|| EtcdError::Unknown("a key or a value is no base64".to_owned()))?;
        let is_cut = answer.get("more").and_then(Value::as_bool).unwrap_or(false);
        Ok(Range { keys, is_cut, revision: revision(&answer) })
    }

    fn grant(&mut self, seconds: u32) -> Result<i64, EtcdError> {
        let answer = self.ask("lease/grant", &json!({ "TTL": seconds.to_string() }), false)?;
        match number(answer.get("ID")) {
            0 => Err(EtcdError::Unknown("a lease without a number".to_owned())),
            lease => Ok(lease),
        }
    }

    fn keep_alive(&mut self, lease: i64) -> Result<bool, EtcdError> {
        let answer = self.ask("lease/keepalive", &json!({ "ID": lease.to_string() }), true)?;
        Ok(number(answer.pointer("/result/TTL")) > 0)
    }

    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError> {
        match self.ask("lease/revoke", &json!({ "ID": lease.to_string() }), true) {
            // It has ended by itself.
            Ok(_) | Err(EtcdError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn compact(&mut self, revision: i64) -> Result<(), EtcdError> {
        match self.ask("kv/compaction", &json!({ "revision": revision.to_string() }), true) {
            // Somebody else has done more.
            Ok(_) | Err(EtcdError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
