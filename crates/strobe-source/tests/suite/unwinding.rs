//! Unwinding against the simulator's shadow stack: at random instants of every bundled firmware of
//! an Arm core, the chain of calls that registers and memory give is the one that really happened.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_devices::machine::Stop;
use strobe_sim::cortexm::Machine;
use strobe_sim::device::Size;
use strobe_sim::kernel::core::Core as _;
use strobe_sim::observe::calls::CallTree;
use strobe_symbols::{Backtrace, Firmware, Registers, StackFrameKind, UnwindEnd};

/// Instants of each firmware.
const INSTANTS: u64 = 400;
/// Cycles between two of them, at most.
const STRETCH: u64 = 20_011;

/// A chain as the shadow stack has it: return addresses, `None` for the step to interrupted code.
type Chain = Vec<Option<u32>>;

fn chain(trace: &Backtrace) -> Chain {
    let mut out = Vec::new();
    for frame in &trace.frames[1..] {
        if frame.kind == StackFrameKind::Interrupted {
            out.push(None);
        }
        out.push(Some(frame.pc));
    }
    out
}

/// The board that an image runs on; none for AVR, which has nothing to unwind by, and for one whose
/// misses are known: in `kit-tasks` the shadow stack, which does not know here which variables are
/// stacks, takes threads for calls of each other.
pub(crate) fn board(name: &str) -> Option<&'static str> {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let starts = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
    match name {
        "echo-ping" | "kit-tasks" => None,
        _ if has(&["avr", "cube"]) => None,
        "strings-kit-itm" => Some("stm32f407"),
        _ if starts(&["trace", "log-rs", "benched-rs"]) => Some("stm32f407"),
        _ if has(&["m4"]) => Some("cortex-m4f"),
        _ if has(&["lm3s6965"]) => Some("lm3s6965evb"),
        _ if has(&["mps2"]) => Some("mps2-an385"),
        _ if has(&["m3", "floaty", "strings-kit-rtt"]) => Some("cortex-m3"),
        _ => Some("stm32f070cb"),
    }
}

fn machine(firmware: &Firmware, board: &Board) -> Option<Machine<CallTree>> {
    let mut bus = board.build().ok()?;
    for segment in firmware.segments() {
        bus.load(segment.load_address.0, segment.data()).ok()?;
    }
    let functions = firmware.functions().iter();
    let mut functions: Vec<(u32, u32)> =
        functions.map(|f| (f.start & !1, f.end() as u32)).filter(|(a, b)| a < b).collect();
    functions.sort_unstable();
    functions.dedup_by_key(|f| f.0);
    let mut end = 0;
    functions.retain(|f| {
        let begins = end;
        end = end.max(f.1);
        f.0 >= begins
    });
    let tree = CallTree::new(&bus, &functions);
    let mut machine = Machine::new(bus, &board.arm_core()?, tree);
    machine.set_function_entries(functions.iter().map(|f| f.0).collect());
    machine.reset().ok()?;
    let (pc, sp) = (machine.cpu.pc, machine.cpu.msp());
    machine.observer.start(pc, sp);
    Some(machine)
}

fn registers(machine: &Machine<CallTree>) -> Registers {
    Registers {
        core: machine.cpu.registers(),
        main_stack_pointer: Some(machine.cpu.msp()),
        process_stack_pointer: Some(machine.cpu.psp()),
    }
}

/// Whether the BL before a return address leads into the middle of the function that it is in: LLVM
/// jumps so where ARMv6-M has no other instruction that reaches far enough. The shadow stack counts
/// a call.
fn is_jump(firmware: &Firmware, back: u32) -> bool {
    let call = back.wrapping_sub(4);
    let instruction = firmware.instructions(call..back).next();
    let target = instruction.and_then(|i| i.target).map(|target| target.address);
    let Some(target) = target else { return false };
    let here = firmware.function_at(call);
    let there = firmware.function_at(target);
    here.is_some() && here == there && there.is_some_and(|id| firmware.function(id).start != target)
}

