//! Writing a trace file.

use std::io::{self, Write};
use std::path::Path;

use super::checksum::Checksum;
use super::file::{WholeFile, WriteError};
use super::format::{END, MAGIC, VERSION, encode};
use super::header::Header;
use super::ring::Ring;

/// Writes a trace to a file. It replaces a file of that name when it is complete.
///
/// # Errors
///
/// If the file cannot be written, for instance because the disk is full. Then no part remains, and a previous file of
/// that name is unchanged. An existing file that is not a regular file, such as a device, is not replaced.
pub fn write(path: &Path, header: &Header, ring: &Ring) -> Result<(), WriteError> {
    let mut file = WholeFile::create(path)?;
    write_to(&mut file, header, ring).map_err(|error| file.error(error))?;
    file.finish()
}

/// Writes a trace to anything, in many small pieces: an unbuffered target wants a [`BufWriter`](io::BufWriter).
///
/// # Errors
///
/// Those of the target, and [`InvalidInput`](io::ErrorKind::InvalidInput) for more than `u32::MAX` entries in a table
/// or bytes in a name.
pub fn write_to(target: &mut impl Write, header: &Header, ring: &Ring) -> io::Result<()> {
    let mut output = Output { target, checksum: Checksum::new() };
    output.put(&MAGIC)?;
    output.put(&VERSION.to_le_bytes())?;
    output.header(header)?;
    output.put(&ring.seen().to_le_bytes())?;
    output.put(&(ring.kept() as u64).to_le_bytes())?;
    for record in ring.iter() {
        output.put(&encode(record))?;
    }
    let checksum = output.checksum.value();
    output.put(&checksum.to_le_bytes())?;
    output.put(&END)?;
    output.target.flush()
}

/// A target, and the checksum of the bytes written.
struct Output<'a, W> {
    target: &'a mut W,
    checksum: Checksum,
}

impl<W: Write> Output<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.add(bytes);
        self.target.write_all(bytes)
    }

    fn header(&mut self, header: &Header) -> io::Result<()> {
        self.text(&header.program)?;
        self.put(&header.seed.to_le_bytes())?;
        self.put(&header.input_hash.to_le_bytes())?;
        self.table(&header.nodes, |node| (node.name.as_str(), []))?;
        self.table(&header.links, |link| (link.name.as_str(), [link.from, link.to]))?;
        self.table(&header.flows, |flow| (flow.name.as_str(), [flow.from, flow.to, flow.segment_bytes]))
    }

    fn table<T, const N: usize>(&mut self, entries: &[T], parts: impl Fn(&T) -> (&str, [u32; N])) -> io::Result<()> {
        self.length(entries.len())?;
        for entry in entries {
            let (name, numbers) = parts(entry);
            self.text(name)?;
            for number in numbers {
                self.put(&number.to_le_bytes())?;
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.length(text.len())?;
        self.put(text.as_bytes())
    }

    fn length(&mut self, length: usize) -> io::Result<()> {
        let length = u32::try_from(length).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        self.put(&length.to_le_bytes())
    }
}
