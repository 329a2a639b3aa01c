//! Reading a trace file: the whole file is checked before the first record is returned.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::checksum::Checksum;
use super::format::{END, MAGIC, RECORD_BYTES, VERSION, decode};
use super::header::{Header, LinkEntry, NodeEntry, TraceFlow};
use super::record::TraceRecord;

/// Reason why something is not accepted as a trace.
#[derive(Debug)]
pub enum ReadError {
    /// It does not begin as a trace does.
    NotATrace,
    /// Another program wrote it, in a version of the format that is not known here.
    Version {
        /// The version that it has.
        found: u32,
    },
    /// It ends too early: it was cut, or its writer did not come to the end.
    Truncated {
        /// Number of bytes in the file.
        bytes: u64,
    },
    /// Something in it was changed since it was written.
    Damaged {
        /// The checksum in the file.
        stored: u64,
        /// The checksum of the file.
        computed: u64,
    },
    /// Its end mark is not there.
    NoEnd,
    /// It is longer than its own counts.
    TooLong,
    /// A name in it is no UTF-8.
    NotText,
    /// A record is about an event that is not known here.
    UnknownEvent {
        /// Its number among the records, from 0.
        record: u64,
        /// The code of the event.
        code: u8,
    },
    /// It could not be read.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATrace => write!(f, "not a trace"),
            Self::Version { found } => write!(f, "this trace has format {found}, and only {VERSION} is known"),
            Self::Truncated { bytes } => write!(f, "this trace is truncated: it ends after {bytes} bytes"),
            Self::Damaged { stored, computed } => {
                write!(f, "this trace is damaged: its checksum is {computed:016x}, not {stored:016x}")
            }
            Self::NoEnd => write!(f, "this trace is damaged: its end mark is wrong"),
            Self::TooLong => write!(f, "damaged trace: data after its end"),
            Self::NotText => write!(f, "damaged trace: a name is not valid text"),
            Self::UnknownEvent { record, code } => write!(f, "record {record} has event {code}, which is not known"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A trace, as an iterator over its records from the oldest to the newest. Its memory is that of the names.
///
/// A file is read twice: the first time to see that it is whole. Only reading errors can come after that.
#[derive(Debug)]
pub struct Reader<R> {
    source: BufReader<R>,
    header: Header,
    seen: u64,
    kept: u64,
    next: u64,
}

impl Reader<File> {
    /// Opens a trace file.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new), and where the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::new(File::open(path)?)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Opens a trace that starts at the present position of `source`.
    ///
    /// # Errors
    ///
    /// The reason, if it is not a whole trace.
    pub fn new(source: R) -> Result<Self, ReadError> {
        let mut source = BufReader::new(source);
        let start = source.stream_position()?;
        let mut input = Input { source: &mut source, checksum: Checksum::new(), bytes: 0 };
        input.opening()?;
        let header = input.header()?;
        let (seen, kept) = (input.long()?, input.long()?);
        let records = start + input.bytes;
        // Damaged contents may not even make sense: the checksum decides before the contents do.
        let mut unknown = None;
        for record in 0..kept {
            let decoded = decode(&input.array()?);
            unknown = unknown.or(decoded.err().map(|code| ReadError::UnknownEvent { record, code }));
        }
        input.closing()?;
        if let Some(error) = unknown {
            return Err(error);
        }
        source.seek(SeekFrom::Start(records))?;
        Ok(Self { source, header, seen, kept, next: 0 })
    }
}

impl<R> Reader<R> {
    /// Names, and where the trace comes from.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of records in the trace.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Returns the number of events in the run; the first ones are missing if this is more than [`kept`](Self::kept).
    pub fn seen(&self) -> u64 {
        self.seen
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<TraceRecord, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.kept {
            return None;
        }
        let record = self.next;
        let mut bytes = [0; RECORD_BYTES];
        let result = match self.source.read_exact(&mut bytes) {
            Ok(()) => decode(&bytes).map_err(|code| ReadError::UnknownEvent { record, code }),
            Err(error) => Err(ReadError::Io(error)),
        };
        // After an error there is nothing more to hope for.
        self.next = if result.is_ok() { record + 1 } else { self.kept };
        Some(result)
    }
}

/// A source, and the checksum and the number of the bytes read.
struct Input<'a, R> {
    source: &'a mut R,
    checksum: Checksum,
    bytes: u64,
}

impl<R: Read> Input<'_, R> {
    fn opening(&mut self) -> Result<(), ReadError> {
        let mut magic = Vec::new();
        self.source.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        if !MAGIC.starts_with(&magic) {
            return Err(ReadError::NotATrace);
        }
        self.bytes = magic.len() as u64;
        if magic.len() < MAGIC.len() {
            return Err(ReadError::Truncated { bytes: self.bytes });
        }
        self.checksum.add(&magic);
        match self.word()? {
            VERSION => Ok(()),
            found => Err(ReadError::Version { found }),
        }
    }

    fn closing(&mut self) -> Result<(), ReadError> {
        let computed = self.checksum.value();
        let stored = self.long()?;
        let end: [u8; END.len()] = self.array()?;
        if stored != computed {
            return Err(ReadError::Damaged { stored, computed });
        }
        if end != END {
            return Err(ReadError::NoEnd);
        }
        match self.source.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(ReadError::TooLong),
        }
    }

    fn header(&mut self) -> Result<Header, ReadError> {
        Ok(Header {
            program: self.text()?,
            seed: self.long()?,
            input_hash: self.long()?,
            nodes: self.table(|input| Ok(NodeEntry { name: input.text()? }))?,
            links: self.table(|input| Ok(LinkEntry { name: input.text()?, from: input.word()?, to: input.word()? }))?,
            flows: self.table(|input| {
                let (name, from, to, segment_bytes) = (input.text()?, input.word()?, input.word()?, input.word()?);
                Ok(TraceFlow { name, from, to, segment_bytes })
            })?,
        })
    }

    fn table<T>(&mut self, entry: impl Fn(&mut Self) -> Result<T, ReadError>) -> Result<Vec<T>, ReadError> {
        // No memory is allocated for a number that may be wrong: the vector grows with the actual content.
        (0..self.word()?).map(|_| entry(self)).collect()
    }

    fn text(&mut self) -> Result<String, ReadError> {
        let length = u64::from(self.word()?);
        let mut bytes = Vec::new();
        let read = self.source.by_ref().take(length).read_to_end(&mut bytes)? as u64;
        self.bytes += read;
        if read < length {
            return Err(ReadError::Truncated { bytes: self.bytes });
        }
        self.checksum.add(&bytes);
        String::from_utf8(bytes).map_err(|_| ReadError::NotText)
    }

    fn word(&mut self) -> Result<u32, ReadError> {
        self.array().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, ReadError> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        let mut filled = 0;
        while filled < N {
            match self.source.read(&mut bytes[filled..]) {
                Ok(0) => return Err(ReadError::Truncated { bytes: self.bytes + filled as u64 }),
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.bytes += N as u64;
        self.checksum.add(&bytes);
        Ok(bytes)
    }
}
