//! Driver of a host: rules, interfaces that come and go, best effort, and counters of received packets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::machine::{Driver, DriverError};
use wayleave_broker::process::{LimitsLine, ReportLine};
use wayleave_dataplane::clock::Clock;
use wayleave_dataplane::host::{HostPath, HostRule};
use wayleave_packet_format::Mac;
use wayleave_protocol::agent::Measured;
use wayleave_protocol::agent::{ContractProblem, Rule, Samples, Shares, Traffic};
use wayleave_protocol::check::Probes;
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::Time;

use crate::best_effort::Routes;
use crate::endpoints::{Attachment, Declared};
use crate::environment::{EndpointLocation, Environment, OWN};
use crate::host_dataplane::HostDataplane;
use crate::interfaces::{NodeInterface, places};
use crate::node::NodeDriver;
use crate::probe::Template;
use crate::resolve::{ResolvedHost, best_effort, check, match_of, receiver, resolve};
use crate::rule_store::RuleStore;
use crate::samples;
use crate::shares::host::{HostShares, Scope, by_contract};
use crate::shares::message::PeerMessage;
use crate::shares::peers::PeerExchange;
use crate::shares::rules::contract_of;
use crate::spoofing::SpoofReports;

/// The driver of a host.
#[derive(Debug)]
pub struct HostDriver<P> {
    plane: P,
    host: NodeId,
    environment: Arc<Environment>,
    store: RuleStore,
    /// Interfaces by the names of links, as configured.
    links: BTreeMap<LinkId, String>,
    declared: Declared,
    here: ResolvedHost,
    /// Addresses of the endpoints that the plane has.
    bound: BTreeMap<u32, Mac>,
    rules: BTreeMap<u64, Installed>,
    host_paths: BTreeMap<Mac, Vec<HostPath>>,
    spoofed: SpoofReports,
    /// `true` if `host_paths` has to be recomputed.
    is_moved: bool,
    /// Contracts of other kinds than latency.
    shares: HostShares,
    events: BTreeMap<u64, (u64, u64)>,
    /// Number of reports of noted packets so far.
    tellings: u64,
    /// Current troubles, so that each is logged once.
    active_problems: BTreeSet<String>,
    /// Contracts that cannot be carried out, with the reason.
    problems: BTreeMap<u64, String>,
}

/// A rule that is installed.
#[derive(Debug)]
struct Installed {
    version: u64,
    rule: Rule,
    /// As it was installed; `None` if that was an agent before this one.
    resolved: Option<HostRule>,
}

