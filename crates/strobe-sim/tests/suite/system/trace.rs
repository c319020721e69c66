//! What the trace blocks report of the core: exceptions at their cycles, sleep, idle loops, data
//! accesses.

use strobe_sim::cortexm::timing::CoreKind;
use strobe_sim::cortexm::{Machine, Stop};
use strobe_sim::kernel::core::Core as _;
use strobe_sim::observe::{Observer, TraceByte};
use strobe_synth::{Hint, Insn, LoadStore, Reg};

use super::program::{Program, RAM, run, scs};

/// The bytes of the pin with their cycles.
#[derive(Default)]
struct Pin(Vec<(u64, u8)>);

impl Observer for Pin {
    fn trace(&mut self, byte: &TraceByte) {
        self.0.push((byte.cycle, byte.value));
    }
}

/// A core with its trace blocks on, at one cycle a bit and with these in TCR and DWT_CTRL, and a
/// register more.
fn traced(program: Program, tcr: u32, ctrl: u32, more: &[(u32, u32)]) -> Machine<Pin> {
    let mut machine = program.machine(CoreKind::CortexM4, Pin::default());
    let common = [
        (scs::DEMCR, 1 << 24),
        (0xe004_0010, 0),
        (0xe004_00f0, 2),
        (0xe004_0304, 0x100),
        (0xe000_0fb0, 0xc5ac_ce55),
        (0xe000_0e80, 0x1_0009 | tcr),
    ];
    for &(address, value) in common.iter().chain(more).chain(&[(scs::DWT_CTRL, 1 | ctrl)]) {
        machine.debugger_write(address, value).expect("a register");
    }
    machine
}

fn bytes(machine: &Machine<Pin>) -> Vec<u8> {
    machine.observer.0.iter().map(|&(_, byte)| byte).collect()
}

/// Exceptions with the cycles since the one before: (number, 1 enter, 2 exit, 3 return, cycles).
fn exceptions(bytes: &[u8]) -> Vec<(u16, u8, u32)> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            0x0e => {
                let word = u16::from_le_bytes([bytes[at + 1], bytes[at + 2]]);
                out.push((word & 0x1ff, (word >> 12) as u8, u32::MAX));
                at += 3;
            }
            0xc0 => {
                let length = bytes[at + 1..].iter().position(|byte| byte & 0x80 == 0);
                let payload = &bytes[at + 1..at + 2 + length.expect("an end")];
                let sevens = payload.iter().enumerate();
                let ticks = sevens.map(|(n, byte)| u32::from(byte & 0x7f) << (7 * n)).sum();
                out.last_mut().expect("a packet before").2 = ticks;
                at += 1 + payload.len();
            }
            short if short & 0x8f == 0 && short != 0x70 => {
                out.last_mut().expect("a packet before").2 = u32::from(short >> 4);
                at += 1;
            }
            other => panic!("{other:#x} at {at} of {bytes:x?}"),
        }
    }
    out
}

const EXCTRCENA: u32 = 1 << 16;
const TSENA: u32 = 2;

fn exceptions_of(program: Program) -> Vec<(u16, u8, u32)> {
    let mut machine = traced(program, TSENA, EXCTRCENA, &[]);
    assert_eq!(run(&mut machine, 100_000), Stop::SleepsForever);
    machine.finish_sending(1_000_000);
    exceptions(&bytes(&machine))
}

/// In at the handler's first instruction, out with the branch's own cycle, back ten cycles later.
#[test]
fn exceptions_are_reported_at_their_cycles() {
    let mut p = Program::new();
    p.nops(10);
    p.svc();
    p.nops(1);
    p.stop();
    p.handler(11);
    p.nops(40);
    p.bx_lr();
    assert_eq!(exceptions_of(p), [(11, 1, 10 + 1 + 12), (11, 2, 40 + 1), (0, 3, 10)]);
}

#[test]
fn a_chained_handler_is_entered_without_a_return() {
    let mut p = Program::new();
    p.store(scs::ICSR, 1 << 28 | 1 << 26);
    p.nops(1);
    p.stop();
    for exception in [14, 15] {
        p.handler(exception);
        p.nops(40);
        p.bx_lr();
    }
    let seen = exceptions_of(p);
    let expected = [(14, 2, 41), (15, 1, 6), (15, 2, 41), (0, 3, 10)];
    assert_eq!((seen[0].0, seen[0].1), (14, 1));
    assert_eq!(seen[1..], expected);
}

