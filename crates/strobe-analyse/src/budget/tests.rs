//! Limits are read as written, trust decides, and what is unknown never passes.

use proptest::prelude::*;
use strobe_model::Bounds;
use strobe_model::measurement::{
    Cell, ClockSpan, Column, Content, Ended, Instrument, Measurement, Number, Quantity, Subject,
    Table, Trust, Unit, Window,
};

use super::*;

fn limits(least: Option<&str>, most: Option<&str>) -> Limits {
    let parse = |text: &str| Limit::parse(text).unwrap();
    Limits { least: least.map(parse), most: most.map(parse), likely: false }
}

fn figure(quantity: Quantity) -> Figure {
    Figure { quantity, hertz: Some((8e6, 48e6)) }
}

fn verdict(quantity: Quantity, least: Option<&str>, most: Option<&str>) -> Verdict {
    judge(&figure(quantity), &limits(least, most), None).verdict
}

#[test]
fn limits_are_read_as_written() {
    let read = |text: &str| {
        let limit = Limit::parse(text).unwrap();
        (limit.value, limit.scale, limit.relative)
    };
    assert_eq!(read("1_200 cycles"), (1200.0, Scale::Cycles, false));
    assert_eq!(read("64 KiB"), (65536.0, Scale::Bytes, false));
    assert_eq!(read("5ms"), (5e6, Scale::Time, false));
    assert_eq!(read("+2 %"), (2.0, Scale::Percent, true));
    assert_eq!(read("-16 B"), (-16.0, Scale::Bytes, true));
    assert_eq!(read("3 instructions"), (3.0, Scale::Other("instructions".into()), false));
    for wrong in ["", "fast", "12 K", "1.2.3 ms", "++2 %%", "99999999999999999999", "%"] {
        assert!(Limit::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn share_of_lost_requests_has_bounds_of_both_counts() {
    let share = |count: Cell, lost: Cell| {
        let counted = |id: &str| Column::figure(id, id, Unit::COUNT);
        let columns = vec![counted("count"), counted("lost"), Column::text("name", "name")];
        let mut table = Table::new(columns);
        table.row([count, lost, "SysTick".into()]);
        let window = Window::untimed("a test", Ended::default());
        let mut run = Measurement::new(Subject::default(), Instrument::default(), window);
        run.push("interrupts", "interrupts", Content::Table(table));
        let found = Selector::LostInterrupts("SysTick".to_owned()).find(&run);
        let Ok(found) = found else { panic!("no figure") };
        found.quantity
    };
    let modelled = |likely: u64, low: u64, high: u64| {
        let trust = Trust::Modelled { low: low.into(), high: high.into(), why: None };
        Cell::Figure { value: Some(likely.into()), trust }
    };
    let exact = share(300u64.into(), 100u64.into());
    assert_eq!(exact, Quantity::exact(25.0, Unit::PERCENT));
    let open = share(modelled(300, 200, 300), modelled(100, 100, 200));
    assert_eq!(open.value().map(Number::as_f64), Some(25.0));
    let bounds = open.trust().bounds().map(|(low, high)| (low.as_f64(), high.as_f64()));
    assert_eq!(bounds, Some((25.0, 50.0)));
}

#[test]
fn trust_decides() {
    let exact = |n: u64| Quantity::exact(n, Unit::CYCLES);
    assert_eq!(verdict(exact(1200), None, Some("1200 cycles")), Verdict::Held);
    assert_eq!(verdict(exact(1201), None, Some("1200 cycles")), Verdict::Exceeded);
    let modelled =
        |low, likely, high| Quantity::modelled(Bounds { low, likely, high }, Unit::CYCLES, None);
    assert_eq!(verdict(modelled(900, 1000, 1300), None, Some("1200 cycles")), Verdict::Undecided);
    assert_eq!(verdict(modelled(1201, 1250, 1300), None, Some("1200 cycles")), Verdict::Exceeded);
    assert_eq!(verdict(modelled(900, 1000, 1300), None, Some("1300 cycles")), Verdict::Held);
    let seen = Quantity::at_least(100u64, Unit::BYTES);
    assert_eq!(verdict(seen.clone(), None, Some("200 B")), Verdict::Undecided);
    assert_eq!(verdict(seen.clone(), Some("100 B"), None), Verdict::Held);
    assert_eq!(verdict(seen, None, Some("99 B")), Verdict::Exceeded);
    let unknown = Quantity::unknown(Unit::CYCLES, "nobody counted");
    let judged = judge(&figure(unknown), &limits(None, Some("9 cycles")), None);
    assert_eq!(
        (judged.verdict, judged.reason),
        (Verdict::Unknown, Some(Reason::UnknownFigure("nobody counted".to_owned())))
    );
}

#[test]
fn cycles_become_times_by_slowest_and_fastest_clock() {
    // 8,000 cycles are 1 ms at 8 MHz and a sixth of it at 48 MHz.
    let cycles = || Quantity::exact(8000u64, Unit::CYCLES);
    assert_eq!(verdict(cycles(), None, Some("1 ms")), Verdict::Held);
    assert_eq!(verdict(cycles(), None, Some("500 us")), Verdict::Undecided);
    assert_eq!(verdict(cycles(), None, Some("100 us")), Verdict::Exceeded);
    assert_eq!(verdict(cycles(), None, Some("64 KiB")), Verdict::Broken);
    assert_eq!(verdict(cycles(), None, Some("8000")), Verdict::Broken, "a unit is missing");
}

/// A run that begins at 8 MHz and goes on at 48 has 8,000 slow cycles, however many are fast.
#[test]
fn no_more_cycles_are_slow_than_the_run_had() {
    let clock = [(0, 8_000_000), (8_000, 48_000_000)];
    let clock = clock.map(|(cycle, hz)| ClockSpan { cycle, hz }).to_vec();
    let window = Window::untimed("made up", Ended::default());
    let subject = Subject { clock, ..Subject::default() };
    let mut run = Measurement::new(subject, Instrument::default(), window);
    run.window.end.cycle = Some(56_000);
    run.push_total("cycles", "cycles", Quantity::exact(56_000u64, Unit::CYCLES));
    run.push_total("few", "few", Quantity::exact(4_000u64, Unit::CYCLES));
    let verdict = |id: &str, most: &str| {
        let found = Selector::Total(id.to_owned()).find(&run).unwrap();
        judge(&found, &limits(None, Some(most)), None).verdict
    };
    // At most a millisecond of slow ones and one of fast ones, at least 56,000 fast ones.
    assert_eq!(verdict("cycles", "2.1 ms"), Verdict::Held);
    assert_eq!(verdict("cycles", "1.9 ms"), Verdict::Undecided);
    assert_eq!(verdict("cycles", "1.1 ms"), Verdict::Exceeded);
    // Few of them may all be slow.
    assert_eq!(verdict("few", "510 us"), Verdict::Held);
    assert_eq!(verdict("few", "490 us"), Verdict::Undecided);
}

#[test]
fn baseline_shares_model_error_but_not_sampling_error() {
    let against = |quantity: Quantity, before: Quantity| {
        let stored = Stored::of(&before);
        judge(&figure(quantity), &limits(None, Some("+2 %")), stored.as_ref()).verdict
    };
    let modelled =
        |likely| Quantity::modelled(Bounds { low: 500, likely, high: 2000 }, Unit::CYCLES, None);
    assert_eq!(against(modelled(1020), modelled(1000)), Verdict::Held);
    assert_eq!(against(modelled(1021), modelled(1000)), Verdict::Exceeded);
    let sampled = |value: u64, by: u64| {
        let trust = Trust::Sampled { n: 100, low: (value - by).into(), high: (value + by).into() };
        Quantity::new(Some(Number::from(value)), Unit::SAMPLES, trust).unwrap()
    };
    assert_eq!(against(sampled(1000, 100), sampled(1000, 100)), Verdict::Undecided);
    assert_eq!(against(sampled(1500, 100), sampled(1000, 100)), Verdict::Exceeded);
    assert_eq!(against(sampled(500, 100), sampled(1000, 100)), Verdict::Held);
    let lonely = judge(&figure(modelled(1000)), &limits(None, Some("+2 %")), None);
    assert_eq!(lonely.verdict, Verdict::Broken);
    assert_eq!(lonely.reason, Some(Reason::NothingStored("+2 %".to_owned())));
}

#[test]
fn changes_cover_functions_known_on_both_sides() {
    let now = ["a", "b", "new"].map(|name| Share { name: name.into(), value: 5, before: None });
    let before = [("a", 5), ("b", 1), ("gone", 7)].map(|(name, n)| (name.to_owned(), n)).into();
    let names = |complete| {
        let changed = changes(&now, &before, complete);
        changed.into_iter().map(|share| share.name).collect::<Vec<_>>()
    };
    assert_eq!(names(false), ["b", "gone"]);
    assert_eq!(names(true), ["new", "b", "gone"]);
}

proptest! {

    /// Nothing that may lie beyond a limit is held, and nothing that may keep it is exceeded.
    #[test]
    fn held_and_exceeded_are_certain(
        low in 0u64..1000, a in 0u64..1000, b in 0u64..1000, limit in 0u64..3000
    ) {
        let bounds = Bounds { low, likely: low + a, high: low + a + b };
        let quantity = Quantity::modelled(bounds, Unit::CYCLES, None);
        let most = format!("{limit} cycles");
        let verdict = verdict(quantity, None, Some(&most));
        prop_assert_eq!(verdict == Verdict::Held, bounds.high <= limit);
        prop_assert_eq!(verdict == Verdict::Exceeded, bounds.low > limit);
    }
}

/// Debug information has the paths of the machine that built the firmware.
#[test]
fn files_are_found_by_the_end_of_their_path() {
    use strobe_model::measurement::{
        Column, Content, Ended, Instrument, Measurement, Subject, Table, Window,
    };
    let window = Window::untimed("made up", Ended::default());
    let mut sizes = Measurement::new(Subject::default(), Instrument::default(), window);
    let mut files = Table::new(vec![
        Column::text("file", "file"),
        Column::figure("flash", "flash", Unit::BYTES),
    ]);
    for (path, n) in [("/w/drv/uart.c", 10u64), ("/w/hal/uart.c", 20), ("main.c", 30)] {
        files.row([path.into(), n.into()]);
    }
    sizes.push("files", "files", Content::Table(files));
    let find = |row: &str| {
        let (section, column) = ("files".to_owned(), "flash".to_owned());
        let found = Selector::Cell { section, row: row.to_owned(), column }.find(&sizes);
        found.map(|figure| figure.quantity.value())
    };
    assert_eq!(find("hal/uart.c"), Ok(Some(20u64.into())));
    assert_eq!(find("main.c"), Ok(Some(30u64.into())));
    assert!(find("ain.c").is_err());
    // Where no name is near and there are few, they are what there is.
    let far = find("zzz").unwrap_err();
    let Missing::Name { kind, nearest, all, .. } = far else { panic!("{far:?}") };
    assert_eq!((kind, nearest.len(), all.len()), (NameKind::Row("files".to_owned()), 0, 3));
    let several = find("uart.c").unwrap_err();
    let Missing::Ambiguous { rows, .. } = several else { panic!("{several:?}") };
    assert_eq!(rows, ["/w/drv/uart.c", "/w/hal/uart.c"]);
}

#[test]
fn a_section_that_is_missing_is_named() {
    use strobe_model::measurement::{Ended, Instrument, Measurement, Subject, Window};
    let window = Window::untimed("made up", Ended::default());
    let empty = Measurement::new(Subject::default(), Instrument::default(), window);
    let (section, name) = ("windows".to_owned(), "a to b".to_owned());
    let found = Selector::Spread { section, name, of: Statistic::Max }.find(&empty);
    let missing = found.unwrap_err();
    let is_section = matches!(missing, Missing::Name { kind: NameKind::Section, .. });
    assert!(is_section, "{missing:?}");
}