impl<P: HostDataplane> HostDriver<P> {
    /// Creates the driver over a plane, which may have rules already. Rules whose text is not remembered are removed:
    /// the controller sends them again.
    ///
    /// # Errors
    /// If the installed rules cannot be determined.
    pub fn open(
        mut plane: P,
        host: NodeId,
        environment: Arc<Environment>,
        store: RuleStore,
        links: BTreeMap<LinkId, String>,
        declared: Declared,
    ) -> Result<Self, String> {
        let remembered =
            store.read().map_err(|error| format!("cannot read the previously installed rules: {error}"))?;
        let mut rules = BTreeMap::new();
        let installed = plane.installed()?;
        let shares = HostShares::new(host, installed.iter().map(|&(rule, _)| rule), store.read_shares());
        for (serial, version) in installed.into_iter().filter(|&(rule, _)| contract_of(rule).is_none()) {
            let rule = remembered.get(&(serial, version));
            match rule.filter(|rule| check(rule, environment.network()).is_ok()) {
                Some(rule) => {
                    rules.insert(serial, Installed { version, rule: rule.clone(), resolved: None });
                }
                None => {
                    tracing::warn!(
                        serial,
                        version,
                        "an installed rule has no saved state: removing it and requesting it again"
                    );
                    plane.remove(serial)?;
                }
            }
        }
        let bound = plane.endpoints()?.into_iter().collect();
        let events = plane.measured()?.into_iter().map(|one| (one.serial, (one.packets, one.late))).collect();
        let (here, host_paths, active_problems, problems) =
            (ResolvedHost::default(), BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let spoofed = SpoofReports::before(plane.spoof_reports()?);
        let mut driver = Self {
            plane,
            host,
            environment,
            store,
            links,
            declared,
            here,
            bound,
            rules,
            host_paths,
            spoofed,
            is_moved: true,
            shares,
            events,
            tellings: 0,
            active_problems,
            problems,
        };
        NodeDriver::refresh(&mut driver);
        Ok(driver)
    }

    /// Sets the exchange by which agents exchange the use of contracts.
    #[must_use]
    pub fn telling_by(mut self, exchange: Arc<PeerExchange>) -> Self {
        self.shares.set_exchange(exchange);
        self
    }

    /// The data plane.
    pub fn plane(&self) -> &P {
        &self.plane
    }

    /// Returns a mutable reference to the plane.
    pub fn plane_mut(&mut self) -> &mut P {
        &mut self.plane
    }

    /// Consumes the driver; everything installed stays.
    pub fn into_plane(self) -> P {
        self.plane
    }

    /// A trouble of something that is tried again and again: it is logged when it begins.
    fn note(&mut self, now: &mut BTreeSet<String>, what: &str, result: Result<(), String>) -> bool {
        let Err(why) = result else { return true };
        let text = format!("{what}: {why}");
        if !self.active_problems.contains(&text) {
            tracing::warn!("{text}; retrying");
        }
        now.insert(text);
        false
    }

    /// Interfaces of links that leave the host.
    fn refresh_uplinks(&mut self, active_problems: &mut BTreeSet<String>) {
        for (link, interface) in self.links.clone() {
            let (index, before) = (self.plane.index(&interface), self.here.uplinks.get(&link).copied());
            if index == before {
                continue;
            }
            self.is_moved = true;
            self.here.uplinks.remove(&link);
            let name = self.environment.network().link(link).name.clone();
            let Some(index) = index else {
                tracing::warn!(link = name, interface, "interface missing: its instructions wait until it appears");
                continue;
            };
            let added = self.plane.add_uplink(link, &interface, index);
            if self.note(active_problems, &format!("{interface}, for link {name}"), added) {
                self.here.uplinks.insert(link, index);
            }
        }
    }

    /// Interfaces of VMs and of the host itself.
    fn refresh_endpoints(&mut self, active_problems: &mut BTreeSet<String>) {
        let mut wanted: BTreeMap<String, (Attachment, u32, Mac)> = BTreeMap::new();
        for (name, attached) in self.declared.all() {
            let location = self.environment.location(&name).filter(|location| location.host == self.host);
            if let (Some(location), Some(index)) = (location, self.plane.index(&attached.interface)) {
                wanted.insert(name, (attached, index, location.mac));
            }
        }
        let keep: BTreeMap<u32, Mac> = wanted.values().map(|(_, index, mac)| (*index, *mac)).collect();
        let gone: Vec<u32> =
            self.bound.iter().filter(|(index, mac)| keep.get(index) != Some(mac)).map(|(&index, _)| index).collect();
        for index in gone {
            let removed = self.plane.remove_endpoint(index);
            if self.note(active_problems, &format!("interface {index}, which is no longer an endpoint"), removed) {
                tracing::info!(index, "an endpoint was removed");
                self.bound.remove(&index);
            }
        }
        self.here.endpoints.retain(|name, index| wanted.get(name).is_some_and(|(_, wanted, _)| wanted == index));
        for (name, (attached, index, mac)) in wanted {
            let interface = &attached.interface;
            if self.here.endpoints.get(&name) == Some(&index) && self.bound.contains_key(&index) {
                continue;
            }
            let added = self.plane.add_endpoint(&attached, index, mac);
            if self.note(active_problems, &format!("{interface}, for {name}"), added) {
                tracing::info!(endpoint = name, interface, %mac, "an endpoint was added");
                self.bound.insert(index, mac);
                self.is_moved = true;
                self.here.endpoints.insert(name, index);
            }
        }
    }

    /// Rules whose senders or receivers are others now.
    fn refresh_rules(&mut self, active_problems: &mut BTreeSet<String>) {
        let serials: Vec<u64> = self.rules.keys().copied().collect();
        for serial in serials {
            let Some(installed) = self.rules.get(&serial) else { continue };
            // An endpoint that is not there sends nothing; the rule is kept until the endpoint is back.
            let resolved = match resolve(&installed.rule, &self.environment, self.host, &self.here) {
                Ok(resolved) => resolved,
                Err(why) => {
                    self.problems.insert(serial, why.why().to_owned());
                    continue;
                }
            };
            if installed.resolved.as_ref() == Some(&resolved) {
                self.problems.remove(&serial);
                continue;
            }
            let (version, id) = (installed.version, installed.rule.id.clone());
            let done = self.plane.install(serial, version, &resolved);
            match &done {
                Ok(()) => self.problems.remove(&serial),
                Err(why) => self.problems.insert(serial, why.clone()),
            };
            if self.note(active_problems, &format!("contract {id}"), done)
                && let Some(installed) = self.rules.get_mut(&serial)
            {
                installed.resolved = Some(resolved);
            }
        }
    }

    fn refresh_best_effort(&mut self, active_problems: &mut BTreeSet<String>) {
        let host_paths = self.best_effort();
        let mut is_done = true;
        let gone: Vec<Mac> = self.host_paths.keys().filter(|mac| !host_paths.contains_key(mac)).copied().collect();
        for mac in gone {
            let removed = self.plane.set_best_effort(mac, &[]);
            is_done &= self.note(active_problems, &format!("routes to {mac}"), removed);
            self.host_paths.remove(&mac);
        }
        for (mac, paths) in host_paths {
            if self.host_paths.get(&mac) == Some(&paths) {
                continue;
            }
            let set = self.plane.set_best_effort(mac, &paths);
            if self.note(active_problems, &format!("routes to {mac}"), set) {
                self.host_paths.insert(mac, paths);
            } else {
                is_done = false;
            }
        }
        for (index, members) in self.groups() {
            let set = self.plane.set_group(index, &members);
            is_done &= self.note(active_problems, &format!("broadcast group of interface {index}"), set);
        }
        self.is_moved = !is_done;
    }

    /// Returns the receivers of an endpoint's broadcasts, by interface: the VMs of its tenant and the hosts' own
    /// interfaces, or all endpoints if the sender is a host's own interface. Receivers on this host come first, then
    /// those with the fewest tags.
    fn groups(&self) -> BTreeMap<u32, Vec<Mac>> {
        let all: Vec<(&str, EndpointLocation)> = self.environment.locations().collect();
        let depth = |location: &EndpointLocation| match self
            .host_paths
            .get(&location.mac)
            .and_then(|host_paths| host_paths.first())
        {
            _ if location.host == self.host => 0,
            Some(host_path) => 1 + host_path.tags.len(),
            None => usize::MAX,
        };
        let group = |(name, &index): (&String, &u32)| {
            let is_asked = |other: &str| {
                let [tenant, others] = [name.as_str(), other].map(|id| id.split_once(':').map(|(tenant, _)| tenant));
                other != name && (tenant == others || [tenant, others].contains(&Some(OWN)))
            };
            let asked = all.iter().filter(|(other, location)| is_asked(other) && depth(location) < usize::MAX);
            let mut asked: Vec<EndpointLocation> = asked.map(|(_, location)| *location).collect();
            asked.sort_by_key(|location| (depth(location), location.mac));
            (index, asked.into_iter().map(|location| location.mac).collect())
        };
        self.here.endpoints.iter().map(group).collect()
    }

    /// Returns the routes of packets that no contract covers, by address.
    fn best_effort(&self) -> BTreeMap<Mac, Vec<HostPath>> {
        let (network, environment) = (self.environment.network(), &*self.environment);
        let routes = Routes::from(environment, self.host);
        let mut by_host: BTreeMap<NodeId, Vec<HostPath>> = BTreeMap::new();
        let mut host_paths = BTreeMap::new();
        for (_, location) in environment.locations().filter(|(_, location)| location.host != self.host) {
            let to = by_host.entry(location.host).or_insert_with(|| {
                let routes = routes.to(location.host);
                routes.iter().filter_map(|links| best_effort(network, links, &self.here)).collect()
            });
            if !to.is_empty() {
                host_paths.insert(location.mac, to.clone());
            }
        }
        host_paths
    }
}

impl<P: HostDataplane> NodeDriver for HostDriver<P> {
    fn refresh(&mut self) {
        let mut active_problems = BTreeSet::new();
        self.refresh_uplinks(&mut active_problems);
        self.refresh_endpoints(&mut active_problems);
        self.refresh_rules(&mut active_problems);
        if self.is_moved {
            self.refresh_best_effort(&mut active_problems);
        }
        self.active_problems = active_problems;
        let scope = Scope { environment: &self.environment, here: &self.here };
        self.shares.refresh(&mut self.plane, scope);
    }

