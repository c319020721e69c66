//! A link that keeps up loses nothing: what the pin sends is what happened.

use strobe_decode::swo::packet::{ExceptionAction, Packet};
use strobe_model::Cause;
use strobe_source::simulated::trace::{Programme, RegisterWrite};

use super::bench::{EXCEPTIONS, FRAMES, Plan, Traced, every, run, wilson};

/// 8 Mbaud at 168 MHz, a sample each 4096 cycles, exceptions.
const FAST: Plan = Plan { acpr: 20, tcr: 0, count: 0, ctrl: EXCEPTIONS | every(1, 3, 0) };

fn fast() -> Traced {
    let traced = run("trace", FAST.programme());
    assert_eq!(traced.overflows(), 0);
    traced
}

#[test]
fn every_sample_is_there_and_of_executed_code() {
    let traced = fast();
    // POSTINIT 0: the first at the first change of bit 10.
    assert_eq!(traced.samples(), (traced.cycles() - 1 - 1024) / 4096 + 1);
    let shares = traced.shares();
    let sampled: u64 = shares.iter().map(|share| share.2).sum();
    assert_eq!(sampled, traced.samples());
    let (_, cycles, hits) = shares.last().expect("sleep");
    let (low, high) = wilson(*hits, sampled);
    let share = *cycles as f64 / traced.cycles() as f64;
    assert!(share > 0.2 && low < share && share < high, "{share} asleep, {low} to {high} sampled");
}

#[test]
fn exceptions_are_counted_and_nest() {
    let traced = fast();
    for exception in &traced.record.exceptions {
        let count = |wanted| {
            traced.count(|packet| {
                matches!(packet, Packet::Exception { number, action }
                    if *number == exception.number && *action == wanted)
            })
        };
        assert_eq!(count(ExceptionAction::Entered), exception.count, "{}", exception.name);
        assert_eq!(count(ExceptionAction::Exited), exception.count, "{}", exception.name);
    }
    // Each exit leads back to what was entered before, or to a handler that is chained to it.
    let (mut stack, mut deepest, mut chained) = (vec![0], 0, 0);
    let mut exited = false;
    for packet in &traced.packets {
        let Packet::Exception { number, action } = *packet else { continue };
        match action {
            ExceptionAction::Entered => {
                chained += u64::from(exited);
                stack.push(number);
                deepest = deepest.max(stack.len() - 1);
            }
            ExceptionAction::Exited => assert_eq!(stack.pop(), Some(number)),
            ExceptionAction::Returned => assert_eq!(stack.last(), Some(&number)),
        }
        exited = action == ExceptionAction::Exited;
    }
    assert_eq!(deepest, 2, "the timer interrupts SysTick");
    assert_eq!(chained, traced.record.exceptions.iter().map(|e| e.tail_chained).sum::<u64>());
}

#[test]
fn ports_bring_what_the_firmware_wrote() {
    let traced = fast();
    let text: String = traced.port(0).iter().map(|&byte| char::from(byte as u8)).collect();
    let rounds: String = (0..60).step_by(4).map(|n| format!("round {n}\n")).collect();
    assert_eq!(text, format!("tracing\n{rounds}done\n"));
    let mut seed = 2_463_534_242u32;
    let mut mixed = || {
        for _ in 0..6000 {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
        }
        seed
    };
    assert_eq!(traced.port(1), (0..60).map(|_| mixed()).collect::<Vec<_>>());
}

/// Comparator 0 watches writes of `level`: the value, and the instruction that stored it.
#[test]
fn a_watched_variable_shows_each_store() {
    let mut programme = Plan { ctrl: 0, ..FAST }.programme();
    let level = level();
    let watch = [(0xe000_1020, level), (0xe000_1024, 0), (0xe000_1028, 15)];
    programme.writes.extend(Programme::from_iter(watch).writes);
    let traced = run("trace", programme);
    assert_eq!(traced.overflows(), 0);
    let value = |packet: &Packet| match *packet {
        Packet::DataTraceValue { comparator: 0, write: true, bytes: 4, value } => Some(value),
        _ => None,
    };
    let values: Vec<u32> = traced.packets.iter().filter_map(value).collect();
    // The start-up code clears it, then each round stores once.
    assert_eq!((values.len(), values[0]), (61, 0));
    assert!(values[1..].iter().all(|&value| value != 0));
    let functions = &traced.record.profile.functions;
    let mut stores = Vec::new();
    for packet in &traced.packets {
        let Packet::DataTracePc { comparator: 0, pc } = *packet else { continue };
        let addresses = &traced.record.profile.addresses;
        let at = addresses.binary_search_by_key(&pc, |a| a.address).expect("executed");
        let function = addresses[at].function.expect("some function's");
        stores.push(functions[function as usize].name.as_str());
    }
    assert_eq!(stores.len(), 61);
    assert_eq!(stores[0], "memset");
    assert!(stores[1..].iter().all(|&name| name == "main"));
}

fn level() -> u32 {
    let path = format!("{}/../../firmware/prebuilt/trace.elf", env!("CARGO_MANIFEST_DIR"));
    let firmware = strobe_symbols::Firmware::parse(std::fs::read(path).expect("bundled"));
    let firmware = firmware.expect("an ELF file");
    firmware.data_symbols().iter().find(|symbol| symbol.name == "level").expect("level").address
}

