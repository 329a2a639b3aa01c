//! `wayleave serve`: the controller behind REST, with its ledger on disk.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use wayleave_controller::{EnforcedBy, Setup, Timing, Unfit};
use wayleave_explain::SettingsShape;
use wayleave_server::cluster::{Cluster, Settings};
use wayleave_server::disk::{Disk, File};
use wayleave_server::{Limits, LogFormat, Options, TlsFiles};
use wayleave_units::{Bytes, Time};

use crate::basis::basis_of;
use crate::etcd_args::EtcdArgs;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::session::SessionArgs;
use crate::setup::{Prepared, prepare};

const EXAMPLE: &str = "\
Examples:
  wayleave serve -t fat-tree:k=4 --ledger wayleave.db
  wayleave serve -t fat-tree:k=4 --ledger copy.db --listen 10.0.0.1:7480 --etcd http://10.0.0.1:2379,http://10.0.0.2:2379,http://10.0.0.3:2379
  WAYLEAVE_TOPOLOGY=network.yaml wayleave serve --config wayleave.toml

Every option can also stand in a file (`--config FILE`, else ./wayleave.toml, else /etc/wayleave/wayleave.toml), as `option = value`, or in the
environment, as WAYLEAVE_OPTION. A flag goes before the environment, that before the file. `wayleave config show --origin` says what counts.
At the first start an operator's token is made; the file with its secret is named on the standard error.";

/// Serve the controller: tenants, VMs and contracts over REST, with a ledger on disk
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct ServeArgs {
    /// The ledger; it is created if it is not there
    #[arg(long, value_name = "FILE", default_value = "wayleave.db")]
    ledger: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7480")]
    listen: SocketAddr,
    /// A second address, with connections of its own, for /healthz, /readyz, /metrics and /v1/status only
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen_health: Option<SocketAddr>,
    /// Read options from this file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The file with an operator's secret: read if it is there, else made at the first start [default: the ledger's name
    /// with -operator at its end]
    #[arg(long, value_name = "FILE")]
    operator_token_file: Option<PathBuf>,
    /// Nodes whose agents enforce contracts; none: contracts are admitted and not enforced
    #[arg(long, alias = "southbound", value_enum, value_name = "NODES", default_value_t)]
    enforcement: EnforcementName,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    access: EtcdArgs,
    /// Decide contracts again, by priority, that this network cannot keep as they were admitted: after switches, links or rates have changed
    #[arg(long)]
    decide_again: bool,
    #[command(flatten)]
    security: SecurityArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    session: SessionArgs,
}

/// Several controllers with one ledger.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Cluster")]
struct ClusterArgs {
    /// The members of an etcd (3.4 or later) that keeps the ledger of several controllers; the file of --ledger is this one's copy. Several are separated by commas
    #[arg(long, value_name = "URL,URL", value_delimiter = ',', value_parser = parse_member)]
    etcd: Vec<String>,
    /// What its controllers call the cluster
    #[arg(long, value_name = "NAME", default_value = "wayleave", requires = "etcd", value_parser = parse_cluster)]
    cluster: String,
    /// Where this controller answers, for clients that have asked another one [default: the address of --listen]
    #[arg(long, value_name = "URL", requires = "etcd")]
    advertise: Option<String>,
    /// How long others wait for a leader that says nothing
    #[arg(long, value_name = "TIME", default_value = "3s", requires = "etcd", value_parser = parse_lease)]
    lease: Time,
    /// Let the topology, scheme and model of this controller replace those of the cluster with this fingerprint, when the controller that leads has ended
    #[arg(long, value_name = "FINGERPRINT", requires = "etcd")]
    replace_basis: Option<String>,
}

pub(super) fn parse_member(text: &str) -> Result<String, String> {
    wayleave_client::url(text).map_err(|error| error.to_string())
}

pub(super) fn parse_cluster(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain);
    if is_name { Ok(text.to_owned()) } else { Err("1 to 64 letters, digits, -, _ and . are expected".to_owned()) }
}

fn parse_lease(text: &str) -> Result<Time, String> {
    let time: Time = text.parse().map_err(|error: wayleave_units::ParseUnitError| error.to_string())?;
    let is_whole = time.as_nanos().is_multiple_of(1_000_000_000);
    let seconds = time.as_nanos() / 1_000_000_000;
    if is_whole && (2..=60).contains(&seconds) {
        Ok(time)
    } else {
        Err("whole seconds, 2s to 60s, are expected".to_owned())
    }
}

