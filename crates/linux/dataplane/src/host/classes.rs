//! Classification of packets by contract, in the maps: classes by tuple space, and the masks in use for each
//! endpoint.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use wayleave_packet_format::Mac;

use super::Host;
use crate::error::Error;
use crate::layout::{self, Class, MAX_MASKS, MAX_SAME};

impl Host {
    /// The classes of a contract.
    pub(super) fn classes_of(&self, serial: u64) -> Vec<Class> {
        let is_its = |contracts: &[(u64, u32)]| contracts.iter().any(|&(other, _)| other == serial);
        self.known.iter().filter(|(_, contracts)| is_its(contracts)).map(|(class, _)| *class).collect()
    }

    /// Returns the contracts of whose packets at least some belong to a contract that comes first, with that one: no packet
    /// belongs to two.
    pub fn shadowed(&self) -> BTreeMap<u64, u64> {
        let shadowed = self.known.values().filter_map(|contracts| Some((contracts.first()?.0, &contracts[1..])));
        shadowed.flat_map(|(first, others)| others.iter().map(move |&(serial, _)| (serial, first))).collect()
    }

    /// Checks that there is room for these classes of a contract.
    pub(super) fn check_classes(&self, serial: u64, classes: &[Class]) -> Result<(), Error> {
        for class in classes {
            let others =
                self.known.get(class).map_or(0, |all| all.iter().filter(|&&(other, _)| other != serial).count());
            if others >= MAX_SAME {
                return Err(Error::Refused(format!(
                    "{others} contracts already match exactly these packets; only the oldest one is used"
                )));
            }
            let ifindex = class.ifindex();
            let mut masks: BTreeSet<u8> = self.masks(ifindex).into_iter().collect();
            masks.extend(classes.iter().filter(|class| class.ifindex() == ifindex).map(Class::mask));
            if masks.len() > MAX_MASKS {
                return Err(Error::Refused(format!(
                    "contracts of one endpoint can match on at most {MAX_MASKS} different sets of fields, and these have {}: use the same fields in all matches",
                    masks.len()
                )));
            }
        }
        Ok(())
    }

    pub(super) fn add_classes(&mut self, serial: u64, slot: u32, classes: &[Class]) -> Result<(), Error> {
        for class in classes {
            let mut contracts = self.known.get(class).cloned().unwrap_or_default();
            contracts.retain(|&(other, _)| other != serial);
            contracts.push((serial, slot));
            self.write_class(*class, contracts)?;
        }
        self.write_masks(classes)
    }

    pub(super) fn remove_classes(&mut self, serial: u64, classes: &[Class]) -> Result<(), Error> {
        for class in classes {
            let mut contracts = self.known.get(class).cloned().unwrap_or_default();
            contracts.retain(|&(other, _)| other != serial);
            self.write_class(*class, contracts)?;
        }
        self.write_masks(classes)
    }

    fn write_class(&mut self, class: Class, mut contracts: Vec<(u64, u32)>) -> Result<(), Error> {
        let failed = |error| Error::failed("writing a class", error);
        contracts.sort_unstable();
        if contracts.is_empty() {
            self.is_stale = true;
            let removed = match &class {
                Class::Short(key) => self.classes.remove(key),
                Class::Long(key) => self.classes6.remove(key),
            };
            removed.map_err(failed)?;
            self.known.remove(&class);
        } else {
            self.settle()?;
            // Replacing an entry frees the old one.
            self.is_stale = self.known.contains_key(&class);
            let value = layout::contracts(&contracts);
            let written = match &class {
                Class::Short(key) => self.classes.insert(*key, value),
                Class::Long(key) => self.classes6.insert(*key, value),
            };
            written.map_err(failed)?;
            self.known.insert(class, contracts);
        }
        Ok(())
    }

    /// Masks in use at an endpoint, those with most fields first.
    fn masks(&self, ifindex: u32) -> Vec<u8> {
        let classes = self.known.keys().filter(|class| class.ifindex() == ifindex);
        let masks: BTreeSet<(Reverse<u32>, u8)> =
            classes.map(Class::mask).map(|mask| (Reverse(mask.count_ones()), mask)).collect();
        masks.into_iter().map(|(_, mask)| mask).collect()
    }

    /// Writes the masks in use to the endpoints of these classes.
    fn write_masks(&mut self, classes: &[Class]) -> Result<(), Error> {
        let endpoints: BTreeSet<u32> = classes.iter().map(Class::ifindex).collect();
        for ifindex in endpoints {
            if let Some((mac, vlan)) = self.endpoint_at(ifindex) {
                self.write_endpoint(ifindex, mac, vlan)?;
            }
        }
        Ok(())
    }

    /// Writes an endpoint with the masks in use at it, if that differs from the current entry.
    pub(super) fn write_endpoint(&mut self, ifindex: u32, mac: Mac, vlan: u16) -> Result<(), Error> {
        let failed = |error| Error::failed("writing an endpoint", error);
        let after = layout::endpoint(mac, vlan, &self.masks(ifindex));
        let before = self.endpoints.get(&ifindex).copied();
        if before == Some(after) {
            return Ok(());
        }
        self.settle()?;
        self.is_stale = before.is_some();
        self.endpoints.insert(ifindex, after).map_err(failed)
    }
}
