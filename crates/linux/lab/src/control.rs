//! The programs that make a lab a network of Wayleave: a controller, an agent for each host, and one for all
//! switches.
//!
//! They are `wayleave serve` and `wayleave agent`, as on real machines. They run outside of the lab's namespaces and
//! communicate over the loopback interface; agents enter the namespaces of their nodes to configure them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wayleave_dataplane::switch::OvsBridge;
use wayleave_topology::NodeKind;

use crate::error::LabError;
use crate::plan::{HOST_TENANT, NodePlan};
use crate::processes::{Process, ProcessSpec, is_alive, last_lines};
use crate::up::Lab;

/// Timeout of the controller's start.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Prefix of its output when it serves, before its address.
const SERVES: &str = "wayleave serves on ";
/// Time for which agents are watched: one that cannot work with its configuration ends at once.
const SETTLING: Duration = Duration::from_millis(300);
/// The controller, among the programs of the lab.
const CONTROLLER: &str = "controller";

/// Access to the programs of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabPrograms {
    /// The address of the controller, such as `http://127.0.0.1:39127`.
    pub server: String,
    /// The file with an operator's token.
    pub token_file: PathBuf,
    /// All programs.
    pub programs: Vec<Process>,
}

impl Lab {
    /// The file with the token of the lab's operator.
    pub fn token_file(&self) -> PathBuf {
        self.folder().join("operator.token")
    }

    /// Returns the address of the lab's controller; `None` if it has none.
    pub fn server(&self) -> Option<String> {
        let output = fs::read_to_string(self.log(CONTROLLER)).ok()?;
        address(output.rsplit_once(SERVES).map_or("", |(before, _)| &output[before.len()..]))
    }

    /// Starts a controller for the lab's topology, and waits until it serves. `wayleave` is the command's file;
    /// `options` are more options of `wayleave serve`.
    ///
    /// # Errors
    /// If it does not start; its log has the reason.
    pub fn start_controller(&self, wayleave: &Path, options: &[String]) -> Result<LabPrograms, LabError> {
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let token_file = self.token_file();
        let mut arguments: Vec<String> =
            ["serve", "--listen", "127.0.0.1:0", "--enforcement", "hosts-and-switches"].map(str::to_owned).to_vec();
        arguments.extend(["--topology".to_owned(), path(self.topology_file())]);
        arguments.extend(["--ledger".to_owned(), path(self.folder().join("ledger.db"))]);
        arguments.extend(["--operator-token-file".to_owned(), path(token_file.clone())]);
        if !options.iter().any(|option| option == "--jitter" || option.starts_with("--jitter=")) {
            // The jitter of a lab is that of timers, which are late for a port and not for a packet.
            arguments.extend(["--jitter", "ordered"].map(str::to_owned));
        }
        arguments.extend(options.iter().cloned());
        let log = self.log(CONTROLLER);
        let before = fs::read_to_string(&log).map_or(0, |text| text.len());
        let controller = self.start(&wayleave_program(CONTROLLER, wayleave, arguments))?;
        let start = Instant::now();
        loop {
            let output = fs::read_to_string(&log).unwrap_or_default();
            if let Some(server) = address(output.get(before..).unwrap_or_default()) {
                return Ok(LabPrograms { server, token_file, programs: vec![controller] });
            }
            if !is_alive(controller.pid) || start.elapsed() > TIMEOUT {
                return Err(self.ended(CONTROLLER));
            }
            self.stop().check()?;
            sleep(Duration::from_millis(10));
        }
    }

