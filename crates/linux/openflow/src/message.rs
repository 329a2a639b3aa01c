//! Messages: a header and a body.

use crate::flow::{FlowAction, FlowEntry, FlowMatch, FlowMod};
use crate::read::{Reader, put_u16, put_u32, put_u64, set_length, zeros};
use crate::{ALL_TABLES, ANY, DecodeError, HEADER, TooLong, VERSION};

/// Numbers of multipart messages.
const FLOWS: u16 = 1;
const PORTS: u16 = 13;
/// More of the same answer follows.
const MORE: u16 = 1;
/// Bytes of a port's name.
const NAME: usize = 16;

/// A message, without its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenFlowMessage {
    /// The first of each side; what it lists of versions is not read.
    Hello,
    /// A request failed.
    Error(ErrorMessage),
    /// Are you there?
    EchoRequest(Vec<u8>),
    /// The same bytes back.
    EchoReply(Vec<u8>),
    /// Request of a switch's features.
    FeaturesRequest,
    /// Identity and features of a switch.
    FeaturesReply(Features),
    /// A packet of the controller: the port at which it counts as arrived ([`crate::LOCAL`] is one), what is done with it, and its bytes.
    PacketOut(u32, Vec<FlowAction>, Vec<u8>),
    /// A table changes.
    FlowMod(FlowMod),
    /// Request of the rules in all tables.
    FlowsRequest,
    /// Rules; `true` if more follow.
    FlowsReply(Vec<FlowEntry>, bool),
    /// Request of the ports.
    PortsRequest,
    /// Ports; `true` if more follow.
    PortsReply(Vec<OpenFlowPort>, bool),
    /// Answer when everything before is done.
    BarrierRequest,
    /// Everything before is done.
    BarrierReply,
    /// Any other message: its type, and the bytes after the header.
    Other(u8, Vec<u8>),
}

/// Reason for which a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorMessage {
    /// `OFPET_*`.
    pub kind: u16,
    /// Meaning within that type.
    pub code: u16,
    /// Bytes of the failed request, from its header on, possibly truncated.
    pub data: Vec<u8>,
}

/// Identity and features of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Its number.
    pub datapath: u64,
    /// Packets that it can hold for a controller.
    pub buffers: u32,
    /// Number of its tables.
    pub tables: u8,
    /// Number of the connection; 0 is the main one.
    pub auxiliary: u8,
    /// `OFPC_*`.
    pub capabilities: u32,
}

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFlowPort {
    /// Its number.
    pub number: u32,
    /// Its address.
    pub mac: [u8; 6],
    /// Its name, up to 15 bytes are written.
    pub name: String,
    /// `OFPPC_*`.
    pub config: u32,
    /// `OFPPS_*`.
    pub state: u32,
    /// Features that are current, advertised, supported, and advertised by the peer.
    pub features: [u32; 4],
    /// Its speed now, and at most, in kbit/s.
    pub speeds_kbit: [u32; 2],
}

impl OpenFlowPort {
    fn put(&self, bytes: &mut Vec<u8>) {
        put_u32(bytes, self.number);
        zeros(bytes, 4);
        bytes.extend(self.mac);
        zeros(bytes, 2);
        let name = self.name.as_bytes();
        let written = name.len().min(NAME - 1);
        bytes.extend_from_slice(&name[..written]);
        zeros(bytes, NAME - written);
        for value in [self.config, self.state].into_iter().chain(self.features).chain(self.speeds_kbit) {
            put_u32(bytes, value);
        }
    }

    fn read(body: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number = body.u32()?;
        body.take(4)?;
        let mac = body.mac()?;
        body.take(2)?;
        let name = body.take(NAME)?;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(NAME);
        // Invalid bytes take more space as text: the name is cut to the length that can be encoded.
        let mut name = String::from_utf8_lossy(&name[..end]).into_owned();
        name.truncate(name.floor_char_boundary(NAME - 1));
        let (config, state) = (body.u32()?, body.u32()?);
        let features = [body.u32()?, body.u32()?, body.u32()?, body.u32()?];
        let speeds_kbit = [body.u32()?, body.u32()?];
        Ok(Self { number, mac, name, config, state, features, speeds_kbit })
    }
}

impl OpenFlowMessage {
    /// The type in its header.
    const fn kind(&self) -> u8 {
        match self {
            Self::Hello => 0,
            Self::Error(_) => 1,
            Self::EchoRequest(_) => 2,
            Self::EchoReply(_) => 3,
            Self::FeaturesRequest => 5,
            Self::FeaturesReply(_) => 6,
            Self::PacketOut(..) => 13,
            Self::FlowMod(_) => 14,
            Self::FlowsRequest | Self::PortsRequest => 18,
            Self::FlowsReply(..) | Self::PortsReply(..) => 19,
            Self::BarrierRequest => 20,
            Self::BarrierReply => 21,
            Self::Other(kind, _) => *kind,
        }
    }

