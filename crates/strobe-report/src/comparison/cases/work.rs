//! Sides that do not do the same work, or not in a way that sums can be compared: other amounts of
//! it, the same time, names that one side does not know, and limits on any of these.

use strobe_analyse::compare::Comparison;
use strobe_analyse::compare::threshold::Outcome;
use strobe_model::measurement::{Finding, Severity};

use super::super::limits::exceeded;
use super::*;

/// A run that was stopped after a time.
fn stopped(functions: Vec<Made>) -> Measurement {
    let mut run = run(functions);
    run.window.ended = Ended { kind: "limit".to_owned(), ..Ended::default() };
    run.window.duration = Quantity::exact(1_000_000u64, Unit::NANOSECONDS);
    run
}

/// With so many cycles of `main` asleep.
fn asleep(mut run: Measurement, idle: i64) -> Measurement {
    let Content::Profile(profile) = &mut run.sections[0].content else { panic!("a profile") };
    let part =
        Part { of: "cycles".to_owned(), letter: None, idle: true, meaning: None, advice: None };
    profile.measures.push(Measure { part: Some(part), ..measure("asleep", Kind::Exact) });
    let mut values = vec![0; profile.chains.at.len()];
    values[0] = idle;
    profile.chains.values[0].values[0] += idle;
    let asleep = Values { measure: "asleep".to_owned(), values, ..Values::default() };
    profile.chains.values.push(asleep);
    run
}

fn without_names(mut run: Measurement) -> Measurement {
    if let Content::Profile(profile) = &mut run.sections[0].content {
        profile.locations.function.fill(None);
    }
    run
}

