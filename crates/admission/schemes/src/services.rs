//! The numbers of services: what machines and brokers call them.

use wayleave_contracts::Policy;
use wayleave_scheme_api::ClassId;

/// The policies of a network, at most one for each level.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policies<'a> {
    /// Of the machines.
    pub machine: Option<&'a Policy>,
    /// Of the racks.
    pub rack: Option<&'a Policy>,
    /// Of the fabric.
    pub fabric: Option<&'a Policy>,
}

impl<'a> Policies<'a> {
    /// Returns the policies that exist, the machines' first.
    pub fn iter(&self) -> impl Iterator<Item = &'a Policy> + use<'a> {
        [self.machine, self.rack, self.fabric].into_iter().flatten()
    }
}

/// Policies name more services than a message has numbers.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
#[error("the policies name {} services, and brokers support at most 65535", .services)]
pub struct TooManyServices {
    /// Number of services.
    pub services: usize,
}

/// The services of all levels by number: in the order of their names from 1, so that equal policies give equal
/// numbers. 0 is traffic of no service. Services of two levels with one name are one service.
///
/// The number of a service that has parts means its traffic outside all parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Services {
    names: Vec<String>,
    /// The service that contains it, from the first policy that defines one.
    parents: Vec<Option<ClassId>>,
}

impl Default for Services {
    /// No services.
    fn default() -> Self {
        Self { names: Vec::new(), parents: vec![None] }
    }
}

impl Services {
    /// Traffic that belongs to no service.
    pub const OTHER: ClassId = ClassId(0);

    /// Of these policies.
    ///
    /// # Errors
    /// If they are too many.
    pub fn new(policies: Policies<'_>) -> Result<Self, TooManyServices> {
        let named = policies.iter().flat_map(Policy::services).map(|service| service.name.clone());
        let mut names: Vec<String> = named.collect();
        names.sort_unstable();
        names.dedup();
        if names.len() > usize::from(u16::MAX) {
            return Err(TooManyServices { services: names.len() });
        }
        let mut services = Self { parents: vec![None; names.len() + 1], names };
        for service in policies.iter().flat_map(Policy::services) {
            let (Some(class), Some(parent)) = (services.class(&service.name), &service.parent) else { continue };
            let parent = services.class(parent);
            services.parents[class.index()] = services.parents[class.index()].or(parent);
        }
        Ok(services)
    }

    /// Returns the count of numbers, that of no service included.
    #[expect(clippy::len_without_is_empty, reason = "0 is always there")]
    pub fn len(&self) -> usize {
        self.names.len() + 1
    }

    /// All numbers.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> + use<> {
        (0..self.len() as u32).map(ClassId)
    }

    /// The number of a service.
    pub fn class(&self, name: &str) -> Option<ClassId> {
        let place = self.names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        Some(ClassId(place as u32 + 1))
    }

    /// The name of a service; nothing for [`Services::OTHER`], and for numbers that no service has.
    pub fn name(&self, class: ClassId) -> Option<&str> {
        self.names.get(class.index().checked_sub(1)?).map(String::as_str)
    }

    /// The service of a policy to which traffic of a class belongs: that of its name, or the nearest of which it is a part.
    pub fn place(&self, policy: &Policy, class: ClassId) -> Option<usize> {
        let line = std::iter::successors(Some(class), |&class| self.parents.get(class.index()).copied().flatten());
        // Parents of two policies could go round in a circle.
        let names = line.take(self.len()).filter_map(|class| self.name(class));
        names.into_iter().find_map(|name| policy.services().iter().position(|service| service.name == name))
    }

    /// The class of a service of a policy.
    pub fn class_at(&self, policy: &Policy, service: Option<usize>) -> ClassId {
        service.and_then(|service| self.class(&policy.services()[service].name)).unwrap_or(Self::OTHER)
    }
}
