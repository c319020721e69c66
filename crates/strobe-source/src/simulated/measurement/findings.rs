//! What the reader of a run should know: the fault with its evidence, warnings, notes.

use std::collections::BTreeMap;

use crate::simulated::run_record::{Fault, RunRecord, UnmodelledRegister};
use strobe_model::measurement::{Finding, Severity};

use crate::simulated::bounding_runs;
use strobe_model::number::{counted, grouped};

/// Reads of one peripheral's registers; with fewer, little hangs on them.
const LEAST_READS: u64 = 16;

/// The gravest first.
pub(super) fn findings(record: &RunRecord) -> Vec<Finding> {
    let mut out: Vec<Finding> = record.fault.iter().map(fault).collect();
    out.extend(record.warnings.iter().cloned());
    out.extend(super::calls::finding(record));
    out.extend(unmodelled(record));
    let system = record.scheduling.iter().filter_map(|scheduling| scheduling.rtos.as_ref());
    let notes = system.flat_map(|system| &system.notes);
    out.extend(notes.map(|note| Finding::new(Severity::Warning, "rtos", note)));
    out.extend(bounding_runs::no_bounds(record));
    out.extend(modelled(record));
    out
}

fn fault(fault: &Fault) -> Finding {
    let code = match fault.kind.as_str() {
        "HardFault" => "hard-fault".to_owned(),
        other => other.to_lowercase().replace(' ', "-"),
    };
    let at = [
        ("kind".to_owned(), fault.kind.clone()),
        ("address".to_owned(), fault.pc.clone()),
        ("cycle".to_owned(), fault.at.cycle.to_string()),
        ("nanoseconds".to_owned(), fault.at.nanoseconds.to_string()),
    ];
    let backtrace = (0..).zip(&fault.backtrace);
    let backtrace = backtrace.map(|(n, frame): (u32, &String)| (format!("#{n}"), frame.clone()));
    let groups = [
        ("when and where", at.to_vec()),
        ("status", fault.status.clone()),
        ("backtrace", backtrace.collect()),
        ("registers", fault.registers.clone()),
        ("stacked frame", fault.frame.clone()),
    ];
    let present = groups.into_iter().filter(|(_, pairs)| !pairs.is_empty());
    Finding {
        place: Some(fault.backtrace.first().unwrap_or(&fault.pc).clone()),
        evidence: present.map(|(name, pairs)| (name.to_owned(), pairs)).collect(),
        ..Finding::new(Severity::Fault, &code, &fault.text)
    }
}

fn unmodelled(record: &RunRecord) -> Option<Finding> {
    let registers = &record.unmodelled;
    let first = registers.first()?;
    let accesses = registers.iter().map(|r| r.reads.saturating_add(r.writes));
    let text = format!(
        "registers without a model were accessed: they keep what is written and do nothing, and \
         reads get that or a fixed value{}; code that depends on more may go another way than on \
         the real board",
        often_read(registers)
    );
    Some(Finding {
        count: accesses.fold(0, u64::saturating_add),
        place: Some(first.first_from.clone()),
        ..Finding::new(Severity::Warning, "unmodelled-register", text)
    })
}

/// Peripherals with such registers that the firmware reads as if they did something, as
/// ` (TIM2: 59 reads)`. They may have a model, which lacks these registers.
fn often_read(registers: &[UnmodelledRegister]) -> String {
    let mut reads: BTreeMap<&str, u64> = BTreeMap::new();
    for register in registers {
        if let Some(peripheral) = &register.peripheral {
            let sum = reads.entry(peripheral).or_default();
            *sum = sum.saturating_add(register.reads);
        }
    }
    let often = reads.into_iter().filter(|(_, reads)| *reads >= LEAST_READS);
    let often: Vec<String> =
        often.map(|(name, reads)| format!("{name}: {}", counted(reads, "read"))).collect();
    if often.is_empty() { String::new() } else { format!(" ({})", often.join(", ")) }
}

/// Which causes rest on a model, those with one reason together.
fn modelled(record: &RunRecord) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    for modelled in &record.modelled {
        // The table of causes decides how sure that is.
        let cycles = grouped(record.totals.by_cause[modelled.cause]);
        let pair = (modelled.cause.name().to_owned(), cycles);
        match out.iter_mut().find(|finding| finding.text == modelled.why) {
            Some(finding) => finding.evidence.iter_mut().for_each(|e| e.1.push(pair.clone())),
            None => out.push(Finding {
                evidence: vec![("cycles".to_owned(), vec![pair])],
                ..Finding::new(Severity::Note, "modelled", &modelled.why)
            }),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peripherals_are_named_whose_registers_are_read_often() {
        let register = |peripheral: Option<&str>, reads: u64| UnmodelledRegister {
            address: "0x4000007c".to_owned(),
            peripheral: peripheral.map(str::to_owned),
            register: None,
            known_device: peripheral.is_some(),
            reads,
            writes: 1,
            first_from: "main".to_owned(),
        };
        let few = [register(Some("SPI1"), 9), register(None, 2_000)];
        assert_eq!(often_read(&few), "");
        let often = [register(Some("TIM2"), 1_000), register(Some("TIM2"), 59)];
        assert_eq!(often_read(&often), " (TIM2: 1,059 reads)");
        let both = [&often[..], &few[..], &few[..]].concat();
        assert_eq!(often_read(&both), " (SPI1: 18 reads, TIM2: 1,059 reads)");
    }
}
