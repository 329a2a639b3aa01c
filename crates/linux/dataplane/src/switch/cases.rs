//! Tables of a bridge as Loko's benchmark needs them (A. Van Bemten and others, CoNEXT 2019, slides, step 1): a
//! number of entries, of which one matches, with an action.
//!
//! | dimension | here |
//! |---|---|
//! | number of entries | those that match nothing, and the one that is used. A second flow has one more, and the bridge keeps the rules that it has, below them |
//! | match type | with the fields that the action needs, such as a tag; `masked-nw-dst` is a network of 24 bits; `all` are port, both addresses of every layer, type, tag, protocol and ports |
//! | action | sets a new value, so that a datapath cannot leave it out; then the packet is sent on |
//! | used entry, priorities | entries are added one by one, the used one first or last |

use std::net::Ipv4Addr;

use wayleave_openflow::{FlowAction as Do, FlowMatch, FlowMod, Instruction, Oxm};
use wayleave_topology::devices::{Action, Case, MatchType, Priorities, UsedEntry};

use super::bridge::{OvsBridge, OvsError};

/// The cookie of these rules: "loko" in ASCII.
const COOKIE: u64 = u32::from_be_bytes(*b"loko") as u64;
/// Priorities are around this one, above those of a switch's own rules.
const MIDDLE: u16 = 50_000;
/// As many entries as priorities have room for on one side of the middle.
pub const MAX_ENTRIES: u32 = 10_000;
/// `ETH_P_IP` and `IPPROTO_UDP`.
const IPV4: u16 = 0x0800;
const UDP: u8 = 17;
/// Bits of a tag that are its identifier.
const IDENTIFIER: u16 = 0x0fff;
/// `OFPAT_SET_FIELD`
const SET_FIELD: u16 = 25;

/// Fields of OpenFlow 1.3.5, section 7.2.3.7.
mod field {
    pub(super) const ETH_DST: u8 = 3;
    pub(super) const ETH_SRC: u8 = 4;
    pub(super) const IP_DSCP: u8 = 8;
    pub(super) const IP_PROTO: u8 = 10;
    pub(super) const IPV4_SRC: u8 = 11;
    pub(super) const IPV4_DST: u8 = 12;
    pub(super) const UDP_SRC: u8 = 15;
    pub(super) const UDP_DST: u8 = 16;
}

/// Packets of UDP that pass a bridge with one tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFlow {
    /// The port at which they come, and the one by which they leave.
    pub interfaces: [String; 2],
    /// Their tag, as its 16 bits.
    pub tag: u16,
    /// From, to.
    pub macs: [[u8; 6]; 2],
    /// From, to.
    pub addresses: [Ipv4Addr; 2],
    /// From, to.
    pub ports: [u16; 2],
}

impl OvsBridge {
    /// Forwards these flows, of which the first is that of the case, by the table of the case. Other rules stay.
    ///
    /// # Errors
    /// If the bridge does not answer, has no such port, or refuses a rule.
    pub fn forward_by(&self, case: &Case, flows: &[CaseFlow]) -> Result<(), OvsError> {
        let mut client = self.connect()?;
        let there = client.ports().map_err(|error| self.failed(error))?;
        let number = |interface: &String| {
            let found = there.iter().find(|port| port.name == *interface).map(|port| port.number);
            found.ok_or_else(|| OvsError::NotAPort { bridge: self.name.clone(), interface: interface.clone() })
        };
        let mut numbered = Vec::new();
        for flow in flows {
            let [from, to] = &flow.interfaces;
            numbered.push((flow, [number(from)?, number(to)?]));
        }
        let mut changes = vec![FlowMod::delete_all(COOKIE)];
        changes.extend(rules(case, &numbered));
        client.change(&changes).map_err(|error| self.failed(error))
    }

    /// Takes these rules away.
    ///
    /// # Errors
    /// If the bridge does not answer.
    pub fn forward_as_before(&self) -> Result<(), OvsError> {
        let changes = [FlowMod::delete_all(COOKIE)];
        self.connect()?.change(&changes).map_err(|error| self.failed(error))
    }
}

