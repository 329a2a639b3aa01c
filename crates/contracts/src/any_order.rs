//! Orders of every kind: what a controller is asked for, with the names that were written.

use wayleave_topology::NodeId;
use wayleave_units::WallTime;

use crate::{AnyContract, ContractKind, NameError, Named, Order, OrderError, Priority, check_times};

/// A contract of another kind than latency as a controller gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedOrder {
    /// What admission decides about, between the hosts on which its members are now; never about latency.
    pub contract: AnyContract,
    /// Its members as they were written, VMs or hosts, in the order of [`AnyContract::hosts`].
    pub members: Vec<String>,
    /// How long it is kept when not all can be.
    pub priority: Priority,
    /// When it starts; at once if not given.
    pub starts: Option<WallTime>,
    /// When it ends; never if not given.
    pub ends: Option<WallTime>,
}

impl SharedOrder {
    /// A contract among hosts, at once and for good.
    pub fn plain(contract: AnyContract, members: &[&str]) -> Self {
        let members = members.iter().map(|&member| member.to_owned()).collect();
        Self { contract, members, priority: Priority::default(), starts: None, ends: None }
    }

    /// Checks what an order has beyond its contract, which has a `validate` of its own.
    ///
    /// # Errors
    /// The first thing that is wrong; [`OrderError::field`] says where.
    pub fn validate(&self) -> Result<(), OrderError> {
        check_names(self.contract.name(), self.contract.tenant()).map_err(OrderError::Name)?;
        if let Some((one, other)) = self.on_one_host() {
            return Err(OrderError::SameHost { from: one.to_owned(), to: other.to_owned() });
        }
        check_times(self.starts, self.ends)
    }

    /// Two members of different names on one host: what is promised counts hosts.
    fn on_one_host(&self) -> Option<(&str, &str)> {
        let mut placed: Vec<(NodeId, &str)> =
            self.contract.hosts().into_iter().zip(self.members.iter().map(String::as_str)).collect();
        placed.sort_unstable();
        let twice = placed.windows(2).find(|two| two[0].0 == two[1].0 && two[0].1 != two[1].1)?;
        Some((twice[0].1, twice[1].1))
    }
}

/// What a controller is asked for, of whatever kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyOrder {
    /// About delays.
    Latency(Order),
    /// About a share of classes below: bandwidth, objectives, best effort.
    Shared(SharedOrder),
}

impl AnyOrder {
    /// Unique among the contracts of its tenant.
    pub fn name(&self) -> &str {
        match self {
            Self::Latency(order) => &order.contract.name,
            Self::Shared(order) => order.contract.name(),
        }
    }

    /// Whose it is.
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Self::Latency(order) => order.contract.tenant.as_deref(),
            Self::Shared(order) => order.contract.tenant(),
        }
    }

    /// It is this tenant's, unless it says whose it is.
    pub fn or_tenant(&mut self, tenant: &str) {
        match self {
            Self::Latency(order) => drop(order.contract.tenant.get_or_insert_with(|| tenant.to_owned())),
            Self::Shared(order) => drop(order.contract.tenant_mut().get_or_insert_with(|| tenant.to_owned())),
        }
    }

    /// The hosts that it joins with their names as they were written, each with the field of a file where it stands.
    pub fn members(&self) -> Vec<(&'static str, &str, NodeId)> {
        match self {
            Self::Latency(order) => {
                let (from, to) = (order.contract.from, order.contract.to);
                vec![("from", &order.from, from), ("to", &order.to, to)]
            }
            Self::Shared(order) => {
                let hosts = order.contract.hosts();
                let fields = order.contract.member_fields();
                let members = order.members.iter().zip(hosts).enumerate();
                members.map(|(at, (name, host))| (fields(at), name.as_str(), host)).collect()
            }
        }
    }

    /// What it is about.
    pub const fn kind(&self) -> ContractKind {
        match self {
            Self::Latency(_) => ContractKind::Latency,
            Self::Shared(order) => order.contract.kind(),
        }
    }

    /// How long it is kept when not all can be.
    pub const fn priority(&self) -> Priority {
        match self {
            Self::Latency(order) => order.priority,
            Self::Shared(order) => order.priority,
        }
    }

    /// When it ends; never if not given.
    pub const fn ends(&self) -> Option<WallTime> {
        match self {
            Self::Latency(order) => order.ends,
            Self::Shared(order) => order.ends,
        }
    }

    /// The same order with its members on other hosts, as many as it has.
    #[must_use]
    pub fn on(mut self, hosts: &[NodeId]) -> Self {
        match (&mut self, hosts) {
            (Self::Latency(order), &[from, to]) => (order.contract.from, order.contract.to) = (from, to),
            (Self::Latency(_), _) => {}
            (Self::Shared(order), _) => order.contract = order.contract.clone().among(hosts),
        }
        self
    }

    /// The latency order, if it is one.
    pub const fn as_latency(&self) -> Option<&Order> {
        match self {
            Self::Latency(order) => Some(order),
            Self::Shared(_) => None,
        }
    }
}

impl From<Order> for AnyOrder {
    fn from(order: Order) -> Self {
        Self::Latency(order)
    }
}

impl From<SharedOrder> for AnyOrder {
    fn from(order: SharedOrder) -> Self {
        Self::Shared(order)
    }
}

/// The names of a contract and of its tenant can stand in an address.
pub(crate) fn check_names(name: &str, tenant: Option<&str>) -> Result<(), NameError> {
    Named::Contract.check(name)?;
    tenant.map_or(Ok(()), |tenant| Named::Tenant.check(tenant))
}
