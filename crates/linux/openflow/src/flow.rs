//! Rules: their matches and actions, and the messages that change and read tables.

use crate::read::{Reader, pad, put_u16, put_u32, put_u64, set_length, zeros};
use crate::{ALL_TABLES, ANY, DecodeError, TooLong};

/// `OFPXMC_OPENFLOW_BASIC`.
const BASIC: u16 = 0x8000;
/// `OFPMT_OXM`.
const MATCH_OXM: u16 = 1;
/// A VLAN identifier in a match has this bit: there is a tag (`OFPVID_PRESENT`).
const PRESENT: u16 = 0x1000;
/// Output sends no part of the packet to the controller.
const NO_CONTROLLER: u16 = 0;

/// A field of a match as it is written: fields that [`FlowMatch`] has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oxm {
    /// Class, field and mask bit.
    pub head: [u8; 3],
    /// Value and mask; at most 255 bytes are written.
    pub body: Vec<u8>,
}

/// Match of a rule; `None` matches anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowMatch {
    /// The port at which a packet comes.
    pub in_port: Option<u32>,
    /// `EtherType`, behind a first tag.
    pub eth_type: Option<u16>,
    /// The identifier in the first tag, 0 to 4095: there has to be one.
    pub vlan: Option<u16>,
    /// The priority in the first tag, 0 to 7; needs `vlan`.
    pub pcp: Option<u8>,
    /// The codepoint, 0 to 63; needs `eth_type` of IPv4 or IPv6.
    pub dscp: Option<u8>,
    /// Everything else, as it is written.
    pub others: Vec<Oxm>,
}

/// Action of a rule on a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowAction {
    /// Sends it out of a port.
    Output(u32),
    /// Pushes a tag of this `EtherType`.
    PushVlan(u16),
    /// Takes the first tag off.
    PopVlan,
    /// The queue of the port by which it leaves.
    SetQueue(u32),
    /// Sets the identifier in its first tag.
    SetVlan(u16),
    /// Sets the priority in its first tag.
    SetPcp(u8),
    /// Another action: its number, and the bytes after its length (4 bytes more or less than a multiple of 8).
    Other(u16, Vec<u8>),
}

/// Instruction of a rule that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Continues in a later table.
    Goto(u8),
    /// Does these at once, in order.
    Apply(Vec<FlowAction>),
    /// Another instruction: its number, and the bytes after its length.
    Other(u16, Vec<u8>),
}

/// Kind of a change to a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowCommand {
    /// A new rule, in place of one with the same match and priority.
    #[default]
    Add,
    /// Removes all rules within this match.
    Delete = 3,
    /// Removes the rule with this match and priority.
    DeleteStrict = 4,
}

/// A change of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowMod {
    /// A number that the controller knows its rules by.
    pub cookie: u64,
    /// For all commands but [`FlowCommand::Add`]: only rules whose cookies agree in these bits.
    pub cookie_mask: u64,
    /// The table; [`ALL_TABLES`] to delete.
    pub table: u8,
    /// Kind of the change.
    pub command: FlowCommand,
    /// Seconds without a packet after which it is removed; 0 is never.
    pub idle_s: u16,
    /// Seconds after which it is removed; 0 is never.
    pub hard_s: u16,
    /// The highest that matches is used.
    pub priority: u16,
    /// Flags (`OFPFF_*`).
    pub flags: u16,
    /// Match of the rule.
    pub fields: FlowMatch,
    /// Instructions of the rule.
    pub instructions: Vec<Instruction>,
}

/// A rule as reported by a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowEntry {
    /// The table.
    pub table: u8,
    /// Its priority.
    pub priority: u16,
    /// Flags.
    pub flags: u16,
    /// Seconds until it is removed without a packet, and at all; 0 is never.
    pub timeouts_s: (u16, u16),
    /// Age of the rule, in seconds and nanoseconds.
    pub age: (u32, u32),
    /// The controller's number.
    pub cookie: u64,
    /// Packets and bytes that it matched.
    pub counts: (u64, u64),
    /// Match of the rule.
    pub fields: FlowMatch,
    /// Instructions of the rule.
    pub instructions: Vec<Instruction>,
}

impl Default for FlowMod {
    fn default() -> Self {
        Self {
            cookie: 0,
            cookie_mask: 0,
            table: 0,
            command: FlowCommand::Add,
            idle_s: 0,
            hard_s: 0,
            priority: 0,
            flags: 0,
            fields: FlowMatch::default(),
            instructions: Vec::new(),
        }
    }
}

