//! The blocks together, as their registers show them.

use super::*;

const CTRL: u32 = DWT;
const CYCCNT: u32 = DWT + 4;

fn write(trace: &mut Trace, address: u32, value: u32, now: u64) {
    let write = Write { address, value, bytes: 4, privileged: true };
    assert_eq!(trace.write(&write, now), Some(None), "{address:#x}");
}

fn on() -> Trace {
    let mut trace = Trace::default();
    trace.set_on(true, 0);
    trace
}

fn counting() -> Trace {
    let mut trace = on();
    write(&mut trace, CTRL, 1, 10);
    trace
}

/// The pin as serial port with so many cycles a bit, port 0, samples and the like, and these bits
/// of TCR.
fn tracing(bit: u32, tcr: u32) -> Trace {
    let mut trace = on();
    let writes = [
        (TPIU + 0x10, bit - 1),
        (TPIU + 0xf0, 2),
        (TPIU + 0x304, 0x100),
        (ITM + 0xfb0, 0xc5ac_ce55),
        (ITM + 0xe00, 1),
        (ITM + 0xe80, 0x1_0009 | tcr),
    ];
    writes.into_iter().for_each(|(address, value)| write(&mut trace, address, value, 0));
    trace
}

fn port(trace: &mut Trace, value: u32, now: u64) {
    let byte = Write { address: ITM, value, bytes: 1, privileged: true };
    trace.write(&byte, now).expect("port 0");
}

fn bytes(trace: &mut Trace, to: u64) -> Vec<u8> {
    trace.run(to);
    std::mem::take(&mut trace.sent).into_iter().map(|sent| sent.value).collect()
}

#[test]
fn the_counter_counts_from_where_it_was_enabled() {
    let mut trace = counting();
    assert_eq!(trace.read(CYCCNT, 10), Some(0));
    assert_eq!(trace.read(CYCCNT, 1010), Some(1000));
    write(&mut trace, CYCCNT, 0xffff_fff0, 2000);
    assert_eq!(trace.read(CYCCNT, 2016), Some(0), "it wraps");
    write(&mut trace, CTRL, 0, 2020);
    assert_eq!(trace.read(CYCCNT, 9999), Some(4), "it stands still");
    write(&mut trace, CTRL, 1, 10_000);
    assert_eq!(trace.read(CYCCNT, 10_001), Some(5));
}

#[test]
fn without_trcena_nothing_counts_and_nothing_is_written() {
    let mut trace = Trace::default();
    write(&mut trace, CTRL, 1, 0);
    assert_eq!(trace.read(CTRL, 0), Some(0x4000_0000));
    let mut trace = counting();
    trace.set_on(false, 110);
    assert_eq!(trace.read(CYCCNT, 5000), Some(100));
    trace.set_on(true, 5000);
    assert_eq!(trace.read(CYCCNT, 5001), Some(101));
}

#[test]
fn overhead_counters_count_while_enabled() {
    let mut trace = counting();
    trace.count(Counter::Exception, 12, 20);
    write(&mut trace, CTRL, 1 | 1 << 18 | 1 << 19, 20);
    trace.count(Counter::Exception, 12, 1000);
    trace.count(Counter::Exception, 250, 2000);
    trace.count(Counter::Sleep, 300, 3000);
    assert_eq!(trace.read(DWT + 0xc, 3000), Some(6), "eight bits");
    assert_eq!(trace.read(DWT + 0x10, 3000), Some(44));
}

#[test]
fn the_itm_is_locked_at_first() {
    let mut trace = on();
    assert_eq!(trace.read(ITM + 0xfb4, 0), Some(3));
    write(&mut trace, ITM + 0xe00, 1, 0);
    assert_eq!(trace.read(ITM + 0xe00, 0), Some(0));
    write(&mut trace, ITM + 0xfb0, 0xc5ac_ce55, 0);
    write(&mut trace, ITM + 0xe00, 1, 0);
    assert_eq!((trace.read(ITM + 0xe00, 0), trace.read(ITM + 0xfb4, 0)), (Some(1), Some(1)));
}

#[test]
fn stimulus_ports_are_ready_when_enabled_and_not_full() {
    let mut trace = tracing(100, 0);
    assert_eq!((trace.read(ITM, 0), trace.read(ITM + 4, 0)), (Some(1), Some(0)));
    // Seven packets of two bytes go into the output, the next waits in its register.
    (0..7).for_each(|n| port(&mut trace, n, n.into()));
    assert_eq!(trace.read(ITM, 10), Some(1));
    port(&mut trace, 7, 10);
    assert_eq!(trace.read(ITM, 10), Some(0));
    assert_eq!(trace.read(ITM + 0xe80, 10), Some(0x81_0009), "busy");
    assert_eq!(trace.read(ITM, 1999), Some(1), "the second byte has gone");
}

