//! What buses carried.

use crate::bus::report::*;
use crate::summary::ValueSummary;

use super::pins::capture;

fn bus(protocol: &str, lane: &str, words: Vec<BusWord>) -> BusReport {
    let summary = LaneSummary::of(&words, capture().duration_ps);
    BusReport {
        capture: capture(),
        protocol: protocol.into(),
        settings: vec![BusSetting { name: "data bits".into(), value: "8".into() }],
        lanes: vec![BusLane { name: lane.into(), pin: "RX".into(), baud: None, words, summary }],
        transfers: Vec::new(),
        transfer_gaps_ps: None,
        clock_low_ps: None,
        stretched: None,
        unit: None,
        core: None,
        fault_counts: Default::default(),
        faults: Vec::new(),
        notes: Vec::new(),
    }
}

fn words(text: &[u8]) -> Vec<BusWord> {
    let word = |(n, byte): (i64, &u8)| BusWord {
        start_ps: n * 90_000_000,
        end_ps: n * 90_000_000 + 86_805_556,
        value: u32::from(*byte),
        kind: WordKind::Data,
        acknowledged: None,
        faulty: false,
    };
    (0..).zip(text).map(word).collect()
}

/// A serial line with two faults.
pub(crate) fn uart() -> BusReport {
    let mut words = words(b"Hello, serial world!\r\n");
    words[4].faulty = true;
    for word in &mut words[9..] {
        (word.start_ps, word.end_ps) = (word.start_ps + 2_000_000_000, word.end_ps + 2_000_000_000);
    }
    let mut report = bus("uart", "rx", words);
    report.lanes[0].baud = Some(Baud {
        used: 115_200.0,
        origin: BaudOrigin::NearestUsual,
        measured: Some(115_384.6),
        misfit: Some(0.04),
        pulses: 7,
        sure: false,
    });
    let fault = |at: i64, kind, text: &str| BusFault {
        start_ps: at,
        end_ps: at + 1_000_000,
        lane: "rx".into(),
        kind,
        text: text.into(),
    };
    report.faults = vec![
        fault(360_000_000, FaultKind::Framing, "a stop bit is low after 0x6f"),
        fault(900_000_000, FaultKind::Glitch, "a pulse of 0.12 bits"),
    ];
    report.fault_counts = report.faults.iter().map(|f| (f.kind, 1)).collect();
    report
}

/// Two transfers of I2C, one to nobody.
pub(crate) fn i2c() -> BusReport {
    let mut words = words(&[0xa0, 0x12, 0x41, 0x90]);
    for (word, acknowledged) in words.iter_mut().zip([true, true, false, false]) {
        word.acknowledged = Some(acknowledged);
    }
    (words[0].kind, words[3].kind) = (WordKind::Address, WordKind::Address);
    let mut report = bus("i2c", "i2c", words);
    let transfer = |first, words, address| BusTransfer {
        start_ps: first as i64 * 90_000_000 - 1_000_000,
        end_ps: (first + words) as i64 * 90_000_000 - 2_000_000,
        first,
        words,
        address: Some(address),
        read: Some(false),
        whole: true,
    };
    report.transfers = vec![transfer(0, 3, 0x50), transfer(3, 1, 0x48)];
    report.transfer_gaps_ps = ValueSummary::of(vec![1_000_000]);
    report.clock_low_ps = ValueSummary::of(vec![5_000_000, 5_000_000, 19_000_000]);
    let (count, total_ps, longest_ps) = (1, 14_000_000, 14_000_000);
    report.stretched = Some(Stretched { count, total_ps, longest_ps });
    report
}
