//! Set-ups as registers and as budgets, against published figures.

use std::num::NonZeroU32;

use strobe_decode::trace_settings::*;
use strobe_link::trace::registers::{Error, RegisterWrite, writes, writes_off};
use strobe_link::trace::target::{TARGETS, Target, find};
use strobe_model::Bounds;
use strobe_source::plan::report::*;
use strobe_source::plan::{PortLoad, Workload, measurement, plan};

fn target(name: &str) -> &'static Target {
    find(name).expect("a family")
}

fn settings(core_hz: u32, baud: u32, period: Option<u32>) -> TraceSettings {
    let line = Line::new(core_hz, baud, Encoding::Nrz).expect("a rate that can be had");
    let mut settings = TraceSettings::new(NonZeroU32::new(core_hz).expect("not zero"), line);
    settings.sampling = period.map(PcSampling::nearest);
    settings
}

/// What the registers hold in the end, after zeros, and how often each is written.
fn after(settings: &TraceSettings, name: &str) -> std::collections::BTreeMap<u32, u32> {
    let mut memory = std::collections::BTreeMap::new();
    for write in writes(settings, target(name)).expect("a set-up that can be had") {
        let old = memory.get(&write.address).copied().unwrap_or_default();
        memory.insert(write.address, write.over(old));
    }
    memory
}

/// The set-up of the micro-ROS project's sampler: an STM32F407 at 168 MHz, 115200 baud, a sample
/// every 16384 cycles.
#[test]
fn the_registers_of_a_published_set_up() {
    let mut settings = settings(168_000_000, 115_200, Some(16384));
    settings.sync = Some(SyncPeriod::Pow28);
    settings.local_timestamps = Some(TimestampPrescaler::By64);
    let registers = after(&settings, "stm32f4");
    let published = [
        (0xe000_edfc, 0x0100_0000),
        (0xe004_0010, 0x5b1),
        (0xe004_00f0, 2),
        (0xe004_0304, 0x100),
        (0xe004_2004, 0x20),
        // Without the number of comparators, which can only be read.
        (0xe000_1000, 0x0000_1e1f),
        (0xe000_0fb0, 0xc5ac_ce55),
        (0xe000_0e80, 0x0001_030f),
    ];
    for (address, value) in published {
        assert_eq!(registers.get(&address), Some(&value), "{address:#x}");
    }
    assert_eq!(registers[&0xe004_0004], 1);
    assert_eq!((registers[&0xe000_0e00], registers[&0xe000_0e40]), (0, 0));
}

#[test]
fn other_bits_of_shared_registers_are_kept() {
    let writes = writes(&settings(168_000_000, 115_200, None), target("stm32f4")).expect("plain");
    let write = |name: &str| writes.iter().rfind(|w| w.register == name).expect("it is written");
    // Vector catch, sleep debugging, and a mode of a parallel port that has to go.
    assert_eq!(write("DEMCR").over(0x0000_0401), 0x0100_0401);
    assert_eq!(write("DBGMCU_CR").over(0x0000_00c7), 0x0000_0027);
    // Without samples and synchronisation the cycle counter stays as the firmware has it.
    let mut none = settings(168_000_000, 115_200, None);
    none.sync = None;
    let writes = last_control(&none);
    assert_eq!(writes.over(0x4000_1fff), 0x4000_0001);
}

fn last_control(settings: &TraceSettings) -> RegisterWrite {
    let all = writes(settings, target("generic")).expect("plain");
    all.into_iter().rfind(|write| write.register == "DWT_CTRL").expect("it is written")
}

#[test]
fn values_lie_in_their_masks_and_fields() {
    let mut settings = settings(64_000_000, 2_000_000, Some(1024));
    settings.exceptions = true;
    settings.counters = EventCounters { cpi: true, lsu: true, ..EventCounters::default() };
    settings.ports = 0x8000_0001;
    let watch = Watch::new("x", 3, (0x2000_0000, 2), WatchWhat::Value, WatchAccess::Write);
    settings.watches = Watches::new(vec![watch.expect("aligned")]).expect("one");
    for target in TARGETS {
        let mut settings = settings.clone();
        if target.name == "nrf52" {
            let (hz, baud) = (32_000_000, 1_000_000);
            settings.line = Line::new(hz, baud, Encoding::Nrz).expect("a whole divider");
        }
        let all = writes(&settings, target).expect("a set-up that can be had");
        for write in all.iter().chain(&writes_off(&settings)) {
            assert_eq!(write.value & !write.mask, 0, "{} {write:?}", target.name);
            assert_eq!(write.check & !write.mask, 0, "{} {write:?}", target.name);
            let fields = write.fields.iter().map(|f| f.value << f.bits.1).fold(0, |a, b| a | b);
            assert_eq!(fields, write.value, "{} {write:?}", target.name);
            assert!(write.address % 4 == 0 && !write.fields.is_empty());
        }
    }
}

