//! Cases `flood` and `flood-puts`: one tenant sends four lists of 7 MiB at once, or single contracts over 64
//! connections without a pause. At the same time another tenant sends single contracts.

use std::cell::Cell;
use std::io::Error;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::server::{Client, Server};
use crate::bench::Metric;

/// Lists at once.
const LISTS: usize = 4;

/// Bytes of a list.
const LIST_BYTES: usize = 7 << 20;

/// Connections with single contracts at once: as many as the case `64-clients` has.
const CLIENTS: usize = 64;

/// Number of contracts after which the other tenant stops, unless the lists are done earlier.
const CONTRACTS: usize = 500;

/// It asks so often: it is no flood itself.
const PAUSE: Duration = Duration::from_millis(5);

/// Requests with which one tenant floods the controller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flood {
    Lists,
    Puts,
}

/// Starts a server, floods it, and ends it.
pub(super) fn run(program: &Path, directory: &Path, by: Flood) -> Result<Vec<Metric>, String> {
    let server = Server::start(program, directory)?;
    let runtime = super::server::runtime()?;
    let measured = runtime.block_on(async {
        server.ready().await?;
        flood(&server, by).await
    });
    let Flooded { took, answered, mut latencies } =
        measured.map_err(|error| format!("{error}{}", server.last_words()))?;
    latencies.sort_unstable();
    let at = |share: f64| {
        let index = ((latencies.len() as f64 * share) as usize).min(latencies.len().saturating_sub(1));
        latencies.get(index).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    };
    Ok(vec![
        Metric::new("seconds", took.as_secs_f64(), "s"),
        Metric::new("flood_answered", answered as f64, "requests"),
        Metric::new("others_contracts", latencies.len() as f64, "contracts"),
        Metric::new("others_p50_ms", at(0.5), "ms"),
        Metric::new("others_p99_ms", at(0.99), "ms"),
        Metric::new("others_max_ms", at(1.0), "ms"),
    ])
}

/// A tenant with two VMs; its token.
async fn tenant(operator: &mut Client, name: &str, hosts: [&str; 2]) -> std::io::Result<String> {
    let mut put = async |path: String, body: String| match operator.ask("PUT", &path, &body).await? {
        200..300 => Ok(()),
        other => Err(Error::other(format!("PUT {path} was answered with {other}"))),
    };
    put(format!("/v1/tenants/{name}"), "{}".to_owned()).await?;
    for (vm, host) in ["a", "b"].into_iter().zip(hosts) {
        put(format!("/v1/vms/{name}:{vm}"), format!(r#"{{"placement":{{"host":"{host}"}}}}"#)).await?;
    }
    let spec = format!(r#"{{"role":"tenant","tenant":"{name}"}}"#);
    let (_, made) = operator.ask_for("POST", "/v1/tokens", &spec).await?;
    let secret = made.split("\"secret\":\"").nth(1).and_then(|rest| rest.split('"').next());
    secret.map(str::to_owned).ok_or_else(|| Error::other("a token without a secret"))
}

fn list(number: usize) -> String {
    let mut text = r#"{"apiVersion":"wayleave/v1","kind":"Contracts","spec":{"contracts":["#.to_owned();
    for at in 0.. {
        if text.len() >= LIST_BYTES {
            break;
        }
        let comma = if at > 0 { "," } else { "" };
        text += &format!(
            r#"{comma}{{"name":"c{number}-{at}","from":"a","to":"b","rate":"1kbit","burst":"64B","deadline":"1ms"}}"#
        );
    }
    text + "]}}"
}

/// Outcome of a flood.
struct Flooded {
    /// Duration of the other tenant's requests.
    took: Duration,
    /// Number of answered requests of the flood in this time.
    answered: usize,
    /// Latency of each contract of the other tenant.
    latencies: Vec<Duration>,
}

async fn flood(server: &Server, by: Flood) -> std::io::Result<Flooded> {
    let mut operator = Client::connect(server).await?;
    let noisy = tenant(&mut operator, "noisy", ["h1", "h900"]).await?;
    let quiet = tenant(&mut operator, "quiet", ["h300", "h600"]).await?;
    let mut other = Client::connect_as(server, &quiet).await?;
    let mut clients = Vec::new();
    for _ in 0..if by == Flood::Lists { LISTS } else { CLIENTS } {
        clients.push(Client::connect_as(server, &noisy).await?);
    }
    let (started, tasks, answered) = (Instant::now(), tokio::task::LocalSet::new(), Rc::new(Cell::new(0)));
    let ended = Rc::new(Cell::new(false));
    tasks
        .run_until(async {
            let floods: Vec<_> = clients
                .into_iter()
                .enumerate()
                .map(|(number, client)| {
                    let (answered, ended) = (answered.clone(), ended.clone());
                    tokio::task::spawn_local(async move {
                        match by {
                            Flood::Lists => send_list(client, number, &answered).await,
                            Flood::Puts => send_puts(client, number, &answered, &ended).await,
                        }
                    })
                })
                .collect();
            let mut latencies = Vec::new();
            while latencies.len() < CONTRACTS && !floods.iter().all(tokio::task::JoinHandle::is_finished) {
                tokio::time::sleep(PAUSE).await;
                let path = format!("/v1/contracts/c{}", latencies.len());
                let body = r#"{"from":"a","to":"b","rate":"1kbit","burst":"64B","deadline":"50ms"}"#;
                let start = Instant::now();
                match other.ask("PUT", &path, body).await? {
                    200..300 | 409 => latencies.push(start.elapsed()),
                    status => return Err(Error::other(format!("PUT {path} was answered with {status}"))),
                }
            }
            let took = started.elapsed();
            ended.set(true);
            // Lists of refused contracts take minutes: they are not awaited. Errors of those that have ended are
            // reported.
            for flood in floods.into_iter().filter(|flood| by == Flood::Puts || flood.is_finished()) {
                flood.await.map_err(Error::other)??;
            }
            Ok(Flooded { took, answered: answered.get(), latencies })
        })
        .await
}

async fn send_list(mut client: Client, number: usize, answered: &Cell<usize>) -> std::io::Result<()> {
    match client.ask("POST", "/v1/apply", &list(number)).await? {
        200 => {
            answered.set(answered.get() + 1);
            Ok(())
        }
        status => Err(Error::other(format!("a list was answered with {status}"))),
    }
}

/// Refused contracts cost the controller most: it searches all routes for them.
async fn send_puts(
    mut client: Client,
    number: usize,
    answered: &Cell<usize>,
    ended: &Cell<bool>,
) -> std::io::Result<()> {
    for at in 0.. {
        if ended.get() {
            break;
        }
        let path = format!("/v1/contracts/p{number}-{at}");
        let deadline = if at % 2 == 0 { "50ms" } else { "1ms" };
        let body = format!(r#"{{"from":"a","to":"b","rate":"1kbit","burst":"64B","deadline":"{deadline}"}}"#);
        match client.ask("PUT", &path, &body).await? {
            200..300 | 409 | 429 => answered.set(answered.get() + 1),
            status => return Err(Error::other(format!("PUT {path} was answered with {status}"))),
        }
    }
    Ok(())
}