#[test]
fn text_comes_out_byte_by_byte() {
    let mut trace = tracing(100, 0);
    port(&mut trace, 0x41, 5);
    trace.run(1004);
    let first: Vec<u64> = trace.sent.iter().map(|sent| sent.cycle).collect();
    assert_eq!(first, [5]);
    assert_eq!(bytes(&mut trace, 1005), [1, 0x41]);
    write(&mut trace, ITM + 0xe40, 1, 1005);
    let user = Write { address: ITM, value: 7, bytes: 1, privileged: false };
    trace.write(&user, 2000).expect("port 0");
    assert!(bytes(&mut trace, 10_000).is_empty(), "the port is for the privileged");
}

/// Lost packets leave one mark, in their place.
#[test]
fn a_full_port_overflows() {
    let mut trace = tracing(100, 0);
    (0..12).for_each(|n| port(&mut trace, n, 0));
    port(&mut trace, 0x55, 50_000);
    let all = bytes(&mut trace, 100_000);
    let kept: Vec<u8> = (0..8).flat_map(|n| [1, n]).collect();
    assert_eq!(all, [&kept[..], &[0x70, 1, 0x55]].concat());
}

#[test]
fn software_goes_before_hardware_and_that_before_timestamps() {
    let mut trace = tracing(100, 2);
    write(&mut trace, CTRL, 1 << 16, 0);
    let exceptions = [
        (15, Action::Enter, 1000),
        (15, Action::Exit, 1001),
        (0, Action::Return, 1002),
        (16, Action::Enter, 1003),
        (16, Action::Exit, 1004),
    ];
    exceptions.into_iter().for_each(|(number, action, at)| trace.exception(number, action, at));
    port(&mut trace, 0x41, 1004);
    // The first go at once with their timestamps; when the output is full, software is first.
    let expected = [
        &[0x0e, 15, 0x10, 0xc0, 0xe8, 0x07][..],
        &[0x0e, 15, 0x20, 0x10],
        &[0x0e, 0, 0x30, 0x10],
        &[1, 0x41],
        &[0x0e, 16, 0x10, 0x0e, 16, 0x20],
    ];
    let all = bytes(&mut trace, 100_000);
    assert_eq!(all[..22], expected.concat());
    // Relation 3: these have waited, and their timestamp has waited for them.
    assert_eq!((all[22], all.len()), (0xf0, 25));
}

/// D4.2.4: relation 0 at once, 2 when the packet had to wait.
#[test]
fn timestamps_say_what_was_delayed() {
    let mut trace = tracing(1000, 2);
    port(&mut trace, 1, 100);
    port(&mut trace, 2, 105);
    port(&mut trace, 3, 205);
    assert_eq!(bytes(&mut trace, 1_000_000), [1, 1, 0xc0, 100, 1, 2, 0x50, 1, 3, 0xc0, 100]);
    // Five and their timestamps fill the output; the sixth goes in when two more bytes have gone,
    // each in 10,000 cycles, and its timestamp, of four bytes, when four more have.
    let mut trace = tracing(1000, 2);
    (1..=6).for_each(|n| port(&mut trace, n, n.into()));
    let all = bytes(&mut trace, 1_000_000);
    assert_eq!(all[..15], [1, 1, 0x10, 1, 2, 0x10, 1, 3, 0x10, 1, 4, 0x10, 1, 5, 0x10]);
    assert_eq!(all[15..], [1, 6, 0xf0, 0xdc, 0xd4, 3]);
}

#[test]
fn the_local_counter_wraps_with_an_overflow() {
    let mut trace = tracing(10, 2);
    port(&mut trace, 1, (1 << 21) + 7);
    assert_eq!(bytes(&mut trace, 1 << 22), [0x70, 1, 1, 0xc0, 7]);
    let mut trace = tracing(10, 2 | 1 << 8);
    port(&mut trace, 1, (1 << 21) + 8);
    assert_eq!(bytes(&mut trace, 1 << 22), [1, 1, 0xc0, 0x82, 0x80, 0x20], "divided by four");
}

#[test]
fn global_timestamps_come_as_asked_for() {
    // After each packet.
    let mut trace = tracing(10, 3 << 10);
    port(&mut trace, 1, 5);
    port(&mut trace, 2, 1000);
    let first = [1, 1, 0x94, 0x85, 0x80, 0x80, 0x40, 0xb4, 0x80, 0x80, 0x80, 0];
    let second = [1, 2, 0x94, 0xe8, 7];
    assert_eq!(bytes(&mut trace, 10_000), [&first[..], &second].concat());
    // At each change of bits from 13 on.
    let mut trace = tracing(10, 2 << 10);
    let all = bytes(&mut trace, 3 * 8192 + 3000);
    assert_eq!(all.iter().filter(|&&byte| byte == 0x94).count(), 3);
}

