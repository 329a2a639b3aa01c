//! Making a lab, finding it again, and taking it away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::geteuid;
use wayleave_dataplane::net::{Namespace, SharedPortService};
use wayleave_dataplane::switch::OvsBridge;
use wayleave_formats::{Source, read_topology, write_topology};
use wayleave_topology::Network;
use wayleave_units::{Bytes, Rate};

use crate::bridges;
use crate::build::build;
use crate::claim::RunClaim;
use crate::error::LabError;
use crate::names::LabName;
use crate::plan::{EndpointSpec, LabPlan, NodePlan};
use crate::processes::{Process, ProcessSpec, start, stop};
use crate::state::{Folder, Stage, State, is_mounted};
use crate::stop::StopRequest;

/// Folder in which labs are kept: a restart of the machine empties it, as it removes namespaces.
const BASE: &str = "/run/wayleave/lab";

/// All labs of a machine.
#[derive(Clone, Debug)]
pub struct Labs {
    base: PathBuf,
    stop: StopRequest,
}

/// Options of a lab.
#[derive(Clone, Debug)]
pub struct UpOptions<'a> {
    /// Name of the lab.
    pub name: LabName,
    /// Name of its topology.
    pub topology: &'a str,
    /// The network, at the rates of the lab ([`crate::scaled`]).
    pub network: &'a Network,
    /// Its VMs. Every host has an endpoint by itself, too.
    pub endpoints: &'a [EndpointSpec],
    /// Switches that Open vSwitch forwards for, and not the kernel.
    pub ovs: BTreeSet<String>,
    /// Switches whose ports share a service, with its parameters.
    pub services: BTreeMap<String, SharedPortService>,
}

/// A lab that is up.
#[derive(Clone, Debug)]
pub struct Lab {
    plan: LabPlan,
    network: Network,
    folder: Folder,
    stop: StopRequest,
}

/// Elements that `down` removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Namespaces, with all that was in them.
    pub namespaces: usize,
    /// Programs that ran.
    pub programs: usize,
}

impl Default for Labs {
    fn default() -> Self {
        Self::at(BASE)
    }
}

