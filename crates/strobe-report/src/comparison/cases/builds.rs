//! Two builds of one source: at two places, with code moved about in them.

use strobe_model::measurement::{Column, Content, Number, Quantity, Table, Trust, Unit};

use super::super::compare;
use super::{checked, codes, figures, first, made, program, run, texts, verdict};

fn in_files(files: [&'static str; 3]) -> Vec<super::Made> {
    let mut functions = program();
    functions.iter_mut().zip(files).for_each(|(made, file)| made.file = file);
    functions
}

#[test]
fn tree_built_elsewhere_has_the_same_files() {
    let a = in_files(["/w/main/src/main.c", "/w/main/src/filter.c", "/w/main/src/sum.c"]);
    let mut slow =
        in_files(["/w/change/src/main.c", "/w/change/src/filter.c", "/w/change/src/sum.c"]);
    slow[1].cycles[0] = 10_000;
    let compared = checked(&run(a), &run(slow));
    assert!(codes(&compared).contains(&"other-directory"), "{:?}", codes(&compared));
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.iter().all(|change| change.is_empty()), "{changes:?}");
    assert_eq!(texts(&compared, "profile-files", "name"), ["/w/change/src/filter.c"]);
    let all = figures(&compared);
    assert_eq!(all["profile-files//w/change/src/filter.c/difference"].as_f64(), 9_000.0);
    let of_a = &compared.parts[0].measurement;
    assert!(format!("{:?}", of_a.sections).contains("/w/main/src"), "a itself stays as it is");
}

/// What nothing else calls is a part of its caller, although a loop that was split in two took
/// less before.
#[test]
fn function_with_one_caller_is_split_from_it() {
    let mut split = program();
    split[0].cycles[0] = 4_200;
    split.push(made("prepare", 2_000, 10, &[]));
    let compared = checked(&run(program()), &run(split.clone()));
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.contains(&"new: split from main, which takes 800 less"), "{changes:?}");
    // Too little to be it.
    split[0].cycles[0] = 4_900;
    let compared = checked(&run(program()), &run(split));
    assert!(texts(&compared, "profile-functions", "change").contains(&"new"));
}

#[test]
fn the_verdict_names_what_was_renamed() {
    let mut renamed = program();
    renamed[1].name = "low_pass";
    let said = verdict(&checked(&run(program()), &run(renamed)));
    assert!(said.contains("functions: low_pass renamed from filter (100 % alike)"), "{said}");
}

#[test]
fn jumps_to_a_words_second_half_are_named() {
    let mut shifted = program();
    shifted[1].address += 2;
    let slower = |mut run: strobe_model::measurement::Measurement| {
        for section in &mut run.sections {
            let Content::Profile(profile) = &mut section.content else { continue };
            let part = profile.measures.iter_mut().find(|measure| measure.id == "fetch-wait");
            part.unwrap().id = "refill".to_owned();
            let all = &mut profile.chains.values;
            let values = all.iter_mut().find(|values| values.measure == "fetch-wait");
            values.unwrap().measure = "refill".to_owned();
        }
        run
    };
    shifted[1].cycles[1] = 500;
    let compared = checked(&slower(run(program())), &slower(run(shifted)));
    let why = texts(&compared, "profile-causes", "why")[0];
    assert!(why.contains("otherwise in the words that jumps fetch"), "{why}");
}

/// The sum of all functions is the total: what a model is off, it is off in both.
#[test]
fn totals_are_compared_by_the_model_that_functions_are() {
    let modelled = |likely: u64| {
        let mut run = run(program());
        let at = |part: u64| Number::from(likely * part / 10);
        let trust = Trust::Modelled { low: at(9), high: at(12), why: None };
        run.push_total(
            "waited",
            "waited",
            Quantity::new(Some(at(10)), Unit::CYCLES, trust).unwrap(),
        );
        let on_a_chip = Quantity::exact(1u64, Unit::CYCLES);
        run.push_total(strobe_model::measurement::ON_A_CHIP, "on a chip", on_a_chip);
        run.instrument.kind = "simulated board".to_owned();
        run
    };
    let compared = checked(&modelled(1_000), &modelled(1_000));
    let table = compared.table("totals-cycles").unwrap();
    let rows = table.column("id").unwrap().cells.iter();
    let row = rows.into_iter().position(|cell| cell.text() == Some("waited")).unwrap();
    let cell = |column: &str| format!("{:?}", table.column(column).unwrap().cells[row]);
    assert!(cell("difference").starts_with("Exact"), "{}", cell("difference"));
    assert!(cell("ratio").starts_with("Exact"), "{}", cell("ratio"));
}

#[test]
fn loops_are_the_same_wherever_they_are_linked() {
    let with = |places: [&str; 2]| {
        let mut run = run(program());
        let mut table = Table::new(vec![
            Column::figure("rounds", "rounds", Unit::COUNT),
            Column::text("waits-for", "waits for"),
            Column::text("place", "place"),
        ]);
        for (place, n) in places.into_iter().zip(1u64..) {
            table.row([n.into(), "RCC at 0x40021000".into(), place.into()]);
        }
        run.push("waiting", "waiting", Content::Table(table));
        run
    };
    let a = with(["0x0800028a main at src/main.c:25", "0x0800029a main at src/main.c:26"]);
    let b = with(["0x08000292 main at src/main.c:27", "0x080002a2 main at src/main.c:28"]);
    let compared = checked(&a, &b);
    let names = ["RCC at 0x40021000, main", "RCC at 0x40021000, main (2)"];
    assert_eq!(texts(&compared, "waiting", "waits-for"), names);
    assert_eq!(texts(&compared, "waiting", "side"), ["", ""]);
    // Places that both have need no other names.
    let compared = compare(&a, &a);
    assert!(texts(&compared, "waiting", "waits-for")[0].contains("0x0800028a"));
}

#[test]
fn an_image_that_grew_is_in_the_verdict() {
    let with = |flash: u64| {
        let mut run = run(program());
        let size = Quantity::exact(flash, Unit::BYTES);
        run.subject.facts.push(strobe_model::measurement::Fact::figure("flash", size));
        run
    };
    let compared = checked(&with(1_000), &with(1_200));
    let said = verdict(&compared);
    assert!(said.contains("flash of the image 1,000 -> 1,200 bytes"), "{said}");
    assert_eq!(figures(&compared)["totals-bytes/image-flash/difference"].as_f64(), 200.0);
    // Where functions differ, a few bytes are nothing.
    let mut all = program();
    all[1].cycles[0] = 2_000;
    let mut slower = run(all);
    slower.subject.facts = with(1_008).subject.facts;
    let said = verdict(&checked(&with(1_000), &slower));
    assert!(!said.contains("flash"), "{said}");
    assert_eq!(first(&compared, "verdict"), "equal");
}

#[test]
fn an_image_that_alone_changed_is_in_the_verdict() {
    let with = |flash: u64| {
        let mut run = run(program());
        let size = Quantity::exact(flash, Unit::BYTES);
        run.subject.facts.push(strobe_model::measurement::Fact::figure("flash", size));
        run
    };
    let said = verdict(&checked(&with(1_000), &with(1_008)));
    assert!(said.contains("no function; flash of the image 1,000 -> 1,008 bytes"), "{said}");
}
