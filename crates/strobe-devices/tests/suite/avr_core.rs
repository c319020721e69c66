//! Interrupts, sleep and pins to the cycle, in small programs; what each instruction does is the
//! lockstep's business.

use std::sync::atomic::AtomicBool;

use strobe_synth::AvrForm;

use strobe_devices::board::Board;
use strobe_sim::avr::{FIRST_EXCEPTION, Machine, Stop};
use strobe_sim::bus::{Bus, Slave, Slot};
use strobe_sim::device::{Context, CoreEvents, Device, Size};
use strobe_sim::kernel::core::Core as _;
use strobe_sim::observe::{Observer, Retired, Transfer, TransferKind};
use strobe_sim::signal::PinEdge;

/// What a test wants to see: instructions one by one, transfers, edges.
#[derive(Default)]
struct Seen<const EACH: bool> {
    retired: Vec<(u32, u64)>,
    transfers: Vec<Transfer>,
    edges: Vec<PinEdge>,
}

impl<const EACH: bool> Observer for Seen<EACH> {
    const FLOW: bool = true;
    const EACH: bool = EACH;

    fn instruction(&mut self, retired: &Retired) {
        self.retired.push((retired.pc, retired.start));
    }
    fn transfer(&mut self, transfer: &Transfer, _: &Bus) {
        self.transfers.push(*transfer);
    }
    fn pin(&mut self, edge: &PinEdge) {
        self.edges.push(*edge);
    }
}

/// Asks for interrupt 3 in certain cycles, until it is taken.
struct Asker {
    at: Vec<u64>,
}

impl Asker {
    fn next(&mut self, cx: &mut Context) {
        if let Some(&at) = self.at.first() {
            cx.wake_at(at);
        }
    }
}

impl Device for Asker {
    fn read(&mut self, _: u32, _: Size, _: &mut Context) -> Option<u32> {
        None
    }
    fn write(&mut self, _: u32, _: Size, _: u32, _: &mut Context) -> Option<()> {
        None
    }
    fn event(&mut self, cx: &mut Context) {
        self.at.remove(0);
        cx.interrupt(0, true);
    }
    fn reset(&mut self, cx: &mut Context) {
        self.next(cx);
    }
    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        Some(self)
    }
}

impl CoreEvents for Asker {
    fn interrupt_taken(&mut self, _: usize, cx: &mut Context) {
        cx.interrupt(0, false);
        self.next(cx);
    }
}

/// One instruction, `"sbi a=11 b=1"`.
fn words(text: &str) -> Vec<u16> {
    let (names, operands): (Vec<&str>, Vec<&str>) =
        text.split(' ').partition(|word| !word.contains('='));
    let operand = |word: &&str| {
        let (field, value) = word.split_once('=').unwrap();
        (field.chars().next().unwrap(), value.parse::<i32>().unwrap() as u32)
    };
    let operands: Vec<_> = operands.iter().map(operand).collect();
    AvrForm::named(&names.join(" ")).encode(&operands)
}

fn bytes(program: &[&str]) -> Vec<u8> {
    program.iter().flat_map(|text| words(text)).flat_map(u16::to_le_bytes).collect()
}

const HANDLER: u32 = 3 * 4;
const MAIN: u32 = 0x80;

/// A board with `program` at [`MAIN`], `handler` at vector 3, and interrupts asked for in these
/// cycles.
fn machine<const EACH: bool>(
    board: &str,
    program: &[&str],
    handler: &[&str],
    asks: &[u64],
) -> Machine<Seen<EACH>> {
    let board = Board::builtin(board).unwrap();
    let mut bus = board.build().unwrap();
    let (irqs, size) = (vec![(3, false)], 0);
    bus.add(Slot {
        is_part: false,
        is_network: false,
        name: "ASKER".to_owned(),
        base: 0,
        size,
        slave: Slave::Ahb,
        gate: None,
        gate_name: String::new(),
        reset: None,
        irqs,
        device: Some(Box::new(Asker { at: asks.to_vec() })),
        unclocked: 0,
        unclocked_pc: 0,
    });
    bus.load(MAIN, &bytes(program)).unwrap();
    bus.load(HANDLER, &bytes(handler)).unwrap();
    let mut machine = Machine::new(bus, &board.avr_core().unwrap(), Seen::default());
    machine.reset().unwrap();
    machine.cpu.pc = MAIN;
    machine.record_pins(true);
    machine
}

fn run<O: Observer>(machine: &mut Machine<O>, limit: u64) -> Stop {
    machine.run(limit, &AtomicBool::new(false))
}

/// When each instruction of a program at [`MAIN`] and of its handler began: (address from MAIN or
/// HANDLER, cycle).
fn starts(board: &str, program: &[&str], handler: &[&str], asks: &[u64]) -> Vec<(u32, u64)> {
    let mut machine = machine::<true>(board, program, handler, asks);
    run(&mut machine, 40);
    machine.observer.retired
}

