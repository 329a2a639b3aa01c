//! `wayleave agent init`: everything that an agent needs on a new machine, in one step.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use nix::mount::{MsFlags, mount};
use serde_json::{Value, json};
use wayleave_client::url;
use wayleave_formats::{Source, read_agent};
use wayleave_topology::Network;

use crate::client::secret;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::import_args::ImportArgs;
use crate::inputs::check_stdin;
use crate::output::out;

const EXAMPLE: &str = "\
Examples:
  wayleave token create --role agent --node h1 > h1.token
  sudo wayleave agent init --node h1 --server https://controller.example:7480 --token-file h1.token \\
      --interface 'h1->s1=eth1' --endpoint acme:web=tap0
  sudo systemctl enable --now wayleave-agent

  With the interfaces that the topology names:
  sudo wayleave agent init --node h1 --server https://controller.example:7480 --token-file h1.token --topology lab.clab.yml

Existing files are kept, unless --force is given.";

/// The unit that is shipped.
const UNIT: &str = include_str!("../../../../packaging/systemd/wayleave-agent.service");
const BPF: &str = "/sys/fs/bpf";
/// Program that the shipped unit runs.
const PROGRAM: &str = "/usr/bin/wayleave";
const CONFIG: &str = "/etc/wayleave/agent.yaml";

