//! Checks of an endpoint when it is declared: existence of its interface and of its VM.

use wayleave_dataplane::net::Namespace;

use crate::controller_client::ControllerClient;
use crate::options::NodeOptions;

/// Returns the reasons for which a declared endpoint may be unable to send or receive: its interface does not exist,
/// or the controller has no such VM on this host. A check that is not possible is reported, too.
pub fn warnings(node: &NodeOptions, endpoint: &str, interface: &str) -> Vec<String> {
    interface_warning(node, interface).into_iter().chain(vm_warning(node, endpoint)).collect()
}

fn interface_warning(node: &NodeOptions, interface: &str) -> Option<String> {
    let namespace = match node.netns.as_deref().map(Namespace::open).transpose() {
        Ok(namespace) => namespace.unwrap_or_else(Namespace::current),
        Err(error) => return Some(format!("cannot check interface {interface}: {error}")),
    };
    match namespace.run(|| nix::net::if_::if_nametoindex(interface).is_ok()) {
        Ok(true) => None,
        Ok(false) => Some(format!("interface {interface} does not exist now: the agent will use it when it appears")),
        Err(error) => Some(format!("cannot check interface {interface}: {error}")),
    }
}

fn vm_warning(node: &NodeOptions, endpoint: &str) -> Option<String> {
    if endpoint.starts_with("host:") {
        return None;
    }
    let unknown = |why: &str| format!("cannot check VM {endpoint} at the controller: {why}");
    if node.address.url.is_empty() {
        return Some(unknown("no credential configured for the node"));
    }
    let neighbours =
        match ControllerClient::new(node.address.clone(), &node.name).and_then(|client| client.neighbours(None)) {
            Ok(events) => events.map(|(_, neighbours)| neighbours).unwrap_or_default(),
            Err(error) => return Some(unknown(&error.to_string())),
        };
    match neighbours.vms.iter().find(|vm| vm.id == endpoint) {
        None => Some(format!("no VM {endpoint} at the controller: create it (`wayleave apply`), or correct the name")),
        Some(vm) if vm.host != node.name => {
            Some(format!("at the controller, {endpoint} is on {}, not on {}", vm.host, node.name))
        }
        Some(_) => None,
    }
}
