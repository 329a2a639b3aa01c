//! Asking a switch, over any stream of bytes: who it is, which ports and rules it has, and to change them.

use std::io::{self, Read, Write};

use crate::{
    Changes, ErrorMessage, Features, FlowAction, FlowCommand, FlowEntry, FlowMod, MessageReader, OpenFlowMessage,
    OpenFlowPort,
};

/// Number of bytes that are read at once.
const CHUNK: usize = 16 * 1024;
/// Maximum number of messages before an answer is complete: no list of ports or rules is as long, and an endless
/// answer is an error.
const MAX_MESSAGES: usize = 100_000;
/// `OFPET_FLOW_MOD_FAILED` with `OFPFMFC_TABLE_FULL` (section 7.4.4).
const TABLE_FULL: (u16, u16) = (5, 1);

/// Reason for which a request to a switch failed.
#[derive(thiserror::Error, Debug)]
pub enum ClientError {
    /// The stream.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The switch has ended the connection.
    #[error("the switch closed the connection")]
    Closed,
    /// The bytes are not OpenFlow 1.3.
    #[error("{0}; OpenFlow 1.3 must be enabled (`ovs-vsctl set bridge NAME protocols=OpenFlow13`)")]
    Decode(#[from] crate::DecodeError),
    /// A message would be too long.
    #[error("{0}")]
    TooLong(#[from] crate::TooLong),
    /// There is no room for a rule.
    #[error("TABLE: the flow table is full at rule {at} of {of}: remove foreign rules, or raise its limit")]
    TableFull {
        /// Number of the failed one among the rules to be added, from 1 on.
        at: usize,
        /// Number of rules to be added.
        of: usize,
    },
    /// The switch refused something else.
    #[error("the switch refused {what}: error {} with code {} (OpenFlow 1.3.5, section 7.4.4)", .error.kind, .error.code)]
    Refused {
        /// Request.
        what: String,
        /// Answer of the switch.
        error: ErrorMessage,
    },
    /// More messages than an answer has.
    #[error("the switch keeps sending messages, but no reply")]
    Endless,
}

/// A connection to a switch.
#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    frames: MessageReader,
    number: u32,
}

impl<S: Read + Write> Client<S> {
    /// Greets a switch, and requests its features. The stream determines the timeout.
    ///
    /// # Errors
    /// If it does not answer, or uses another version.
    pub fn greet(stream: S) -> Result<(Self, Features), ClientError> {
        let mut client = Self { stream, frames: MessageReader::default(), number: 0 };
        client.send(&OpenFlowMessage::Hello)?;
        let features =
            client.ask("to identify itself", &OpenFlowMessage::FeaturesRequest, |message| match message {
                OpenFlowMessage::FeaturesReply(features) => Some(features),
                _ => None,
            })?;
        Ok((client, features))
    }

    /// Its ports.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn ports(&mut self) -> Result<Vec<OpenFlowPort>, ClientError> {
        let mut all = Vec::new();
        self.ask("its ports", &OpenFlowMessage::PortsRequest, |message| match message {
            OpenFlowMessage::PortsReply(ports, more) => {
                all.extend(ports);
                (!more).then_some(())
            }
            _ => None,
        })?;
        Ok(all)
    }