impl FlowMatch {
    /// Written with its length and padding.
    pub(crate) fn put(&self, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        let start = bytes.len();
        put_u16(bytes, MATCH_OXM);
        put_u16(bytes, 0);
        let mut field = |number: u8, value: &[u8]| {
            put_u16(bytes, BASIC);
            bytes.push(number << 1);
            bytes.push(value.len() as u8);
            bytes.extend_from_slice(value);
        };
        if let Some(port) = self.in_port {
            field(0, &port.to_be_bytes());
        }
        if let Some(kind) = self.eth_type {
            field(5, &kind.to_be_bytes());
        }
        if let Some(vlan) = self.vlan {
            field(6, &(vlan & 0x0fff | PRESENT).to_be_bytes());
        }
        if let Some(pcp) = self.pcp {
            field(7, &[pcp]);
        }
        if let Some(dscp) = self.dscp {
            field(8, &[dscp]);
        }
        for other in &self.others {
            let length = u8::try_from(other.body.len()).map_err(|_| TooLong(other.body.len()))?;
            bytes.extend_from_slice(&other.head);
            bytes.push(length);
            bytes.extend_from_slice(&other.body);
        }
        // The length is that without padding (section 7.2.3.1).
        set_length(bytes, start, start + 2)?;
        pad(bytes, start);
        Ok(())
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut head = *reader;
        let (kind, length) = (head.u16()?, usize::from(head.u16()?));
        if kind != MATCH_OXM {
            return Err(DecodeError::Value { what: "kind of match", value: u32::from(kind) });
        }
        if length < 4 {
            return Err(DecodeError::Length { what: "match", length, expected: "at least 4" });
        }
        let padded = reader.take(length.next_multiple_of(8))?;
        let mut fields = Reader::new(&padded[4..length], "match");
        let mut found = Self::default();
        while !fields.is_empty() {
            let class = fields.u16()?;
            let (field, length) = (fields.u8()?, fields.u8()?);
            let body = fields.take(usize::from(length))?;
            found.set(class, field, body);
        }
        Ok(found)
    }

    /// Notes a field where it has a place, the first time; everything else as it is.
    fn set(&mut self, class: u16, field: u8, body: &[u8]) {
        match (class, field >> 1, field & 1, body) {
            (BASIC, 0, 0, &[a, b, c, d]) if self.in_port.is_none() => {
                self.in_port = Some(u32::from_be_bytes([a, b, c, d]))
            }
            (BASIC, 5, 0, &[a, b]) if self.eth_type.is_none() => self.eth_type = Some(u16::from_be_bytes([a, b])),
            (BASIC, 6, 0, &[a, b]) if self.vlan.is_none() && u16::from_be_bytes([a, b]) >> 12 == 1 => {
                self.vlan = Some(u16::from_be_bytes([a, b]) & 0x0fff);
            }
            (BASIC, 7, 0, &[pcp]) if self.pcp.is_none() => self.pcp = Some(pcp),
            (BASIC, 8, 0, &[dscp]) if self.dscp.is_none() => self.dscp = Some(dscp),
            _ => {
                let [high, low] = class.to_be_bytes();
                self.others.push(Oxm { head: [high, low, field], body: body.to_vec() });
            }
        }
    }
}

impl FlowAction {
    fn put(&self, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        let start = bytes.len();
        let begin = |bytes: &mut Vec<u8>, kind: u16| {
            put_u16(bytes, kind);
            put_u16(bytes, 0);
        };
        let set_field = |bytes: &mut Vec<u8>, field: u8, value: &[u8]| {
            begin(bytes, 25);
            put_u16(bytes, BASIC);
            bytes.push(field << 1);
            bytes.push(value.len() as u8);
            bytes.extend_from_slice(value);
        };
        match self {
            Self::Output(port) => {
                begin(bytes, 0);
                put_u32(bytes, *port);
                put_u16(bytes, NO_CONTROLLER);
            }
            Self::PushVlan(kind) => {
                begin(bytes, 17);
                put_u16(bytes, *kind);
            }
            Self::PopVlan => begin(bytes, 18),
            Self::SetQueue(queue) => {
                begin(bytes, 21);
                put_u32(bytes, *queue);
            }
            Self::SetVlan(vlan) => set_field(bytes, 6, &(vlan & 0x0fff | PRESENT).to_be_bytes()),
            Self::SetPcp(pcp) => set_field(bytes, 7, &[*pcp]),
            Self::Other(kind, body) => {
                begin(bytes, *kind);
                bytes.extend_from_slice(body);
            }
        }
        pad(bytes, start);
        set_length(bytes, start, start + 2)
    }

    pub(crate) fn put_all(actions: &[Self], bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        actions.iter().try_for_each(|action| action.put(bytes))
    }

    pub(crate) fn read_all(mut reader: Reader<'_>) -> Result<Vec<Self>, DecodeError> {
        let mut all = Vec::new();
        while !reader.is_empty() {
            all.push(Self::read(&mut reader)?);
        }
        Ok(all)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, mut body) = reader.part("action", 8)?;
        let whole = body.rest();
        Ok(match (kind, whole.len()) {
            (0, 12) => Self::Output(body.u32()?),
            (17, 4) => Self::PushVlan(body.u16()?),
            (18, 4) => Self::PopVlan,
            (21, 4) => Self::SetQueue(body.u32()?),
            (25, 12) => match *whole {
                [0x80, 0x00, 12, 2, high, low, ..] if high >> 4 == 1 => {
                    Self::SetVlan(u16::from_be_bytes([high, low]) & 0x0fff)
                }
                [0x80, 0x00, 14, 1, pcp, ..] => Self::SetPcp(pcp),
                _ => Self::Other(kind, whole.to_vec()),
            },
            _ => Self::Other(kind, whole.to_vec()),
        })
    }
}

