//! Records that try a report's layout: without names, with long ones, empty, and as large as
//! figures get.

use strobe_model::*;

use super::build::{Build, thread};
use super::runs::exact;
use Cause::*;

/// Without symbols, everything is by address.
pub(crate) fn without_symbols() -> Record {
    let mut b = Build::new("stripped.elf");
    b.0.subject.build_id = None;
    b.0.subject.compilers.clear();
    b.0.subject.detail = "no symbols: figures are by address".into();
    b.sample((0x0800_00f2, None, None), 400, &[(Execute, 400), (Refill, 800)], (0, 0));
    b.sample((0x0800_00f4, None, None), 200, &[(Execute, 200)], (0, 0));
    let root = b.node(thread(), None, 1, 0);
    b.node(Place::Unknown, Some(root), 1, 1400);
    b.finish()
}

/// Names as C++ and Rust make them, two of a kind, and one that would write to the terminal.
pub(crate) fn long_names() -> Record {
    let mut b = Build::new("names.elf");
    let files = [b.file("src/a.cpp"), b.file("src/b.cpp")];
    let names = [
        "<core::iter::adapters::map::Map<core::slice::iter::Iter<u8>, my_crate::codec::decode::{closure#0}> as \
         core::iter::traits::iterator::Iterator>::fold::<usize, core::iter::adapters::filter::Filter<_, _>>",
        "std::__detail::_Executor<__gnu_cxx::__normal_iterator<char const*, std::string>, \
         std::allocator<std::sub_match<char const*>>, true>::_M_dfs(_Match_mode, long)",
        "init",
        "init",
        "evil\x1b[2J\x07name",
    ];
    let root = b.node(thread(), None, 1, 0);
    for (i, name) in (0u32..).zip(names) {
        let file = files.get(i as usize % 3).copied();
        let function = b.function(name, 0x0800_0100 + i * 16, file);
        let cycles = 1000 >> i;
        let place = (0x0800_0100 + i * 16, Some(function), file.map(|f| (f, 10 + i)));
        b.sample(place, cycles, &[(Execute, cycles), (Refill, cycles / 2)], (0, 0));
        b.node(Place::Function(function), Some(root), 1, cycles + cycles / 2);
    }
    b.finish()
}

/// Nothing ran at all.
pub(crate) fn zero() -> Record {
    let mut b = Build::new("zero.elf");
    b.0.subject.clock = vec![ClockSpan { cycle: 0, hz: 0 }];
    b.0.window.end_reason = EndReason::Interrupted;
    b.0.series.push(Series {
        name: "PB8 high".into(),
        unit: "cycles".into(),
        values: Vec::new(),
        bounds: Vec::new(),
        count: 0,
        since_cycle: 0,
    });
    let mut exception = exact().exceptions.remove(0);
    exception.count = 0;
    b.0.exceptions.push(exception);
    let root = b.node(thread(), None, 1, 0);
    b.node(Place::Unknown, Some(root), 0, 0);
    b.0.subject.clock[0].hz = 1;
    let mut record = b.finish();
    record.subject.clock[0].hz = 0;
    record
}

/// As large as figures get.
pub(crate) fn largest() -> Record {
    let mut b = Build::new("largest.elf");
    let main = b.function("main", 0x0800_0100, None);
    let most = u64::MAX - 10;
    b.sample(
        (0x0800_0100, Some(main), None),
        u64::MAX,
        &[(Execute, most), (Asleep, 10)],
        (most, 0),
    );
    let root = b.node(thread(), None, u64::MAX, 0);
    b.node(Place::Function(main), Some(root), u64::MAX, u64::MAX);
    b.0.trust = Trust::Modelled {
        causes: vec![ModelledCause {
            cause: Execute,
            cycles: Bounds { low: 0, likely: most, high: most },
            why: "it is a test".into(),
        }],
    };
    b.0.series.push(Series {
        name: "all of it".into(),
        unit: "cycles".into(),
        values: vec![u64::MAX; 2],
        bounds: vec![(0, u64::MAX); 2],
        count: u64::MAX,
        since_cycle: 0,
    });
    b.finish()
}
