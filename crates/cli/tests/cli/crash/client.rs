//! A client that remembers what it was answered, and holds the server to it.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};
use wayleave_repo_checks::Random;

use crate::crash::process::{Answer, Request, ServerAccess};

/// Names of each client.
const NAMES: u64 = 5;

/// The contracts of a client: megabits in a second.
pub(crate) type State = BTreeMap<String, u64>;

/// A contract as the server shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) rate: String,
    serial: u64,
    /// The decision that admitted it as it is: carried out twice, it would have been decided twice.
    decision: u64,
}

pub(crate) type Seen = BTreeMap<String, Shown>;

/// A request that was sent, with the state that it leads to.
#[derive(Clone, Debug)]
struct Sent {
    request: Request,
    after: State,
}

/// One client. Its names are its own; it asks one thing after the other.
pub(crate) struct Client {
    pub(crate) prefix: String,
    random: Random,
    keys: u64,
    /// State that was acknowledged.
    sure: State,
    /// Request that was sent and not answered.
    open: Option<Sent>,
    /// The last request with a key that was answered.
    answered: Option<(Request, Answer)>,
    /// The contracts as they were seen last, if nothing was asked since.
    seen: Option<Seen>,
    pub(crate) acknowledged: u64,
    pub(crate) resolved: u64,
}

impl Client {
    pub(crate) fn new(number: u64, seed: u64) -> Self {
        Self {
            prefix: format!("c{number}-"),
            random: Random::new(seed ^ (number << 32)),
            keys: 0,
            sure: State::new(),
            open: None,
            answered: None,
            seen: None,
            acknowledged: 0,
            resolved: 0,
        }
    }

    fn name(&mut self) -> String {
        format!("{}{}", self.prefix, self.random.below(NAMES))
    }

    fn body(&self, name: &str, rate: u64) -> Value {
        let to = if self.prefix == "c0-" { "h3" } else { "h4" };
        let rate = format!("{rate}Mbit");
        // Each name has its kind.
        match name.as_bytes().last() {
            Some(b'2') => json!({ "name": name, "bandwidth": { "hose": ["h1", "h2", to], "min": rate } }),
            Some(b'3') => {
                json!({ "name": name, "objective": { "goal": "completion", "members": ["h1", to], "weight": rate } })
            }
            Some(b'4') => json!({ "name": name, "bandwidth": { "from": "h1", "to": to, "min": rate } }),
            _ => json!({ "name": name, "from": "h1", "to": to, "rate": rate, "burst": "3000B", "deadline": "20ms" }),
        }
    }

    /// The next request.
    fn next(&mut self) -> Sent {
        let (name, rate) = (self.name(), 1 + self.random.below(9));
        let mut after = self.sure.clone();
        let (method, path, body) = match self.random.below(5) {
            0 if self.sure.contains_key(&name) => {
                after.remove(&name);
                ("DELETE", format!("/v1/contracts/{name}"), None)
            }
            1 if !self.sure.contains_key(&name) => {
                after.insert(name.clone(), rate);
                ("POST", "/v1/contracts".to_owned(), Some(self.body(&name, rate)))
            }
            2 => {
                let count = 2 + self.random.below(NAMES - 1);
                let names: Vec<String> = (0..count).map(|number| format!("{}{number}", self.prefix)).collect();
                let list: Vec<Value> = names.iter().map(|name| self.body(name, rate)).collect();
                after.extend(names.into_iter().map(|name| (name, rate)));
                let body = json!({ "apiVersion": "wayleave/v1", "kind": "Contracts", "spec": { "contracts": list } });
                ("POST", "/v1/apply?atomic=true".to_owned(), Some(body))
            }
            _ => {
                after.insert(name.clone(), rate);
                ("PUT", format!("/v1/contracts/{name}"), Some(self.body(&name, rate)))
            }
        };
        let has_key = body.is_some() && self.random.below(3) > 0;
        self.keys += u64::from(has_key);
        let key = has_key.then(|| format!("{}{}", self.prefix, self.keys));
        let body = body.map_or_else(String::new, |body| body.to_string());
        Sent { request: Request { method, path, key, body }, after }
    }

    /// Asks one thing; an error if there was no answer.
    pub(crate) fn act(&mut self, access: &ServerAccess) -> io::Result<()> {
        let sent = self.next();
        self.open = Some(sent.clone());
        self.seen = None;
        let answer = access.ask(&sent.request)?;
        self.acknowledge(sent, answer);
        Ok(())
    }

    /// Sends one thing, and does not wait for the answer.
    pub(crate) fn send_only(&mut self, access: &ServerAccess) {
        let sent = self.next();
        self.open = Some(sent.clone());
        self.seen = None;
        // A connection that is closed early is not asked by this client.
        let _ = access.send(&sent.request).map(std::mem::forget);
    }

