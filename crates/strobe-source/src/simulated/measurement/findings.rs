//! What the reader of a run should know: the fault with its evidence, warnings, notes.

use strobe_model::measurement::{Finding, Severity};
use strobe_model::{Fault, Record, Trust};

use crate::simulated::extremes;

/// The gravest first.
pub(super) fn findings(record: &Record) -> Vec<Finding> {
    let mut out: Vec<Finding> = record.fault.iter().map(fault).collect();
    out.extend(record.warnings.iter().map(|warning| {
        let is_note = ["phase-shifted", "no-allocator"].contains(&warning.code.as_str());
        let severity = if is_note { Severity::Note } else { Severity::Warning };
        Finding { count: warning.count, ..Finding::new(severity, &warning.code, &warning.text) }
    }));
    out.extend(super::calls::finding(record));
    out.extend(unmodelled(record));
    let system = record.scheduling.iter().filter_map(|scheduling| scheduling.rtos.as_ref());
    let notes = system.flat_map(|system| &system.notes);
    out.extend(notes.map(|note| Finding::new(Severity::Warning, "rtos", note)));
    out.extend(carried(record));
    out.extend(modelled(record));
    out
}

/// What the reader should know of bounds that no further runs have settled.
fn carried(record: &Record) -> Option<Finding> {
    let text = "Bounds are carried along with one run. Where code waits for something that is not \
                recognised, a figure can lie outside of them.";
    let advice = "`--bounds runs` takes them from two further runs, with the least and with the \
                  most of each wait; not where somebody types or another machine sends, nor with \
                  several chips.";
    extremes::differ(record).then(|| Finding {
        advice: Some(advice.to_owned()),
        ..Finding::new(Severity::Note, extremes::CARRIED, text)
    })
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

fn unmodelled(record: &Record) -> Option<Finding> {
    let registers = &record.unmodelled;
    let first = registers.first()?;
    let accesses = registers.iter().map(|r| r.reads.saturating_add(r.writes));
    let text = "Registers without a model were accessed: they keep what is written and do nothing. \
                Code that depends on more may go another way than on the real board.";
    Some(Finding {
        count: accesses.fold(0, u64::saturating_add),
        place: Some(first.first_from.clone()),
        ..Finding::new(Severity::Warning, "unmodelled-register", text)
    })
}

/// Which causes rest on a model, those with one reason together.
fn modelled(record: &Record) -> Vec<Finding> {
    let Trust::Modelled { causes } = &record.trust else { return Vec::new() };
    let mut out: Vec<Finding> = Vec::new();
    for modelled in causes {
        let cycles = modelled.cycles;
        let range = format!("{} ({}-{})", cycles.likely, cycles.low, cycles.high);
        let range = if cycles.is_exact() { cycles.likely.to_string() } else { range };
        let pair = (modelled.cause.name().to_owned(), range);
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