impl Labs {
    /// Labs that are kept in this folder.
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), stop: StopRequest::default() }
    }

    /// Sets the stop flag: operations and runs end early once it is set.
    #[must_use]
    pub fn stopping(self, stop: StopRequest) -> Self {
        Self { stop, ..self }
    }

    /// The names of all labs, also of those that are half made.
    pub fn list(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.base) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Makes a lab: namespaces, links, queues, switches. When it fails, what it has made so far is taken away again.
    ///
    /// # Errors
    /// If root is missing, a lab of this name is there, or the machine lacks something.
    pub fn up(&self, options: &UpOptions<'_>) -> Result<Lab, LabError> {
        let UpOptions { name, network, endpoints, ovs, services, .. } = options;
        let plan = LabPlan::new(name.clone(), network, endpoints, address)?;
        let plan = plan.forwarded_by_ovs(ovs)?.with_services(services)?;
        if !geteuid().is_root() {
            return Err(LabError::NotRoot);
        }
        let folder = Folder::new(&self.base, name);
        folder.create(name)?;
        let made = self.make(&folder, &plan, options);
        if made.is_err() {
            // The first error explains more than a failure of this cleanup.
            let _ = self.down(name);
            // Tools that Ctrl-C has ended are no trouble of their own.
            self.stop.check()?;
        }
        made?;
        Ok(Lab { plan, network: (*network).clone(), folder, stop: self.stop.clone() })
    }

    fn make(&self, folder: &Folder, plan: &LabPlan, options: &UpOptions<'_>) -> Result<(), LabError> {
        let UpOptions { topology, network, endpoints, ovs, services, .. } = options;
        let lock = folder.lock(&plan.name)?;
        let mut state = State {
            stage: Stage::Building,
            topology: (*topology).to_owned(),
            endpoints: endpoints.to_vec(),
            ovs: ovs.clone(),
            services: services
                .iter()
                .map(|(name, one)| (name.clone(), (one.rate.bits_per_second(), one.buffer.get())))
                .collect(),
            namespaces: plan.namespaces().map(str::to_owned).collect(),
            maker: std::process::id() as i32,
            programs: plan.switches().filter(|switch| switch.is_ovs).flat_map(bridges::names).collect(),
            cut: None,
        };
        folder.write(&state)?;
        let file = folder.topology();
        fs::write(&file, write_topology(network, topology))
            .map_err(|error| LabError::io(format!("cannot write {}", file.display()), error))?;
        mount_pins(&folder.pins())?;
        lock.share(true)?;
        build(plan, folder, &self.stop)?;
        lock.share(false)?;
        state.stage = Stage::Up;
        folder.write(&state)
    }

    /// A lab that is up.
    ///
    /// # Errors
    /// If there is none of this name, or it is half made.
    pub fn open(&self, name: &LabName) -> Result<Lab, LabError> {
        let folder = self.find(name)?;
        let state = folder.read()?;
        if state.stage != Stage::Up {
            return Err(LabError::Exists { name: name.to_string(), is_whole: false });
        }
        let file = folder.topology();
        let wrong = |why: String| LabError::State { file: file.clone(), why };
        let source = Source::read(&file).map_err(|error| wrong(error.to_string()))?;
        let network = read_topology(&source).map_err(|error| wrong(error.to_string()))?.network;
        let plan = LabPlan::new(name.clone(), &network, &state.endpoints, address)?.forwarded_by_ovs(&state.ovs)?;
        let service =
            |(rate, buffer)| SharedPortService { rate: Rate::from_bits_per_second(rate), buffer: Bytes::new(buffer) };
        let services = state.services.into_iter().map(|(name, one)| (name, service(one))).collect();
        let plan = plan.with_services(&services)?;
        Ok(Lab { plan, network, folder, stop: self.stop.clone() })
    }

    pub(crate) fn find(&self, name: &LabName) -> Result<Folder, LabError> {
        let folder = Folder::new(&self.base, name);
        if !folder.exists() {
            return Err(LabError::Unknown { name: name.to_string(), known: self.list() });
        }
        Ok(folder)
    }

    /// Removes a lab with everything that belongs to it, from any stage of its construction.
    ///
    /// # Errors
    /// If there is none, another process is making it, a run is in progress, or the kernel keeps an element.
    pub fn down(&self, name: &LabName) -> Result<Removed, LabError> {
        self.remove(name, false)
    }

    /// Removes a lab as [`Labs::down`] does, even during a run. The run then fails.
    ///
    /// # Errors
    /// As [`Labs::down`].
    pub fn force_down(&self, name: &LabName) -> Result<Removed, LabError> {
        self.remove(name, true)
    }

    fn remove(&self, name: &LabName, is_forced: bool) -> Result<Removed, LabError> {
        if !geteuid().is_root() {
            return Err(LabError::NotRoot);
        }
        let folder = self.find(name)?;
        // Another process may have removed it in between.
        let lock = folder.lock(name).or_else(|error| self.find(name).and(Err(error)))?;
        // No run begins while the lab is removed.
        let claim = if is_forced { None } else { Some(RunClaim::take(&folder, name)?) };
        let programs = stop(&folder);
        let planned = folder.read().map(|state| state.namespaces).unwrap_or_default();
        let mut namespaces = Namespace::list()?;
        namespaces.retain(|one| one.starts_with(&name.prefix()) || planned.contains(one));
        Namespace::delete(namespaces.iter().map(String::as_str))?;
        unmount_pins(&folder.pins())?;
        fs::remove_dir_all(folder.path())
            .map_err(|error| LabError::io(format!("cannot remove {}", folder.path().display()), error))?;
        drop((claim, lock));
        Ok(Removed { namespaces: namespaces.len(), programs })
    }
}

