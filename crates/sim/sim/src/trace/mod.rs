//! The last packet events of a run: kept in a ring, written to a file, shown as text, turned into a capture.
//!
//! While a run lasts, a [`Ring`] keeps its last records, 32 bytes each. At the end [`write()`] puts them into a file
//! with their [`Header`], which names nodes, links and flows, and the program, seed and input of the run. A
//! [`Reader`] rejects a trace that was not written to its end. [`pcap`] makes a capture that Wireshark and tcpdump
//! read.
//!
//! Nothing here knows the simulator: records are plain values, times are picoseconds since the start of the run, and
//! nodes, links and flows are indices into the tables of the header.
//!
//! ```
//! use wayleave_sim::trace::{PacketEvent, Flags, TraceFlow, Header, LinkEntry, Reader, TraceRecord, Ring, write_to};
//!
//! let mut ring = Ring::new(2);
//! let record = TraceRecord { sequence: 0, size: 1_538, flags: Flags::SEGMENT, ..TraceRecord::default() };
//! for (time_ps, event) in [(0, PacketEvent::Sent), (0, PacketEvent::Enqueued), (1_230_400, PacketEvent::Departed)] {
//!     ring.push(TraceRecord { time_ps, event, ..record });
//! }
//!
//! let links = vec![LinkEntry { name: "h1->s1".into(), from: 0, to: 1 }];
//! let flows = vec![TraceFlow { name: "web".into(), from: 0, to: 2, segment_bytes: 1_460 }];
//! let header = Header { program: "0.1.0".into(), seed: 7, links, flows, ..Header::default() };
//! let mut file = Vec::new();
//! write_to(&mut file, &header, &ring)?;
//!
//! let reader = Reader::new(std::io::Cursor::new(file))?;
//! // Three events came, two fitted in.
//! assert_eq!((reader.seen(), reader.kept()), (3, 2));
//! let header = reader.header().clone();
//! let records = reader.collect::<Result<Vec<TraceRecord>, _>>()?;
//! let line = header.line(&records[1]).to_string();
//! assert_eq!(line, "     0.000001230400  departed               h1->s1 q0  web  segment 0  1538 B");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checksum;
mod file;
mod format;
mod header;
pub mod pcap;
mod read;
mod record;
mod ring;
#[cfg(test)]
mod tests;
mod text;
mod write;

pub use checksum::fnv1a;
pub use file::WriteError;
pub use format::VERSION;
pub use header::{Header, LinkEntry, NodeEntry, TraceFlow};
pub use read::{ReadError, Reader};
pub use record::{DropReason, Flags, NONE, PacketEvent, TraceRecord};
pub use ring::Ring;
pub use text::TraceLine;
pub use write::{write, write_to};
