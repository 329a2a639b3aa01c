//! Tests of benchmark tables: written tables are read back, and errors have positions.

use wayleave_formats::{Source, read_benchmark, write_benchmark};
use wayleave_topology::devices::{Measurement, PacketScenario, SoftwareSwitch, Table};

const HEADER: &str = "entries,match,action,used,priorities,packet,throughput,delay,buffer";

fn errors(text: &str) -> String {
    read_benchmark(&Source::new("table.csv", text)).unwrap_err().to_string()
}

#[test]
fn a_complete_table_is_read_back_as_written() {
    let zodiac = SoftwareSwitch::ZODIAC_FX;
    let mut table = Table::default();
    for case in PacketScenario::whole().cases() {
        let delay = zodiac.service(&case) + zodiac.latency();
        let measurement = Measurement { throughput: zodiac.rate(&case), delay, buffer: zodiac.buffer(case.packet) };
        assert_eq!(table.enter(case, measurement), None);
    }
    assert_eq!(table.iter().len(), 9 * 6 * 8 * 2 * 2 * 7);
    assert_eq!(read_benchmark(&Source::new("table.csv", write_benchmark(&table))).unwrap(), table);
}

#[test]
fn errors_name_the_place_and_the_expected_form() {
    let row = |cells: &str| errors(&format!("{HEADER}\n{cells}\n"));
    for (cells, place, messages) in [
        ("17,five-tupel,output,last,decreasing,306B,11Mbit,1ms,8", "2:4:", "did you mean"),
        ("17,all,fly,last,decreasing,306B,11Mbit,1ms,8", "2:8:", "set-vlan-id"),
        ("0,all,output,last,decreasing,306B,11Mbit,1ms,8", "2:1:", "a whole number above 0"),
        ("17,all,output,last,decreasing,306B,11mbps,1ms,8", "2:36:", "11Mbit"),
        ("17,all,output,last,decreasing,306B,0Mbit,1ms,8", "2:36:", "more than zero"),
        ("17,all,output,last,decreasing,306,11Mbit,1ms,8", "2:31:", "packet"),
        ("17,all,output,last,decreasing", "2:1:", "5 fields, and the header has 9"),
    ] {
        let message = row(cells);
        assert!(message.contains(place) && message.contains(messages), "{cells}: {message}");
    }
    let twice = "17,all,output,last,decreasing,306B,11Mbit,1ms,8\n";
    assert!(errors(&format!("{HEADER}\n{twice}{twice}")).contains("is already in line 2"));
    assert!(errors("").contains("the file is empty"));
    assert!(errors("entries,mach\n").contains("did you mean \"match\"?"));
    assert!(errors(&HEADER.replace(",buffer", "")).contains("no column \"buffer\""));
}

#[test]
fn comments_and_any_order_of_columns_are_read() {
    let text = "buffer,delay,throughput,packet,priorities,used,action,match,entries\n# measured on Monday\n\
                8,0.462ms,11.84Mbit,306B,decreasing,last,output,five-tuple,17\n";
    let table = read_benchmark(&Source::new("table.csv", text)).unwrap();
    let worst = table.worst(&PacketScenario::proof_of_concept()).unwrap();
    assert_eq!(worst.delay.0.as_nanos(), 462_000);
    let missing = table.worst(&PacketScenario::whole()).unwrap_err().to_string();
    assert!(missing.contains("lacks 12095 combinations") && missing.contains("first 1 entries, port"), "{missing}");
}
