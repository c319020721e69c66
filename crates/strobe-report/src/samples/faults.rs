//! Runs that end in a fault.

use strobe_model::*;

use super::build::{Build, thread};
use Cause::*;

/// A fault, with code outside every function.
pub(crate) fn faulted() -> Record {
    let mut b = Build::new("fault.elf");
    let main = b.function("main", 0x0800_0100, None);
    b.sample((0x0800_0100, Some(main), None), 10, &[(Execute, 10), (LoadStore, 4)], (0, 0));
    b.sample((0x0800_0200, None, None), 3, &[(Execute, 3)], (0, 0));
    let root = b.node(thread(), None, 1, 0);
    let m = b.node(Place::Function(main), Some(root), 1, 14);
    b.node(Place::Unknown, Some(m), 1, 3);
    b.0.window.end_reason = EndReason::HardFault;
    let hex = |n: u32| format!("{n:#010x}");
    let names = ["R0", "R1", "R2", "R3", "R12", "LR", "PC", "xPSR"];
    let mut registers: Vec<(String, String)> =
        (0..13).map(|n| (format!("R{n}"), hex(n * 0x0101_0101))).collect();
    for name in ["SP", "LR", "PC", "xPSR", "MSP", "PSP"] {
        registers.push((name.into(), hex(0x2000_0fe0)));
    }
    b.0.fault = Some(Fault {
        kind: "HardFault".into(),
        text: "unaligned load of a word from 0x20000001; Cortex-M0 cannot do that".into(),
        pc: "0x08000110".into(),
        status: Vec::new(),
        at: Moment { cycle: 17, nanoseconds: 2125 },
        registers,
        frame: names.iter().map(|n| ((*n).to_owned(), hex(1))).collect(),
        backtrace: vec![
            "0x08000110 read_word (inlined) at src/read.c:12".into(),
            "0x08000110 main at src/main.c:44".into(),
            "0x080000c8 Reset_Handler at startup.c:20".into(),
        ],
    });
    b.finish()
}

/// A fault on a core that has status registers.
pub(crate) fn faulted_with_status() -> Record {
    let mut record = faulted();
    if let Some(fault) = &mut record.fault {
        fault.text =
            "precise bus fault: load of 4 bytes from 0x30000000, where nothing answers".into();
        let status = [
            (
                "CFSR",
                "0x00008200 PRECISERR: nothing answered a load or store; the stacked PC is its; BFARVALID: BFAR holds the address",
            ),
            ("HFSR", "0x40000000 FORCED: a fault whose own handler is disabled or cannot preempt"),
            ("BFAR", "0x30000000 the address that did not answer"),
        ];
        fault.status = status.map(|(name, words)| (name.into(), words.into())).into();
    }
    record
}