    fn repair(&mut self) -> Vec<String> {
        let repairs = match self.plane.repair() {
            Ok(repairs) => repairs,
            Err(why) => {
                let mut active_problems = std::mem::take(&mut self.active_problems);
                self.note(&mut active_problems, "checking for foreign changes", Err(why));
                self.active_problems = active_problems;
                return Vec::new();
            }
        };
        for (serial, rule) in &mut self.rules {
            if repairs.lost.as_ref().is_none_or(|lost| lost.contains(serial)) {
                rule.resolved = None;
            }
        }
        self.shares.lost(repairs.lost.as_deref());
        if repairs.lost.as_ref().is_none_or(|lost| !lost.is_empty()) {
            self.refresh();
        }
        repairs.done
    }

    fn set_environment(&mut self, environment: Arc<Environment>) {
        self.environment = environment;
        self.is_moved = true;
        let scope = Scope { environment: &self.environment, here: &self.here };
        self.shares.environment_changed(&mut self.plane, scope);
        self.refresh();
    }

    fn moved(&mut self, now: Time) -> Option<ReportLine> {
        self.shares.moved(now, self.environment.network())
    }

    fn limit(&mut self, now: Time, limits: LimitsLine) {
        self.shares.limit(now, limits);
    }

    fn set_shares(&mut self, now: Time, shares: Shares) {
        let scope = Scope { environment: &self.environment, here: &self.here };
        let before = self.shares.known().clone();
        self.shares.set(now, shares, &mut self.plane, scope);
        // Afterwards: a rule whose contract is not the remembered one is removed and installed again.
        if *self.shares.known() != before
            && let Err(error) = self.store.write_shares(self.shares.known())
        {
            tracing::warn!("cannot save the contracts of this host: {error}");
        }
    }

