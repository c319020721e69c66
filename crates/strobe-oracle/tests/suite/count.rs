//! The independent count, checked by hand for single instructions and with QEMU for a whole
//! program.

use std::convert::Infallible;
use std::time::Duration;

use strobe_oracle::count::{Count, CountError, Table, sum};
use strobe_oracle::{CpuState, Program, Trace};
use strobe_synth::{
    AddSub, Assembler, Barrier, Cond, DataOp, ElfBuilder, Hint, Imm8Op, Insn, LoadStore, Reg,
    Special,
};

/// The table's cycles for one instruction executed with the given flags.
fn once(table: &Table, insn: Insn, flags: u32) -> Count {
    let code: Vec<u8> = insn.encode().iter().flat_map(|h| h.to_le_bytes()).collect();
    let program = Program::from_elf(&ElfBuilder::new().code(0x40, &code).build()).expect("an ELF");
    let mut state = CpuState { xpsr: flags << 28 | 1 << 24, ..CpuState::default() };
    state.r[15] = 0x40;
    sum(table, &program, [Ok::<_, Infallible>(state)]).expect("an instruction")
}

/// Table 3-1 of both manuals, row by row: M0 and M0+.
#[test]
fn every_row_of_the_manuals() {
    const Z: u32 = 4;
    let [r0, r1, r9] = [0, 1, 9].map(Reg::new);
    let rows = [
        (Insn::Imm8 { op: Imm8Op::Mov, rdn: r0, imm8: 1 }, 0, 1, 1),
        (Insn::MovHigh { rd: r9, rm: r1 }, 0, 1, 1),
        (Insn::MovHigh { rd: Reg::PC, rm: r1 }, 0, 3, 2),
        (Insn::AddHigh { rdn: Reg::PC, rm: r1 }, 0, 3, 2),
        (Insn::AddHigh { rdn: Reg::LR, rm: r1 }, 0, 1, 1),
        (Insn::CmpHigh { rn: r9, rm: r1 }, 0, 1, 1),
        (Insn::Data { op: DataOp::Mul, rdn: r0, rm: r1 }, 0, 1, 1),
        (Insn::Data { op: DataOp::Ror, rdn: r0, rm: r1 }, 0, 1, 1),
        (Insn::Data { op: DataOp::Rsb, rdn: r0, rm: r1 }, 0, 1, 1),
        (Insn::Adr { rd: r0, words: 4 }, 0, 1, 1),
        (Insn::AddRdSp { rd: r0, words: 4 }, 0, 1, 1),
        (Insn::AdjustSp { op: AddSub::Sub, words: 4 }, 0, 1, 1),
        (Insn::LdrLiteral { rt: r0, words: 0 }, 0, 2, 2),
        (Insn::MemReg { op: LoadStore::Ldrsh, rt: r0, rn: r0, rm: r1 }, 0, 2, 2),
        (Insn::MemImm { op: LoadStore::Strh, rt: r0, rn: r0, units: 31 }, 0, 2, 2),
        (Insn::MemSp { load: true, rt: r0, words: 255 }, 0, 2, 2),
        (Insn::Ldm { rn: r0, list: 0b1110 }, 0, 4, 4),
        (Insn::Stm { rn: r0, list: 0xff }, 0, 9, 9),
        (Insn::Push { list: 0b11, lr: false }, 0, 3, 3),
        (Insn::Push { list: 0b11, lr: true }, 0, 4, 4),
        (Insn::Pop { list: 0b11, pc: false }, 0, 3, 3),
        (Insn::Pop { list: 0b11, pc: true }, 0, 7, 6),
        (Insn::Pop { list: 0, pc: true }, 0, 5, 4),
        (Insn::BCond { cond: Cond::Eq, offset: 4 }, 0, 1, 1),
        (Insn::BCond { cond: Cond::Eq, offset: 4 }, Z, 3, 2),
        (Insn::BCond { cond: Cond::Ne, offset: -4 }, 0, 3, 2),
        (Insn::B { offset: 4 }, 0, 3, 2),
        (Insn::Bl { offset: 4 }, 0, 4, 3),
        // A BL whose first halfword is that of MSR.
        (Insn::Bl { offset: 0x38_0000 }, 0, 4, 3),
        (Insn::Bx { rm: Reg::LR }, 0, 3, 2),
        (Insn::Blx { rm: r1 }, 0, 3, 2),
        (Insn::Cps { disable: true }, 0, 1, 1),
        (Insn::Mrs { rd: r0, from: Special::Msp }, 0, 4, 3),
        (Insn::Msr { to: Special::Control, rn: r0 }, 0, 4, 3),
        (Insn::Barrier { op: Barrier::Dsb }, 0, 4, 3),
        (Insn::Barrier { op: Barrier::Isb }, 0, 4, 3),
        (Insn::Hint { op: Hint::Nop }, 0, 1, 1),
        (Insn::Hint { op: Hint::Sev }, 0, 1, 1),
        (Insn::Hint { op: Hint::Wfi }, 0, 2, 2),
    ];
    for (insn, flags, m0, m0_plus) in rows {
        for (table, cycles) in [(Table::CORTEX_M0, m0), (Table::CORTEX_M0_PLUS, m0_plus)] {
            let expected = Count { instructions: 1, cycles, without_figure: 0 };
            assert_eq!(once(&table, insn, flags), expected, "{insn} with {table:?}");
        }
    }
    let multiply = Insn::Data { op: DataOp::Mul, rdn: r0, rm: r1 };
    assert_eq!(once(&Table::CORTEX_M0.with_small_multiplier(), multiply, 0).cycles, 32);
    let expected = Count { instructions: 1, cycles: 0, without_figure: 1 };
    for insn in [Insn::Svc { imm8: 0 }, Insn::Bkpt { imm8: 0 }, Insn::UdfW { imm16: 7 }] {
        assert_eq!(once(&Table::CORTEX_M0, insn, 0), expected, "{insn}");
    }
}