/// Install an agent: configuration file, token, systemd unit and BPF mount
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct InitArgs {
    /// Host or switch, by its name in the topology
    #[arg(long, value_name = "NODE")]
    node: String,
    /// URL of the controller
    #[arg(long, value_name = "URL")]
    server: String,
    /// Certificates (PEM) to trust in place of public authorities
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// File with the node's agent token; - is stdin [default: a prompt]
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    token_file: Option<PathBuf>,
    /// Client certificate (PEM) of the agent, in place of a token; read again after renewal
    #[arg(long, value_name = "FILE", requires = "cert_key")]
    cert: Option<PathBuf>,
    /// Private key (PEM) of that certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    cert_key: Option<PathBuf>,
    /// Outgoing link of the node and its interface; overrides the topology
    #[arg(long = "interface", value_name = "LINK=INTERFACE", value_parser = pair, required_unless_present = "topology")]
    interfaces: Vec<(String, String)>,
    /// Topology with the interfaces' names, to check links; - is stdin
    #[arg(short, long, value_name = "FILE|BUILDER")]
    topology: Option<String>,
    /// Open vSwitch bridge that forwards for the node, if the kernel does not
    #[arg(long, value_name = "BRIDGE", conflicts_with = "endpoints")]
    ovs: Option<String>,
    /// VM, or host:NODE for the host itself, and the host's end of its interface, with its VLAN
    #[arg(long = "endpoint", value_name = "TENANT:VM=INTERFACE[,VLAN]", value_parser = pair)]
    endpoints: Vec<(String, String)>,
    /// Directory of the configuration file and the token
    #[arg(long, value_name = "DIRECTORY", default_value = "/etc/wayleave")]
    directory: PathBuf,
    /// File of the systemd unit
    #[arg(long, value_name = "FILE", default_value = "/etc/systemd/system/wayleave-agent.service")]
    unit: PathBuf,
    /// Do not write a systemd unit
    #[arg(long)]
    no_unit: bool,
    /// Do not mount a BPF file system at /sys/fs/bpf
    #[arg(long)]
    no_mount: bool,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    import: ImportArgs,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let parts = text.rsplit_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let (name, value) = parts.ok_or("expected a name and an interface, such as 'h1->s1=eth1'")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Runs the command.
pub(crate) fn run(args: &InitArgs) -> Result<Exit, Failure> {
    let token_file = args.token_file.as_deref().and_then(Path::to_str);
    check_stdin(args.topology.as_deref().into_iter().chain(token_file))?;
    let directory = absolute(&args.directory)?;
    let (config, token) = (directory.join("agent.yaml"), directory.join(format!("{}.token", args.node)));
    url(&args.server)?;
    let text = document(args, &interfaces(args)?, &token)?;
    let unit = (!args.no_unit).then(|| unit(args, &config)).transpose()?;
    // The file to be written is checked first, and wrong names are reported before anything is changed.
    read_agent(&Source::new("files that would be written", text.as_str()))?;
    let has_token = args.cert.is_none();
    let files = [Some(&config), has_token.then_some(&token), (!args.no_unit).then_some(&args.unit)];
    if let Some(there) = files.into_iter().flatten().find(|path| path.exists() && !args.force) {
        return Err(Failure::Usage(format!("{} already exists: --force replaces it", there.display())));
    }
    let secret = || args.token_file.as_deref().map_or_else(secret::ask, secret::read);
    let secret = has_token.then(secret).transpose()?;
    fs::create_dir_all(&args.directory).map_err(|error| failed(&args.directory, &error))?;
    if let Some(secret) = &secret {
        write(&token, &format!("{secret}\n"), 0o600)?;
    }
    write(&config, &text, 0o644)?;
    let mut out = out();
    writeln!(out, "{}", config.display())?;
    if has_token {
        writeln!(out, "{} (readable by its owner only)", token.display())?;
    }
    if let Some((unit, remarks)) = unit {
        write(&args.unit, &unit, 0o644)?;
        writeln!(out, "{}", args.unit.display())?;
        remarks.iter().try_for_each(|remark| writeln!(out, "  {remark}"))?;
    }
    if !args.no_mount && !is_mounted()? {
        let mounted = mount(Some("bpf"), BPF, Some("bpf"), MsFlags::empty(), Some("mode=0700"));
        mounted.map_err(|error| Failure::Internal(format!("cannot mount a bpf file system at {BPF}: {error}")))?;
        writeln!(out, "mounted a bpf file system at {BPF}; systemd mounts it at every boot")?;
    }
    match (args.no_unit, config == Path::new(CONFIG)) {
        (false, _) => writeln!(out, "next: systemctl daemon-reload && systemctl enable --now wayleave-agent")?,
        (true, true) => writeln!(out, "next: wayleave agent")?,
        (true, false) => writeln!(out, "next: wayleave agent --config {}", config.display())?,
    }
    out.flush()?;
    Ok(Exit::Fine)
}

/// The interfaces of the node's links: those of the topology, and those that are given.
fn interfaces(args: &InitArgs) -> Result<BTreeMap<String, String>, Failure> {
    let given: BTreeMap<String, String> = args.interfaces.iter().cloned().collect();
    match &args.topology {
        Some(topology) => ports(&args.import.network(topology)?.graph, &args.node, given),
        None => match given.keys().find(|link| !leaves(link, &args.node)) {
            Some(link) => Err(Failure::Usage(format!(
                "--interface {link}: not an outgoing link of {node}; expected a link '{node}->...' (--topology FILE reads them)",
                node = args.node
            ))),
            None => Ok(given),
        },
    }
}

/// Returns `false` if a link's name shows that it leaves another node; names are `from->to` and `from->to#2`.
fn leaves(link: &str, node: &str) -> bool {
    link.split_once("->").is_none_or(|(from, _)| from == node)
}

fn ports(network: &Network, node: &str, given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Failure> {
    let id = network.find_node(node);
    let id = id.ok_or_else(|| Failure::Usage(format!("--node {node}: the topology has no node of this name")))?;
    let ports = wayleave_agent::ports(network, id);
    let mut interfaces = BTreeMap::new();
    for &link in &ports {
        let named = network.interfaces().get(&link).map(|name| (network.link(link).name.clone(), name.clone()));
        interfaces.extend(named);
    }
    interfaces.extend(given);
    // Links that are not the node's are refused, and the others are named.
    wayleave_agent::links(network, id, &interfaces).map_err(Failure::Usage)?;
    let has_none = |link: &&str| !interfaces.contains_key(*link);
    let names = ports.iter().map(|&link| network.link(link).name.as_str());
    match names.filter(has_none).collect::<Vec<_>>()[..] {
        [] => Ok(interfaces),
        ref missing => Err(Failure::Usage(format!(
            "the topology names no interface for {}: pass --interface '{}=INTERFACE' for each",
            missing.join(", "),
            missing[0]
        ))),
    }
}

/// The agent's file. JSON is YAML, and quotes all names.
fn document(args: &InitArgs, interfaces: &BTreeMap<String, String>, token: &Path) -> Result<String, Failure> {
    let endpoints = args.endpoints.iter().map(|(name, at)| endpoint(name, at)).collect::<Result<Vec<_>, _>>()?;
    let mut node = json!({ "node": args.node, "interfaces": interfaces });
    if !endpoints.is_empty() {
        node["endpoints"] = Value::from(endpoints);
    }
    if let Some(bridge) = &args.ovs {
        node["ovs"] = json!({ "bridge": bridge });
    }
    let quoted = |value: &Value| value.to_string();
    let credential = match (&args.cert, &args.cert_key) {
        (Some(cert), Some(key)) => {
            format!("cert: {}\n  certKey: {}", quoted(&json!(absolute(cert)?)), quoted(&json!(absolute(key)?)))
        }
        _ => format!("tokenFile: {}", quoted(&json!(token))),
    };
    let mut text = format!(
        "# The agent of {}, written by `wayleave agent init`; `wayleave schema agent` documents all keys.\n\
         apiVersion: wayleave/v1\nkind: Agent\nmetadata: {{ name: {} }}\nspec:\n  server: {}\n  {credential}\n",
        args.node.replace('\n', " "),
        quoted(&json!(args.node)),
        quoted(&json!(args.server)),
    );
    if let Some(ca) = &args.ca {
        text += &format!("  ca: {}\n", quoted(&json!(absolute(ca)?)));
    }
    Ok(text + &format!("  nodes:\n    - {}\n", quoted(&node)))
}

fn endpoint(name: &str, at: &str) -> Result<Value, Failure> {
    let (interface, vlan) = at.split_once(',').map_or((at, None), |(interface, vlan)| (interface, Some(vlan)));
    let mut endpoint = match name.split_once(':') {
        Some(("host", host)) => json!({ "host": host, "interface": interface }),
        _ => json!({ "vm": name, "interface": interface }),
    };
    if let Some(vlan) = vlan {
        let number: u16 = vlan.parse().map_err(|_| Failure::Usage(format!("{vlan} is not a VLAN ID")))?;
        endpoint["vlan"] = json!(number);
    }
    Ok(endpoint)
}

/// A path that means the same in every directory: a unit starts in another one than its writer.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| failed(path, &error))
}

/// Settings of the shipped unit that hide folders from the service, and their replacements if a required file is in
/// such a folder (systemd.exec(5)).
const HIDING: [(&str, &str, &[&str]); 2] = [
    ("ProtectHome=yes", "ProtectHome=read-only", &["/home", "/root", "/run/user"]),
    ("PrivateTmp=yes", "PrivateTmp=no", &["/tmp", "/var/tmp"]),
];

/// Returns the shipped unit with this program and this file, and remarks on the necessary changes.
fn unit(args: &InitArgs, config: &Path) -> Result<(String, Vec<String>), Failure> {
    let files = [args.cert.as_deref(), args.cert_key.as_deref(), args.ca.as_deref()];
    let files = files.into_iter().flatten().map(absolute).collect::<Result<Vec<_>, _>>()?;
    unit_of(&crate::program::file()?, config, &files)
}

/// Returns the unit for a program. A program in a home directory is accepted: `cargo install` and a checkout put it
/// there, and the service still cannot write there.
fn unit_of(program: &Path, config: &Path, files: &[PathBuf]) -> Result<(String, Vec<String>), Failure> {
    let start = format!("ExecStart={} agent --config {}", word(program, true)?, word(config, false)?);
    let mut unit = UNIT.replace(&format!("ExecStart={PROGRAM} agent --config {CONFIG}"), &start);
    let mut remarks = Vec::new();
    files.iter().try_for_each(|file| word(file, false).map(drop))?;
    let needed = || [program, config].into_iter().chain(files.iter().map(PathBuf::as_path));
    for (shipped, instead, folders) in HIDING {
        if let Some(path) = needed().find(|path| folders.iter().any(|folder| path.starts_with(folder))) {
            let path = path.display();
            unit = unit.replace(shipped, &format!("# {shipped} would override {path}\n{instead}"));
            remarks.push(format!("{instead} instead of {shipped}, which would override {path}"));
        }
    }
    Ok((unit, remarks))
}

/// A path as a word of ExecStart (systemd.service(5), Command lines); the first word knows no variables.
fn word(path: &Path, is_first: bool) -> Result<String, Failure> {
    let text = path.to_str().filter(|text| !text.contains(char::is_control));
    let text = text.ok_or_else(|| {
        Failure::Usage(format!("{}: a path in a systemd unit must be text without control characters", path.display()))
    })?;
    let text = text.replace('%', "%%");
    let text = if is_first { text } else { text.replace('$', "$$") };
    Ok(match text.contains([' ', '"', '\'', '\\', ';']) {
        true => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        false => text,
    })
}

fn is_mounted() -> Result<bool, Failure> {
    let mounts =
        fs::read_to_string("/proc/self/mounts").map_err(|error| failed(Path::new("/proc/self/mounts"), &error))?;
    let is_bpf = |line: &str| line.split(' ').nth(1) == Some(BPF) && line.split(' ').nth(2) == Some("bpf");
    Ok(mounts.lines().any(is_bpf))
}

/// Writes a file that has these permissions from its creation; an existing file is replaced as a whole.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let draft = path.with_extension("new");
    let all = || -> std::io::Result<()> {
        let _ = fs::remove_file(&draft);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        fs::rename(&draft, path)
    };
    all().map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Internal(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_unit_equals_the_generated_one() {
        let (unit, remarks) = unit_of(Path::new(PROGRAM), Path::new("/somewhere/agent.yaml"), &[]).unwrap();
        assert_eq!(remarks, [""; 0]);
        assert!(unit.contains("\nProtectHome=yes\n") && unit.contains("\nPrivateTmp=yes\n"), "{unit}");
        assert!(unit.contains(" agent --config /somewhere/agent.yaml\n"), "{unit}");
        assert!(!unit.contains(&format!("--config {CONFIG}")), "{unit}");
    }

    #[test]
    fn paths_that_a_unit_needs_are_accessible_to_it() {
        let [program, etc, ca] = [PROGRAM, CONFIG, "/etc/ca.pem"].map(Path::new);
        let in_folder = |folder: &str| Path::new(folder).join("wayleave");
        for (folder, expected) in [
            ("/home", "ProtectHome=read-only"),
            ("/root", "ProtectHome=read-only"),
            ("/run/user", "ProtectHome=read-only"),
            ("/tmp", "PrivateTmp=no"),
            ("/var/tmp", "PrivateTmp=no"),
        ] {
            let hidden = in_folder(folder);
            for [program, config, file] in [[&hidden, etc, ca], [program, &hidden, ca], [program, etc, &hidden]] {
                let (unit, remarks) = unit_of(program, config, &[file.to_owned()]).unwrap();
                assert!(unit.contains(&format!("\n{expected}\n")), "{unit}");
                assert!(remarks.len() == 1 && remarks[0].starts_with(expected), "{remarks:?}");
            }
        }
        let (unit, remarks) = unit_of(Path::new("/homework/wayleave"), etc, &[]).unwrap();
        assert!(remarks.is_empty() && unit.contains("\nProtectHome=yes\n"), "{unit}");
    }

    #[test]
    fn paths_are_quoted_as_words_of_a_unit() {
        for (path, first, later) in [
            ("/opt/way leave/bin", "\"/opt/way leave/bin\"", "\"/opt/way leave/bin\""),
            ("/opt/100%/$x", "/opt/100%%/$x", "/opt/100%%/$$x"),
            ("/opt/\"a\\b", "\"/opt/\\\"a\\\\b\"", "\"/opt/\\\"a\\\\b\""),
        ] {
            let of = |is_first| word(Path::new(path), is_first).ok().unwrap();
            assert_eq!([of(true), of(false)], [first, later]);
        }
        assert!(word(Path::new("/opt/a\nb"), false).is_err());
    }
}