/// Local timestamps, added up, are the run's own time.
#[test]
fn timestamps_add_up_to_the_time_of_the_run() {
    let traced = run("trace", Plan { tcr: 2, ..FAST }.programme());
    assert_eq!(traced.overflows(), 0);
    let (mut now, mut last) = (0, 0);
    for packet in &traced.packets {
        match *packet {
            Packet::LocalTimestamp { ticks, .. } => now += u64::from(ticks),
            Packet::PcSample(_) | Packet::Sleep => last = now,
            _ => {}
        }
    }
    let final_sample = 1024 + (traced.cycles() - 1 - 1024) / 4096 * 4096;
    assert!(last < final_sample && now.abs_diff(final_sample) < 20_000, "{now}, {final_sample}");
}

/// The firmware starts its PLL while text is on its way: the same divider makes bits ten times
/// shorter.
#[test]
fn the_baud_follows_the_core_clock() {
    let traced = fast();
    let bits: Vec<u64> = traced.bytes.iter().map(|byte| byte.bit_ps).collect();
    assert!(bits.iter().all(|&bit| bit == 21 * 62_500 || bit == 125_000));
    assert!(bits.contains(&125_000));
    let early = run("trace", Plan { ctrl: every(0, 3, 0), ..FAST }.programme());
    let slow = early.bytes.iter().filter(|byte| byte.bit_ps == 21 * 62_500).count();
    // 210 cycles each, up to where the PLL takes over.
    assert!((15..25).contains(&slow), "{slow} bytes before the PLL");
    for pair in early.bytes.windows(2) {
        // A stop bit may be cut short by the change of clock, nothing else.
        assert!(pair[1].at_ps - pair[0].at_ps >= 10 * pair[0].bit_ps.min(pair[1].bit_ps));
    }
}

/// Programmed by the firmware itself, the blocks do the same.
#[test]
fn firmware_can_programme_them_itself() {
    let traced = run("trace-itself", Programme::default());
    let text: String = traced.port(0).iter().map(|&byte| char::from(byte as u8)).collect();
    assert!(text.starts_with("tracing\nround 0\n") && text.ends_with("done\n"), "{text}");
    let expected = traced.cycles() / 16_384;
    assert!(traced.samples().abs_diff(expected) <= 2, "{} of {expected}", traced.samples());
    let silent = run("trace", Programme::default());
    assert_eq!(silent.bytes, [], "nobody has programmed anything");
}

/// A write to some bits of a register keeps the others: DBGMCU_CR has those of low-power debugging
/// beside those of the pin.
#[test]
fn bits_beside_those_written_are_kept() {
    let mut programme = Programme::from_iter([(0xe004_2004, 0x7)]);
    programme.writes.push(RegisterWrite { address: 0xe004_2004, value: 0xff, mask: 0x20 });
    assert_eq!(run("trace", programme).programmed, [0x7, 0x27]);
}

/// All instruments together do not change the run.
#[test]
fn tracing_changes_nothing() {
    let [traced, silent] =
        [FAST.programme(), Programme::default()].map(|programme| run("trace-detuned", programme));
    assert_eq!(traced.record.profile.addresses, silent.record.profile.addresses);
    assert_eq!(traced.record.totals, silent.record.totals);
}

/// The manual's rule for the profiling counters (C1.8.4): instructions and what they count make
/// up all cycles.
#[test]
fn profiling_counters_make_up_the_cycles() {
    let all = 0x1f << 17;
    let traced = run("trace", Plan { acpr: 4, ctrl: all, ..FAST }.programme());
    assert_eq!(traced.overflows(), 0);
    let wraps = |bit: u8| {
        let has = |packet: &Packet| matches!(packet, Packet::EventCounter(c) if c.0 & bit != 0);
        256 * traced.count(has) as i64
    };
    let names = ["CPI", "EXC", "SLEEP", "LSU", "FOLD"];
    let [cpi, exc, sleep, lsu, fold] = [1, 2, 4, 8, 16].map(wraps);
    println!("{names:?}: {:?}", [cpi, exc, sleep, lsu, fold]);
    let instructions = traced.record.totals.instructions as i64;
    let sum = instructions + cpi + exc + sleep + lsu - fold;
    let cycles = traced.cycles() as i64;
    // Waits for vectors and for the first instructions of handlers are in none of them.
    assert!((cycles - sum).abs() < cycles / 500, "{sum} of {cycles}");
    let by_cause = |cause: Cause| traced.record.totals.by_cause[cause] as i64;
    assert!((sleep - by_cause(Cause::Asleep)).abs() <= 256);
    let overhead = by_cause(Cause::ExceptionEntry) + by_cause(Cause::ExceptionExit);
    assert!((exc - overhead).abs() <= 256, "{exc} of {overhead}");
}

/// In the formatter's frames are the packets that are otherwise sent alone. (Ports are left out:
/// waiting for a slower pin changes the run.)
#[test]
fn frames_bring_the_same_packets() {
    let silent = |frames: bool| {
        let mut programme = FAST.programme();
        programme.writes.retain(|write| write.address != 0xe000_0e00);
        if frames {
            programme.writes.extend(Programme::from_iter([FRAMES]).writes);
        }
        run("trace", programme)
    };
    let (plain, framed) = (silent(false), silent(true));
    assert!(plain.packets.len() > 3000 && framed.bytes.len() > 2 * plain.bytes.len());
    assert!(plain.packets == framed.packets);
}
