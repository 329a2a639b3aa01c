//! Speed and exactness of the programs: Chameleon (CoNEXT 2020), section 5.3.
//!
//! Measurements run in isolation and use nothing of the machine but the processor.

mod crossing;
mod shaping;
mod tagging;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wayleave_packet_format::{BucketDemand, Mac, PacketSelector, Tag};
use wayleave_units::{Bytes, Rate, Time};

use crate::error::Error;
use crate::host::{Host, HostPath, HostRule, Sender, Settings};
use crate::sandbox::Apart;

pub use crossing::{HostCrossingTime, cross};
pub use shaping::{ShapingError, ShapingScenario, TABLE_4, shape};
pub use tagging::{Tagging, tag};

/// The loopback: the one interface that is always there. Nothing is sent by it; redirection is only a verdict here.
const LOOPBACK: u32 = 1;

/// Does something in a thread apart.
fn apart<T: Send>(work: impl FnOnce(&Apart) -> Result<T, Error> + Send) -> Result<T, Error> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder: PathBuf = std::env::temp_dir().join(format!("wayleave-measure-{}-{number}", std::process::id()));
    let result = thread::scope(|scope| {
        let thread = scope.spawn(|| Apart::enter(&folder).and_then(|apart| work(&apart)));
        thread.join().unwrap_or_else(|_| {
            Err(Error::Failed { doing: "measuring".to_owned(), why: "the measurement has panicked".to_owned() })
        })
    });
    // Empty, where the file system was mounted over it; if another measurement uses it, it stays.
    let _ = std::fs::remove_dir(&folder);
    result
}

/// A host's memory for programs and maps, with this many endpoints that have this many contracts each.
///
/// # Errors
/// If the kernel refuses.
pub fn memory(endpoints: u8, contracts: u16) -> Result<Bytes, Error> {
    apart(|apart| {
        let mut host = Host::open(&apart.pins().join("host"), &Settings::default())?;
        for endpoint in 0..endpoints {
            // The programs never see these interfaces: any number does.
            host.add_endpoint(1000 + u32::from(endpoint), mac(endpoint))?;
            for flow in 0..contracts {
                let serial = 1 + u64::from(endpoint) * u64::from(contracts) + u64::from(flow);
                let sender = Sender { ifindex: 1000 + u32::from(endpoint), selector: selector(endpoint, flow) };
                host.install(serial, 1, &rule(sender, Rate::from_mbit(10), Bytes::new(10_000), 6)?)?;
            }
        }
        host.memory()
    })
}

/// Measures the time to make the data planes of this many hosts concurrently, maps and programs, until all exist.
/// Work that a process does only once is not counted.
///
/// # Errors
/// If the kernel refuses.
pub fn load(hosts: u16) -> Result<Duration, Error> {
    apart(|apart| {
        let open = |name: &str| Host::open(&apart.pins().join(name), &Settings::default());
        drop(open("first")?);
        let began = Instant::now();
        thread::scope(|scope| {
            let names = (0..hosts).map(|host| format!("host{host}"));
            let hosts: Vec<_> = names.map(|name| scope.spawn(move || open(&name))).collect();
            let panicked = || Error::Failed { doing: "measuring".to_owned(), why: "a thread has panicked".to_owned() };
            hosts.into_iter().try_for_each(|host| host.join().map_err(|_| panicked())?.map(drop))
        })?;
        Ok(began.elapsed())
    })
}

/// Returns the address of an endpoint, or of a receiver.
fn mac(last: u8) -> Mac {
    Mac::new([2, 0, 0, 0, 1, last])
}

/// The one that receives.
const RECEIVER: Mac = Mac::new([2, 0, 0, 0, 0, 255]);

fn ipv4(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

/// A five-tuple and the receiver's address: everything that can be asked for.
fn selector(endpoint: u8, flow: u16) -> PacketSelector {
    PacketSelector {
        destination: Some(RECEIVER),
        protocol: Some(17),
        source_address: Some(IpAddr::V4(ipv4(endpoint))),
        source_port: Some(1000 + flow),
        destination_address: Some(IpAddr::V4(ipv4(255))),
        destination_port: Some(9),
    }
}

fn rule(sender: Sender, rate: Rate, burst: Bytes, tags: u16) -> Result<HostRule, Error> {
    let tags = (0..tags).map(|port| Tag::new(port, 1)).collect::<Result<_, _>>();
    let tags = tags.map_err(|error| Error::Refused(error.to_string()))?;
    Ok(HostRule {
        senders: vec![sender],
        demand: BucketDemand { rate, burst, max_frame: None },
        paths: vec![HostPath { uplink: LOOPBACK, queue: 1, tags, mtu: Bytes::new(9_000) }],
        bound: Time::from_millis(10),
    })
}

/// A UDP packet of a flow, of this many bytes from its destination address on.
fn frame(endpoint: u8, flow: u16, length: usize) -> Vec<u8> {
    let length = length.max(42);
    let ip = (length - 14) as u16;
    let mut frame = [RECEIVER.bytes(), mac(endpoint).bytes()].concat();
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(ip.to_be_bytes());
    frame.extend([0, 1, 0, 0, 64, 17, 0, 0]);
    frame.extend(ipv4(endpoint).octets().into_iter().chain(ipv4(255).octets()));
    for number in [1000 + flow, 9, ip - 20] {
        frame.extend(number.to_be_bytes());
    }
    frame.resize(length, 0);
    frame
}
