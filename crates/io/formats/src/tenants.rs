//! Tenants and VMs: `kind: Tenants`, for a controller.

use std::collections::HashMap;

use wayleave_contracts::{Named, Quota, Tenant, Vm, VmPlacement, vm_mac};
use wayleave_packet_format::Mac;

use crate::document::{self, DocumentKind};
use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::messages::{did_you_mean_one_of, quoted};
use crate::problem::{InputErrors, Problem, ProblemKind, Problems};
use crate::source::Source;
use crate::tree::Node;

pub(crate) const TENANTS_SPEC: Shape = Shape { what: "the spec of Tenants", keys: &["tenants", "vms"] };
pub(crate) const TENANT: Shape = Shape { what: "a tenant", keys: &["name", "quota"] };
pub(crate) const QUOTA: Shape = Shape { what: "a quota", keys: &["rate", "burst", "contracts"] };
pub(crate) const VM: Shape = Shape { what: "a VM", keys: &["name", "tenant", "host", "placement", "mac"] };

/// The tenants and VMs of a file, in its order, with their positions.
#[derive(Clone, Debug)]
pub struct TenantList {
    name: String,
    source: Source,
    tenants: Vec<(Tenant, Span)>,
    vms: Vec<(Vm, Span)>,
}

impl TenantList {
    /// `metadata.name`, or the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the source from which it was read.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The tenants.
    pub fn tenants(&self) -> impl ExactSizeIterator<Item = &Tenant> {
        self.tenants.iter().map(|(tenant, _)| tenant)
    }

    /// Returns the VMs. The controller checks that their hosts and tenants exist.
    pub fn vms(&self) -> impl ExactSizeIterator<Item = &Vm> {
        self.vms.iter().map(|(vm, _)| vm)
    }

    /// Something that a controller found out about a tenant, as a problem at its place in the file.
    ///
    /// # Panics
    /// If there is no tenant with this index.
    pub fn tenant_finding(&self, index: usize, message: &str) -> Problem {
        let (tenant, span) = &self.tenants[index];
        let problem = Problem::at(&self.source, *span, ProblemKind::Finding, message);
        problem.with_context(&format!("tenant {}", quoted(&tenant.name)))
    }

    /// Something that a controller found out about a VM, as a problem at its place in the file.
    ///
    /// # Panics
    /// If there is no VM with this index.
    pub fn vm_finding(&self, index: usize, message: &str) -> Problem {
        let (vm, span) = &self.vms[index];
        let problem = Problem::at(&self.source, *span, ProblemKind::Finding, message);
        problem.with_context(&format!("VM {}", quoted(&vm.name)))
    }
}

/// Reads tenants and VMs.
///
/// ```
/// use wayleave_formats::{Source, read_tenants};
/// let text = "
/// apiVersion: wayleave/v1
/// kind: Tenants
/// spec:
///   tenants: [ { name: acme, quota: { rate: 10Gbit, contracts: 100 } } ]
///   vms: [ { name: web-1, tenant: acme, host: h1 }, { name: db, tenant: acme, placement: fit } ]
/// ";
/// let list = read_tenants(&Source::new("tenants.yaml", text))?;
/// assert_eq!((list.tenants().len(), list.vms().len()), (1, 2));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_tenants(source: &Source) -> Result<TenantList, InputErrors> {
    let mut problems = Problems::new(source);
    let list = read_document(source, &mut problems);
    problems.finish(list)
}

fn read_document(source: &Source, problems: &mut Problems<'_>) -> Option<TenantList> {
    let document = document::read(source.text(), DocumentKind::Tenants, problems, |_, _| {})?;
    let spec = Fields::read(&document.spec, &TENANTS_SPEC, problems)?;
    let tenants = items(&spec, "tenants", "tenant", problems, tenant);
    let vms = items(&spec, "vms", "VM", problems, vm);
    unique(&tenants, problems, |tenant| tenant.name.clone());
    unique(&vms, problems, |vm: &Vm| format!("{}\n{}", vm.tenant.as_deref().unwrap_or("default"), vm.name));
    Some(TenantList { name: document.name, source: source.clone(), tenants, vms })
}

