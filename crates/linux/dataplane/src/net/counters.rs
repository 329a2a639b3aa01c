//! Counters of a port's queues: packets sent, dropped and queued.

use serde::{Deserialize, Serialize};

use super::batch::output;
use super::error::NetError;
use super::namespace::Namespace;
use super::qdisc::PortQdisc;

/// The counters of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueCounters {
    /// Bytes that left it, as the kernel counts them: frames without what is around them on the wire.
    pub bytes: u64,
    /// Packets that left it.
    pub packets: u64,
    /// Packets that it had no room for.
    pub drops: u64,
    /// Bytes that wait now.
    pub backlog: u64,
}

/// One entry of `tc -s -j qdisc show`.
#[derive(Deserialize)]
struct Shown {
    kind: String,
    handle: String,
    #[serde(default)]
    dev: String,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    packets: u64,
    #[serde(default)]
    drops: u64,
    #[serde(default)]
    backlog: u64,
}

/// The counters of all ports in a namespace that have queues as [`PortQdisc`] makes them: (interface, queues in order).
///
/// # Errors
/// If `tc` fails, or prints something else.
pub fn queue_counters(namespace: &Namespace) -> Result<Vec<(String, Vec<QueueCounters>)>, NetError> {
    parse(&output(namespace, "tc", &["-s", "-j", "qdisc", "show"])?)
}

fn read(text: &str) -> Result<Vec<Shown>, NetError> {
    serde_json::from_str(text)
        .map_err(|error| NetError::Output { command: "tc -j qdisc show".to_owned(), why: error.to_string() })
}

fn parse(text: &str) -> Result<Vec<(String, Vec<QueueCounters>)>, NetError> {
    let mut ports: Vec<(String, Vec<QueueCounters>)> = Vec::new();
    for Shown { kind, handle, dev, bytes, packets, drops, backlog, .. } in read(text)? {
        let Some(queue) = PortQdisc::queue_of_handle(&handle).filter(|_| kind == "bfifo") else { continue };
        let index = ports.iter().position(|(name, _)| *name == dev).unwrap_or_else(|| {
            ports.push((dev, Vec::new()));
            ports.len() - 1
        });
        let queues = &mut ports[index].1;
        if queues.len() <= queue {
            queues.resize(queue + 1, QueueCounters::default());
        }
        queues[queue] = QueueCounters { bytes, packets, drops, backlog };
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As iproute2 6.1 prints it, with entries that are no queue.
    const PRINTED: &str = r#"[
        {"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
        {"kind":"tbf","handle":"1:","dev":"p1","root":true,"refcnt":3,"options":{"rate":1250000},"bytes":99,"packets":9,"drops":7},
        {"kind":"bfifo","handle":"12:","dev":"p1","parent":"2:2","options":{"limit":97000},"bytes":20,"packets":2,"drops":3,"backlog":5},
        {"kind":"bfifo","handle":"11:","dev":"p1","parent":"2:1","options":{"limit":97000},"bytes":10,"packets":1,"drops":0,"backlog":0},
        {"kind":"clsact","handle":"ffff:","dev":"p1","parent":"ffff:fff1","options":{},"bytes":0,"packets":0}]"#;

    #[test]
    fn queues_are_listed_in_order_of_priority() {
        let high = QueueCounters { bytes: 10, packets: 1, drops: 0, backlog: 0 };
        let low = QueueCounters { bytes: 20, packets: 2, drops: 3, backlog: 5 };
        assert_eq!(parse(PRINTED).unwrap(), [("p1".to_owned(), vec![high, low])]);
    }

    #[test]
    fn an_answer_that_is_not_a_list_is_an_error() {
        assert!(parse("Object \"qdisc\" is unknown").unwrap_err().to_string().contains("unexpected"));
    }
}