    /// All its rules.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn rules(&mut self) -> Result<Vec<FlowEntry>, ClientError> {
        let mut all = Vec::new();
        self.ask("its rules", &OpenFlowMessage::FlowsRequest, |message| match message {
            OpenFlowMessage::FlowsReply(flows, more) => {
                all.extend(flows);
                (!more).then_some(())
            }
            _ => None,
        })?;
        Ok(all)
    }

    /// Changes its rules, and waits until that is done.
    ///
    /// # Errors
    /// The first change that it refuses. Those before it are made, and those after it may be.
    pub fn change(&mut self, changes: &[FlowMod]) -> Result<(), ClientError> {
        let first = self.number.wrapping_add(1);
        for change in changes {
            self.send(&OpenFlowMessage::FlowMod(change.clone()))?;
        }
        let refused = self.barrier(first)?;
        let Some((number, error)) = refused else { return Ok(()) };
        let at = number.wrapping_sub(first) as usize + 1;
        let added = |changes: &[FlowMod]| changes.iter().filter(|change| change.command == FlowCommand::Add).count();
        Err(if (error.kind, error.code) == TABLE_FULL {
            ClientError::TableFull { at: added(changes.get(..at).unwrap_or(changes)), of: added(changes) }
        } else {
            ClientError::Refused { what: format!("change {at} of {} of its rules", changes.len()), error }
        })
    }

    /// Makes changes: what is wanted comes first, so that no packet finds neither the old rules nor the new ones; only where the table has no room, what is not
    /// wanted goes before it.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub fn make(&mut self, Changes { additions, removals }: &Changes) -> Result<(), ClientError> {
        match self.change(additions) {
            Err(ClientError::TableFull { .. }) if !removals.is_empty() => {
                self.change(removals)?;
                self.change(additions)
            }
            Ok(()) => self.change(removals),
            error => error,
        }
    }

    /// Sends packets as if it had done so, out of a port, and waits until it has taken them.
    ///
    /// # Errors
    /// If it refuses one.
    pub fn put(&mut self, port: u32, packets: impl IntoIterator<Item = Vec<u8>>) -> Result<(), ClientError> {
        let first = self.number.wrapping_add(1);
        for packet in packets {
            self.send(&OpenFlowMessage::PacketOut(crate::LOCAL, vec![FlowAction::Output(port)], packet))?;
        }
        match self.barrier(first)? {
            None => Ok(()),
            Some((_, error)) => Err(ClientError::Refused { what: "to send a packet".to_owned(), error }),
        }
    }

    /// Waits until everything is done that was asked before; the first error since the message of this number.
    fn barrier(&mut self, since: u32) -> Result<Option<(u32, ErrorMessage)>, ClientError> {
        let mut refused = None;
        self.send(&OpenFlowMessage::BarrierRequest)?;
        let last = self.number;
        for _ in 0..MAX_MESSAGES {
            match self.receive()? {
                (number, OpenFlowMessage::BarrierReply) if number == last => return Ok(refused),
                (number, OpenFlowMessage::Error(error)) if number.wrapping_sub(since) <= last.wrapping_sub(since) => {
                    refused.get_or_insert((number, error));
                }
                _ => {}
            }
        }
        Err(ClientError::Endless)
    }

    fn ask<T>(
        &mut self,
        what: &str,
        question: &OpenFlowMessage,
        mut answer: impl FnMut(OpenFlowMessage) -> Option<T>,
    ) -> Result<T, ClientError> {
        self.send(question)?;
        let asked = self.number;
        for _ in 0..MAX_MESSAGES {
            match self.receive()? {
                (number, OpenFlowMessage::Error(error)) if number == asked => {
                    return Err(ClientError::Refused { what: what.to_owned(), error });
                }
                (number, message) if number == asked => {
                    if let Some(answer) = answer(message) {
                        return Ok(answer);
                    }
                }
                _ => {}
            }
        }
        Err(ClientError::Endless)
    }

    fn send(&mut self, message: &OpenFlowMessage) -> Result<(), ClientError> {
        self.number = self.number.wrapping_add(1);
        Ok(self.stream.write_all(&message.encode(self.number)?)?)
    }

    /// The next message that is not about the connection itself.
    fn receive(&mut self) -> Result<(u32, OpenFlowMessage), ClientError> {
        loop {
            while let Some(frame) = self.frames.next_frame()? {
                match OpenFlowMessage::decode(frame)? {
                    (number, OpenFlowMessage::EchoRequest(bytes)) => {
                        self.stream.write_all(&OpenFlowMessage::EchoReply(bytes).encode(number)?)?;
                    }
                    other => return Ok(other),
                }
            }
            let mut chunk = [0; CHUNK];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ClientError::Closed),
                Ok(count) => self.frames.push(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowMatch;

    /// A switch whose answers are prepared; the requests to it are kept.
    struct Script {
        bytes: io::Cursor<Vec<u8>>,
        sent: Vec<u8>,
    }

    impl Read for Script {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            // Piece by piece, as a stream may come.
            let most = into.len().min(7);
            self.bytes.read(&mut into[..most])
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.sent.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn features() -> OpenFlowMessage {
        OpenFlowMessage::FeaturesReply(Features { datapath: 9, buffers: 0, tables: 254, auxiliary: 0, capabilities: 0 })
    }

    /// Returns a client that has greeted, which takes numbers 1 and 2, and will receive these messages.
    fn client(messages: &[(u32, OpenFlowMessage)]) -> Client<Script> {
        let begin = [(7, OpenFlowMessage::Hello), (2, features())];
        let bytes =
            begin.iter().chain(messages).flat_map(|(number, message)| message.encode(*number).unwrap()).collect();
        Client::greet(Script { bytes: io::Cursor::new(bytes), sent: Vec::new() }).unwrap().0
    }

    fn sent(client: &Client<Script>) -> Vec<OpenFlowMessage> {
        let mut frames = MessageReader::default();
        frames.push(&client.stream.sent);
        let mut all = Vec::new();
        while let Some(frame) = frames.next_frame().unwrap() {
            all.push(OpenFlowMessage::decode(frame).unwrap().1);
        }
        all
    }

    fn error(kind: u16, code: u16) -> OpenFlowMessage {
        OpenFlowMessage::Error(ErrorMessage { kind, code, data: Vec::new() })
    }

    fn delete() -> FlowMod {
        FlowMod { command: FlowCommand::Delete, ..FlowMod::default() }
    }

    fn rules() -> [FlowMod; 2] {
        [1, 2].map(|vlan| FlowMod {
            fields: FlowMatch { vlan: Some(vlan), ..FlowMatch::default() },
            ..FlowMod::default()
        })
    }

    #[test]
    fn a_switch_that_sends_requests_is_answered_and_lists_arrive_in_parts() {
        let port = |number| OpenFlowPort {
            number,
            mac: [2; 6],
            name: format!("p{number}"),
            config: 0,
            state: 0,
            features: [0; 4],
            speeds_kbit: [0; 2],
        };
        let mut client = client(&[
            (3, OpenFlowMessage::PortsReply(vec![port(1)], true)),
            (99, OpenFlowMessage::EchoRequest(b"there?".to_vec())),
            (98, OpenFlowMessage::PortsReply(vec![port(7)], false)),
            (3, OpenFlowMessage::PortsReply(vec![port(2)], false)),
        ]);
        let names: Vec<u32> = client.ports().unwrap().iter().map(|port| port.number).collect();
        assert_eq!(names, [1, 2], "an answer to another question is none to this");
        assert_eq!(sent(&client).last(), Some(&OpenFlowMessage::EchoReply(b"there?".to_vec())));
    }

    #[test]
    fn changes_are_complete_when_the_barrier_is_answered_and_not_before() {
        client(&[(5, OpenFlowMessage::BarrierReply)]).change(&rules()).unwrap();
        let early = client(&[(4, OpenFlowMessage::BarrierReply)]).change(&rules()).unwrap_err();
        assert!(matches!(early, ClientError::Closed), "{early}");
    }

    #[test]
    fn a_full_table_is_reported_with_the_rule_that_did_not_fit() {
        let messages = [(4, error(5, 1)), (5, OpenFlowMessage::BarrierReply)];
        let full = client(&messages).change(&rules()).unwrap_err().to_string();
        assert!(full.starts_with("TABLE: the flow table is full at rule 2 of 2"), "{full}");
        let messages = [(4, error(5, 1)), (6, OpenFlowMessage::BarrierReply)];
        let [one, two] = rules();
        let full = client(&messages).change(&[delete(), one, two]).unwrap_err().to_string();
        assert!(
            full.starts_with("TABLE: the flow table is full at rule 1 of 2"),
            "what is removed needs no room: {full}"
        );
        let messages = [(3, error(4, 6)), (4, error(5, 1)), (5, OpenFlowMessage::BarrierReply)];
        let other = client(&messages).change(&rules()).unwrap_err().to_string();
        assert!(other.contains("refused change 1 of 2 of its rules: error 4 with code 6"), "{other}");
    }

    #[test]
    fn unwanted_rules_are_removed_first_only_if_the_table_is_full() {
        let changes = Changes { additions: vec![rules()[0].clone()], removals: vec![delete()] };
        let commands = |messages: &[(u32, OpenFlowMessage)]| {
            let mut client = client(messages);
            client.make(&changes).unwrap();
            let sent = sent(&client).into_iter();
            sent.filter_map(
                |message| if let OpenFlowMessage::FlowMod(change) = message { Some(change.command) } else { None },
            )
            .collect::<Vec<_>>()
        };
        assert_eq!(
            commands(&[(4, OpenFlowMessage::BarrierReply), (6, OpenFlowMessage::BarrierReply)]),
            [FlowCommand::Add, FlowCommand::Delete]
        );
        let full = [
            (3, error(5, 1)),
            (4, OpenFlowMessage::BarrierReply),
            (6, OpenFlowMessage::BarrierReply),
            (8, OpenFlowMessage::BarrierReply),
        ];
        assert_eq!(commands(&full), [FlowCommand::Add, FlowCommand::Delete, FlowCommand::Add]);
    }

    #[test]
    fn an_unrelated_error_does_not_fail_these_changes() {
        client(&[(2, error(5, 1)), (5, OpenFlowMessage::BarrierReply)]).change(&rules()).unwrap();
    }

    #[test]
    fn a_switch_of_another_version_is_refused() {
        let mut old = OpenFlowMessage::Hello.encode(1).unwrap();
        old[0] = 1;
        let messages = Script { bytes: io::Cursor::new(old), sent: Vec::new() };
        let error = Client::greet(messages).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("OpenFlow 1.3 must be enabled"), "{error}");
    }

    #[test]
    fn a_switch_that_never_finishes_its_answer_is_disconnected() {
        let messages = vec![(77, OpenFlowMessage::EchoReply(Vec::new())); MAX_MESSAGES];
        let error = client(&messages).ports().unwrap_err();
        assert!(matches!(error, ClientError::Endless), "{error}");
    }
}
