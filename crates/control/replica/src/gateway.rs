//! The JSON gateway of etcd (3.4 and later: `/v3/...`): names and values are base64, numbers of 64 bits are texts.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::Agent;
use wayleave_client::{Address, CertificateStamp, OwnCertificate, read_password};

use crate::etcd::{Compare, Etcd, EtcdError, KeyRange, KeyValue, NOW, Op, Range, TransactionResult};

/// Timeout of a member to accept a connection, and to answer.
const CONNECT: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(3);
/// `UNAVAILABLE` and `DEADLINE_EXCEEDED` of gRPC: what was asked may have been done.
const UNCERTAIN: [i64; 2] = [14, 4];
/// Errors of etcd for an expired token (`rpctypes.ErrInvalidAuthToken`, `ErrAuthOldRevision`): the request was not
/// executed.
const STALE_TOKEN: [&str; 2] = ["invalid auth token", "revision of auth store is old"];

/// The question that gives up a lease.
const REVOKE: &str = "lease/revoke";
/// Error of etcd for a read at a revision that was compacted (`rpctypes.ErrCompacted`).
const COMPACTED: &str = "required revision has been compacted";

/// Address and credentials of an etcd.
#[derive(Clone, Debug, Default)]
pub struct EtcdAccess {
    /// Addresses of its members, such as `http://127.0.0.1:2379`.
    pub members: Vec<String>,
    /// Certificates to trust in place of those of the web, as PEM.
    pub ca: Option<PathBuf>,
    /// Certificate for a member that requests one.
    pub certificate: Option<OwnCertificate>,
    /// User, if etcd requires authentication.
    pub user: Option<User>,
}

/// A user of an etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Name of the user.
    pub name: String,
    /// The file with its password, which is read whenever a token is needed.
    pub password_file: PathBuf,
}

/// Members of an etcd, of which one is asked at a time.
pub struct Gateway {
    access: EtcdAccess,
    timeout: Duration,
    /// Index of the member that answered last.
    at: usize,
    /// Connections, and the certificates that they were made with.
    agent: Option<(Agent, CertificateStamp)>,
    /// Token that replaces the user's password; it expires.
    token: Option<String>,
    /// Set when the process ends: nothing more is asked, except that a lease is given up.
    ending: Arc<AtomicBool>,
}

/// Error of one member.
enum MemberError {
    /// It was not reached.
    NotReached(String),
    Other(EtcdError),
}

impl Gateway {
    /// Creates a client; no request is sent yet.
    pub fn new(access: EtcdAccess) -> Self {
        Self { access, timeout: ANSWER, at: 0, agent: None, token: None, ending: Arc::default() }
    }

    /// The same for questions that have to be asked of the next member soon if one hangs.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: timeout.min(ANSWER), ..self }
    }

    /// Asks nothing more once this is set, except to give up a lease.
    #[must_use]
    pub fn until(self, ending: Arc<AtomicBool>) -> Self {
        Self { ending, ..self }
    }

    /// Sends a request to the members in turn. A request that changes data is sent to the next member only if it was
    /// certainly not executed.
    fn ask(&mut self, path: &str, body: &Value, is_read: bool) -> Result<Value, EtcdError> {
        let is_new = self.authenticate()?;
        match self.ask_members(path, body, is_read) {
            Err(EtcdError::Refused(why)) if !is_new && STALE_TOKEN.iter().any(|stale| why.contains(stale)) => {
                self.token = None;
                self.authenticate()?;
                self.ask_members(path, body, is_read)
            }
            answer => answer,
        }
    }

    /// Requests a token if one is needed. Returns `true` if it is new.
    fn authenticate(&mut self) -> Result<bool, EtcdError> {
        let Some(User { name, password_file }) = self.access.user.as_ref().filter(|_| self.token.is_none()) else {
            return Ok(false);
        };
        let password = read_password(password_file).map_err(|error| EtcdError::Unreachable(error.to_string()))?;
        let answer = self.ask_members("auth/authenticate", &json!({ "name": name, "password": password }), true)?;
        let token = answer.get("token").and_then(Value::as_str);
        let token = token.ok_or_else(|| EtcdError::Refused("it issued no token to the user".to_owned()))?;
        self.token = Some(token.to_owned());
        Ok(true)
    }

    fn ask_members(&mut self, path: &str, body: &Value, is_read: bool) -> Result<Value, EtcdError> {
        let agent = self.agent()?;
        let mut last = EtcdError::Unreachable("no etcd member configured".to_owned());
        let members = self.access.members.len();
        for _ in 0..members {
            if self.ending.load(Ordering::Relaxed) && path != REVOKE {
                return Err(EtcdError::Unreachable("this controller is shutting down".to_owned()));
            }
            let member = self.access.members.get(self.at).map_or("", String::as_str);
            let url = format!("{}/v3/{path}", member.trim_end_matches('/'));
            match post(&agent, &url, self.token.as_deref(), body) {
                Ok(answer) => return Ok(answer),
                Err(MemberError::NotReached(why)) => last = EtcdError::Unreachable(why),
                Err(MemberError::Other(error @ EtcdError::Unknown(_))) if is_read => last = error,
                Err(MemberError::Other(error)) => {
                    self.at = (self.at + 1) % members;
                    return Err(error);
                }
            }
            self.at = (self.at + 1) % members;
        }
        Err(last)
    }

    /// Connections with the certificates that are in the files now; if these cannot be read, those of before stay in use.
    fn agent(&mut self) -> Result<Agent, EtcdError> {
        let EtcdAccess { ca, certificate, .. } = self.access.clone();
        let address = Address { ca, certificate, ..Address::default() };
        let stamp = address.stamp();
        if let Some((agent, _)) = self.agent.as_ref().filter(|(_, made_with)| *made_with == stamp) {
            return Ok(agent.clone());
        }
        match address.connections() {
            Ok(config) => {
                let config = config.timeout_connect(Some(CONNECT)).timeout_global(Some(self.timeout));
                let agent: Agent = config.build().into();
                self.agent = Some((agent.clone(), stamp));
                Ok(agent)
            }
            Err(error) => match &self.agent {
                Some((agent, _)) => Ok(agent.clone()),
                None => Err(EtcdError::Unreachable(error.to_string())),
            },
        }
    }
}

