//! QEMU's traces of generated programs: complete, free of duplicates, and covering every encoding
//! as executed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use strobe_oracle::qemu::Machine;
use strobe_oracle::{CpuState, Trace, TraceError};
use strobe_synth::{AddSub, Cond, Core, ElfBuilder, FORMS, Insn, LoadStore, Options, Sequence};

/// Far beyond the duration of a trace on the slowest machine under the heaviest load.
const DEADLINE: Duration = Duration::from_secs(1800);

fn write(elf: &[u8]) -> tempfile::TempPath {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), elf).expect("write the program");
    file.into_temp_path()
}

fn trace(elf: &Path) -> Trace {
    Trace::start(elf, DEADLINE).expect("QEMU is installed")
}

/// The possible successors of an instruction, where they are known without running it.
fn successors(address: u32, insn: &Insn) -> Option<Vec<u32>> {
    let next = address + insn.size();
    let target = |offset: i32| next.wrapping_add_signed(offset + 4 - insn.size() as i32);
    match *insn {
        Insn::BCond { offset, .. } => Some(vec![next, target(offset)]),
        Insn::B { offset } | Insn::Bl { offset } => Some(vec![target(offset)]),
        Insn::Bx { .. } | Insn::Blx { .. } | Insn::Pop { pc: true, .. } => None,
        Insn::AddHigh { rdn: strobe_synth::Reg::PC, .. } => None,
        Insn::MovHigh { rd: strobe_synth::Reg::PC, .. } => None,
        _ => Some(vec![next]),
    }
}

/// Every step leads to a possible successor of its instruction, or to another exception: nothing is
/// missing and nothing twice.
#[test]
fn traces_are_without_gaps_and_run_every_form() {
    let options = Options { snippets: 1500, ..Options::default() };
    let mut missing: BTreeSet<&str> = FORMS.iter().copied().collect();
    for seed in 0..4 {
        let sequence = Sequence::generate(seed, &options);
        let elf = write(&sequence.elf());
        let mut before: Option<CpuState> = None;
        let mut trace = trace(&elf);
        for state in &mut trace {
            let state = state.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let insn = sequence.at(state.pc()).expect("only generated code runs");
            missing.remove(insn.form());
            if let Some(before) = before {
                let last = sequence.at(before.pc()).expect("checked in the previous turn");
                let same_mode = before.exception() == state.exception();
                if let Some(successors) = successors(before.pc(), &last).filter(|_| same_mode) {
                    let (from, to) = (before.pc(), state.pc());
                    assert!(
                        successors.contains(&to),
                        "seed {seed}: {last} at {from:#x} led to {to:#x}"
                    );
                }
            }
            before = Some(state);
        }
        assert_eq!(trace.exit_code(), Some(0), "seed {seed} met an exception it did not expect");
        let last = before.expect("a trace has states");
        assert!(matches!(sequence.at(last.pc()), Some(Insn::Bkpt { imm8: 0xab })));
    }
    assert!(missing.is_empty(), "never executed: {missing:?}");
}

/// On each core every form that it has is executed, by few enough programs for a daily run.
#[test]
fn programs_for_armv7m_run_every_form() {
    for (core, machine) in [(Core::V7m, Machine::Mps2An385), (Core::V7emFp, Machine::Mps2An386)] {
        let mut missing: BTreeSet<&str> = core.forms().into_iter().collect();
        for seed in 0..12 {
            let sequence =
                Sequence::generate(seed, &Options { core, snippets: 1500, ..Options::default() });
            let elf = write(&sequence.elf());
            let mut trace = Trace::start_on(machine, &elf, DEADLINE).expect("QEMU is installed");
            for state in &mut trace {
                let state = state.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                let insn = sequence.at(state.pc()).expect("only generated code runs");
                missing.remove(insn.form());
            }
            assert_eq!(trace.exit_code(), Some(0), "seed {seed} met an unexpected exception");
        }
        assert!(missing.is_empty(), "{core:?}, never executed: {missing:?}");
    }
}

/// The generator's tests check the content; this one checks that it also runs.
#[test]
fn exhaustive_programs_execute_every_encoding_they_contain() {
    let (mut contained, mut executed) = (BTreeSet::new(), BTreeSet::new());
    for sequence in Sequence::exhaustive(1) {
        let elf = write(&sequence.elf());
        let mut trace = trace(&elf);
        for state in &mut trace {
            let insn = sequence.at(state.expect("a whole trace").pc());
            executed.insert(insn.expect("only generated code runs").encode());
        }
        assert_eq!(trace.exit_code(), Some(0));
        // The endless loop after the exit never runs, nor the returns of subroutines that nothing
        // calls.
        let narrow = sequence.listing().iter().map(|(_, insn)| *insn).filter(|i| i.size() == 2);
        contained.extend(
            narrow.filter(|i| !matches!(i, Insn::B { .. } | Insn::Bx { .. })).map(|i| i.encode()),
        );
    }
    let skipped: Vec<_> = contained.difference(&executed).collect();
    assert!(skipped.is_empty(), "{} encodings never ran: {skipped:04x?}", skipped.len());
    assert!(executed.len() > 40_000, "only {} encodings ran", executed.len());
}

#[test]
fn traces_repeat_exactly() {
    let elf = write(&Sequence::generate(11, &Options::default()).elf());
    let states = || trace(&elf).collect::<Result<Vec<_>, _>>().expect("a whole trace");
    assert_eq!(states(), states());
}

/// A program of a few instructions after a vector table whose HardFault vector leads back to the
/// start.
fn small(insns: &[Insn]) -> Vec<u8> {
    let code = insns.iter().flat_map(Insn::encode).flat_map(u16::to_le_bytes);
    let vectors = [0x2000_4000u32, 0x11, 0x11, 0x11].into_iter().flat_map(u32::to_le_bytes);
    ElfBuilder::new().code(0, &vectors.chain(code).collect::<Vec<_>>()).build()
}

#[test]
fn an_endless_program_ends_at_the_deadline() {
    let busy =
        [Insn::AddSubImm3 { op: AddSub::Add, rd: R0, rn: R0, imm3: 1 }, Insn::B { offset: -6 }];
    let still = [Insn::B { offset: -4 }];
    for program in [&busy[..], &still[..]] {
        let elf = write(&small(program));
        let last =
            Trace::start(&elf, Duration::from_millis(700)).expect("QEMU is installed").last();
        assert!(matches!(last, Some(Err(TraceError::Deadline { .. }))), "{last:?}");
    }
}

#[test]
fn qemu_failure_is_an_error_with_its_status() {
    let elf = write(b"no program at all, but long enough to be looked at");
    let last = trace(&elf).last();
    let Some(Err(TraceError::Failed { status, .. })) = &last else { panic!("{last:?}") };
    assert_ne!(status.code(), Some(0));
}

#[test]
fn dropping_a_trace_ends_qemu() {
    let elf = write(&small(&[
        Insn::MemImm { op: LoadStore::Ldr, rt: R0, rn: R0, units: 0 },
        Insn::BCond { cond: Cond::Ne, offset: -6 },
        Insn::B { offset: -8 },
    ]));
    let start = Instant::now();
    let mut states = trace(&elf);
    assert_eq!(states.next().expect("a state").expect("a sound one").pc(), 0x10);
    drop(states);
    assert!(start.elapsed() < DEADLINE, "the drop waited for the deadline");
}

const R0: strobe_synth::Reg = strobe_synth::Reg::new(0);