/// Conditions against their definition, over all flags.
#[test]
fn conditions_decide_by_the_flags() {
    for flags in 0..16 {
        let [v, c, z, n] = [0, 1, 2, 3].map(|bit| flags >> bit & 1 == 1);
        let passing = [
            (Cond::Eq, z),
            (Cond::Ne, !z),
            (Cond::Cs, c),
            (Cond::Cc, !c),
            (Cond::Mi, n),
            (Cond::Pl, !n),
            (Cond::Vs, v),
            (Cond::Vc, !v),
            (Cond::Hi, c && !z),
            (Cond::Ls, !c || z),
            (Cond::Ge, n == v),
            (Cond::Lt, n != v),
            (Cond::Gt, !z && n == v),
            (Cond::Le, z || n != v),
        ];
        for (cond, passes) in passing {
            let count = once(&Table::CORTEX_M0, Insn::BCond { cond, offset: 8 }, flags);
            assert_eq!(count.cycles, if passes { 3 } else { 1 }, "{cond:?} with flags {flags:04b}");
        }
    }
}

#[test]
fn invalid_code_is_an_error() {
    let program =
        Program::from_elf(&ElfBuilder::new().code(0, &[0xff; 4]).build()).expect("an ELF");
    let run = |pc: u32| {
        let mut state = CpuState::default();
        state.r[15] = pc;
        sum(&Table::CORTEX_M0, &program, [Ok::<_, Infallible>(state)])
    };
    assert!(matches!(run(0), Err(CountError::Unknown { address: 0, code: 0xffff })));
    assert!(matches!(run(8), Err(CountError::NoCode(8))));
}

/// A delay loop that is counted by hand: 3 + 1 per turn on M0.
#[test]
fn a_loop_executed_by_qemu() {
    let mut asm = Assembler::new(8);
    let counter = Reg::new(2);
    asm.emit(Insn::Imm8 { op: Imm8Op::Mov, rdn: counter, imm8: 200 }); // 1
    let again = asm.label_here();
    asm.emit(Insn::Imm8 { op: Imm8Op::Sub, rdn: counter, imm8: 1 }); // 200 * 1
    asm.b_cond(Cond::Ne, again); // 199 * 3 + 1
    asm.emit(Insn::Imm8 { op: Imm8Op::Mov, rdn: Reg::new(0), imm8: 0x18 }); // 1
    asm.load(Reg::new(1), strobe_synth::Value::Word(0x2_0026)); // 2
    asm.emit(Insn::Bkpt { imm8: 0xab });
    let (code, _) = asm.finish();
    let vectors: Vec<u8> = [0x2000_4000u32, 9].iter().flat_map(|w| w.to_le_bytes()).collect();
    let elf = ElfBuilder::new().code(0, &[vectors, code].concat()).build();
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), &elf).expect("write the program");

    let program = Program::from_elf(&elf).expect("an ELF");
    let count = |table| {
        let trace =
            Trace::start(file.path(), Duration::from_secs(1800)).expect("QEMU is installed");
        sum(table, &program, trace).expect("a whole trace")
    };
    let instructions = 1 + 2 * 200 + 2 + 1;
    let expected = Count { instructions, cycles: 1 + 200 + 199 * 3 + 1 + 1 + 2, without_figure: 1 };
    assert_eq!(count(&Table::CORTEX_M0), expected);
    let expected = Count { cycles: 1 + 200 + 199 * 2 + 1 + 1 + 2, ..expected };
    assert_eq!(count(&Table::CORTEX_M0_PLUS), expected);
}