impl ServeArgs {
    /// Where the records are, of a controller that decides with this.
    fn disk(&self, setup: &Setup, settings: &SettingsShape) -> Result<Box<dyn Disk>, Failure> {
        if self.cluster.etcd.is_empty() {
            return Ok(Box::new(File(self.ledger.clone())));
        }
        let ClusterArgs { etcd, cluster, advertise, lease, replace_basis } = &self.cluster;
        let scheme = if self.security.tls_cert.is_some() { "https" } else { "http" };
        if advertise.is_none() && (self.listen.port() == 0 || self.listen.ip().is_unspecified()) {
            let why = "clients cannot ask that: --advertise says where this controller answers";
            return Err(Failure::Usage(format!("--listen {}: {why}", self.listen)));
        }
        let address = advertise.clone().unwrap_or_else(|| format!("{scheme}://{}", self.listen));
        let random = wayleave_client::key()?;
        let settings = Settings {
            cluster: cluster.clone(),
            id: format!("{address} {random}"),
            address,
            lease_s: u32::try_from(lease.as_nanos() / 1_000_000_000).unwrap_or(3),
            basis: Some(basis_of(&self.session.network.topology, setup, settings)?),
            replaces: replace_basis.clone(),
        };
        Ok(Box::new(Cluster::new(self.access.access(etcd.clone()), settings, self.ledger.clone())))
    }
}

/// What is logged.
#[derive(Args, Clone, Debug)]
pub(crate) struct LogArgs {
    /// How log lines look on the standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    log_format: LogFormatName,
    /// What is logged: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: String,
}

impl LogArgs {
    /// From now on it is.
    pub(crate) fn begin(&self) -> Result<(), Failure> {
        let format = match self.log_format {
            LogFormatName::Text => LogFormat::Text,
            LogFormatName::Json => LogFormat::Json,
        };
        let wrong_level = |error: String| Failure::Usage(format!("--log-level {}: {error}", self.log_level));
        wayleave_server::log(format, &self.log_level).map_err(wrong_level)
    }
}

/// Who may listen in.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Security")]
struct SecurityArgs {
    /// The certificate chain in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The authorities (PEM) whose certificates of clients are believed; a client shows one, or sends a token
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// The certificates that these have revoked: a list (CRL, PEM) of each authority that signs certificates of clients
    #[arg(long, value_name = "FILE", requires = "client_ca")]
    client_crl: Option<PathBuf>,
    /// Listen beyond this machine without TLS: everybody on the way can read the tokens
    #[arg(long)]
    insecure_http: bool,
}

/// What is accepted at most.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// The largest request
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    body_limit: Bytes,
    /// The largest list of contracts
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    list_limit: Bytes,
    /// Requests in a second, of one token
    #[arg(long, value_name = "COUNT", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_second: u32,
    /// Memory for answers to requests with an Idempotency-Key, of one tenant; operators have four times that
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    answers_limit: Bytes,
    /// Memory and disk for events, decisions and the audit of one tenant, of which the oldest give way; operators have four times that
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    history_limit: Bytes,
    /// Memory for requests that are being answered, of one tenant; all together have four times that
    #[arg(long, value_name = "SIZE", default_value = "32MiB")]
    open_limit: Bytes,
    /// VMs of one tenant
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    vms_limit: u32,
    /// Contracts of a tenant's list with atomic or dryRun, which are decided without a pause; an operator's may have four times as many
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    together_limit: u32,
    /// Connections at once
    #[arg(long, value_name = "COUNT", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// Of those, from one address
    #[arg(long, value_name = "COUNT", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections_per_address: u32,
    /// Connections besides, of agents and watchers that wait
    #[arg(long, value_name = "COUNT", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    waiting_connections: u32,
    /// Watchers of events at once
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    watchers: u32,
    /// How long a client may take to send a request
    #[arg(long, value_name = "TIME", default_value = "30s")]
    read_timeout: Time,
    /// How long a client may take nothing of its answer
    #[arg(long, value_name = "TIME", default_value = "30s")]
    write_timeout: Time,
    /// How long requests may take that were begun before the end
    #[arg(long, value_name = "TIME", default_value = "10s")]
    shutdown_timeout: Time,
}

