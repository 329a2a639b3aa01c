//! `wayleave serve`: the controller behind REST, with its ledger on disk.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use wayleave_controller::{ControllerConfig, EnforcedBy, Timeouts, UnfitPolicy};
use wayleave_explain::SettingsJson;
use wayleave_server::cluster::{Cluster, Settings};
use wayleave_server::disk::{Disk, File};
use wayleave_server::{LoadClock, LogFormat, Options, ServerLimits, TlsFiles};
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
  WAYLEAVE_TOPOLOGY=network.yaml wayleave serve --config wayleave.toml";

const NOTES: &str = "\
Every option can also be set in a file (--config FILE, else ./wayleave.toml, else /etc/wayleave/wayleave.toml), as `option = value`, or in the \
environment, as WAYLEAVE_OPTION. A flag overrides the environment, which overrides the file: run `wayleave config show --origin`. \
The first start creates an operator's token, and prints its file name on standard error.";

/// Run the controller: tenants, VMs and contracts over REST, with a ledger on disk
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(&[EXAMPLE, NOTES].join("\n\n")))]
pub(crate) struct ServeArgs {
    /// Ledger file; created if it does not exist
    #[arg(long, value_name = "FILE", default_value = "wayleave.db")]
    ledger: PathBuf,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7480")]
    listen: SocketAddr,
    /// Second address, with its own connections, for /healthz, /readyz, /metrics and /v1/status
    #[arg(long, value_name = "ADDRESS:PORT", hide_short_help = true)]
    listen_health: Option<SocketAddr>,
    /// Configuration file [default: ./wayleave.toml, else /etc/wayleave/wayleave.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// File with the operator's token; created at the first start [default: LEDGER-operator]
    #[arg(long, value_name = "FILE")]
    operator_token_file: Option<PathBuf>,
    /// Nodes whose agents enforce contracts; with none, contracts are only recorded
    #[arg(long, alias = "southbound", value_enum, value_name = "NODES", default_value_t)]
    enforcement: EnforcementName,
    /// After a change of topology, re-admit contracts that no longer fit, in order of priority
    #[arg(long, hide_short_help = true)]
    decide_again: bool,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    security: SecurityArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    access: EtcdArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    log: LogArgs,
}

/// Several controllers with one ledger.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Cluster")]
struct ClusterArgs {
    /// Members of an etcd (3.4 or later) that stores the ledger of several controllers
    #[arg(long, value_name = "URL,URL", value_delimiter = ',', value_parser = parse_member)]
    etcd: Vec<String>,
    /// Name of the cluster, equal on all controllers
    #[arg(long, value_name = "NAME", default_value = "wayleave", requires = "etcd", value_parser = parse_cluster)]
    cluster: String,
    /// URL of this controller for clients of other controllers [default: the address of --listen]
    #[arg(long, value_name = "URL", requires = "etcd", hide_short_help = true)]
    advertise: Option<String>,
    /// Time without a leader's heartbeat until another controller takes over
    #[arg(long, value_name = "TIME", default_value = "3s", requires = "etcd", value_parser = parse_lease, hide_short_help = true)]
    lease: Time,
    /// Replace the cluster's configuration (topology, scheme, model) of this fingerprint after the leader has ended
    #[arg(long, alias = "replace-basis", hide_short_help = true, value_name = "FINGERPRINT", requires = "etcd")]
    force_config: Option<String>,
}

pub(super) fn parse_member(text: &str) -> Result<String, String> {
    wayleave_client::url(text).map_err(|error| error.to_string())
}

pub(super) fn parse_cluster(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain);
    if is_name { Ok(text.to_owned()) } else { Err("expected 1 to 64 letters, digits, -, _ and .".to_owned()) }
}

fn parse_lease(text: &str) -> Result<Time, String> {
    let time: Time = text.parse().map_err(|error: wayleave_units::ParseUnitError| error.to_string())?;
    let is_whole = time.as_nanos().is_multiple_of(1_000_000_000);
    let seconds = time.as_nanos() / 1_000_000_000;
    if is_whole && (2..=60).contains(&seconds) { Ok(time) } else { Err("expected whole seconds, 2s to 60s".to_owned()) }
}

