//! A port under overload, in real namespaces: with strict priority the highest queue overtakes all others; without it
//! none does.
//!
//! Judged by the order of arrivals and by counters. Delays can only be asserted on a quiet machine (`make
//! quiet-lab`).

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::names::{Names, require_namespaces};
use nix::sys::socket::{setsockopt, sockopt};
use wayleave_dataplane::class;
use wayleave_dataplane::net::{
    Namespace, PortQdisc, QueueCounters, ToolBatch, VethEnd, create_veth, plain_packets, queue_counters,
};
use wayleave_units::{Bytes, Rate};

/// Packets of 1000 B: six every 10 ms are half of the rate, more than the third that each of three queues would get if they took turns.
const PACKETS: usize = 900;
const AT_ONCE: usize = 6;
const SIZE: usize = 1000 - 42 - 24;
/// Longest pause of the machine in a measurement of shares.
const MAX_PAUSE: Duration = Duration::from_millis(30);
/// Size of the lowest queue: 60 frames of 1.2 ms.
const LOW_BUFFER: u64 = 90_000;

/// Leaves the test out unless such a link can be made on this machine. Without ethtool the kernel would send super-frames, which wait
/// as one.
fn require_ethtool() {
    wayleave_repo_checks::require_program("ethtool", "ethtool");
    require_namespaces();
}

/// Two namespaces with a link of 10 Mbit/s between them.
struct Bottleneck {
    names: Names,
    from: Namespace,
    to: Namespace,
}

impl Bottleneck {
    fn new(queues: &[u64]) -> Self {
        Self::sharing(queues, &[])
    }

    /// Creates a port whose last queues share the rest by their weights.
    fn sharing(queues: &[u64], weights: &[u16]) -> Self {
        let names = Names::new(&["a", "b"]);
        Namespace::create(names.all()).unwrap();
        let end = |index: usize, ifindex| VethEnd {
            namespace: names.get(index).to_owned(),
            interface: "p1".to_owned(),
            ifindex,
            mac: Some([2, 0, 0, 0, 0, ifindex as u8]),
            mtu: 1528,
        };
        ToolBatch::ip().line(create_veth(&end(0, 101), &end(1, 102)).unwrap()).run(&Namespace::current()).unwrap();
        let open = |index: usize| Namespace::open(names.get(index)).unwrap();
        let (from, to) = (open(0), open(1));
        for (namespace, me, other) in [(&from, 1, 2), (&to, 2, 1)] {
            namespace.silence().unwrap();
            plain_packets(namespace, "p1").unwrap();
            namespace.set_up(["p1"]).unwrap();
            let mut batch = ToolBatch::ip();
            batch.line(format_args!("addr add 10.0.0.{me}/24 dev p1"));
            batch.line(format_args!("neigh add 10.0.0.{other} lladdr 02:00:00:00:00:{:02x} dev p1", 100 + other));
            batch.run(namespace).unwrap();
        }
        let queues = queues.iter().map(|&bytes| Bytes::new(bytes)).collect();
        let (rate, weights) = (Rate::from_mbit(10), weights.to_vec());
        let port = PortQdisc { rate, queues, weights, overhead: PortQdisc::overhead(false), mtu: Bytes::new(1_500) };
        ToolBatch::tc().extend(port.lines("p1").unwrap()).run(&from).unwrap();
        Self { names, from, to }
    }

    fn sender(&self, queue: u8) -> UdpSocket {
        let socket = self.from.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))).unwrap().unwrap();
        setsockopt(&socket, sockopt::Priority, &(class::priority(queue) as i32)).unwrap();
        socket
    }

    /// Measures the packets of the first queue, while the load of all others far exceeds the link.
    fn measure(&self, others: &[u8]) -> Seen {
        let receiver = self.to.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7000))).unwrap().unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        let (low, high): (Vec<UdpSocket>, _) =
            (others.iter().map(|&queue| self.sender(queue)).collect(), self.sender(0));
        let (start, done) = (Instant::now(), AtomicBool::new(false));
        let target = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 7000);
        // Number of packets of the other queues that have been handed to the kernel.
        let sent_low = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut packet = [0; 1400];
                while !done.load(Relaxed) {
                    // Twelve frames every 10 ms are 1.4 times the rate.
                    for index in 0..12 {
                        packet[..8].copy_from_slice(&sent_low.load(Relaxed).to_be_bytes());
                        drop(low[index % low.len()].send_to(&packet, target));
                        sent_low.fetch_add(1, Relaxed);
                    }
                    thread::sleep(Duration::from_millis(10));
                }
            });
            scope.spawn(|| {
                // Until the other queues are full.
                while sent_low.load(Relaxed) < 600 {
                    thread::sleep(Duration::from_millis(10));
                }
                let mut packet = [0; SIZE];
                for _ in 0..PACKETS / AT_ONCE {
                    for _ in 0..AT_ONCE {
                        let sent = start.elapsed().as_nanos() as u64;
                        packet[..8].copy_from_slice(&sent_low.load(Relaxed).to_be_bytes());
                        packet[8..16].copy_from_slice(&sent.to_be_bytes());
                        high.send_to(&packet, target).unwrap();
                    }
                    thread::sleep(Duration::from_millis(10));
                }
                done.store(true, Relaxed);
            });
            let mut seen = Seen::default();
            let mut packet = [0; 1400];
            // Of the packets of the first queue: how many others had been sent before.
            let mut before = Vec::new();
            // The loop ends when the receiver times out: the senders have ended.
            loop {
                let length = match receiver.recv(&mut packet) {
                    Ok(length) => length,
                    // The process was stopped and resumed.
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                let number = |at: usize| u64::from_be_bytes(packet[at..at + 8].try_into().unwrap());
                if length == SIZE {
                    seen.delays.push(start.elapsed().saturating_sub(Duration::from_nanos(number(8))));
                    before.push(number(0));
                } else {
                    // It was sent before these, and arrives after them.
                    seen.overtaken += before.iter().rev().take_while(|&&sent| sent > number(0)).count() as u64;
                }
            }
            seen.delays.sort();
            seen
        })
    }
}