fn post(agent: &Agent, url: &str, token: Option<&str>, body: &Value) -> Result<Value, MemberError> {
    let unknown = |error: String| MemberError::Other(EtcdError::Unknown(format!("{url}: {error}")));
    let mut request = agent.post(url).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", token);
    }
    let mut answer = request.send(body.to_string()).map_err(|error| match &error {
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => not_there(url, &error),
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound | ureq::Error::BadUri(_) => not_there(url, &error),
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => not_there(url, &error),
        _ => unknown(error.to_string()),
    })?;
    let status = answer.status().as_u16();
    let text = answer.body_mut().with_config().limit(64 << 20).read_to_string();
    let text = text.map_err(|error| unknown(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| unknown(format!("status {status}: {error}")))?;
    let body_text = value.get("error").or_else(|| value.get("message")).and_then(Value::as_str);
    match body_text {
        None if status == 200 => Ok(value),
        body_text => {
            let body_text = format!("{url}: {}", body_text.unwrap_or("error without a message"));
            let code = value.get("code").and_then(Value::as_i64).unwrap_or(UNCERTAIN[0]);
            Err(MemberError::Other(match body_text {
                body_text if body_text.contains(COMPACTED) => EtcdError::Compacted(body_text),
                body_text if UNCERTAIN.contains(&code) => EtcdError::Unknown(body_text),
                body_text => EtcdError::Refused(body_text),
            }))
        }
    }
}

fn not_there(url: &str, error: &ureq::Error) -> MemberError {
    MemberError::NotReached(format!("{url}: {error}"))
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

fn question(KeyRange { from, to, most }: &KeyRange, revision: i64) -> Value {
    json!({
        "key": encoded(from), "range_end": encoded(to), "limit": most.to_string(), "revision": revision.to_string()
    })
}

/// The keys of an answer to a range, which was read at this revision.
fn range(answer: &Value, revision: i64) -> Result<Range, EtcdError> {
    let found = answer.get("kvs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let keys: Option<Vec<KeyValue>> = found.iter().map(key_value).collect();
    let keys = keys.ok_or_else(|| EtcdError::Unknown("a key or a value is not base64".to_owned()))?;
    let is_cut = answer.get("more").and_then(Value::as_bool).unwrap_or(false);
    Ok(Range { keys, is_cut, revision })
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
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<TransactionResult, EtcdError> {
        let compares: Vec<Value> = compares.iter().map(compared).collect();
        let then: Vec<Value> = then.iter().map(operation).collect();
        let answer = self.ask("kv/txn", &json!({ "compare": compares, "success": then }), false)?;
        let is_carried_out = answer.get("succeeded").and_then(Value::as_bool).unwrap_or(false);
        Ok(TransactionResult { is_carried_out, revision: revision(&answer) })
    }

    fn read(&mut self, queries: &[KeyRange]) -> Result<Vec<Range>, EtcdError> {
        let reads: Vec<Value> = queries.iter().map(|query| json!({ "request_range": question(query, NOW) })).collect();
        let answer = self.ask("kv/txn", &json!({ "success": reads }), true)?;
        let revision = revision(&answer);
        let answers = answer.get("responses").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if answers.len() != queries.len() {
            return Err(EtcdError::Unknown(format!("{} responses to {} range requests", answers.len(), queries.len())));
        }
        let found = |answer: &Value| range(answer.get("response_range").unwrap_or(&Value::Null), revision);
        answers.iter().map(found).collect()
    }

    fn range_at(&mut self, query: &KeyRange, at: i64) -> Result<Range, EtcdError> {
        let answer = self.ask("kv/range", &question(query, at), true)?;
        range(&answer, if at == NOW { revision(&answer) } else { at })
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
        match self.ask(REVOKE, &json!({ "ID": lease.to_string() }), true) {
            // It has ended by itself.
            Ok(_) | Err(EtcdError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn compact(&mut self, revision: i64) -> Result<(), EtcdError> {
        match self.ask("kv/compaction", &json!({ "revision": revision.to_string() }), true) {
            // Another member has compacted a later revision.
            Ok(_) | Err(EtcdError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