impl ServeArgs {
    /// Returns the storage of the records, for a controller with this setup.
    fn disk(&self, setup: &ControllerConfig, settings: &SettingsJson) -> Result<Box<dyn Disk>, Failure> {
        if self.cluster.etcd.is_empty() {
            return Ok(Box::new(File(self.ledger.clone())));
        }
        let ClusterArgs { etcd, cluster, advertise, lease, force_config } = &self.cluster;
        let scheme = if self.security.tls_cert.is_some() { "https" } else { "http" };
        if advertise.is_none() && (self.listen.port() == 0 || self.listen.ip().is_unspecified()) {
            let why = "clients cannot connect to this address: set the public one with --advertise";
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
            replaces: force_config.clone(),
        };
        Ok(Box::new(Cluster::new(self.access.access(etcd.clone()), settings, self.ledger.clone())))
    }
}

/// Logging.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LogArgs {
    /// Format of log lines on standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    log_format: LogFormatName,
    /// Log level: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: String,
}

impl LogArgs {
    /// Starts the log in this format, at this level.
    pub(crate) fn begin(&self) -> Result<(), Failure> {
        let format = match self.log_format {
            LogFormatName::Text => LogFormat::Text,
            LogFormatName::Json => LogFormat::Json,
        };
        let wrong_level = |error: String| Failure::Usage(format!("--log-level {}: {error}", self.log_level));
        wayleave_server::log(format, &self.log_level).map_err(wrong_level)
    }
}

/// Encryption and authentication of connections.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Security")]
struct SecurityArgs {
    /// Certificate chain (PEM) of the server
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key (PEM) of the server
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Authorities (PEM) for client certificates; a client has a certificate or a token
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// Revocation lists (CRL, PEM), one for each authority of client certificates
    #[arg(long, value_name = "FILE", requires = "client_ca", hide_short_help = true)]
    client_crl: Option<PathBuf>,
    /// Listen on other than loopback addresses without TLS: tokens can be read on the network
    #[arg(long)]
    insecure_http: bool,
}

/// Limits of accepted requests.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Maximum size of a request
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    body_limit: Bytes,
    /// Maximum size of a list of contracts
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    list_limit: Bytes,
    /// Requests per second and token
    #[arg(long, value_name = "COUNT", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_second: u32,
    /// Memory for replies by Idempotency-Key, per tenant; operators have four times as much
    #[arg(long, alias = "answers-limit", value_name = "SIZE", default_value = "64MiB")]
    idempotency_cache_size: Bytes,
    /// Memory and disk for events, decisions and audit, per tenant; operators have four times as much
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    history_limit: Bytes,
    /// Memory for requests in flight, per tenant; four times as much in total
    #[arg(long, alias = "open-limit", value_name = "SIZE", default_value = "32MiB")]
    in_flight_bytes: Bytes,
    /// Maximum number of VMs per tenant
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    vms_limit: u32,
    /// Contracts in an atomic or dry-run list of a tenant; operators have four times as many
    #[arg(long, alias = "together-limit", value_name = "COUNT", default_value_t = 200)]
    max_atomic_batch: u32,
    /// Maximum number of connections
    #[arg(long, value_name = "COUNT", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// Maximum number of connections from one address
    #[arg(long, value_name = "COUNT", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections_per_address: u32,
    /// Additional connections for long polls of agents and watchers
    #[arg(long, alias = "waiting-connections", value_name = "COUNT", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    long_poll_connections: u32,
    /// Maximum number of event streams
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    watchers: u32,
    /// Tenants, and links, with metrics of their own at /metrics; all others are summed. 0: none
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    metric_series: u32,
    /// Close a connection whose request is incomplete after this time
    #[arg(long, value_name = "TIME", default_value = "30s")]
    read_timeout: Time,
    /// Close a connection whose client reads nothing for this long
    #[arg(long, value_name = "TIME", default_value = "30s")]
    write_timeout: Time,
    /// Time for open requests to finish at shutdown
    #[arg(long, value_name = "TIME", default_value = "10s")]
    shutdown_timeout: Time,
}

