//! What a call of the kit costs, and that nothing of it is left when it is off.

use strobe_symbols::Firmware;

use super::{run, simulated};
use crate::common::recorded::spent;
use crate::common::{self, prebuilt, strobe};

/// `docs/kit.md` has these figures: `cargo test -p strobe-cli kit:: -- --nocapture` prints them.
#[test]
fn a_call_costs_little() {
    for (traced, state) in [(true, "traced"), (false, "nobody listens")] {
        let record = simulated(traced);
        for (function, calls, most) in
            [("strobe_trace_record", 342, 25), ("strobe_trace_value", 80, 32)]
        {
            let (cycles, times) = spent(&record, function);
            println!("{function}, {state}: {}.{} cycles", cycles / times, cycles * 10 / times % 10);
            assert_eq!(times, calls);
            assert!(cycles <= most * times, "{function}, {state}: {cycles} in {times} calls");
        }
    }
}

/// Cycles for a call of record and of value on each core and way, as `docs/kit.md` has them;
/// `strobe run` prints them.
#[test]
fn a_call_costs_what_the_documents_say() {
    let (finished, exit) = (&["--until", "finished"][..], &[][..]);
    let documents = std::fs::read_to_string(common::root().join("docs/kit.md")).expect("documents");
    for (core, way, board, name, until, record_tenths, value_tenths) in [
        ("Cortex-M0", "RTT", "stm32f070cb", "kit-m0-rtt", finished, 2033, 2440),
        ("Cortex-M3", "ITM", "cortex-m3", "kit-m3-itm", exit, 230, 210),
        ("Cortex-M3", "RTT", "cortex-m3", "kit-m3-rtt", exit, 1015, 1297),
        ("Cortex-M3", "bytes", "cortex-m3", "kit-m3-bytes", exit, 960, 1190),
        ("Cortex-M4", "ITM", "cortex-m4f", "kit-m4-itm", exit, 230, 210),
        ("Cortex-M4", "RTT", "cortex-m4f", "kit-m4-rtt", exit, 925, 1267),
        ("Cortex-M4", "bytes", "cortex-m4f", "kit-m4-bytes", exit, 920, 1200),
        ("Cortex-M0", "bytes", "stm32f070cb", "kit-m0-bytes", finished, 3837, 5050),
        ("AVR", "bytes", "arduino-uno", "kit-avr-bytes", finished, 4620, 6300),
    ] {
        let firmware = prebuilt(name);
        let run = run(&firmware, &[&["--board", board], until].concat());
        let ran = strobe(&[&["run", &firmware[..], "--board", board, "-q"], until].concat());
        let mut row = format!("| {core} | {way} |");
        for (function, expected) in
            [("strobe_trace_record", record_tenths), ("strobe_trace_value", value_tenths)]
        {
            let (cycles, calls) = spent(&run, function);
            let tenths = cycles * 10 / calls;
            println!("{core}, {way}, {function}: {}.{} cycles", tenths / 10, tenths % 10);
            // A model that is mended may move it a little.
            let off = tenths.abs_diff(expected);
            assert!(
                off * 50 <= expected,
                "{core}, {way}, {function}: {tenths} tenths, not {expected}"
            );
            let printed = ran.stdout.lines().filter(|line| line.ends_with(function));
            let mean = cycles as f64 / calls as f64;
            let whole = cycles % calls == 0;
            let figure = if whole { mean.to_string() } else { format!("{mean:.1}") };
            let has = |line: &str| {
                line.split_whitespace().any(|word| word.trim_start_matches('~') == figure)
            };
            assert!(printed.into_iter().any(has), "{figure}\n{}", ran.stdout);
            row += &format!(" {}.{} |", tenths / 10, tenths % 10);
        }
        assert!(documents.contains(&row), "docs/kit.md has no row {row}");
    }
}

/// The crate without its feature is what the program would be without the crate. Only the name of
/// the program differs.
#[test]
fn disabled_crate_leaves_no_code() {
    let read = |name: &str| {
        let bytes = std::fs::read(prebuilt(name)).expect("a bundled program");
        Firmware::parse(bytes).expect("firmware")
    };
    let [on, off, without] = ["trace-kit-rs", "trace-kit-rs-off", "trace-kit-rs-without"].map(read);
    let loaded = |firmware: &Firmware| -> Vec<(u32, Vec<u8>)> {
        let segments = firmware.segments().iter().filter(|segment| !segment.data().is_empty());
        segments.map(|segment| (segment.load_address.0, segment.data().to_vec())).collect()
    };
    assert!(loaded(&off).iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > 1000);
    assert!(loaded(&off) == loaded(&without), "byte for byte");
    assert!(loaded(&on) != loaded(&off));
    assert!(on.trace_names().len() == 7 && off.trace_names().is_empty());
    let ram = |firmware: &Firmware| firmware.data_symbols().iter().map(|d| d.size).sum::<u32>();
    assert_eq!(ram(&off), ram(&without));
}

#[test]
fn nothing_is_left_when_it_is_off() {
    let read = |name: &str| {
        let bytes = std::fs::read(prebuilt(name)).expect("a bundled program");
        Firmware::parse(bytes).expect("firmware")
    };
    let [on, off, without] = ["trace-kit", "trace-kit-off", "trace-kit-without"].map(read);
    let code = |firmware: &Firmware| -> Vec<(String, u32, Vec<u8>)> {
        let all = firmware.functions().iter();
        all.map(|f| {
            let bytes = firmware.bytes_at(f.start, f.size as usize);
            (f.name.clone(), f.start, bytes.unwrap_or_default().to_vec())
        })
        .collect()
    };
    let data = |firmware: &Firmware| -> Vec<(String, u32, u32)> {
        let all = firmware.data_symbols().iter();
        all.map(|d| (d.name.clone(), d.address, d.size)).collect()
    };
    assert!(code(&off).len() > 10 && code(&off).iter().all(|(_, _, bytes)| !bytes.is_empty()));
    assert!(code(&off) == code(&without) && data(&off) == data(&without));
    assert!(code(&on) != code(&off));
    assert!(on.trace_names().len() == 9 && off.trace_names().is_empty());
}
