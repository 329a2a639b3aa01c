//! Endpoints whose packets do not match their declaration. They are named in the log when that begins, and in the
//! status for some time.
//!
//! An endpoint has one line for each reason, however many addresses its packets use: a tenant that changes addresses
//! must not fill the log, or crowd out other lines in the status of its host.

use std::collections::BTreeMap;

use wayleave_dataplane::host::{SpoofKind, SpoofReport};
use wayleave_packet_format::Mac;
use wayleave_units::{Time, count};

/// Time after its last wrong packet for which an endpoint is reported.
const REMEMBERED: Time = Time::from_millis(60_000);
/// Maximum number of endpoints that are named at once.
const NAMED: usize = 8;

/// Record of packets that do not match the declarations.
#[derive(Debug, Default)]
pub(crate) struct SpoofReports {
    /// Of each kind, without its count: the packets until now, and when there were more the last time.
    seen: BTreeMap<SpoofReport, (u64, Option<Time>)>,
    /// Endpoints that are wrong, and when the last packet was seen. They outlive `seen`: the kernel forgets addresses when others come.
    wrong: BTreeMap<(u32, SpoofKind), Time>,
}

/// Wrong packets of one endpoint.
#[derive(Debug, PartialEq, Eq)]
struct Wrong {
    /// The address with the most packets.
    example: SpoofReport,
    /// Packets and addresses, all of them.
    packets: u64,
    addresses: usize,
}

fn kind(spoofed: &SpoofReport) -> SpoofReport {
    SpoofReport { packets: 0, ..*spoofed }
}

impl SpoofReports {
    /// Nothing but what an agent before has seen, too.
    pub(crate) fn before(seen: Vec<SpoofReport>) -> Self {
        Self { seen: seen.iter().map(|one| (kind(one), (one.packets, None))).collect(), wrong: BTreeMap::new() }
    }

    /// Returns a sentence for each endpoint that currently sends wrong packets; `names` and `own` are the names and
    /// addresses of endpoints by interface.
    pub(crate) fn sentences(
        &mut self,
        now: Time,
        all: &[SpoofReport],
        names: &BTreeMap<u32, String>,
        own: &BTreeMap<u32, Mac>,
    ) -> Vec<String> {
        for one in self.begun(now, all) {
            tracing::warn!("{}", sentence(&one, names, own));
        }
        let text = |Wrong { example, packets, addresses }| {
            let from = if addresses > 1 { format!(" from {addresses} addresses") } else { String::new() };
            format!("{} ({}{from})", sentence(&example, names, own), count(packets, "packet"))
        };
        self.recent(now, all).into_iter().take(NAMED).map(text).collect()
    }

    /// Notes what was seen, and returns an address of each endpoint that was not wrong a moment ago.
    fn begun(&mut self, now: Time, all: &[SpoofReport]) -> Vec<SpoofReport> {
        self.wrong.retain(|_, last| now < *last + REMEMBERED);
        let mut begun = Vec::new();
        let mut seen = BTreeMap::new();
        for one in all {
            let (packets, last) = self.seen.get(&kind(one)).copied().unwrap_or_default();
            let has_more = one.packets != packets;
            if has_more && self.wrong.insert((one.ifindex, one.why), now).is_none() && begun.len() < NAMED {
                begun.push(*one);
            }
            seen.insert(kind(one), (one.packets, if has_more { Some(now) } else { last }));
        }
        self.seen = seen;
        begun
    }

    /// The endpoints of which packets were wrong within the last minute.
    fn recent(&self, now: Time, all: &[SpoofReport]) -> Vec<Wrong> {
        let mut endpoints: BTreeMap<(u32, SpoofKind), Wrong> = BTreeMap::new();
        for one in all {
            let last = self.seen.get(&kind(one)).and_then(|(_, last)| *last);
            if last.is_none_or(|last| now >= last + REMEMBERED) {
                continue;
            }
            let nothing = || Wrong { example: *one, packets: 0, addresses: 0 };
            let wrong = endpoints.entry((one.ifindex, one.why)).or_insert_with(nothing);
            if one.packets > wrong.example.packets {
                wrong.example = *one;
            }
            wrong.packets = wrong.packets.saturating_add(one.packets);
            wrong.addresses += 1;
        }
        endpoints.into_values().collect()
    }
}

