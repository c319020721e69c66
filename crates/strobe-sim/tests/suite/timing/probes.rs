//! One instruction at a time against the tables: Cortex-M0 TRM (DDI 0432C) table 3-1 and Cortex-M0+
//! TRM (DDI 0484C) table 3-1. Figures written down from the tables, encodings from an assembler.

use strobe_sim::cortexm::timing::CoreKind;
use strobe_sim::observe::{Observer, Retired};
use strobe_synth::FORMS;

use super::{CODE, machine, run};

/// (form, encoding, cycles on the M0, cycles on the M0+). R0 points to RAM, R1 is 4, R3 and LR hold
/// a code address, the stack holds code addresses, Z is set.
#[rustfmt::skip]
const PROBES: &[(&str, &[u16], u32, u32)] = &[
    ("LSL imm", &[0x00c8], 1, 1), ("LSR imm", &[0x08c8], 1, 1), ("ASR imm", &[0x10c8], 1, 1),
    ("ADD reg T1", &[0x1888], 1, 1), ("SUB reg", &[0x1a88], 1, 1),
    ("ADD imm3", &[0x1c48], 1, 1), ("SUB imm3", &[0x1e48], 1, 1),
    ("MOV imm", &[0x2001], 1, 1), ("CMP imm", &[0x2801], 1, 1),
    ("ADD imm8", &[0x3001], 1, 1), ("SUB imm8", &[0x3801], 1, 1),
    ("AND", &[0x4008], 1, 1), ("EOR", &[0x4048], 1, 1), ("LSL reg", &[0x4088], 1, 1),
    ("LSR reg", &[0x40c8], 1, 1), ("ASR reg", &[0x4108], 1, 1), ("ADC", &[0x4148], 1, 1),
    ("SBC", &[0x4188], 1, 1), ("ROR", &[0x41c8], 1, 1), ("TST", &[0x4208], 1, 1),
    ("RSB", &[0x4248], 1, 1), ("CMP reg T1", &[0x4288], 1, 1), ("CMN", &[0x42c8], 1, 1),
    ("ORR", &[0x4308], 1, 1), ("MUL", &[0x4348], 1, 1), ("BIC", &[0x4388], 1, 1),
    ("MVN", &[0x43c8], 1, 1),
    ("ADD reg T2", &[0x4440], 1, 1), ("CMP reg T2", &[0x4540], 1, 1), ("MOV reg", &[0x4640], 1, 1),
    ("ADD to SP", &[0x448d], 1, 1), ("ADD SP to reg", &[0x4468], 1, 1),
    ("ADD PC to reg", &[0x4478], 1, 1), ("ADD to PC", &[0x448f], 3, 2),
    ("MOV to SP", &[0x4685], 1, 1), ("MOV to PC", &[0x469f], 3, 2),
    ("MOV from SP", &[0x4668], 1, 1), ("MOV from PC", &[0x4678], 1, 1),
    ("BX", &[0x4718], 3, 2), ("BLX", &[0x4798], 3, 2),
    ("LDR lit", &[0x4a00], 2, 2),
    ("STR reg", &[0x5042], 2, 2), ("STRH reg", &[0x5242], 2, 2), ("STRB reg", &[0x5442], 2, 2),
    ("LDRSB", &[0x5642], 2, 2), ("LDR reg", &[0x5842], 2, 2), ("LDRH reg", &[0x5a42], 2, 2),
    ("LDRB reg", &[0x5c42], 2, 2), ("LDRSH", &[0x5e42], 2, 2),
    ("STR imm", &[0x6002], 2, 2), ("LDR imm", &[0x6802], 2, 2), ("STRB imm", &[0x7002], 2, 2),
    ("LDRB imm", &[0x7802], 2, 2), ("STRH imm", &[0x8002], 2, 2), ("LDRH imm", &[0x8802], 2, 2),
    ("STR SP", &[0x9200], 2, 2), ("LDR SP", &[0x9a00], 2, 2),
    ("ADR", &[0xa200], 1, 1), ("ADD Rd SP imm", &[0xaa00], 1, 1),
    ("ADD SP imm", &[0xb001], 1, 1), ("SUB SP imm", &[0xb081], 1, 1),
    ("SXTH", &[0xb208], 1, 1), ("SXTB", &[0xb248], 1, 1), ("UXTH", &[0xb288], 1, 1),
    ("UXTB", &[0xb2c8], 1, 1), ("REV", &[0xba08], 1, 1), ("REV16", &[0xba48], 1, 1),
    ("REVSH", &[0xbac8], 1, 1),
    // 1+N; with the PC 4+N and 3+N, the PC counted in N.
    ("PUSH", &[0xb401], 2, 2), ("PUSH", &[0xb4ff], 9, 9), ("PUSH lr", &[0xb501], 3, 3),
    ("POP", &[0xbc70], 4, 4), ("POP pc", &[0xbd00], 5, 4), ("POP pc", &[0xbd10], 6, 5),
    ("POP pc", &[0xbdff], 13, 12),
    ("STM", &[0xc006], 3, 3), ("LDM", &[0xc806], 3, 3), ("LDM no writeback", &[0xc803], 3, 3),
    ("CPSIE", &[0xb662], 1, 1), ("CPSID", &[0xb672], 1, 1),
    ("NOP", &[0xbf00], 1, 1), ("YIELD", &[0xbf10], 1, 1), ("SEV", &[0xbf40], 1, 1),
    ("WFE", &[0xbf20], 2, 2), ("WFI", &[0xbf30], 2, 2),
    // Z is set: BEQ is taken, BNE is not.
    ("B cond forward", &[0xd001], 3, 2), ("B cond backward", &[0xd0fc], 3, 2),
    ("B cond forward", &[0xd101], 1, 1), ("B cond backward", &[0xd1fc], 1, 1),
    ("B forward", &[0xe001], 3, 2), ("B backward", &[0xe7fc], 3, 2),
    ("BL forward", &[0xf000, 0xf802], 4, 3), ("BL backward", &[0xf7ff, 0xfffc], 4, 3),
    ("MSR APSR", &[0xf381, 0x8800], 4, 3), ("MSR IAPSR", &[0xf381, 0x8801], 4, 3),
    ("MSR EAPSR", &[0xf381, 0x8802], 4, 3), ("MSR XPSR", &[0xf381, 0x8803], 4, 3),
    ("MSR IPSR", &[0xf381, 0x8805], 4, 3), ("MSR EPSR", &[0xf381, 0x8806], 4, 3),
    ("MSR IEPSR", &[0xf381, 0x8807], 4, 3), ("MSR MSP", &[0xf381, 0x8808], 4, 3),
    ("MSR PSP", &[0xf381, 0x8809], 4, 3), ("MSR PRIMASK", &[0xf381, 0x8810], 4, 3),
    ("MSR CONTROL", &[0xf381, 0x8814], 4, 3),
    ("MRS APSR", &[0xf3ef, 0x8200], 4, 3), ("MRS IAPSR", &[0xf3ef, 0x8201], 4, 3),
    ("MRS EAPSR", &[0xf3ef, 0x8202], 4, 3), ("MRS XPSR", &[0xf3ef, 0x8203], 4, 3),
    ("MRS IPSR", &[0xf3ef, 0x8205], 4, 3), ("MRS EPSR", &[0xf3ef, 0x8206], 4, 3),
    ("MRS IEPSR", &[0xf3ef, 0x8207], 4, 3), ("MRS MSP", &[0xf3ef, 0x8208], 4, 3),
    ("MRS PSP", &[0xf3ef, 0x8209], 4, 3), ("MRS PRIMASK", &[0xf3ef, 0x8210], 4, 3),
    ("MRS CONTROL", &[0xf3ef, 0x8214], 4, 3),
    ("DSB", &[0xf3bf, 0x8f4f], 4, 3), ("DMB", &[0xf3bf, 0x8f5f], 4, 3),
    ("ISB", &[0xf3bf, 0x8f6f], 4, 3),
];

