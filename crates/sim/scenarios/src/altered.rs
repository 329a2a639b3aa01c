//! Modified copies of a sharing: for hypothetical queries, and for fault injection.

use wayleave_contracts::{Bandwidth, Policy};
use wayleave_scheme_api::{ParamValues, Value};
use wayleave_topology::Network;
use wayleave_units::Rate;

use crate::Sharing;
use crate::sharing::HostSchemeConfig;

impl Sharing {
    /// Scales all minima of machines to `percent` per cent. Returns `true` if there are any, and the policy is valid.
    pub fn scale_minima(&mut self, network: &Network, percent: u64) -> bool {
        self.change_terms(network, |terms| {
            let Some(min) = &mut terms.min else { return false };
            let scaled = u128::from(min.bits_per_second()) * u128::from(percent) / 100;
            *min = Rate::from_bits_per_second(u64::try_from(scaled).unwrap_or(u64::MAX));
            terms.max = terms.max.map(|max| max.max(*min));
            true
        })
    }

    /// Removes all maxima of machines. Returns `true` if there were any.
    pub fn lift_maxima(&mut self, network: &Network) -> bool {
        self.change_terms(network, |terms| terms.max.take().is_some())
    }

    /// Changes the terms of all services at machines. Returns `true` if any changed, and the policy is valid.
    fn change_terms(&mut self, network: &Network, change: impl Fn(&mut Bandwidth) -> bool) -> bool {
        let mut services = self.machine.services().to_vec();
        let terms =
            services.iter_mut().flat_map(|service| [&mut service.bandwidth.transmit, &mut service.bandwidth.receive]);
        let is_any = terms.fold(false, |is_any, terms| change(terms) | is_any);
        let (name, level) = (self.machine.name().to_owned(), self.machine.level());
        let changed = Policy::new(network, &name, level, Vec::new(), self.machine.peak(), services);
        is_any && changed.map(|changed| self.machine = changed).is_ok()
    }

    /// Sets a parameter of one of the schemes to another of its words. Returns `true` if that changes anything.
    ///
    /// # Panics
    ///
    /// If a scheme with this name has no such parameter.
    pub fn set_word(&mut self, scheme: &str, key: &str, word: &'static str) -> bool {
        let schemes =
            std::iter::once(&mut self.scheme).chain(self.other_schemes.iter_mut().map(|also| &mut also.scheme));
        schemes.filter(|found| found.name() == scheme).fold(false, |is_any, found| set_word(found, key, word) | is_any)
    }
}

fn set_word(scheme: &mut HostSchemeConfig, key: &str, word: &'static str) -> bool {
    let settings = scheme.settings();
    assert!(settings.iter().any(|(parameter, _)| parameter.key == key), "{} has no parameter {key}", scheme.name());
    let given: ParamValues = settings
        .into_iter()
        .enumerate()
        .filter(|(_, (_, value))| *value != Value::Absent)
        .map(|(at, (parameter, value))| (at, if parameter.key == key { Value::Word(word) } else { value }))
        .collect();
    let Some(other) = HostSchemeConfig::of(scheme.name(), &given).filter(|other| other != scheme) else { return false };
    *scheme = other;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_scheme_is_replaced_by_another() {
        let mut scheme = HostSchemeConfig::of("ufab", &Vec::new()).unwrap();
        let usual = scheme.clone();
        assert!(set_word(&mut scheme, "windowIncrease", "free"));
        assert!(!set_word(&mut scheme, "windowIncrease", "free"), "it is that already");
        assert!(!set_word(&mut scheme, "windowIncrease", "no such word"));
        let word = |scheme: &HostSchemeConfig| {
            scheme.settings().into_iter().find(|(parameter, _)| parameter.key == "windowIncrease")
        };
        assert_eq!(word(&scheme).unwrap().1, Value::Word("free"));
        assert!(set_word(&mut scheme, "windowIncrease", "share"));
        assert_eq!(scheme, usual, "nothing else has changed");
    }
}
