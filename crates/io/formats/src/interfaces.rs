//! Names of the interfaces of switches: `LINK INTERFACE` on each line, for configurations that are rendered.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_topology::{LinkId, MAX_INTERFACE_NAME, Network, is_interface_name};

use crate::columns::lines;
use crate::messages::quoted;
use crate::names::unknown_link;
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;

/// Reads what the interfaces are called that links leave: lines of `LINK INTERFACE`, links as `FROM->TO`. Empty lines and those that begin with
/// `#` are skipped.
///
/// ```
/// use wayleave_formats::{Source, read_interfaces};
/// let network = wayleave_topology::builders::build::star(2, Default::default())?;
/// let names = read_interfaces(&Source::new("interfaces.txt", "s1->h2 Ethernet48\n"), &network)?;
/// assert_eq!(names[&network.find_link("s1->h2").ok_or("no link")?], "Ethernet48");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file: links that are not there, links or interfaces of a switch that are named twice, and names with other
/// characters than letters, digits and `. _ / : -`, since they go into scripts.
pub fn read_interfaces(source: &Source, network: &Network) -> Result<BTreeMap<LinkId, String>, InputErrors> {
    let mut problems = Problems::new(source);
    let (mut names, mut taken) = (BTreeMap::new(), BTreeSet::new());
    for line in lines(source.text()) {
        let [link, interface] = line.words.as_slice() else {
            let message = || format!("{} words: LINK INTERFACE is expected", line.words.len());
            problems.report(ProblemKind::Syntax, line.span, message);
            continue;
        };
        if !is_interface_name(interface.text) {
            let message = || {
                format!(
                    "{} is not an interface name: up to {MAX_INTERFACE_NAME} letters, digits and . _ / : - are expected, the first a letter or a digit",
                    quoted(interface.text)
                )
            };
            problems.report(ProblemKind::BadValue, interface.span, message);
            continue;
        }
        let Some(id) = network.find_link(link.text) else {
            problems.report(ProblemKind::UnknownName, link.span, || unknown_link(link.text, network));
            continue;
        };
        if names.insert(id, interface.text.to_owned()).is_some() {
            let message = || format!("{} has a name already", quoted(link.text));
            problems.report(ProblemKind::DuplicateName, link.span, message);
        } else if !taken.insert((network.link(id).from, interface.text.to_owned())) {
            let message = || format!("{} is the interface of another link of the same switch", quoted(interface.text));
            problems.report(ProblemKind::DuplicateName, interface.span, message);
        }
    }
    problems.finish(Some(names))
}
