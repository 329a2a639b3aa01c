//! Reading either format.

use crate::problem::{InputErrors, Problems};
use crate::source::Source;

use super::parts::PortNetworkFile;
use super::{network, physical};

/// Reads an output-port network of Saihu: in JSON, or as a physical network in XML, which begins with `<`.
///
/// ```
/// use wayleave_formats::{Source, read_port_network};
/// let text = r#"{
///   "network": { "name": "one port", "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps" },
///   "servers": [ { "name": "p", "service_curve": { "latencies": [10], "rates": [100] }, "capacity": 100 } ],
///   "flows": [ { "name": "f", "path": ["p"], "arrival_curve": { "bursts": [1500], "rates": [1] } } ]
/// }"#;
/// let file = read_port_network(&Source::new("network.json", text))?;
/// assert_eq!(file.network.servers()[0].service.to_string(), "100 Mbit/s * [t - 10 us]+");
/// assert_eq!(file.network.flows()[0].arrival.to_string(), "1.5 kB + 1 Mbit/s * t");
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_port_network(source: &Source) -> Result<PortNetworkFile, InputErrors> {
    let mut problems = Problems::new(source);
    let is_xml = source.text().trim_start_matches('\u{feff}').trim_start().starts_with('<');
    let file = if is_xml { physical::read(source, &mut problems) } else { network::read(source, &mut problems) };
    problems.finish(file)
}