/// Results for the packets of the first queue.
#[derive(Default)]
struct Seen {
    /// From handing them to the kernel until they were read, shortest first.
    delays: Vec<Duration>,
    /// Pairs of a packet of another queue and one of the first that was sent later and arrived earlier.
    overtaken: u64,
}

impl Seen {
    fn median(&self) -> Duration {
        self.delays.get(self.delays.len() / 2).copied().unwrap_or_default()
    }
}

/// Returns `true` if delays are asserted: `make quiet-lab`.
fn is_quiet() -> bool {
    std::env::var_os("WAYLEAVE_QUIET").is_some()
}

impl Drop for Bottleneck {
    fn drop(&mut self) {
        Namespace::delete(self.names.all()).unwrap();
    }
}

pub(crate) fn the_highest_queue_is_fast_and_lossless_while_the_lowest_overflows() {
    require_ethtool();
    let port = Bottleneck::new(&[90_000, 90_000, LOW_BUFFER]);
    let seen = port.measure(&[1, 2]);
    let counters = queue_counters(&port.from).unwrap();
    let (interface, queues) = &counters[0];
    assert_eq!((interface.as_str(), counters.len(), queues.len()), ("p1", 1, 3));
    assert_eq!((queues[0].packets, queues[0].drops), (PACKETS as u64, 0));
    assert!(queues[2].drops > 100, "the lowest queue was to overflow: {:?}", queues[2]);
    // Some tens of frames wait in the other queues when a packet of the first comes, and it overtakes them.
    let pairs = seen.delays.len() as u64;
    assert!(pairs > 100 && seen.overtaken > 10 * pairs, "{pairs} packets overtook {} times", seen.overtaken);
    if is_quiet() {
        // One frame that is already on the wire (1.2 ms), six packets (4.8 ms), and delays of the machine. If queues
        // took turns, the first would be full, with 70 ms.
        assert_eq!(seen.delays.len(), PACKETS, "the receiver lost packets");
        assert!(seen.median() < Duration::from_millis(15), "{:?}", seen.median());
    }
}

pub(crate) fn without_priorities_the_port_delays_everything() {
    require_ethtool();
    // Some are lost, too.
    let seen = Bottleneck::new(&[LOW_BUFFER]).measure(&[0]);
    // A sender may be stopped between taking a number and sending; that is one packet at a time.
    assert!(seen.delays.len() > 100 && seen.overtaken < 2 * seen.delays.len() as u64, "{} overtaken", seen.overtaken);
    if is_quiet() {
        assert!(seen.median() > Duration::from_millis(20), "{:?}", seen.median());
    }
}

/// Frames of the largest size in every queue but the first, always more than the link carries. Judged by the counters of the queues: what each has
/// sent while all of them were full.
pub(crate) fn queues_below_strict_ones_share_the_remaining_rate_by_weight() {
    require_ethtool();
    let port = Bottleneck::sharing(&[90_000; 4], &[6, 3, 1]);
    let target = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 7000);
    let _receiver = port.to.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7000))).unwrap().unwrap();
    let senders: Vec<UdpSocket> = (0..4).map(|queue| port.sender(queue)).collect();
    let queues = || queue_counters(&port.from).unwrap()[0].1.clone();
    // Queues that are full: 60 frames are in each.
    let fill = || {
        for sender in &senders[1..] {
            (0..80).for_each(|_| drop(sender.send_to(&[0; 1400], target)));
        }
    };
    let is_full = |now: &[QueueCounters]| now[1..].iter().all(|queue| queue.backlog > 0);
    let sent = |at: usize, before: &[QueueCounters], now: &[QueueCounters]| now[at].packets - before[at].packets;
    let (begin, mut before, mut high) = (Instant::now(), None::<Vec<QueueCounters>>, 0);
    let mut last = Instant::now();
    let (before, now) = loop {
        let now = queues();
        // During a pause of the machine, classes save tokens, which they then send at their own rate.
        let has_paused = std::mem::replace(&mut last, Instant::now()).elapsed() > MAX_PAUSE;
        match &before {
            // A queue that is not empty before a refill has not been empty since the last one; otherwise the machine
            // paused, and the measurement restarts.
            Some(before) if is_full(&now) && !has_paused => {
                if sent(3, before, &now) >= 100 {
                    break (before.clone(), now);
                }
            }
            _ if begin.elapsed() > Duration::from_secs(100) => {
                drop(port);
                wayleave_repo_checks::leave_out("quiet", "the machine paused for more than 30 ms in every second");
            }
            _ => {
                fill();
                (before, high) = (Some(queues()), 0);
            }
        }
        fill();
        // The first queue takes what it wants.
        senders[0].send_to(&[0; 1400], target).unwrap();
        high += 1;
        thread::sleep(Duration::from_millis(5));
    };
    let [first, six, three, one] = [0, 1, 2, 3].map(|at| sent(at, &before, &now));
    assert!(first + 3 >= high, "{first} of {high} packets of the first queue were sent");
    // A turn is up to six frames, so each count is known to about as many.
    assert!(six.abs_diff(6 * one) < 40 && three.abs_diff(3 * one) < 20, "{six} : {three} : {one}");
}
