//! Construction of a lab from its plan.

use std::io;
use std::path::{Path, PathBuf};

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use wayleave_dataplane::net::{
    Namespace, NetError, ServicePort, ToolBatch, VethEnd, attach_pass, create_veth, output, pin_pass, plain_packets,
};
use wayleave_dataplane::switch::{LinuxSwitch, SwitchDriver};
use wayleave_topology::NodeKind;

use crate::bridges;
use crate::error::LabError;
use crate::plan::{LabPlan, ServicePlan};
use crate::state::Folder;
use crate::stop::StopRequest;

/// Number of namespaces that are configured concurrently.
const WORKERS: usize = 4;

/// Configuration of one namespace once its interfaces exist.
struct Inside<'a> {
    namespace: &'a str,
    interfaces: Vec<&'a str>,
    ip: Vec<String>,
    tc: Vec<String>,
    /// `true` if packets must leave with complete checksums: the kernel leaves them open on virtual links, and Open
    /// vSwitch would forward them so.
    sums: bool,
}

/// Makes namespaces and links, gives every port its queues, and starts the switches.
pub(crate) fn build(plan: &LabPlan, folder: &Folder, stop: &StopRequest) -> Result<(), LabError> {
    let pins = &folder.pins();
    stop.check()?;
    Namespace::create(plan.namespaces())?;
    let mut links = ToolBatch::ip();
    let endpoints = plan.endpoints.iter().map(|endpoint| [&endpoint.inside, &endpoint.outside]);
    for [a, b] in plan.links().iter().map(|[a, b]| [a, b]).chain(endpoints) {
        links.line(create_veth(a, b)?);
    }
    links.run(&Namespace::current())?;
    let pass = pass(plan, pins)?;
    stop.check()?;
    each(&insides(plan, &pass)?, Inside::configure)?;
    for ServicePlan { namespace, service, ports } in &plan.services {
        let mtu = ports.iter().map(|port| port.front.mtu).max().unwrap_or_default();
        let names = ports.iter().map(|port| ServicePort { front: &port.front.interface, back: &port.back.interface });
        let names: Vec<ServicePort<'_>> = names.collect();
        service.begin(&Namespace::open(namespace)?, &names, mtu, &pins.join("service"))?;
    }
    for switch in plan.switches() {
        stop.check()?;
        if switch.is_ovs {
            bridges::begin(folder, switch, pins, stop)?;
            continue;
        }
        LinuxSwitch::open(Namespace::open(&switch.namespace)?, &pins.join(switch.file_name()))?
            .configure(&switch.ports)?;
    }
    Ok(())
}

/// The program that keeps packets in order. Kernels without one for large packets cannot set the MTU of the links.
fn pass(plan: &LabPlan, pins: &Path) -> Result<PathBuf, LabError> {
    let most = plan.cables.iter().flatten().map(|end| end.mtu).max().unwrap_or_default();
    pin_pass(pins, most).map_err(|error| match &plan.largest {
        Some((link, mtu)) if pin_pass(pins, 0).is_ok() => {
            LabError::Mtu { link: link.clone(), mtu: *mtu, why: error.to_string() }
        }
        _ => error.into(),
    })
}

fn insides<'a>(plan: &'a LabPlan, pass: &Path) -> Result<Vec<Inside<'a>>, NetError> {
    let mut insides = Vec::with_capacity(plan.nodes.len() + plan.endpoints.len());
    for node in &plan.nodes {
        let mut inside =
            Inside { namespace: &node.namespace, interfaces: Vec::new(), ip: Vec::new(), tc: Vec::new(), sums: false };
        for port in &node.ports.ports {
            inside.interfaces.push(&port.interface);
            // A switch gets its queues with its program.
            if let Some(egress) = port.egress.as_ref().filter(|_| node.kind == NodeKind::Host) {
                inside.tc.extend(egress.lines(&port.interface)?);
            }
        }
        inside.interfaces.extend(plan.on_host(node.node).map(|endpoint| endpoint.outside.interface.as_str()));
        insides.push(inside);
    }
    for ServicePlan { namespace, ports, .. } in &plan.services {
        let interfaces = ports.iter().flat_map(|port| [&*port.front.interface, &*port.back.interface]).collect();
        insides.push(Inside { namespace, interfaces, ip: Vec::new(), tc: Vec::new(), sums: false });
    }
    for endpoint in &plan.endpoints {
        let VethEnd { namespace, interface, .. } = &endpoint.inside;
        let ip = vec![format!("addr add {}/8 dev {interface}", endpoint.address)];
        let sums = plan.switches().any(|switch| switch.is_ovs);
        insides.push(Inside { namespace, interfaces: vec![interface], ip, tc: Vec::new(), sums });
    }
    for inside in &mut insides {
        let attach = |interface: &&str| attach_pass(interface, pass);
        let up = inside.interfaces.iter().map(|interface| format!("link set dev {interface} up"));
        inside.ip = inside.interfaces.iter().map(attach).chain(up).chain(std::mem::take(&mut inside.ip)).collect();
    }
    for (inside, endpoint) in insides.iter_mut().rev().zip(plan.endpoints.iter().rev()) {
        // Addresses are configured everywhere, so nothing answers ARP requests.
        let others = plan.endpoints.iter().filter(|other| other.id != endpoint.id);
        inside.ip.extend(others.map(|other| {
            let mac = other.mac.map(|byte| format!("{byte:02x}")).join(":");
            format!("neigh replace {} lladdr {mac} nud permanent dev {}", other.address, endpoint.inside.interface)
        }));
    }
    Ok(insides)
}

impl Inside<'_> {
    fn configure(&self) -> Result<(), NetError> {
        let namespace = Namespace::open(self.namespace)?;
        namespace.silence()?;
        ToolBatch::ip().extend(self.ip.iter().cloned()).run(&namespace)?;
        for interface in &self.interfaces {
            plain_packets(&namespace, interface)?;
            if self.sums {
                output(&namespace, "ethtool", &["-K", interface, "tx", "off"])?;
            }
        }
        ToolBatch::tc().extend(self.tc.iter().cloned()).run(&namespace)
    }
}

/// Does something for each, several at once, and stops at the first that fails.
fn each<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<(), NetError> + Sync) -> Result<(), LabError> {
    let pool = ThreadPoolBuilder::new().num_threads(WORKERS).build();
    let pool = pool.map_err(|error| LabError::io("cannot start threads", io::Error::other(error)))?;
    Ok(pool.install(|| items.par_iter().with_max_len(1).try_for_each(&work))?)
}
