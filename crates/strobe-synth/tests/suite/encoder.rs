//! The encoder against GNU as: the same text must give the same halfwords.

use std::process::Command;

use strobe_synth::{
    AddSub, Barrier, Cond, DataOp, Extend, Hint, Imm8Op, Insn, LoadStore, Options, Reg, Reverse,
    Sequence, Shift, Special,
};

/// Each form with small, large and mixed operands.
fn samples() -> Vec<Insn> {
    let mut all = Vec::new();
    let low = [0, 3, 7].map(Reg::new);
    let any = [0, 7, 8, 12, 13, 14].map(Reg::new);
    for rd in low {
        for rm in low {
            for op in Shift::ALL.iter().copied() {
                let zero = u8::from(op != Shift::Lsl);
                all.extend([zero, 1, 17, 31].map(|amount| Insn::ShiftImm { op, rd, rm, amount }));
            }
            all.push(Insn::ShiftImm { op: Shift::Lsr, rd, rm, amount: 32 });
            all.push(Insn::ShiftImm { op: Shift::Asr, rd, rm, amount: 32 });
            for op in AddSub::ALL.iter().copied() {
                all.push(Insn::AddSubReg { op, rd, rn: rm, rm: Reg::new(5) });
                // For the same register twice GNU as prefers the eight-bit form.
                if rd != rm {
                    all.extend([0, 7].map(|imm3| Insn::AddSubImm3 { op, rd, rn: rm, imm3 }));
                }
            }
            all.extend(DataOp::ALL.iter().map(|&op| Insn::Data { op, rdn: rd, rm }));
            all.extend(Extend::ALL.iter().map(|&op| Insn::Extend { op, rd, rm }));
            all.extend(Reverse::ALL.iter().map(|&op| Insn::Reverse { op, rd, rm }));
            for op in LoadStore::ALL.iter().copied() {
                all.push(Insn::MemReg { op, rt: rd, rn: rm, rm: Reg::new(6) });
                if !matches!(op, LoadStore::Ldrsb | LoadStore::Ldrsh) {
                    all.extend([0, 9, 31].map(|units| Insn::MemImm { op, rt: rd, rn: rm, units }));
                }
            }
        }
        for imm8 in [0, 1, 128, 255] {
            all.extend(Imm8Op::ALL.iter().map(|&op| Insn::Imm8 { op, rdn: rd, imm8 }));
            all.push(Insn::LdrLiteral { rt: rd, words: imm8 });
            all.extend([true, false].map(|load| Insn::MemSp { load, rt: rd, words: imm8 }));
            all.push(Insn::Adr { rd, words: imm8 });
            all.push(Insn::AddRdSp { rd, words: imm8 });
            all.push(Insn::Stm { rn: Reg::new(0), list: imm8 | 1 });
            all.push(Insn::Ldm { rn: rd, list: imm8 | 2 });
        }
    }
    for a in any {
        for b in any {
            // GNU as adds SP to a register only by the three-operand form.
            if b != Reg::SP || a != Reg::SP {
                all.push(Insn::AddHigh { rdn: a, rm: b });
            }
            if !(a.is_low() && b.is_low()) {
                all.push(Insn::CmpHigh { rn: a, rm: b });
            }
            all.push(Insn::MovHigh { rd: a, rm: b });
        }
        all.push(Insn::AddHigh { rdn: Reg::PC, rm: a });
        all.push(Insn::MovHigh { rd: Reg::PC, rm: a });
        all.push(Insn::MovHigh { rd: a, rm: Reg::PC });
        all.extend([Insn::Bx { rm: a }, Insn::Blx { rm: a }]);
        if a != Reg::SP {
            all.extend(Special::ALL.iter().map(|&to| Insn::Msr { to, rn: a }));
            all.extend(Special::ALL.iter().map(|&from| Insn::Mrs { rd: a, from }));
        }
    }
    for list in [0x01, 0x80, 0xff, 0x5a] {
        all.extend([true, false].map(|lr| Insn::Push { list, lr }));
        all.extend([true, false].map(|pc| Insn::Pop { list, pc }));
        all.extend([Insn::Bkpt { imm8: list }, Insn::Udf { imm8: list }, Insn::Svc { imm8: list }]);
        all.push(Insn::UdfW { imm16: u16::from(list) << 8 | 0x42 });
    }
    for words in [0, 1, 64, 127] {
        all.extend(AddSub::ALL.iter().map(|&op| Insn::AdjustSp { op, words }));
    }
    all.extend([true, false].map(|disable| Insn::Cps { disable }));
    all.extend(Hint::ALL.iter().map(|&op| Insn::Hint { op }));
    all.extend(Barrier::ALL.iter().map(|&op| Insn::Barrier { op }));
    for &cond in Cond::ALL {
        all.extend([-256, -4, 0, 254].map(|offset| Insn::BCond { cond, offset }));
    }
    all.extend([-2048, -4, 0, 2046].map(|offset| Insn::B { offset }));
    all.extend(
        [-(1 << 24), -4, 0, 0x1234, 0x5a_b000, (1 << 24) - 2].map(|offset| Insn::Bl { offset }),
    );
    all
}

/// Assembles one line per instruction; each is aligned to eight bytes so that a difference cannot
/// move the next one.
fn assemble(insns: &[Insn]) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [source, object, binary] = ["t.s", "t.o", "t.bin"].map(|f| directory.path().join(f));
    // `udf.w` and execution state names are accepted for any core only with a newer architecture
    // named.
    let mut text = String::from(".syntax unified\n.arch armv7-m\n.thumb\n");
    for insn in insns {
        text += &format!(".balign 8, 0\n{insn}\n");
    }
    text += ".balign 8, 0\n";
    std::fs::write(&source, text).expect("write the source");
    let run = |command: &mut Command| {
        let output = command.output().expect("GNU binutils for arm-none-eabi are installed");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {complaints}");
    };
    run(Command::new("arm-none-eabi-as").arg(&source).arg("-o").arg(&object));
    run(Command::new("arm-none-eabi-objcopy").args(["-O", "binary"]).arg(&object).arg(&binary));
    std::fs::read(&binary).expect("the assembled bytes")
}

fn assert_same_as_gnu(insns: &[Insn]) {
    let assembled = assemble(insns);
    assert_eq!(assembled.len(), 8 * insns.len());
    for (insn, theirs) in insns.iter().zip(assembled.chunks(8)) {
        let ours: Vec<u8> = insn.encode().iter().flat_map(|h| h.to_le_bytes()).collect();
        assert_eq!(ours, theirs[..ours.len()], "`{insn}`: {ours:02x?} against GNU's {theirs:02x?}");
        assert_eq!(ours.len() as u32, insn.size());
    }
}

#[test]
fn gnu_as_agrees_on_samples_of_every_form() {
    assert_same_as_gnu(&samples());
}

#[test]
fn gnu_as_agrees_on_generated_programs() {
    let sequence = Sequence::generate(1, &Options::default());
    let ambiguous = |insn: &Insn| match *insn {
        Insn::AddSubImm3 { rd, rn, .. } => rd == rn,
        Insn::AddHigh { rdn, rm } => rdn == Reg::SP && rm == Reg::SP,
        _ => false,
    };
    let insns: Vec<Insn> =
        sequence.listing().iter().map(|(_, insn)| *insn).filter(|i| !ambiguous(i)).collect();
    assert_same_as_gnu(&insns);
}
