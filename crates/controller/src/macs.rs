//! Addresses that follow from names: the address of a VM or host is computed from its name, without asking the controller.

use wayleave_wire::{Mac, mac_of};

use wayleave_protocol::Id;

/// Of a VM.
pub(crate) fn of(id: &Id) -> Mac {
    mac_of(&id.to_string())
}

/// Of a VM whose first address somebody else has.
pub(crate) fn of_again(id: &Id, number: u32) -> Mac {
    // No name has this sign.
    mac_of(&format!("{id}#{number}"))
}

/// Of a host's own interface.
pub(crate) fn of_host(name: &str) -> Mac {
    mac_of(&format!("host:{name}"))
}
