//! A port under overload, in real namespaces: strict priority keeps the highest queue fast; without it the same port does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod names;

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use names::Names;
use nix::sys::socket::{setsockopt, sockopt};
use wayleave_dataplane::class;
use wayleave_dataplane::doctor::examine;
use wayleave_dataplane::net::{Batch, Namespace, PortQdisc, VethEnd, create_veth, plain_packets, queue_counters};
use wayleave_units::{Bytes, Rate};

/// Packets of 1000 B: six every 10 ms are half of the rate, more than the third that each of three queues would get if they took turns.
const PACKETS: usize = 900;
const AT_ONCE: usize = 6;
const SIZE: usize = 1000 - 42 - 24;
/// What waits in the lowest queue when it is full: 60 frames of 1.2 ms.
const LOW_BUFFER: u64 = 90_000;

/// Whether such a link can be made here; says what was left out if not. Without ethtool the kernel would send super-frames, which wait
/// as one.
fn is_able() -> bool {
    let missing = examine().into_iter().find(|check| check.name == "ethtool" && !check.is_present());
    if let Some(check) = &missing {
        eprintln!("LEFT OUT: this test needs {}: {}", check.name, check.finding);
    }
    missing.is_none() && names::is_able()
}

/// Two namespaces with a link of 10 Mbit/s between them.
struct Bottleneck {
    names: Names,
    from: Namespace,
    to: Namespace,
}

impl Bottleneck {
    fn new(queues: &[u64]) -> Self {
        let names = Names::new(&["a", "b"]);
        Namespace::create(names.all()).unwrap();
        let end = |index: usize, ifindex| VethEnd {
            namespace: names.get(index).to_owned(),
            interface: "p1".to_owned(),
            ifindex,
            mac: Some([2, 0, 0, 0, 0, ifindex as u8]),
            mtu: 1528,
        };
        Batch::ip().line(create_veth(&end(0, 101), &end(1, 102)).unwrap()).run(&Namespace::here()).unwrap();
        let open = |index: usize| Namespace::open(names.get(index)).unwrap();
        let (from, to) = (open(0), open(1));
        for (namespace, me, other) in [(&from, 1, 2), (&to, 2, 1)] {
            namespace.silence().unwrap();
            plain_packets(namespace, "p1").unwrap();
            namespace.set_up(["p1"]).unwrap();
            let mut batch = Batch::ip();
            batch.line(format_args!("addr add 10.0.0.{me}/24 dev p1"));
            batch.line(format_args!("neigh add 10.0.0.{other} lladdr 02:00:00:00:00:{:02x} dev p1", 100 + other));
            batch.run(namespace).unwrap();
        }
        let queues = queues.iter().map(|&bytes| Bytes::new(bytes)).collect();
        let port = PortQdisc { rate: Rate::from_mbit(10), queues, overhead: PortQdisc::overhead(false) };
        Batch::tc().extend(port.lines("p1").unwrap()).run(&from).unwrap();
        Self { names, from, to }
    }

    fn sender(&self, queue: u8) -> UdpSocket {
        let socket = self.from.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))).unwrap().unwrap();
        setsockopt(&socket, sockopt::Priority, &(class::priority(queue) as i32)).unwrap();
        socket
    }

    /// Delays of packets of the first queue, while all others have far more than the link carries.
    fn delays(&self, others: &[u8]) -> Vec<Duration> {
        let receiver = self.to.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7000))).unwrap().unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        let (low, high): (Vec<UdpSocket>, _) =
            (others.iter().map(|&queue| self.sender(queue)).collect(), self.sender(0));
        let (start, done) = (Instant::now(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                let target = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 7001);
                while !done.load(Relaxed) {
                    // Twelve frames every 10 ms are 1.4 times the rate.
                    (0..12).for_each(|index| drop(low[index % low.len()].send_to(&[0; 1400], target)));
                    thread::sleep(Duration::from_millis(10));
                }
            });
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(300));
                let mut packet = [0; SIZE];
                for _ in 0..PACKETS / AT_ONCE {
                    for _ in 0..AT_ONCE {
                        let sent = start.elapsed().as_nanos() as u64;
                        packet[..8].copy_from_slice(&sent.to_be_bytes());
                        high.send_to(&packet, "10.0.0.2:7000").unwrap();
                    }
                    thread::sleep(Duration::from_millis(10));
                }
            });
            let mut delays = Vec::new();
            let mut packet = [0; SIZE];
            while delays.len() < PACKETS && receiver.recv(&mut packet).is_ok() {
                delays.push(
                    start
                        .elapsed()
                        .saturating_sub(Duration::from_nanos(u64::from_be_bytes(packet[..8].try_into().unwrap()))),
                );
            }
            done.store(true, Relaxed);
            delays.sort();
            delays
        })
    }
}

impl Drop for Bottleneck {
    fn drop(&mut self) {
        Namespace::delete(self.names.all()).unwrap();
    }
}

#[test]
fn the_highest_queue_is_fast_and_whole_while_the_lowest_overflows() {
    if !is_able() {
        return;
    }
    let port = Bottleneck::new(&[90_000, 90_000, LOW_BUFFER]);
    let delays = port.delays(&[1, 2]);
    assert_eq!(delays.len(), PACKETS, "the highest queue lost packets");
    // One frame that is on the wire already (1.2 ms), six packets (4.8 ms), and what the machine does meanwhile. If queues took turns, the
    // first would be full, with 70 ms.
    let median = delays[PACKETS / 2];
    assert!(median < Duration::from_millis(15), "{median:?}");

    let counters = queue_counters(&port.from).unwrap();
    let (interface, queues) = &counters[0];
    assert_eq!((interface.as_str(), counters.len(), queues.len()), ("p1", 1, 3));
    assert_eq!((queues[0].packets, queues[0].drops), (PACKETS as u64, 0));
    assert!(queues[2].drops > 100, "the lowest queue was to overflow: {:?}", queues[2]);
}

#[test]
fn without_priorities_the_same_port_delays_everything() {
    if !is_able() {
        return;
    }
    // Some are lost, too.
    let delays = Bottleneck::new(&[LOW_BUFFER]).delays(&[0]);
    let median = delays[delays.len() / 2];
    assert!(median > Duration::from_millis(20), "{median:?}");
}