/// By how much a limit is exceeded for certain.
fn above(compared: &Comparison, limit: &str) -> String {
    match of(compared, limit) {
        Ok(Outcome::Above(excess)) => exceeded(&excess),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_work_more_often_is_another_amount() {
    let work = |times: i64| {
        let all = vec![
            made("main", 500, 1, &[]),
            made("filter", 1_000 * times, 10 * times, LOOP),
            made("sum", 40_000 * times, 10 * times, SUM),
            made("send", 9_000 * times, 10 * times, &[]),
        ];
        run(all)
    };
    let compared = checked(&work(1), &work(4));
    let said = verdict(&compared);
    assert!(said.contains("amount of work; see the warnings"), "{said}");
    let finding = compared.findings.iter().find(|f| f.code == "other-amount").unwrap();
    let wanted = "b does 4 times as much of the same work: what takes 99 % of the cycles is \
                  called so many times as often (sum 10 -> 40";
    assert!(finding.text.starts_with(wanted), "{}", finding.text);
    assert!(!codes(&checked(&work(3), &work(3))).contains(&"other-amount"));
    // One function that is called more often is a change.
    let mut more = program();
    more[2].calls = 40;
    more[2].cycles[0] = 160_000;
    assert!(!codes(&checked(&run(program()), &run(more))).contains(&"other-amount"));
}

#[test]
fn verdict_has_the_change_of_idle_time() {
    let said = verdict(&checked(&asleep(run(program()), 100), &asleep(run(program()), 9_100)));
    assert!(said.contains("9,000 more cycles"), "{said}");
    assert!(said.contains("idle has +9,000 of it"), "{said}");
    let mut slow = program();
    slow[1].cycles[0] = 10_000;
    let said = verdict(&checked(&asleep(run(program()), 20_000), &asleep(run(slow), 10_000)));
    assert!(said.contains("idle has -10,000 of it, filter +9,000"), "{said}");
}

#[test]
fn runs_of_the_same_time_cannot_differ_in_it() {
    let mut slow = program();
    slow[1].cycles[0] = 10_000;
    slow[2].cycles[0] = 31_000;
    let compared = checked(&stopped(program()), &stopped(slow.clone()));
    let said = verdict(&compared);
    assert!(said.contains("both were stopped after the same time, 46,000 cycles"), "{said}");
    assert!(codes(&compared).contains(&"same-length"));
    // No limit on all that is busy can fail there, which is no pass.
    let compared = data(&stopped(program()), &stopped(slow.clone()));
    assert!(of(&compared, "2%").is_err());
    let text = above(&compared, "filter=2%");
    assert!(text.starts_with("filter: 1,000 -> 10,000, +900.0 %"), "{text}");
    // Where something is idle, it can.
    slow[2].cycles[0] = 40_000;
    let compared = data(&asleep(stopped(program()), 20_000), &asleep(stopped(slow), 11_000));
    above(&compared, "2%");
    assert_eq!(of(&compared, "20%"), Ok(Outcome::Holds));
    // Cycles differ where the clock changes at another moment.
    let mut later = program();
    later[2].cycles[0] += 4_000;
    let said = verdict(&checked(&stopped(program()), &stopped(later)));
    assert!(said.contains("the same time, 46,000 and 50,000 cycles"), "{said}");
}

#[test]
fn missing_names_prove_neither_removal_nor_limit() {
    let compared = checked(&run(program()), &without_names(run(program())));
    let verdicts = texts(&compared, "profile-functions", "verdict");
    assert!(verdicts.iter().all(|words| *words == "undecided: no names in b"), "{verdicts:?}");
    assert!(texts(&compared, "profile-functions", "change").iter().all(|words| words.is_empty()));
    assert!(texts(&compared, "profile-functions", "side").iter().all(|words| words.is_empty()));
    assert!(compared.section("profile-causes").is_none());
    let compared = data(&run(program()), &without_names(run(program())));
    assert!(of(&compared, "filter=2%").is_err());
    assert_eq!(of(&compared, "2%"), Ok(Outcome::Holds), "sums are known");
}

#[test]
fn a_limit_on_what_is_gone_holds_nothing() {
    let mut less = program();
    less.remove(1);
    let compared = data(&run(program()), &run(less));
    assert!(of(&compared, "filter=2%").is_err());
}

/// Twice the recording is no twice the function.
#[test]
fn limits_on_samples_are_limits_on_shares() {
    let twice = |mut all: Vec<Made>| {
        all.iter_mut().for_each(|made| made.cycles[0] *= 2);
        all
    };
    let same = data(&sampled(many(300)), &sampled(twice(many(300))));
    assert_eq!(of(&same, "a=1%"), Ok(Outcome::Holds));
    assert!(of(&same, "2%").is_err(), "{:?}", of(&same, "2%"));
    let more = data(&sampled(many(300)), &sampled(twice(many(900))));
    let text = above(&more, "a=20%");
    assert!(text.contains("a: 7.39 % of the samples -> 19.31 % of the samples"), "{text}");
}

/// Where the limit is within what the difference may be, it is not exceeded for certain.
#[test]
fn a_limit_within_the_bounds_may_be_exceeded() {
    let modelled = |cycles: i64, high: i64| {
        let mut all = program();
        all[1].cycles[0] = cycles;
        let mut run = run_of(&linked(all), Kind::Modelled { why: "flash".to_owned() });
        let Content::Profile(profile) = &mut run.sections[0].content else { panic!("a profile") };
        let values = &mut profile.chains.values[0];
        (values.low, values.high) = (values.values.clone(), values.values.clone());
        values.high[1] = high;
        run
    };
    let compared = data(&modelled(10_000, 10_150), &modelled(10_210, 10_210));
    above(&compared, "filter=0%");
    assert!(matches!(of(&compared, "filter=2%"), Ok(Outcome::MaybeAbove(_))));
}

#[test]
fn common_names_do_not_make_programs_equal() {
    let others = vec![
        Made { file: "other.c", ..made("main", 30_000, 1, SUM) },
        made("poll", 900, 9, LOOP),
        made("render", 3_000, 3, &[]),
    ];
    let mut ours = program();
    ours[0].code = LOOP;
    assert!(codes(&checked(&run(ours), &run(others))).contains(&"different-programs"));
}

#[test]
fn lines_below_an_insertion_are_compared_with_themselves() {
    let mut later = run(program());
    let Content::Profile(profile) = &mut later.sections[0].content else { panic!("a profile") };
    profile.frames.line.iter_mut().for_each(|line| *line = line.map(|line| line + 7));
    let compared = checked(&run(program()), &later);
    assert!(compared.section("profile-lines").is_none(), "no line differs");
}

#[test]
fn a_side_without_files_is_named() {
    let mut bare = run(program());
    let Content::Profile(profile) = &mut bare.sections[0].content else { panic!("a profile") };
    profile.files.clear();
    profile.functions.file.fill(None);
    profile.frames.file.fill(None);
    assert!(codes(&checked(&run(program()), &bare)).contains(&"no-files"));
}

#[test]
fn table_reports_its_first_changed_column() {
    let with = |cycles: u64, stack: u64| {
        let mut run = run(Vec::new());
        run.sections.clear();
        let mut table = Table::new(vec![
            Column::text("benchmark", "benchmark"),
            Column::figure("cycles", "cycles", Unit::CYCLES),
            Column::figure("stack", "stack", Unit::BYTES),
        ]);
        table.row(["sort/8".into(), cycles.into(), stack.into()]);
        run.push("benchmarks", "benchmarks", Content::Table(table));
        run
    };
    let said = verdict(&checked(&with(100, 8), &with(150, 16)));
    assert!(said.contains("cycles of sort/8 100 -> 150"), "{said}");
    let said = verdict(&checked(&with(100, 8), &with(100, 16)));
    assert!(said.contains("stack of sort/8 8 -> 16"), "{said}");
}

#[test]
fn causes_with_the_most_in_them_keep_their_columns() {
    let mut other = program();
    other[1].cycles = [1_300, 90];
    let compared = checked(&run(program()), &run(other));
    let table = compared.table("profile-causes").unwrap();
    let worth = |id: &str| table.column(id).unwrap().worth.unwrap();
    assert!(worth("execute") > worth("fetch-wait"));
    assert!(worth("fetch-wait") > worth("rest"));
}

/// As the loop of an idle thread that does not sleep.
#[test]
fn reduced_share_is_not_named_before_its_cause() {
    let with = |idle: i64, filter: i64| {
        let mut all = program();
        (all[1].cycles[0], all[2].cycles[0]) = (filter, idle);
        run(all)
    };
    let said = verdict(&checked(&with(40_000, 1_000), &with(30_900, 10_000)));
    assert!(said.starts_with("filter: 10 times the cycles"), "{said}");
    let said = verdict(&checked(&with(40_000, 1_000), &with(10_000, 10_000)));
    assert!(said.starts_with("sum: 30,000 fewer cycles"), "{said}");
}

#[test]
fn worst_cases_are_compared_wherever_they_were() {
    let with = |cycles: u64, place: &str| {
        let mut run = run(program());
        let mut table = Table::new(vec![
            Column::figure("cycles", "cycles", Unit::CYCLES),
            Column::figure("at", "at", Unit::NANOSECONDS),
            Column::text("what", "what"),
        ]);
        let what = format!("longest latency of SysTick, interrupted {place}");
        table.row([cycles.into(), 5_000u64.into(), what.into()]);
        run.push("worst-cases", "worst cases", Content::Table(table));
        run
    };
    let compared = checked(&with(20, "main"), &with(30, "filter"));
    let all = figures(&compared);
    let row = "worst-cases/longest latency of SysTick";
    assert_eq!(all[&format!("{row}/cycles-difference")].as_f64(), 10.0);
    assert!(!all.contains_key(&format!("{row}/at-difference")), "moments are no lengths");
}

/// A recording of the same program has the same shares, whatever it counts.
#[test]
fn samples_are_compared_with_cycles_by_shares() {
    let recorded = |cycles: [i64; 3]| {
        let mut all = program();
        all.iter_mut().zip(cycles).for_each(|(made, n)| made.cycles[0] = n);
        let mut run = sampled(all);
        let Content::Profile(profile) = &mut run.sections[0].content else { panic!("a profile") };
        (profile.measures[0].id, profile.measures[0].unit) = ("samples".to_owned(), Unit::SAMPLES);
        profile.chains.values[0].measure = "samples".to_owned();
        profile.measures.iter_mut().for_each(|measure| measure.part = None);
        run
    };
    // 46,000 cycles, of which 5,000, 1,000 and 40,000.
    let compared = checked(&run(program()), &recorded([500, 104, 3_996]));
    let verdicts = texts(&compared, "profile-shares", "verdict");
    assert_eq!(verdicts, ["undecided"; 3], "{verdicts:?}");
    let said = verdict(&compared);
    assert!(said.starts_with("no function's share differs beyond chance"), "{said}");
    let compared = checked(&recorded([480, 900, 3_220]), &run(program()));
    assert_eq!(texts(&compared, "profile-shares", "function")[..2], ["filter", "sum"]);
    assert!(texts(&compared, "profile-shares", "verdict")[0].starts_with("yes, q"));
    let said = verdict(&compared);
    assert!(
        said.contains("shares: filter has 19.6 % of samples (a), 2.2 % of cycles (b)"),
        "{said}"
    );
    assert_eq!(figures(&compared)["profile-shares/main/share-b"].as_f64(), 5_000.0 / 460.0);
}

#[test]
fn other_exit_codes_are_other_ends() {
    let exited = |code: i32| {
        let mut run = run(program());
        run.window.ended = Ended { kind: "exit".to_owned(), code: Some(code), ..Ended::default() };
        run
    };
    let is_named = |a: i32, b: i32| {
        let compared = checked(&exited(a), &exited(b));
        compared.findings.iter().any(|finding| finding.code == "other-end")
    };
    assert_eq!([is_named(0, 0), is_named(0, 1), is_named(3, 3)], [false, true, false]);
    // Whichever run of a set is the one that is shown.
    let of_sets = |a: [i32; 3], b: [i32; 3]| {
        let [a, b] = [a, b].map(|codes| codes.map(exited));
        let compared = compare_sets(&a, &b).expect("runs on both sides");
        let found = compared.findings.into_iter().find(|finding| finding.code == "other-end");
        found.map(|finding| finding.text)
    };
    let text = of_sets([0, 0, 0], [0, 0, 1]).expect("a warning");
    assert!(text.contains("(3 of a, 2 of b), ") && text.contains("(0 of a, 1 of b);"), "{text}");
    assert_eq!(of_sets([0; 3], [0; 3]), None);
}

#[test]
fn truncated_tables_are_not_called_equal() {
    let mut cut = run(program());
    cut.sections.clear();
    cut.findings.push(Finding::new(Severity::Warning, "shortened", "3 rows of each table"));
    let said = verdict(&checked(&cut, &run(program())));
    assert!(said.starts_with("functions cannot be compared, for results were cut off"), "{said}");
}