const NOPS: [&str; 12] = ["nop"; 12];

#[test]
fn an_interrupt_takes_four_cycles_and_its_return_four() {
    let program = [&["bset s=7"][..], &NOPS].concat();
    let seen = starts("arduino-uno", &program, &["reti"], &[5]);
    let handler = seen.iter().position(|s| s.0 == HANDLER).unwrap();
    assert_eq!(seen[handler - 1], (MAIN + 8, 4), "what runs is finished");
    assert_eq!(seen[handler].1, 5 + 4);
    assert_eq!(seen[handler + 1], (MAIN + 10, 9 + 4));
}

/// The third byte of the program counter costs a cycle each way.
#[test]
fn a_wide_program_counter_takes_five_each_way() {
    let program = [&["bset s=7"][..], &NOPS].concat();
    let seen = starts("arduino-mega", &program, &["reti"], &[5]);
    let handler = seen.iter().position(|s| s.0 == HANDLER).unwrap();
    assert_eq!(seen[handler].1, 5 + 5);
    assert_eq!(seen[handler + 1], (MAIN + 10, 10 + 5));
}

#[test]
fn an_instruction_is_finished_first() {
    let program = ["bset s=7", "nop", "call k=64", "nop"];
    let seen = starts("arduino-uno", &program, &["reti"], &[3]);
    // CALL runs from 2 to 6, to MAIN itself.
    assert_eq!(seen[3], (HANDLER, 6 + 4));
}

#[test]
fn one_instruction_runs_after_sei_and_after_reti() {
    let program = [&["nop", "nop", "bset s=7"][..], &NOPS].concat();
    let seen = starts("arduino-uno", &program, &["reti"], &[0, 1]);
    let expected = [
        (MAIN + 4, 2),
        (MAIN + 6, 3),
        (HANDLER, 8),
        (MAIN + 8, 12),
        (HANDLER, 17),
        (MAIN + 10, 21),
    ];
    assert_eq!(seen[2..8], expected);
}

/// OUT to SREG and a store to its address enable interrupts as SEI does.
#[test]
fn any_write_that_enables_interrupts_lets_one_instruction_run() {
    let out = ["ldi d=0 k=128", "out a=63 d=16"];
    let sts = ["ldi d=0 k=128", "sts d=16 a=95"];
    for (enable, cycles) in [(out, 2), (sts, 3)] {
        let program = [&enable[..], &NOPS].concat();
        let seen = starts("arduino-uno", &program, &["reti"], &[0]);
        assert_eq!(seen[2].1, cycles, "{enable:?}");
        assert_eq!(seen[3], (HANDLER, cycles + 1 + 4), "{enable:?}");
    }
}

#[test]
fn nothing_interrupts_between_sei_and_sleep() {
    // SMCR.SE, then the pair that firmware relies on; waking up takes four cycles more.
    let program = ["ldi d=0 k=1", "out a=51 d=16", "bset s=7", "sleep", "nop", "nop"];
    let seen = starts("arduino-uno", &program, &["reti"], &[0]);
    assert_eq!(seen[3], (MAIN + 6, 3));
    assert_eq!(seen[4], (HANDLER, 4 + 4 + 4));
    assert_eq!(seen[5], (MAIN + 8, 12 + 4));
    let mut machine = machine::<false>("arduino-uno", &program, &["reti"], &[30]);
    run(&mut machine, 30 + 8);
    assert_eq!((machine.asleep(), machine.cpu.pc), (30 - 4, HANDLER));
}

#[test]
fn asleep_with_interrupts_off_is_for_ever() {
    let program = ["ldi d=0 k=1", "out a=51 d=16", "sleep", "nop"];
    let mut machine = machine::<false>("arduino-uno", &program, &["reti"], &[9]);
    assert_eq!(run(&mut machine, 1000), Stop::SleepsForever);
}

#[test]
fn sleep_does_nothing_without_its_enable_bit() {
    let mut machine = machine::<false>("arduino-uno", &["sleep", "rjmp k=-1"], &[], &[]);
    assert_eq!(run(&mut machine, 1000), Stop::SleepsForever);
    assert_eq!(machine.cpu.pc, MAIN + 2, "in the empty loop behind it");
    let warnings: Vec<_> = machine.bus.warnings.iter().collect();
    assert!(warnings[0].0.contains("sleep is not enabled"), "{warnings:?}");
}