/// How long things are waited for.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Waiting")]
struct TimingArgs {
    /// How long a host may take to confirm before its contracts count as degraded
    #[arg(long, value_name = "TIME", default_value = "10s")]
    confirm_within: Time,
    /// How often degraded contracts without a place are tried again
    #[arg(long, value_name = "TIME", default_value = "10s")]
    retry_every: Time,
    /// How long after the last late packet a contract counts as kept again
    #[arg(long, value_name = "TIME", default_value = "60s")]
    heal_after: Time,
    /// How long the agent of a node may say nothing before it counts as silent, and its contracts as degraded
    #[arg(long, value_name = "TIME", default_value = "5s")]
    silent_after: Time,
    /// A clock that goes forward by so much more than the time that passes is doubted: contracts neither start nor end by it
    #[arg(long, value_name = "TIME", default_value = "60s")]
    clock_jump: Time,
    /// How long a doubted clock has to run on evenly until it is believed; 0s believes every clock
    #[arg(long, value_name = "TIME", default_value = "3600s")]
    clock_doubt: Time,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum EnforcementName {
    /// No agents: contracts are admitted, not enforced
    #[default]
    #[value(alias = "assumed")]
    None,
    /// Agents on hosts, which confirm every contract; switches are set up by other means
    Hosts,
    /// Agents on hosts and on Linux switches
    HostsAndSwitches,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum LogFormatName {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

pub(crate) fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    check_security(args)?;
    let enforced_by = match args.enforcement {
        EnforcementName::None => EnforcedBy::Nobody,
        EnforcementName::Hosts => EnforcedBy::Hosts,
        EnforcementName::HostsAndSwitches => EnforcedBy::HostsAndSwitches,
    };
    let Prepared { setup, settings, name } = prepare(&args.session, enforced_by, args.timing.timing())?;
    let setup = Setup { unfit: if args.decide_again { Unfit::DecideAgain } else { Unfit::Refuse }, ..setup };
    args.log.begin()?;
    let operator_file = args.operator_token_file.clone().unwrap_or_else(|| {
        let mut name = args.ledger.clone().into_os_string();
        name.push("-operator");
        name.into()
    });
    let disk = args.disk(&setup, &settings)?;
    let options = Options {
        document: wayleave_formats::write_topology(&setup.network, &name),
        scheme: (setup.scheme)().name().to_owned(),
        setup,
        name,
        disk,
        operator_file: operator_file.clone(),
        operator_file_counts: args.operator_token_file.is_some(),
        limits: args.limits.limits(),
        tls: args.security.files(),
    };
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let ready = |address: SocketAddr| {
        crate::output::tell!(
            "wayleave serves on {scheme}://{address} (dashboard: {scheme}://{address}/ui/, interface: {scheme}://{address}/docs)"
        );
        if operator_file.exists() {
            crate::output::tell!("an operator's token is in {}", operator_file.display());
        }
    };
    wayleave_server::run(options, args.listen, args.listen_health, ready).map_err(Failure::Internal)?;
    Ok(Exit::Fine)
}

impl SecurityArgs {
    fn files(&self) -> Option<TlsFiles> {
        let (certificates, key) = self.tls_cert.clone().zip(self.tls_key.clone())?;
        Some(TlsFiles { certificates, key, client_ca: self.client_ca.clone(), client_crl: self.client_crl.clone() })
    }
}

/// Tokens go to nobody who listens on the way, unless somebody wants it so.
fn check_security(args: &ServeArgs) -> Result<(), Failure> {
    let open = [Some(args.listen), args.listen_health].into_iter().flatten().find(|one| !one.ip().is_loopback());
    let Some(open) = open.filter(|_| args.security.tls_cert.is_none()) else { return Ok(()) };
    if !args.security.insecure_http {
        return Err(Failure::Usage(format!(
            "{open} can be reached from other machines: give --tls-cert and --tls-key, or --insecure-http if \
             somebody else encrypts"
        )));
    }
    crate::output::tell!("warning: without TLS everybody on the way to {open} can read the tokens");
    Ok(())
}

impl TimingArgs {
    fn timing(&self) -> Timing {
        let Self { confirm_within, retry_every, heal_after, silent_after, clock_jump, clock_doubt } = self.clone();
        Timing { confirm_within, retry_every, heal_after, silent_after, clock_jump, clock_doubt }
    }
}

impl LimitArgs {
    fn limits(&self) -> Limits {
        let bytes = |bytes: Bytes| usize::try_from(bytes.get()).unwrap_or(usize::MAX);
        let time = |time: Time| Duration::from_nanos(time.as_nanos());
        Limits {
            body_bytes: bytes(self.body_limit),
            list_bytes: bytes(self.list_limit),
            requests_per_second: f64::from(self.requests_per_second),
            answer_bytes: self.answers_limit.get(),
            history_bytes: self.history_limit.get(),
            open_bytes: bytes(self.open_limit),
            vms: self.vms_limit as usize,
            together: self.together_limit as usize,
            connections: self.connections as usize,
            connections_of_address: self.connections_per_address as usize,
            connections_waiting: self.waiting_connections as usize,
            watchers: self.watchers as usize,
            read_within: time(self.read_timeout),
            write_within: time(self.write_timeout),
            end_within: time(self.shutdown_timeout),
            // As the watchdog of systemd, which has no option here either.
            ..Limits::default()
        }
    }
}