/// A miss: each frame of the walk with its stack pointer, and the chain that happened.
fn shown(trace: &Backtrace, real: &Chain) -> String {
    let frame = |f: &strobe_symbols::StackFrame| format!("{:#x} (sp {:#x})", f.pc, f.sp);
    let walked: Vec<String> = trace.frames.iter().map(frame).collect();
    let step = |step: &Option<u32>| step.map_or("interrupted".to_owned(), |at| format!("{at:#x}"));
    let real: Vec<String> = real.iter().map(step).collect();
    format!("walked {}\nreal   {}", walked.join(", "), real.join(", "))
}

/// Why a chain is not the shadow stack's: what the walk itself reports, and where.
fn class(firmware: &Firmware, trace: &Backtrace, walked: &Chain, real: &Chain) -> String {
    let last = trace.frames.last().expect("a walk has a frame");
    let inside = firmware.describe(last.pc).unwrap_or_else(|| "(no symbol)".to_owned());
    let function = inside.split('+').next().unwrap_or_default().to_owned();
    match trace.end {
        UnwindEnd::NoUnwindInfo { .. } if real.starts_with(walked) => {
            format!("no unwind information for {function}")
        }
        // `coroutines` makes its stacks by hand: each ends at the function that it began with,
        // while the shadow stack goes on with whoever resumed it.
        UnwindEnd::Bottom if real.starts_with(walked) && function == "resume" => {
            format!("no unwind information behind the end of a stack, {function}")
        }
        end if real.starts_with(walked) => format!("stopped early in {function}: {end:?}"),
        end if walked.starts_with(real) => format!("went on from {function}: {end:?}"),
        end => format!("another chain, up to {function}: {end:?}"),
    }
}

#[test]
fn chains_are_those_that_happened() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/prebuilt");
    let mut names: Vec<_> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let (mut agreed, mut described, mut firmwares) = (0_u64, 0_u64, 0);
    // How often, and what it was the first time.
    let mut misses: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for path in names {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_elf = path.extension().is_some_and(|extension| extension == "elf");
        let Some(board) = board(&name).filter(|_| is_elf) else { continue };
        let firmware = Firmware::parse(fs::read(&path).unwrap()).unwrap();
        let board = Board::builtin(board).expect("a bundled board");
        let Some(mut machine) = machine(&firmware, &board) else { continue };
        firmwares += 1;
        for _ in 0..INSTANTS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let limit = machine.cycles() + 1 + random % STRETCH;
            if machine.run(limit, &AtomicBool::new(false)) != Stop::Limit {
                break;
            }
            let bus = &machine.bus;
            let trace =
                firmware.backtrace(&registers(&machine), |address| bus.peek(address, Size::Word));
            let mut real = machine.observer.backtrace(false);
            // Where an exception came is no return address, whatever lies before it.
            let mut is_interrupted = false;
            real.retain(|step| {
                let was_interrupted = std::mem::replace(&mut is_interrupted, step.is_none());
                was_interrupted || step.is_none_or(|back| !is_jump(&firmware, back))
            });
            let walked = chain(&trace);
            // More frames than a walk has at most: all that it has are right.
            let is_deep = trace.end == UnwindEnd::TooDeep && real.starts_with(&walked);
            if walked == real || is_deep {
                agreed += 1;
                continue;
            }
            let class = class(&firmware, &trace, &walked, &real);
            described += u64::from(!class.starts_with("no unwind information"));
            misses
                .entry(format!("{name}: {class}"))
                .or_insert_with(|| (0, shown(&trace, &real)))
                .0 += 1;
        }
    }
    let missed: u64 = misses.values().map(|(times, _)| times).sum();
    for (class, (times, example)) in &misses {
        println!("{times:6}  {class}\n{example}");
    }
    println!("{agreed} of {} instants of {firmwares} programs agree", agreed + missed);
    assert!(firmwares >= 20 && agreed + missed > 3000, "{firmwares} {agreed} {missed}");
    // Of the rest one in a thousand, at most, may differ: assembly in the middle of a switch
    // between two stacks (`PendSV_Handler`, `threads_run`).
    assert!(described * 1000 <= agreed + missed, "{misses:#?}");
}