/// A run may be cut anywhere: each arrival at a stop address is reported, and once.
#[test]
fn arrivals_are_reported_wherever_a_run_is_cut() {
    for stride in [1_usize, 2, 3, 4, 10, 300] {
        // Three cycles a turn.
        let program = ["ldi d=0 k=1", "rjmp k=-2"];
        let mut machine = machine::<false>("arduino-uno", &program, &["reti"], &[]);
        machine.set_stops(vec![MAIN]);
        let mut arrivals = 0;
        for limit in (stride..=300).step_by(stride) {
            loop {
                match run(&mut machine, limit as u64) {
                    Stop::Address(MAIN) => arrivals += 1,
                    Stop::Limit => break,
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(arrivals, 100, "cut every {stride} cycles");
    }
}

/// CLI masks only where interrupts were enabled: the code that a compiler writes around a new stack
/// pointer does not, before they are.
#[test]
fn request_delayed_by_masking_knows_the_masks_start() {
    let masked = |program: &[&str], at: u64| {
        let mut machine = machine::<false>("arduino-uno", program, &["reti"], &[at]);
        run(&mut machine, 40);
        machine.observer.transfers.iter().find_map(|t| match t.kind {
            TransferKind::ExceptionEntry { masked_from, .. } => Some(masked_from),
            _ => None,
        })
    };
    let begin = ["bset s=7", "nop", "bclr s=7", "nop", "nop", "nop", "bset s=7", "nop"];
    let program: Vec<&str> = begin.into_iter().chain(["nop"; 10]).chain(["rjmp k=-1"]).collect();
    assert_eq!(masked(&program, 4), Some(Some(MAIN + 4)));
    assert_eq!(masked(&program, 12), Some(None), "it came later");
    assert_eq!(masked(&program[2..], 2), Some(None), "masked since reset");
}

/// The call tree pairs a call with its return by the stack pointer, and the handler with its
/// return.
#[test]
fn transfers_say_where_the_stack_will_be_again() {
    // rcall over the jump; ret
    let program = ["bset s=7", "rcall k=1", "rjmp k=-1", "nop", "nop", "ret"];
    let mut machine = machine::<false>("arduino-uno", &program, &["reti"], &[5]);
    machine.set_function_entries(vec![HANDLER, MAIN, MAIN + 6]);
    run(&mut machine, 40);
    let seen: Vec<_> = machine.observer.transfers.iter().map(|t| (t.kind, t.sp)).collect();
    let top = 0x80_0900;
    let exception = FIRST_EXCEPTION + 3;
    let entry = TransferKind::ExceptionEntry {
        exception,
        pended_at: 5,
        masked_from: None,
        interrupted_sp: top - 2,
        after: None,
        cost: 4,
    };
    let expected = [
        (TransferKind::Call { return_address: MAIN + 4 }, top),
        (entry, top - 4),
        (TransferKind::ExceptionReturn { exception }, top - 2),
        (TransferKind::Indirect, top),
    ];
    assert_eq!(seen, expected);
    // The return address of the call, in words, high byte first.
    assert_eq!(machine.bus.ram.data[0x7fe..], [0, ((MAIN + 4) / 2) as u8]);
}

/// 1022 cycles, as a logic analyser measured on an ATmega328P: 63.875 us at 16 MHz.
#[test]
fn founding_loop_is_1022_cycles_between_edges() {
    let program = [
        "sbi a=10 b=1",
        "sbi a=11 b=1",
        "ldi d=8 k=255",
        "nop",
        "subi d=8 k=1",
        "brbc s=1 k=-3",
        "cbi a=11 b=1",
        "rjmp k=-1",
    ];
    for each in [false, true] {
        let edges = if each {
            let mut machine = machine::<true>("arduino-uno", &program, &[], &[]);
            run(&mut machine, 2000);
            machine.observer.edges
        } else {
            let mut machine = machine::<false>("arduino-uno", &program, &[], &[]);
            run(&mut machine, 2000);
            machine.observer.edges
        };
        let [up, down] = edges[..] else { panic!("{edges:?}") };
        assert_eq!((up.cycle, up.level, down.level), (4, true, false));
        assert_eq!(down.cycle - up.cycle, 1022);
    }
}

/// What GCC puts around an interrupt's handler that calls something: 38 cycles before, 41 behind.
#[test]
fn gccs_frame_of_an_interrupt() {
    let push: Vec<String> = (0..18).map(|n| format!("push d={n}")).collect();
    let pop: Vec<String> = (0..18).rev().map(|n| format!("pop d={n}")).collect();
    let mut program: Vec<&str> = push.iter().map(String::as_str).collect();
    program.extend(["in d=0 a=63", "eor d=1 r=1"]);
    let before = program.len();
    program.extend(pop.iter().map(String::as_str));
    program.extend(["out a=63 d=0", "reti"]);
    let mut machine = machine::<true>("arduino-uno", &program, &[], &[]);
    // It returns to erased flash.
    machine.cpu.sp -= 2;
    assert!(matches!(run(&mut machine, 100), Stop::Lockup(_)));
    assert_eq!(machine.observer.retired[before].1, 38);
    assert_eq!(machine.cycles(), 38 + 41);
}

/// A byte at 500 kbit/s takes 320 cycles, and of these its interrupt 86 before its handler does
/// anything: 4 to enter, 3 for the vector's JMP, 38 and 41 for what GCC saves and restores.
#[test]
fn an_interrupt_of_gccs_costs_86_cycles() {
    const BEHIND: usize = 20;
    let frame: Vec<String> = (0..18)
        .map(|n| format!("push d={n}"))
        .chain(["in d=0 a=63".to_owned(), "eor d=1 r=1".to_owned()])
        .chain((0..18).rev().map(|n| format!("pop d={n}")))
        .chain(["out a=63 d=0".to_owned(), "reti".to_owned()])
        .collect();
    let mut program = vec!["bset s=7"];
    program.extend(["nop"; BEHIND - 1]);
    program.extend(frame.iter().map(String::as_str));
    let jump = format!("jmp k={}", MAIN / 2 + BEHIND as u32);
    let mut machine = machine::<true>("arduino-uno", &program, &[&jump], &[5]);
    run(&mut machine, 100);
    let main = MAIN..MAIN + 2 * BEHIND as u32;
    let retired = machine.observer.retired.iter().filter(|(at, _)| main.contains(at));
    let begun: Vec<u64> = retired.map(|(_, cycle)| *cycle).collect();
    let taken = begun.windows(2).map(|two| two[1] - two[0]);
    assert_eq!(taken.filter(|&cycles| cycles != 1).collect::<Vec<_>>(), [1 + 4 + 3 + 38 + 41]);
}

/// An IN right behind the OUT that changes a pin still reads the old level (ATmega328P data sheet
/// 14.2.4).
#[test]
fn a_pin_is_read_one_cycle_late() {
    let program = ["ldi d=0 k=255", "out a=11 d=16", "in d=0 a=9", "in d=1 a=9", "rjmp k=-1"];
    let mut machine = machine::<false>("arduino-uno", &program, &[], &[]);
    run(&mut machine, 100);
    assert_eq!(machine.cpu.r[..2], [0, 255]);
}

/// Writing ones to PINx toggles; SBI does so to its bit alone.
#[test]
fn sbi_of_pinx_toggles_one_pin() {
    let program = ["ldi d=0 k=255", "out a=11 d=16", "sbi a=9 b=3", "in d=1 a=11", "rjmp k=-1"];
    let mut machine = machine::<false>("arduino-uno", &program, &[], &[]);
    run(&mut machine, 100);
    assert_eq!(machine.cpu.r[1], 0xf7);
}

#[test]
fn invalid_instruction_ends_the_run_with_its_place() {
    let mut machine = machine::<false>("attiny85", &["nop", "rjmp k=5"], &[], &[]);
    let Stop::Lockup(report) = run(&mut machine, 100) else { panic!() };
    assert_eq!((report.pc, report.cycle), (MAIN + 14, 3));
    assert!(report.text().contains("erased flash"), "{}", report.text());
    assert_eq!((machine.cycles(), machine.instructions()), (3, 2));
}

/// AVRe has no MUL, and a flash of 8 KiB no JMP.
#[test]
fn instructions_of_other_parts_are_none() {
    for text in ["mul d=1 r=2", "jmp k=64", "elpm", "eicall"] {
        let mut machine = machine::<false>("attiny85", &[text], &[], &[]);
        assert!(matches!(run(&mut machine, 100), Stop::Lockup(_)), "{text}");
    }
}

/// Without a debugger it does nothing (instruction set manual, BREAK).
#[test]
fn break_takes_a_cycle() {
    let seen = starts("arduino-uno", &["break", "nop"], &[], &[]);
    assert_eq!(seen[..2], [(MAIN, 0), (MAIN + 2, 1)]);
}

#[test]
fn spm_is_ignored_with_a_warning() {
    let mut machine = machine::<false>("arduino-uno", &["spm", "rjmp k=-1"], &[], &[]);
    assert_eq!(run(&mut machine, 100), Stop::SleepsForever);
    assert!(
        machine
            .bus
            .warnings
            .iter()
            .any(|(text, _)| text.contains("SPM was ignored") && text.contains("at 0x00080"))
    );
}

/// The program counter wraps at the end of flash, which small parts' RJMP relies on.
#[test]
fn the_program_counter_wraps_at_the_end_of_flash() {
    let mut machine = machine::<false>("attiny85", &["rjmp k=-128", "nop"], &[], &[]);
    machine.bus.load(0x1f82, &bytes(&["rjmp k=127"])).unwrap();
    assert_eq!(run(&mut machine, 4), Stop::Limit);
    assert_eq!(machine.cpu.pc, MAIN + 2);
}