#[test]
fn a_nested_handler_returns_to_the_other() {
    let mut p = Program::new();
    p.store(scs::SHPR2, 0x80 << 24);
    p.svc();
    p.stop();
    p.handler(11);
    p.nops(40);
    p.store(scs::ICSR, 1 << 26);
    p.nops(60);
    p.bx_lr();
    p.handler(15);
    p.nops(40);
    p.bx_lr();
    let seen: Vec<(u16, u8)> = exceptions_of(p).iter().map(|e| (e.0, e.1)).collect();
    assert_eq!(seen, [(11, 1), (15, 1), (15, 2), (11, 3), (11, 2), (0, 3)]);
}

/// A loop that is skipped is sampled all the same: in each of its instructions as often as that has
/// cycles.
#[test]
fn idle_loops_and_sleep_are_sampled() {
    let idle = |wait: Option<Hint>| {
        let mut p = Program::new();
        p.store(scs::SYST_RVR, 99_999);
        p.store(scs::SYST_CVR, 0);
        p.store(scs::SYST_CSR, 7);
        let begin = p.here();
        match wait {
            Some(op) => p.emit(Insn::Hint { op }),
            None => p.nops(2),
        }
        let here = p.here();
        p.emit(Insn::B { offset: begin.cast_signed() - here.cast_signed() - 4 });
        p.handler(15);
        p.bx_lr();
        let mut machine = traced(p, 0, 1 << 12, &[]);
        assert_eq!(run(&mut machine, 1_000_000), Stop::Limit);
        (begin, bytes(&machine))
    };
    let (begin, seen) = idle(None);
    let mut samples = [0u32; 3];
    let mut others = 0;
    for packet in seen.chunks_exact(5) {
        assert_eq!(packet[0], 0x17);
        let pc = u32::from_le_bytes(packet[1..].try_into().expect("four"));
        match samples.get_mut((pc.wrapping_sub(begin) / 2) as usize) {
            Some(count) => *count += 1,
            None => others += 1,
        }
    }
    assert_eq!(samples.iter().sum::<u32>() + others, 1_000_000 / 64 - 1);
    assert!(others < 10, "{others}");
    // Five or six cycles, of which NOPs have one each.
    assert!(samples[0] > 2000 && samples[0].abs_diff(samples[1]) < 200, "{samples:?}");
    assert!(samples[2] > 2 * samples[0], "{samples:?}");
    let (_, seen) = idle(Some(Hint::Wfi));
    let asleep = seen.iter().filter(|&&byte| byte == 0x15).count();
    assert!((15_500..15_625).contains(&asleep), "{asleep}");
}

/// Comparators see each word of an LDM and STM, and nothing outside their range.
#[test]
fn comparators_report_accesses() {
    let mut p = Program::new();
    p.set(0, RAM + 0x100);
    p.set(1, 0x1111);
    p.set(2, 0x2222);
    p.access(LoadStore::Strb, 1, 0);
    p.access(LoadStore::Ldrh, 3, 0);
    p.emit(Insn::Stm { rn: Reg::new(0), list: 0b110 });
    p.store(RAM + 0x200, 5);
    p.stop();
    // Comparator 1: values of all accesses to eight bytes; comparator 3: addresses of writes there.
    let comparators = [
        (0xe000_1030, RAM + 0x100),
        (0xe000_1034, 3),
        (0xe000_1038, 2),
        (0xe000_1050, RAM + 0x100),
        (0xe000_1054, 3),
        (0xe000_1058, 0x2d),
    ];
    let mut machine = traced(p, 0, 0, &comparators);
    assert_eq!(run(&mut machine, 100_000), Stop::SleepsForever);
    machine.finish_sending(1_000_000);
    let expected: [&[u8]; 7] = [
        &[0x9d, 0x11],
        &[0x7e, 0x00, 0x01],
        &[0x96, 0x11, 0x00],
        &[0x9f, 0x11, 0x11, 0, 0],
        &[0x7e, 0x00, 0x01],
        &[0x9f, 0x22, 0x22, 0, 0],
        &[0x7e, 0x04, 0x01],
    ];
    assert_eq!(bytes(&machine), expected.concat());
}

/// CYCMATCH: the instruction at which CYCCNT has a value.
#[test]
fn a_comparator_can_wait_for_a_cycle() {
    let mut p = Program::new();
    let begin = p.here();
    p.nops(100);
    p.stop();
    let comparator = [(0xe000_1020, 50), (0xe000_1028, 0x81)];
    let mut machine = traced(p, 0, 0, &comparator);
    run(&mut machine, 100_000);
    machine.finish_sending(1_000_000);
    let pc = (begin + 2 * 50).to_le_bytes();
    assert_eq!(bytes(&machine), [&[0x47][..], &pc].concat());
}
