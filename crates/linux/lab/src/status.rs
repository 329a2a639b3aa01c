//! State of a lab.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;
use wayleave_dataplane::net::{Namespace, QueueCounters, queue_counters};
use wayleave_topology::NodeKind;

use crate::claim::ActiveRun;
use crate::error::LabError;
use crate::names::LabName;
use crate::processes::{Process, is_alive, is_stopped, running};
use crate::state::Stage;
use crate::up::{Lab, Labs};

/// State of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Progress of its construction.
    pub stage: Stage,
    /// Name of its topology.
    pub topology: String,
    /// Namespaces that should be there.
    pub namespaces: usize,
    /// Namespaces that no longer exist.
    pub missing: Vec<String>,
    /// Programs that run.
    pub programs: Vec<Process>,
    /// Programs that were started, and have ended.
    pub ended: Vec<String>,
    /// Programs that a signal has stopped: they exist, and do nothing.
    pub stopped: Vec<Process>,
    /// The run that is in progress, if there is one.
    pub run: Option<ActiveRun>,
    /// Folder of its logs.
    pub folder: PathBuf,
    /// `true` if another process is making it now.
    pub is_being_made: bool,
    /// The link whose cable a run has cut, and not joined again.
    pub cut: Option<String>,
    /// Its nodes; none if it is half made.
    pub nodes: Vec<NodeStatus>,
    /// Its endpoints: name and address.
    pub endpoints: Vec<(String, String)>,
}

/// Counters of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// `true` if it is a switch.
    pub is_switch: bool,
    /// Per port: the name of its interface, and its queues.
    pub ports: Vec<(String, Vec<QueueCounters>)>,
}

impl Labs {
    /// Returns the state of a lab, even of one that is half made.
    ///
    /// # Errors
    /// If there is none of this name, or its counters cannot be read.
    pub fn status(&self, name: &LabName) -> Result<Status, LabError> {
        let folder = self.find(name)?;
        let state = folder.read()?;
        let programs = running(&folder);
        let missing: Vec<String> = state.namespaces.iter().filter(|one| !Namespace::exists(one)).cloned().collect();
        let (mut nodes, mut endpoints) = (Vec::new(), Vec::new());
        if state.stage == Stage::Up && missing.is_empty() {
            let lab = self.open(name)?;
            for node in &lab.plan().nodes {
                let ports = queue_counters(&Namespace::open(&node.namespace)?)?;
                let name = node.ports.name.clone();
                nodes.push(NodeStatus { name, is_switch: node.kind == NodeKind::Switch, ports });
            }
            endpoints.extend(lab.plan().endpoints.iter().map(|one| (one.id.clone(), one.address.to_string())));
        }
        Ok(Status {
            stage: state.stage,
            topology: state.topology,
            namespaces: state.namespaces.len(),
            missing,
            ended: ended(&state.programs, &programs),
            stopped: programs.iter().filter(|one| is_stopped(one.pid)).cloned().collect(),
            run: ActiveRun::of(&folder),
            is_being_made: state.stage != Stage::Up && is_alive(state.maker),
            cut: state.cut,
            folder: folder.path().to_owned(),
            programs,
            nodes,
            endpoints,
        })
    }
}

impl Lab {
    /// Returns the programs of the lab that were started, and have ended.
    ///
    /// # Errors
    /// If the lab's state cannot be read.
    pub fn exited(&self) -> Result<Vec<String>, LabError> {
        let folder = self.state_folder();
        Ok(ended(&folder.read()?.programs, &running(folder)))
    }
}

/// Returns the started programs that do not run.
fn ended(started: &BTreeSet<String>, running: &[Process]) -> Vec<String> {
    started.iter().filter(|name| running.iter().all(|one| one.name != **name)).cloned().collect()
}