impl Lab {
    /// Claims the lab for a run.
    ///
    /// # Errors
    /// If another run is in progress, or the lab was removed.
    pub fn claim(&self) -> Result<RunClaim, LabError> {
        RunClaim::take(self.state_folder(), &self.plan().name)
    }

    /// Returns the plan of the lab.
    pub const fn plan(&self) -> &LabPlan {
        &self.plan
    }

    /// The network at the rates of the lab.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// The topology at the rates of the lab, for a controller.
    pub fn topology_file(&self) -> PathBuf {
        self.folder.topology()
    }

    /// Returns the lab's folder, for files that are to be removed with it: ledgers, tokens, sockets.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) const fn state_folder(&self) -> &Folder {
        &self.folder
    }

    /// A folder in which eBPF programs and maps can be pinned.
    pub fn pins(&self) -> PathBuf {
        self.folder.pins()
    }

    /// Returns the switches that Open vSwitch forwards for without real-time priority, because the machine does not
    /// allow it: there delays depend on other programs.
    pub fn without_priority(&self) -> Vec<String> {
        bridges::without_priority(&self.plan, &self.folder)
    }

    /// The bridge that forwards for a switch, if Open vSwitch does.
    pub fn bridge(&self, switch: &NodePlan) -> Option<OvsBridge> {
        switch.is_ovs.then(|| bridges::bridge(&self.folder, switch))
    }

    /// Returns the file with the output of a program of the lab.
    pub fn log(&self, program: &str) -> PathBuf {
        self.folder.log(program)
    }

    /// Starts a program that belongs to the lab: it outlives this one, and ends when the lab is taken away.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(&self, program: &ProcessSpec) -> Result<Process, LabError> {
        self.folder.change(|state| _ = state.programs.insert(program.name.clone()))?;
        start(&self.folder, program)
    }

    /// Returns the flag by which operations on the lab are stopped.
    pub const fn stop(&self) -> &StopRequest {
        &self.stop
    }

    /// Does what makes a lab complete beyond its network; if that is interrupted, it is known to be half made.
    ///
    /// # Errors
    /// Those of the work, or if the lab's state cannot be written.
    pub fn complete<T, E: From<LabError>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.stop.check()?;
        self.folder.change(|state| (state.stage, state.maker) = (Stage::Starting, std::process::id() as i32))?;
        let done = work()?;
        self.folder.change(|state| state.stage = Stage::Up)?;
        Ok(done)
    }

    /// The link whose cable a run has cut and not joined again, as when it was killed.
    ///
    /// # Errors
    /// If the lab's state cannot be read.
    pub fn cut(&self) -> Result<Option<String>, LabError> {
        Ok(self.folder.read()?.cut)
    }

    /// Remembers which cable is cut.
    pub(crate) fn remember_cut(&self, link: Option<&str>) -> Result<(), LabError> {
        self.folder.change(|state| state.cut = link.map(str::to_owned))
    }
}

fn mount_pins(path: &Path) -> Result<(), LabError> {
    fs::create_dir_all(path).map_err(|error| LabError::io(format!("cannot create {}", path.display()), error))?;
    mount(
        Some("bpf"),
        path,
        Some("bpf"),
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
        Some("mode=0700"),
    )
    .map_err(|error| LabError::io(format!("cannot mount a bpf file system at {}", path.display()), error))
}

fn unmount_pins(path: &Path) -> Result<(), LabError> {
    let failed = |error: std::io::Error| LabError::io(format!("cannot unmount {}", path.display()), error);
    while is_mounted(path).map_err(failed)? {
        umount2(path, MntFlags::MNT_DETACH).map_err(|error| failed(error.into()))?;
    }
    Ok(())
}

/// The address of an endpoint's interface: what VMs have that declare none.
fn address(id: &str) -> [u8; 6] {
    wayleave_packet_format::mac_of(id).bytes()
}