#[test]
fn synchronisation_goes_first() {
    let mut trace = tracing(10, 4);
    write(&mut trace, CTRL, 1 | 1 << 10, 0);
    trace.spend((1 << 24) + 1, Spent::Asleep);
    assert_eq!(bytes(&mut trace, (1 << 24) + 1000), [0, 0, 0, 0, 0, 0x80]);
}

#[test]
fn frames_carry_the_stream() {
    let mut trace = tracing(10, 0);
    write(&mut trace, TPIU + 0x304, 0x102, 0);
    port(&mut trace, 0x41, 0);
    // Meanwhile the line is busy for 1600 cycles.
    port(&mut trace, 0x42, 100);
    port(&mut trace, 0x43, 200);
    let all = bytes(&mut trace, 100_000);
    assert_eq!(all.len(), 32);
    assert_eq!((&all[..4], all[15]), (&[3, 1, 1, 0x41][..], 2));
    assert_eq!((&all[16..22], all[31]), (&[3, 1, 0x42, 1, 1, 0x43][..], 4));
}

#[test]
fn nothing_leaves_a_pin_that_is_off() {
    let mut trace = tracing(10, 0);
    trace.set_pin(false, 0);
    port(&mut trace, 1, 5);
    assert!(bytes(&mut trace, 1000).is_empty());
    trace.set_pin(true, 1000);
    write(&mut trace, TPIU + 0xf0, 0, 1000);
    port(&mut trace, 1, 1001);
    assert!(bytes(&mut trace, 2000).is_empty());
}

/// 168 MHz, 115,226 baud and a sample each 16,384 cycles: of a hundred, not twenty fit, and each
/// comes with an overflow.
#[test]
fn a_slow_link_keeps_what_it_can() {
    let mut trace = tracing(1458, 0);
    write(&mut trace, CTRL, 0x4000_1e1f, 0);
    for n in 1..=100_000u64 {
        trace.spend(n * 4096, Spent::At(0x0800_0000));
        trace.run(n * 4096);
    }
    let all = bytes(&mut trace, 100_000 * 4096);
    let samples = all.iter().filter(|&&byte| byte == 0x17).count();
    let overflows = all.iter().filter(|&&byte| byte == 0x70).count();
    assert!(overflows.abs_diff(samples) <= 10, "{samples} samples, {overflows} overflows");
    let share = samples as f64 / 25_000.0;
    assert!((0.185..0.189).contains(&share), "{share}");
}

/// Whatever firmware writes there: nothing panics, and bytes leave one after the other.
#[test]
fn any_writes_are_survived() {
    let mut rng = strobe_synth::Rng::new(7);
    let mut trace = on();
    let (mut now, mut free) = (0u64, 0);
    for _ in 0..200_000 {
        now += u64::from(rng.below(3000));
        let page = rng.pick(&[ITM, ITM, DWT, TPIU]);
        let offset =
            rng.pick(&[0, 4, 8, 0x10, 0x20, 0x24, 0x28, 0x38, 0xf0, 0x304, 0xe00, 0xe40, 0xe80]);
        let value = rng.pick(&[0, 1, 2, 0x1_030b, 0x1e1f, 0x7f_ffff, u32::MAX, 0xc5ac_ce55]);
        match rng.below(8) {
            0 => trace.set_on(rng.below(16) > 0, now),
            1 => write_any(&mut trace, ITM + 0xfb0, 0xc5ac_ce55, now),
            2 => trace.exception(rng.below(300) as u16, Action::Enter, now),
            3 => trace.count(Counter::Sleep, rng.below(1000).into(), now),
            4 => {
                let seen = Seen { pc: 0, address: value, bytes: 2, write: true, value };
                trace.accessed(&seen, now);
            }
            _ => write_any(&mut trace, page + offset, value, now),
        }
        trace.spend(now, if rng.below(2) == 0 { Spent::Asleep } else { Spent::At(value) });
        trace.run(now);
        for sent in trace.sent.drain(..) {
            assert!(sent.cycle >= free && sent.cycle <= now, "{sent:?}");
            free = sent.cycle + 10 * u64::from(sent.bit_cycles);
        }
    }
    assert!(free > 0);
}

fn write_any(trace: &mut Trace, address: u32, value: u32, now: u64) {
    trace.write(&Write { address, value, bytes: 4, privileged: true }, now);
}

#[test]
fn reading_of_the_cycle_counter_ends_where_it_wraps() {
    let mut trace = counting();
    write(&mut trace, CYCCNT, 0xffff_fff0, 2000);
    let value = trace.read(CYCCNT, 2003).unwrap();
    let reading = trace.reading(CYCCNT, Size::Word, 2003);
    for later in 2003..2016 {
        assert_eq!(reading.value_at(value, later), trace.read(CYCCNT, later));
    }
    assert_eq!(reading.value_at(value, 2016), None);
    write(&mut trace, CTRL, 0, 2020);
    assert_eq!(trace.reading(CYCCNT, Size::Word, 2020), Reading::FIXED);
}