    /// Starts an agent for each host, and one for all switches. They find the controller when it is there.
    ///
    /// # Errors
    /// If one cannot be started, or ends at once.
    pub fn start_agents(&self, wayleave: &Path, server: &str) -> Result<Vec<Process>, LabError> {
        let mut all: BTreeMap<String, Vec<&NodePlan>> = BTreeMap::new();
        for node in &self.plan().nodes {
            all.entry(node.agent()).or_default().push(node);
        }
        let agents = all.into_iter().map(|(name, nodes)| self.start_agent(wayleave, server, &name, &nodes));
        let agents = agents.collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        while start.elapsed() < SETTLING {
            self.stop().check()?;
            if let Some(ended) = agents.iter().find(|agent| !is_alive(agent.pid)) {
                return Err(self.ended(&ended.name));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(agents)
    }

    /// Registers the lab's VMs with the controller, and tenants that it does not know yet.
    ///
    /// # Errors
    /// If the controller refuses.
    pub fn register(&self, wayleave: &Path, server: &str) -> Result<(), LabError> {
        let Some(document) = self.tenants() else { return Ok(()) };
        let file = self.folder().join("tenants.yaml");
        self.write_json(&file, &document)?;
        let mut command = Command::new(wayleave);
        command.args(["apply", "--server", server, "--token-file"]).arg(self.token_file()).arg("--file").arg(&file);
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| LabError::io(format!("cannot start {}", wayleave.display()), error))?;
        if output.status.success() {
            return Ok(());
        }
        let output = [output.stdout, output.stderr].concat();
        Err(LabError::Refused(String::from_utf8_lossy(&output).trim().to_owned()))
    }

    /// The lab's VMs as a document of the kind Tenants; `None` if there are none.
    fn tenants(&self) -> Option<Value> {
        let endpoints = self.plan().endpoints.iter();
        let vms: Vec<(&str, &str, &str)> = endpoints
            .filter_map(|endpoint| {
                let (tenant, name) = endpoint.id.split_once(':')?;
                (tenant != HOST_TENANT).then(|| (tenant, name, self.network().node(endpoint.host).name.as_str()))
            })
            .collect();
        let tenants: BTreeSet<&str> = vms.iter().map(|&(tenant, ..)| tenant).collect();
        let tenants: Vec<Value> = tenants.into_iter().map(|name| json!({ "name": name })).collect();
        // Interfaces have addresses before there is a controller, so the controller derives none.
        let vm = |&(tenant, name, host): &(&str, &str, &str)| {
            let mac = wayleave_packet_format::mac_of(&format!("{tenant}:{name}")).to_string();
            json!({ "name": name, "tenant": tenant, "host": host, "mac": mac })
        };
        (!vms.is_empty()).then(|| {
            json!({
                "apiVersion": "wayleave/v1",
                "kind": "Tenants",
                "metadata": { "name": self.plan().name.as_str() },
                "spec": { "tenants": tenants, "vms": vms.iter().map(vm).collect::<Vec<_>>() },
            })
        })
    }

    fn write_json(&self, file: &Path, document: &Value) -> Result<(), LabError> {
        let text = serde_json::to_string_pretty(document)
            .map_err(|error| LabError::State { file: file.to_owned(), why: error.to_string() })?;
        fs::write(file, text).map_err(|error| LabError::io(format!("cannot write {}", file.display()), error))
    }

    /// Returns the error for a program that ended too early, with its last output: its log is deleted with the lab.
    fn ended(&self, program: &str) -> LabError {
        LabError::Ended { program: program.to_owned(), output: last_lines(&self.log(program)) }
    }

    fn start_agent(&self, wayleave: &Path, server: &str, name: &str, nodes: &[&NodePlan]) -> Result<Process, LabError> {
        let file = self.folder().join(format!("{name}.yaml"));
        self.write_json(&file, &self.agent(server, nodes))?;
        let arguments = vec!["agent".to_owned(), "--config".to_owned(), file.to_string_lossy().into_owned()];
        self.start(&wayleave_program(name, wayleave, arguments))
    }

    /// Returns the configuration of an agent that drives these nodes: a document of the kind Agent.
    pub fn agent(&self, server: &str, nodes: &[&NodePlan]) -> Value {
        json!({
            "apiVersion": "wayleave/v1",
            "kind": "Agent",
            "metadata": { "name": self.plan().name.as_str() },
            "spec": {
                "server": server,
                "tokenFile": self.token_file(),
                "state": self.folder().join("agents"),
                "pins": self.pins(),
                "measure": true,
                "nodes": nodes.iter().map(|node| self.driven(node)).collect::<Vec<_>>(),
            },
        })
    }

    fn driven(&self, node: &NodePlan) -> Value {
        let network = self.network();
        let link = |ifindex: u32, link: Option<wayleave_topology::LinkId>| {
            // A port where nothing leaves goes by the name of the link that enters there.
            let entering = || {
                let named = |&&id: &&wayleave_topology::LinkId| {
                    network.reverse(id).is_none() && self.plan().entry(network, id) == Some(ifindex)
                };
                network.links_into(node.node).iter().find(named).copied()
            };
            link.or_else(entering).map(|id| network.link(id).name.clone())
        };
        let ports = node.ports.ports.iter();
        let interfaces: serde_json::Map<String, Value> = ports
            .filter_map(|port| Some((link(port.ifindex, port.link)?, Value::from(port.interface.as_str()))))
            .collect();
        let endpoints: Vec<Value> = self
            .plan()
            .on_host(node.node)
            .map(|endpoint| {
                let interface = &endpoint.outside.interface;
                match endpoint.id.split_once(':') {
                    Some((HOST_TENANT, host)) => json!({ "host": host, "interface": interface }),
                    _ => json!({ "vm": endpoint.id, "interface": interface }),
                }
            })
            .collect();
        let mut driven = json!({ "node": node.ports.name, "netns": node.namespace, "interfaces": interfaces });
        if node.kind == NodeKind::Host {
            driven["endpoints"] = Value::from(endpoints);
        }
        if let Some(OvsBridge { name, run }) = self.bridge(node) {
            driven["ovs"] = json!({ "bridge": name, "run": run });
        }
        driven
    }
}

fn wayleave_program(name: &str, file: &Path, arguments: Vec<String>) -> ProcessSpec {
    ProcessSpec { name: name.to_owned(), file: file.to_owned(), arguments, environment: Vec::new() }
}

/// Extracts the address from a controller's output.
fn address(output: &str) -> Option<String> {
    // A line that is not whole yet has no end.
    let lines = output.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let rest = lines.filter_map(|line| line.split_once(SERVES)).next()?.1;
    rest.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_a_complete_line() {
        let output = "warning: x\nwayleave serves on http://127.0.0.1:39127 (dashboard: http://127.0.0.1:39127/ui/, interface: http://127.0.0.1:39127/docs)\n";
        assert_eq!(address(output).as_deref(), Some("http://127.0.0.1:39127"));
        assert_eq!(address(output.trim_end()), None);
        assert_eq!(address(""), None);
    }
}