fn sentence(one: &SpoofReport, names: &BTreeMap<u32, String>, own: &BTreeMap<u32, Mac>) -> String {
    let name = names.get(&one.ifindex).map_or_else(|| format!("interface {}", one.ifindex), Clone::clone);
    let source = one.source.map_or_else(String::new, |source| format!(" and {source}"));
    match one.why {
        SpoofKind::Address => {
            let its = own.get(&one.ifindex).map_or_else(String::new, |mac| format!(", and its own is {mac}"));
            format!("{name} sends from {}{source}{its}: dropped", one.mac)
        }
        SpoofKind::Source => {
            let address = one.source.map_or_else(|| one.mac.to_string(), |source| source.to_string());
            format!(
                "{name} sends from {address}, which is not the source address of any of its contracts: sent as best effort"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(packets: u64) -> SpoofReport {
        let (mac, source) = (Mac::new([2, 0, 0, 0, 0, 9]), Some([10, 0, 0, 9].into()));
        SpoofReport { ifindex: 7, why: SpoofKind::Address, mac, source, packets }
    }

    #[test]
    fn a_spoofing_endpoint_is_reported_until_a_minute_after_its_last_packet() {
        let names = BTreeMap::from([(7, "acme:web".to_owned())]);
        let own = BTreeMap::from([(7, Mac::new([2, 0, 0, 0, 0, 1]))]);
        let mut spoofed = SpoofReports::before(vec![wrong(3)]);
        let mut message = |seconds: u64, packets| {
            spoofed.sentences(Time::from_millis(1_000 * seconds), &[wrong(packets)], &names, &own)
        };
        assert_eq!(message(1, 3), [""; 0], "an agent before this one has told it");
        let expected =
            "acme:web sends from 02:00:00:00:00:09 and 10.0.0.9, and its own is 02:00:00:00:00:01: dropped (5 packets)";
        assert_eq!(message(2, 5), [expected]);
        assert_eq!(message(61, 5), [expected]);
        assert_eq!(message(62, 5), [""; 0]);
    }

    /// Ten new addresses a second for two minutes, beside an endpoint with one; the kernel remembers the last hundred.
    #[test]
    fn an_endpoint_that_changes_its_address_has_one_report_and_others_keep_theirs() {
        let mut spoofed = SpoofReports::default();
        let (names, own) = (BTreeMap::from([(7, "acme:web".to_owned()), (8, "acme:db".to_owned())]), BTreeMap::new());
        let mut log = Vec::new();
        for second in 0..120_u16 {
            let address = |number: u16| {
                let [high, low] = number.to_be_bytes();
                SpoofReport { mac: Mac::new([2, 0, 0, 1, high, low]), ..wrong(1) }
            };
            let mut all: Vec<SpoofReport> = (0..10 * (second + 1)).rev().take(100).map(address).collect();
            all.push(SpoofReport { ifindex: 8, ..wrong(u64::from(second) + 1) });
            let now = Time::from_millis(1_000 * u64::from(second));
            log.extend(spoofed.begun(now, &all).iter().map(|one| (second, one.ifindex)));
            let message = spoofed.sentences(now, &all, &names, &own);
            let of = |name: &str| message.iter().filter(|line| line.starts_with(name)).count();
            assert_eq!((message.len(), of("acme:web"), of("acme:db")), (2, 1, 1), "{message:?}");
            let addresses = 10 * (usize::from(second) + 1).min(10);
            assert!(message[0].ends_with(&format!("({addresses} packets from {addresses} addresses)")), "{message:?}");
        }
        assert_eq!(log, [(0, 7), (0, 8)], "told once each");
        let silent = Time::from_millis(200_000);
        assert_eq!(spoofed.sentences(silent, &[wrong(1)], &names, &own).len(), 1, "a minute later it is told again");
    }
}