/// The tables give these no figure; SVC is exception entry, see `exceptions.rs`.
const NO_FIGURE: &[&str] = &["BKPT", "UDF", "UDF.W", "SVC"];

/// Keeps what the first instruction took.
#[derive(Default)]
struct First(Option<Retired>);

impl Observer for First {
    const EACH: bool = true;
    fn instruction(&mut self, retired: &Retired) {
        self.0.get_or_insert(*retired);
    }
}

fn cycles(kind: CoreKind, code: &[u16], base: u32) -> u32 {
    let mut machine = machine(kind, code, First::default());
    machine.cpu.r[0] = base;
    machine.cpu.r[1] = 4;
    machine.cpu.r[3] = 0x201;
    machine.cpu.r[14] = 0x201;
    machine.bus.load(0x2000_0800, &[0x01, 0x02, 0, 0].repeat(16)).expect("RAM is that large");
    run(&mut machine, 1);
    let first = machine.observer.0.expect("an instruction retired");
    assert_eq!(first.pc, CODE);
    first.cycles
}

#[test]
fn every_form_costs_what_the_manuals_say() {
    for &(form, code, m0, m0plus) in PROBES {
        assert_eq!(cycles(CoreKind::CortexM0, code, 0x2000_0100), m0, "{form} on the M0");
        assert_eq!(cycles(CoreKind::CortexM0plus, code, 0x2000_0100), m0plus, "{form} on the M0+");
    }
}

#[test]
fn every_form_is_probed() {
    for form in FORMS.iter().filter(|f| !NO_FIGURE.contains(f)) {
        assert!(PROBES.iter().any(|(probed, ..)| probed == form), "no probe for {form}");
    }
}

/// DDI 0484C: loads and stores take one cycle through the single-cycle I/O port.
#[test]
fn io_port_takes_one_cycle_on_the_m0plus_only() {
    for access in [0x6002, 0x6802, 0x7002, 0x8802] {
        assert_eq!(cycles(CoreKind::CortexM0plus, &[access], 0x5000_0000), 1);
        assert_eq!(cycles(CoreKind::CortexM0, &[access], 0x5000_0000), 2);
    }
}
