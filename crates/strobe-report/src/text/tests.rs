//! What a person sees, for each kind of record.

use strobe_model::{Bounds, Cause, CauseCycles, SourceLine, Trust};

use super::*;
use crate::{Style, samples};

fn options(width: usize) -> Options {
    Options { style: Style { colour: false, width }, quiet: false }
}

fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn whole(record: &Record, by: By, options: Options) -> String {
    let show = Show { rows: Rows::By(by), tree: Some(Tree::default()), ..Show::default() };
    text(|out| report(record, &show, &options, out))
}

#[test]
fn whole_reports() {
    for (name, record) in samples::runs() {
        insta::assert_snapshot!(name, whole(&record, By::Function, options(100)));
    }
}

#[test]
fn threads_and_their_timeline() {
    let mut record = samples::threaded();
    insta::assert_snapshot!(text(|out| threads(&record, &options(100), out)));
    insta::assert_snapshot!(text(|out| timeline(&record, 3, &options(60), out)));
    if let Some(timeline) = record.scheduling.as_mut().and_then(|s| s.timeline.as_mut()) {
        timeline.worst = None;
        timeline.segments.truncate(2);
        timeline.begin.nanoseconds = u64::MAX - 1;
        timeline.end.nanoseconds = u64::MAX;
    }
    insta::assert_snapshot!(text(|out| timeline(&record, 0, &options(60), out)));
    record.scheduling = None;
    assert_eq!(text(|out| timeline(&record, 0, &options(60), out)), "");
    assert!(text(|out| threads(&record, &options(100), out)).contains("does not tell them apart"));
}

/// Cycles per instruction by every view, of a record beside itself.
fn ratios(record: &Record) -> [String; 3] {
    let line = |text: String| {
        let mut lines = text.lines().filter(|line| line.contains("cycles/instr."));
        lines.next().map(str::to_owned).unwrap_or_default()
    };
    let side = || Side { record, rows: Vec::new() };
    let rows = text(|out| profile(record, By::File, 1, &options(100), out));
    let first = rows.lines().find(|line| line.contains('%')).unwrap_or_default();
    [
        line(text(|out| summary(record, &options(100), out))),
        line(text(|out| compare(&[side(), side()], 1, &options(100), out))),
        first.split_whitespace().nth(4).unwrap_or_default().to_owned(),
    ]
}

/// Going round an empty loop a million times leaves cycles per instruction as they are.
#[test]
fn idle_loops_have_no_part_in_cycles_per_instruction() {
    let mut record = samples::exact();
    let before = ratios(&record);
    assert!(before[0].contains("3.82") && before[1].contains("3.82"), "{before:?}");
    let loops = 1_000_000;
    let idle = 3 * loops;
    record.totals.instructions += loops;
    record.totals.by_cause[Cause::Asleep] += idle;
    record.totals.cycles = Bounds::exact(record.totals.cycles.likely + idle);
    // One instruction that is also reached by code that does something, and one that is not.
    let shared = &mut record.profile.addresses[0];
    shared.count += loops / 2;
    shared.idle += loops / 2;
    shared.cycles[Cause::Asleep] += idle / 2;
    shared.bounds = Bounds::exact(shared.bounds.likely + idle / 2);
    let cycles = CauseCycles::of(Cause::Asleep, idle / 2);
    let alone = strobe_model::AddressSample {
        address: 0x0800_4000,
        count: loops / 2,
        idle: 0,
        jumped: loops / 2,
        cycles,
        bounds: Bounds::exact(idle / 2),
        function: None,
        frames: Vec::new(),
    };
    record.profile.addresses.push(alone);
    let parts = record.balance.parts().clone();
    record.balance = strobe_model::Balance::new(strobe_model::Parts {
        taken: parts.taken + idle,
        idle: parts.idle + idle,
        ..parts
    })
    .unwrap();
    assert_eq!(ratios(&record), before);
}

/// What threads and interrupts have apart is together the whole.
#[test]
fn a_record_of_one_thread_is_a_part_of_the_whole() {
    let whole_record = samples::threaded();
    let mut cycles = CauseCycles::ZERO;
    for (name, busy, idle) in [("worker", 600, 0), ("idle_stack", 40, 3000), ("SysTick", 360, 0)] {
        let who = whole_record.named(name);
        assert_eq!(who.len(), 1, "{name}");
        let only = whole_record.only(&who).unwrap();
        assert_eq!(only.balance.parts().attributed, busy, "{name}");
        assert_eq!(only.balance.parts().idle, idle, "{name}");
        assert_eq!(only.coverage.seen_cycles, busy + idle);
        assert_eq!(only.profile.tree.len(), 2, "{name}");
        assert_eq!(only.profile.tree[1].self_cycles, busy + idle);
        assert_eq!(only.trust == Trust::Exact, name != "SysTick", "only there is a model at work");
        cycles += only.totals.by_cause;
        assert!(whole(&only, By::Function, options(100)).contains("threads and interrupts"));
    }
    assert_eq!(cycles, whole_record.totals.by_cause);
    assert_eq!(whole_record.named("nobody"), []);
}