    fn rules_in_force(&self) -> Option<Vec<(u64, u64)>> {
        self.shares.in_force()
    }

    fn contract_problems(&self) -> Option<Vec<ContractProblem>> {
        let mut problems = self.problems.clone();
        problems.extend(self.shares.problems());
        for (rule, first) in self.plane.shadowed() {
            let serial = contract_of(rule).unwrap_or(rule);
            // Best effort is what belongs to no other contract.
            if !self.shares.is_best_effort(serial) {
                problems.entry(serial).or_insert_with(|| self.shadow(rule, first));
            }
        }
        Some(problems.into_iter().map(|(serial, why)| ContractProblem { serial, why }).collect())
    }

    fn peer_address(&self) -> Option<String> {
        self.shares.peer_address()
    }

    fn on_peer_message(&mut self, now: Time, from: NodeId, message: &PeerMessage) {
        self.shares.on_peer_message(now, from, message, &mut self.plane);
    }

    fn divide(&mut self, now: Time) -> bool {
        self.shares.divide(now, &mut self.plane);
        !self.shares.is_idle()
    }

    fn places(&mut self) -> BTreeMap<u32, NodeInterface> {
        let index = |interface: &str| self.plane.index(interface);
        places(self.environment.network(), self.host, &self.links, &self.declared.all(), index)
    }