/// The items of a list that may be absent, with the places of their names; `what` each is called in messages.
fn items<T>(
    spec: &Fields<'_, '_>,
    key: &str,
    what: &str,
    problems: &mut Problems<'_>,
    read: impl Fn(&Node<'_>, &mut Problems<'_>) -> Option<(T, Span)>,
) -> Vec<(T, Span)> {
    let nodes = spec.get(key).and_then(|node| node.expect_list(key, problems)).unwrap_or_default();
    let mut items = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let mark = problems.mark();
        items.extend(read(node, problems));
        problems.explain_since(mark, || format!("{what} {}", index + 1));
    }
    items
}

fn unique<T>(items: &[(T, Span)], problems: &mut Problems<'_>, key: impl Fn(&T) -> String) {
    let mut names: HashMap<String, Span> = HashMap::new();
    for (item, span) in items {
        if let Some(&first) = names.get(&key(item)) {
            let source = problems.source();
            problems.report(ProblemKind::DuplicateName, *span, || {
                format!("this name is already used on line {}", source.line_of(first))
            });
        } else {
            names.insert(key(item), *span);
        }
    }
}

fn tenant(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<(Tenant, Span)> {
    let fields = Fields::read(node, &TENANT, problems)?;
    let name = name(&fields, "name", Named::Tenant, problems);
    fields.require_all(["name"], problems);
    let quota = match fields.get("quota") {
        Some(node) => quota(node, problems)?,
        None => Quota::default(),
    };
    Some((Tenant { name: name?, quota }, fields.value_span("name")))
}

/// `None` if it is no mapping; a value that cannot be read is reported and absent.
fn quota(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Quota> {
    let fields = Fields::read(node, &QUOTA, problems)?;
    let rate = fields.get("rate").and_then(|node| node.quantity(problems));
    let burst = fields.get("burst").and_then(|node| node.quantity(problems));
    Some(Quota { rate, burst, contracts: fields.count("contracts", problems) })
}

fn vm(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<(Vm, Span)> {
    let fields = Fields::read(node, &VM, problems)?;
    fields.require_all(["name"], problems);
    let vm_name = name(&fields, "name", Named::Vm, problems);
    let tenant = name(&fields, "tenant", Named::Tenant, problems);
    let placement = placement(&fields, problems);
    let mac = match fields.get("mac") {
        Some(node) => Some(mac(node, problems)?),
        None => None,
    };
    Some((Vm { name: vm_name?, tenant, placement: placement?, mac }, fields.value_span("name")))
}

fn mac(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Mac> {
    match vm_mac(node.expect_text(problems)?) {
        Ok(mac) => Some(mac),
        Err(error) => {
            problems.report(ProblemKind::BadValue, node.span, || error.to_string());
            None
        }
    }
}

/// A name that keeps to the rules of its kind; `None` if there is none, or it does not, which is reported.
pub(crate) fn name(
    fields: &Fields<'_, '_>,
    key: &'static str,
    named: Named,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let node = fields.get(key)?;
    let text = node.expect_text(problems)?;
    match named.check(text) {
        Ok(()) => Some(text.to_owned()),
        Err(error) => {
            problems.report(ProblemKind::BadValue, node.span, || error.to_string());
            None
        }
    }
}

fn placement(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<VmPlacement> {
    match (fields.get("host"), fields.get("placement")) {
        (Some(host), None) => Some(VmPlacement::Host(host.expect_text(problems)?.to_owned())),
        (None, Some(node)) => match node.expect_text(problems)? {
            "random" => Some(VmPlacement::Random),
            "fit" => Some(VmPlacement::Fit),
            other => {
                problems.report(ProblemKind::BadValue, node.span, || {
                    let words = did_you_mean_one_of(other, &["random", "fit"]);
                    format!("unknown placement {}{words}", quoted(other))
                });
                None
            }
        },
        (Some(_), Some(_)) => {
            let message = "a VM is either on a host or placed: leave out host, or leave out placement";
            problems.report(ProblemKind::Impossible, fields.key_span("placement"), || message);
            None
        }
        (None, None) => {
            let message = "a VM needs one of the keys \"host\" and \"placement\"";
            problems.report(ProblemKind::MissingKey, fields.at, || message);
            None
        }
    }
}