    fn acknowledge(&mut self, sent: Sent, answer: Answer) {
        assert!(matches!(answer.status, 200 | 201 | 204), "{sent:?}: {} {}", answer.status, text(&answer));
        if sent.request.path.contains("apply") {
            assert_eq!(answer.json()["refused"], 0, "{}", text(&answer));
        }
        self.acknowledged += 1;
        self.sure = sent.after;
        self.open = None;
        if sent.request.key.is_some() {
            self.answered = Some((sent.request, answer));
        }
    }

    /// Compares a server that has just begun with the answers that it (or the one before it) has given; an error if
    /// it was killed during the check.
    pub(crate) fn check(&mut self, access: &ServerAccess) -> io::Result<()> {
        let seen = look(access, &self.prefix)?;
        let state = rates(&seen);
        if let Some(open) = &self.open {
            let is_either = state == in_text(&self.sure) || state == in_text(&open.after);
            assert!(is_either, "after {:?}\nwas  {:?}\nnow  {state:?}", open.request, self.sure);
        } else {
            assert_eq!(state, in_text(&self.sure), "what was acknowledged is not there, or not as it was");
        }
        if let Some(before) = &self.seen {
            assert_eq!(&seen, before, "nobody has asked for anything, and it has changed");
        }
        self.repeat_answered(access, &seen)?;
        if let Some(open) = self.open.clone() {
            self.resolve(access, open, seen)?;
        }
        self.seen = Some(look(access, &self.prefix)?);
        Ok(())
    }

    /// An answered request is answered alike again, and not carried out again.
    fn repeat_answered(&self, access: &ServerAccess, seen: &Seen) -> io::Result<()> {
        let Some((request, answer)) = &self.answered else { return Ok(()) };
        let last = last_decision(access)?;
        let again = access.ask(request)?;
        assert_eq!((again.status, text(&again)), (answer.status, text(answer)), "{request:?}, asked again");
        assert_eq!(&look(access, &self.prefix)?, seen, "{request:?} was carried out again");
        assert_eq!(last_decision(access)?, last, "{request:?} was decided again");
        Ok(())
    }

    /// Resolves an unanswered request: with a key it is asked again, else its present state counts.
    fn resolve(&mut self, access: &ServerAccess, open: Sent, seen: Seen) -> io::Result<()> {
        let was_done = rates(&seen) == in_text(&open.after) && rates(&seen) != in_text(&self.sure);
        if open.request.key.is_none() {
            if was_done {
                self.sure = open.after;
            }
            self.open = None;
            return Ok(());
        }
        let last = last_decision(access)?;
        let answer = access.ask(&open.request)?;
        let after = open.after.clone();
        let request = open.request.clone();
        self.acknowledge(open, answer);
        let now = look(access, &self.prefix)?;
        assert_eq!(rates(&now), in_text(&after), "{request:?}, asked again");
        if was_done {
            assert_eq!(now, seen, "{request:?} was carried out twice");
            assert_eq!(last_decision(access)?, last, "{request:?} was decided twice");
            self.resolved += 1;
        }
        Ok(())
    }
}

fn in_text(state: &State) -> BTreeMap<String, String> {
    state.iter().map(|(name, rate)| (name.clone(), format!("{rate}Mbit"))).collect()
}

fn rates(seen: &Seen) -> BTreeMap<String, String> {
    seen.iter().map(|(name, shown)| (name.clone(), shown.rate.clone())).collect()
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// The contracts whose names begin so, each whole.
pub(crate) fn look(access: &ServerAccess, prefix: &str) -> io::Result<Seen> {
    let answer = access.get("/v1/contracts?limit=1000")?;
    assert_eq!(answer.status, 200, "{}", text(&answer));
    let list = answer.json();
    let mut seen = Seen::new();
    for item in list["items"].as_array().unwrap() {
        let (name, status) = (item["name"].as_str().unwrap(), &item["status"]);
        if status["state"] == "released" || !name.starts_with(prefix) {
            continue;
        }
        // A contract in a place that others have just left waits until their last packets have left.
        assert!(status["state"] == "admitted" || status["state"] == "pending", "{item}");
        let has_route = status["kind"] == "latency" || item["bandwidth"]["from"].is_string();
        assert_eq!(status["routes"].as_array().unwrap().len(), usize::from(has_route), "{item}");
        let number = |name: &str| status[name].as_u64().unwrap();
        let rates = [&item["rate"], &item["bandwidth"]["min"], &item["objective"]["weight"]];
        let rate = rates.into_iter().find_map(Value::as_str).unwrap().to_owned();
        let shown = Shown { rate, serial: number("serial"), decision: number("decision") };
        assert!(seen.insert(name.to_owned(), shown).is_none(), "{name} is there twice: {list}");
    }
    Ok(seen)
}

fn last_decision(access: &ServerAccess) -> io::Result<Value> {
    Ok(access.get("/v1/decisions?limit=1")?.json()["items"][0]["number"].clone())
}

/// The revision of the ledger as a whole.
pub(crate) fn revision(access: &ServerAccess) -> io::Result<u64> {
    Ok(access.get("/v1/status")?.json()["ledger"]["revision"].as_u64().unwrap())
}
