//! Bytes compared with those of another implementation, round trips, and random bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use proptest::prelude::*;
use wayleave_openflow::{
    DecodeError, ErrorMessage, Features, FlowAction, FlowCommand, FlowEntry, FlowMatch, FlowMod, Instruction, LOCAL,
    MessageReader, OpenFlowMessage, OpenFlowPort, Oxm,
};

const OS_KEN: &str = include_str!("golden/os-ken.txt");

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn os_ken(name: &str) -> Vec<u8> {
    let line = OS_KEN.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    bytes_of(line.unwrap())
}

/// The same as tools/os-ken-vectors.py asks of os-ken, by name.
fn vectors() -> Vec<(&'static str, OpenFlowMessage)> {
    let apply = |actions: &[FlowAction]| Instruction::Apply(actions.to_vec());
    let flow = FlowMod {
        priority: 100,
        fields: FlowMatch { in_port: Some(3), eth_type: Some(0x800), vlan: Some(10), ..FlowMatch::default() },
        instructions: vec![apply(&[FlowAction::SetQueue(2), FlowAction::Output(7)])],
        ..FlowMod::default()
    };
    let pop = FlowMod {
        cookie: 0x5741_594c_0000_0001,
        priority: 200,
        fields: FlowMatch { vlan: Some(4094), pcp: Some(7), ..FlowMatch::default() },
        instructions: vec![apply(&[FlowAction::PopVlan, FlowAction::SetQueue(0), FlowAction::Output(1)])],
        ..FlowMod::default()
    };
    let push = FlowMod {
        table: 1,
        command: FlowCommand::DeleteStrict,
        idle_s: 10,
        hard_s: 20,
        priority: 0x8000,
        flags: 1,
        fields: FlowMatch { eth_type: Some(0x86dd), dscp: Some(46), ..FlowMatch::default() },
        instructions: vec![
            apply(&[
                FlowAction::PushVlan(0x8100),
                FlowAction::SetVlan(9),
                FlowAction::SetPcp(3),
                FlowAction::Output(2),
            ]),
            Instruction::Goto(3),
        ],
        ..FlowMod::default()
    };
    let delete = FlowMod { priority: 0x8000, ..FlowMod::delete_all(1) };
    vec![
        ("hello", OpenFlowMessage::Hello),
        ("features", OpenFlowMessage::FeaturesRequest),
        ("barrier", OpenFlowMessage::BarrierRequest),
        ("echo", OpenFlowMessage::EchoRequest(b"abc".to_vec())),
        ("flow", OpenFlowMessage::FlowMod(flow)),
        ("pop", OpenFlowMessage::FlowMod(pop)),
        ("push", OpenFlowMessage::FlowMod(push)),
        ("delete", OpenFlowMessage::FlowMod(delete)),
        ("flows", OpenFlowMessage::FlowsRequest),
        ("ports", OpenFlowMessage::PortsRequest),
        (
            "packet",
            OpenFlowMessage::PacketOut(LOCAL, vec![FlowAction::SetQueue(2), FlowAction::Output(7)], vec![0xaa; 20]),
        ),
    ]
}

#[test]
fn encoded_bytes_equal_those_of_os_ken() {
    for (name, message) in vectors() {
        assert_eq!(message.encode(1).unwrap(), os_ken(name), "{name}");
        assert_eq!(OpenFlowMessage::decode(&os_ken(name)).unwrap(), (1, message), "{name}");
    }
    assert_eq!(vectors().len(), OS_KEN.lines().filter(|line| !line.starts_with('#')).count());
}

fn any_match() -> impl Strategy<Value = FlowMatch> {
    let other = (8_u8..40, prop::collection::vec(any::<u8>(), 0..20))
        .prop_map(|(field, body)| Oxm { head: [0x80, 0, 30 + field], body });
    let (port, kind) = (prop::option::of(any::<u32>()), prop::option::of(any::<u16>()));
    let (vlan, pcp, dscp) = (prop::option::of(0_u16..4096), prop::option::of(0_u8..8), prop::option::of(0_u8..64));
    (port, kind, vlan, pcp, dscp, prop::collection::vec(other, 0..3)).prop_map(
        |(in_port, eth_type, vlan, pcp, dscp, others)| FlowMatch { in_port, eth_type, vlan, pcp, dscp, others },
    )
}