    /// Encodes the message with this number (`xid`).
    ///
    /// # Errors
    /// If it is longer than 65,535 bytes, or a part is longer than its length field allows.
    pub fn encode(&self, number: u32) -> Result<Vec<u8>, TooLong> {
        let mut bytes = vec![VERSION, self.kind(), 0, 0];
        put_u32(&mut bytes, number);
        let multipart = |bytes: &mut Vec<u8>, kind: u16, more: bool| {
            put_u16(bytes, kind);
            put_u16(bytes, if more { MORE } else { 0 });
            zeros(bytes, 4);
        };
        match self {
            Self::Hello | Self::FeaturesRequest | Self::BarrierRequest | Self::BarrierReply => {}
            Self::Error(ErrorMessage { kind, code, data }) => {
                put_u16(&mut bytes, *kind);
                put_u16(&mut bytes, *code);
                bytes.extend_from_slice(data);
            }
            Self::EchoRequest(body) | Self::EchoReply(body) | Self::Other(_, body) => bytes.extend_from_slice(body),
            Self::FeaturesReply(features) => {
                put_u64(&mut bytes, features.datapath);
                put_u32(&mut bytes, features.buffers);
                bytes.extend([features.tables, features.auxiliary, 0, 0]);
                put_u32(&mut bytes, features.capabilities);
                put_u32(&mut bytes, 0);
            }
            Self::PacketOut(port, actions, frame) => {
                put_u32(&mut bytes, ANY);
                put_u32(&mut bytes, *port);
                let at = bytes.len();
                zeros(&mut bytes, 8);
                FlowAction::put_all(actions, &mut bytes)?;
                let length = bytes.len() - at - 8;
                let length = u16::try_from(length).map_err(|_| TooLong(length))?;
                bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
                bytes.extend_from_slice(frame);
            }
            Self::FlowMod(change) => change.put(&mut bytes)?,
            Self::FlowsRequest => {
                multipart(&mut bytes, FLOWS, false);
                bytes.extend([ALL_TABLES, 0, 0, 0]);
                // Any port, any group.
                put_u32(&mut bytes, ANY);
                put_u32(&mut bytes, ANY);
                zeros(&mut bytes, 4);
                // Any cookie.
                zeros(&mut bytes, 16);
                FlowMatch::default().put(&mut bytes)?;
            }
            Self::FlowsReply(flows, more) => {
                multipart(&mut bytes, FLOWS, *more);
                flows.iter().try_for_each(|flow| flow.put(&mut bytes))?;
            }
            Self::PortsRequest => multipart(&mut bytes, PORTS, false),
            Self::PortsReply(ports, more) => {
                multipart(&mut bytes, PORTS, *more);
                ports.iter().for_each(|port| port.put(&mut bytes));
            }
        }
        set_length(&mut bytes, 0, 2)?;
        Ok(bytes)
    }

    /// A message with its number (`xid`), from its header to its end.
    ///
    /// # Errors
    /// If these are not the bytes of one message. Types, actions, instructions and fields that are not known here are no errors.
    pub fn decode(bytes: &[u8]) -> Result<(u32, Self), DecodeError> {
        let mut body = Reader::new(bytes, "message");
        let (version, kind, length, number) = (body.u8()?, body.u8()?, body.u16()?, body.u32()?);
        // A greeting of a newer version has this format, too (section 6.3.1).
        if version != VERSION && !(kind == 0 && version > VERSION) {
            return Err(DecodeError::Version(version));
        }
        if usize::from(length) != bytes.len() {
            let expected = "as many as its header says";
            return Err(DecodeError::Length { what: "message", length: bytes.len(), expected });
        }
        let whole = &bytes[HEADER..];
        let message = match kind {
            0 => Self::Hello,
            1 => Self::Error(ErrorMessage { kind: body.u16()?, code: body.u16()?, data: body.rest().to_vec() }),
            2 => Self::EchoRequest(whole.to_vec()),
            3 => Self::EchoReply(whole.to_vec()),
            5 => Self::FeaturesRequest,
            6 => {
                let (datapath, buffers, tables, auxiliary) = (body.u64()?, body.u32()?, body.u8()?, body.u8()?);
                body.take(2)?;
                Self::FeaturesReply(Features { datapath, buffers, tables, auxiliary, capabilities: body.u32()? })
            }
            13 => {
                let (buffer, port, length) = (body.u32()?, body.u32()?, body.u16()?);
                body.take(6)?;
                let actions = FlowAction::read_all(Reader::new(body.take(usize::from(length))?, "list of actions"))?;
                if buffer == ANY {
                    Self::PacketOut(port, actions, body.rest().to_vec())
                } else {
                    Self::Other(kind, whole.to_vec())
                }
            }
            14 => Self::FlowMod(FlowMod::read(body)?),
            18 => Self::question(whole, body)?,
            19 => Self::answer(whole, body)?,
            20 => Self::BarrierRequest,
            21 => Self::BarrierReply,
            _ => Self::Other(kind, whole.to_vec()),
        };
        Ok((number, message))
    }

    fn question(whole: &[u8], mut body: Reader<'_>) -> Result<Self, DecodeError> {
        let kind = body.u16()?;
        body.take(6)?;
        Ok(match kind {
            FLOWS => {
                let table = body.u8()?;
                body.take(23)?;
                let mask = body.u64()?;
                match (table, mask, FlowMatch::read(&mut body)?) {
                    (ALL_TABLES, 0, fields) if fields == FlowMatch::default() => Self::FlowsRequest,
                    _ => Self::Other(18, whole.to_vec()),
                }
            }
            PORTS => Self::PortsRequest,
            _ => Self::Other(18, whole.to_vec()),
        })
    }

    fn answer(whole: &[u8], mut body: Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, flags) = (body.u16()?, body.u16()?);
        body.take(4)?;
        let more = flags & MORE != 0;
        Ok(match kind {
            FLOWS => Self::FlowsReply(FlowEntry::read_all(&mut body)?, more),
            PORTS => {
                let mut ports = Vec::new();
                while !body.is_empty() {
                    ports.push(OpenFlowPort::read(&mut body)?);
                }
                Self::PortsReply(ports, more)
            }
            _ => Self::Other(19, whole.to_vec()),
        })
    }
}