fn rules(case: &Case, flows: &[(&CaseFlow, [u32; 2])]) -> Vec<FlowMod> {
    let entries = u16::try_from(case.entries.clamp(1, MAX_ENTRIES)).unwrap_or(1);
    let used = if case.used == UsedEntry::First { 0 } else { entries - 1 };
    let Some(((first, ports), others)) = flows.split_first() else { return Vec::new() };
    let mut rules = Vec::new();
    for index in 0..entries {
        let priority = match case.priorities {
            Priorities::Increasing => MIDDLE + index,
            Priorities::Decreasing => MIDDLE - index,
        };
        let rule = |flow: &CaseFlow, in_port, instructions| FlowMod {
            cookie: COOKIE,
            priority,
            fields: needed(case.action, flow, fields(case.match_type, flow, in_port)),
            instructions,
            ..FlowMod::default()
        };
        if index == used {
            rules.push(rule(first, ports[0], send(case.action, first, ports[1])));
            rules.extend(others.iter().map(|(flow, ports)| rule(flow, ports[0], send(case.action, flow, ports[1]))));
        } else {
            // No instruction: what matches is dropped.
            rules.push(rule(&unmatched_flow(index), 60_000 + u32::from(index), Vec::new()));
        }
    }
    rules
}

/// Returns a flow that no packet belongs to.
fn unmatched_flow(index: u16) -> CaseFlow {
    let [high, low] = index.to_be_bytes();
    CaseFlow {
        interfaces: [String::new(), String::new()],
        tag: 0,
        macs: [[6, 0, 0, 0, high, low], [6, 0, 0, 1, high, low]],
        addresses: [Ipv4Addr::new(172, 16, high, low), Ipv4Addr::new(192, high, low, 1)],
        ports: [30_000 + index, 50_000 + index % 10_000],
    }
}

fn fields(match_type: MatchType, flow: &CaseFlow, in_port: u32) -> FlowMatch {
    let [from, to] = flow.addresses.map(|address| address.octets());
    let [source, destination] = flow.ports.map(u16::to_be_bytes);
    let ip = FlowMatch { eth_type: Some(IPV4), ..FlowMatch::default() };
    let protocol = || oxm(field::IP_PROTO, &[UDP]);
    let five = || {
        vec![
            protocol(),
            oxm(field::IPV4_SRC, &from),
            oxm(field::IPV4_DST, &to),
            oxm(field::UDP_SRC, &source),
            oxm(field::UDP_DST, &destination),
        ]
    };
    match match_type {
        MatchType::Port => FlowMatch { in_port: Some(in_port), ..FlowMatch::default() },
        MatchType::TpDst => FlowMatch { others: vec![protocol(), oxm(field::UDP_DST, &destination)], ..ip },
        MatchType::DlDst => FlowMatch { others: vec![oxm(field::ETH_DST, &flow.macs[1])], ..FlowMatch::default() },
        MatchType::MaskedNwDst => {
            let mask = [255, 255, 255, 0];
            let network: Vec<u8> = to.iter().zip(mask).map(|(byte, mask)| byte & mask).chain(mask).collect();
            let masked = Oxm { head: [0x80, 0, field::IPV4_DST << 1 | 1], body: network };
            FlowMatch { others: vec![masked], ..ip }
        }
        MatchType::FiveTuple => FlowMatch { others: five(), ..ip },
        MatchType::All => {
            let mut others = vec![oxm(field::ETH_DST, &flow.macs[1]), oxm(field::ETH_SRC, &flow.macs[0])];
            others.extend(five());
            let (vlan, pcp) = (flow.tag & IDENTIFIER, (flow.tag >> 13) as u8);
            FlowMatch { in_port: Some(in_port), vlan: Some(vlan), pcp: Some(pcp), others, ..ip }
        }
    }
}