#[test]
fn comparators_have_the_codes_of_their_architecture() {
    use WatchAccess::*;
    use WatchWhat::*;
    // DDI 0403, table C1-14: EMITRANGE in bit 5, FUNCTION in 3 to 0.
    let v7 = [
        (Value, Read, 0xc),
        (Value, Write, 0xd),
        (Value, ReadWrite, 2),
        (Pc, ReadWrite, 1),
        (PcAndValue, Read, 0xe),
        (PcAndValue, Write, 0xf),
        (PcAndValue, ReadWrite, 3),
        (AddressAndValue, Read, 0x2e),
        (AddressAndValue, Write, 0x2f),
        (AddressAndValue, ReadWrite, 0x22),
    ];
    let of = |what, access, bytes| {
        let mut settings = settings(64_000_000, 2_000_000, None);
        let watch = Watch::new("x", 2, (0x2000_0100, bytes), what, access).expect("aligned");
        settings.watches = Watches::new(vec![watch]).expect("one");
        settings
    };
    for (what, access, function) in v7 {
        let registers = after(&of(what, access, 16), "generic");
        assert_eq!(registers[&0xe000_1048], function, "{what:?} {access:?}");
        assert_eq!((registers[&0xe000_1040], registers[&0xe000_1044]), (0x2000_0100, 4));
        assert_eq!(registers[&0xe000_0e80] & 8, 8, "TXENA");
    }
    // DDI 0553, DWT_FUNCTIONn: DATAVSIZE from bit 10, ACTION from 4, MATCH from 0.
    let v8 = [(Value, Write, 0x82d), (Pc, ReadWrite, 0x834), (PcAndValue, Read, 0x83e)];
    for (what, access, function) in v8 {
        let registers = after(&of(what, access, 4), "generic-v8m");
        assert_eq!(registers[&0xe000_1048], function, "{what:?} {access:?}");
        assert!(!registers.contains_key(&0xe000_1044), "there is no mask");
    }
    let v8m = target("generic-v8m");
    assert!(matches!(writes(&of(AddressAndValue, Read, 4), v8m), Err(Error::Watch { .. })));
    assert!(matches!(writes(&of(Value, Read, 8), v8m), Err(Error::Watch { .. })));
}

#[test]
fn settings_unsupported_by_a_family_are_refused() {
    let refused = |settings: &TraceSettings, name| writes(settings, target(name)).expect_err("no");
    let error = refused(&settings(64_000_000, 1_000_000, None), "nrf52");
    assert!(error.to_string().contains("32 MHz, 16 MHz"), "{error}");
    let mut framed = settings(64_000_000, 1_000_000, None);
    framed.formatter = true;
    assert_eq!(refused(&framed, "stm32h7"), Error::NoFormatter { target: "stm32h7" });
}

fn planned(settings: &TraceSettings, load: &Workload) -> PlanReport {
    let plan = plan(settings, load, target("stm32f4")).expect("a set-up that can be had");
    let sum = plan.parts.iter().map(|p| p.bytes).fold(Bounds::default(), |a, b| a + b);
    assert_eq!(sum, plan.required, "the table adds up");
    for bounds in plan.parts.iter().flat_map(|p| [p.bytes, p.packets]).chain([plan.loss_ppm]) {
        assert!(bounds.low <= bounds.likely && bounds.likely <= bounds.high, "{plan:?}");
    }
    for proposal in &plan.proposals {
        assert!(proposal.required.high <= proposal.available, "{proposal:?}");
    }
    let measured = measurement(&plan);
    measured.check().unwrap();
    let rows = |id: &str| measured.table(id).map_or(0, |table| table.len());
    assert_eq!((rows("required"), rows("registers")), (plan.parts.len(), plan.registers.len()));
    plan
}

