//! Routes of packets that belong to no contract.

use wayleave_packet_format::Mac;

use super::Host;
use super::rule::{self, HostPath};
use crate::error::Error;
use crate::layout;

impl Host {
    /// From now on packets to this address that belong to no contract take one of these routes, each flow its own; without routes they
    /// are dropped. At most four.
    ///
    /// # Errors
    /// If there are too many, or a route is too long, or the kernel refuses.
    pub fn set_best_effort(&mut self, mac: Mac, paths: &[HostPath]) -> Result<(), Error> {
        let routes = rule::routes(paths)?;
        let failed = |error| Error::failed("setting a route without a contract", error);
        let (key, after) = (layout::mac(mac), layout::routes(&routes));
        let before = self.best_effort.get(&key).copied();
        if before.is_none() && routes.is_empty() || before == Some(after) {
            return Ok(());
        }
        if routes.is_empty() {
            self.is_stale = true;
            return self.best_effort.remove(&key).map_err(failed);
        }
        self.settle()?;
        // Replacing an entry frees the old one; a new entry frees nothing. Thus a series of new addresses needs only
        // one wait.
        self.is_stale = before.is_some();
        self.best_effort.insert(key, after).map_err(failed)
    }
}
