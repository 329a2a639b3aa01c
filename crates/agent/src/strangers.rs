//! Endpoints whose packets are not as they were declared: named in the log when that begins, and in the status for a while.

use std::collections::BTreeMap;

use wayleave_dataplane::host::{Strange, Stranger};
use wayleave_units::Time;
use wayleave_wire::Mac;

/// How long after its last packet somebody counts as wrong.
const REMEMBERED: Time = Time::from_millis(60_000);
/// How many are named at once: who invents addresses shall not fill the status.
const NAMED: usize = 8;

/// What was seen of strange packets.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    /// Of each kind, without its count: the packets until now, and when there were more the last time.
    seen: BTreeMap<Stranger, (u64, Option<Time>)>,
}

fn kind(stranger: &Stranger) -> Stranger {
    Stranger { packets: 0, ..*stranger }
}

impl Strangers {
    /// Nothing but what an agent before has seen, too.
    pub(crate) fn before(seen: Vec<Stranger>) -> Self {
        Self { seen: seen.iter().map(|one| (kind(one), (one.packets, None))).collect() }
    }

    /// Who is wrong now, as far as it is known; `names` and `own` are the names and addresses of endpoints by interface.
    pub(crate) fn sentences(
        &mut self,
        now: Time,
        all: Vec<Stranger>,
        names: &BTreeMap<u32, String>,
        own: &BTreeMap<u32, Mac>,
    ) -> Vec<String> {
        let mut seen = BTreeMap::new();
        for one in &all {
            let (packets, last) = self.seen.get(&kind(one)).copied().unwrap_or_default();
            let is_new = last.is_none() && one.packets > packets;
            if is_new && seen.len() < NAMED {
                tracing::warn!("{}", sentence(one, names, own));
            }
            seen.insert(kind(one), (one.packets, if one.packets == packets { last } else { Some(now) }));
        }
        self.seen = seen;
        let is_recent = |one: &&Stranger| {
            let last = self.seen.get(&kind(one)).and_then(|(_, last)| *last);
            last.is_some_and(|last| now < last + REMEMBERED)
        };
        let recent = all.iter().filter(is_recent);
        recent.take(NAMED).map(|one| format!("{} ({} packets)", sentence(one, names, own), one.packets)).collect()
    }
}

fn sentence(one: &Stranger, names: &BTreeMap<u32, String>, own: &BTreeMap<u32, Mac>) -> String {
    let name = names.get(&one.ifindex).map_or_else(|| format!("interface {}", one.ifindex), Clone::clone);
    let source = one.source.map_or_else(String::new, |source| format!(" and {source}"));
    match one.why {
        Strange::Address => {
            let its = own.get(&one.ifindex).map_or_else(String::new, |mac| format!(", and its own is {mac}"));
            format!("{name} sends from {}{source}{its}: dropped", one.mac)
        }
        Strange::Source => {
            let address = one.source.map_or_else(|| one.mac.to_string(), |source| source.to_string());
            format!("{name} sends from {address}, which is the source address of none of its contracts: best effort")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(packets: u64) -> Stranger {
        let (mac, source) = (Mac::new([2, 0, 0, 0, 0, 9]), Some([10, 0, 0, 9].into()));
        Stranger { ifindex: 7, why: Strange::Address, mac, source, packets }
    }

    #[test]
    fn who_sends_from_a_wrong_address_is_named_until_a_minute_after_the_last_packet() {
        let names = BTreeMap::from([(7, "acme:web".to_owned())]);
        let own = BTreeMap::from([(7, Mac::new([2, 0, 0, 0, 0, 1]))]);
        let mut strangers = Strangers::before(vec![wrong(3)]);
        let mut said = |seconds: u64, packets| {
            strangers.sentences(Time::from_millis(1_000 * seconds), vec![wrong(packets)], &names, &own)
        };
        assert_eq!(said(1, 3), [""; 0], "an agent before this one has told it");
        let expected =
            "acme:web sends from 02:00:00:00:00:09 and 10.0.0.9, and its own is 02:00:00:00:00:01: dropped (5 packets)";
        assert_eq!(said(2, 5), [expected]);
        assert_eq!(said(61, 5), [expected]);
        assert_eq!(said(62, 5), [""; 0]);
    }
}