/// 10,254 samples a second of five bytes, and room for 2304 of them, or 1920 with an overflow mark
/// each.
#[test]
fn the_published_set_up_loses_four_fifths() {
    let plan = planned(&settings(168_000_000, 115_200, Some(16384)), &Workload::default());
    assert_eq!(plan.verdict, Verdict::Loses);
    let Bounds { low, likely, high } = plan.loss_ppm;
    assert!((770_000..=780_000).contains(&low), "{low}");
    assert!((800_000..=820_000).contains(&likely) && high <= 820_000, "{likely} {high}");
    let samples = plan.samples.as_ref().expect("it samples");
    assert_eq!(samples.taken_per_second.round(), 10_254.0);
    assert!((1900..2330).contains(&samples.received_per_second.likely), "{samples:?}");
    assert!((2290..=2310).contains(&samples.received_per_second.high), "{samples:?}");
    assert_eq!(plan.line.error_ppm, 229);
    // The slowest sampler there is: only a faster line helps.
    let changes: Vec<&str> = plan.proposals.iter().map(|p| p.change.as_str()).collect();
    assert_eq!(changes, ["921600 baud"]);
    assert!(plan.notes.iter().any(|note| note.contains("slowest")), "{:?}", plan.notes);
}

#[test]
fn periods_and_timestamps_are_proposed_where_they_help() {
    let slow = planned(&settings(8_000_000, 115_200, Some(512)), &Workload::default());
    let changes: Vec<&str> = slow.proposals.iter().map(|p| p.change.as_str()).collect();
    assert_eq!(changes, ["1000000 baud", "a sample every 4096 cycles"]);
    let mut settings = settings(64_000_000, 115_200, Some(1024));
    settings.local_timestamps = Some(TimestampPrescaler::By1);
    let plan = planned(&settings, &Workload::default());
    let changes: Vec<&str> = plan.proposals.iter().map(|p| p.change.as_str()).collect();
    assert_eq!(plan.verdict, Verdict::Loses);
    assert_eq!(changes, ["8000000 baud", "4000000 baud and no timestamps"]);
}

#[test]
fn every_kind_of_packet_has_its_part() {
    let mut settings = settings(168_000_000, 2_000_000, Some(16384));
    settings.exceptions = true;
    settings.counters.sleep = true;
    settings.local_timestamps = Some(TimestampPrescaler::By1);
    settings.global_timestamps = Some(GlobalTimestamps::Every8192Cycles);
    settings.ports = 1;
    settings.formatter = true;
    let watch = Watch::new("task", 0, (0x2000_0000, 4), WatchWhat::PcAndValue, WatchAccess::Write);
    settings.watches = Watches::new(vec![watch.expect("aligned")]).expect("one");
    let load = Workload {
        exceptions: 1000,
        ports: vec![PortLoad { port: 0, bytes: 1000, at_once: 1 }],
        watches: vec![500],
        asleep_percent: 50,
    };
    let plan = planned(&settings, &load);
    let part = |name: &str| {
        let part = plan.parts.iter().find(|p| p.name == name);
        part.unwrap_or_else(|| panic!("{name} in {:?}", plan.parts)).bytes
    };
    assert_eq!(part("PC samples"), Bounds::exact(35_889));
    assert_eq!(part("exceptions"), Bounds { low: 6000, likely: 9000, high: 9000 });
    assert_eq!(part("port 0"), Bounds::exact(2000));
    assert_eq!(part("watch task"), Bounds { low: 500 * 7, likely: 5000, high: 5000 });
    assert_eq!(part("event counters").high, 2 * 168_000_000 / 256);
    assert_eq!(part("synchronisation"), Bounds::exact(61));
    assert!(part("local timestamps").likely > 0 && part("global timestamps").likely > 0);
    assert!(part("TPIU frames").low > plan.required.low / 17);
}

/// Where the middle of a byte's last bit lies in its neighbour, no byte arrives.
#[test]
fn bit_rate_off_by_half_a_bit_is_refused() {
    let rates = [(10_000_000, 20_000_000), (16_000_000, 6_000_000), (16_000_000, 1_950_000)];
    for (trace_hz, baud) in rates {
        let line = Line::new(trace_hz, baud, Encoding::Nrz).expect("it can be built");
        let settings = TraceSettings { line, ..settings(trace_hz, 1_000_000, Some(1024)) };
        let refused = plan(&settings, &Workload::default(), target("generic"));
        let off = (line.baud_error() * 9.5).abs();
        assert_eq!(refused.is_err(), off >= 0.5, "{trace_hz} {baud}: {off}");
    }
}

#[test]
fn a_wrong_bit_rate_is_warned_of() {
    let line = Line::new(16_000_000, 1_950_000, Encoding::Nrz).expect("near enough to be built");
    let mut settings = settings(16_000_000, 1_000_000, None);
    settings.line = line;
    let plan = planned(&settings, &Workload::default());
    assert!(plan.notes.iter().any(|note| note.contains("2.6 % off")), "{:?}", plan.notes);
    assert_eq!(plan.line.divider, 8);
}
