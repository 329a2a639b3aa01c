//! Addresses of VMs that declare none.

use wayleave_controller::{
    Command, Controller, ControllerConfig, EnforcedBy, Id, Precondition, RecordChange, RecordKind, VmRequest,
};
use wayleave_packet_format::{Mac, mac_of};

use super::smoke::{at, setup};

const SECRET: [u8; 16] = [7; 16];

fn put(controller: &mut Controller, name: &str, mac: Option<Mac>) -> Result<Mac, String> {
    let id = Id::new("default", name);
    let put =
        Command::PutVm { id: id.clone(), placement: VmRequest::On("h1".to_owned()), mac, check: Precondition::None };
    controller.handle(at(1), put).map_err(|fault| format!("{fault:?}"))?;
    Ok(controller.vm(&id).unwrap().mac)
}

fn again(setup: &ControllerConfig, records: &[RecordChange]) -> Controller {
    let records = records.iter().filter_map(|one| Some((one.kind, &*one.key, one.body.as_deref()?)));
    Controller::load(setup, at(0).wall, records).unwrap()
}

#[test]
fn vms_of_a_ledger_without_a_secret_keep_their_addresses_and_new_ones_cannot_be_computed() {
    let setup = setup(EnforcedBy::Nobody);
    let mut older = Controller::load(&setup, at(0).wall, []).unwrap();
    assert_eq!(put(&mut older, "old", None), Ok(mac_of("default:old")));
    let mut newer = again(&setup, &older.records());
    assert!(!newer.has_vm_secret());
    newer.set_vm_secret(SECRET);
    assert_eq!(newer.vm(&Id::new("default", "old")).unwrap().mac, mac_of("default:old"));
    let new = put(&mut newer, "new", None).unwrap();
    assert_ne!(new, mac_of("default:new"));
    // A request for the address that follows from the name alone succeeds, with or without a VM of that name.
    for (other, name) in [("x", "new"), ("y", "nobody")] {
        let mac = mac_of(&format!("default:{name}"));
        assert_eq!(put(&mut newer, other, Some(mac)), Ok(mac));
    }
}

#[test]
fn restarts_backups_and_followers_derive_the_same_addresses_and_other_ledgers_others() {
    let setup = setup(EnforcedBy::Nobody);
    let load = |secret: [u8; 16]| {
        let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
        controller.set_vm_secret(secret);
        controller
    };
    let mut leader = load(SECRET);
    let mut follower = Controller::load(&setup, at(0).wall, []).unwrap();
    put(&mut leader, "first", None).unwrap();
    follower.follow(at(1), &leader.take_output().changes).unwrap();
    let records = leader.records();
    assert!(
        records
            .iter()
            .any(|one| one.kind == RecordKind::Controller && one.body.as_ref().unwrap().contains("vm_secret"))
    );
    let mut restarted = again(&setup, &records);
    // A secret is kept once: another one changes nothing.
    restarted.set_vm_secret([8; 16]);
    let web = put(&mut leader, "web", None).unwrap();
    for other in [&mut follower, &mut restarted] {
        assert!(other.has_vm_secret());
        assert_eq!(put(other, "web", None), Ok(web));
    }
    assert_ne!(put(&mut load([8; 16]), "web", None).unwrap(), web);
}