fn any_action() -> impl Strategy<Value = FlowAction> {
    prop_oneof![
        any::<u32>().prop_map(FlowAction::Output),
        any::<u16>().prop_map(FlowAction::PushVlan),
        Just(FlowAction::PopVlan),
        any::<u32>().prop_map(FlowAction::SetQueue),
        (0_u16..4096).prop_map(FlowAction::SetVlan),
        (0_u8..8).prop_map(FlowAction::SetPcp),
        (26_u16.., 0_usize..4).prop_map(|(kind, units)| FlowAction::Other(kind, vec![kind as u8; 4 + 8 * units])),
    ]
}

fn any_instructions() -> impl Strategy<Value = Vec<Instruction>> {
    let one = prop_oneof![
        any::<u8>().prop_map(Instruction::Goto),
        prop::collection::vec(any_action(), 0..6).prop_map(Instruction::Apply),
        (7_u16.., 0_usize..4).prop_map(|(kind, units)| Instruction::Other(kind, vec![1; 4 + 8 * units])),
    ];
    prop::collection::vec(one, 0..4)
}

fn any_port() -> impl Strategy<Value = OpenFlowPort> {
    (any::<u32>(), any::<[u8; 6]>(), "[a-z0-9-]{0,15}", any::<[u32; 8]>()).prop_map(|(number, mac, name, rest)| {
        let [config, state, a, b, c, d, now, most] = rest;
        OpenFlowPort { number, mac, name, config, state, features: [a, b, c, d], speeds_kbit: [now, most] }
    })
}