impl Instruction {
    pub(crate) fn put(&self, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        let start = bytes.len();
        let mut begin = |kind: u16| {
            put_u16(bytes, kind);
            put_u16(bytes, 0);
        };
        match self {
            Self::Goto(table) => {
                begin(1);
                bytes.push(*table);
            }
            Self::Apply(actions) => {
                begin(4);
                zeros(bytes, 4);
                FlowAction::put_all(actions, bytes)?;
            }
            Self::Other(kind, body) => {
                begin(*kind);
                bytes.extend_from_slice(body);
            }
        }
        pad(bytes, start);
        set_length(bytes, start, start + 2)
    }

    pub(crate) fn read_all(reader: &mut Reader<'_>) -> Result<Vec<Self>, DecodeError> {
        let mut all = Vec::new();
        while !reader.is_empty() {
            let (kind, mut body) = reader.part("instruction", 8)?;
            let whole = body.rest();
            all.push(match (kind, whole.len()) {
                (1, 4) => Self::Goto(body.u8()?),
                (4, 4..) => {
                    body.take(4)?;
                    Self::Apply(FlowAction::read_all(body)?)
                }
                _ => Self::Other(kind, whole.to_vec()),
            });
        }
        Ok(all)
    }
}

impl FlowCommand {
    const ALL: [Self; 3] = [Self::Add, Self::Delete, Self::DeleteStrict];

    fn of(value: u8) -> Result<Self, DecodeError> {
        let known = Self::ALL.into_iter().find(|command| *command as u8 == value);
        known.ok_or(DecodeError::Value { what: "command for a table", value: u32::from(value) })
    }
}

impl FlowMod {
    /// Returns the deletion of all rules with this cookie, in all tables.
    pub fn delete_all(cookie: u64) -> Self {
        Self { cookie, cookie_mask: u64::MAX, table: ALL_TABLES, command: FlowCommand::Delete, ..Self::default() }
    }

    pub(crate) fn put(&self, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        put_u64(bytes, self.cookie);
        put_u64(bytes, self.cookie_mask);
        bytes.extend([self.table, self.command as u8]);
        for value in [self.idle_s, self.hard_s, self.priority] {
            put_u16(bytes, value);
        }
        // No buffered packet, any port, any group.
        for value in [ANY; 3] {
            put_u32(bytes, value);
        }
        put_u16(bytes, self.flags);
        zeros(bytes, 2);
        self.fields.put(bytes)?;
        self.instructions.iter().try_for_each(|one| one.put(bytes))
    }

    pub(crate) fn read(mut body: Reader<'_>) -> Result<Self, DecodeError> {
        let (cookie, cookie_mask) = (body.u64()?, body.u64()?);
        let (table, command) = (body.u8()?, FlowCommand::of(body.u8()?)?);
        let (idle_s, hard_s, priority) = (body.u16()?, body.u16()?, body.u16()?);
        body.take(12)?;
        let flags = body.u16()?;
        body.take(2)?;
        let fields = FlowMatch::read(&mut body)?;
        let instructions = Instruction::read_all(&mut body)?;
        Ok(Self { cookie, cookie_mask, table, command, idle_s, hard_s, priority, flags, fields, instructions })
    }
}

impl FlowEntry {
    pub(crate) fn put(&self, bytes: &mut Vec<u8>) -> Result<(), TooLong> {
        let start = bytes.len();
        put_u16(bytes, 0);
        bytes.extend([self.table, 0]);
        put_u32(bytes, self.age.0);
        put_u32(bytes, self.age.1);
        for value in [self.priority, self.timeouts_s.0, self.timeouts_s.1, self.flags] {
            put_u16(bytes, value);
        }
        zeros(bytes, 4);
        for value in [self.cookie, self.counts.0, self.counts.1] {
            put_u64(bytes, value);
        }
        self.fields.put(bytes)?;
        self.instructions.iter().try_for_each(|one| one.put(bytes))?;
        set_length(bytes, start, start)
    }

    pub(crate) fn read_all(reader: &mut Reader<'_>) -> Result<Vec<Self>, DecodeError> {
        let mut all = Vec::new();
        while !reader.is_empty() {
            let mut head = *reader;
            let length = usize::from(head.u16()?);
            if length < 2 {
                return Err(DecodeError::Length { what: "rule in an answer", length, expected: "at least 56" });
            }
            let mut body = Reader::new(&reader.take(length)?[2..], "rule in an answer");
            let table = body.u8()?;
            body.take(1)?;
            let age = (body.u32()?, body.u32()?);
            let (priority, timeouts_s, flags) = (body.u16()?, (body.u16()?, body.u16()?), body.u16()?);
            body.take(4)?;
            let (cookie, counts) = (body.u64()?, (body.u64()?, body.u64()?));
            let fields = FlowMatch::read(&mut body)?;
            let instructions = Instruction::read_all(&mut body)?;
            all.push(Self { table, priority, flags, timeouts_s, age, cookie, counts, fields, instructions });
        }
        Ok(all)
    }
}