/// Timeouts.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Timing")]
struct TimingArgs {
    /// Time for a host to confirm a contract before it counts as degraded
    #[arg(long, value_name = "TIME", default_value = "10s")]
    confirm_within: Time,
    /// Interval at which degraded contracts without a route are tried again
    #[arg(long, value_name = "TIME", default_value = "10s")]
    retry_every: Time,
    /// Time without late packets until a violation is cleared
    #[arg(long, alias = "heal-after", value_name = "TIME", default_value = "60s")]
    violation_clear_after: Time,
    /// Time without a heartbeat until an agent counts as silent, and its contracts as degraded
    #[arg(long, alias = "silent-after", value_name = "TIME", default_value = "5s")]
    heartbeat_timeout: Time,
    /// Forward step of the clock from which on it is not trusted: contracts neither start nor end
    #[arg(long, alias = "clock-jump", value_name = "TIME", default_value = "60s")]
    clock_step_threshold: Time,
    /// Time without a step until the clock is trusted again; 0s always trusts it
    #[arg(long, alias = "clock-doubt", value_name = "TIME", default_value = "3600s")]
    clock_step_holddown: Time,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum EnforcementName {
    /// No agents: contracts are recorded, not enforced
    #[default]
    #[value(alias = "assumed")]
    None,
    /// Agents on hosts; switches are configured by other means
    Hosts,
    /// Agents on hosts and on Linux switches
    HostsAndSwitches,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum LogFormatName {
    /// Human-readable lines
    #[default]
    Text,
    /// One JSON object per line
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
    let setup = ControllerConfig {
        unfit: if args.decide_again { UnfitPolicy::DecideAgain } else { UnfitPolicy::Refuse },
        ..setup
    };
    args.log.begin()?;
    let operator_file = args.operator_token_file.clone().unwrap_or_else(|| {
        let mut name = args.ledger.clone().into_os_string();
        name.push("-operator");
        name.into()
    });
    let disk = args.disk(&setup, &settings)?;
    let options = Options {
        document: wayleave_formats::write_topology(&setup.network, &name),
        scheme: setup.scheme.for_new_ledger().name().to_owned(),
        setup,
        name,
        disk,
        operator_file: operator_file.clone(),
        operator_file_counts: args.operator_token_file.is_some(),
        limits: args.limits.limits(),
        tls: args.security.files(),
        load_file: Some(load_file(&args.ledger)),
        load_clock: LoadClock::Wall,
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

/// Returns the file of the measured load, beside the ledger.
fn load_file(ledger: &Path) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push("-load");
    name.into()
}

impl SecurityArgs {
    fn files(&self) -> Option<TlsFiles> {
        let (certificates, key) = self.tls_cert.clone().zip(self.tls_key.clone())?;
        Some(TlsFiles { certificates, key, client_ca: self.client_ca.clone(), client_crl: self.client_crl.clone() })
    }
}

/// Refuses to send tokens over unencrypted connections, unless the user allows it.
fn check_security(args: &ServeArgs) -> Result<(), Failure> {
    let open = [Some(args.listen), args.listen_health].into_iter().flatten().find(|one| !one.ip().is_loopback());
    let Some(open) = open.filter(|_| args.security.tls_cert.is_none()) else { return Ok(()) };
    if !args.security.insecure_http {
        return Err(Failure::Usage(format!(
            "{open} is reachable from other machines: add --tls-cert and --tls-key, or --insecure-http behind a TLS proxy"
        )));
    }
    crate::output::tell!("warning: without TLS, tokens sent to {open} can be read on the network");
    Ok(())
}

impl TimingArgs {
    fn timing(&self) -> Timeouts {
        Timeouts {
            confirm_within: self.confirm_within,
            retry_every: self.retry_every,
            heal_after: self.violation_clear_after,
            silent_after: self.heartbeat_timeout,
            clock_jump: self.clock_step_threshold,
            clock_hold_down: self.clock_step_holddown,
        }
    }
}

impl LimitArgs {
    fn limits(&self) -> ServerLimits {
        let bytes = |bytes: Bytes| usize::try_from(bytes.get()).unwrap_or(usize::MAX);
        let time = |time: Time| Duration::from_nanos(time.as_nanos());
        ServerLimits {
            body_bytes: bytes(self.body_limit),
            list_bytes: bytes(self.list_limit),
            requests_per_second: f64::from(self.requests_per_second),
            answer_bytes: self.idempotency_cache_size.get(),
            history_bytes: self.history_limit.get(),
            open_bytes: bytes(self.in_flight_bytes),
            vms: self.vms_limit as usize,
            together: self.max_atomic_batch as usize,
            connections: self.connections as usize,
            connections_of_address: self.connections_per_address as usize,
            connections_waiting: self.long_poll_connections as usize,
            watchers: self.watchers as usize,
            metric_series: self.metric_series as usize,
            read_within: time(self.read_timeout),
            write_within: time(self.write_timeout),
            end_within: time(self.shutdown_timeout),
            // As the watchdog of systemd, which has no option here either.
            ..ServerLimits::default()
        }
    }
}
