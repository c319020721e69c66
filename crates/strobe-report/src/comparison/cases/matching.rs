//! Which function of one side is which of the other, and by what name the rows go.

use strobe_model::measurement::{Column, Content, Table, Unit};

use super::{SUM, checked, codes, figures, made, program, run, texts, verdict};

#[test]
fn renamed_moved_or_split_function_stays_one() {
    let mut renamed = program();
    renamed[1].name = "low_pass";
    let compared = checked(&run(program()), &run(renamed));
    let all = figures(&compared);
    assert_eq!(all["profile-functions/low_pass/self-difference"].as_f64(), 0.0);
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.contains(&"renamed from filter (100 % alike)"), "{changes:?}");

    let mut moved = program();
    moved[1].file = "filter.c";
    let compared = checked(&run(program()), &run(moved));
    assert!(texts(&compared, "profile-functions", "change").contains(&"moved from main.c"));

    let mut split = program();
    split[1].cycles[0] = 400;
    split.push(made("filter.part.0", 600, 3, &[]));
    let compared = checked(&run(program()), &run(split));
    let all = figures(&compared);
    assert_eq!(all["profile-functions/filter/self-difference"].as_f64(), 0.0);
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.contains(&"split: filter.part.0 in b"), "{changes:?}");
}

/// By the instructions that were the whole's, and by what that takes less.
#[test]
fn split_part_is_not_a_new_function() {
    let mut split = program();
    split[2].cycles[0] = 22_000;
    split.push(made("sum_tail", 19_000, 10, SUM));
    let compared = checked(&run(program()), &run(split.clone()));
    let changes = texts(&compared, "profile-functions", "change");
    let wanted = "new: split from sum, which takes 18,000 less";
    assert!(changes.contains(&wanted), "{changes:?}");
    let compared = checked(&run(split.clone()), &run(program()));
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.contains(&"gone: now part of sum, which takes 18,000 more"), "{changes:?}");
    // One that takes as much as before has lost nothing.
    split[2].cycles[0] = 40_000;
    let compared = checked(&run(program()), &run(split));
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.contains(&"new"), "{changes:?}");
}

#[test]
fn inlined_function_is_reported_with_its_place() {
    let mut inlined = program();
    inlined.remove(1);
    inlined[0].inlined = Some("filter");
    inlined[0].cycles[0] = 5_800;
    let compared = checked(&run(program()), &run(inlined));
    let changes = texts(&compared, "profile-functions", "change");
    let wanted = "gone: inlined into main, where it takes 5,800";
    assert!(changes.contains(&wanted), "{changes:?}");
    let whys = texts(&compared, "profile-causes", "why");
    assert!(whys.iter().any(|why| why.contains("now has filter inlined")), "{whys:?}");
}

#[test]
fn the_same_instructions_elsewhere_are_named_as_that() {
    let mut shifted = program();
    shifted[1].cycles[1] = 500;
    shifted[1].address += 2;
    let compared = checked(&run(program()), &run(shifted));
    let why = texts(&compared, "profile-causes", "why")[0];
    assert!(why.contains("more fetch-wait per call, 0 -> 50"), "{why}");
    assert!(why.contains("the same instructions lie otherwise"), "{why}");
}

#[test]
fn rows_are_named_by_the_words_needed() {
    let with = |cycles: u64| {
        let mut run = run(program());
        let mut table = Table::new(vec![
            Column::figure("cycles", "cycles", Unit::CYCLES),
            Column::text("thread", "thread"),
            Column::text("kind", "kind"),
        ]);
        table.row([cycles.into(), "main".into(), "thread".into()]);
        table.row([7u64.into(), "main".into(), "handler".into()]);
        run.push("threads", "threads", Content::Table(table));
        run
    };
    let compared = checked(&with(100), &with(90));
    let all = figures(&compared);
    assert_eq!(all["threads/main, thread/cycles-difference"].as_f64(), -10.0);
    assert_eq!(all["threads/main, handler/cycles-difference"].as_f64(), 0.0);
}

#[test]
fn two_programs_and_missing_names_are_said() {
    let others = vec![
        made("setup", 4_000, 1, &[]),
        made("poll", 900, 9, &[]),
        made("render", 30_000, 3, &[]),
    ];
    assert!(codes(&checked(&run(program()), &run(others))).contains(&"different-programs"));
    let mut unnamed = run(program());
    if let Content::Profile(profile) = &mut unnamed.sections[0].content {
        profile.locations.function.fill(None);
    }
    let compared = checked(&run(program()), &unnamed);
    assert!(codes(&compared).contains(&"no-symbols"), "{:?}", compared.findings);
    let said = verdict(&compared);
    assert!(
        said.contains("cannot be compared, for those of b") && !said.contains("gone"),
        "{said}"
    );
    // As `strobe size` calls the bytes of a section without symbols.
    let mut section = run(program());
    if let Content::Profile(profile) = &mut section.sections[0].content {
        let names = &mut profile.functions.name;
        names.iter_mut().for_each(|name| *name = "(.text, no symbol)".to_owned());
    }
    assert!(codes(&checked(&run(program()), &section)).contains(&"no-symbols"));
    assert!(!codes(&compared).contains(&"different-programs"));
}