fn any_message() -> impl Strategy<Value = OpenFlowMessage> {
    let commands = [FlowCommand::Add, FlowCommand::Delete, FlowCommand::DeleteStrict];
    let change = (any::<[u64; 2]>(), any::<u8>(), prop::sample::select(commands.to_vec()), any::<[u16; 4]>());
    let change = (change, any_match(), any_instructions()).prop_map(
        |(([cookie, cookie_mask], table, command, [idle_s, hard_s, priority, flags]), fields, instructions)| {
            OpenFlowMessage::FlowMod(FlowMod {
                cookie,
                cookie_mask,
                table,
                command,
                idle_s,
                hard_s,
                priority,
                flags,
                fields,
                instructions,
            })
        },
    );
    let entry = (any::<[u64; 3]>(), any::<[u32; 2]>(), any::<u8>(), any::<[u16; 4]>(), any_match(), any_instructions())
        .prop_map(|([cookie, packets, bytes], age, table, [priority, flags, idle, hard], fields, instructions)| {
            let (timeouts_s, counts, age) = ((idle, hard), (packets, bytes), age.into());
            FlowEntry { table, priority, flags, timeouts_s, age, cookie, counts, fields, instructions }
        });
    let some_bytes = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        Just(OpenFlowMessage::Hello),
        Just(OpenFlowMessage::BarrierReply),
        (any::<u16>(), any::<u16>(), some_bytes())
            .prop_map(|(kind, code, data)| OpenFlowMessage::Error(ErrorMessage { kind, code, data })),
        some_bytes().prop_map(OpenFlowMessage::EchoReply),
        (any::<u64>(), any::<u32>(), any::<[u8; 2]>(), any::<u32>()).prop_map(
            |(datapath, buffers, [tables, auxiliary], capabilities)| {
                OpenFlowMessage::FeaturesReply(Features { datapath, buffers, tables, auxiliary, capabilities })
            }
        ),
        change,
        (any::<u32>(), prop::collection::vec(any_action(), 0..4), some_bytes())
            .prop_map(|(port, actions, frame)| OpenFlowMessage::PacketOut(port, actions, frame)),
        Just(OpenFlowMessage::FlowsRequest),
        (prop::collection::vec(entry, 0..4), any::<bool>())
            .prop_map(|(flows, more)| OpenFlowMessage::FlowsReply(flows, more)),
        (prop::collection::vec(any_port(), 0..4), any::<bool>())
            .prop_map(|(ports, more)| OpenFlowMessage::PortsReply(ports, more)),
        (30_u8.., some_bytes()).prop_map(|(kind, body)| OpenFlowMessage::Other(kind, body)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn encoded_messages_are_decoded_back(message in any_message(), number in any::<u32>()) {
        let bytes = message.encode(number).unwrap();
        prop_assert_eq!(usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), bytes.len());
        prop_assert_eq!(OpenFlowMessage::decode(&bytes).unwrap(), (number, message));
    }

    /// A message with some bytes changed, or cut off, is another message or an error: never a panic, and a decoded
    /// message can be encoded.
    #[test]
    fn changed_bytes_are_a_message_or_an_error(
        message in any_message(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = message.encode(1).unwrap();
        if let Some(cut) = cut {
            let length = cut.index(bytes.len());
            bytes.truncate(length);
            if let [_, _, high, low, ..] = bytes.as_mut_slice() {
                [*high, *low] = (length as u16).to_be_bytes();
            }
        }
        for (at, byte) in changes.into_iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok((number, read)) = OpenFlowMessage::decode(&bytes) {
            let again = read.encode(number).unwrap();
            prop_assert_eq!(OpenFlowMessage::decode(&again).unwrap(), (number, read));
        }
    }

    #[test]
    fn random_bytes_are_a_message_or_an_error(kind in any::<u8>(), body in prop::collection::vec(any::<u8>(), 0..200)) {
        let bytes = OpenFlowMessage::Other(kind, body).encode(9).unwrap();
        let _ = OpenFlowMessage::decode(&bytes);
    }

    /// However a stream is cut, the decoded messages are equal.
    #[test]
    fn a_stream_is_cut_into_its_messages(messages in prop::collection::vec(any_message(), 1..6), step in 1_usize..50) {
        let stream: Vec<u8> = messages.iter().flat_map(|message| message.encode(3).unwrap()).collect();
        let (mut frames, mut found) = (MessageReader::default(), Vec::new());
        for part in stream.chunks(step) {
            frames.push(part);
            while let Some(frame) = frames.next_frame().unwrap() {
                found.push(OpenFlowMessage::decode(frame).unwrap().1);
            }
        }
        prop_assert_eq!(found, messages);
    }
}

#[test]
fn another_version_and_a_length_below_a_header_end_a_stream() {
    let next = |bytes: &[u8]| {
        let mut frames = MessageReader::default();
        frames.push(bytes);
        frames.next_frame().map(|frame| frame.map(<[u8]>::to_vec))
    };
    assert_eq!(next(&[1, 14, 0, 8, 0, 0, 0, 1]), Err(DecodeError::Version(1)));
    assert!(matches!(next(&[4, 14, 0, 7, 0, 0, 0, 1]), Err(DecodeError::Length { length: 7, .. })));
    // A greeting of OpenFlow 1.5 is one.
    let hello = [6, 0, 0, 8, 0, 0, 0, 1];
    assert_eq!(next(&hello).unwrap().unwrap(), hello);
    assert_eq!(OpenFlowMessage::decode(&hello).unwrap(), (1, OpenFlowMessage::Hello));
}

#[test]
fn a_rule_that_is_too_long_is_an_error() {
    let instructions = vec![Instruction::Apply(vec![FlowAction::PopVlan; 9000])];
    let error = OpenFlowMessage::FlowMod(FlowMod { instructions, ..FlowMod::default() }).encode(1).unwrap_err();
    assert_eq!(error.0, 72_008);
}