    fn outlet(&mut self, mark: [u8; 8], probes: &Probes) -> Result<(String, Template), String> {
        let mac = |name: &String| {
            let location = self.environment.location(name);
            location.map(|at| at.mac).ok_or_else(|| format!("{name} is not known on this host yet"))
        };
        let macs = [mac(&probes.from)?, mac(&probes.to)?];
        let attached =
            self.declared.all().remove(&probes.from).filter(|_| self.here.endpoints.contains_key(&probes.from));
        let attached = attached.ok_or_else(|| {
            format!("{} has no interface on this host: set it with `wayleave agent endpoint add`", probes.from)
        })?;
        let matching = match_of(probes.matching.as_ref())?;
        Ok((attached.interface, Template { mark, macs, vlan: attached.vlan, matching }))
    }

    fn problems(&mut self, now: Time) -> Vec<String> {
        let names: BTreeMap<u32, String> =
            self.here.endpoints.iter().map(|(name, &index)| (index, name.clone())).collect();
        let seen = self.plane.spoof_reports().unwrap_or_default();
        let mut all: Vec<String> = self.active_problems.iter().cloned().collect();
        all.extend(self.shares.own_problem());
        all.extend(self.plane.problems());
        all.extend(self.spoofed.sentences(now, &seen, &names, &self.bound));
        all
    }

    fn traffic(&mut self) -> Option<Vec<Traffic>> {
        let mut all = by_contract(self.plane.traffic().ok()?);
        // Without its contract, a rule of an earlier agent is not reported.
        all.retain_mut(|one| {
            let id = match self.rules.get(&one.serial) {
                Some(installed) => Some(&*installed.rule.id),
                None => self.shares.contract_id(one.serial),
            };
            one.contract = id.map(str::to_owned);
            one.contract.is_some()
        });
        Some(all)
    }

    fn packets(&mut self) -> Option<BTreeMap<String, u64>> {
        self.plane.packets().ok()
    }

    fn samples(&mut self) -> Option<Samples> {
        let noted = self.plane.samples().ok().flatten()?;
        let clock = Clock::now().ok()?;
        let number = self.tellings;
        self.tellings += 1;
        let (rules, environment) = (&self.rules, &self.environment);
        let receiver = |serial: u64| receiver(&rules.get(&serial)?.rule, environment.network());
        Some(samples::sample_report(number, noted, &clock, receiver))
    }

    fn reports(&mut self) -> Vec<Measured> {
        let Ok(mut all) = self.plane.measured() else { return Vec::new() };
        // Only latency contracts have a bound.
        all.retain(|one| contract_of(one.serial).is_none());
        let mut reports = Vec::new();
        for one in &all {
            let before = self.events.get(&one.serial).copied().unwrap_or_default();
            // Counters that are smaller than before were reset.
            let (packets, late) = if one.packets < before.0 { (0, 0) } else { before };
            if one.packets > packets {
                reports.push(Measured {
                    serial: one.serial,
                    packets: one.packets - packets,
                    late: one.late.saturating_sub(late),
                    worst_ns: one.worst.as_nanos(),
                });
            }
        }
        self.events = all.into_iter().map(|one| (one.serial, (one.packets, one.late))).collect();
        reports
    }
}

impl<P: HostDataplane> Driver for HostDriver<P> {
    fn installed(&mut self, _now: Time) -> Result<Vec<(u64, u64)>, DriverError> {
        let mut installed = self.plane.installed().map_err(DriverError::Later)?;
        installed.retain(|&(rule, _)| contract_of(rule).is_none());
        // A rule that another program has removed is not installed, even if it is remembered.
        self.rules.retain(|serial, rule| installed.contains(&(*serial, rule.version)));
        Ok(installed)
    }