#[test]
fn a_narrow_terminal() {
    insta::assert_snapshot!(whole(&samples::modelled(), By::Function, options(80)));
    insta::assert_snapshot!(text(|out| cycles(&samples::explained_with_run(), &options(80), out)));
}

#[test]
fn by_line_and_by_address() {
    for by in [By::Line, By::Address] {
        let record = samples::modelled();
        insta::assert_snapshot!(text(|out| profile(&record, by, 3, &options(100), out)));
    }
}

#[test]
fn quiet_leaves_out_what_explains_and_keeps_what_marks() {
    let options = Options { quiet: true, ..options(100) };
    let text = text(|out| closing(&samples::modelled(), &options, out));
    insta::assert_snapshot!(text);
}

#[test]
fn a_cut_tree_still_adds_up() {
    let tree_options = Tree { depth: 1, min_percent: 3.0 };
    insta::assert_snapshot!(text(|out| tree(&samples::exact(), &tree_options, &options(100), out)));
}

#[test]
fn cycles_of_a_function() {
    for (name, report) in samples::cycles() {
        insta::assert_snapshot!(name, text(|out| cycles(&report, &options(100), out)));
    }
}

fn annotated() -> AnnotateInput {
    let record = samples::modelled();
    let source = ["next:   nop", "\tsubs r3, #1", "", "", "        bne next"];
    let mut rows: Vec<AnnotateRow> = record
        .profile
        .addresses
        .iter()
        .filter(|s| s.function == Some(0))
        .map(|s| {
            let line = s.frames[0].line.unwrap();
            AnnotateRow {
                address: s.address,
                bytes: "bf00".into(),
                text: "nop".into(),
                source: Some(SourceLine {
                    file: "loop.s".into(),
                    line,
                    text: Some(source[line as usize - 9].into()),
                    inlined: None,
                }),
                count: s.count,
                cycles: s.cycles,
                bounds: s.bounds,
            }
        })
        .collect();
    rows.push(AnnotateRow {
        address: 0x0800_00cc,
        bytes: "f7ff fffe".into(),
        text: "bl never_called".into(),
        source: None,
        count: 0,
        cycles: CauseCycles::ZERO,
        bounds: Bounds::default(),
    });
    rows[0].cycles[Cause::Asleep] = 100;
    rows[0].bounds += Bounds::exact(100);
    AnnotateInput { function: "test_loop".into(), rows, trust: record.trust }
}

#[test]
fn an_annotated_function() {
    insta::assert_snapshot!(text(|out| annotate(&annotated(), &options(100), out)));
    let empty = AnnotateInput { rows: Vec::new(), ..annotated() };
    insta::assert_snapshot!(text(|out| annotate(&empty, &options(100), out)));
}

#[test]
fn no_line_is_wider_than_the_terminal_where_names_can_give_way() {
    for width in [80, 100] {
        for (name, record) in samples::runs().iter().filter(|(name, _)| *name != "largest") {
            for by in [By::Function, By::Line, By::Address] {
                for line in whole(record, by, options(width)).lines() {
                    assert!(line.chars().count() <= width, "{name} at {width}: {line}");
                }
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for (name, record) in samples::runs() {
        let plain = whole(&record, By::Function, options(100));
        let style = Style { colour: true, width: 100 };
        let coloured = whole(&record, By::Function, Options { style, quiet: false });
        assert!(coloured.contains('\x1b') && !plain.contains('\x1b'), "{name}");
        assert_eq!(without_escapes(&coloured), plain, "{name}");
    }
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once('m').unwrap_or_default().1)
}

/// The rows of a profile add up to the total beneath, whatever `top` leaves out.
#[test]
fn the_table_adds_up() {
    for top in 0..4 {
        let text = text(|out| profile(&samples::exact(), By::Function, top, &options(100), out));
        let figures = text.lines().skip(3).map(|line| {
            line.split_whitespace().next().unwrap_or_default().replace(',', "").parse::<u64>()
        });
        let above: u64 = figures.clone().map_while(Result::ok).sum();
        let below = figures.skip_while(Result::is_ok).find_map(Result::ok).unwrap();
        assert_eq!(above, below, "{text}");
    }
}