/// Adds the fields to a match that an action needs in a packet (section 7.2.3.8).
fn needed(action: Action, flow: &CaseFlow, mut fields: FlowMatch) -> FlowMatch {
    match action {
        Action::Output | Action::SetDlSrc => {}
        Action::SetVlanId | Action::SetVlanPcp | Action::StripVlan => fields.vlan = Some(flow.tag & IDENTIFIER),
        Action::SetNwSrc | Action::SetNwTos => fields.eth_type = Some(IPV4),
        Action::SetTpSrc => {
            fields.eth_type = Some(IPV4);
            let protocol = oxm(field::IP_PROTO, &[UDP]);
            // The prerequisite of a field comes before it.
            if !fields.others.contains(&protocol) {
                fields.others.insert(0, protocol);
            }
        }
    }
    fields
}

fn oxm(number: u8, body: &[u8]) -> Oxm {
    Oxm { head: [0x80, 0, number << 1], body: body.to_vec() }
}

fn send(action: Action, flow: &CaseFlow, port: u32) -> Vec<Instruction> {
    let set = |number: u8, value: &[u8]| {
        let mut body = vec![0x80, 0, number << 1, value.len() as u8];
        body.extend(value);
        while (4 + body.len()) % 8 != 0 {
            body.push(0);
        }
        Do::Other(SET_FIELD, body)
    };
    let (vlan, pcp) = (flow.tag & IDENTIFIER, (flow.tag >> 13) as u8);
    let change = match action {
        Action::Output => None,
        Action::SetVlanId => Some(Do::SetVlan(vlan ^ 1)),
        Action::SetVlanPcp => Some(Do::SetPcp(pcp ^ 1)),
        Action::StripVlan => Some(Do::PopVlan),
        Action::SetDlSrc => Some(set(field::ETH_SRC, &[2, 0, 0, 0, 0, 1])),
        Action::SetNwSrc => Some(set(field::IPV4_SRC, &[10, 255, 255, 254])),
        Action::SetNwTos => Some(set(field::IP_DSCP, &[10])),
        Action::SetTpSrc => Some(set(field::UDP_SRC, &9_999_u16.to_be_bytes())),
    };
    vec![Instruction::Apply(change.into_iter().chain([Do::Output(port)]).collect())]
}

#[cfg(test)]
mod tests {
    use wayleave_openflow::OpenFlowMessage;
    use wayleave_topology::devices::PacketScenario;

    use super::*;

    fn flow() -> CaseFlow {
        CaseFlow {
            interfaces: ["p1".to_owned(), "p2".to_owned()],
            tag: 0xe001,
            macs: [[2; 6], [4; 6]],
            addresses: [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)],
            ports: [4000, 11],
        }
    }

    #[test]
    fn the_used_entry_has_the_position_and_priority_of_the_case() {
        let flow = flow();
        let place = |used, priorities| {
            let case =
                Case { entries: 5, used, priorities, ..PacketScenario::proof_of_concept().cases().next().unwrap() };
            let rules = rules(&case, &[(&flow, [1, 2])]);
            assert_eq!(rules.len(), 5);
            let at = rules.iter().position(|rule| !rule.instructions.is_empty()).unwrap();
            (at, rules.iter().filter(|rule| rule.priority > rules[at].priority).count())
        };
        assert_eq!(place(UsedEntry::First, Priorities::Decreasing), (0, 0));
        assert_eq!(place(UsedEntry::First, Priorities::Increasing), (0, 4));
        assert_eq!(place(UsedEntry::Last, Priorities::Decreasing), (4, 4));
        assert_eq!(place(UsedEntry::Last, Priorities::Increasing), (4, 0));
    }

    #[test]
    fn every_case_is_a_table_of_different_rules_that_can_be_sent() {
        let flow = flow();
        for case in (PacketScenario { entries: vec![1, 128], ..PacketScenario::whole() }).cases() {
            let mut seen = Vec::new();
            for rule in rules(&case, &[(&flow, [1, 2])]) {
                assert!(!seen.contains(&rule.fields), "{case}");
                seen.push(rule.fields.clone());
                let bytes = OpenFlowMessage::FlowMod(rule.clone()).encode(1).unwrap();
                assert_eq!(OpenFlowMessage::decode(&bytes).unwrap().1, OpenFlowMessage::FlowMod(rule), "{case}");
            }
            assert_eq!(seen.len(), case.entries as usize);
        }
    }
}
