//! The controllers of a cluster, each asked how far it is.

use std::time::Duration;

use comfy_table::Cell;
use serde::Serialize;
use wayleave_client::Address;
use wayleave_protocol::status::{Cluster, ClusterRole, Status};

use super::show::cell;
use super::show::lists::Row;
use crate::failure::Failure;

/// Timeout of an answer: a controller that is paused or cut off accepts connections and never answers.
const ANSWER: Duration = Duration::from_secs(2);

/// Status of a controller.
#[derive(Serialize)]
pub(crate) struct Peer {
    /// Address of the query.
    controller: String,
    /// Its role in the cluster; absent if it does not answer, or is not in a cluster.
    #[serde(flatten)]
    cluster: Option<Cluster>,
    /// Number of the leader's batches that it lacks; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    /// Reason why it reports no role, or takes no part.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Asks each controller of an address with several.
pub(crate) fn peers(address: &Address) -> Result<Vec<Peer>, Failure> {
    let ask = |url: &str| {
        let one = Address { url: url.to_owned(), ..address.clone() };
        std::thread::spawn(move || status(&one))
    };
    let asked: Vec<_> = address.url.split(',').map(|url| (url, ask(url))).collect();
    let answers = asked.into_iter().map(|(url, answer)| {
        let answer = answer.join().unwrap_or_else(|_| Err("request failed".to_owned()));
        let (cluster, message) = match answer {
            Ok(status) => {
                let message =
                    status.message.filter(|_| status.cluster.as_ref().is_none_or(|of| of.role == ClusterRole::Unknown));
                (status.cluster, message)
            }
            Err(why) => (None, Some(why)),
        };
        Peer { controller: url.to_owned(), cluster, behind: None, message }
    });
    let mut peers: Vec<Peer> = answers.collect();
    let last = peers.iter().filter_map(|peer| peer.cluster.as_ref()).filter(|of| of.role == ClusterRole::Leader);
    if let Some(last) = last.map(|of| of.commit).max() {
        for peer in &mut peers {
            peer.behind = peer.cluster.as_ref().map(|of| last.saturating_sub(of.commit));
        }
    }
    Ok(peers)
}

fn status(address: &Address) -> Result<Status, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let connections = address.connections().map_err(|error| text(&error))?;
    let agent = connections.timeout_global(Some(ANSWER)).build().new_agent();
    let request = address.request("GET", "/v1/status").body(()).map_err(|error| text(&error))?;
    let mut answer = agent.run(request).map_err(|error| format!("no answer: {error}"))?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().read_to_string().map_err(|error| format!("no answer: {error}"))?;
    if status == 200 {
        return serde_json::from_str(&body).map_err(|error| text(&error));
    }
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
    Err(problem["detail"].as_str().map_or_else(|| format!("HTTP status {status}"), str::to_owned))
}

impl Row for Peer {
    const HEADINGS: &'static [&'static str] = &["controller", "role", "commit", "behind", "epoch", "why"];
    const NONE: &'static str = "no controllers";

    fn cells(&self) -> Vec<Cell> {
        let shown = |number: Option<u64>| cell(number.map_or_else(|| "-".to_owned(), |number| number.to_string()));
        let cluster = self.cluster.as_ref();
        vec![
            cell(&self.controller),
            cell(cluster.map_or("-", |of| of.role.name())),
            shown(cluster.map(|of| of.commit)),
            shown(self.behind),
            shown(cluster.map(|of| of.epoch)),
            cell(self.message.as_deref().unwrap_or_default()),
        ]
    }
}
