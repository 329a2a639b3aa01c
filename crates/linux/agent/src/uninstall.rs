//! Taking away what agents have installed.

use std::fs;
use std::path::Path;

use wayleave_dataplane::host::Host;
use wayleave_dataplane::net::{Injector, Namespace, ToolBatch, output};

use wayleave_client::Address;

use crate::controller_client::ControllerClient;
use crate::endpoints::Declared;
use crate::options::{NodeOptions, Options};
use crate::run::{OwnedNode, own};

/// Detaches all programs of these nodes, and removes their queues, maps and remembered rules. Running agents have to
/// be ended first. A missing interface is no error. If a node has a controller, it is notified; a failure to do so is
/// only logged.
///
/// # Errors
/// If rights are missing, an agent runs, or something cannot be removed; the other nodes are still taken down.
pub fn uninstall(options: Options) -> Result<(), String> {
    let Options { settings, nodes } = options;
    let shared = settings.measure.clone();
    let (mut troubles, mut left) = (Vec::new(), Vec::new());
    for owned in own(nodes, &settings)? {
        let (name, address) = (owned.options.name.clone(), owned.options.address.clone());
        // A thread of its own, because it enters the node's namespace.
        let done = std::thread::spawn(move || uninstall_node(&owned)).join();
        match done {
            Ok(Ok(())) => left.push((name, address)),
            Ok(Err(error)) => troubles.push(format!("node {name}: {error}")),
            Err(_) => troubles.push(format!("node {name}: its thread has failed")),
        }
    }
    left.iter().for_each(|(name, address)| notify_controller(name, address));
    if let Some(shared) = shared {
        troubles.extend(remove(&shared).err());
    }
    if troubles.is_empty() { Ok(()) } else { Err(troubles.join("\n")) }
}

/// Notifies the controller that nothing is installed on a node any more.
fn notify_controller(name: &str, address: &Address) {
    if address.url.is_empty() {
        return;
    }
    let events = ControllerClient::new(address.clone(), name).and_then(|client| client.leave());
    match events {
        Ok(()) => tracing::info!("node {name}: uninstalled; the controller was informed"),
        Err(error) => tracing::warn!(
            "node {name}: uninstalled, but the controller could not be informed and will report the agent as silent: {error}"
        ),
    }
}

fn uninstall_node(owned: &OwnedNode) -> Result<(), String> {
    owned.namespace.enter().map_err(|error| error.to_string())?;
    Injector::remove();
    let options = &owned.options;
    let declared = Declared::new(options.endpoints.clone(), options.endpoints_folder());
    let mut interfaces: Vec<String> =
        options.interfaces.values().cloned().chain(declared.all().into_values().map(|one| one.interface)).collect();
    if options.pins.exists() {
        // A switch has the same folder, with other pins in it: they go with the folder.
        if let Ok(mut host) = Host::open(&options.pins, &owned.settings) {
            let known = host.endpoints();
            interfaces.extend(known.into_iter().filter_map(|(index, _)| name(index)));
            host.release_hold().map_err(|error| error.to_string())?;
            host.tear_down().map_err(|error| error.to_string())?;
        }
    }
    interfaces.sort();
    interfaces.dedup();
    for interface in interfaces.iter().filter(|interface| crate::linux::index(interface).is_some()) {
        detach(interface);
    }
    for interface in options.interfaces.values() {
        drop_queues(options, interface)?;
    }
    if let Some(bridge) = &options.ovs
        && let Err(error) = bridge.clear()
    {
        // A bridge that no longer exists has no rules.
        tracing::warn!("rules of bridge {} were not removed: {error}", bridge.name);
    }
    remove(&options.pins)?;
    remove(&options.state)
}

fn name(index: u32) -> Option<String> {
    nix::net::if_::if_indextoname(index).ok()?.into_string().ok()
}

/// Detaches the program of an interface, and the place of programs if no other program is there. There may be none.
fn detach(interface: &str) {
    let tc = |arguments: &[&str]| output(&Namespace::current(), "tc", arguments);
    for hook in ["ingress", "egress"] {
        let _ = tc(&["filter", "del", "dev", interface, hook, "pref", "1", "handle", "1", "bpf"]);
    }
    let is_empty =
        |hook: &str| tc(&["filter", "show", "dev", interface, hook]).is_ok_and(|text| text.trim().is_empty());
    if is_empty("ingress") && is_empty("egress") {
        let _ = tc(&["qdisc", "del", "dev", interface, "clsact"]);
    }
}

/// Removes the queues of a port, if the agent made them: those of others are not touched.
fn drop_queues(options: &NodeOptions, interface: &str) -> Result<(), String> {
    let shown = output(&Namespace::current(), "tc", &["qdisc", "show", "dev", interface, "root"]);
    let is_ours = shown.is_ok_and(|text| text.contains("qdisc tbf 1:"));
    if !is_ours || crate::linux::index(interface).is_none() || !options.state.exists() {
        return Ok(());
    }
    let mut batch = ToolBatch::tc();
    batch.line(format_args!("qdisc del dev {interface} root"));
    batch.run(&Namespace::current()).map_err(|error| error.to_string())
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", folder.display())),
        _ => Ok(()),
    }
}