    fn install(&mut self, _now: Time, serial: u64, version: u64, rule: &Rule) -> Result<(), DriverError> {
        let done = self.put_in_force(serial, version, rule);
        match &done {
            Ok(()) => self.problems.remove(&serial),
            Err(why) => self.problems.insert(serial, why.why().to_owned()),
        };
        done
    }

    fn remove(&mut self, _now: Time, serial: u64, version: u64) -> Result<(), DriverError> {
        self.plane.remove(serial).map_err(DriverError::Later)?;
        self.rules.remove(&serial);
        self.problems.remove(&serial);
        self.events.remove(&serial);
        let _ = self.store.forget(serial, None);
        tracing::info!(serial, version, "removed");
        Ok(())
    }

    fn set_up(&mut self, _now: Time, _version: u64) -> Result<(), DriverError> {
        Err(DriverError::Never("this node is a host".to_owned()))
    }
}

impl<P: HostDataplane> HostDriver<P> {
    /// Returns the contract of a rule.
    fn contract_id(&self, rule: u64) -> Option<&str> {
        match contract_of(rule) {
            Some(serial) => self.shares.contract_id(serial),
            None => self.rules.get(&rule).map(|installed| &*installed.rule.id),
        }
    }

    /// Returns the problem of a contract whose packets belong to another one that comes first. Tenants do not read the names of
    /// other tenants' contracts.
    fn shadow(&self, rule: u64, first: u64) -> String {
        let tenant = |id: &str| id.split_once(':').map(|(tenant, _)| tenant.to_owned());
        let of = [rule, first].map(|rule| self.contract_id(rule));
        let name = match of {
            [Some(own), Some(first)] if tenant(own) == tenant(first) => format!("contract {first}"),
            _ => "another contract".to_owned(),
        };
        // Only latency contracts have a `match`.
        let remedy = match [rule, first].map(|rule| contract_of(rule).is_none()) {
            [true, true] => "give both a `match`, or VMs of their own",
            [false, false] => "give both VMs of their own",
            _ => "give the latency contract a `match`, or both VMs of their own",
        };
        format!("some of its packets also belong to {name}, which comes first, and count for that one only: {remedy}")
    }

    /// Installs a rule that is checked and resolved first.
    fn put_in_force(&mut self, serial: u64, version: u64, rule: &Rule) -> Result<(), DriverError> {
        check(rule, self.environment.network())
            .inspect_err(|error| tracing::warn!(serial, version, "cannot read a saved rule: {error}"))?;
        let resolved = resolve(rule, &self.environment, self.host, &self.here)?;
        let remember = |error: std::io::Error| DriverError::Later(format!("cannot save a rule: {error}"));
        self.store.write(serial, version, rule).map_err(remember)?;
        // The number is that of a contract which the controller has lost: nothing of its counters and buckets stays.
        if self.rules.get(&serial).is_some_and(|installed| installed.rule.id != rule.id) {
            self.plane.remove(serial).map_err(DriverError::Later)?;
            self.rules.remove(&serial);
            self.events.remove(&serial);
        }
        self.plane.install(serial, version, &resolved).map_err(DriverError::Later)?;
        self.rules.insert(serial, Installed { version, rule: rule.clone(), resolved: Some(resolved) });
        // An old file that stays does no harm: nothing of its version is installed.
        let _ = self.store.forget(serial, Some(version));
        tracing::info!(contract = %rule.id, serial, version, "installed");
        Ok(())
    }
}
