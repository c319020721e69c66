//! A fault that has ended a run, with registers, stacked frame and backtrace.

use crate::simulated::run_record::Fault;
use strobe_devices::machine::Report;
use strobe_sim::avr;
use strobe_sim::cortexm::{self, FaultReport};
use strobe_sim::device::Size;

use super::moment;
use crate::names::Names;
use crate::simulated::drive::Run;

/// What happened, with the instruction behind it where that is not the one it was noticed at.
pub(super) fn text(report: &FaultReport, names: &Names) -> String {
    let mut text = report.text();
    if let cortexm::Fault::LostStore { pc, .. } = report.fault {
        text += &format!("; the store is that of {}", names.describe(pc).swap_remove(0));
    }
    text
}

/// The fault that ended a run.
pub(super) fn of(run: &Run, report: &Report, lockup: bool, names: &Names) -> Fault {
    match report {
        Report::Arm(report) => arm_fault(run, report, lockup, names),
        Report::Avr(report) => avr_fault(run, report, names),
    }
}

fn hex(value: u32) -> String {
    format!("{value:#010x}")
}

fn arm_fault(run: &Run, report: &FaultReport, lockup: bool, names: &Names) -> Fault {
    let register = |(i, value): (usize, &u32)| {
        let name = match i {
            13 => "SP".to_owned(),
            14 => "LR".to_owned(),
            15 => "PC".to_owned(),
            i => format!("R{i}"),
        };
        (name, hex(*value))
    };
    let mut registers: Vec<_> = report.registers.iter().enumerate().map(register).collect();
    let more = [("xPSR", report.xpsr), ("MSP", report.msp), ("PSP", report.psp)];
    registers.extend(more.map(|(name, value)| (name.to_owned(), hex(value))));
    let words = ["R0", "R1", "R2", "R3", "R12", "LR", "return address", "xPSR"];
    let frame = report.frame.map_or_else(Vec::new, |at| {
        let word = |i: u32| run.machine.bus().peek(at + 4 * i, Size::Word).unwrap_or(0);
        (0..).zip(words).map(|(i, name)| (name.to_owned(), hex(word(i)))).collect()
    });
    let words = report.status.map_or_else(Vec::new, |status| status.words());
    let status = words
        .into_iter()
        .map(|(name, value, words)| (name.to_owned(), format!("{} {words}", hex(value))));
    Fault {
        kind: if lockup { "lockup" } else { "HardFault" }.to_owned(),
        text: text(report, names),
        pc: hex(report.pc),
        status: status.collect(),
        at: moment(run.machine.bus(), report.cycle),
        registers,
        frame,
        backtrace: backtrace(run, report.pc, !lockup, names),
    }
}

fn avr_fault(run: &Run, report: &avr::FaultReport, names: &Names) -> Fault {
    let byte = |value: u8| format!("{value:#04x}");
    let register = |(n, value): (usize, &u8)| (format!("R{n}"), byte(*value));
    let mut registers: Vec<_> = report.registers.iter().enumerate().map(register).collect();
    registers.push(("SREG".to_owned(), byte(report.sreg)));
    registers.push(("SP".to_owned(), format!("{:#06x}", report.sp)));
    registers.push(("PC".to_owned(), hex(report.pc)));
    Fault {
        kind: "invalid opcode".to_owned(),
        text: report.text(),
        pc: hex(report.pc),
        status: Vec::new(),
        at: moment(run.machine.bus(), report.cycle),
        registers,
        frame: Vec::new(),
        backtrace: backtrace(run, report.pc, false, names),
    }
}

/// Who called whom, from the instruction at `pc` on; with `interrupted`, as of the code that the
/// running handler interrupted.
fn backtrace(run: &Run, pc: u32, interrupted: bool, names: &Names) -> Vec<String> {
    let mut backtrace = names.describe(pc);
    let mut interrupted_pc = false;
    for step in run.machine.observer().1.0.backtrace(interrupted) {
        match step {
            None => {
                backtrace.push("(interrupted)".to_owned());
                interrupted_pc = true;
            }
            // A return address points behind its call, an interrupted program counter at itself.
            Some(at) => {
                let look_up =
                    if std::mem::take(&mut interrupted_pc) { at } else { at.wrapping_sub(2) };
                backtrace.extend(names.describe(look_up));
            }
        }
    }
    backtrace
}
