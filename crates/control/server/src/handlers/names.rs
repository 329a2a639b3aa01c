//! `/v1/names`: names that fit what somebody has typed.

use std::sync::Arc;

use wayleave_protocol::name::{NameKind, Names, ObjectName};
use wayleave_topology::NodeKind;

use crate::answer::{HttpReply, Outcome};
use crate::http::call::AuthorizedRequest;
use crate::state::Shared;

/// Maximum number of names in an answer.
const MAX: usize = 20;

/// Values of the parameter `kind`: a node is a host or a switch.
pub(crate) const KINDS: &[&str] = &["link", "node", "host", "switch", "tenant", "contract"];

/// Names that fit, as far as they were found.
struct Found<'a> {
    /// In lower case.
    text: &'a str,
    beginning: Vec<ObjectName>,
    containing: Vec<ObjectName>,
    has_more: bool,
}

impl Found<'_> {
    /// Adds a name that fits. Returns `false` once no further name can be in the answer.
    fn add(&mut self, kind: NameKind, name: &str) -> bool {
        let Some(at) = name.to_ascii_lowercase().find(self.text) else { return true };
        // The name of a contract begins behind that of its tenant.
        let is_beginning = at == 0 || (kind == NameKind::Contract && name[..at].ends_with(':'));
        let list = if is_beginning { &mut self.beginning } else { &mut self.containing };
        if list.len() < MAX {
            list.push(ObjectName { kind, name: name.to_owned() });
        } else {
            self.has_more = true;
        }
        !(self.has_more && self.beginning.len() == MAX)
    }

    fn into_names(mut self) -> Names {
        self.beginning.append(&mut self.containing);
        self.has_more |= self.beginning.len() > MAX;
        self.beginning.truncate(MAX);
        Names { items: self.beginning, more: self.has_more }
    }
}

/// Returns the names that fit. Tenants see their own contracts, their own name, and hosts.
pub(crate) fn list(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let text = call.query.text("prefix").unwrap_or_default().to_ascii_lowercase();
    let (kind, only) = (call.query.text("kind"), call.only_tenant());
    let is_asked = |kinds: &[&str]| kind.is_none_or(|kind| kinds.contains(&kind));
    let mut found = Found { text: &text, beginning: Vec::new(), containing: Vec::new(), has_more: false };
    let network = shared.network();
    for (_, node) in network.nodes() {
        let (kind, kinds) = match node.kind {
            NodeKind::Host => (NameKind::Host, ["node", "host"]),
            _ => (NameKind::Switch, ["node", "switch"]),
        };
        let is_known = only.is_none() || kind == NameKind::Host;
        if is_known && is_asked(&kinds) && !found.add(kind, &node.name) {
            break;
        }
    }
    if only.is_none() && is_asked(&["link"]) {
        let mut links = network.links();
        let _ = links.all(|(_, link)| found.add(NameKind::Link, &link.name));
    }
    if is_asked(&["tenant"]) {
        let tables = shared.view.read();
        let mut tenants = tables.tenants.keys().filter(|name| only.is_none_or(|only| only == *name));
        let _ = tenants.all(|name| found.add(NameKind::Tenant, name));
    }
    if is_asked(&["contract"]) {
        shared.each_contract_after(only, None, |contract| found.add(NameKind::Contract, &contract.id().to_string()));
    }
    Ok(HttpReply::json(200, &found.into_names()))
}
